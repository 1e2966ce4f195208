"""Static embeddings: a vector per token, and a text as the mean of those of its tokens."""
