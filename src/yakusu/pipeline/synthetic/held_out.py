"""Held-out lines, which training text must not contain, compared by a hash of their words.

As in `overlap.py`, case, punctuation and white space are ignored; a line without words is not held
out. Either side of a pair is compared with all files.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle
from pathlib import Path

from yakusu.data.corpus import Corpus, numbered_pairs
from yakusu.data.files.formats import format_by_name
from yakusu.data.files.long_lines import LongLines
from yakusu.data.files.text import Pair, read_lines
from yakusu.data.noise import words_only
from yakusu.errors import DataError, ModelError
from yakusu.folder import sha256
from yakusu.pipeline.receipts.receipt import Receipt, read_facts

_log = logging.getLogger(__name__)


class HeldOutLines:
    """The lines of dev and test sets.

    Args:
        files: Text files of either language, or files of pairs.
        corpora: Dev sets.

    Raises:
        DataError: A file cannot be read.
    """

    def __init__(self, files: Iterable[Path], corpora: Iterable[Corpus]) -> None:
        self._places: dict[bytes, tuple[str, int]] = {}
        for path in files:
            self._add([path], _numbered(path))
        for corpus in filter(None, corpora):
            self._add(corpus.files, numbered_pairs(corpus))

    def _add(self, files: Sequence[Path], numbered: Iterable[tuple[int, tuple[str, ...]]]) -> None:
        """Add the texts of a line, which are in one file, or each in a file of its own."""
        names = [str(path) for path in files]
        for number, texts in numbered:
            for name, text in zip(cycle(names), texts, strict=False):
                if words := words_only(text):
                    self._places.setdefault(_hash(words), (name, number))

    def find(self, pair: Pair) -> tuple[int, str] | None:
        """The first side of a pair that is held out, 0 or 1, and where; None: neither is."""
        for side, line in enumerate(pair):
            words = words_only(line) if line else ""
            if words and (place := self._places.get(_hash(words))):
                return side, f"{place[0]}, line {place[1]:,}"
        return None


def _numbered(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    if format_by_name(path):
        return numbered_pairs(Corpus(pairs=str(path)))
    return enumerate(((line,) for line in read_lines(path, long=LongLines())), start=1)


def _hash(words: str) -> bytes:
    return hashlib.blake2b(words.encode(), digest_size=8).digest()


class Overlaps:
    """Counts the held-out lines of a text while it is read.

    Args:
        held_out: The held-out lines.
        names: Names of both sides of the text in the error message.
    """

    def __init__(self, held_out: HeldOutLines, names: tuple[str, str]) -> None:
        self._held_out, self._names = held_out, names
        self._first, self.count = "", 0

    def add(self, number: int, pair: Pair) -> bool:
        """Return whether a pair, of line `number`, is held out, and count it if it is."""
        if not (found := self._held_out.find(pair)):
            return False
        side, place = found
        self._first = self._first or f"{self._names[side]}, line {number:,}, is also in {place}"
        self.count += 1
        return True

    def refuse(self) -> None:
        """Raise DataError if a pair was held out."""
        if self.count:
            such = f"{self.count:,} such line{'s' * (self.count > 1)}"
            raise DataError(
                f"{self._first} ({such}): remove held-out text, or leave it out with "
                "--drop-held-out"
            )


def dev_set_of(model: Path) -> Corpus:
    """The dev set of a model; empty, with a warning: it is not available."""
    if dev := find_dev_set(model):
        return dev
    _log.warning(
        "the dev set of %s is not available, so its lines are not held out: name its files with "
        "--held-out",
        model,
    )
    return Corpus()


def find_dev_set(model: Path) -> Corpus:
    """The dev set of a model; empty: it is not available.

    It is in the run folder that contains the model, or else in the files that its receipt names, if
    they are unchanged.
    """
    of_run = [model.parent / "data" / f"dev.{side}.txt" for side in ("src", "tgt")]
    if model.name == "model" and all(path.exists() for path in of_run):
        return Corpus(src=str(of_run[0]), tgt=str(of_run[1]))
    return _dev_set_in_receipt(model)


def _dev_set_in_receipt(model: Path) -> Corpus:
    """The dev set that the receipt of a model names; empty: there is none, or it has changed."""
    try:
        facts = read_facts(model)
    except ModelError:
        return Corpus()
    if not isinstance(facts, Receipt):
        return Corpus()
    dev = facts.recipe.data.dev
    try:
        unchanged = [
            sha256(path) == facts.inputs.get(f"dev.{key}") for key, path in dev.named_files.items()
        ]
    except OSError:
        return Corpus()
    return dev if all(unchanged) else Corpus()
