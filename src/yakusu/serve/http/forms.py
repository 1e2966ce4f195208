"""Forms: application/x-www-form-urlencoded and multipart/form-data.

Reading one takes time in proportion to its size, whatever it contains, and most of it in functions
that search or compute with many bytes at once.
"""

from collections.abc import Iterator
from encodings.aliases import aliases
from io import RawIOBase
from typing import Any, BinaryIO, cast

import numpy as np
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile

from yakusu.serve.config import Limits
from yakusu.serve.errors import invalid_request, over_limit

_OTHERS = 10  # parameters of a request that are not texts
_WINDOW = 1_000_000  # bytes that are searched together
_LONGEST_BOUNDARY, _LONGEST_HEAD = 70, 2048  # bytes
_HEX = np.full(256, -1, np.int16)
for _digit in "0123456789abcdefABCDEF":
    _HEX[ord(_digit)] = int(_digit, 16)
# Those that read bytes in one pass; Python also has codecs that take quadratic time, such as
# punycode, and remembers every unknown name. Its UTF-7 may give lone surrogates.
_UTF_7 = {"u7", "unicode_1_1_utf_7", "utf7", "utf_7"}
_NO_CHARSETS = {"base64_codec", "bz2_codec", "hex_codec", "quopri_codec", "rot_13", "uu_codec"}
_CHARSETS = {*aliases, *aliases.values()} - {*_NO_CHARSETS, *_UTF_7, "zlib_codec", "mbcs"}


def check_charset(name: str) -> str:
    """A charset that Python knows.

    Raises:
        RefusedError: It does not.
    """
    if len(name) > 30 or name.strip().lower().replace("-", "_").replace(" ", "_") not in _CHARSETS:
        raise invalid_request(f"charset {name[:30]!r} is not supported: send UTF-8")
    return name.strip()


def pairs(encoded: bytes, charset: str, limits: Limits) -> list[tuple[str, str]]:
    """The fields of a form or of a query string; what is not escaped may have any characters.

    Raises:
        RefusedError: They are not in the charset, or there are too many.
    """
    _check_number(encoded.count(b"&") + 1, limits)
    found = []
    for field in filter(None, encoded.split(b"&")):
        name, _, value = field.partition(b"=")
        found.append((_decoded(_unescaped(name), charset), _decoded(_unescaped(value), charset)))
    return found


def _unescaped(text: bytes) -> bytes:
    """Replace "+" by a space, and each "%" with two hexadecimal digits by a byte."""
    text = text.replace(b"+", b" ")
    if b"%" not in text:
        return text
    codes = np.frombuffer(text + b"  ", np.uint8)  # so that two characters follow each
    values = _HEX[codes]
    at = np.flatnonzero(codes == ord("%"))
    at = at[(values[at + 1] >= 0) & (values[at + 2] >= 0)]
    found, kept = codes.copy(), np.ones(len(codes), np.bool_)
    found[at] = 16 * values[at + 1] + values[at + 2]
    kept[at + 1] = kept[at + 2] = kept[-2:] = False
    return found[kept].tobytes()


def _decoded(text: bytes, charset: str) -> str:
    try:
        return text.decode(charset)
    except (UnicodeError, LookupError) as error:
        raise invalid_request(f"the parameters are not {charset}: send UTF-8") from error


# ---- with files ----------------------------------------------------------------------------------


class _Section(RawIOBase):
    """A part of a file, which is read from there.

    Args:
        file: The file.
        start: Where the part begins.
        end: Where it ends.
    """

    def __init__(self, file: BinaryIO, start: int, end: int) -> None:
        self._file, self._at, self._end = file, start, end

    def readable(self) -> bool:
        """See `RawIOBase`."""
        return True

    def readinto(self, buffer: Any) -> int:
        """See `RawIOBase`."""
        self._file.seek(self._at)
        found = self._file.read(min(len(buffer), self._end - self._at))
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)


def multipart(
    body: BinaryIO, options: dict[bytes, bytes], limits: Limits
) -> list[tuple[str, str | UploadFile]]:
    """The fields of a form with files.

    Args:
        body: The form, in which the file stays.
        options: Those of its content type: boundary and charset.
        limits: The limits.

    Raises:
        RefusedError: The form is not valid, or too large.
    """
    charset = check_charset(options.get(b"charset", b"utf-8").decode("latin-1"))
    found: list[tuple[str, str | UploadFile]] = []
    has_file, left = False, limits.body
    for head, start, end in _parts(body, options.get(b"boundary", b"")):
        name, filename = _names(head, charset)
        _check_number(len(found) + 1, limits)
        if filename is None:
            if (left := left - (end - start)) < 0:
                message = f"Request Entity Too Large: send at most {limits.body} bytes of text"
                raise over_limit("body", limits.body, 413, message)
            body.seek(start)
            found.append((name, _decoded(body.read(end - start), charset)))
        elif has_file:
            raise invalid_request("the request has several files: send one")
        else:
            has_file, section = True, cast(BinaryIO, _Section(body, start, end))
            found.append((name, UploadFile(section, size=end - start, filename=filename)))
    return found


def _check_number(n: int, limits: Limits) -> None:
    """Check the number of parameters of a request.

    Raises:
        RefusedError: There are too many.
    """
    if n > (most := limits.texts + _OTHERS):
        message = f"Request Entity Too Large: the request has more than {most} parameters"
        raise over_limit("texts", limits.texts, 413, message)


def _parts(body: BinaryIO, boundary: bytes) -> Iterator[tuple[bytes, int, int]]:
    """The headers of each part, and where its content begins and ends."""
    if not 0 < len(boundary) <= _LONGEST_BOUNDARY:
        raise invalid_request(
            f"the boundary of the form must have 1 to {_LONGEST_BOUNDARY} characters"
        )
    delimiter = b"\r\n--" + boundary
    body.seek(0)
    starts = body.read(len(delimiter) - 2) == delimiter[2:]
    before = -2 if starts else _find(body, delimiter, 0)
    while before != -1:
        at = before + len(delimiter)
        body.seek(at)
        head = body.read(_LONGEST_HEAD)
        if head.startswith(b"--"):
            return
        head, ends, _ = head.partition(b"\r\n\r\n")
        start = at + len(head) + len(ends)
        if head.partition(b"\r\n")[0].strip(b" \t") or not ends:
            break
        if (before := _find(body, delimiter, start)) >= 0:
            yield head, start, before
    raise invalid_request("the form is not valid multipart/form-data, or not complete")


def _find(file: BinaryIO, wanted: bytes, start: int) -> int:
    """Where a text begins, from a position on; -1: nowhere."""
    file.seek(start)
    text, at, size = b"", start, 4096
    while piece := file.read(size):
        text, size = text + piece, min(2 * size, _WINDOW)
        if (found := text.find(wanted)) >= 0:
            return at + found
        kept = min(len(text), len(wanted) - 1)
        at += len(text) - kept
        text = text[len(text) - kept :]
    return -1


def _names(head: bytes, charset: str) -> tuple[str, str | None]:
    """The name of a field, and that of its file, if it has one."""
    for line in head.split(b"\r\n"):
        key, _, value = line.partition(b":")
        if key.strip().lower() == b"content-disposition":
            _, options = parse_options_header(value)
            name, filename = options.get(b"name"), options.get(b"filename")
            if name is not None:
                given = None if filename is None else filename.decode(charset, "replace")
                return name.decode(charset, "replace"), given
    raise invalid_request("a field of the form has no name")
