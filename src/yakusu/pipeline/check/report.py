"""The result of `check`: what a corpus contains, as data and as text."""

from collections.abc import Iterable, Iterator, Sequence

from yakusu.config import Config
from yakusu.data.files.shortened import shorten
from yakusu.data.languages import listed_codes
from yakusu.pipeline.aligning.misaligned import Fault

LISTED = 5  # other languages of a side
_FIXES = {  # name of a finding -> what to do about it
    "control characters": "remove them; a tab or line end may hide a second sentence",
    "invisible characters": "remove them, unless the language needs them",
    "replacement characters (U+FFFD)": "convert the original file to UTF-8 again",
    "mojibake": "the text was decoded with a wrong encoding: convert the original file again",
    "HTML entities": "unescape them, so that &amp; becomes &",
    "tags": "make sure that both sides have the same, from which training learns to copy them",
    "lines of more than 1,000 characters": "divide them into sentences, or remove them",
    "different numbers of sentences": "a part of a side may be missing",
}


class Example(Config):
    """A pair, shortened; control characters are shown as escapes."""

    line: int
    src: str
    tgt: str
    note: str = ""

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return f"line {self.line:,}{note}: {self.src or '(empty)'} | {self.tgt or '(empty)'}"


class Finding(Config):
    """Pairs with a common property."""

    name: str
    n: int
    key: str = ""  # of the recipe, which turns the filter on or off
    examples: tuple[Example, ...] = ()

    @property
    def fix(self) -> str:
        """What to do about it; "" if that depends."""
        return _FIXES.get(self.name, "")


class CharacterCount(Config):
    """A character of a file and how often it occurs."""

    character: str
    n: int
    line: int  # of its first occurrence

    def __str__(self) -> str:
        shown = shorten(self.character)
        if len(shown) == 1:  # not an escape, which is the code point already
            shown += f" U+{ord(shown):04X}"
        return f"{shown} ({self.n:,}, line {self.line:,})"


class SideReport(Config):
    """One side of a corpus."""

    label: str  # "Source" or "Target"
    file: str
    language: str  # code; "": unknown
    unit: str  # "words" or "characters"
    n_units: int
    quantiles: dict[str, int]  # of the lengths: "0%" is the shortest
    histogram: dict[str, int]  # "1-5" -> number of lines
    n_characters: int  # distinct ones
    frequent: tuple[CharacterCount, ...]
    rare: tuple[CharacterCount, ...]
    # Other language -> share of the lines, the most frequent first; None: not identified.
    foreign: dict[str, float] | None
    foreign_examples: tuple[Example, ...] = ()


class Overlap(Config):
    """Pairs of a held-out set of which a side, or both, occur in another set."""

    held_out: str  # "dev" or "test"
    within: str  # "train" or "dev"
    n_pairs: int  # in the held-out set
    sources: Finding
    targets: Finding
    pairs: Finding
    exchanged: Finding  # whole pairs whose source is a target there, and vice versa


class CheckReport(Config):
    """Result of `check`. Line numbers count from 1."""

    n_pairs: int
    n_kept: int
    filters: tuple[Finding, ...]  # those that are on, in the order in which they are applied
    optional_filters: tuple[Finding, ...]  # those that are off: which kept pairs they would drop
    suspicious: tuple[Finding, ...]
    repeated: tuple[Finding, ...]
    sides: tuple[SideReport, SideReport]
    ratios: dict[str, float]  # quantiles of target length / source length
    correlation: float | None  # of the lengths of both sides, logarithmic; None: undefined
    overlaps: tuple[Overlap, ...]
    faults: tuple[Fault, ...]  # lines that are misaligned or repeated
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()  # what to look at first

    def __str__(self) -> str:
        off = "Filters that are off: kept pairs that each would drop"
        sections = (
            self._heading(),
            _table("Filters: pairs that prepare would drop", self.filters, self.n_pairs),
            _table(off, self.optional_filters, self.n_kept),
            _table("Suspicious pairs", self.suspicious, self.n_pairs),
            _table("Repetitions", self.repeated, self.n_pairs),
            self._lengths(),
            *(_side(side) for side in self.sides),
            *(_overlap(overlap) for overlap in self.overlaps),
            _list("Alignment", map(str, self.faults)) if self.faults else (),
            _list("Notes", self.notes),
            _list("Warnings", self.warnings or ("none",)),
        )
        return "\n\n".join("\n".join(lines) for lines in map(list, sections) if lines)

    def _heading(self) -> Iterator[str]:
        names = list(dict.fromkeys(side.file for side in self.sides))
        yield (
            f"{' and '.join(names)}: {self.n_pairs:,} pair{'s' * (self.n_pairs != 1)}, "
            f"{self.n_kept:,} kept ({self.n_kept / self.n_pairs:.1%})"
        )

    def _lengths(self) -> Iterator[str]:
        src, tgt = self.sides
        yield "Lengths"
        yield from _columns(
            ["", *src.quantiles],
            [f"source, {src.unit}", *map(_number, src.quantiles.values())],
            [f"target, {tgt.unit}", *map(_number, tgt.quantiles.values())],
            ["target / source", *(f"{ratio:.2f}" for ratio in self.ratios.values())],
        )
        yield ""
        yield from _columns(
            ["lines by length", *src.histogram],
            ["source", *map(_number, src.histogram.values())],
            ["target", *map(_number, tgt.histogram.values())],
        )


def _table(title: str, findings: Sequence[Finding], n_pairs: int) -> Iterator[str]:
    """Lay out findings, the count and the share of each, and their examples."""
    if not findings:
        return
    yield title
    found = [finding for finding in findings if finding.n or finding.key]
    width = max((len(finding.name) for finding in found), default=0)
    for finding in found:
        share = f"{finding.n / n_pairs:7.2%}" if n_pairs and finding.n else ""
        key = f"  {finding.key}" if finding.key else ""
        yield f"  {finding.name:{width}}{finding.n:>12,} {share:7}{key}".rstrip()
        if finding.n and finding.fix:
            yield f"      ({finding.fix})"
        yield from (f"      {example}" for example in finding.examples)
    if absent := [finding.name for finding in findings if finding not in found]:
        yield f"  none: {', '.join(absent)}"


def _side(side: SideReport) -> Iterator[str]:
    language = f", language '{side.language}'" if side.language else ""
    yield f"{side.label}: {side.file}{language}"
    yield f"  {side.n_units:,} {side.unit}, {side.n_characters:,} different characters"
    yield f"  most frequent: {' '.join(shorten(each.character) for each in side.frequent)}"
    if side.rare:
        yield f"  rarest: {', '.join(map(str, side.rare))}"
    if side.foreign is not None:
        shares = [f"'{code}' {share:.2%}" for code, share in side.foreign.items()]
        yield f"  lines in other languages: {listed_codes(shares, LISTED) or 'none'}"
        yield from (f"      {example}" for example in side.foreign_examples)


def _overlap(overlap: Overlap) -> Iterator[str]:
    title = f"Pairs of {overlap.held_out} ({overlap.n_pairs:,}) that occur in {overlap.within}"
    found = (overlap.sources, overlap.targets, overlap.pairs, overlap.exchanged)
    return _table(title, found, overlap.n_pairs)


def _list(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield title
    yield from (f"  {line}" for line in lines)


def _columns(*rows: Sequence[str]) -> Iterator[str]:
    """Align rows of cells: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *rest = row
        cells = (f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))
        yield f"  {first:{widths[0]}}  {'  '.join(cells)}"


def _number(n: int) -> str:
    return f"{n:,}"
