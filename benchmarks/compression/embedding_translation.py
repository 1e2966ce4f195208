"""Table 3 and Figure 2 of the compression paper: BLEU of a translator against the ratio.

The source embedding (encoder), the target embedding with the output projection (decoder), or all
tables (both) become codes, integers, or with --shu the baseline's codes; the rest of the translator
is unchanged. The CPU engine translates with the compressed model folders.

Every size is scored on the development set. For each side and method, the largest ratio is chosen
that loses at most --loss BLEU there, if no smaller ratio loses more. The test set is translated
with the chosen sizes only. Speeds are compared with that of the uncompressed model in the same
precision, in turns.

The default sets are val and test2016 of Multi30k.
"""

import argparse
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from matplotlib.figure import Figure

import yakusu
from benchmarks.bleu import ParallelLines, Scorer
from benchmarks.common import Benchmark
from benchmarks.compression.translators import (
    STACKS,
    Made,
    compressed,
    compressed_by_shu,
    tokens_per_second,
    translated,
)
from benchmarks.records import RESULTS, Record
from benchmarks.runs import slug
from benchmarks.speed.systems import cpu_flags
from benchmarks.tables import FilledTable, Row, Table, fill, fixed, score_of, times
from benchmarks.workers import in_turns, speedup
from yakusu.compress.config import CompressConfig
from yakusu.errors import DataError
from yakusu.native.library import instruction_set
from yakusu.pipeline.compress import memory_of
from yakusu.translator.folder.folder import ModelFolder, TranslatorConfig

# M as a share of the width, and K.
SIZES = ((1, 64), (1, 16), (1, 8), (1, 4))
BITS = (4, 3, 2, 1.5)  # per component of integers
SHU = ((32, 16), (16, 16), (8, 16))  # M, K
FREQUENT = 128  # tokens
METHODS = ("codes", f"codes, {FREQUENT} exact", "integers")
BASE, BASE_INT8 = "uncompressed, float32", "uncompressed, int8"
Point = dict[str, Any]

benchmark = Benchmark(
    "embedding_translation",
    __doc__,
    example="python -m benchmarks.compression.embedding_translation --model runs/multi30k/model "
    "--name 'Multi30k en-de' --lowercase",
    needs=["data", "model"],
    threads=2,
    quick={"name": "generated text", "shu": 20, "rounds": 1, "sentences": 20, "loss": 100},
)
benchmark.option("--name", default="", help="name of model and test set, for record and figure")
for _name, _text in (("src", "test set"), ("dev-src", "development set")):
    benchmark.option(f"--{_name}", type=Path, help=f"source sentences of the {_text}")
for _name, _text in (("ref", "test set"), ("dev-ref", "development set")):
    benchmark.option(f"--{_name}", type=Path, help=f"references of the {_text}")
benchmark.option("--lowercase", action="store_true", help="ignore case in BLEU")
benchmark.option(
    "--precision", choices=("auto", "float32", "int8"), default="auto", help="of compressed models"
)
benchmark.option("--sentences", type=int, help="of each set, at most (default: all)")
benchmark.option("--timed", type=int, default=256, help="sentences per round (%(default)s)")
benchmark.option("--rounds", type=int, default=3, help="of the comparison of speed (%(default)s)")
benchmark.option("--shu", type=int, metavar="STEPS", help="training steps of the baseline")
benchmark.option("--seed", type=int, default=1, help="seed of the baseline (%(default)s)")
benchmark.option("--loss", type=float, default=0.5, help="BLEU that counts as no loss (0.5)")


_COSTS = (
    ("Tables", "{side}"),
    ("Method", "{method}"),
    ("Size", "{size}"),
    ("Table ratio", "{ratio:,.1f}"),
    ("Model, MB", times("model_bytes", 1e-6, 2)),
    ("Memory, MiB", times("memory", 2**-20, 1)),
    ("Tokens per second", "{tokens_per_second:,.0f}"),
)
_IN_TORCH = Table(
    (
        ("Table", "{side}"),
        ("Method", "{method}"),
        ("Ratio", "{ours.ratio:,.1f}"),
        ("Size", "{ours.size}"),
        ("BLEU before", "{before:,.2f}"),
        ("BLEU after", "{ours.bleu:,.2f}"),
    ),
    rows=lambda record: _sides(record),
    title="{name}: translated and chosen with torch",
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Table 3: what each size costs, and the sizes that are chosen, two tables per translator.

    Older records have one size per method, translated by torch.
    """
    for record in records:
        if record.get("choices") is None:
            yield from _IN_TORCH([record])
        else:
            yield _choices(record)
            yield _sizes(record)


def _choices(record: Record) -> FilledTable:
    before = fixed(bleu(record["test"]))
    columns = (
        *_COSTS[:4],
        ("BLEU before", lambda _: before),
        ("BLEU after", score_of("test")),
        ("Difference", "{difference.value:+.2f}"),
        ("95% interval", "{difference.low:+.2f} to {difference.high:+.2f}"),
    )
    title = f"{record['name']}: largest ratio within {record['loss']} BLEU on the development set"
    title += f"; test set, {record['sentences']['test']:,} sentences"
    return fill(columns, record["choices"], [record], title)


def _sizes(record: Record) -> FilledTable:
    """Costs of all sizes; the speed-up compares with the uncompressed model in one precision."""
    same = "float32" if record["precision"] == "float32" else "int8"
    base = record["references"][f"uncompressed, {same}"]["tokens_per_second"]
    references: list[Row] = [
        {**own, "method": name, "times as fast": {"value": own["tokens_per_second"] / base}}
        for name, own in record["references"].items()
    ]
    columns = (
        *_COSTS,
        (f"Speed-up over uncompressed, {same}", "{times as fast.value:,.2f}"),
        ("Dev BLEU", score_of("dev")),
    )
    title = f"{record['name']}: development set, {record['sentences']['dev']:,} sentences"
    return fill(columns, [*references, *record["points"]], [record], title)


def _sides(record: Record) -> Iterator[Row]:
    for key, found in record["table 3"].items():
        side, method = key.split(", ", 1)
        yield {
            "side": side,
            "method": method.replace("whole numbers", "integers"),
            "before": bleu(record["score"]),
            "ours": found["ours"],
        }


def sets(args: argparse.Namespace) -> dict[str, ParallelLines]:
    """Return the development set and the test set.

    Raises:
        DataError: Some of the four files are given, but not all of them.
    """
    given = [args.dev_src, args.dev_ref, args.src, args.ref]
    if not any(given):
        corpus = args.data / "multi30k"
        names = ("val.en", "val.de", "test2016.en", "test2016.de")
        given = [corpus / name for name in names]
    if not all(given):
        raise DataError("give all of --dev-src, --dev-ref, --src and --ref, or none of them")
    read = partial(ParallelLines.read, most=args.sentences)
    return {"dev": read(*given[:2]), "test": read(*given[2:])}


# ---- sizes --------------------------------------------------------------------------------------


def settings(method: str, side: str, width: int) -> Iterator[tuple[str, CompressConfig]]:
    """Yield the name and the settings of each size of a method."""
    stacks = STACKS[side]
    if method == "integers":
        for bits in BITS:
            config = CompressConfig(method="integers", bits=bits * width, stacks=stacks)
            yield f"{bits * width:g} bits", config
        return
    for share, k in SIZES:
        m, exact = max(1, round(share * width)), 0 if method == "codes" else FREQUENT
        config = CompressConfig(method="codes", m=m, k=k, exact=exact, stacks=stacks)
        yield f"M = {m}, K = {k}", config


def folders(
    args: argparse.Namespace, side: str, method: str, scratch: Path
) -> Iterator[tuple[str, Made]]:
    """Compress the tables of a side to each size; with --quick to the first one only."""
    width = _config(args.model).model.d_model
    if method == "Shu":
        for m, k in SHU[: 1 if args.quick else None]:
            sizes = {"size": (m, k), "steps": args.shu, "seed": args.seed}
            out = scratch / slug(f"{side} {method} {m} {k}")
            yield f"M = {m}, K = {k}", compressed_by_shu(args.model, out, side, **sizes)
        return
    for size, config in settings(method, side, width):
        try:
            made = compressed(args.model, scratch / slug(f"{side} {method} {size}"), config)
        except DataError as error:
            print(f"{side}, {method}, {size} is left out: {error}", flush=True)
            continue
        yield size, made
        if args.quick:
            break


def _config(model: Path) -> TranslatorConfig:
    return ModelFolder.open(model).config


# ---- measurements -------------------------------------------------------------------------------


class Measurement:
    """All measurements of one translator."""

    def __init__(self, args: argparse.Namespace, scratch: Path) -> None:
        self.args, self.scratch, self.sets = args, scratch, sets(args)
        language = _config(args.model).target_language or None
        self.scorers = {
            name: Scorer(lines.ref, args.lowercase, language) for name, lines in self.sets.items()
        }
        self.same = BASE if args.precision == "float32" else BASE_INT8
        self.folders: dict[tuple[str, str, str], Path] = {}

    def texts(self, of: str, folder: Path, precision: str) -> list[str]:
        """Return the translations of the development set or of the test set."""
        return translated(folder, self.sets[of].src, precision=precision, threads=self.args.threads)

    def point(self, folder: Path, precision: str) -> Point:
        """Return what is measured of each model, except its speed."""
        engine = yakusu.EngineConfig(precision=precision, threads=self.args.threads)
        return {
            "model_bytes": (folder / "model.safetensors").stat().st_size,
            "memory": memory_of(folder, engine=engine).n_bytes,
            "dev": str(self.scorers["dev"].score(self.texts("dev", folder, precision))),
        }

    def references(self) -> dict[str, Point]:
        """Measure the uncompressed model in both precisions."""
        model = self.args.model
        found = {name: self.point(model, name.split(", ")[1]) for name in (BASE, BASE_INT8)}
        return self._with_speeds({name: (model, name.split(", ")[1]) for name in found}, found)

    def method(self, side: str, method: str) -> list[Point]:
        """Measure all sizes of a method."""
        precision = "float32" if method == "Shu" else self.args.precision
        same = BASE if method == "Shu" else self.same
        found, run = {}, {same: (self.args.model, same.split(", ")[1])}
        for size, made in folders(self.args, side, method, self.scratch):
            self.folders[side, method, size] = made.folder
            run[size] = (made.folder, precision)
            found[size] = {
                **{"side": side, "method": method, "size": size, "ratio": round(made.ratio, 2)},
                **{"table_bytes": made.table_bytes, "lost": round(made.lost, 4)},
                **self.point(made.folder, precision),
            }
        return list(self._with_speeds(run, found).values())

    def _with_speeds(
        self, run: dict[str, tuple[Path, str]], found: dict[str, Point]
    ) -> dict[str, Point]:
        """Add tokens per second, and the ratio to the first model of `run`."""
        sides = {
            name: partial(
                tokens_per_second,
                folder=folder,
                precision=precision,
                threads=self.args.threads,
            )
            for name, (folder, precision) in run.items()
        }
        timed = (self.sets["dev"].src[: self.args.timed],)
        speeds = in_turns(sides, self.args.rounds, lambda _: timed, threads=1)
        base = next(iter(speeds.values()))
        return {
            name: point
            | {
                "tokens_per_second": round(statistics.median(speeds[name]), 1),
                "times as fast": asdict(speedup(speeds[name], base)),
            }
            for name, point in found.items()
        }

    def choice(self, point: Point, before: Sequence[str]) -> dict[str, Any]:
        """Translate the test set with a chosen size."""
        key = (point["side"], point["method"], point["size"])
        precision = "float32" if point["method"] == "Shu" else self.args.precision
        after = self.texts("test", self.folders[key], precision)
        value, low, high = self.scorers["test"].difference(list(before), after)
        return {
            **{name: point[name] for name in ("side", "method", "size", "ratio", "dev")},
            "test": str(self.scorers["test"].score(after)),
            "difference": {"value": round(value, 2), "low": round(low, 2), "high": round(high, 2)},
        }


def bleu(text: str) -> float:
    """Return the value of "BLEU = 34.52 (nrefs:1|...)"."""
    return float(text.split()[2])


def largest(points: Sequence[Point], base: float, most: float) -> Point | None:
    """Return the largest ratio that loses at most `most` BLEU, if no smaller one loses more."""
    best = None
    for point in sorted(points, key=lambda point: float(point["ratio"])):
        if bleu(point["dev"]) < base - most:
            break
        best = point
    return best


# ---- results ------------------------------------------------------------------------------------


def draw(path: Path, points: Sequence[Point], base: float) -> None:
    """Draw Figure 2, on the development set."""
    figure = Figure(figsize=(12, 4), layout="constrained")
    for axes, side in zip(figure.subplots(1, 3, sharey=True), STACKS, strict=True):
        for method in dict.fromkeys(point["method"] for point in points if point["side"] == side):
            own = [p for p in points if (p["side"], p["method"]) == (side, method)]
            own.sort(key=lambda point: float(point["ratio"]))
            scores = [bleu(point["dev"]) for point in own]
            axes.plot([point["ratio"] for point in own], scores, "o-", label=method)
        axes.axhline(base, color="grey", linestyle=":", label=BASE)
        axes.set(xscale="log", title=side, xlabel="ratio of the table(s)", ylabel="BLEU")
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def show(point: Point) -> None:
    """Print a point."""
    named = " ".join(str(point[name]) for name in ("side", "method", "size") if name in point)
    ratio = f", table x{point['ratio']}" if "ratio" in point else ""
    print(
        f"{named}{ratio}: dev BLEU {bleu(point['dev']):.2f}, {point['model_bytes']:,} bytes, "
        f"{point['memory'] / 2**20:.0f} MiB, {point['tokens_per_second']:,.0f} tokens/s",
        flush=True,
    )


def main(args: argparse.Namespace) -> None:
    """Measure all points, choose sizes on the development set, and translate the test set."""
    with TemporaryDirectory() as folder:
        measurement = Measurement(args, Path(folder))
        references = measurement.references()
        for name, point in references.items():
            show({"side": name, **point})
        base, points, choices = bleu(references[BASE]["dev"]), [], []
        before = measurement.texts("test", args.model, "float32")
        for side in STACKS:
            for method in (*METHODS, *(["Shu"] if args.shu else [])):
                found = measurement.method(side, method)
                points += found
                for point in found:
                    show(point)
                if best := largest(found, base, args.loss):
                    choices.append(measurement.choice(best, before))
                    print("test:", choices[-1], flush=True)
        test = str(measurement.scorers["test"].score(before))
    picture = RESULTS / f"embedding_translation-{slug(args.name)}.png"
    result = {
        **{"name": args.name, "references": references, "points": points, "choices": choices},
        **{"test": test, "loss": args.loss, "precision": args.precision},
        "sentences": {name: len(lines.src) for name, lines in measurement.sets.items()},
        **{"instruction set": instruction_set(), "cpu flags": cpu_flags()},
    }
    if benchmark.record(result | {"figure": picture.name}, seed=args.seed):
        draw(picture, points, base)


if __name__ == "__main__":
    benchmark.run(main)
