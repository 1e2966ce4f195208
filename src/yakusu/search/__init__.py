"""Search for translations, independent of the architecture: config.py, beam.py and its parts."""
