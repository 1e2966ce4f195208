"""Folders that are whole or absent, of one owner at a time: save, verify, lock, sweep.

A folder is written under a temporary name, synced and put in its place by one system call;
`manifest.json` lists each file with its size and SHA-256. See docs/decisions/0005.
"""

import ctypes
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from yakusu.errors import ModelError, RunError

FORMAT = 1  # of model and checkpoint folders; CHANGELOG.md says what reads what
_TEMPORARY = ".saving-"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


def save_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Make a folder that is there whole or not at all, replacing an older one of its kind.

    Args:
        folder: Its final name.
        fill: Writes the files into the folder that it is given.

    Raises:
        ModelError: Something else has that name.
        OSError: The disk is full, or the place cannot be written to; an older folder stays whole.
    """
    if folder.exists() and not (folder / "manifest.json").exists():
        raise ModelError(f"{folder} exists and is no model folder: choose another name")
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f"{_TEMPORARY}{folder.name}-", dir=folder.parent))
    try:
        fill(temporary)
        files = sorted(path for path in temporary.iterdir())
        manifest = {
            "format": FORMAT,
            "files": {p.name: {"size": p.stat().st_size, "sha256": sha256(p)} for p in files},
        }
        write_json(temporary / "manifest.json", manifest)
        temporary.chmod(0o755)
        for path in (*files, temporary / "manifest.json", temporary):
            _sync(path)
        if folder.exists():
            _exchange(temporary, folder)
        else:
            temporary.rename(folder)
        _sync(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def verify_folder(folder: Path) -> None:
    """Check every file of a folder against its manifest.

    Raises:
        ModelError: The folder or a file of it is missing, altered or of a newer format.
    """
    if not folder.is_dir():
        raise ModelError(f"{folder} is not a model folder: check the path")
    try:
        manifest = read_json(folder / "manifest.json")
        version = manifest["format"]
        files = [(name, f["size"], f["sha256"]) for name, f in manifest["files"].items()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{folder} has no whole manifest.json, so it is no model folder or an incomplete one: "
            "name the folder that 'yakusu train' or 'yakusu average' wrote"
        ) from error
    if version != FORMAT:
        raise ModelError(
            f"{folder} has format {version}, this yakusu reads {FORMAT}: update yakusu"
        )
    for name, size, digest in files:
        path = folder / name
        if not path.is_file():
            raise ModelError(f"{path} is missing: the folder is incomplete, copy it again")
        try:
            whole = path.stat().st_size == size and sha256(path) == digest
        except OSError as error:
            raise ModelError(f"{path} cannot be read: {error.strerror}") from error
        if not whole:
            raise ModelError(
                f"{path} is corrupt ({path.stat().st_size} bytes, {size} when it was written, "
                "another SHA-256): copy the folder again"
            )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process alone; what a killed owner left half made is swept away.

    The lock lives in the kernel and dies with its process.

    Raises:
        RunError: Another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock", timeout=0, is_singleton=True)  # a holder may ask again
    try:
        with lock:
            if lock.lock_counter == 1:
                for litter in folder.glob(f"**/{_TEMPORARY}*"):
                    shutil.rmtree(litter, ignore_errors=True)
            yield
    except Timeout as error:
        raise RunError(
            f"{folder} is in use by another yakusu: wait for it to end, or choose another folder "
            "with --run"
        ) from error


def sha256(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_file(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Write a file that holds all that `fill` writes, or what it held before."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        with temporary.open("wb") as file:
            fill(file)
        _sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write a file that holds all of the text or what it held before."""
    write_file(path, lambda file: file.write(text.encode()))


def write_json(path: Path, value: Any) -> None:
    """Write JSON for people: indented, UTF-8, keys in their own order."""
    path.write_text(json_text(value), encoding="utf-8")


def json_text(value: Any) -> str:
    """JSON as `write_json` writes it."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def read_json(path: Path) -> Any:
    """Read JSON.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not JSON.
    """
    return json.loads(path.read_text(encoding="utf-8"))


def _exchange(one: Path, other: Path) -> None:
    """Let two folders swap names in one system call: at no moment is either name missing."""
    swap = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # Linux alone has it
    names = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other))
    if swap and not swap(*names, _RENAME_EXCHANGE):
        return
    fault = ctypes.get_errno() if swap else errno.ENOSYS
    if fault not in (errno.EINVAL, errno.ENOSYS):
        raise OSError(fault, os.strerror(fault), str(other))
    # A file system that cannot swap, such as NFS: the old folder has no name for a moment.
    aside = one.with_name(f"{one.name}-old")
    other.rename(aside)
    one.rename(other)
    aside.rename(one)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
