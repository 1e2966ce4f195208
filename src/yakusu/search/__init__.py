"""The search for translations, independent of the architecture."""
