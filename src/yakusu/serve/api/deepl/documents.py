"""DeepL's route /v2/document: upload a document, ask for its status, download it once."""

import asyncio
import shutil
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from starlette.background import BackgroundTask
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from yakusu.data.lines.terms import possible_terms
from yakusu.serve.api.deepl.calls import DeepLCall, DeepLRoutes, answer_json, received
from yakusu.serve.api.deepl.schemas import DEEPL
from yakusu.serve.api.deepl.stored import check_memory, find_terms
from yakusu.serve.api.deepl.translate import check_without_effect
from yakusu.serve.api.documents import (
    DocumentLanguages,
    DocumentWork,
    FindTerms,
    new_folder,
    translate_upload,
)
from yakusu.serve.errors import RefusedError, not_stored
from yakusu.serve.files import safe_name
from yakusu.serve.jobs import ClientJob
from yakusu.serve.service import RequestLanguages
from yakusu.serve.store import owner_of

routes = DeepLRoutes()
_UPLOADED = "uploaded"  # the name of the file in its folder, as long as it is translated
_SECONDS_REMAINING = 5  # nobody knows


@routes.post("/v2/document", DEEPL["upload"])
async def upload_document(request: Request) -> Response:
    """Upload a document, which is translated while the client does not wait."""
    async with received(request, writes=True) as call:
        upload = call.fields.get("file")
        if not isinstance(upload, UploadFile):
            raise RefusedError(400, "Parameter 'file' not specified.")
        name = safe_name(call.fields.text("filename") or upload.filename)
        check_without_effect(call)
        _check_format(call, name)
        call.service.usage.check(call.service.access.known(call.key))
        known = _languages(call)
        terms = await find_terms(call, known) if isinstance(known, RequestLanguages) else ()
        number, folder = new_folder(call.service)
        try:
            await asyncio.to_thread(_store, upload, folder / _UPLOADED)
            find = partial(possible_terms, terms) if terms else None
            do = partial(_translate, call, known, folder / name, find)
            task = call.service.work.start(do, limit="file_seconds")
        except BaseException:
            call.service.files.discard(number)
            raise
        job = ClientJob(number, owner_of(call.key), "document", folder / name, task)
        call.service.jobs.add(job)
    return answer_json({"document_id": job.number, "document_key": job.key})


@routes.post("/v2/document/{document_id}", DEEPL["document_status"])
async def document_status(request: Request) -> Response:
    """Whether a document is translated; waits a moment for that."""
    job = await _job(request)
    await job.wait()
    answer: dict[str, Any] = {"document_id": job.number}
    if not job.task.done():
        answer |= {"status": "translating", "seconds_remaining": _SECONDS_REMAINING}
    elif job.error:
        answer |= {"status": "error", "error_message": job.error}
    else:
        answer |= {"status": "done", "billed_characters": job.task.result()}
    return answer_json(answer)


@routes.post("/v2/document/{document_id}/result", DEEPL["document_result"])
async def download_document(request: Request) -> Response:
    """Download a translated document, which is removed."""
    job, files = await _job(request), request.app.state.service.files
    path = request.app.state.service.jobs.take(job)
    return FileResponse(
        path,
        filename=path.name,
        media_type="application/octet-stream",
        background=BackgroundTask(files.discard, job.number),
    )


async def _job(request: Request) -> ClientJob:
    """The job of a request.

    Raises:
        RefusedError: The client has none with this identifier and key (404).
    """
    async with received(request) as call:
        key = call.required("document_key")
    number = request.path_params["document_id"]
    return call.service.jobs.find(owner_of(call.key), number, "document", key=key)


def _languages(call: DeepLCall) -> DocumentLanguages:
    """The languages of a document, or what identifies them in its first texts."""
    target, source = call.required("target_lang"), call.fields.text("source_lang")
    find = partial(call.service.route, source or "auto", target, key=call.key)
    found = find([]) if source else find
    if isinstance(found, RequestLanguages):
        check_memory(call, found)
    elif call.fields.listed("glossary_id") or call.fields.listed("glossary_ids"):
        raise RefusedError(400, "Parameter 'source_lang' not specified: a glossary needs it")
    return found


def _check_format(call: DeepLCall, name: str) -> None:
    """Refuse to convert a document to another format."""
    own = Path(name).suffix.removeprefix(".")
    if (wanted := call.fields.text("output_format").lower()) and wanted != own:
        raise RefusedError(400, f"Value for 'output_format' not supported: use {own}")


def _store(upload: UploadFile, path: Path) -> None:
    try:
        with path.open("xb") as file:
            shutil.copyfileobj(upload.file, file)
    except OSError as error:
        raise not_stored(error) from error


def _translate(
    call: DeepLCall,
    languages: DocumentLanguages,
    target: Path,
    find: FindTerms | None,
    cancelled: Event,
) -> int:
    """Translate a stored document; return the number of characters of its texts."""
    path = target.with_name(_UPLOADED)
    try:
        with path.open("rb") as file:
            work = DocumentWork(
                *(languages, file, path.stat().st_size, target),
                key=call.key,
                find_terms=find,
            )
            return translate_upload(call.service, work, cancelled).characters
    except OSError as error:
        raise not_stored(error) from error
    finally:
        path.unlink(missing_ok=True)
