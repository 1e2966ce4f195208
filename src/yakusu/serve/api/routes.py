"""Routes that read their parameters themselves, with their OpenAPI descriptions."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from yakusu.version import __version__

Answer = Callable[[Request], Awaitable[Response]]
Schema = dict[str, Any]
_PARAMETER = re.compile(r"{(\w+)}")


class DescribedRoute(Route):
    """A route for one method, or for GET and HEAD.

    Args:
        method: GET, POST, PUT, PATCH or DELETE.
        path: The path.
        answer: Answers a request.
        described: `responses`, `requestBody` and the like of OpenAPI; None: the route is not
            described.
    """

    def __init__(self, method: str, path: str, answer: Answer, described: Schema | None) -> None:
        super().__init__(path, answer, methods=[method])
        self.method, self.described = method.lower(), described

    def operation(self) -> Schema:
        """The operation of OpenAPI."""
        named = re.sub(r"\W", "_", f"{self.name}{self.path_format}_{self.method}")
        described = self.described or {}
        inside = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in _PARAMETER.findall(self.path)
        ]
        parameters = [*inside, *described.get("parameters", ())]
        return {
            "summary": self.name.replace("_", " ").title(),
            "description": inspect.getdoc(self.endpoint),
            "operationId": named,
            **described,
            **({"parameters": parameters} if parameters else {}),
        }


class DescribedRoutes(list[DescribedRoute]):
    """Routes, in the order in which they are compared with a request.

    Args:
        prefix: The beginning of all paths.
    """

    def __init__(self, prefix: str = "") -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, path: str, described: Schema | None = None) -> Callable[[Answer], Answer]:
        """Add the decorated function for GET, as `DescribedRoute` does."""
        return self.on("GET", path, described)

    def post(self, path: str, described: Schema | None = None) -> Callable[[Answer], Answer]:
        """Add the decorated function for POST, as `DescribedRoute` does."""
        return self.on("POST", path, described)

    def on(
        self, method: str, path: str, described: Schema | None = None
    ) -> Callable[[Answer], Answer]:
        """Add the decorated function for a method, as `DescribedRoute` does."""

        def add(answer: Answer) -> Answer:
            self.append(DescribedRoute(method, self._prefix + path, answer, described))
            return answer

        return add


def openapi(routes: Iterable[BaseRoute], components: Schema) -> Schema:
    """The OpenAPI description of the routes that have one.

    Args:
        routes: The routes.
        components: What their descriptions refer to.
    """
    paths: dict[str, Schema] = {}
    for route in routes:
        if isinstance(route, DescribedRoute) and route.described is not None:
            paths.setdefault(route.path, {})[route.method] = route.operation()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "yakusu",
            "description": "Translation with LibreTranslate's API, an API of its own under /v1, "
            "DeepL's under /v2 and /v3, and ModernMT's under /modernmt.",
            "version": __version__,
        },
        "paths": paths,
        "components": components,
    }
