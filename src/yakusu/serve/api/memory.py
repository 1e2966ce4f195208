"""The route /v1/memory: translations that people confirm, which later requests use."""

import asyncio
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from yakusu.serve.access import Key
from yakusu.serve.api.routes import DescribedRoutes
from yakusu.serve.api.schemas import object_route
from yakusu.serve.api.v1 import parsed_body
from yakusu.serve.errors import invalid_request
from yakusu.serve.http.origins import check_origin
from yakusu.serve.memories import LanguagePair, ServedMemories
from yakusu.serve.service import service_of
from yakusu.translator.writing.objects import Object, match_object

routes = DescribedRoutes("/v1")
_LARGEST = 2**63 - 1
_JSON = "application/json"
_NO_MEMORY = {404: "The language pair has no memory"}


class MemoryBody(BaseModel):
    """What is done with the memory of a language pair."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Literal["add", "search", "delete"]
    source: str
    target: str
    text: Annotated[str, Field(description="A text in the source language")] = ""
    translation: Annotated[str, Field(description="Its translation, to add")] = ""
    id: Annotated[int, Field(ge=0, le=_LARGEST, description="What to delete")] = 0
    api_key: str = ""

    @property
    def texts(self) -> Iterator[str]:
        """The texts that the action needs."""
        if self.action != "delete":
            yield self.text
        if self.action == "add":
            yield self.translation


@routes.post("/memory", object_route(MemoryBody, more=_NO_MEMORY))
async def memory(request: Request) -> JSONResponse:
    """Add a translation to the memory of a language pair, search it, or delete from it."""
    check_origin(request)
    service = service_of(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        raise invalid_request(f"send JSON with Content-Type: {_JSON}")  # unlike a form of any page
    body = await service.bodies.parsed(
        request, lambda given: parsed_body(given, MemoryBody, service.limits)
    )
    service.count(request, body.api_key)
    if body.action != "search":
        service.check_writer(request, body.api_key)
    if not all(text.strip() for text in body.texts):
        raise invalid_request(f"{body.action} needs texts that are not empty")
    service.check_texts([*body.texts])
    pair = service.catalog.pair(body.source, body.target)
    by = service.access.known(body.api_key)
    return JSONResponse(await asyncio.to_thread(_done, service.memories, pair, body, by))


def _done(memories: ServedMemories, pair: LanguagePair, body: MemoryBody, by: Key | None) -> Object:
    if body.action == "add":
        return {"id": memories.add(pair, body.text, body.translation, by=by)}
    if body.action == "delete":
        return {"deleted": memories.remove(pair, body.id, by=by)}
    return {"matches": [*map(match_object, memories.search(pair, body.text, by=by))]}
