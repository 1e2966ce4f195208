"""Middleware for every request: limits of its size, HEAD, proxies, security headers, a log line."""

import asyncio
import logging
import time
from traceback import format_exc, format_tb

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yakusu.serve.access import ByAddress
from yakusu.serve.budget import MemoryBudget
from yakusu.serve.config import Limits
from yakusu.serve.errors import RefusedError, over_limit, refusal
from yakusu.serve.monitoring import Metrics

_log = logging.getLogger(__name__)
_COPIES = 5  # of a body: its bytes, and its texts with at most 4 bytes for each character
_FIELDS = ("method", "path", "status", "milliseconds")  # of a line of the log
_OVERRIDE, _PROTOCOL = b"x-http-method-override", b"x-forwarded-proto"
_HEADERS = (  # unless a response has its own
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
)
_AMBIGUOUS = RefusedError(400, "Invalid request: it has both Content-Length and Transfer-Encoding")
_STOPPED = RefusedError(503, "The server is shutting down: try again later", retry_after=5)
_FAILED = RefusedError(500, "The server failed: its log has the reason")
_WITH_FILES = (  # ends of paths
    *("/translate_file", "/v2/document"),
    *("/context-vector", "/content", "/glossary"),  # of ModernMT
)
_UPLOADS = "/v3/translation_memories/uploads/"


class LimitBody:
    """Refuses requests that are too large, before and while they arrive.

    What they hold in memory is part of the budget of all requests. Requests whose length is
    ambiguous are refused, too.
    """

    def __init__(self, app: ASGIApp, *, limits: Limits, budget: MemoryBudget) -> None:
        self._app, self._limits, self._budget = app, limits, budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application with a limited body."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = dict(scope["headers"])
        is_form = headers.get(b"content-type", b"").lower().startswith(b"multipart/form-data")
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        has_file = path.startswith(_UPLOADS) or (is_form and path.endswith(_WITH_FILES))
        name, size, held = "file" if has_file else "body", 0, 0
        most = getattr(self._limits, name)
        announced = headers.get(b"content-length")
        too_large = announced is not None and int(announced) > most
        if announced is not None and b"transfer-encoding" in headers:
            response = refusal(_AMBIGUOUS, scope)
            response.headers["Connection"] = "close"
            return await response(scope, receive, send)

        async def limited() -> Message:
            nonlocal size, held
            if too_large:
                raise self._too_large(name, most)
            message = await receive()
            size += len(message.get("body", b""))
            if size > most:
                raise self._too_large(name, most)
            more = _COPIES * min(size, self._limits.body) - held  # files are not in memory
            if more:
                self._budget.reserve(more)
                held += more
            return message

        try:
            await self._app(scope, limited, send)
        finally:
            self._budget.release(held)

    @staticmethod
    def _too_large(name: str, most: int) -> RefusedError:
        return over_limit(name, most, 413, f"Request Entity Too Large: send at most {most} bytes")


class LimitAddresses:
    """Limits the requests that are open for an address, as trusted proxies give it."""

    def __init__(self, app: ASGIApp, *, clients: ByAddress, metrics: Metrics) -> None:
        self._app, self._clients, self._metrics = app, clients, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application if there are not too many requests."""
        if scope["type"] != "http" or not scope["client"]:
            return await self._app(scope, receive, send)
        address = scope["client"][0]
        try:
            self._clients.enter(address)
        except RefusedError as error:
            self._metrics.count_refusal(error.reason)
            return await refusal(error, scope)(scope, receive, send)
        try:
            await self._app(scope, receive, send)
        finally:
            self._clients.leave(address)


class Head:
    """Answers HEAD like GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            return await self._app(scope, receive, send)

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if "body" in message else message)

        inner = {**scope, "method": "GET"}
        try:
            await self._app(inner, receive, without_body)
        finally:
            scope["route"] = inner.get("route")  # for `Observe`


class OverrideMethod:
    """Takes the method of a POST request from X-HTTP-Method-Override, under a prefix."""

    def __init__(self, app: ASGIApp, *, prefix: str) -> None:
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application."""
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        stated = dict(scope["headers"]).get(_OVERRIDE)
        if not stated or not path.startswith(f"{self._prefix}/"):
            return await self._app(scope, receive, send)
        inner = {**scope, "method": stated.decode("latin-1").upper()}
        try:
            await self._app(inner, receive, send)
        finally:
            scope["route"] = inner.get("route")  # for `Observe`


class FirstProtocol:
    """Reads X-Forwarded-Proto of several proxies: the first one has the client's protocol.

    "https, http" is "https". uvicorn's middleware inside this one decides whom to trust.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application."""
        headers = scope.get("headers", [])
        if every := [value for name, value in headers if name == _PROTOCOL]:
            first = every[0].partition(b",")[0].strip().lower()
            others = [header for header in headers if header[0] != _PROTOCOL]
            scope = {**scope, "headers": [*others, (_PROTOCOL, first)]}
        await self._app(scope, receive, send)


class Prefix:
    """Puts all paths under a prefix, whether or not a reverse proxy has removed it."""

    def __init__(self, app: ASGIApp, *, prefix: str) -> None:
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application."""
        if scope["type"] == "http":
            prefix, path = self._prefix, scope["path"]
            path = path if f"{path}/".startswith(f"{prefix}/") else prefix + path
            scope = {**scope, "root_path": prefix, "path": path}
        await self._app(scope, receive, send)


class Observe:
    """Adds security headers, counts requests and writes a line to the log for each.

    The log has no texts: neither bodies nor query strings, nor messages of unexpected errors, which
    may quote them.

    Args:
        app: The application.
        metrics: Counts the requests.
        log_text: Whether the log has texts nevertheless.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, log_text: bool) -> None:
        self._app, self._metrics, self._log_text = app, metrics, log_text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        start, status = time.perf_counter(), 0

        async def with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                more = [header for header in _HEADERS if header[0] not in own]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        try:
            await self._app(scope, receive, with_headers)
        except asyncio.CancelledError:  # after `shutdown_seconds`
            if not status:
                await refusal(_STOPPED, scope)(scope, receive, with_headers)
        except Exception as error:
            trace = format_exc() if self._log_text else _without_messages(error)
            _log.error("%s %s failed\n%s", scope["method"], _path(scope), trace)
            if not status:  # otherwise, uvicorn closes the connection
                await refusal(_FAILED, scope)(scope, receive, with_headers)
        finally:
            seconds = time.perf_counter() - start
            path = _path(scope)
            self._metrics.count(path, status, seconds)
            line = (scope["method"], path, status, round(1000 * seconds, 1))
            fields = dict(zip(_FIELDS, line, strict=True))
            _log.info("%s %s %d %.1f ms", *line, extra={"fields": fields})


def _without_messages(error: BaseException) -> str:
    """The types of an error and its causes, and the lines of code where they were raised."""
    cause = error.__cause__ or error.__context__
    before = f"{_without_messages(cause)}\n" if cause else ""
    return f"{before}{''.join(format_tb(error.__traceback__))}{type(error).__name__}"


def _path(scope: Scope) -> str:
    """The path of the route of a request."""
    route = scope.get("route")
    return getattr(route, "path", "(other)")
