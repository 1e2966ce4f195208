"""DeepL's routes for translation memories: those that the operator serves.

The names, the segments and an export of each can be read. An import adds to the memory of its
languages; only the operator creates and removes memories.
"""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from secrets import token_hex
from threading import Event
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from yakusu.data.files.tmx import tmx_languages
from yakusu.data.languages import find_pair, listed_codes
from yakusu.errors import DataError
from yakusu.memory.choice import SegmentChoice
from yakusu.memory.exporting import exported
from yakusu.memory.importing import ImportOptions, add_files
from yakusu.memory.memory import StoredSegment, TranslationMemory
from yakusu.progress import Silent
from yakusu.serve.access import Key
from yakusu.serve.api.deepl.calls import DeepLCall, DeepLRoutes, answer_json, received
from yakusu.serve.api.deepl.codes import source_code, target_codes
from yakusu.serve.api.deepl.schemas import DEEPL
from yakusu.serve.api.documents import new_folder
from yakusu.serve.errors import RefusedError, not_stored, over_limit
from yakusu.serve.http.fields import Fields
from yakusu.serve.jobs import ClientJob
from yakusu.serve.memories import ServedMemory
from yakusu.serve.service import Service, service_of
from yakusu.serve.store import owner_of

routes = DeepLRoutes()
_PATH = "/v3/translation_memories"
UPLOADS = _PATH + "/uploads/"
_TMX = "import.tmx"
_CONTENT_TYPES = ("application/xml", "text/xml", "application/octet-stream")
_SECONDS = 1800  # for which a file may be uploaded
_MOST_PAGES = 1_000_000


def _known(call: DeepLCall) -> Key | None:
    return call.service.access.known(call.key)


def _memory(request: Request, call: DeepLCall) -> ServedMemory:
    number = request.path_params["memory_id"]
    return call.service.memories.numbered(number, by=_known(call))


@routes.get(_PATH, DEEPL["memories"])
async def list_memories(request: Request) -> Response:
    """The translation memories that requests with this key use."""
    async with received(request) as call:
        page = call.fields.whole("page", 0, most=_MOST_PAGES)
        size = call.fields.whole("page_size", 25, most=25)
        every = call.service.memories.all(by=_known(call))
    shown = every[page * size : (page + 1) * size]
    found = await asyncio.to_thread(lambda: [*map(_described, shown)])
    return answer_json({"translation_memories": found, "total_count": len(every)})


@routes.get(_PATH + "/{memory_id}", DEEPL["memory"])
async def get_memory(request: Request) -> Response:
    """A translation memory."""
    async with received(request) as call:
        return answer_json(await asyncio.to_thread(_described, _memory(request, call)))


@routes.on("DELETE", _PATH + "/{memory_id}", DEEPL["delete"])
async def delete_memory(request: Request) -> Response:
    """Refused: only the operator removes memories."""
    async with received(request, writes=True) as call:
        _memory(request, call)
    raise RefusedError(403, "Only the operator of this server removes translation memories")


@routes.get(_PATH + "/{memory_id}/segments", DEEPL["segments"])
async def list_segments(request: Request) -> Response:
    """A page of the segments of a translation memory, in the order in which they were added."""
    async with received(request) as call:
        memory, size = _memory(request, call), call.fields.whole("page_size", 50, least=1, most=100)
        after = call.fields.whole("page_cursor", 0, most=10**9 - 1)
        text = call.fields.text("filter_text")
        if len(text) == 1:
            raise RefusedError(400, "Value for 'filter_text' not supported: use 2 characters")
        is_exact = call.fields.flag("filter_case_sensitive")
    page = partial(_page, memory, after, size, text if is_exact else text.casefold(), is_exact)
    return answer_json(await asyncio.to_thread(page))


def _described(memory: ServedMemory) -> dict[str, Any]:
    with TranslationMemory.open(memory.path) as opened:
        n = len(opened)
    state = memory.path.stat()
    return {
        "translation_memory_id": memory.number,
        "name": memory.path.stem,
        **_languages(memory),
        "segment_count": n,
        "creation_time": _time(datetime.fromtimestamp(state.st_ctime, UTC)),
        "updated_time": _time(datetime.fromtimestamp(state.st_mtime, UTC)),
    }


def _languages(memory: ServedMemory) -> dict[str, Any]:
    source, target = memory.pair
    return {
        "source_language": source_code(source).lower(),
        "target_languages": [code.lower() for code in target_codes(target)],
    }


def _time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _page(memory: ServedMemory, after: int, size: int, text: str, is_exact: bool) -> dict[str, Any]:
    """A page of segments with a text, after the segment with a number."""

    def has_text(stored: StoredSegment) -> bool:
        sides = (stored.segment.source, stored.segment.target)
        return any(text in (side if is_exact else side.casefold()) for side in sides)

    with TranslationMemory.open(memory.path) as opened, opened.snapshot():
        fitting = filter(has_text, opened.chosen(SegmentChoice(after=after)))
        found, n = [*islice(fitting, size + 1)], len(opened)
    shown = found[:size]
    cursor = {"next_page_cursor": str(shown[-1].number)} if len(found) > size else {}
    rows = [_segment(memory, each) for each in shown]
    return {"segments": rows, "segment_count": n, **cursor}


def _segment(memory: ServedMemory, stored: StoredSegment) -> dict[str, Any]:
    number, segment = str(stored.number), stored.segment
    time = {"creation_time": segment.time, "updated_time": segment.time} if segment.time else {}
    target = {
        "target_segment_id": number,
        "target_language": memory.pair[1].lower(),
        "target_text": segment.target,
        **time,
    }
    return {
        "source_segment_id": number,
        "source_text": segment.source,
        "targets": [target],
        **time,
    }


# ---- jobs ----------------------------------------------------------------------------------------


@routes.post(_PATH + "/{memory_id}/export", DEEPL["export"])
async def export_memory(request: Request) -> Response:
    """Begin to write a translation memory as TMX."""
    async with received(request, writes=True) as call:
        memory, service = _memory(request, call), call.service
        number, folder = new_folder(service)
        target = folder / f"{memory.path.stem}.tmx"
        try:
            task = service.work.start(partial(_export, memory, target), limit="file_seconds")
        except BaseException:
            service.files.discard(number)
            raise
        job = ClientJob(number, call.owner, "export", target, task, memory.number)
        service.jobs.add(job)
    return answer_json({"job_id": number, **_parameters(job)}, 202)


def _export(memory: ServedMemory, target: Path, cancelled: Event) -> int:
    left_out: list[None] = []
    try:
        with (
            TranslationMemory.open(memory.path) as opened,
            opened.snapshot(),
            target.open("x", encoding="utf-8") as file,
        ):
            segments = (each.segment for each in opened)
            for part in exported(segments, "tmx", memory.pair, lambda: left_out.append(None)):
                file.write(part)
                if cancelled.is_set():
                    break
    except OSError as error:
        raise not_stored(error) from error
    return len(left_out)


@routes.post(_PATH + "/import", DEEPL["import"])
async def import_memory(request: Request) -> Response:
    """Announce a TMX file, whose segments are added to the memory of its languages."""
    async with received(request, writes=True) as call:
        call.service.check_writer(request, call.key)
        owner, name = call.owner, _announced(call)
        number, folder = new_folder(call.service)
        task = asyncio.create_task(asyncio.sleep(_SECONDS))
        job = ClientJob(number, owner, "upload", folder / _TMX, task, name)
        call.service.jobs.add(job)
    url = request.url_for("upload_memory", job_id=number, key=job.key)
    expires = _time(job.created + timedelta(seconds=_SECONDS))
    return answer_json({"job_id": number, "upload_url": str(url), "expires_at": expires}, 202)


def _announced(call: DeepLCall) -> str:
    """The name for a memory that a request gives.

    Raises:
        RefusedError: The request does not describe a TMX file (400).
    """
    file, parameters = call.fields.get("source_file"), call.fields.get("parameters") or {}
    if not (isinstance(file, dict) and isinstance(parameters, dict)):
        raise RefusedError(400, "Parameter 'source_file' not specified.")
    given = DeepLCall(call.service, Fields({**file, **parameters}.items(), is_json=True), call.key)
    name, most = given.required("file_name"), call.service.limits.file
    given.fields.whole("content_length", 0, least=1, most=most)
    given.fields.choice("content_type", _CONTENT_TYPES)
    return given.fields.text("display_name") or name


@routes.on("PUT", UPLOADS + "{job_id}/{key}", DEEPL["upload_memory"])
async def upload_memory(request: Request) -> Response:
    """Upload an announced TMX file; the address suffices to do so."""
    service = service_of(request)
    job = service.jobs.uploading(request.path_params["job_id"], request.path_params["key"])
    path = job.target.with_name(token_hex())  # several uploads may arrive at once
    seconds = service.limits.body_seconds
    try:
        with path.open("xb") as file:
            async with asyncio.timeout(seconds):
                async for piece in request.stream():
                    await asyncio.to_thread(file.write, piece)
        job = service.jobs.uploading(job.number, job.key)  # no other one was complete before
        path.replace(job.target)
    except TimeoutError as error:
        message = f"The request was not complete after {seconds:g} s"
        raise over_limit("body_seconds", seconds, 408, message) from error
    except OSError as error:
        raise not_stored(error) from error
    finally:
        path.unlink(missing_ok=True)  # the client may upload the file again
    do = partial(_import, service, job)
    task = service.work.start(do, limit="file_seconds")
    service.jobs.add(replace(job, kind="import", task=task))
    job.task.cancel()
    return Response(status_code=200)


def _import(service: Service, job: ClientJob, cancelled: Event) -> tuple[str, int]:
    """Add the segments of a file to a memory; return its identifier, and how many are left out."""
    by = next((key for key in service.access.keys if owner_of(key.key) == job.owner), None)
    path, options = job.target, ImportOptions(origin=job.about, who=by.name if by else "")
    try:
        codes, _ = tmx_languages(str(path))
        for memory in service.memories.all(by=by):
            if None not in find_pair(memory.pair, tuple(codes)):
                done = add_files(memory.path, [path], memory.pair, options, Silent())
                return memory.number, done.left_out.total()
    except DataError as error:
        raise DataError(str(error).replace(str(path), job.about)) from error
    raise DataError(f"{job.about} is in {listed_codes(codes)}: no memory here has two of these")


@routes.get(_PATH + "/jobs/{job_id}", DEEPL["job"])
async def memory_job(request: Request) -> Response:
    """Whether an import or an export is complete; waits a moment for that."""
    async with received(request) as call:
        number = request.path_params["job_id"]
        job = call.service.jobs.find(call.owner, number, "export", "import", "upload")
    if job.kind != "upload":
        await job.wait()
    time = _time(job.created)
    return answer_json(
        {
            "job_id": job.number,
            "operation": "export" if job.kind == "export" else "import",
            "product": "translation_memory",
            "creation_time": time,
            "updated_time": time,
            **_parameters(job),
            "results": [_result(request, job)],
        }
    )


def _parameters(job: ClientJob) -> dict[str, Any]:
    name = "translation_memory_id" if job.kind == "export" else "display_name"
    return {"parameters": {name: job.about}}


def _result(request: Request, job: ClientJob) -> dict[str, Any]:
    """The state of a job."""
    if job.error:
        return {"status": "failed", "error": {"message": job.error}}
    if job.kind == "upload":
        if job.task.done():
            return {"status": "expired"}
        action = {"required_action": "Upload the file to the upload_url"}
        return {"status": "awaiting_input", "status_metadata": action}
    if not job.task.done():
        return {"status": "processing"}
    if job.kind == "import":
        number, n = job.task.result()
        return {"status": "completed", "translation_memory_id": number, "skipped_segment_count": n}
    url = request.url_for("download_file", key=job.number, name=quote(job.target.name))
    expires = _time(job.created + timedelta(seconds=_SECONDS))
    return {"status": "completed", "download_url": str(url), "expires_at": expires}
