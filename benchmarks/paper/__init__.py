"""The tables of "Attention Is All You Need"."""
