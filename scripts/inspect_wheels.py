"""Check that pip installs the wheels in dist/ on their platforms, and what is in them.

    python -m scripts.inspect_wheels dist/*.whl

For each wheel, pip resolves and unpacks it as on its platform, without what it depends on. The
files must be those of its RECORD and, apart from the engine, those of the other wheels; the engine
must have the format and the processor of the platform. Nothing is run: that needs the platform.
"""

import struct
import subprocess
import sys
import tempfile
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

from packaging.utils import parse_wheel_filename

_ELF = {62: "x86_64", 183: "aarch64"}
_MACH_O = {0x01000007: "x86_64", 0x0100000C: "arm64"}
_PE = {0x8664: "amd64"}


class WheelError(Exception):
    """A wheel is not what its name says."""


def library_format(data: bytes) -> tuple[str, str]:
    """The system ("linux", "macosx" or "win") and the processor that a library is for.

    Raises:
        WheelError: It is not a 64-bit library of a known format.
    """
    if data[:5] == b"\x7fELF\x02":
        return "linux", _ELF.get(struct.unpack_from("<H", data, 18)[0], "?")
    if data[:4] == b"\xcf\xfa\xed\xfe":
        return "macosx", _MACH_O.get(struct.unpack_from("<I", data, 4)[0], "?")
    if data[:2] == b"MZ":
        (at,) = struct.unpack_from("<I", data, 0x3C)
        if data[at : at + 4] == b"PE\0\0":
            return "win", _PE.get(struct.unpack_from("<H", data, at + 4)[0], "?")
    raise WheelError("the engine is not a library of Linux, macOS or Windows")


def inspect(wheel: Path) -> dict[str, str]:
    """Install a wheel into a temporary folder; return the SHA-256 of each file except the engine.

    Raises:
        WheelError: pip refuses it, or its contents do not fit its name.
    """
    platform = next(tag.platform for tag in parse_wheel_filename(wheel.name)[3])
    with tempfile.TemporaryDirectory() as folder:
        _install(wheel, platform, folder)
        found = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in Path(folder).rglob("*")
            if path.is_file() and not {"bin", "__pycache__"} & {*path.relative_to(folder).parts}
        }
        (information,) = Path(folder).glob("*.dist-info")
        _check_record(PathDistribution(information), found)
    engines = [name for name in found if name.startswith("yakusu/native/libyakusu.")]
    if len(engines) != 1:
        raise WheelError(f"it has {len(engines)} engines")
    system, machine = library_format(found.pop(engines[0]))
    if system not in platform or not platform.endswith(machine):
        raise WheelError(f"its engine is for {system} on {machine}")
    return {
        name: sha256(data).hexdigest()
        for name, data in found.items()
        if ".dist-info/" not in name or name.endswith("METADATA")
    }


def _install(wheel: Path, platform: str, folder: str) -> None:
    options = ("--no-deps", "--no-compile", "--only-binary", ":all:", "--platform", platform)
    command = [sys.executable, "-m", "pip", "install", "-q", *options, "--target", folder, wheel]
    said = subprocess.run(command, capture_output=True, encoding="utf-8")
    if said.returncode:
        raise WheelError(said.stderr.strip())


def _check_record(installed: Distribution, found: dict[str, bytes]) -> None:
    for entry in installed.files or ():
        data = found.get(entry.as_posix())
        if data is None or entry.hash is None:  # programs, and RECORD itself
            continue
        made = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
        if made != entry.hash.value:
            raise WheelError(f"{entry} differs from its RECORD")


def main(wheels: Sequence[str]) -> None:
    """Inspect wheels; end with status 1 if one is faulty."""
    first: dict[str, str] | None = None
    for path in map(Path, wheels):
        try:
            files = inspect(path)
            first = first or files
            if different := sorted(name for name, _ in files.items() ^ first.items()):
                raise WheelError(f"{different[0]} is not that of the first wheel")
        except WheelError as error:
            sys.exit(f"error: {path.name}: {error}")
        sys.stdout.write(f"{path.name}: {len(files)} files and the engine\n")


if __name__ == "__main__":
    main(sys.argv[1:])
