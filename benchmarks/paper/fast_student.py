"""A student with a deep encoder and a shallow decoder, and larger models: BLEU and speed, in turns.

The larger models are one model, or with --ensemble several, such as the student's teachers. They
translate with the search settings in the folder of --model, and with greedy search. The student
translates with the settings in its folder, and with each beam of --beams. All use the native engine
with the same precision and number of threads. Speed is sentences per second, from text to text,
without loading the models; the sides take turns, each in a process of its own. A ratio of speeds is
that of the medians over the rounds.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yakusu
from benchmarks.bleu import ParallelLines, Scorer
from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import FilledTable, fill, fixed, score_of
from benchmarks.workers import in_turns, speedup
from yakusu.data.lines.config import TextConfig
from yakusu.errors import DataError
from yakusu.folder import read_json
from yakusu.model.config import config_of

Side = tuple[tuple[Path, ...], int | None]  # model folders, and the beam; None: their own

benchmark = Benchmark(
    "fast_student",
    __doc__,
    example="python -m benchmarks.paper.fast_student --model runs/multi30k/model "
    "--student runs/student/model",
    needs=["data", "model"],
    quick={"rounds": 1},
)
benchmark.option("--student", type=Path, help="model folder of the student (default: --model)")
benchmark.option(
    "--ensemble",
    type=Path,
    nargs="+",
    default=[],
    help="further models of an ensemble with --model",
)
benchmark.option("--beams", type=int, nargs="*", default=[], help="further beams of the student")
benchmark.option("--set", default="multi30k/val", help="set in --data, en-de (%(default)s)")
benchmark.option("--rounds", type=int, default=5, help="measured rounds (%(default)s)")
benchmark.option(
    "--precision", default="float32", choices=("float32", "int8", "auto"), help="%(default)s"
)


_COLUMNS = (
    ("Model", "{name}"),
    ("Beam", "{beam}"),
    ("Parameters", "{parameters:,.0f}"),
    ("As a page, MB", lambda record: fixed(record.get("page_mb"))),
    ("BLEU", score_of("score")),
    (
        "Difference, 95% interval",
        lambda record: "{:+.2f}, {:+.2f} to {:+.2f}".format(*record["difference"]),
    ),
    ("Sentences per second", "{sentences_per_second:,.1f}"),
    ("Relative speed", "{ratio.value:,.2f}"),
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """BLEU and speed of students: a table for each set and model they are compared with."""
    groups: dict[tuple[str | None, str | None], list[Record]] = {}
    for record in records:
        key = record.get("compared_with"), record.get("test_set")
        groups.setdefault(key, []).append(record)
    for (name, test_set), same in groups.items():
        title = f"Compared with the {name}" if name else "A student with d_model 128"
        yield fill(_COLUMNS, same, same, title + (f", {test_set}" if test_set else ""))


@cache
def opened(side: Side, precision: str, threads: int) -> yakusu.Translator:
    """Return the translator of a side."""
    (first, *others), beam = side
    translator = yakusu.Translator.load(
        first,
        ensemble=others,
        engine=yakusu.EngineConfig(engine="native", precision=precision, threads=threads),
        text=TextConfig(one_sentence_per_line=True),
    )
    if beam:
        search = translator.search.model_copy(update={"beam": beam})
        translator = translator.with_settings(search=search)
    return translator


def timed(
    sources: list[str], *, side: Side, precision: str, threads: int
) -> tuple[float, list[str]]:
    """Translate lines; return the sentences per second and the translations."""
    translator = opened(side, precision, threads)
    start = time.perf_counter()
    texts = translator.translate(sources)
    return len(sources) / (time.perf_counter() - start), texts


def sides_of(args: argparse.Namespace) -> dict[str, Side]:
    """Return the sides by name; the first one is compared with the others."""
    large, student = (args.model, *args.ensemble), (args.student or args.model,)
    name = f"ensemble of {len(large)}" if args.ensemble else "model"
    return {
        name: (large, None),
        f"{name}, greedy": (large, 1),
        "student": (student, None),
        **{f"student, beam of {beam}": (student, beam) for beam in args.beams},
    }


def main(args: argparse.Namespace) -> None:
    """Translate with all sides in turns; print and record BLEU and speed."""
    if args.record and not args.student:
        raise DataError("--record needs --student, the model folder of the student")
    test, sides = args.data / args.set, sides_of(args)
    lines = ParallelLines.read(test.with_suffix(".en"), test.with_suffix(".de"))
    scorer = Scorer(lines.ref, lowercase=True, language="de")
    shared = {"precision": args.precision, "threads": args.threads}
    calls = {name: partial(timed, side=side, **shared) for name, side in sides.items()}
    rounds = in_turns(calls, args.rounds, lambda _: (lines.src,), threads=args.threads)
    speeds = {name: [speed for speed, _ in found] for name, found in rounds.items()}
    texts = {name: found[0][1] for name, found in rounds.items()}
    first, *_ = sides
    for name, side in sides.items():
        value, low, high = scorer.difference(texts[first], texts[name])
        score, ratio = scorer.score(texts[name]), speedup(speeds[name], speeds[first])
        print(f"{name:20}{score.value:7.2f} ({value:+.2f}, {low:+.2f} to {high:+.2f})   x {ratio}")
        measured = {
            "compared_with": first,
            "test_set": args.set,
            "score": str(score),
            "difference": [round(value, 2), round(low, 2), round(high, 2)],
            "sentences_per_second": round(statistics.median(speeds[name]), 1),
            "ratio": asdict(ratio),
        }
        benchmark.record(facts_of(name, side, args.precision) | measured)


def facts_of(name: str, side: Side, precision: str) -> dict[str, Any]:
    """Return the name of a side, with its sizes and precision, its beam and its parameters."""
    folders, beam = side
    receipts = [read_json(folder / "receipt.json") for folder in folders]
    model = config_of(receipts[0]["recipe"]["model"])
    layers = " + ".join(map(str, model.depths))
    return {
        "name": f"{name}: {layers} layers, d_model {model.d_model}, {precision}",
        "beam": beam or receipts[0]["recipe"]["search"]["beam"],
        "parameters": sum(receipt["parameters"] for receipt in receipts),
        "page_mb": page_mb(*folders) if len(folders) == 1 else None,
    }


@cache
def page_mb(model: Path) -> float:
    """Return the size of a model as a page in one file (`yakusu export --to web`)."""
    with TemporaryDirectory() as scratch:
        return yakusu.export_web(model, Path(scratch) / "page.html").sizes["page.html"] / 1e6


if __name__ == "__main__":
    benchmark.run(main)
