"""The estimated quality of translations: does it find the bad ones?

A model is calibrated on a dev set, and its translations of other sentences are scored by sentence
chrF. Compared are the rank correlations (Spearman) of chrF with the estimate, with the mean
log-probability of the tokens, and with lengths: the number of source tokens, and the ratio of the
numbers of target and source tokens, whichever is better. Bad translations have a chrF below 30; the
worst tenth are those with the lowest estimates. Intervals are those of 1,000 bootstrap resamples
of the sentences. Of the dev set itself, only sentences that do not calibrate are scored.

--test scores the test sets, once, when all settings are fixed.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bleu import ParallelLines
from benchmarks.bootstrap import N_RESAMPLES, SEED, Floats, interval
from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import Table
from yakusu.data.lines.config import TextConfig
from yakusu.engine.config import EngineConfig
from yakusu.metrics import sentence_scorer
from yakusu.pipeline.calibration import calibration_rows, fit_calibration, rank_correlation
from yakusu.search.decoder import IdPair
from yakusu.translator import Translator
from yakusu.translator.quality import Calibration, Evidence

BAD = 30.0  # chrF
ESTIMATES = ("quality", "log_prob", "source_length", "length_ratio")

benchmark = Benchmark(
    "quality",
    __doc__,
    example="python -m benchmarks.reliability.quality --model runs/multi30k/model "
    "--dev multi30k/val --sets tatoeba/en-de/dev",
    needs=["data", "model"],
    quick={"dev": "multi30k/train", "sets": ["multi30k/val"], "runs": 1, "sentences": 20},
)
benchmark.option("--dev", default="multi30k/val", help="calibrates the model (%(default)s)")
benchmark.option("--sets", nargs="*", default=[], help="other development sets to score")
benchmark.option(
    "--tests", nargs="*", default=["multi30k/test2016"], help="test sets (%(default)s)"
)
benchmark.option("--test", action="store_true", help="score the test sets")
benchmark.option("--sentences", type=int, default=1000, help="at most, of a set (%(default)s)")
benchmark.option("--languages", nargs=2, default=["en", "de"], help="source and target")
benchmark.option("--runs", type=int, default=3, help="for the time (%(default)s)")


def _interval(field: str) -> Callable[[Record], str]:
    def cell(record: Record) -> str:
        value, low, high = record[field]
        return f"{value:+.3f} ({low:+.3f} to {high:+.3f})"

    return cell


def _lift(record: Record) -> str:
    value, low, high = record["worst_tenth"]
    return f"{value:.1f} times ({low:.1f} to {high:.1f})"


tables = Table(
    (
        ("Model", "{model}"),
        ("Sentences", "{set}, {sentences:,}"),
        ("Mean chrF", "{chrf:.1f}"),
        ("Bad", "{bad:.1%}"),
        ("Correlation with chrF", lambda record: f"{record['correlation']['quality']:.3f}"),
        ("Log-probability alone", lambda record: f"{record['correlation']['log_prob']:.3f}"),
        ("Difference (95%)", _interval("above_log_prob")),
        ("Length alone", "{length:.3f}"),
        ("Difference (95%)", _interval("above_length")),
        ("Bad ones in the worst tenth", _lift),
        ("CPU time", "{time:+.1%}"),
    )
)


def read(name: str, args: argparse.Namespace) -> ParallelLines:
    """A corpus."""
    return ParallelLines.read(*(args.data / f"{name}.{code}" for code in args.languages))


def encoded(translator: Translator, lines: ParallelLines) -> list[IdPair]:
    """The ids of the pairs that are not empty and not too long, as `check --model` chooses them."""
    pairs = (pair for pair in zip(lines.src, lines.ref, strict=True) if all(map(str.strip, pair)))
    return [ids for ids in (translator.pair_ids(*pair) for pair in pairs) if ids]


def estimates(
    translator: Translator, calibration: Calibration, pairs: Sequence[IdPair]
) -> tuple[dict[str, Floats], Floats]:
    """What is compared for each translation, and its chrF."""
    found = [best[0] for best in translator.hypotheses([("", source) for source, _ in pairs])]
    decoded = translator.tokenizer.decode_target
    texts, references = decoded([h.tokens for h in found]), decoded([t[:-1] for _, t in pairs])
    score = sentence_scorer("chrf")
    evidence = [
        Evidence.of(h.token_log_probs, len(source))
        for h, (source, _) in zip(found, pairs, strict=True)
    ]
    own = {
        "quality": [calibration.quality(each).value for each in evidence],
        "log_prob": [h.log_prob / len(h.path) for h in found],
        "source_length": [-each.source for each in evidence],
        "length_ratio": [each.length for each in evidence],
    }
    scores = [score(*both) for both in zip(texts, references, strict=True)]
    return {name: np.array(values, float) for name, values in own.items()}, np.array(scores)


def worst_tenth(quality: Floats, scores: Floats) -> float:
    """The share of bad translations in the worst tenth, divided by that in all; 0: none is bad."""
    worst = np.argsort(quality, kind="stable")[: max(1, len(quality) // 10)]
    bad = scores < BAD
    return float(bad[worst].mean() / bad.mean()) if bad.any() else 0.0


def compared(found: dict[str, Floats], scores: Floats) -> dict[str, Any]:
    """The correlations, their differences and the worst tenth, with intervals."""

    def measured(rows: Any) -> tuple[float, ...]:
        own = [rank_correlation(found[name][rows], scores[rows]) for name in ESTIMATES]
        return *own, worst_tenth(found["quality"][rows], scores[rows])

    every = measured(slice(None))
    rng = np.random.default_rng(SEED)
    rows = rng.integers(len(scores), size=(N_RESAMPLES, len(scores)))
    drawn = np.array([measured(own) for own in rows])
    lengths = slice(ESTIMATES.index("source_length"), ESTIMATES.index("length_ratio") + 1)
    length, of_length = max(map(abs, every[lengths])), abs(drawn[:, lengths]).max(axis=1)
    return {
        "correlation": dict(zip(ESTIMATES, every[:-1], strict=True)),
        "length": length,
        "above_log_prob": [every[0] - every[1], *interval(drawn[:, 0] - drawn[:, 1])],
        "above_length": [every[0] - length, *interval(drawn[:, 0] - of_length)],
        "worst_tenth": [every[-1], *interval(drawn[:, -1])],
    }


def more_time(model: Path, calibration: Calibration, lines: Sequence[str], runs: int) -> float:
    """How much more CPU time translations with their quality take, as a share."""
    plain = Translator.load(
        model,
        engine=EngineConfig(engine="native", threads=1),
        text=TextConfig(one_sentence_per_line=True),
    )
    both = [
        Translator(
            plain.decoder,
            plain.tokenizer,
            languages=plain.languages,
            search=plain.search,
            text=plain.text_config,
            calibration=each,
        )
        for each in (None, calibration)
    ]
    ratios = []
    for _ in range(runs):
        seconds = []
        for translator in both:
            start = time.process_time()
            translator.translate(lines)
            seconds.append(time.process_time() - start)
        ratios.append(seconds[1] / seconds[0])
    return statistics.median(ratios) - 1


def main(args: argparse.Namespace) -> None:
    """Calibrate a model, and compare the estimates on each set."""
    translator = Translator.load(args.model, engine=EngineConfig(engine="native", threads=1))
    dev = encoded(translator, read(args.dev, args))
    rows = calibration_rows(len(dev))
    calibration = fit_calibration(translator, [dev[row] for row in rows])
    assert calibration, f"{args.dev} is too small"
    others = [pair for row, pair in enumerate(dev) if row not in {*rows}]
    sets = {} if args.test or not others else {args.dev: others}
    sets |= {
        n: encoded(translator, read(n, args)) for n in (args.tests if args.test else args.sets)
    }
    name = args.model.parent.name if args.model.name == "model" else args.model.name
    for each, pairs in sets.items():
        step = max(1, len(pairs) // args.sentences)
        chosen = pairs[::step][: args.sentences]
        found, scores = estimates(translator, calibration, chosen)
        lines = read(each, args).src[::step][: args.sentences]
        measured = {
            "name": f"{name}, {args.dev}, {each}",
            "model": name,
            "dev": args.dev,
            "set": each,
            "sentences": len(chosen),
            "chrf": float(scores.mean()),
            "bad": float((scores < BAD).mean()),
            **compared(found, scores),
            "time": more_time(args.model, calibration, lines, args.runs),
        }
        print(measured, flush=True)
        benchmark.record(measured)


if __name__ == "__main__":
    benchmark.run(main)
