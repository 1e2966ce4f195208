"""scripts/inspect_wheels.py recognises the engines of all platforms, and wheels that do not fit."""

import platform
import struct
import sys
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from scripts.inspect_wheels import WheelError, inspect, library_format
from yakusu.native.library import PATH

ELF = b"\x7fELF\x02" + bytes(13) + struct.pack("<H", 183)
MACH_O = struct.pack("<II", 0xFEEDFACF, 0x0100000C)
PE = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", 0x8664)


@pytest.mark.parametrize(
    ("data", "told"),
    [(ELF, ("linux", "aarch64")), (MACH_O, ("macosx", "arm64")), (PE, ("win", "amd64"))],
)
def test_a_library_tells_its_system_and_processor(data: bytes, told: tuple[str, str]) -> None:
    assert library_format(data) == told
    with pytest.raises(WheelError, match="is not a library of"):
        library_format(data[1:])


@pytest.mark.skipif(sys.platform != "linux", reason="the engine of Linux")
def test_the_engine_that_runs_here_is_for_this_machine() -> None:
    assert library_format(PATH.read_bytes()) == ("linux", platform.machine())


def wheel(folder: Path, tag: str, files: dict[str, bytes]) -> Path:
    path, record = folder / f"yakusu-1-py3-none-{tag}.whl", ""
    files = {
        **files,
        "yakusu-1.dist-info/METADATA": b"Metadata-Version: 2.1\nName: yakusu\nVersion: 1\n",
        "yakusu-1.dist-info/WHEEL": (
            f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n".encode()
        ),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
            digest = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        archive.writestr("yakusu-1.dist-info/RECORD", f"{record}yakusu-1.dist-info/RECORD,,\n")
    return path


def test_a_wheel_for_another_system_is_unpacked_and_inspected(tmp_path: Path) -> None:
    files = {"yakusu/__init__.py": b"", "yakusu/native/libyakusu.dll": PE}
    found = inspect(wheel(tmp_path, "win_amd64", files))
    assert found["yakusu/__init__.py"] == sha256(b"").hexdigest()
    assert {Path(name).name for name in found} == {"__init__.py", "METADATA"}


@pytest.mark.parametrize(
    ("tag", "files", "told"),
    [
        (
            "macosx_11_0_arm64",
            {"yakusu/native/libyakusu.dll": PE},
            "its engine is for win on amd64",
        ),
        ("win_amd64", {}, "it has 0 engines"),
    ],
)
def test_a_wheel_without_the_engine_of_its_platform_is_refused(
    tmp_path: Path, tag: str, files: dict[str, bytes], told: str
) -> None:
    with pytest.raises(WheelError, match=told):
        inspect(wheel(tmp_path, tag, files))
