"""Requests to DeepL's API: their key, their parameters, and their errors."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from yakusu.errors import DataError, MemoryFileError
from yakusu.serve.api.routes import Answer, DescribedRoutes, Schema
from yakusu.serve.errors import RefusedError, error_response, memory_refusal
from yakusu.serve.http.fields import Fields
from yakusu.serve.http.origins import check_origin
from yakusu.serve.service import Service, service_of
from yakusu.serve.store import owner_of

_SCHEME = "deepl-auth-key"  # of Authorization
_UNPROCESSABLE, _WRONG = 422, 400  # DeepL has no status of its own for limits of values


@dataclass(frozen=True)
class DeepLCall:
    """A request.

    Attributes:
        service: The service.
        fields: Its parameters.
        key: Its API key; "": none.
    """

    service: Service
    fields: Fields
    key: str

    @property
    def owner(self) -> str:
        """Whose glossaries, documents and characters they are.

        Raises:
            RefusedError: The request has no key (403).
        """
        if not self.key:
            raise RefusedError(403, "Send an API key: Authorization: DeepL-Auth-Key KEY")
        return owner_of(self.key)

    def required(self, name: str) -> str:
        """The value of a parameter, which is a text and not empty.

        Raises:
            RefusedError: It is not (400).
        """
        if text := self.fields.text(name):
            return text
        raise RefusedError(400, f"Parameter '{name}' not specified.")


@asynccontextmanager
async def received(request: Request, *, writes: bool = False) -> AsyncIterator[DeepLCall]:
    """Read a request, whose files are open inside the context, and count it.

    Args:
        request: The request.
        writes: It stores something: a foreign page may not send it.

    Raises:
        RefusedError: It is not valid, its key is unknown, or there were too many requests.
    """
    if writes:
        check_origin(request)
    service = service_of(request)
    async with service.bodies.fields(request) as fields:
        key = _key(request) or fields.text("auth_key")
        service.count(request, key)
        yield DeepLCall(service, fields, key)


def _key(request: Request) -> str:
    """The key in the Authorization header; "": the request has none."""
    header = request.headers.get("authorization", "").strip()
    scheme, _, key = header.partition(" ")
    if header and (scheme.lower() != _SCHEME or not key.strip()):
        raise RefusedError(403, "Authorization failed: write Authorization: DeepL-Auth-Key KEY")
    return key.strip()


class DeepLRoutes(DescribedRoutes):
    """Routes whose errors have DeepL's form: {"message": ...}."""

    def on(
        self, method: str, path: str, described: Schema | None = None
    ) -> Callable[[Answer], Answer]:
        """See `DescribedRoutes.on`."""
        add = super().on(method, path, described)
        return lambda answer: add(_with_messages(answer))


def _with_messages(answer: Callable[[Request], Awaitable[Response]]) -> Answer:
    @wraps(answer)
    async def answered(request: Request) -> Response:
        try:
            return await answer(request)
        except MemoryFileError as error:
            refused = memory_refusal(error)
        except DataError as error:
            refused = RefusedError(400, f"Invalid request: {error}")
        except RefusedError as error:
            refused = error
        service_of(request).metrics.count_refusal(refused.reason)
        status = _WRONG if refused.status == _UNPROCESSABLE else refused.status
        return error_response(status, str(refused), refused.headers, scope=request.scope)

    return answered


def answer_json(value: object, status: int = 200) -> JSONResponse:
    """A response of JSON."""
    return JSONResponse(value, status)
