"""Folders that are written completely or not at all and used by one process at a time.

A folder is written under a temporary name, synced to disk and moved into place with one system
call. Until then, only its owner can open it; the finished folder or file has the mode that the
umask gives. Its `manifest.json` lists the size and SHA-256 of each file. See docs/decisions/0005.
"""

import ctypes
import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from yakusu.config import Config
from yakusu.errors import ModelError, RunError

LARGEST = 64 << 20  # bytes of a file that is read whole, such as JSON and TOML
FORMAT = 1  # version of model and checkpoint folders; CHANGELOG.md lists which version reads which
_TEMPORARY = ".saving-"
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)  # not on Windows
_SPECIAL = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_POINTER = b"version https://git-lfs.github.com/spec/"
_OWNER_FILE, _OWNER_FOLDER = 0o600, 0o700  # modes that no umask extends
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


class FileEntry(Config):
    """Size in bytes and SHA-256 of one file."""

    ignores_unknown = True

    size: int
    sha256: str


class Manifest(Config):
    """Contents of manifest.json: the format of a folder and its files."""

    ignores_unknown = True

    format: int
    files: dict[str, FileEntry]


def save_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Create a folder completely or not at all, replacing an existing folder of the same kind.

    Args:
        folder: Path of the folder.
        fill: Writes the files into the temporary folder that it receives.

    Raises:
        ModelError: The path exists but is not a model folder.
        OSError: The disk is full or the path is not writable; an existing folder is unchanged.
    """
    if folder.exists() and not (folder / "manifest.json").exists():
        raise ModelError(f"{folder} exists but is not a model folder: choose another name")
    replace_folder(folder, fill)


def replace_folder(
    folder: Path, fill: Callable[[Path], None], *, accept: Callable[[Manifest], None] | None = None
) -> None:
    """Create a folder completely or not at all, like `save_folder`, replacing whatever is there.

    Args:
        folder: Path of the folder.
        fill: Writes the files into the temporary folder that it receives.
        accept: Receives the new manifest before anything is replaced, and may raise an error.

    Raises:
        OSError: The disk is full or the path is not writable; what is there is unchanged.
    """
    with _named_in_errors(folder):
        _save_folder(folder, fill, accept or (lambda manifest: None))


def _save_folder(
    folder: Path, fill: Callable[[Path], None], accept: Callable[[Manifest], None]
) -> None:
    import secrets

    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.parent / f"{_TEMPORARY}{folder.name}-{secrets.token_hex(4)}"
    temporary.mkdir(mode=_OWNER_FOLDER)
    try:
        mode = _usual_mode(temporary, Path.mkdir)
        fill(temporary)
        files = sorted(temporary.iterdir())
        entries = {p.name: FileEntry(size=p.stat().st_size, sha256=sha256(p)) for p in files}
        manifest = Manifest(format=FORMAT, files=entries)
        accept(manifest)
        write_json(temporary / "manifest.json", manifest.model_dump())
        _chmod(temporary, mode)
        for path in (*files, temporary / "manifest.json", temporary):
            _sync(path)
        if folder.exists():
            exchange_folders(temporary, folder)
        else:
            temporary.rename(folder)
            _sync(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def usual_permissions(path: Path) -> Iterator[Path]:
    """Give a file that safetensors writes the permissions of a new file; it sets mode 0600."""
    path.touch()  # its permissions respect the umask
    mode = path.stat().st_mode
    yield path
    path.chmod(mode)


def verify_folder(folder: Path, *, repair: str = "") -> Manifest:
    """Check every file of a folder against its manifest.

    Args:
        folder: The folder.
        repair: What to do if it is corrupt, for the error message; "": it is a model folder.

    Returns:
        The manifest.

    Raises:
        ModelError: The folder or one of its files is missing, corrupt or of a newer format.
    """
    kind = "folder" if repair else "model folder"
    if not folder.is_dir():
        raise ModelError(f"{folder} is not a {kind}: {repair or 'check the path'}")
    try:
        manifest = Manifest.model_validate_json(read_regular(folder / "manifest.json"))
    except (OSError, ValueError) as error:
        refused = isinstance(error, OSError) and error.errno in (errno.EINVAL, errno.EFBIG)
        why = f" ({error.args[1]})" if refused else ""
        raise ModelError(
            f"{folder} has no valid manifest.json{why}, so it is not a complete {kind}: "
            + (repair or "use a folder that 'yakusu train' or 'yakusu average' wrote")
        ) from error
    if manifest.format != FORMAT:
        raise ModelError(
            f"{folder} has format {manifest.format}, but this version of yakusu reads format "
            f"{FORMAT}: update yakusu"
        )
    for name, expected in manifest.files.items():
        _verify_file(folder / name, expected, repair)
    return manifest


def _verify_file(path: Path, expected: FileEntry, repair: str) -> None:
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            intact = size == expected.size and _digest(file) == expected.sha256
    except (FileNotFoundError, ValueError) as error:  # ValueError: no file can have this name
        raise ModelError(
            f"{path} is missing, so the folder is incomplete: {repair or 'copy it again'}"
        ) from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    if not intact:
        downloaded(path)
        raise ModelError(
            f"{path} is corrupt ({size} bytes, {expected.size} expected; the SHA-256 differs): "
            + (repair or "copy the folder again")
        )


@contextmanager
def locked(folder: Path, *, option: str = "--run") -> Iterator[None]:
    """Lock a folder for this process; delete the temporary files of interrupted processes.

    The operating system releases the lock when the process ends, even if it is killed.

    Args:
        folder: The folder; it is created if it does not exist.
        option: The option that names the folder, for the error message.

    Raises:
        RunError: Another process holds the lock.
    """
    from filelock import FileLock, Timeout  # reading a folder does not need it

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock", timeout=0, is_singleton=True)  # re-entrant in this process
    try:
        with lock:
            if lock.lock_counter == 1:
                for leftover in folder.glob(f"**/{_TEMPORARY}*"):
                    _delete(leftover)
            yield
    except Timeout as error:
        raise RunError(
            f"{folder} is in use by another yakusu process: wait until it ends, or choose another "
            f"folder with {option}"
        ) from error


def _delete(leftover: Path) -> None:
    """Delete a temporary file or folder, if possible."""
    shutil.rmtree(leftover, ignore_errors=True)  # does nothing if it is a file
    with suppress(OSError):
        leftover.unlink()


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file, or a link to one, for reading.

    A pipe could block forever, and a device such as /dev/zero could be endless. The check is
    repeated on the open file, because another process may replace the file; opening never waits.

    Raises:
        OSError: The file cannot be opened, or is not a regular file.
    """
    _refuse_special(path, path.stat().st_mode)
    file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115
    try:
        _refuse_special(path, os.fstat(file.fileno()).st_mode)
    except OSError:
        file.close()
        raise
    return file


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | _AT_ONCE)


@contextmanager
def regular_name(path: Path) -> Iterator[Path]:
    """Check a file as `open_regular`; give a library that opens files by name a name of it.

    Raises:
        OSError: The file cannot be opened, or is not a regular file.
    """
    with open_regular(path) as file:
        name = Path(f"/dev/fd/{file.fileno()}")  # the same file, even if another one replaces it
        yield name if name.exists() else path


def read_regular(path: Path, *, at_most: int = LARGEST) -> bytes:
    """Read a regular file whole.

    Args:
        path: The file.
        at_most: The largest size in bytes.

    Raises:
        OSError: The file cannot be read, is not a regular file, or is larger.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > at_most else file.read(size + 1) or b""
        if len(content) > size:  # it has grown, or is a file of /proc
            content += file.read(at_most + 1 - len(content)) or b""
    if max(size, len(content)) > at_most:
        raise OSError(errno.EFBIG, f"it is larger than {at_most >> 20:,} MB", str(path))
    return content


def downloaded(path: Path) -> Path:
    """Return the path of a file.

    Raises:
        ModelError: The file is a Git LFS pointer, which stands for the file of the model.
    """
    with suppress(OSError), open_regular(path) as file:  # the reader names these errors
        if file.read(len(_POINTER)) == _POINTER:
            raise ModelError(
                f"{path} is a Git LFS pointer, not the file itself: run 'git lfs pull' in its "
                "folder, or download the file"
            )
    return path


def read_utf8(path: Path) -> str:
    """Read a regular file of UTF-8 text whole, as `read_regular`, with line ends as "\n".

    Raises:
        OSError: The file cannot be read, is not a regular file, or is larger than `LARGEST`.
        UnicodeDecodeError: It is not UTF-8.
    """
    return read_regular(path).decode().replace("\r\n", "\n").replace("\r", "\n")


def _refuse_special(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        what = _SPECIAL.get(stat.S_IFMT(mode), "special")
        raise OSError(errno.EINVAL, f"it is {what}, not a regular file", str(path))


def sha256(path: Path) -> str:
    """Return the SHA-256 of a regular file in hexadecimal."""
    with open_regular(path) as file:
        return _digest(file)


def _digest(file: BufferedReader) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()


def write_file(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Write a file completely, or leave the existing file unchanged if `fill` fails.

    Raises:
        OSError: The disk is full or the path is not writable.
    """
    import secrets

    temporary = path.with_name(f"{_TEMPORARY}{secrets.token_hex(8)}")
    with _named_in_errors(path):
        temporary.mkdir(mode=_OWNER_FOLDER)
        try:
            content = temporary / "content"
            with create_private(content) as file:
                fill(file)
            _chmod(content, _usual_mode(temporary, Path.touch))
            _sync(content)
            content.replace(path)
        finally:  # the error of the write matters, not that of the cleanup
            shutil.rmtree(temporary, ignore_errors=True)
        _sync(path.parent)


def create_private(path: Path) -> BinaryIO:
    """Create a file that only its owner can open, whatever the umask is; read and write it.

    Raises:
        OSError: The file exists or cannot be created.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    return os.fdopen(os.open(path, flags, _OWNER_FILE), "w+b")


def _usual_mode(folder: Path, create: Callable[[Path], object]) -> int:
    """Return the mode that a new file or folder has: the umask cannot be read without setting it.

    Args:
        folder: A folder of this process.
        create: Creates a file or a folder.
    """
    probe = folder / f"{_TEMPORARY}mode"
    create(probe)
    mode = stat.S_IMODE(probe.stat().st_mode)
    _delete(probe)
    return mode


def _chmod(path: Path, mode: int) -> None:
    with suppress(OSError):  # some file systems have no modes
        path.chmod(mode)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text completely or not at all, like `write_file`."""
    write_file(path, lambda file: file.write(text.encode()))


def write_json(path: Path, value: object) -> None:
    """Write `json_text(value)`, for files inside a folder that `save_folder` creates."""
    path.write_text(json_text(value), encoding="utf-8")


def json_text(value: object) -> str:
    """Return indented JSON that ends in a newline; keys keep their order."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        OSError: The file cannot be read, is not a regular file, or is larger than `LARGEST`.
        ValueError: The file does not contain valid JSON.
    """
    try:
        return json.loads(read_regular(path))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


@contextmanager
def _named_in_errors(path: Path) -> Iterator[None]:
    """Name `path` in an error of the operating system, not a temporary path or a parent."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:
            raise
        code, reason = error.errno, error.strerror
        if code == errno.EEXIST:  # a parent is a file
            code, reason = errno.ENOTDIR, os.strerror(errno.ENOTDIR)
        raise OSError(code, reason, str(path)) from error


def exchange_folders(one: Path, other: Path) -> None:
    """Swap the names of two folders in one system call, so that neither name is ever missing.

    On a file system without this operation, such as NFS, `other` is missing for a moment.
    """
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # Linux only
    names = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other))
    if renameat2 and renameat2(*names, _RENAME_EXCHANGE) == 0:
        _sync(other.parent)
        return
    code = ctypes.get_errno() if renameat2 else errno.ENOSYS
    if code not in (errno.EINVAL, errno.ENOSYS):
        raise OSError(code, os.strerror(code), str(other))
    aside = one.with_name(f"{one.name}-old")
    other.rename(aside)
    one.rename(other)
    aside.rename(one)
    _sync(other.parent)


def _sync(path: Path) -> None:
    """Force a file or folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
