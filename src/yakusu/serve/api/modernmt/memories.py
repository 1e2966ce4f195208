"""The routes of ModernMT's API about memories, their segments and their terms."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

from starlette.requests import Request
from starlette.responses import JSONResponse

from yakusu.data.files.formats import languages_in
from yakusu.data.languages import find_pair, listed_codes
from yakusu.errors import DataError, MemoryFileError
from yakusu.memory.choice import SegmentChoice
from yakusu.memory.importing import ImportOptions, add_files
from yakusu.memory.memory import TranslationMemory
from yakusu.progress import Silent
from yakusu.serve.api.modernmt.asking import (
    PREFIX,
    Asked,
    answer,
    asked,
    memory_number,
    model_pairs,
)
from yakusu.serve.api.modernmt.glossaries import check_terms, sets_of
from yakusu.serve.api.modernmt.schemas import MODERNMT
from yakusu.serve.api.modernmt.uploads import store_upload
from yakusu.serve.api.modernmt.visible import (
    OperatorMemory,
    Visible,
    VisibleMemories,
    memory_object,
)
from yakusu.serve.api.routes import DescribedRoutes
from yakusu.serve.created import CreatedMemory, ImportJob
from yakusu.serve.errors import RefusedError, invalid_request, not_stored
from yakusu.serve.memories import confirmed_segment

routes = DescribedRoutes(PREFIX)
_LONGEST = 1000  # characters of a name or a description
_ABSENT = {
    "translate/batch": "This server calls no webhooks: send the texts to /translate",
    "translate/batch/key": "This server calls no webhooks: send the texts to /translate",
    "users/me": "This server has no user accounts: its operator gives out API keys",
}


# ---- memories ------------------------------------------------------------------------------------


@routes.get("/memories", MODERNMT["memories"])
async def show_memories(request: Request) -> JSONResponse:
    """The memories that the client has created, and those that its requests use anyway."""
    async with asked(request) as call:
        seen = VisibleMemories(call.service, call.key)
        return answer(await asyncio.to_thread(lambda: [*map(memory_object, seen)]))


@routes.post("/memories", MODERNMT["create"])
async def create_memory(request: Request) -> JSONResponse:
    """Create a memory, which only requests with the same key use."""
    async with asked(request) as call:
        call.check_writer()
        if call.fields.text("external_id"):
            raise invalid_request("this server reads no memories of MyMemory: omit external_id")
        create = call.service.created.create
        name, about = _named(call, call.fields.required("name"), "")
        return answer(memory_object(await asyncio.to_thread(create, call.key, name, about)))


@routes.get("/memories/{memory}", MODERNMT["memory"])
async def show_memory(request: Request) -> JSONResponse:
    """A memory."""
    async with asked(request) as call:
        return answer(memory_object(await asyncio.to_thread(_named_in_path, call)))


@routes.on("PUT", "/memories/{memory}", MODERNMT["edit"])
async def edit_memory(request: Request) -> JSONResponse:
    """Change the name or the description of a memory that the client has created."""
    async with asked(request) as call:
        call.check_writer()

        def edit() -> Visible:
            memory = _created_in_path(call)
            name, about = _named(call, memory.name, memory.description)
            changed = replace(memory, name=name, description=about)
            call.service.created.edit(changed)
            return changed

        return answer(memory_object(await asyncio.to_thread(edit)))


@routes.on("DELETE", "/memories/{memory}", MODERNMT["memory"])
async def drop_memory(request: Request) -> JSONResponse:
    """Delete a memory that the client has created, with its segments and terms."""
    async with asked(request) as call:
        call.check_writer()

        def delete() -> Visible:
            memory = _created_in_path(call)
            call.service.created.delete(memory.number)
            return memory

        return answer(memory_object(await asyncio.to_thread(delete)))


def _named(call: Asked, name: str, about: str) -> tuple[str, str]:
    """The name and the description in a request, or those that are given."""
    found = call.fields.text("name", name), call.fields.text("description", about)
    if not found[0].strip() or max(map(len, found)) > _LONGEST:
        raise invalid_request(f"a name has 1 to {_LONGEST} characters, a description no more")
    return found


def _number(call: Asked) -> int:
    """The number in the path of a request."""
    return memory_number(call.request.path_params["memory"], "the path")


def _named_in_path(call: Asked) -> Visible:
    """The memory that the path of a request names."""
    return VisibleMemories(call.service, call.key)[_number(call)]


def _created_in_path(call: Asked) -> CreatedMemory:
    """The same, if the client has created it."""
    return VisibleMemories(call.service, call.key).created(_number(call))


# ---- segments ------------------------------------------------------------------------------------


@routes.post("/memories/{memory}/content", MODERNMT["add"])
async def add_content(request: Request) -> JSONResponse:
    """Add a translation to a memory, or those of a TMX file."""
    async with asked(request) as call:
        call.check_writer()
        if call.fields.get("tmx") is None:
            return await _imported(call, partial(_confirm, call, replaced=False))
        return await _imported(call, lambda: _import_tmx(call))


@routes.on("PUT", "/memories/{memory}/content", MODERNMT["replace"])
async def replace_content(request: Request) -> JSONResponse:
    """Replace the translations of a memory that have a `tuid`."""
    async with asked(request) as call:
        call.check_writer()
        call.fields.required("tuid")
        return await _imported(call, partial(_confirm, call, replaced=True))


def _confirm(call: Asked, *, replaced: bool) -> int:
    """Store a translation, and remove those with its name; return the number of segments."""
    seen, memory, pair = VisibleMemories(call.service, call.key), _named_in_path(call), call.pair()
    texts = call.fields.required("sentence"), call.fields.required("translation")
    call.service.check_texts(texts)
    if not all(map(str.strip, texts)):
        raise invalid_request("the sentence or its translation is blank: send both")
    segment = confirmed_segment(*texts, by=call.key, key=call.fields.text("tuid"))
    with (
        seen.writing(memory, pair) as path,
        TranslationMemory.open(path, pair, writable=True) as file,
    ):
        number = file.confirm(segment)
        if replaced:
            same = file.chosen(SegmentChoice(key=segment.key))
            file.remove([each.number for each in [*same] if each.number != number])
    return 1


def _import_tmx(call: Asked) -> int:
    """Add the segments of a TMX file for each language pair with a model; return their number.

    Raises:
        RefusedError: The file is not valid, or cannot be stored.
    """
    name, folder = call.service.files.new()
    path = folder / "import.tmx"
    try:
        store_upload(call, "tmx", path)
        return _add_tmx(call, path)
    except MemoryFileError:
        raise
    except DataError as error:
        raise invalid_request(str(error).replace(str(path), "tmx")) from error
    except OSError as error:
        raise not_stored(error) from error
    finally:
        call.service.files.discard(name)


def _add_tmx(call: Asked, path: Path) -> int:
    """Add the segments of a file to the memory of a request.

    Raises:
        DataError: It is malformed, or has no segment for any model.
    """
    seen, memory = VisibleMemories(call.service, call.key), _named_in_path(call)
    codes, _ = languages_in(str(path))
    known = [memory.pair] if isinstance(memory, OperatorMemory) else model_pairs(call.service)
    pairs = [pair for pair in known if None not in find_pair(pair, (*codes,))]
    if not pairs:
        found = listed_codes(codes) or "no language"
        raise DataError(f"tmx has no pair of languages with a model, but {found}")
    options = ImportOptions(origin="tmx", who=call.key.name if call.key else "")
    n, faults = 0, list[DataError]()
    for pair in pairs:
        try:
            with seen.writing(memory, pair) as own:
                n += add_files(own, [path], pair, options, Silent()).added.new
        except MemoryFileError:
            raise
        except DataError as error:  # no unit has both, unless the file is malformed
            faults.append(error)
    if len(faults) == len(pairs):
        raise faults[0]
    return n


# ---- terms ---------------------------------------------------------------------------------------


@routes.post("/memories/{memory}/glossary", MODERNMT["terms"])
async def add_terms(request: Request) -> JSONResponse:
    """Add terms to a memory, or those of a CSV file."""
    async with asked(request) as call:
        call.check_writer()
        return await _imported(call, partial(_add_terms, call, replaced=False))


@routes.on("PUT", "/memories/{memory}/glossary", MODERNMT["terms"])
async def replace_terms(request: Request) -> JSONResponse:
    """Replace the terms of a memory that have a `tuid`, or translate the same term."""
    async with asked(request) as call:
        call.check_writer()
        return await _imported(call, partial(_add_terms, call, replaced=True))


def _add_terms(call: Asked, *, replaced: bool) -> int:
    memory, sets = _created_in_path(call), sets_of(call)
    if replaced and not all(each.name for each in sets):
        raise call.fields.missing("tuid")
    check_terms(call.service, sets)
    call.service.created.add_terms(memory.number, sets, replace=replaced)
    return len(sets)


# ---- import jobs ---------------------------------------------------------------------------------


async def _imported(call: Asked, work: Callable[[], int]) -> JSONResponse:
    """Import something, and answer with a job that is done."""

    def run(cancelled: Event) -> int:
        return work()

    size = await call.service.work.run(call.request, run, limit="file_seconds")
    return answer(_shown(call.service.created.new_job(call.key, _number(call), size)))


@routes.get("/import-jobs/{job}", MODERNMT["job"])
async def get_job(request: Request) -> JSONResponse:
    """An import, which is done."""
    async with asked(request) as call:
        job = call.service.created.job(call.key, request.path_params["job"])
        if job is None:
            raise RefusedError(404, "There is no import job with this id")
        return answer(_shown(job))


def _shown(job: ImportJob) -> dict[str, int | float | str]:
    """An import as clients read it."""
    return {"id": job.name, "memory": job.memory, "size": job.size, "progress": 1.0}


# ---- what there is not ---------------------------------------------------------------------------


@routes.get("/{path:path}")
@routes.post("/{path:path}")
@routes.on("PUT", "/{path:path}")
@routes.on("DELETE", "/{path:path}")
async def absent(request: Request) -> JSONResponse:
    """Say what the server does not have."""
    async with asked(request):
        path = request.path_params["path"]
        raise RefusedError(404, _ABSENT.get(path, "Requested resource not found"))
