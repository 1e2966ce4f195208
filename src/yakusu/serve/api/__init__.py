"""The routes of the service: LibreTranslate's, those under /v1, and the pages."""
