"""A student with a deep encoder and a shallow decoder, and a large model: BLEU and speed, in turns.

Each model translates with the search settings in its folder, and the large model also with greedy
search. All use the native engine with the same precision and number of threads. Speed is sentences
per second, from text to text, without loading the model; the sides take turns, each in a process of
its own. A ratio of speeds is that of the medians over the rounds.
"""

import argparse
import statistics
import time
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import yakusu
from benchmarks.bleu import ParallelLines, Scorer
from benchmarks.common import Benchmark
from benchmarks.workers import in_turns, speedup
from yakusu.errors import DataError
from yakusu.folder import read_json
from yakusu.translator.passage import TextConfig

MODEL, GREEDY, STUDENT = "model", "model, greedy", "student"

benchmark = Benchmark(
    "fast_student",
    __doc__,
    example="python -m benchmarks.paper.fast_student --model runs/multi30k/model "
    "--student runs/student/model",
    needs=["data", "model"],
    quick={"rounds": 1},
)
benchmark.option("--student", type=Path, help="model folder of the student (default: --model)")
benchmark.option("--set", default="multi30k/val", help="set in --data, en-de (%(default)s)")
benchmark.option("--rounds", type=int, default=5, help="measured rounds (%(default)s)")
benchmark.option("--precision", default="float32", choices=("float32", "int8"), help="%(default)s")


@cache
def opened(folder: Path, beam: int | None, precision: str, threads: int) -> yakusu.Translator:
    """Return the translator of a model folder; beam: None for that of the folder."""
    translator = yakusu.Translator.load(
        folder,
        engine=yakusu.EngineConfig(engine="native", precision=precision, threads=threads),
        text=TextConfig(one_sentence_per_line=True),
    )
    if beam:
        search = translator.search.model_copy(update={"beam": beam})
        translator = translator.with_settings(search=search)
    return translator


def timed(
    sources: list[str], *, folder: Path, beam: int | None, precision: str, threads: int
) -> tuple[float, list[str]]:
    """Translate lines; return the sentences per second and the translations."""
    translator = opened(folder, beam, precision, threads)
    start = time.perf_counter()
    texts = translator.translate(sources)
    return len(sources) / (time.perf_counter() - start), texts


def main(args: argparse.Namespace) -> None:
    """Translate with all sides in turns; print and record BLEU and speed."""
    if args.record and not args.student:
        raise DataError("--record needs --student, the model folder of the student")
    test, student = args.data / args.set, args.student or args.model
    lines = ParallelLines.read(test.with_suffix(".en"), test.with_suffix(".de"))
    scorer = Scorer(lines.ref, lowercase=True, language="de")
    models = {MODEL: (args.model, None), GREEDY: (args.model, 1), STUDENT: (student, None)}
    shared = {"precision": args.precision, "threads": args.threads}
    sides = {
        name: partial(timed, folder=folder, beam=beam, **shared)
        for name, (folder, beam) in models.items()
    }
    rounds = in_turns(sides, args.rounds, lambda _: (lines.src,), threads=args.threads)
    speeds = {name: [speed for speed, _ in found] for name, found in rounds.items()}
    texts = {name: found[0][1] for name, found in rounds.items()}
    for name, (folder, beam) in models.items():
        value, low, high = scorer.difference(texts[MODEL], texts[name])
        score, ratio = scorer.score(texts[name]), speedup(speeds[name], speeds[MODEL])
        print(f"{name:16}{score.value:7.2f} ({value:+.2f}, {low:+.2f} to {high:+.2f})   x {ratio}")
        measured = {
            "set": args.set,
            "score": str(score),
            "difference": [round(value, 2), round(low, 2), round(high, 2)],
            "sentences_per_second": round(statistics.median(speeds[name]), 1),
            "ratio": asdict(ratio),
        }
        benchmark.record(facts_of(name, folder, beam, args.precision) | measured)


def facts_of(name: str, folder: Path, beam: int | None, precision: str) -> dict[str, Any]:
    """Return the name of a side, with its sizes and precision, its beam and its parameters."""
    receipt = read_json(folder / "receipt.json")
    model = receipt["recipe"]["model"]
    n_layers = model["n_layers"]
    layers = f"{n_layers} + {model.get('n_decoder_layers') or n_layers} layers"
    return {
        "name": f"{name}: {layers}, d_model {model['d_model']}, {precision}",
        "beam": beam or receipt["recipe"]["search"]["beam"],
        "parameters": receipt["parameters"],
    }


if __name__ == "__main__":
    benchmark.run(main)
