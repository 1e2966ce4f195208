"""Parallel texts: whether their sentences belong together, and which of them do."""
