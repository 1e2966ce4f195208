"""DeepL's routes for languages and usage."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from yakusu.serve.api.deepl.calls import DeepLRoutes, answer_json, received
from yakusu.serve.api.deepl.codes import distinct_codes, source_code, target_codes
from yakusu.serve.api.deepl.schemas import DEEPL
from yakusu.serve.catalog import language_name
from yakusu.serve.errors import RefusedError

routes = DeepLRoutes()
_UNLIMITED = 1_000_000_000_000  # characters, as DeepL says it
_ANY = ("GET", "POST", "PUT", "PATCH", "DELETE")


@routes.get("/v2/languages", DEEPL["languages"])
@routes.post("/v2/languages", DEEPL["languages"])
async def list_languages(request: Request) -> Response:
    """The source languages, or the target languages with all variants."""
    async with received(request) as call:
        kind, catalog = call.fields.choice("type", ("source", "target")), call.service.catalog
    if kind == "source":
        codes = distinct_codes(map(source_code, catalog.sources))
        return answer_json([_named(code) for code in codes])
    targets = {target for source in catalog.sources for target in catalog.targets(source)}
    codes = distinct_codes(code for target in targets for code in target_codes(target))
    return answer_json([{**_named(code), "supports_formality": False} for code in codes])


def _named(code: str) -> dict[str, Any]:
    return {"language": code, "name": language_name(code)}


@routes.get("/v2/usage", DEEPL["usage"])
@routes.post("/v2/usage", DEEPL["usage"])
async def get_usage(request: Request) -> Response:
    """The characters that the key has translated in this month, and how many it may."""
    async with received(request) as call:
        known = call.service.access.known(call.key)
        count = call.service.usage.count(known)
    limit = known.per_month if known and known.per_month else _UNLIMITED
    return answer_json({"character_count": count, "character_limit": limit})


async def _unknown(request: Request) -> Response:
    raise RefusedError(404, "Not found: this server does not support this path of DeepL's API")


def add_unknown(found: DeepLRoutes) -> None:
    """Add an answer, in DeepL's form, for all other paths and methods."""
    for version in ("/v2", "/v3"):
        for method in _ANY:
            found.on(method, version + "/{rest:path}")(_unknown)
