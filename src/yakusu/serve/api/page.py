"""The web page of the service, and the page that describes its API."""

import hashlib
from importlib.resources import files
from pathlib import PurePath

from starlette.requests import Request
from starlette.responses import Response

from yakusu.serve.api.routes import Answer, DescribedRoutes

_TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}
_PAGES = {"/": "service.html", "/docs": "docs.html"}


def page_routes() -> DescribedRoutes:
    """The routes of the pages and of what they load, all read from the package once."""
    routes = DescribedRoutes()
    found = {
        each.name: each.read_bytes() for each in files("yakusu.view").joinpath("page").iterdir()
    }
    for path, name in _PAGES.items():
        routes.get(path)(_answer(found[name], ".html"))
    for name, content in found.items():
        if (suffix := PurePath(name).suffix) in (".css", ".js"):
            routes.get(f"/assets/{name}")(_answer(content, suffix))
    return routes


def _answer(content: bytes, suffix: str) -> Answer:
    """A function that answers with a file; without its content if the browser has it."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"Cache-Control": "no-cache", "ETag": tag}

    async def answer(request: Request) -> Response:
        known = request.headers.get("if-none-match", "")
        if tag in known:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=_TYPES[suffix])

    return answer
