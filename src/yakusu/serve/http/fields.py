"""The parameters of a request: JSON, a form, the query string, or several of them."""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from io import BytesIO
from tempfile import TemporaryFile
from typing import Any, BinaryIO, TypeVar, cast

from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.requests import Request

from yakusu.serve.config import Limits
from yakusu.serve.errors import RefusedError, invalid_request, not_stored, over_limit
from yakusu.serve.http.forms import check_charset, multipart, pairs

_FILES, _FORM = b"multipart/form-data", b"application/x-www-form-urlencoded"
_LONGEST_TYPE = 1000  # characters of Content-Type
IN_MEMORY = 1_000_000  # bytes of an upload; a larger one is in a file without a name
_LITTLE = 16_384  # bytes that are parsed on the event loop
_MOST = 10**9 - 1  # of whole numbers
_FLAGS = {"1": True, "0": False, "true": True, "false": False}
_WRITERS = 8  # threads that store uploads, so that a slow disk delays only these
T = TypeVar("T")


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

        Args:
            name: The parameter, and the setting of its limit.
            most: The limit.

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
            message = f"Invalid request: {name} parameter must be <= {most}"
            raise over_limit(name, most, 422, message)
        return max(0, number)

    def whole(self, name: str, default: int, *, least: int = 0, most: int = _MOST) -> int:
        """The value of a parameter that is a whole number.

        Raises:
            RefusedError: It is not, or too small or too large (400).
        """
        text = self.text(name, str(default))
        is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(most))
        if is_number and least <= int(text) <= most:
            return int(text)
        raise _unsupported(name, f"a number from {least} to {most}")

    def flag(self, name: str, default: bool = False) -> bool:
        """The value of a parameter that is true or false.

        Raises:
            RefusedError: It is not (400).
        """
        value = self.get(name)
        if value is None or value == "":
            return default
        known = value if isinstance(value, bool) else _FLAGS.get(str(value).lower())
        if known is None:
            raise _unsupported(name, "true or false")
        return known

    def choice(self, name: str, allowed: Iterable[str]) -> str:
        """The value of a parameter that has some values only; by default, the first one.

        Raises:
            RefusedError: It has another one (400).
        """
        known = [*dict.fromkeys(allowed)]
        if (value := self.text(name).lower() or known[0]) in known:
            return value
        raise _unsupported(name, f"one of {', '.join(filter(None, known))}")

    def listed(self, name: str, *kinds: type) -> list[str]:
        """The values of a parameter: a list, repeated values, or a text with commas.

        Args:
            name: The parameter.
            kinds: The types of the values in JSON; none: texts.

        Raises:
            RefusedError: A value is something else (400).
        """
        value = self.get(name)
        several = value if isinstance(value, list) else [] if value is None else [value]
        if any(isinstance(each, bool) or not isinstance(each, kinds or str) for each in several):
            raise _unsupported(name, "a list of texts or numbers" if kinds else "a list of texts")
        found = (part.strip() for each in several for part in str(each).split(","))
        return [*filter(None, found)]


def _unsupported(name: str, advice: str) -> RefusedError:
    return RefusedError(400, f"Value for '{name}' not supported: use {advice}")


class Bodies:
    """Reads the bodies of requests, large ones outside the event loop.

    Args:
        limits: The limits; `LimitBody` limits the size.
        folder: Where large uploads are stored, without a name.
    """

    def __init__(self, limits: Limits, folder: str) -> None:
        self._limits, self._folder = limits, folder
        # One thread: Python does not let the event loop run while it parses JSON.
        self._parser = ThreadPoolExecutor(1, thread_name_prefix="bodies")
        self._writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="uploads")

    @asynccontextmanager
    async def fields(self, request: Request) -> AsyncIterator[Fields]:
        """Read the parameters of a request; uploaded files are open inside the context.

        Raises:
            RefusedError: The body is not valid, is too large, or arrives too slowly.
        """
        limits = self._limits
        query = pairs(request.scope["query_string"], "utf-8", limits)
        header = request.headers.get("content-type", "")
        if len(header) > _LONGEST_TYPE:
            raise invalid_request(f"Content-Type has more than {_LONGEST_TYPE} characters")
        kind, options = parse_options_header(header)
        if kind == _FILES:
            async with self._form(request, options) as form:
                yield Fields([*query, *form])
        elif kind == b"application/json":
            values = await self.parsed(request, lambda body: parse_json(body, limits))
            if not isinstance(values, dict):
                raise RefusedError(400, "Invalid JSON format")
            yield Fields([*values.items()], is_json=True)
        elif kind == _FORM:
            charset = check_charset(options.get(b"charset", b"utf-8").decode("latin-1"))
            found = await self.parsed(request, lambda body: pairs(body, charset, limits))
            yield Fields([*query, *found], body=await self._body(request))
        else:
            yield Fields(query, body=await self._body(request))

    async def parsed(self, request: Request, parse: Callable[[bytes], T]) -> T:
        """What a function returns for the body of a request.

        Raises:
            RefusedError: It arrives too slowly, or the function raises this.
        """
        body = await self._body(request)
        if len(body) <= _LITTLE:
            return parse(body)
        return await _run(self._parser, partial(parse, body))

    async def _body(self, request: Request) -> bytes:
        _check_encoding(request)
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                return await request.body()
        except TimeoutError as error:
            raise self._too_slow() from error

    @asynccontextmanager
    async def _form(
        self, request: Request, options: dict[bytes, bytes]
    ) -> AsyncIterator[list[tuple[str, str | UploadFile]]]:
        """The fields and the file of a form; the file is open inside the context."""
        with await self._stored(request) as body:
            yield await _run(self._writers, partial(multipart, body, options, self._limits))

    async def _stored(self, request: Request) -> BinaryIO:
        """The body of a request as a file, in memory if it is small."""
        _check_encoding(request)
        body: BinaryIO = BytesIO()
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                async for piece in request.stream():
                    if isinstance(body, BytesIO) and body.tell() + len(piece) > IN_MEMORY:
                        body = await _run(self._writers, partial(_moved, body, self._folder))
                    if isinstance(body, BytesIO):
                        body.write(piece)
                    else:
                        await _run(self._writers, partial(body.write, piece))
        except BaseException as error:
            body.close()
            if isinstance(error, TimeoutError):
                raise self._too_slow() from error
            if isinstance(error, OSError):
                raise not_stored(error) from error
            raise
        return body

    def _too_slow(self) -> RefusedError:
        seconds = self._limits.body_seconds
        return over_limit(
            *("body_seconds", seconds, 408),
            f"The request was not complete after {seconds:g} s",
        )


def _check_encoding(request: Request) -> None:
    """Refuse a body that is compressed: a small one may become very large."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise invalid_request("Content-Encoding is not supported: send the body uncompressed")


async def _run(threads: ThreadPoolExecutor, function: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, function)


def _moved(body: BytesIO, folder: str) -> BinaryIO:
    """A file without a name with these bytes."""
    found = cast(BinaryIO, TemporaryFile(dir=folder))  # noqa: SIM115
    found.write(body.getvalue())
    return found


def parse_json(body: bytes, limits: Limits) -> Any:
    """Parse JSON.

    Raises:
        RefusedError: It is not valid, is nested too deeply, or has too many values.
    """
    if (n := _n_values(body, limits.values)) > limits.values:
        message = f"Request Entity Too Large: the JSON has {n} or more values"
        raise over_limit("values", limits.values, 413, message)
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
        message = f"Invalid JSON format: it has more than {limits.depth} levels"
        raise over_limit("depth", limits.depth, 422, message)
    return value


def _n_values(body: bytes, most: int) -> int:
    """The number of values of JSON, keys included, or a larger one; quickly, even beyond `most`."""
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # without escaped quotation marks
    if (n_texts := plain.count(b'"') // 2) > most:
        return n_texts
    outside = b"".join(plain.split(b'"')[::2])  # of texts
    return 1 + sum(map(outside.count, (b"[", b"{", b",", b":")))


def _depth(value: Any) -> int:
    """The number of levels of lists and objects."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, list | dict)]:
        depth += 1
        level = [
            inner for each in level for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return depth
