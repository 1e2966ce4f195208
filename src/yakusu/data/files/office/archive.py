"""Zip archives that contain a document (docx, xlsx): read within limits, written with new parts.

Everything is checked before a member is used: the number of members, their sizes as declared and
as decompressed, the ratio of compression, their names and their checksums.
"""

import copy
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from yakusu.errors import DataError

MAX_MEMBERS = 10_000
MAX_SIZE = 2**30  # bytes of all members, decompressed
MAX_PART = 2**28  # bytes of a member that is read as a whole
MAX_RATIO = 100  # decompressed to compressed bytes, of all members together
_FREE_SIZE = 2**26  # bytes; smaller archives may have any ratio
_CHUNK = 2**16  # bytes
_MAX_REASON = 80  # characters; zipfile quotes names, which may be large parts of the file
_ENCRYPTED = 1  # flag of a member
_ZIP64 = 1  # type of an extra field
_UNREADABLE = (  # what zipfile and its decompressors raise
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
    OverflowError,
    IndexError,
)


class Archive:
    """The members of a zip archive.

    Args:
        data: The archive.
        max_size: Bytes that all members may have, decompressed; None: MAX_SIZE.

    Attributes:
        names: The names of the members.
        size: Bytes of all members, decompressed.

    Raises:
        DataError: The data is not a zip archive, or it is corrupt, encrypted or too large, or a
            member has an unsafe name.
    """

    def __init__(self, data: bytes, max_size: int | None = None) -> None:
        self._data = data
        most = MAX_SIZE if max_size is None else max_size
        with _refusal():
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self.size = _check_directory(self._zip.infolist(), len(data), most)
            for info in self._zip.infolist():
                for _ in _chunks(self._zip, info):
                    pass  # sizes and checksums are verified on the way
            self.names = [info.filename for info in self._zip.infolist()]

    def read(self, name: str) -> bytes:
        """Return the contents of a member.

        Raises:
            DataError: The archive does not contain the member, or the member exceeds 256 MiB.
        """
        info = self._zip.NameToInfo.get(name)
        if info is None:
            raise _lacks(name)
        if info.file_size > MAX_PART:
            raise DataError(
                f"{name} has {info.file_size:,} bytes, more than {MAX_PART:,}: split the document"
            )
        return self._zip.read(info)

    def open(self, name: str) -> io.BufferedReader:
        """Open a member, which may be larger than one that is read as a whole.

        Raises:
            DataError: The archive does not contain the member.
        """
        info = self._zip.NameToInfo.get(name)
        if info is None:
            raise _lacks(name)
        return io.BufferedReader(cast(io.RawIOBase, self._zip.open(info)))

    def rewritten(self, contents: Mapping[str, bytes | bytearray]) -> bytes:
        """Return the archive with new contents of some members.

        All members keep their order, time, attributes and method of compression.

        Args:
            contents: New contents by name of member. Without any, the archive is unchanged.
        """
        if not contents:
            return self._data
        target = io.BytesIO()
        with _refusal(), zipfile.ZipFile(target, "w") as archive:
            archive.comment = self._zip.comment
            for info in self._zip.infolist():
                content = contents.get(info.filename)
                copied = _copied(info)
                with archive.open(copied, "w") as member:
                    for chunk in _chunks(self._zip, info) if content is None else [content]:
                        member.write(chunk)
                copied.external_attr = info.external_attr  # zipfile replaces 0
        return target.getvalue()


def _lacks(name: str) -> DataError:
    return DataError(f"the archive lacks {name}: save the document again")


@contextmanager
def _refusal() -> Iterator[None]:
    """Raise DataError for what zipfile raises."""
    try:
        yield
    except _UNREADABLE as error:
        reason = str(error).rstrip(".")[:_MAX_REASON] or type(error).__name__
        raise DataError(
            f"the file is not a valid zip archive ({reason}): obtain it again, or save the "
            "document again"
        ) from error


def _check_directory(members: list[zipfile.ZipInfo], size: int, max_size: int) -> int:
    """Check what the directory of an archive of `size` bytes declares; return what it contains."""
    if len(members) > MAX_MEMBERS:
        raise DataError(
            f"the archive has {len(members):,} members, more than {MAX_MEMBERS:,}: it is not a "
            "document"
        )
    total = sum(info.file_size for info in members)
    if total > max_size:
        raise DataError(
            f"the archive has {total:,} bytes when decompressed, more than {max_size:,}: split "
            "the document"
        )
    if total > max(_FREE_SIZE, MAX_RATIO * size):
        raise DataError(
            f"the archive grows from {size:,} to {total:,} bytes when decompressed, more than "
            f"{MAX_RATIO} times: it is not a document, or save it with compressed pictures"
        )
    seen: set[str] = set()
    for info in members:
        name = info.filename[:_MAX_REASON]
        if info.flag_bits & _ENCRYPTED:
            raise DataError(f"{name} is encrypted: remove the password of the document")
        if _is_unsafe(info.filename) or info.filename in seen:
            problem = "occurs twice" if info.filename in seen else "is an unsafe path"
            raise DataError(
                f"the archive is invalid, because its member {name!r} {problem}: save the document "
                "again"
            )
        seen.add(info.filename)
    return total


def _is_unsafe(name: str) -> bool:
    """Whether a name leads out of the folder into which an archive is unpacked."""
    path = name.replace("\\", "/")
    return not path or path.startswith("/") or path[1:2] == ":" or ".." in path.split("/")


def _chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Decompress a member, which must have the size that it declares."""
    size = 0
    with archive.open(info) as member:
        while chunk := member.read(_CHUNK):
            size += len(chunk)
            if size > info.file_size:
                break
            yield chunk
    if size != info.file_size:
        raise zipfile.BadZipFile(f"{info.filename} does not have the size that it declares")


def _copied(info: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """The description of a member for a new archive, which needs no 64-bit sizes."""
    new = copy.copy(info)
    new.extra = b"".join(field for kind, field in _extra_fields(info.extra) if kind != _ZIP64)
    return new


def _extra_fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """Split the extra data of a member into fields with their types."""
    at = 0
    while len(extra) >= at + 4:
        kind, size = struct.unpack_from("<HH", extra, at)
        yield kind, extra[at : at + size + 4]
        at += size + 4
