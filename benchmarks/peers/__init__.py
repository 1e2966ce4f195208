"""Other people's training loops, wrapped so that a benchmark can time them on equal terms."""
