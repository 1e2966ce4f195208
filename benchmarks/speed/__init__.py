"""Speed and memory, compared with peers."""
