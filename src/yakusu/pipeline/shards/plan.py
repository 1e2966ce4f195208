"""Which shards are translated, and where they are written."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from yakusu.errors import DataError


@dataclass(frozen=True)
class ShardJob:
    """A shard to translate.

    Attributes:
        source: The file to read; an absolute path, for workers in other folders.
        out: The file to write, as the user names it.
    """

    source: Path
    out: Path


def plan_shards(sources: Iterable[str | Path], out: Path) -> list[ShardJob]:
    """Return the shards in files and folders, in this order; those of a folder by name.

    Raises:
        DataError: A path does not exist, a folder contains folders or the output, a file is hidden,
            two shards have the same name, or an output would replace an input.
    """
    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is a file: name a folder for the output")
    named: dict[str, Path] = {}
    for path in map(Path, sources):
        if path.resolve() in out.resolve().parents:
            raise DataError(f"{out} is in the input {path}: choose another folder for the output")
        for source in _files(path):
            if other := named.get(source.name):
                raise DataError(
                    f"{other} and {source} have the same name: translate them into different "
                    "folders"
                )
            named[source.name] = source
    jobs = [ShardJob(source.absolute(), out / name) for name, source in named.items()]
    for job in jobs:
        if os.path.realpath(job.source) == os.path.realpath(job.out):
            raise DataError(f"{job.out} is an input: choose another folder for the output")
        if job.out.is_dir():
            raise DataError(f"{job.out} is a folder, but must be a file: move it")
    return jobs


def _files(path: Path) -> list[Path]:
    """A file, or the files of a folder that are not hidden."""
    if str(path) == "-":
        raise DataError("--ray translates files, not standard input: name files or folders")
    if not path.exists():
        raise DataError(f"{path} does not exist: check the path")
    if not path.is_dir():
        if not path.is_file():
            raise DataError(f"{path} is a pipe or a device, not a file: name files or folders")
        if path.name.startswith("."):  # the output folder has hidden files of its own
            raise DataError(f"{path} is a hidden file: rename it")
        return [path]
    try:
        found = sorted(each for each in path.iterdir() if not each.name.startswith("."))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if other := next((each for each in found if not each.is_file()), None):
        raise DataError(
            f"{other} is in {path}, but is not a file: name the files, as in {path}/*.txt"
        )
    if not found:
        raise DataError(f"{path} contains no files: check the path")
    return found
