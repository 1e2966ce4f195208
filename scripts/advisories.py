"""Compare constraints.txt with a database of advisories, without a network.

    python -m scripts.advisories DATABASE [CONSTRAINTS]

DATABASE holds entries in the OSV format, of which those of the ecosystem PyPI count: a
JSON file with one entry or a list of entries, a folder with such files, or a ZIP archive of them.
Prints the pinned packages that are affected, with the advisory and the versions that fix it.

Exit code 0: no package is affected; 1: at least one is; 2: the database cannot be read.
"""

import argparse
import json
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

sys.path.insert(0, str(Path(__file__).parents[1]))  # for a run as a file, without -m
from scripts.sbom import CONSTRAINTS, pinned

_ECOSYSTEM = "PyPI"
_LARGEST = 100_000_000  # bytes of a JSON file; advisories have a few thousand
# What is raised for files and archives that are damaged, encrypted or packed in another way
_UNREADABLE = (OSError, zipfile.BadZipFile, EOFError, RuntimeError, zlib.error)
_LOWEST = "0.dev0"  # what the version 0 of an event stands for


class DatabaseError(Exception):
    """The database cannot be read."""


@dataclass(frozen=True, order=True)
class Finding:
    """A pinned package that an advisory affects.

    Attributes:
        package: Canonical name.
        version: Pinned version.
        advisory: Identifier of the advisory, and its aliases.
        fixed: The versions that fix it and are newer than the pinned one, the lowest first.
        summary: Title of the advisory.
        note: Why it is uncertain; "": it is not.
    """

    package: str
    version: str
    advisory: str
    fixed: tuple[str, ...]
    summary: str = ""
    note: str = ""

    def __str__(self) -> str:
        fix = f"fixed in {', '.join(self.fixed)}" if self.fixed else "no fixed version is known"
        parts = [f"{self.package} {self.version}: {self.advisory} ({fix})", self.summary, self.note]
        return ": ".join(filter(None, parts))


def entries(database: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a database.

    Raises:
        DatabaseError: It is missing, not valid or empty.
    """
    n = 0
    for name, content in _files(database):
        try:
            value = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise DatabaseError(f"{name} is not valid JSON ({error})") from error
        for entry in value if isinstance(value, list) else [value]:
            if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
                raise DatabaseError(f"{name} is not an entry in the OSV format: it has no id")
            n += 1
            yield entry
    if not n:
        raise DatabaseError(f"{database} contains no entries: check the path")


def _files(database: Path) -> Iterator[tuple[str, bytes]]:
    try:
        if database.is_dir():
            for path in sorted(database.rglob("*.json")):
                yield str(path), _content(str(path), path.stat().st_size, path.open("rb"))
        elif zipfile.is_zipfile(database):
            with zipfile.ZipFile(database) as archive:
                for entry in sorted(archive.infolist(), key=lambda each: each.filename):
                    if entry.filename.endswith(".json"):
                        name = f"{database}, {entry.filename}"
                        yield name, _content(name, entry.file_size, archive.open(entry))
        else:
            size = database.stat().st_size
            yield str(database), _content(str(database), size, database.open("rb"))
    except _UNREADABLE as error:
        raise DatabaseError(f"{database} cannot be read ({error})") from error


def _content(name: str, size: int, opened: IO[bytes]) -> bytes:
    """Read a file of a size, and close it.

    Raises:
        DatabaseError: It is too large.
    """
    with opened:
        if size > _LARGEST:
            raise DatabaseError(f"{name} has {size:,} bytes, more than {_LARGEST:,}")
        return opened.read(size)


def findings(pins: Mapping[str, str], advisories: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Yield what advisories say of pinned packages; withdrawn advisories say nothing.

    Args:
        pins: Versions by canonical name.
        advisories: Entries in the OSV format.

    Raises:
        DatabaseError: An entry is not in the OSV format.
    """
    for entry in advisories:
        if entry.get("withdrawn"):
            continue
        try:
            for affected in entry.get("affected") or ():
                package = affected.get("package") or {}
                name = canonicalize_name(package.get("name", ""))
                if package.get("ecosystem") == _ECOSYSTEM and name in pins:
                    yield from _of(entry, affected, name, pins[name])
        except (AttributeError, TypeError) as error:
            raise DatabaseError(f"{entry['id']} is not in the OSV format ({error})") from error


def _of(
    entry: Mapping[str, Any], affected: Mapping[str, Any], name: str, pinned_version: str
) -> Iterator[Finding]:
    """Yield the finding of one package of an advisory, if its pinned version is affected."""
    version = Version(pinned_version)
    ranges = [r for r in affected.get("ranges") or () if r.get("type") in ("ECOSYSTEM", "SEMVER")]
    note = ""
    is_affected = any(_parsed(each) == version for each in affected.get("versions") or ())
    for each in ranges:
        try:
            is_affected |= _contains(each["events"], version)
        except (InvalidVersion, KeyError, TypeError) as error:
            is_affected, note = True, f"a range cannot be read, so check it yourself ({error})"
    if is_affected:
        aliases = entry.get("aliases") or ()
        advisory = f"{entry['id']} = {', '.join(aliases)}" if aliases else entry["id"]
        fixed = tuple(_fixes(ranges, version))
        yield Finding(name, pinned_version, advisory, fixed, entry.get("summary") or "", note)


def _contains(events: Iterable[Mapping[str, str]], version: Version) -> bool:
    """Return whether a version is in a range, as the OSV format evaluates its events.

    Events in the order of their versions open (introduced) and close (fixed, last_affected) the
    range; it never extends to a limit or beyond.
    """
    ordered = sorted(
        (Version(_LOWEST if value == "0" else value), kind)
        for event in events
        for kind, value in event.items()
        if value != "*"
    )
    inside = False
    for at, kind in ordered:
        if kind == "introduced" and at <= version:
            inside = True
        elif (kind == "fixed" and at <= version) or (kind == "last_affected" and at < version):
            inside = False
    limits = [at for at, kind in ordered if kind == "limit"]
    return inside and (not limits or any(version < at for at in limits))


def _fixes(ranges: Iterable[Mapping[str, Any]], version: Version) -> list[str]:
    """Return the fixed versions that are newer than a version, the lowest first."""
    found = set()
    for each in ranges:
        for event in each.get("events", ()):
            fixed = event.get("fixed")
            if fixed and (at := _parsed(fixed)) and version < at:
                found.add(fixed)
    return sorted(found, key=Version)


def _parsed(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("database", type=Path)
    parser.add_argument("constraints", type=Path, nargs="?", default=CONSTRAINTS)
    args = parser.parse_args()
    try:
        pins = pinned(args.constraints)
        found = sorted(set(findings(pins, entries(args.database))))
    except (DatabaseError, InvalidVersion, OSError) as error:
        parser.exit(2, f"error: {error}\n")
    for each in found:
        sys.stdout.write(f"{each}\n")
    affected = len({each.package for each in found})
    sys.stdout.write(f"{affected} of {len(pins)} packages are affected\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
