"""The tables of the paper on compression of word embeddings."""
