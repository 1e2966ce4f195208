"""ModernMT's API, under a prefix: two of its paths are also LibreTranslate's."""

from yakusu.serve.api.modernmt import memories, translation
from yakusu.serve.api.modernmt.asking import PREFIX

__all__ = ["HEADERS", "PREFIX", "routes"]
HEADERS = (  # that clients send
    *("MMT-ApiClient", "MMT-ApiKey", "MMT-Platform", "MMT-PlatformVersion"),
    "X-HTTP-Method-Override",
)
routes = [*translation.routes, *memories.routes]
