"""The web page of the service, and the page that describes its API."""

import hashlib
from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import PurePath

from fastapi import APIRouter, Request
from fastapi.responses import Response

_TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}
_PAGES = {"/": "service.html", "/docs": "docs.html"}


def page_router() -> APIRouter:
    """The routes of the pages and of what they load, all read from the package once."""
    router = APIRouter(include_in_schema=False)
    found = {
        each.name: each.read_bytes() for each in files("yakusu.view").joinpath("page").iterdir()
    }
    for path, name in _PAGES.items():
        router.add_api_route(path, _route(found[name], ".html"))
    for name, content in found.items():
        if (suffix := PurePath(name).suffix) in (".css", ".js"):
            router.add_api_route(f"/assets/{name}", _route(content, suffix))
    return router


def _route(content: bytes, suffix: str) -> Callable[[Request], Awaitable[Response]]:
    """A function that answers with a file; without its content if the browser has it."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"Cache-Control": "no-cache", "ETag": tag}

    async def answer(request: Request) -> Response:
        known = request.headers.get("if-none-match", "")
        if tag in known:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=_TYPES[suffix])

    return answer
