"""Which documents are translated, which files are copied, and where both are written."""

import os
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from yakusu.documents.file_names import other_language
from yakusu.documents.registry import check_suffixes, has_untranslated_text, is_supported
from yakusu.documents.suffixes import CONVERTED
from yakusu.errors import DataError

_HIDDEN = (".", "~$")  # how hidden names begin; Word writes lock files as ~$NAME


@dataclass(frozen=True)
class FileJob:
    """A file to translate or to copy.

    Attributes:
        source: The file to read.
        out: The file to write, as the user names it.
        target: The file that is written: `out` without symbolic links.
        copied: The format is unknown, so the file is copied.
        untranslated: It is copied, although it may contain text.
        name: Its path from the folder that the user names; None: the user names the file.
        language: The language that its name states, because of which it is copied; "": none.
    """

    source: Path
    out: Path
    target: Path
    copied: bool
    untranslated: bool = False
    name: PurePath | None = None
    language: str = ""

    def for_languages(self, languages: tuple[str, str]) -> "FileJob":
        """What is done if these are the source and the target language: others are copied."""
        if self.copied or not self.name or not (found := other_language(self.name, languages)):
            return self
        return replace(self, copied=True, language=found)


@dataclass(frozen=True)
class Plan:
    """What is done with a file or a folder.

    Attributes:
        jobs: Each file, sorted by name.
        left_out: Links to folders, and what is neither a file nor a folder.
    """

    jobs: tuple[FileJob, ...]
    left_out: tuple[Path, ...] = ()

    def for_languages(self, languages: tuple[str, str]) -> "Plan":
        """What is done if these are the source and the target language: others are copied."""
        return replace(self, jobs=tuple(job.for_languages(languages) for job in self.jobs))


def plan(path: Path, out: Path, *, overwrite: bool, has_columns: bool = False) -> Plan:
    """Return the files to translate and to copy.

    Args:
        path: The file or folder to translate.
        out: The file or folder to write.
        overwrite: Replace files that exist.
        has_columns: Whether the columns of tables to translate are known; tables in a folder are
            copied otherwise.

    Raises:
        DataError: A path does not exist or cannot be read, or an output must not be written.
    """
    if not path.exists():
        raise DataError(f"{path} does not exist: check the path")
    if path.is_dir():
        _check_folders(path, out)
        files, left_out = _files(path)
        outputs = [(file, out / file.relative_to(path)) for file in files]
        name = PurePath(path.resolve().name)
        jobs = [
            replace(
                _job(file, to, copied=not _keeps_suffix(file, has_columns=has_columns)),
                name=name / file.relative_to(path),
            )
            for file, to in outputs
        ]
        if not jobs:
            raise DataError(f"{path} contains no files to translate: check the path")
        planned = Plan(tuple(jobs), tuple(left_out))
    else:
        if out.is_dir():
            raise DataError(f"{out} is a folder: name the file to write, such as {out / path.name}")
        if out.exists() and out.samefile(path):
            raise DataError(f"{out} is the input: choose another name for the output")
        check_suffixes(path, out)
        planned = Plan((_job(path, out, copied=False),))
    _check_outputs(planned, path, overwrite=overwrite)
    return planned


def _check_folders(path: Path, out: Path) -> None:
    """Refuse an output that is not a folder, or that shares a folder with the input."""
    here, there = _real(path), _real(out)
    if here == there or here in there.parents or there in here.parents:
        raise DataError(
            f"{out} and {path} contain each other: choose an output folder outside the input"
        )
    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is a file, but {path} is a folder: name a folder for the output")


def _files(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files of a folder and its subfolders that are not hidden, and what is left out."""
    files: list[Path] = []
    left_out: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=_refuse_unreadable):
        folders[:] = _visible(folders)
        for name in folders:
            if (linked := Path(parent, name)).is_symlink():  # os.walk does not enter it
                left_out.append(linked)
        for name in _visible(names):
            path = Path(parent, name)
            (files if path.is_file() else left_out).append(path)
    return files, left_out


def _visible(names: list[str]) -> list[str]:
    return sorted(name for name in names if not name.startswith(_HIDDEN))


def _refuse_unreadable(error: OSError) -> None:
    raise DataError(f"{error.filename} cannot be read: {error.strerror}") from error


def _keeps_suffix(file: Path, *, has_columns: bool) -> bool:
    """Whether a file of a folder can be translated, and its translation can have its name."""
    return file.suffix.lower() not in CONVERTED and is_supported(file, has_columns=has_columns)


def _job(source: Path, out: Path, *, copied: bool) -> FileJob:
    return FileJob(source, out, _real(out), copied, copied and has_untranslated_text(source))


def _real(path: Path) -> Path:
    """A path without symbolic links; Path.resolve raises an error for links in a circle."""
    return Path(os.path.realpath(path))


def _check_outputs(planned: Plan, path: Path, *, overwrite: bool) -> None:
    """Refuse outputs that would replace an input, another output or something that is no file."""
    sources = {_real(job.source) for job in planned.jobs}
    targets: set[Path] = set()
    for job in planned.jobs:
        if job.target in sources or (path.is_dir() and _real(path) in job.target.parents):
            raise DataError(f"{job.out} is in the input: choose another output")
        if job.target in targets:
            raise DataError(f"{job.out} is a link to another output: choose another output folder")
        targets.add(job.target)
        _check_output(job, overwrite=overwrite)


def _check_output(job: FileJob, *, overwrite: bool) -> None:
    """Refuse an output that is no file, that is in no folder, or that must not be replaced."""
    out = job.out
    if out.is_dir():
        raise DataError(f"{out} is a folder, but {job.source} is a file: choose another output")
    if out.exists() and not out.is_file():
        raise DataError(f"{out} is a pipe or a device, not a file: choose another output")
    if out.exists() and not overwrite:
        raise DataError(f"{out} exists: choose another output, or add --overwrite (overwrite=True)")
    parent = next(parent for parent in job.target.parents if parent.exists())
    if not parent.is_dir():
        raise DataError(f"{parent} is a file, but must be a folder: choose another output")
