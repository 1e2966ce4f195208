"""Find the files of a treebank, and tell trees from sentences; needs no extra."""

from itertools import islice
from pathlib import Path

from yakusu.data.brackets import begins_as_tree
from yakusu.data.files.compressed import plain_name
from yakusu.data.files.long_lines import LongLines
from yakusu.data.files.text import InvalidLines, raw_lines
from yakusu.errors import DataError

_WILDCARDS = "*?["
_INSPECTED_LINES = 10  # enough to tell a file of trees from a file of sentences


def tree_files(place: str | Path) -> list[Path]:
    """List tree files in order.

    Args:
        place: A file, a folder (all *.mrg files below it, compressed or not) or a pattern.

    Raises:
        DataError: The folder or pattern matches no file.
    """
    path = Path(place)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if _is_tree_file(file))
    elif not path.exists() and any(wildcard in str(place) for wildcard in _WILDCARDS):
        files = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    else:
        return [path]
    if not files:
        raise DataError(
            f"{place} has no tree files: specify a file, a folder of *.mrg or a pattern"
        )
    return files


def holds_trees(place: str | Path) -> bool:
    """Whether a path holds trees, judging by its name, its first lines or the files below it."""
    path = Path(place)
    if _is_tree_file(path):
        return True
    if path.is_dir():
        return any(map(_is_tree_file, path.rglob("*")))
    # A pipe can be read only once, so its content is not inspected.
    if not path.is_file():
        return False
    lines = raw_lines(path, errors=InvalidLines("replace"), long=LongLines())
    return begins_as_tree(" ".join(islice(lines, _INSPECTED_LINES)))


def _is_tree_file(path: Path) -> bool:
    return plain_name(path.name).lower().endswith(".mrg")
