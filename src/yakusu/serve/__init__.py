"""A translation service: an API of its own, and those of LibreTranslate, DeepL and ModernMT."""
