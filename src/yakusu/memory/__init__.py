"""Translation memory: segments and their translations in one SQLite file."""
