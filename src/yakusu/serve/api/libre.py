"""The API of LibreTranslate: its paths, parameters, responses and messages."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse

from yakusu.data.identification import Detected
from yakusu.serve.api.documents import DocumentWork, new_folder, translate_upload
from yakusu.serve.api.kinds import translation
from yakusu.serve.api.routes import DescribedRoutes
from yakusu.serve.api.schemas import LIBRE
from yakusu.serve.api.texts import BestTexts, is_little
from yakusu.serve.catalog import language_name
from yakusu.serve.errors import RefusedError, invalid_request, missing
from yakusu.serve.files import ACCEPTED, safe_name
from yakusu.serve.http.fields import Fields
from yakusu.serve.http.origins import check_origin
from yakusu.serve.memories import LanguagePair
from yakusu.serve.service import Service, service_of

routes = DescribedRoutes()
_LISTED = 10  # texts of a document that are kept


@routes.post("/languages")  # as Argos Translate requests it
@routes.get("/languages", LIBRE["languages"])
async def languages(request: Request) -> JSONResponse:
    """All languages, those that are sources first, and the target languages of each.

    As in LibreTranslate, each one is a target of itself: some clients list no others as targets.
    """
    catalog = service_of(request).catalog
    return JSONResponse(
        [
            {
                "code": code,
                "name": language_name(code),
                "targets": sorted({*catalog.targets(code), code}),
            }
            for code in dict.fromkeys([*catalog.sources, *catalog.codes])
        ]
    )


# ---- texts ---------------------------------------------------------------------------------------


@routes.post("/translate", LIBRE["translate"])
async def translate(request: Request) -> JSONResponse:
    """Translate a text, or each text of a list."""
    service = service_of(request)
    async with service.fields(request) as fields:
        texts = _texts(fields)
    alternatives = fields.number("alternatives", most=service.limits.alternatives)
    service.check_texts(texts)
    found = service.languages(fields, texts)
    n, kind = alternatives + 1, fields.text("format") or "text"
    translate_all = translation(service, kind, found.route, texts, n)
    is_short = is_little(found.route, texts, n)
    with service.counting(fields.text("api_key"), found.codes, texts):
        every = await service.work.run(request, translate_all, is_short=is_short)
    is_list = isinstance(fields.get("q"), list)
    return JSONResponse(_answer(every, found.detected, alternatives, is_list=is_list))


def _texts(fields: Fields) -> list[str]:
    """The texts of a request; in forms, CRLF is replaced by LF."""
    given = fields.get("q")
    if given is None or given in ("", []):
        raise fields.missing("q")
    texts = given if isinstance(given, list) else [given]
    if not all(isinstance(text, str) for text in texts):
        raise invalid_request("q parameter is not a string or a list of strings")
    if fields.is_json:
        return texts
    return [text.replace("\r\n", "\n") for text in texts]


def _answer(
    every: Sequence[BestTexts], detected: Detected | None, alternatives: int, *, is_list: bool
) -> dict[str, Any]:
    answer: dict[str, Any] = {"translatedText": [each.texts[0] for each in every]}
    if any(each.copied for each in every):
        answer["copied"] = [each.copied for each in every]
    if detected:
        answer["detectedLanguage"] = [_as_json(detected)] * len(every)
    if alternatives:
        answer["alternatives"] = [list(each.texts[1:]) for each in every]
    return answer if is_list else {key: values[0] for key, values in answer.items()}


def _as_json(detected: Detected) -> dict[str, Any]:
    return {"confidence": detected.confidence, "language": detected.language}


@routes.post("/detect", LIBRE["detect"])
async def detect(request: Request) -> JSONResponse:
    """Identify the language of a text."""
    service = service_of(request)
    async with service.fields(request) as fields:
        texts = _texts(fields)
    service.check_texts(texts)
    return JSONResponse([_as_json(each) for each in service.detect(texts)])


# ---- documents -----------------------------------------------------------------------------------


@routes.post("/translate_file", LIBRE["translate_file"])
async def translate_file(request: Request) -> JSONResponse:
    """Translate a document; the response has the address of its translation."""
    check_origin(request)
    service = service_of(request)
    async with service.fields(request) as fields:
        upload = fields.get("file")
        if not isinstance(upload, UploadFile):
            raise missing("file")
        name, find = safe_name(upload.filename), partial(service.languages, fields)
        known = None if fields.text("source") == "auto" else find([])
        key, folder = new_folder(service)
        work = DocumentWork(
            *(known or find, upload.file, upload.size or 0, folder / name),
            key=fields.text("api_key"),
        )
        translate_all = partial(translate_upload, service, work)
        try:
            done = await service.work.run(request, translate_all, limit="file_seconds")
        except BaseException:
            service.files.discard(key)
            raise
    service.files.keep(key, folder / name)
    url = request.url_for("download_file", key=key, name=quote(name))
    kept = done.kept
    told = {"kept": kept[:_LISTED], "keptTotal": len(kept)} if kept else {}
    return JSONResponse({"translatedFileUrl": str(url), **told})


@routes.get("/download_file/{key}/{name}", LIBRE["download_file"])
async def download_file(request: Request) -> FileResponse:
    """Download a translated document."""
    path = service_of(request).files.find(request.path_params["key"])
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")


# ---- others -------------------------------------------------------------------------------------


@routes.post("/suggest", LIBRE["suggest"])
async def suggest(request: Request) -> JSONResponse:
    """Store a better translation that a user suggests."""
    check_origin(request)
    service = service_of(request)
    async with service.fields(request) as fields:
        row = {name: fields.required(name) for name in ("q", "s", "source", "target")}
        key = fields.text("api_key")
        pair = _pair_with_memory(service, row, key)
        if pair:
            service.check_writer(request, key)
        elif not service.suggestions:
            raise RefusedError(403, "Suggestions are disabled on this server.")
    service.check_texts([row["q"], row["s"]])
    if pair:
        by = service.access.known(key)
        await asyncio.to_thread(service.memories.add, pair, row["q"], row["s"], by=by)
    elif service.suggestions:
        await asyncio.to_thread(service.suggestions.add, row)
    return JSONResponse({"success": True})


def _pair_with_memory(service: Service, row: dict[str, str], key: str) -> LanguagePair | None:
    """The language pair of a suggestion; None: it has no memory."""
    if not service.memories:
        return None
    pair = service.route(row["source"], row["target"], [row["q"]]).codes
    return pair if service.memories.has(pair, key) else None


@routes.get("/frontend/settings", LIBRE["settings"])
async def settings(request: Request) -> JSONResponse:
    """The limits and defaults that a web page needs."""
    service = service_of(request)
    source, target = next(iter(service.catalog.routes))
    return JSONResponse(
        {
            "apiKeys": service.access.has_keys,
            "charLimit": service.limits.characters,
            "filesTranslation": True,
            "frontendTimeout": 500,
            "keyRequired": service.config.require_key,
            "language": {
                "source": {"code": source, "name": language_name(source)},
                "target": {"code": target, "name": language_name(target)},
            },
            "suggestions": bool(service.config.suggestions),
            "supportedFilesFormat": ACCEPTED,
        }
    )


@routes.get("/health", LIBRE["health"])
async def health(request: Request) -> JSONResponse:
    """Whether the service runs."""
    return JSONResponse({"status": "ok"})
