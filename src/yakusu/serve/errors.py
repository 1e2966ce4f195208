"""Requests that are refused, with the status codes and the messages of LibreTranslate.

Under the prefix of another API, the response has the form that its clients read.
"""

import logging
from collections.abc import Callable

from starlette.responses import JSONResponse
from starlette.types import Scope

from yakusu.errors import MemoryFileError, YakusuError

_log = logging.getLogger(__name__)
_LONGEST = 1000  # characters of a message
_RETRY = 10  # seconds until the disk may have room


class RefusedError(YakusuError):
    """A request is refused.

    Args:
        status: HTTP status code.
        message: What is wrong, for the client.
        retry_after: Seconds after which the request may succeed; None: it will not.
        reason: What it is counted as in the metrics: the setting of a limit; "": the status.
    """

    def __init__(
        self, status: int, message: str, *, retry_after: int | None = None, reason: str = ""
    ) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after
        self.reason = reason or str(status)

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the response."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def refusal(error: RefusedError, scope: Scope) -> JSONResponse:
    """The response to a request that is refused."""
    return error_response(error.status, str(error), error.headers, scope=scope)


def error_response(
    status: int, message: str, headers: dict[str, str] | None = None, *, scope: Scope
) -> JSONResponse:
    """A response with a message, of which the beginning is sent if it quotes a long request."""
    shown = message if len(message) <= _LONGEST else f"{message[:_LONGEST]} ..."
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    own = [body for prefix, body in _BODIES.items() if path.startswith(prefix)]
    return JSONResponse(own[0](status, shown) if own else {"error": shown}, status, headers)


def _modernmt_body(status: int, message: str) -> object:
    kind = _MODERNMT_TYPES.get(status, "ApiException")
    return {"status": status, "error": {"type": kind, "message": message}}


_MODERNMT_TYPES = {
    400: "ParameterParsingException",
    401: "AuthException",
    403: "ForbiddenException",
    404: "NotFoundException",
    429: "TooManyRequestsException",
    503: "ServiceUnavailableException",
}
_BODIES: dict[str, Callable[[int, str], object]] = {
    "/modernmt/": _modernmt_body,
    **dict.fromkeys(("/v2/", "/v3/"), lambda _, message: {"message": message}),  # DeepL
}


def invalid_request(problem: str) -> RefusedError:
    """A parameter is missing or wrong: "Invalid request: ..."."""
    return RefusedError(400, f"Invalid request: {problem}")


def missing(name: str) -> RefusedError:
    """A required parameter is not given."""
    return invalid_request(f"missing {name} parameter")


def over_limit(
    name: str, value: float, status: int, message: str, *, retry_after: int | None = None
) -> RefusedError:
    """A request exceeds a limit: "... (limits.characters = 100000)".

    Args:
        name: The setting, one of `Limits`.
        value: Its value.
        status: 413, 422, 429 or 503.
        message: What exceeds it.
        retry_after: Seconds after which the request may succeed; None: it will not.
    """
    return RefusedError(
        status,
        f"{message} (limits.{name} = {str(value).removesuffix('.0')})",
        retry_after=retry_after,
        reason=f"limits.{name}",
    )


def not_stored(error: OSError) -> RefusedError:
    """A file cannot be written, probably because the disk is full."""
    _log.warning("a file of a request cannot be written: %s", error.strerror or error)
    message = "The server cannot store files now: try again later"
    return RefusedError(503, message, retry_after=_RETRY, reason="disk")


def memory_refusal(error: MemoryFileError) -> RefusedError:
    """A translation memory cannot be read or written; the log says why."""
    _log.warning("a memory cannot be used: %s", error)
    message = "The translation memory cannot be used now: try again later"
    return RefusedError(503, message, retry_after=_RETRY, reason="memory_file")
