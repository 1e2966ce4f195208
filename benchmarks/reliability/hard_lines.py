"""Translate 200 lines that are hard to translate, without and with the protection of their parts.

"Without": the whole line is one sentence for the model, truncated to its maximum length. "With":
`Translator.translate`. The lines and their categories are in hard_lines.txt, where a line break is
written as \\n. For each category, it is counted

    spans       protected spans, and characters that training has not seen, that the output has as
                often as the input
    numbers     numbers outside of these spans that the output has as often; separators are ignored
    tags        lines with tags whose output has the same tags, and no others without a partner, so
                that well-formed tags stay well-formed and nested
    unknown     unknown tokens (U+2047) and invalid characters (U+FFFD) in the outputs
    sentences   outputs with as many sentences as the input
    loops       outputs that repeat words more than three times in a row, where the input does not
    empty       outputs without text
    layout      lines with several lines, indentation or a bullet whose output has the same
"""

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import regex

from benchmarks.common import Benchmark
from benchmarks.quick import train_model, write_data
from benchmarks.records import Record
from benchmarks.tables import NONE, Row, Table
from yakusu.data.files.text import windows
from yakusu.data.lines.sentences import split
from yakusu.data.lines.spans import SpanFinder
from yakusu.errors import DataError
from yakusu.translator import Translator

LINES = Path(__file__).with_suffix(".txt")
BATCH = 16
LONGEST_LOOP = 8  # words that are repeated
MODES = ("without", "with")
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z0-9]+)[^<>]*?(?P<alone>/?)>")
_VOID = ("br", "img")
_LAYOUT = re.compile(r"\s*(?:(?:[-*+•>]|#{1,6}|\(?(?:\d+|[a-z])[.)]|\[[ x]\])\s+)*")
_SENTENCE = re.compile(r"(?:^|[.!?][\"')\]]*\s+)[\"'(\[]*[a-zäöü]")

benchmark = Benchmark(
    "hard_lines",
    __doc__,
    example="python -m benchmarks.reliability.hard_lines --model multi30k=runs/multi30k/model",
    quick={"lines_per_category": 1},
)


class Model(NamedTuple):
    """A model folder, and its name in the table."""

    name: str
    folder: Path

    @classmethod
    def parse(cls, word: str) -> "Model":
        """Read NAME=FOLDER, or FOLDER."""
        name, _, folder = word.rpartition("=")
        return cls(name or Path(folder).parent.name, Path(folder))


benchmark.option(
    "--model",
    dest="models",
    type=Model.parse,
    action="append",
    metavar="NAME=FOLDER",
    help="a model folder that translates English; may be repeated",
)
benchmark.option("--lines-per-category", type=int, help="only the first ones of each category")
benchmark.option("--show", action="store_true", help="print all translations, not only failures")


_SHARES = {
    "spans": "Spans kept",
    "numbers": "Numbers kept",
    "tags": "Tags nested",
    "sentences": "Same number of sentences",
    "layout": "Same layout",
}
_FAULTS = {"unknown": "Unknown tokens", "loops": "Loops", "empty": "Empty outputs"}


def _categories(record: Record) -> list[Row]:
    counts = record["counts"]
    return [
        {"category": category, "modes": [counts[mode][category] for mode in MODES]}
        for category in counts["with"]
    ]


def _share(row: dict[str, Any], name: str) -> str:
    """What is kept in both modes, in percent of what could be."""
    found = [mode.get(name, (0, 0)) for mode in row["modes"]]
    shares = [f"{100 * kept / of:.0f} %" if of else str(kept) for kept, of in found]
    return ", ".join(shares) if found[-1][1] else NONE


def _faults(row: dict[str, Any], name: str) -> str:
    """The number of outputs with a fault, in both modes."""
    return ", ".join(str(mode.get(name, (0, 0))[0]) for mode in row["modes"])


tables = Table(
    (
        ("Category", "{category}"),
        *((title, partial(_share, name=name)) for name, title in _SHARES.items()),
        *((title, partial(_faults, name=name)) for name, title in _FAULTS.items()),
    ),
    rows=_categories,
    title="{name}",
)


class Line(NamedTuple):
    """A line, and the category of what is hard about it."""

    category: str
    text: str


def read(path: Path = LINES, most: int | None = None) -> list[Line]:
    """Read the lines; at most `most` of each category."""
    found, counts = [], Counter[str]()
    for line in path.read_text(encoding="utf-8").splitlines():
        category, text = line.split("\t", 1)
        counts[category] += 1
        if most is None or counts[category] <= most:
            found.append(Line(category, text.replace("\\n", "\n")))
    return found


# ---- translation ---------------------------------------------------------------------------------


def without_protection(translator: Translator, lines: Sequence[str]) -> list[str]:
    """Translate each line as one sentence, and copy nothing."""
    most = translator.max_source_tokens
    ids = [
        own if len(own) <= most else [*own[: most - 1], own[-1]]
        for own in translator.tokenizer.encode_source(lines)
    ]
    outputs = [""] * len(lines)
    rows = [row for row, own in enumerate(ids) if len(own) > 1]
    found = translator.hypotheses(((lines[row], ids[row]) for row in rows), batch=BATCH)
    texts = translator.tokenizer.decode_target([best[0].tokens for best in found])
    for row, text in zip(rows, texts, strict=True):
        outputs[row] = text
    return outputs


def with_protection(translator: Translator, lines: Sequence[str]) -> list[str]:
    """Translate each line as `yakusu translate` does."""
    return [text for some in windows(iter(lines), BATCH) for text in translator.translate(some)]


# ---- what is checked -----------------------------------------------------------------------------


class Checker:
    """Compares translations with their lines.

    Args:
        translator: The translator; its tokenizer knows which characters training has seen.
    """

    def __init__(self, translator: Translator) -> None:
        self._covers, self._languages = translator.tokenizer.covers, translator.languages
        (shown,) = translator.tokenizer.decode_target(translator.tokenizer.encode_target(["A"]))
        self._has_capitals = shown == "A"
        self._finder = SpanFinder()

    def check(self, line: str, output: str) -> dict[str, tuple[int, int]]:
        """For each check that applies to a line: how often it is passed, and how often it could be.

        Of unknown tokens, loops and empty outputs, those that are found are counted.
        """
        spans, given, made = self._kept(line), self._numbers(line), self._numbers(output)
        found = {
            "unknown": (max(0, _unknown(output) - _unknown(line)), 1),
            "sentences": (self._n_sentences(line) == self._n_sentences(output, output=True), 1),
            "loops": (has_loop(output) and not has_loop(line), 1),
            "empty": (not output.strip(), 1),
        }
        if spans:
            found["spans"] = sum(line.count(s) == output.count(s) for s in spans), len(spans)
        if given:
            found["numbers"] = sum(given[n] == made[n] for n in given), len(given)
        if _TAG.search(line):
            same = Counter(_tags(line)) == Counter(_tags(output))
            found["tags"] = same and not Counter(unpaired(output)) - Counter(unpaired(line)), 1
        if any(layout_of(line)) or "\n" in line:
            found["layout"] = layout_of(line) == layout_of(output), 1
        return {name: (int(passed), of) for name, (passed, of) in found.items()}

    def _kept(self, line: str) -> set[str]:
        """The protected spans of a line, and its letters and emoji that training has not seen."""
        clusters = set(regex.findall(r"\X", self._unprotected(line)))
        unseen = {own for own in clusters if regex.search(r"[\p{L}\p{So}]", own)}
        spans = {span.text for span in self._finder.find(line)}
        return spans | {own for own in unseen if not self._covers(own)}

    def _numbers(self, text: str) -> Counter[str]:
        """The digits of each number, without separators such as those of thousands."""
        found = re.findall(r"\d+(?:[.,:' ]\d+)*", self._unprotected(text))
        return Counter(re.sub(r"\D", "", number) for number in found)

    def _unprotected(self, text: str) -> str:
        """A text with a space in place of each protected span."""
        rest, end = "", 0
        for span in self._finder.find(text):
            rest, end = f"{rest}{text[end : span.start]} ", span.end
        return rest + text[end:]

    def _n_sentences(self, text: str, *, output: bool = False) -> int:
        """The number of sentences; a model that writes no capital letters is given some."""
        if output and not self._has_capitals:
            text = "\n".join(
                _SENTENCE.sub(lambda match: match[0].upper(), row) for row in text.split("\n")
            )
        return sum(len(split(row, self._languages[output])) for row in text.splitlines())


def _unknown(text: str) -> int:
    return text.count("\u2047") + text.count("\ufffd")


def _tags(text: str) -> list[str]:
    return [tag[0] for tag in _TAG.finditer(text)]


def unpaired(text: str) -> list[str]:
    """The names of the tags without a partner, sorted: "b" opens, "/b" closes."""
    open_tags: list[str] = []
    closing: list[str] = []
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if tag["alone"] or name in _VOID:
            continue
        if not tag["end"]:
            open_tags.append(name)
        elif open_tags and open_tags[-1] == name:
            open_tags.pop()
        else:
            closing.append(f"/{name}")
    return sorted([*open_tags, *closing])


def has_loop(text: str) -> bool:
    """Whether words are repeated more than three times in a row."""
    words = text.casefold().split()
    return any(
        words[i : i + 3 * n] == words[i + n : i + 4 * n]
        for n in range(1, LONGEST_LOOP + 1)
        for i in range(len(words) - 4 * n + 1)
    )


def layout_of(text: str) -> list[str]:
    """For each line, its indentation, bullets and numbers; of lines in code blocks, the line."""
    found, fence = [], False
    for line in text.split("\n"):
        is_fence = line.startswith(("```", "~~~"))
        marks = _LAYOUT.match(line)
        found.append(line if fence or is_fence or not marks else marks[0])
        fence ^= is_fence
    return found


# ---- the measurement -----------------------------------------------------------------------------

FAILS: dict[str, Callable[[int, int], bool]] = {
    **dict.fromkeys(
        ("spans", "numbers", "tags", "sentences", "layout"), lambda passed, of: passed < of
    ),
    **dict.fromkeys(("unknown", "loops", "empty"), lambda found, of: found > 0),
}


def measure(translator: Translator, lines: Sequence[Line]) -> dict[str, Any]:
    """Translate the lines in both modes; counts for each mode and category, and the failures."""
    checker, texts = Checker(translator), [line.text for line in lines]
    outputs = {
        "without": without_protection(translator, texts),
        "with": with_protection(translator, texts),
    }
    counts: dict[str, dict[str, dict[str, list[int]]]] = {mode: {} for mode in MODES}
    failures = []
    for mode, line, output in _rows(lines, outputs):
        found = checker.check(line.text, output)
        total = counts[mode].setdefault(line.category, {})
        for name, pair in found.items():
            total[name] = [a + b for a, b in zip(total.get(name, [0, 0]), pair, strict=True)]
        failed = [name for name, pair in found.items() if FAILS[name](*pair)]
        if failed and mode == "with":
            failures.append({"category": line.category, "failed": failed, "line": line.text})
            failures[-1]["output"] = output
    return {"lines": len(lines), "counts": counts, "failures": failures, "outputs": outputs}


def _rows(lines: Sequence[Line], outputs: dict[str, list[str]]) -> Iterator[tuple[str, Line, str]]:
    for mode in MODES:
        for line, output in zip(lines, outputs[mode], strict=True):
            yield mode, line, output


def report(measured: dict[str, Any], lines: Sequence[Line], *, show: bool) -> None:
    """Print the counts, and the failures or all translations."""
    for mode, categories in measured["counts"].items():
        print(f"{mode} protection:")
        for category, found in categories.items():
            cells = (f"{name} {a}/{b}" for name, (a, b) in sorted(found.items()))
            print(f"  {category:12} {', '.join(cells)}")
    for row in [] if show else measured["failures"]:
        print(f"{row['category']}, {', '.join(row['failed'])}: {row['line']!r}")
        print(f"  {row['output']!r}")
    for mode, line, output in _rows(lines, measured["outputs"]) if show else ():
        print(f"{line.category}, {mode}: {line.text!r}\n  {output!r}")


def main(args: argparse.Namespace) -> None:
    """Measure each model, and print and record the result."""
    lines = read(most=args.lines_per_category)
    with TemporaryDirectory() as folder:
        models = args.models or []
        if args.quick and not models:
            write_data(Path(folder) / "data")
            models = [Model("quick", train_model(Path(folder) / "data", Path(folder) / "run"))]
        if not models:
            raise DataError("--model is missing: give NAME=FOLDER, a model that translates English")
        for model in models:
            measured = measure(Translator.load(model.folder), lines)
            print(f"{model.name}, {measured['lines']} lines")
            report(measured, lines, show=args.show)
            del measured["outputs"]
            benchmark.record({"name": model.name, **measured})


if __name__ == "__main__":
    benchmark.run(main)
