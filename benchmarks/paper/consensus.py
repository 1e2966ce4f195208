"""Minimum Bayes risk against beams and against reranking by the reverse model, at equal time.

The first half of the dev set chooses the settings of each method, by the sum of BLEU and chrF; the
second half measures. Reranking adds the score of the source, given the translation, to that of the
translation. The time is CPU time of one thread, in turns, relative to a beam of 4.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.bleu import ParallelLines
from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import FilledTable, Table, score_of
from yakusu.engine.config import EngineConfig
from yakusu.metrics import paired_bootstrap, score_translations
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.translator import Translator

benchmark = Benchmark(
    "consensus",
    __doc__,
    example="python -m benchmarks.paper.consensus --model runs/multi30k/model --reverse "
    "runs/multi30k-de-en/model --record",
    needs=["data", "model"],
    quick={"rounds": 1, "limit": 8, "sizes": [4], "name": "multi30k/val"},
)
benchmark.option("--reverse", type=Path, help="a model of the opposite direction")
benchmark.option("--name", default="multi30k/val", help="a dev set (%(default)s)")
benchmark.option("--sizes", type=int, nargs="+", default=[8, 16, 32, 64], help="%(default)s")
benchmark.option("--rounds", type=int, default=3, help="%(default)s")
benchmark.option("--limit", type=int, help="number of sentences")

ALPHAS = (0.6, 1.0, 1.4, 1.8, 2.2)  # of the length penalty
WEIGHTS = (0.1, 0.25, 0.5, 1.0)  # of the reverse model
TEMPERATURES, TOP_P = (0.3, 0.4, 0.5, 0.6, 0.7, 1.0), (1.0, 0.9, 0.7)
METRICS = ("bleu", "chrf")

_SYSTEMS = Table(
    (
        ("System", "{name}"),
        ("Time", "{time:.1f}"),
        ("BLEU", score_of("scores.bleu")),
        ("chrF", score_of("scores.chrf", "chrF2")),
    ),
    rows=lambda record: record["systems"],
    title="{name}, {sentences} sentences",
)
_DIFFERENCES = Table(
    (
        ("Minimum Bayes risk", "{system}"),
        ("Compared with", "{other}"),
        ("BLEU", "{bleu.value:+.2f} ({bleu.low:+.2f} to {bleu.high:+.2f})"),
        ("chrF", "{chrf.value:+.2f} ({chrf.low:+.2f} to {chrf.high:+.2f})"),
    ),
    rows=lambda record: record["differences"],
    title="Differences, with the system whose time is the closest",
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """The systems by time, and differences with paired intervals."""
    yield from _SYSTEMS(records)
    yield from _DIFFERENCES(records)


class System(NamedTuple):
    """A way to translate: its name and method, and a function."""

    name: str
    method: str
    translate: Callable[[list[str]], list[str]]


class Methods:
    """The methods with their settings, which are chosen on some sentences.

    Args:
        forward: The model.
        reverse: The model of the opposite direction.
        lines: The sentences.
        size: Beam and number of samples with which settings are chosen.
    """

    def __init__(
        self, forward: Translator, reverse: Translator, lines: ParallelLines, size: int
    ) -> None:
        self.forward, self.reverse = forward, reverse
        self.chosen: dict[str, float] = {}

        def best(settings: Any, translate: Callable[..., list[str]]) -> Any:
            return max(settings, key=lambda own: sum(values(translate(own), lines.ref)))

        alpha = best(ALPHAS, lambda own: self.beam(lines.src, size, own))
        lists = self.lists(lines.src, size, alpha)
        weight = best(WEIGHTS, lambda own: reranked(lists, own))
        sampled = best(product(TEMPERATURES, TOP_P), lambda own: self.risk(lines.src, size, *own))
        self.chosen = {"alpha": alpha, "weight": weight}
        self.chosen |= dict(zip(("temperature", "top_p"), sampled, strict=True))

    def systems(self, sizes: list[int]) -> Iterator[System]:
        """All systems."""
        alpha, weight, *sampled = self.chosen.values()
        first = self.forward.search.alpha
        yield System(f"beam 4, α = {first}", "first", lambda src: self.beam(src, 4, first))
        for n in dict.fromkeys((4, *sizes)):
            name = f"beam {n}, α = {alpha}"
            yield System(name, "beam", lambda src, n=n: self.beam(src, n, alpha))
        for n in sizes:
            name = f"{n} best, reranked"
            yield System(
                name, "reranked", lambda src, n=n: reranked(self.lists(src, n, alpha), weight)
            )
        for n in sizes:
            yield System(f"{n} samples", "risk", lambda src, n=n: self.risk(src, n, *sampled))

    def beam(self, src: list[str], n: int, alpha: float) -> list[str]:
        """The best translations."""
        return self._translate(src, SearchConfig(beam=n, alpha=alpha))

    def risk(self, src: list[str], n: int, temperature: float, top_p: float) -> list[str]:
        """The samples with the least risk."""
        sampling = SamplingConfig(mbr=n, temperature=temperature, top_p=top_p)
        return self._translate(src, SearchConfig(sampling=sampling))

    def lists(self, src: list[str], n: int, alpha: float) -> list[list[tuple[str, float, float]]]:
        """The n best translations of each sentence, with their scores and those of the source."""
        search = SearchConfig(beam=n, n_best=n, alpha=alpha)
        found = list(self.forward.with_settings(search=search).stream(src))
        pairs = [(own.text, line) for best, line in zip(found, src, strict=True) for own in best]
        back = self.reverse.score(*map(list, zip(*pairs, strict=True)))
        return [[(own.text, own.score, next(back).score) for own in best] for best in found]

    def _translate(self, src: list[str], search: SearchConfig) -> list[str]:
        return self.forward.with_settings(search=search).translate(src)


def reranked(lists: list[list[tuple[str, float, float]]], weight: float) -> list[str]:
    """The translation of each list with the highest sum of both scores."""
    return [max(own, key=lambda each: each[1] + weight * each[2])[0] for own in lists]


def signed(texts: list[str], ref: list[str]) -> dict[str, Any]:
    """The scores of translations, lower-cased."""
    found = score_translations(texts, ref, metrics=METRICS, lowercase=True)
    return dict(zip(METRICS, found, strict=True))


def values(texts: list[str], ref: list[str]) -> list[float]:
    """The values of these scores."""
    return [score.value for score in signed(texts, ref).values()]


def main(args: argparse.Namespace) -> None:
    """Choose the settings, measure, and compare."""
    folder = args.data / args.name
    languages = Translator.load(args.model).languages
    src, ref = (folder.with_name(f"{folder.name}.{code}") for code in languages)
    lines = ParallelLines.read(src, ref, args.limit)
    half = len(lines.src) // 2
    engine = EngineConfig(engine="native", threads=1)
    forward, reverse = (
        Translator.load(path, engine=engine) for path in (args.model, args.reverse or args.model)
    )
    first = ParallelLines(lines.src[:half], lines.ref[:half])
    methods = Methods(forward, reverse, first, args.sizes[len(args.sizes) // 2])
    print(methods.chosen, flush=True)
    systems = [*methods.systems(args.sizes)]
    texts, seconds = measured(systems, lines.src[half:], args.rounds)
    rows = [
        {
            "name": system.name,
            "method": system.method,
            "time": seconds[system.name] / seconds[systems[0].name],
            "scores": {k: str(v) for k, v in signed(texts[system.name], lines.ref[half:]).items()},
        }
        for system in systems
    ]
    for row in rows:
        print(row, flush=True)
    benchmark.record(
        {
            "name": f"{args.name} {'-'.join(languages)}",
            "sentences": len(lines.src) - half,
            "chosen": methods.chosen,
            "systems": sorted(rows, key=lambda row: row["time"]),
            "differences": [*differences(rows, texts, lines.ref[half:])],
            "seconds": seconds,
        }
    )


def measured(
    systems: list[System], src: list[str], rounds: int
) -> tuple[dict[str, list[str]], dict[str, float]]:
    """The translations of each system, and the median of its seconds in several rounds."""
    texts, every = dict[str, list[str]](), {system.name: list[float]() for system in systems}
    for _ in range(rounds):
        for system in systems:
            start = time.process_time()
            texts[system.name] = system.translate(src)
            every[system.name].append(time.process_time() - start)
    return texts, {name: median(own) for name, own in every.items()}


def differences(
    rows: list[dict[str, Any]], texts: dict[str, list[str]], ref: list[str]
) -> Iterator[dict[str, Any]]:
    """Minimum Bayes risk minus the system of each other method whose time is the closest."""
    for row in rows:
        for method in ("first", "beam", "reranked") if row["method"] == "risk" else ():
            others = [other for other in rows if other["method"] == method]
            other = min(others, key=lambda own: abs(own["time"] - row["time"]))
            yield {
                "system": row["name"],
                "other": other["name"],
                **{k: compared(texts[other["name"]], texts[row["name"]], ref, k) for k in METRICS},
            }


def compared(
    baseline: list[str], system: list[str], ref: list[str], metric: str
) -> dict[str, float]:
    """A difference with its paired interval."""
    found = paired_bootstrap(baseline, system, ref, metric=metric, lowercase=True)
    low, high = found.interval
    return {"value": found.difference, "low": low, "high": high}


if __name__ == "__main__":
    benchmark.run(main)
