"""What integers and a margin change: BLEU, chrF, and the number of changed translations.

Every system translates the same sentences with the same model and beam. "Identical" is the share of
sentences whose translation equals that of torch in float32. The others are "better" if their chrF
is higher, and "worse" if it is lower. Nothing is timed.

If the checkpoints of the model are beside its folder, their mean is translated as well, before its
weights are rounded to 8 bits.

The default is the development set of Multi30k. Choose settings on development sets, and name a test
set (--sources NAME=PATH --references NAME=PATH) only to report them.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.speed.evaluation_sets import EvaluationSet, add_set_options, read_sets
from benchmarks.speed.plain import write_trained
from benchmarks.speed.systems import (
    NAMES,
    Model,
    System,
    add_options,
    chosen,
    conditions,
    started,
    title_of,
)
from benchmarks.tables import FilledTable, entries, fill, score_of
from yakusu.errors import DataError
from yakusu.pipeline.receipts.receipt import Receipt, read_facts
from yakusu.translator.folder.network import open_model, save_translator
from yakusu.weights import TensorsOnDisk, average_tensors

REFERENCE, MEAN = "torch float32", "torch float32, before rounding the weights"
SYSTEMS = tuple(name for name in NAMES if not name.startswith("generate"))

benchmark = Benchmark(
    "precision",
    __doc__,
    example="python -m benchmarks.speed.precision --model runs/multi30k/model "
    "--sources val=val.en --references val=val.de --peer-python peers/bin/python",
    needs=["data", "model"],
    quick={"sentences": 8, "beam": 2},
)
add_options(benchmark, systems=SYSTEMS, rounds=1)
add_set_options(benchmark)
benchmark.option("--beam", type=int, default=4, help="%(default)s")
benchmark.option("--batch", type=int, default=64, help="sentences per batch (%(default)s)")
benchmark.option("--sentences", type=int, default=None, help="of each set, at most (default: all)")


_COLUMNS = (
    ("System", "{name}"),
    ("BLEU", score_of("bleu")),
    ("chrF", score_of("chrf", "chrF2")),
    ("Identical", "{identical:.1%}"),
    ("Better", "{better}"),
    ("Worse", "{worse}"),
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """BLEU, chrF, and how many translations changed."""
    for record in records:
        yield fill(_COLUMNS, entries("systems")(record), [record], title_of(record))


class Form(NamedTuple):
    """A system, and the weights that it reads."""

    title: str
    system: System
    model: Model


def translations(
    system: System, test: EvaluationSet, model: Model, args: argparse.Namespace
) -> tuple[list[str], dict[str, Any]]:
    """The translations of a system, and what it ran with."""
    with started([system], model, args) as services:
        search = test.search(args.beam, system)
        request = {"lines": test.sources, "batch": args.batch, "search": search}
        return services[system]("translate", **request)["texts"], conditions(services)


def forms(test: EvaluationSet, args: argparse.Namespace, folder: Path) -> Iterator[Form]:
    """What is compared, the reference first."""
    model = Model(folder / "plain", test.model)
    write_trained(test.model, model.plain)
    reference, *others = one_setting(chosen(args))
    yield Form(reference.group, reference, model)
    if checkpoints := averaged(test.model):
        mean = Model(folder / "plain mean", folder / "mean")
        write_mean(test.model, checkpoints, folder / "mean")
        write_trained(folder / "mean", mean.plain)
        yield Form(MEAN, reference, mean)
    for system in others:
        yield Form(system.group, system, model)


def averaged(model: Path) -> list[Path]:
    """The checkpoints whose mean a model is; empty: they are missing, or it is of other origin."""
    facts = read_facts(model) if (model / "receipt.json").exists() else None
    if not isinstance(facts, Receipt) or facts.compressed:
        return []
    found = [model.parent / "checkpoints" / f"step-{n:08}" for n in facts.averaged_steps]
    return found if all(each.is_dir() for each in found) else []


def write_mean(model: Path, checkpoints: list[Path], out: Path) -> None:
    """Write a model folder with the mean of checkpoints in float32."""
    config, _, tokenizer = open_model(model)
    mean = average_tensors([TensorsOnDisk(each / "model.safetensors") for each in checkpoints])
    save_translator(out, mean, tokenizer, config)


def measure(
    name: str, test: EvaluationSet, args: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    """Scores of all systems on a set."""
    rows: dict[str, dict[str, Any]] = {}
    stated: dict[str, Any] = {}
    reference: list[str] = []
    for title, system, model in forms(test, args, folder):
        texts, own = translations(system, test, model, args)
        reference = reference or texts
        same = sum(a == b for a, b in zip(texts, reference, strict=True))
        changes = test.changes(texts, reference)
        rows[title] = {
            **test.score(texts),
            "identical": round(same / len(texts), 4),
            **{"better": changes[0], "worse": changes[1]},
        }
        stated = {key: {**stated.get(key, {}), **own[key]} for key in ("versions", "commands")}
        scores = f"{rows[title]['bleu'].split(' (')[0]}, {rows[title]['chrf'].split(' (')[0]}"
        scores += f", identical {same / len(texts):.1%}, {changes[0]} better, {changes[1]} worse"
        print(f"{name:14}{title:44}{scores}", flush=True)
    return {"sentences": len(test.sources), "beam": args.beam, "systems": rows, **stated}


def one_setting(systems: list[System]) -> list[System]:
    """The systems without repetitions that differ in threads only, the reference first.

    Raises:
        DataError: The reference is missing.
    """
    groups = {system.group: system for system in reversed(systems)}
    if REFERENCE not in groups:
        raise DataError(f"--systems lacks {REFERENCE}, which the others are compared with: add it")
    return [groups.pop(REFERENCE), *(groups[name] for name in SYSTEMS if name in groups)]


def main(args: argparse.Namespace) -> None:
    """Measure every set."""
    if not args.sources:
        corpus = args.data / "multi30k"
        args.sources, args.references = {"val": corpus / "val.en"}, {"val": corpus / "val.de"}
    for name, test in read_sets(args, dict.fromkeys(args.sources, args.model)).items():
        with TemporaryDirectory() as folder:
            some = test.first(args.sentences or len(test.sources))
            measured = measure(name, some, args, Path(folder))
        benchmark.record({"name": f"{args.model.parent.name}, {name}", **measured})


if __name__ == "__main__":
    benchmark.run(main)
