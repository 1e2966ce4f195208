"""Files in requests of ModernMT's API, which may be compressed."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from yakusu.data.files.compressed import compression_of
from yakusu.serve.api.modernmt.asking import Asked
from yakusu.serve.errors import RefusedError, invalid_request, over_limit

_PIECE = 65_536  # bytes
_COPIES = 5  # of a text in memory: its bytes, and its characters with at most 4 bytes each


def store_upload(asked: Asked, name: str, path: Path) -> None:
    """Write a file of a request to disk, decompressed as the request says.

    Raises:
        OSError: It cannot be written.
        RefusedError: It is missing, is not compressed as it should be, or is larger than
            `limits.file`.
    """
    source, left = _stream(asked, name), asked.service.limits.file
    with path.open("wb") as target:
        while piece := _piece(source, name, _PIECE):
            if not target.tell():
                _refuse_compressed(piece, name)
            left -= len(piece)
            if left < 0:
                raise _too_large(name, "file", asked.service.limits.file)
            target.write(piece)


@contextmanager
def uploaded_text(asked: Asked, name: str) -> Iterator[str]:
    """The text of a file of a request, whose memory is counted inside the context.

    Raises:
        RefusedError: As for `store_upload`, with `limits.body`; or it is not UTF-8.
    """
    most = asked.service.limits.body
    data = _piece(_stream(asked, name), name, most + 1)
    if len(data) > most:
        raise _too_large(name, "body", most)
    _refuse_compressed(data, name)
    with asked.service.budget.held(_COPIES * len(data)):
        try:
            yield data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise invalid_request(f"{name} is not UTF-8: save it as UTF-8") from error


def _stream(asked: Asked, name: str) -> BinaryIO:
    """A file of a request, decompressed as the request says."""
    file, compression = asked.file(name).file, asked.fields.text("compression")
    if compression not in ("", "gzip"):
        raise invalid_request("compression is not gzip: send the file as it is, or as gzip")
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if compression else file


def _piece(source: BinaryIO, name: str, most: int) -> bytes:
    try:
        return source.read(most)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise invalid_request(f"{name} is not a gzip file: omit compression") from error


def _refuse_compressed(head: bytes, name: str) -> None:
    if compression_of(head[:16]):
        raise invalid_request(f"{name} is compressed: send the file as it is, or once as gzip")


def _too_large(name: str, limit: str, most: int) -> RefusedError:
    message = f"Request Entity Too Large: {name} has more than {most} bytes"
    return over_limit(limit, most, 413, message)
