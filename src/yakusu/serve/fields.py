"""The parameters of a request: JSON, a form, the query string, or several of them."""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl

from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from yakusu.serve.config import Limits
from yakusu.serve.errors import RefusedError, invalid_request

_FILES, _FORM = "multipart/form-data", "application/x-www-form-urlencoded"
_BYTES = "latin-1"  # a character for each byte


class Fields:
    """Parameters by name; each has one value or several.

    Args:
        values: The parameters, in order.
        is_json: Whether they were given as JSON, which has lists of its own.
        body: The body, if it was not read as JSON and has no files.
    """

    def __init__(
        self, values: Iterable[tuple[str, Any]], *, is_json: bool = False, body: bytes = b""
    ) -> None:
        self._values: dict[str, list[Any]] = {}
        self.is_json, self._body = is_json, body
        for name, value in values:
            self._values.setdefault(name, []).append(value)

    def get(self, name: str) -> Any:
        """The value of a parameter; a list of several; None: not given, or null."""
        values = self._values.get(name, [None])
        return values[0] if len(values) == 1 else values

    def text(self, name: str, default: str = "") -> str:
        """The value of a parameter that is a string or a number.

        Raises:
            RefusedError: It is something else.
        """
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, bool | list | dict | UploadFile):
            raise invalid_request(f"{name} parameter is not a string")
        return str(value)

    def required(self, name: str) -> str:
        """The value of a parameter as for `text`, which is not empty.

        Raises:
            RefusedError: It is missing, empty or something else.
        """
        if not (text := self.text(name)):
            raise self.missing(name)
        return text

    def missing(self, name: str) -> RefusedError:
        """The error of a parameter that is required."""
        is_unlabelled = self._body.lstrip().startswith(b"{")
        advice = ": send JSON with Content-Type: application/json" if is_unlabelled else ""
        return invalid_request(f"missing {name} parameter{advice}")

    def number(self, name: str, *, most: int) -> int:
        """The value of a parameter that is a number of at least 0; 0 if it is not given.

        Raises:
            RefusedError: It is not a number, or larger than allowed.
        """
        text = self.text(name, "0")
        try:
            number = int(float(text)) if math.isfinite(float(text)) else None
        except ValueError:
            number = None
        if number is None:
            raise invalid_request(f"{name} parameter is not a number")
        if number > most:
            raise invalid_request(f"{name} parameter must be <= {most}")
        return max(0, number)


@asynccontextmanager
async def read_fields(request: Request, limits: Limits) -> AsyncIterator[Fields]:
    """Read the parameters of a request; uploaded files are open inside the context.

    Raises:
        RefusedError: The body is not valid, is too large, or arrives too slowly.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    most = limits.texts + 10
    query = _pairs(request.scope["query_string"], "utf-8", most)
    if kind == _FILES.encode():
        async with _form(request, limits, most) as form:
            yield Fields([*query, *form.multi_items()])
        return
    body = await read_body(request, limits)
    if kind == b"application/json":
        values = parse_json(body, limits)
        if not isinstance(values, dict):
            raise RefusedError(400, "Invalid JSON format")
        yield Fields([*values.items()], is_json=True)
        return
    charset = options.get(b"charset", b"utf-8").decode("latin-1")
    pairs = _pairs(body, charset, most) if kind == _FORM.encode() else []
    yield Fields([*query, *pairs], body=body)


@asynccontextmanager
async def _form(request: Request, limits: Limits, most: int) -> AsyncIterator[FormData]:
    """The fields and the file of a form; the file is open inside the context."""
    try:
        async with asyncio.timeout(limits.body_seconds):
            form = await request.form(max_files=1, max_fields=most, max_part_size=limits.body)
    except TimeoutError as error:
        raise _too_slow(limits) from error
    try:
        yield form
    finally:
        await form.close()


def _pairs(encoded: bytes, charset: str, most: int) -> list[tuple[str, str]]:
    """The fields of a form or of a query string; what is not escaped may have any characters.

    Raises:
        RefusedError: They are not in the charset, or there are too many.
    """
    if encoded.count(b"&") >= most:
        raise invalid_request(f"there are more than {most} parameters")
    try:
        found = parse_qsl(encoded.decode(_BYTES), keep_blank_values=True, encoding=_BYTES)
        texts = [text.encode(_BYTES).decode(charset) for pair in found for text in pair]
        return [*zip(texts[::2], texts[1::2], strict=True)]
    except (UnicodeDecodeError, LookupError) as error:
        raise invalid_request(f"the parameters are not {charset}: send UTF-8") from error


async def read_body(request: Request, limits: Limits) -> bytes:
    """Read the body of a request; `LimitBody` limits its size.

    Raises:
        RefusedError: It arrives too slowly.
    """
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await request.body()
    except TimeoutError as error:
        raise _too_slow(limits) from error


def parse_json(body: bytes, limits: Limits) -> Any:
    """Parse JSON.

    Raises:
        RefusedError: It is not valid, or nested too deeply.
    """
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(text)
        too_deep = _depth(value) > limits.depth
        if "\\u" in text:  # perhaps half of a pair of surrogates, which is refused
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        too_deep = True
    except ValueError as error:  # not UTF-8, not JSON, or not text
        raise RefusedError(400, "Invalid JSON format") from error
    if too_deep:
        raise RefusedError(400, f"Invalid JSON format: it has more than {limits.depth} levels")
    return value


def _depth(value: Any) -> int:
    """The number of levels of lists and objects."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, list | dict)]:
        depth += 1
        level = [
            inner for each in level for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return depth


def _too_slow(limits: Limits) -> RefusedError:
    return RefusedError(408, f"The request was not complete after {limits.body_seconds:g} s")
