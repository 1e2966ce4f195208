"""Files that may be compressed with gzip, bzip2, xz or Zstandard.

The first bytes decide whether a file is compressed and how; its name decides only if it is empty.
"""

import bz2
import gzip
import io
import lzma
import re
import zlib
from pathlib import Path
from typing import BinaryIO

from yakusu.errors import DataError, RunError

SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "Zstandard"}
_MAGIC = {
    "gzip": rb"\x1f\x8b",
    "bzip2": rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)",
    "xz": rb"\xfd7zXZ\0",
    "Zstandard": rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18",  # a frame, or one to skip
}
_HEAD = 16  # bytes that hold any of these
_BUFFER = 2**18
# A compressed byte can become 32 kB of text: few at a time bound the memory of a hostile file.
_ZSTD_INPUT = 2**12


class DamagedError(DataError):
    """A compressed file is truncated or corrupt.

    Attributes:
        kind: Name of the compression, such as "gzip".
    """

    def __init__(self, name: str, kind: str, place: str = "") -> None:
        super().__init__(f"{name} is not a valid {kind} file{place}: compress it again")
        self.kind = kind


def refuse_pipe(path: Path) -> None:
    """Refuse what can be read only once, where a file is read several times.

    Raises:
        DataError: The path exists, and is neither a file nor a folder.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DataError(f"{path} can be read only once: write it to a file first")


def open_binary(path: Path) -> io.BufferedReader:
    """Open a file for reading; a compressed file is decompressed.

    Raises:
        DataError: The file does not exist, is a folder, cannot be opened, or is not compressed as
            its name says.
        RunError: The file needs zstandard, which is not installed.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder: specify a text file")
    if not path.exists():
        raise DataError(f"{path} does not exist: check the path")
    try:
        file = path.open("rb")
        head = file.peek(_HEAD)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    suffix = path.suffix.lower()
    kind, named = compression_of(head), SUFFIXES.get(suffix)
    if not (kind or named):
        return file
    if kind:
        try:
            return io.BufferedReader(_Decompressed(file, kind, str(path)), _BUFFER)
        except RunError:
            file.close()
            raise
    file.close()
    if not head:
        raise DataError(f"{path} is empty, so not a valid {named} file: copy or compress it again")
    raise DataError(
        f"{path} is not a {named} file, although its name ends in {suffix}: rename or compress it"
    )


def compression_of(head: bytes) -> str | None:
    """Return the name of the compression that the first bytes of a file indicate, if any."""
    return next((kind for kind, magic in _MAGIC.items() if re.match(magic, head)), None)


def plain_name(path: str | Path) -> str:
    """Return a file name without the suffix of a compression: train.de.gz -> train.de."""
    return re.sub(rf"({'|'.join(map(re.escape, SUFFIXES))})$", "", str(path), flags=re.IGNORECASE)


def missing_library(error: ModuleNotFoundError, what: str) -> RunError:
    """Return the error of a library that is not installed, such as "a.zst needs zstandard"."""
    return RunError(
        f"{what} needs {error.name}: install yakusu with its extra 'corpora', as in "
        "pip install '.[corpora]'"
    )


class _Decompressed(io.RawIOBase):
    """The decompressed content of a file."""

    def __init__(self, file: BinaryIO, kind: str, name: str) -> None:
        self._file, self._kind, self._name = file, kind, name
        self._stream: gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile | _ZstdFile
        match kind:
            case "gzip":
                self._stream = gzip.GzipFile(fileobj=file)
            case "bzip2":
                self._stream = bz2.BZ2File(file)
            case "xz":
                self._stream = lzma.LZMAFile(file)  # noqa: SIM115 - closed with the file
            case _:
                self._stream = _ZstdFile(file, name)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override]
        try:
            data = self._stream.read1(len(buffer))
        except (EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
            raise DamagedError(self._name, self._kind) from error
        except OSError as error:
            if error.errno:  # of the operating system
                raise DataError(f"{self._name} cannot be read: {error.strerror}") from error
            raise DamagedError(self._name, self._kind) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


class _ZstdFile:
    """The content of the frames of a Zstandard file.

    zstandard's own `stream_reader` reads a truncated frame without an error.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        try:
            import zstandard
        except ModuleNotFoundError as error:
            raise missing_library(error, name) from error
        self._error = zstandard.ZstdError
        self._decompressor = zstandard.ZstdDecompressor()
        self._frame = self._decompressor.decompressobj()
        self._file, self._input, self._output = file, b"", memoryview(b"")
        self._inside = False  # a frame that has begun

    def read1(self, size: int) -> bytes:
        """Return at most `size` bytes; b"" at the end.

        Raises:
            EOFError: The last frame is incomplete.
            ValueError: A frame is corrupt.
        """
        while not self._output:
            self._input = self._input or self._file.read(_ZSTD_INPUT)
            if not self._input:
                if self._inside:
                    raise EOFError
                return b""
            try:
                self._output = memoryview(self._frame.decompress(self._input))
            except self._error as error:
                raise ValueError(str(error)) from error
            self._inside = not self._frame.eof
            self._input = self._frame.unused_data
            if self._frame.eof:
                self._frame = self._decompressor.decompressobj()
        data, self._output = bytes(self._output[:size]), self._output[size:]
        return data
