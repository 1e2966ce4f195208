"""All routes of DeepL's API."""

from yakusu.serve.api.deepl import documents, glossaries, memories, meta, translate
from yakusu.serve.api.deepl.calls import DeepLRoutes


def _routes() -> DeepLRoutes:
    found = DeepLRoutes()
    for part in (translate, documents, glossaries, memories, meta):
        found.extend(part.routes)
    meta.add_unknown(found)
    return found


routes = _routes()
