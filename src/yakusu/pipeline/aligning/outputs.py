"""The files of pairs, and of what is in no pair."""

from collections.abc import Iterable
from pathlib import Path

from yakusu.errors import RunError
from yakusu.folder import write_text


def pair_files(out: Path, src: Path, tgt: Path) -> tuple[Path, Path]:
    """The files of pairs and of what is left out.

    Raises:
        RunError: They are not .tsv files, or one of them is a text.
    """
    if out.suffix.lower() != ".tsv":
        raise RunError(f"--out {out} does not end in .tsv: choose a name such as pairs.tsv")
    left = out.with_name(f"{out.stem}.left.tsv")
    if {out.resolve(), left.resolve()} & {src.resolve(), tgt.resolve()}:
        raise RunError(f"{out} would replace one of the texts: choose another file with --out")
    return out, left


def write_rows(path: Path, lines: Iterable[str]) -> None:
    """Write the lines of a file completely, or not at all.

    Raises:
        RunError: The file cannot be written.
    """
    try:
        write_text(path, "".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise RunError(
            f"{path} cannot be written ({error.strerror}): choose another file with --out"
        ) from error
