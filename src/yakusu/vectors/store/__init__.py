"""A store of vectors: ids, metadata and codes in one SQLite file, searched as stored."""
