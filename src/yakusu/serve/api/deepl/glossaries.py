"""DeepL's routes for glossaries: with one dictionary (v2), and with several (v3)."""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal, cast

from starlette.requests import Request
from starlette.responses import Response

from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.terms import Glossary
from yakusu.serve.api.deepl.calls import DeepLCall, DeepLRoutes, answer_json, received
from yakusu.serve.api.deepl.codes import base_code
from yakusu.serve.api.deepl.schemas import DEEPL
from yakusu.serve.catalog import Catalog
from yakusu.serve.errors import RefusedError
from yakusu.serve.glossaries import BasePair, Entries, StoredGlossary, parse_entries
from yakusu.serve.http.fields import Fields

routes = DeepLRoutes()
_FORMATS = ("tsv", "csv")
_SHOWN = 40  # characters of a wrong value
_TSV = "text/tab-separated-values"


def glossary_pairs(catalog: Catalog) -> list[BasePair]:
    """The pairs of languages for which there can be glossaries: those with a model of their own."""
    direct = (pair for pair, found in catalog.routes.items() if len(found[0]) == 1)
    bases = ((base_code(source), base_code(target)) for source, target in direct)
    return sorted({(source, target) for source, target in bases if source != target})


@routes.get("/v2/glossary-language-pairs", DEEPL["glossary_pairs"])
async def list_glossary_pairs(request: Request) -> Response:
    """The pairs of languages for which there can be glossaries."""
    async with received(request) as call:
        pairs = glossary_pairs(call.service.catalog)
    supported = [{"source_lang": source, "target_lang": target} for source, target in pairs]
    return answer_json({"supported_languages": supported})


# ---- v2 ------------------------------------------------------------------------------------------


@routes.post("/v2/glossaries", DEEPL["create_glossary"])
async def create_glossary(request: Request) -> Response:
    """Store a glossary with one dictionary."""
    async with received(request, writes=True) as call:
        owner, name = call.owner, call.required("name")
        pair, entries = await asyncio.to_thread(_dictionary, call)
    found = await asyncio.to_thread(call.service.glossaries.create, owner, name, {pair: entries})
    return answer_json(_single(found), 201)


@routes.get("/v2/glossaries", DEEPL["glossaries"])
async def list_glossaries(request: Request) -> Response:
    """The glossaries of the key that have one dictionary."""
    async with received(request) as call:
        every = await asyncio.to_thread(call.service.glossaries.all, call.owner)
    return answer_json({"glossaries": [_single(each) for each in every if len(each.sizes) == 1]})


@routes.get("/v2/glossaries/{glossary_id}", DEEPL["glossary"])
async def get_glossary(request: Request) -> Response:
    """A glossary with one dictionary, without its entries."""
    async with received(request) as call:
        return answer_json(_single(await _found(request, call)))


@routes.on("DELETE", "/v2/glossaries/{glossary_id}", DEEPL["delete"])
@routes.on("DELETE", "/v3/glossaries/{glossary_id}", DEEPL["delete"])
async def delete_glossary(request: Request) -> Response:
    """Remove a glossary."""
    async with received(request, writes=True) as call:
        number = request.path_params["glossary_id"]
        await asyncio.to_thread(call.service.glossaries.remove, call.owner, number)
    return Response(status_code=204)


@routes.get("/v2/glossaries/{glossary_id}/entries", DEEPL["glossary_entries"])
async def get_glossary_entries(request: Request) -> Response:
    """The entries of a glossary with one dictionary, as tab-separated values."""
    async with received(request) as call:
        found = await _found(request, call)
        _single(found)
        (pair,) = found.sizes
        text = await _as_tsv(call, found, pair)
    return Response(text, media_type=_TSV)


# ---- v3 ------------------------------------------------------------------------------------------


@routes.post("/v3/glossaries", DEEPL["create_glossary_v3"])
async def create_multilingual(request: Request) -> Response:
    """Store a glossary with dictionaries of several language pairs."""
    async with received(request, writes=True) as call:
        owner, name = call.owner, call.required("name")
        dictionaries = await asyncio.to_thread(_dictionaries, call)
    if not dictionaries:
        raise RefusedError(400, "Parameter 'dictionaries' not specified.")
    found = await asyncio.to_thread(call.service.glossaries.create, owner, name, dictionaries)
    return answer_json(_multiple(found), 201)


@routes.get("/v3/glossaries", DEEPL["glossaries_v3"])
async def list_multilingual(request: Request) -> Response:
    """All glossaries of the key."""
    async with received(request) as call:
        every = await asyncio.to_thread(call.service.glossaries.all, call.owner)
    return answer_json({"glossaries": [_multiple(each) for each in every]})


@routes.get("/v3/glossaries/{glossary_id}", DEEPL["glossary_v3"])
async def get_multilingual(request: Request) -> Response:
    """A glossary, without its entries."""
    async with received(request) as call:
        return answer_json(_multiple(await _found(request, call)))


@routes.on("PATCH", "/v3/glossaries/{glossary_id}", DEEPL["patch_glossary_v3"])
async def patch_multilingual(request: Request) -> Response:
    """Change the name of a glossary, and add entries to its dictionaries."""
    async with received(request, writes=True) as call:
        name = call.required("name") if call.fields.get("name") is not None else None
        dictionaries = await asyncio.to_thread(_dictionaries, call)
        found = await _update(request, call, dictionaries, name=name, merge=True)
    return answer_json(_multiple(found))


@routes.get("/v3/glossaries/{glossary_id}/entries", DEEPL["glossary_entries_v3"])
async def get_multilingual_entries(request: Request) -> Response:
    """The entries of a dictionary of a glossary."""
    async with received(request) as call:
        found, pair = await _found(request, call), _pair(call)
        text = await _as_tsv(call, found, pair)
    source, target = pair
    row = {"source_lang": source, "target_lang": target, "entries": text, "entries_format": "tsv"}
    return answer_json({"dictionaries": [row]})


@routes.on("PUT", "/v3/glossaries/{glossary_id}/dictionaries", DEEPL["put_dictionary"])
async def put_dictionary(request: Request) -> Response:
    """Replace the entries of a dictionary of a glossary, or add the dictionary."""
    async with received(request, writes=True) as call:
        pair, entries = await asyncio.to_thread(_dictionary, call)
        found = await _update(request, call, {pair: entries}, merge=False)
    return answer_json(_size(found, pair))


@routes.on("DELETE", "/v3/glossaries/{glossary_id}/dictionaries", DEEPL["delete_dictionary"])
async def delete_dictionary(request: Request) -> Response:
    """Remove a dictionary of a glossary."""
    async with received(request, writes=True) as call:
        number, pair = request.path_params["glossary_id"], _pair(call)
        await asyncio.to_thread(call.service.glossaries.remove, call.owner, number, pair)
    return Response(status_code=204)


# ---- requests ------------------------------------------------------------------------------------


def _pair(call: DeepLCall) -> BasePair:
    """The languages of a dictionary.

    Raises:
        RefusedError: One is missing, or is no language (400).
    """
    found: list[str] = []
    for name in ("source_lang", "target_lang"):
        given = call.required(name)
        if not (code := base_code(given)):
            raise RefusedError(400, f"Value for '{name}' not supported: {given[:_SHOWN]}")
        found.append(code)
    return found[0], found[1]


def _dictionary(call: DeepLCall) -> tuple[BasePair, Entries]:
    """The dictionary that the parameters of a request describe.

    Raises:
        RefusedError: It is not valid, or no model translates its languages directly (400).
        DataError: It has a term that cannot be used.
    """
    pair, pairs = _pair(call), glossary_pairs(call.service.catalog)
    if pair not in pairs:
        choices = ", ".join(map("-".join, pairs))
        message = f"Unsupported glossary languages {'-'.join(pair)}: choose one of {choices}"
        raise RefusedError(400, message)
    kind = cast(Literal["tsv", "csv"], call.fields.choice("entries_format", _FORMATS))
    entries = parse_entries(call.required("entries"), kind)
    Glossary.of(entries.items(), TextConfig().span_finder())
    return pair, entries


def _dictionaries(call: DeepLCall) -> Mapping[BasePair, Entries]:
    """The dictionaries in the parameter `dictionaries` of a request.

    Raises:
        RefusedError: One is not valid, or there are two for the same languages (400).
        DataError: One has a term that cannot be used.
    """
    given = call.fields.get("dictionaries") or []
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise RefusedError(400, "Value for 'dictionaries' not supported: send a list of objects")
    found: dict[BasePair, Entries] = {}
    for each in given:
        one = DeepLCall(call.service, Fields(each.items(), is_json=True), call.key)
        pair, entries = _dictionary(one)
        if pair in found:
            message = f"Value for 'dictionaries' not supported: two for {'-'.join(pair)}"
            raise RefusedError(400, message)
        found[pair] = entries
    return found


async def _found(request: Request, call: DeepLCall) -> StoredGlossary:
    number = request.path_params["glossary_id"]
    return await asyncio.to_thread(call.service.glossaries.find, call.owner, number)


async def _update(
    request: Request,
    call: DeepLCall,
    dictionaries: Mapping[BasePair, Entries],
    *,
    name: str | None = None,
    merge: bool,
) -> StoredGlossary:
    number, owner = request.path_params["glossary_id"], call.owner
    update = call.service.glossaries.update
    return await asyncio.to_thread(update, owner, number, dictionaries, name=name, merge=merge)


# ---- responses -----------------------------------------------------------------------------------


async def _as_tsv(call: DeepLCall, found: StoredGlossary, pair: BasePair) -> str:
    read = call.service.glossaries.entries
    entries = await asyncio.to_thread(read, call.owner, found.number, pair)
    return "\n".join(f"{source}\t{target}" for source, target in entries.items())


def _single(found: StoredGlossary) -> dict[str, Any]:
    """A glossary with one dictionary.

    Raises:
        RefusedError: It has none or several: only v3 has such glossaries (404).
    """
    if len(found.sizes) != 1:
        raise RefusedError(404, "Glossary not found: it has several dictionaries, use /v3")
    (pair,) = found.sizes
    return {
        "glossary_id": found.number,
        "name": found.name,
        "ready": True,
        **_size(found, pair),
        "creation_time": found.created,
    }


def _multiple(found: StoredGlossary) -> dict[str, Any]:
    return {
        "glossary_id": found.number,
        "name": found.name,
        "dictionaries": [_size(found, pair) for pair in found.sizes],
        "creation_time": found.created,
    }


def _size(found: StoredGlossary, pair: BasePair) -> dict[str, Any]:
    return {"source_lang": pair[0], "target_lang": pair[1], "entry_count": found.sizes[pair]}
