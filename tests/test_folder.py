"""Folders are written completely or not at all, and damaged files are reported."""

import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from yakusu.errors import ModelError, RunError
from yakusu.folder import (
    FORMAT,
    LARGEST,
    locked,
    open_regular,
    read_json,
    read_regular,
    regular_name,
    save_folder,
    sha256,
    verify_folder,
    write_file,
)


def fill(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * 2)
    (folder / "config.json").write_text("{}")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_folder(tmp_path / "model", fill)
    return tmp_path / "model"


# ---- saving --------------------------------------------------------------------------------------


def test_the_manifest_lists_every_file_with_its_size_and_hash(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    assert manifest["format"] == FORMAT
    assert manifest["files"] == {
        name: {"size": (saved / name).stat().st_size, "sha256": sha256(saved / name)}
        for name in ("config.json", "model.safetensors")
    }
    # echo -n '{}' | sha256sum
    assert manifest["files"]["config.json"]["sha256"].startswith("44136fa355b3678a1146ad16f7e8649e")


def test_a_saved_folder_is_valid_and_leaves_no_other_files(saved: Path) -> None:
    verify_folder(saved)
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o755), (0o027, 0o750)])
def test_the_permissions_of_a_folder_respect_the_umask(
    tmp_path: Path, umask: int, mode: int
) -> None:
    before = os.umask(umask)
    try:
        save_folder(tmp_path / "model", fill)
    finally:
        os.umask(before)
    assert (tmp_path / "model").stat().st_mode & 0o777 == mode


def test_missing_parent_folders_are_created(tmp_path: Path) -> None:
    save_folder(tmp_path / "a" / "b" / "model", fill)
    verify_folder(tmp_path / "a" / "b" / "model")


def test_a_failed_save_leaves_no_folder_and_no_other_files(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        fill(folder)
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        save_folder(tmp_path / "model", fail)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_save_leaves_the_old_folder_unchanged(saved: Path) -> None:
    before = {path.name: path.read_bytes() for path in saved.iterdir()}

    def interrupt(folder: Path) -> None:
        (folder / "config.json").write_text("new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_folder(saved, interrupt)
    verify_folder(saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_new_folder_replaces_all_files_of_an_old_one(
    saved: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    if not can_exchange:  # a C library without renameat2
        monkeypatch.setattr(ctypes, "CDLL", lambda name, use_errno: object())
    save_folder(saved, lambda folder: (folder / "other.json").write_text("{}") and None)
    verify_folder(saved)
    assert sorted(path.name for path in saved.iterdir()) == ["manifest.json", "other.json"]
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_a_folder_without_a_manifest_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ModelError, match="exists but is not a model folder: choose another name"):
        save_folder(tmp_path, fill)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


# ---- verifying -----------------------------------------------------------------------------------


@pytest.mark.parametrize("position", [0, 8, 200, -1])
def test_a_flipped_bit_is_detected_and_its_file_named(saved: Path, position: int) -> None:
    path = saved / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"model\.safetensors is corrupt"):
        verify_folder(saved)


def test_a_truncated_file_is_reported_with_both_sizes(saved: Path) -> None:
    path = saved / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(ModelError, match=r"safetensors is corrupt \(505 bytes, 512 expected;"):
        verify_folder(saved)


def test_a_pointer_of_git_lfs_in_place_of_a_file_is_named_as_such(saved: Path) -> None:
    (saved / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid")
    with pytest.raises(ModelError, match=r"safetensors is a Git LFS pointer.*'git lfs pull'"):
        verify_folder(saved)


def test_a_missing_file_is_named(saved: Path) -> None:
    (saved / "config.json").unlink()
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        verify_folder(saved)


@pytest.mark.parametrize(
    "manifest", [None, "", "{", "[]", "{}", '{"format": 1}', '{"format": 1, "files": 7}']
)
def test_a_folder_without_a_valid_manifest_is_rejected(saved: Path, manifest: str | None) -> None:
    if manifest is None:
        (saved / "manifest.json").unlink()
    else:
        (saved / "manifest.json").write_text(manifest)
    with pytest.raises(ModelError, match=r"has no valid manifest\.json"):
        verify_folder(saved)


@pytest.mark.parametrize("entry", ["7", "{}", "null"])
def test_a_manifest_without_the_size_and_hash_of_a_file_is_rejected(
    saved: Path, entry: str
) -> None:
    text = f'{{"format": {FORMAT}, "files": {{"config.json": {entry}}}}}'
    (saved / "manifest.json").write_text(text)
    with pytest.raises(ModelError, match=r"has no valid manifest\.json"):
        verify_folder(saved)


def test_a_newer_format_is_rejected_with_both_versions(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    (saved / "manifest.json").write_text(json.dumps({**manifest, "format": FORMAT + 1}))
    with pytest.raises(ModelError, match=rf"has format {FORMAT + 1}, .* reads format {FORMAT}: "):
        verify_folder(saved)


def test_a_path_without_a_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a model folder: check the path"):
        verify_folder(tmp_path / "nowhere")


# ---- locks and single files ----------------------------------------------------------------------


def test_a_lock_is_reentrant_and_deletes_leftovers_once(tmp_path: Path) -> None:
    leftover = tmp_path / "checkpoints" / ".saving-step-00000003-0123abcd"
    leftover.mkdir(parents=True)
    (tmp_path / ".saving-01234567").write_bytes(b"half a file")
    with locked(tmp_path):
        assert not leftover.exists()
        assert not (tmp_path / ".saving-01234567").exists()
        leftover.mkdir()  # now written by this process
        with locked(tmp_path):
            assert leftover.exists()


def test_a_folder_locked_by_another_process_is_rejected(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from yakusu.folder import locked\n"
        "with locked(Path(sys.argv[1])): print(flush=True); input()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin and other.stdout
        other.stdout.readline()  # the other process holds the lock
        with pytest.raises(RunError, match="in use by another yakusu process"), locked(tmp_path):
            pass
        other.stdin.write(b"\n")
    assert other.returncode == 0
    with locked(tmp_path):
        pass


def test_a_failed_write_leaves_the_old_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_file(path, lambda file: file.write(b"old"))

    def fail(file: object) -> None:
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        write_file(path, fail)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize(("umask", "mode"), [(0, 0o666), (0o022, 0o644), (0o077, 0o600)])
def test_a_file_is_private_until_it_is_written_and_then_respects_the_umask(
    tmp_path: Path, umask: int, mode: int
) -> None:
    before = os.umask(umask)

    def fill(file: BinaryIO) -> None:
        path = Path(f"/proc/self/fd/{file.fileno()}").readlink()
        assert [each.stat().st_mode & 0o777 for each in (path, path.parent)] == [0o600, 0o700]
        assert path.parent.parent == tmp_path
        file.write(b"new")

    try:
        write_file(tmp_path / "a.bin", fill)
    finally:
        os.umask(before)
    assert (tmp_path / "a.bin").stat().st_mode & 0o777 == mode
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_a_folder_is_private_until_it_is_complete(tmp_path: Path) -> None:
    before = os.umask(0)

    def fill(temporary: Path) -> None:
        assert temporary.stat().st_mode & 0o777 == 0o700
        (temporary / "a").write_bytes(b"a")

    try:
        save_folder(tmp_path / "model", fill)
    finally:
        os.umask(before)
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o777


def test_a_file_with_a_similar_name_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / ".a.bin.new").write_bytes(b"mine")
    write_file(tmp_path / "a.bin", lambda file: file.write(b"new"))
    assert (tmp_path / ".a.bin.new").read_bytes() == b"mine"
    assert sorted(file.name for file in tmp_path.iterdir()) == [".a.bin.new", "a.bin"]


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(file: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "a.bin", interrupt)
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_name_that_exists_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda size: "0")
    (tmp_path / ".saving-0").write_bytes(b"other")
    with pytest.raises(OSError, match=r"a\.bin"):
        write_file(tmp_path / "a.bin", lambda file: file.write(b"new"))
    assert (tmp_path / ".saving-0").read_bytes() == b"other"


def test_an_error_of_the_disk_names_the_final_path(tmp_path: Path) -> None:
    def fail(temporary: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(temporary / "a"))

    with pytest.raises(OSError, match="Read-only file system") as caught:
        save_folder(tmp_path / "model", fail)
    assert caught.value.filename == str(tmp_path / "model")


@pytest.mark.parametrize("deeper", [".", "b"])
def test_a_file_in_place_of_a_parent_folder_is_an_error_with_the_final_path(
    tmp_path: Path, deeper: str
) -> None:
    (tmp_path / "a").write_text("dear")
    path = tmp_path / "a" / deeper / "model"
    for write in (
        lambda: save_folder(path, fill),
        lambda: write_file(path, lambda file: file.write(b"new")),
    ):
        with pytest.raises(NotADirectoryError) as caught:
            write()
        assert caught.value.filename == str(path)
    assert (tmp_path / "a").read_text() == "dear"


# ---- special files -------------------------------------------------------------------------------


@pytest.fixture
def alarm() -> Iterator[None]:
    """End the test with an error if it takes ten seconds: reading a pipe would wait forever."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def make_special(path: Path, what: str) -> None:
    """Put a special file in the place of a file, if there is one."""
    path.unlink(missing_ok=True)
    match what:
        case "a pipe":
            os.mkfifo(path)
        case "a socket":
            with socket.socket(socket.AF_UNIX) as opened:
                opened.bind(os.path.relpath(path))  # the absolute name may be too long
        case "a device":
            path.symlink_to("/dev/zero")
        case "a folder":
            path.mkdir()


SPECIAL = ("a pipe", "a socket", "a device", "a folder")


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("what", SPECIAL)
def test_a_special_file_is_refused_without_waiting(tmp_path: Path, what: str) -> None:
    make_special(tmp_path / "a", what)
    with pytest.raises(OSError, match=f"it is {what}, not a regular file: '{tmp_path / 'a'}'"):
        open_regular(tmp_path / "a")


@pytest.mark.usefixtures("alarm")
def test_a_file_that_becomes_a_pipe_before_it_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"{}")
    earlier = (tmp_path / "a").stat()
    make_special(tmp_path / "a", "a pipe")
    monkeypatch.setattr(Path, "stat", lambda _: earlier)
    with pytest.raises(OSError, match="it is a pipe, not a regular file"):
        read_regular(tmp_path / "a")


@pytest.mark.usefixtures("alarm")
def test_a_library_that_opens_files_by_name_gets_the_file_that_was_checked(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"checked")
    with regular_name(tmp_path / "a") as name:
        make_special(tmp_path / "a", "a pipe")
        assert name.read_bytes() == b"checked"


def test_a_link_to_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"{}")
    (tmp_path / "b").symlink_to("a")
    assert read_regular(tmp_path / "b") == b"{}"


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("what", SPECIAL)
@pytest.mark.parametrize("name", ["manifest.json", "config.json"])
def test_a_folder_with_a_special_file_is_refused(saved: Path, name: str, what: str) -> None:
    make_special(saved / name, what)
    with pytest.raises(ModelError, match=f"{name}.*it is {what}, not a regular file"):
        verify_folder(saved)


def test_a_file_that_is_read_whole_may_have_64_mb(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(LARGEST + 1)  # a hole: no disk space
    with pytest.raises(OSError, match=f"it is larger than 64 MB: '{tmp_path / 'a'}'"):
        read_json(tmp_path / "a")
    (tmp_path / "a").write_bytes(b"abc")
    assert read_regular(tmp_path / "a", at_most=3) == b"abc"
    with pytest.raises(OSError, match="it is larger than"):
        read_regular(tmp_path / "a", at_most=2)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")
def test_a_file_without_a_known_size_is_read_whole() -> None:
    assert read_regular(Path("/proc/self/status")).endswith(b"\n")


def test_json_that_is_nested_too_deeply_is_not_valid(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"[" * 100_000)
    with pytest.raises(ValueError, match="it is nested too deeply"):
        read_json(tmp_path / "a")
