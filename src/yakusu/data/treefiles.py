"""Where trees lie: known by a file's name, by a folder's files, by how a file begins."""

import re
from itertools import islice
from pathlib import Path

from yakusu.data.text import raw_lines
from yakusu.errors import DataError

_ANY = "*?["  # what makes a path a pattern
_HEAD = 10  # lines of a file that tell trees from sentences
# "(S (NP (DT The)", "( (S (DT The)": labels in capitals around a word with its tag; "((see above)"
# and "((ALL RIGHT))" are words.
_TREE = re.compile(r"\s*\((?:\s*\()?(?:[^\sa-z()]+\s*\()+[^\sa-z()]+\s+[^\s()]+\s*\)")


def is_tree_file(path: Path) -> bool:
    """Whether a file is trees by its name: *.mrg or *.mrg.gz, in capitals too."""
    return path.name.lower().endswith((".mrg", ".mrg.gz"))


def holds_trees(place: str | Path) -> bool:
    """Whether trees lie there: by its name, by those within a folder, by how a file begins."""
    path = Path(place)
    if is_tree_file(path):
        return True
    if path.is_dir():
        return any(map(is_tree_file, path.rglob("*")))
    # A pipe can be read once, so it is left alone.
    return path.is_file() and begins_as_tree(" ".join(islice(raw_lines(path), _HEAD)))


def begins_as_tree(text: str) -> bool:
    """Whether a text begins as a tree does."""
    return bool(_TREE.match(text))


def tree_files(place: str | Path) -> list[Path]:
    """The files that a path, a folder (all *.mrg and *.mrg.gz within) or a pattern names, in order.

    Raises:
        DataError: There is none.
    """
    path = Path(place)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if is_tree_file(file))
    elif not path.exists() and any(sign in str(place) for sign in _ANY):
        files = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    else:
        return [path]
    if not files:
        raise DataError(f"{place} holds no tree: name a file, a folder of *.mrg or a pattern")
    return files
