"""A translation service: LibreTranslate's API, an API of its own under /v1, and documents."""
