"""Hostile lines, corpora and models: what is repeated in each of them."""

import gzip
import json
import struct
import tempfile
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from tests.cases import THOROUGH
from tests.growth.crafted import Crafted
from tests.pair_files import pair_file
from tests.translators import untrained
from yakusu.arrays import ArraysOnDisk, Floats
from yakusu.data.augmentation import Way
from yakusu.data.brackets import delinearise, linearise
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.filters import FilterConfig, text_filter
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.placeholders import Placeholders
from yakusu.data.lines.private_use import line_break, opening
from yakusu.data.lines.terms import Glossary, Term
from yakusu.data.noise import patterns_in
from yakusu.data.numbers.match import NumberMatch
from yakusu.data.segment_files import read_segments
from yakusu.model.config import Role
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Decoder, IdPair, Query, Searches, TargetScore
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.tokens import TokenRules
from yakusu.translator import Translator
from yakusu.translator.folder.folder import ModelFolder
from yakusu.vectors.formats import read_vectors

Text = Callable[[int], str]


def _repeated(unit: str, *, before: str = "", after: str = "") -> Text:
    """Return a function that repeats a text up to a size."""

    def make(n: int) -> str:
        return before + unit * max(1, n // len(unit.encode())) + after

    return make


def _numbered(unit: str, *, before: str = "", after: str = "") -> Text:
    """Return a function that repeats a text with the numbers from 0 in place of "#"."""

    def make(n: int) -> str:
        size = len(unit.encode()) + len(str(n // len(unit))) - 1
        numbers = map(str, range(max(1, n // size)))
        return before + "".join(unit.replace("#", number) for number in numbers) + after

    return make


def _nested(opening: str, closing: str) -> Text:
    """Return a function that nests a pair."""

    def make(n: int) -> str:
        depth = max(1, n // len((opening + closing).encode()))
        return opening * depth + "text" + closing * depth

    return make


def _many(name: str, texts: dict[str, Text], read: Callable[[str], object]) -> list[Crafted]:
    return [Crafted(f"{name}: {what}", make, read) for what, make in texts.items()]


# ---- lines ---------------------------------------------------------------------------------------


class _Copies(Decoder, Searches):
    """Repeats each source."""

    max_length, roles, n_members = 256, ("cross",), 1

    def __init__(self) -> None:
        self._found: list[list[Hypothesis]] = []

    def searches(self, config: SearchConfig, rules: TokenRules, *, batch: int) -> Searches:
        return _Copies()

    def score(self, pairs: Sequence[IdPair], *, alternatives: int, batch: int) -> list[TargetScore]:
        return [TargetScore((-1.0,) * len(tgt), ((),) * len(tgt)) for _, tgt in pairs]

    def attentions(
        self, pairs: Sequence[IdPair], roles: Collection[Role]
    ) -> list[list[dict[Role, Floats]]]:
        return [[{"cross": np.eye(len(t), len(s), dtype="f4")[None, None]}] for s, t in pairs]

    def submit(self, query: Query) -> None:
        self._found.append([Hypothesis(tuple(query.source[:-1]), -1.0, -1.0)])

    def results(self) -> list[list[Hypothesis]]:
        return self._found

    def __enter__(self) -> "_Copies":
        return self

    def __exit__(self, *error: object) -> None:
        pass


@cache
def _copier(protect: str = "") -> Translator:
    text = TextConfig(protect=protect) if protect else None
    tokenizer = untrained("bytes").tokenizer
    search = SearchConfig(max_repeats=0)
    return Translator(_Copies(), tokenizer, languages=("de", "en"), search=search, text=text)


def _translate(line: str, protect: str = "") -> object:
    """Read a line, and write it again: spans, sentences, clauses, tags, capitals, numbers."""
    return list(_copier(protect).stream([line]))


_LINES: dict[str, Text] = {
    "words": _repeated("ein Hund "),
    "no-break spaces": _repeated("\u00a0"),
    "tabs": _repeated("\t"),
    "sentences": _repeated("Ein Hund. "),
    "one long word": _repeated("a"),
    "spaces": _repeated(" ", before="a", after="b"),
    "capitals": _repeated("EIN HUND "),
    "title case": _repeated("Ein Hund Und "),
    "unknown characters": _repeated("漢字 "),
    "Greek marks": _repeated("\u0301", before="ΑΒΓΔ α"),
    "letters with marks": _repeated("a\u0301"),
    "words with unknown letters": _repeated("Žižek a "),
    "a long word with unknown letters": _repeated("Žižek-"),
    "wide and other words": _repeated("猫が好きa "),
    "emoji": _repeated("😀"),
    "emoji and words": _repeated("😀a "),
    "combining marks": _repeated("\u0301", before="a"),
    "invisible characters": _repeated("\u200b"),
    "joiners": _repeated("👨\u200d"),
    "direction marks": _repeated("א\u200e"),
    "private-use characters": _repeated("\U000f0000\U000f4000"),
    "beginnings of marked tags": _repeated(opening(0)),
    "marked line breaks": _repeated(line_break(0)),
    "numbers": _numbered("# "),
    "digits": _repeated("1"),
    "numbers with signs": _repeated("1,"),
    "number words": _repeated("zwei hundert "),
    "Roman numerals": _repeated("XIV ", after="1"),
    "dates": _repeated("3. Januar 2024, 10:30 "),
    "nested tags": _nested("<b>", "</b>"),
    "tags that end nothing": _repeated("</b>"),
    "tags that nothing ends": _repeated("<b>"),
    "pairs of tags": _numbered("<#>a</#> "),
    "lines of HTML": _repeated("a<br>"),
    "< without an end": _repeated("<a "),
    "attributes without an end": _repeated('<a b="'),
    "ampersands": _repeated("&"),
    "</ and a long name": _repeated("a", before="</"),
    "attributes": _repeated("a='b' ", before="<a "),
    "comments": _repeated("<!--"),
    "<code> without an end": _repeated("<code>"),
    "BBCode": _repeated("[b]"),
    "nested braces": _nested("{a, plural, other {", "}}"),
    "placeholders": _repeated("{a} "),
    "opening braces": _repeated("{"),
    "{ without an end": _repeated("{a "),
    "plurals without an end": _repeated("{a,plural,"),
    "{{ without an end": _repeated("{{"),
    "backticks": _repeated("`"),
    "backticks of many lengths": _numbered("`a``b```"),
    "percent signs": _repeated("%"),
    "directives": _repeated("%1$s "),
    "names with separators": _repeated("a_b."),
    "parts of a path": _repeated("/a"),
    "parts of a domain": _repeated("a."),
    "an address with brackets": _repeated("(", before="http://"),
    "addresses without a separator": _repeated("http://a"),
    "mailboxes": _repeated("a@"),
    "at signs": _repeated("@"),
    "hyphens and digits": _repeated("A1-"),
    "colons": _repeated("a::"),
    "opening quotation marks": _repeated("“"),
    "quotation marks": _repeated("„Ein Hund.“ "),
    "brackets": _nested("(", ")"),
    "initials in brackets": _repeated("(A. "),
    "initials": _repeated("A. "),
    "stops": _repeated("."),
    "commas": _repeated("Hund, "),
    "bullets": _repeated("- "),
    "numbers of items": _repeated("1. "),
    "line breaks": _repeated("a\n"),
    "fences": _repeated("```\n> "),
    "wide text without an end": _repeated("あ"),
}
_SHORT = (  # the others are measured in the thorough form only
    *("sentences", "capitals", "Greek marks", "number words", "nested tags", "pairs of tags"),
    *("</ and a long name", "nested braces", "backticks", "mailboxes", "line breaks"),
)
_PROTECT = "[a-z]+-[a-z]+x"

# ---- pairs ---------------------------------------------------------------------------------------


def _filter(text: str) -> object:
    """What the filters, and the making of training data, read of a pair."""
    pair = text, text[: len(text) // 2] + "x"
    everything = FilterConfig(
        drop_nearly_identical=True, min_letters=0.1, drop_different_numbers=True
    )
    text_filter(pair, everything, codes=("de", "en"))
    patterns_in(text)
    Placeholders(1.0, ignore_case=True)((text, text))
    for case in ("capitals", "title"):
        Way(case, unpunctuated=True, typos=True, emoji=True, seed=1)(pair, ("de", "en"))
    return NumberMatch(("ja", "ko")).unmatched(*pair)


_PAIRS = ("spaces", "capitals", "numbers", "Roman numerals", "pairs of tags")


def _terms(text: str) -> object:
    return Glossary(Term("ein " * n, "a") for n in range(1, 20)).find(text)


# ---- files ---------------------------------------------------------------------------------------


_BOTH_SIDES = (".tsv", ".csv", ".jsonl")


def _read_corpus(data: bytes, name: str) -> object:
    """Read the pairs of a corpus, of which no more than one is in memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        two = {"src": str(path), "tgt": str(path)}
        corpus = Corpus(pairs=str(path)) if path.suffix in _BOTH_SIDES else Corpus(**two)
        n_pairs = sum(1 for _ in read_pairs(corpus))
        return n_pairs + (sum(1 for _ in read_segments(pair_file(path))) if corpus.pairs else 0)


def _encoded(make: Text, encode: Callable[[bytes], bytes] = bytes) -> Callable[[int], bytes]:
    return lambda n: encode(make(n).encode())


def _zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


_CORPORA: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "corpus: empty lines": ("a.txt", _encoded(_repeated("\n"))),
    "gzip: many members": ("a.gz", lambda n: gzip.compress(b"a\n") * max(1, n // 24)),
    "zstd: many frames": ("a.zst", lambda n: _zstd(b"a\n") * max(1, n // 15)),
    "tsv: many cells": ("a.tsv", _encoded(_repeated("a\t"))),
    "tsv: rows": ("a.tsv", _encoded(_repeated("a\tb\n"))),
    "csv: quotes": ("a.csv", _encoded(_repeated('""', before='a,b\n"'))),
    "csv: a cell without an end": ("a.csv", _encoded(_repeated("a\n", before='a,b\n"'))),
    "csv: rows": ("a.csv", _encoded(_repeated("a,b\n"))),
    "jsonl: rows": ("a.jsonl", _encoded(_repeated('["a","b"]\n'))),
    "jsonl: keys": ("a.jsonl", _encoded(_numbered('"#":"b",', before="{", after='"source":""}'))),
}


def _read_trees(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.mrg")
        path.write_text(text)
        return list(read_pairs(Corpus(trees=str(path))))


def _read_tree(text: str) -> object:
    return delinearise(linearise(text), ["text"])


def _read_words(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.vec")
        path.write_text(text)
        return read_vectors(path)


def _header(n: int) -> bytes:
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    text = json.dumps({f"t{i}": entry for i in range(max(1, n // 60))}).encode()
    return struct.pack("<Q", len(text)) + text


def _read_tensors(data: bytes) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.safetensors")
        path.write_bytes(data)
        return list(ArraysOnDisk(path))


def _read_config(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(text)
        Path(folder, "manifest.json").write_text(text)
        return ModelFolder.open(Path(folder))


CRAFTED: tuple[Crafted, ...] = (
    *_many("line", _LINES if THOROUGH else {name: _LINES[name] for name in _SHORT}, _translate),
    Crafted("line: --protect", _repeated("abc-"), partial(_translate, protect=_PROTECT)),
    *_many("pair", {name: _LINES[name] for name in _PAIRS}, _filter),
    Crafted("glossary: repeated terms", _repeated("ein "), _terms),
    *(
        Crafted(name, make, partial(_read_corpus, name=file))
        for name, (file, make) in _CORPORA.items()
    ),
    Crafted("trees: nested", _nested("(S ", ")"), _read_trees),
    Crafted("trees: many", _repeated("(S (NP (DT a)))\n"), _read_trees),
    Crafted("trees: brackets of a line", _nested("(S ", ")"), _read_tree),
    Crafted("vectors: rows", _numbered("w# 0.5 0.25\n"), _read_words),
    Crafted("vectors: one row", _repeated("0.5 ", before="w "), _read_words),
    Crafted("safetensors: many tensors", _header, _read_tensors),
    Crafted("config.json: nested lists", _nested("[", "]"), _read_config),
)
