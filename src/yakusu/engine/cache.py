"""A cache of packed models that processes map instead of packing the weights again.

$XDG_CACHE_HOME/yakusu/packed/KEY    a head, and the arrays of a model as native/packed.c lists them

The folder belongs to its user and is closed to all others. A file that differs in any way from what
was written is ignored, and replaced. See docs/decisions/0077.
"""

import hashlib
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader
from mmap import ACCESS_READ, mmap
from pathlib import Path
from stat import S_ISREG
from struct import Struct

import numpy as np

from yakusu.arrays import Array
from yakusu.engine.library import StoredArray
from yakusu.errors import RecipeError
from yakusu.native.library import VERSION, instruction_set

VARIABLE = "YAKUSU_CACHE_MB"  # environment variable
FORMAT = 2  # changes with the bytes that packing.py makes of the same weights
_LIMIT = 1000  # megabytes of all files together
_HEAD = Struct("<24s64sQI28x")  # what it is, its key, the size of the arrays, their CRC-32
_MAGIC = b"packed model of yakusu"
_OWNER_FILE, _OWNER_FOLDER, _OTHERS = 0o600, 0o700, 0o077  # modes
_BLOCK = 1 << 18  # bytes that are checked at a time


def packed_key(*facts: object) -> str:
    """The key of a packed model: the facts that decide its bytes.

    Args:
        facts: What is packed and how, as values whose `repr` tells them apart.

    On another kind of processor, or with another version, numpy may round sinusoids and compressed
    tables in another way.
    """
    numpy = np.__version__, np.show_config(mode="dicts").get("SIMD Extensions")
    own = FORMAT, VERSION, instruction_set(), numpy, facts
    return hashlib.sha256(repr(own).encode()).hexdigest()


class PackedCache:
    """The packed models of a user.

    Args:
        folder: Where they are; it need not exist.
        limit: Bytes of all of them together; 0: none is stored or used.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder, self._limit = folder, limit

    @classmethod
    def of_user(cls) -> "PackedCache":
        """The cache in $XDG_CACHE_HOME or ~/.cache, with the limit in $YAKUSU_CACHE_MB.

        Raises:
            RecipeError: The limit is not a number.
        """
        given = os.environ.get(VARIABLE) or str(_LIMIT)
        if not given.isdecimal() or len(given) > 9:
            raise RecipeError(f"{VARIABLE} is '{given}': set it to 0 (no cache) to 999999999 (MB)")
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
        with suppress(RuntimeError):  # there is no home folder
            base = base.expanduser()
        has_owners = hasattr(os, "geteuid") and os.open in os.supports_dir_fd  # not on Windows
        supported = base.is_absolute() and has_owners
        return cls(base / "yakusu" / "packed", int(given) * 1_000_000 if supported else 0)

    def find(self, key: str) -> Array | None:
        """Map the arrays of a packed model; None: they are not stored, or damaged."""
        if not self._limit:
            return None
        with (
            suppress(OSError, ValueError),
            self._opened() as folder,
            open(key, "rb", opener=_in(folder)) as file,
        ):
            if _is_intact(file, key):
                with suppress(OSError):  # marks the file as used
                    os.utime(file.fileno())
                mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
                return np.frombuffer(mapped, np.uint8, offset=_HEAD.size)
        return None

    def add(self, key: str, arrays: Sequence[StoredArray], *, confirm: Callable[[], bool]) -> None:
        """Store the arrays of a packed model, if that is possible, and delete the oldest files.

        Args:
            key: Its key.
            arrays: Its arrays.
            confirm: Whether they are those that the key stands for. It is called if they can be
                stored, and may raise an OSError.
        """
        if not 0 < sum(each.size + each.zeros for each in arrays) + _HEAD.size <= self._limit:
            return
        with suppress(OSError, ValueError):
            self._folder.parent.mkdir(_OWNER_FOLDER, parents=True, exist_ok=True)
            self._folder.mkdir(_OWNER_FOLDER, exist_ok=True)
            with self._opened() as folder:
                if os.access(".", os.W_OK, dir_fd=folder) and confirm():
                    _write(folder, key, arrays)
                _delete_oldest(folder, self._limit)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Open the folder.

        Raises:
            OSError: It cannot be opened.
            ValueError: It belongs to another user, or others may open it.
        """
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            state = os.fstat(folder)
            if state.st_uid != os.geteuid() or state.st_mode & _OTHERS:
                raise ValueError("the folder is not private")
            yield folder
        finally:
            os.close(folder)


def _in(folder: int) -> Callable[[str, int], int]:
    """What opens the files of a folder; it follows no link, and never waits for a pipe."""

    def opened(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, _OWNER_FILE, dir_fd=folder)

    return opened


def _is_intact(file: BufferedReader, key: str) -> bool:
    """Whether a file is what `_write` has written.

    It is read, not mapped: pages that are never used again would stay in the memory of the process.
    """
    state, head = os.fstat(file.fileno()), file.read(_HEAD.size)
    if not S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or len(head) < _HEAD.size:
        return False
    *_, expected = _HEAD.unpack(head)
    if head != _HEAD.pack(_MAGIC, key.encode(), state.st_size - _HEAD.size, expected):
        return False
    crc, block = 0, memoryview(bytearray(_BLOCK))
    while n := file.readinto(block):
        crc = zlib.crc32(block[:n], crc)
    return bool(crc == expected)


def _write(folder: int, key: str, arrays: Sequence[StoredArray]) -> None:
    """Write a file under a temporary name, and rename it."""
    temporary = f".{key}-{os.urandom(8).hex()}"
    try:
        with open(temporary, "xb", opener=_in(folder)) as file:
            file.seek(_HEAD.size)
            crc = 0
            for each in arrays:
                for part in each.content(), bytes(each.zeros):
                    file.write(part)
                    crc = zlib.crc32(part, crc)
            size = file.tell() - _HEAD.size
            file.seek(0)
            file.write(_HEAD.pack(_MAGIC, key.encode(), size, crc))
        os.replace(temporary, key, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


def _delete_oldest(folder: int, limit: int) -> None:
    """Delete the files that were not used for the longest time, until the others fit."""
    with os.scandir(folder) as entries:
        files = [each for each in entries if each.is_file(follow_symlinks=False)]
        found = [(each.name, each.stat(follow_symlinks=False)) for each in files]
    total = sum(state.st_size for _, state in found)
    for name, state in sorted(found, key=lambda each: each[1].st_mtime_ns):
        if total <= limit:
            break
        os.unlink(name, dir_fd=folder)
        total -= state.st_size
