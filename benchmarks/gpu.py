"""What needs a GPU, the most valuable first, within some minutes. Rerun to continue.

1. speed: training speed of `base` and `big` in bfloat16, and model FLOPs utilisation (MFU):

       MFU = counted FLOPs per target token x target tokens per second / peak FLOPS of the device

   as a share of the peak that the manufacturer states and of the fastest matrix product measured.
2. resume: the files of a run, of the same run again, and of the same run interrupted and resumed.
3. translation: `base` with beam search in large batches, compared with CTranslate2 in float16.
4. grid: Multi30k with more regularisation, at two widths and to the end of the dev loss. The
   learning rate does not depend on the number of steps, so a curve shows shorter runs as well.
5. sizes: the recipes for larger corpora, on Tatoeba.
6. cells of the tables of the paper, and of the comparison with JoeyNMT, that are still missing.

Each job runs in a process of its own and writes its records to --out as soon as it has them. Speeds
are measured alone; the other jobs share the GPU. A job that does not fit into the time left is
skipped. Training runs are stopped at the end, with a checkpoint in --runs, and the next call
continues them. A job that is recorded, in --out or in results, is not run again.
"""

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

import yakusu
from benchmarks import pages, records, runs
from benchmarks.common import Benchmark
from benchmarks.paper import joeynmt, table2, table3
from benchmarks.paper.table2_rows import BASELINE, CONVERGED
from benchmarks.paper.table3_rows import RATES, Variant
from benchmarks.quick import SETTINGS
from benchmarks.records import Record
from benchmarks.reliability.kills import result_hash
from benchmarks.runs import RECIPES, Remarks, curve, slug
from benchmarks.services import Service
from benchmarks.speed import yakusu_loop
from benchmarks.speed.plain import SHAPES, SOURCE_LENGTHS, random_sources, write_random
from benchmarks.speed.systems import VARIABLE as PEER_PYTHON
from benchmarks.speed.systems import System, check_lengths, in_turns, searching, summary
from benchmarks.speed.training_profile import product_rate
from benchmarks.tables import NONE, FilledTable, fill, fixed, score_of, spread_of
from yakusu.device import made_by, pick_device
from yakusu.errors import DataError, RunError, SignalError
from yakusu.folder import read_json
from yakusu.model.architectures import build
from yakusu.pipeline.receipts.facts import flops_per_token
from yakusu.progress import Tracker
from yakusu.recipe import Recipe, changes

PEAK = {"H100": 989e12, "H200": 989e12, "A100": 312e12}  # bfloat16, without sparsity
KEPT = 10  # checkpoints that are averaged in the grid
WARMUP_STEPS = 30  # the first ones compile the model
LEASE = 3  # calls that one machine is kept for
LEAST_MINUTES = 1.0  # of a run that is stopped at the end
ENDING = 0.1  # share of the time in which stopped runs save and score what they have
OURS, PEER = System("torch float32"), System("CTranslate2 float16", (1, 1))
QUICK = (
    *("model.n_layers=1", "model.d_model=16", "model.d_ff=32", "model.n_heads=2"),
    *("batches.step_tokens=500", "training.max_steps=4", "training.validate_steps=2"),
    *("training.compile=no", *SETTINGS),
)

benchmark = Benchmark(
    "gpu",
    __doc__,
    example="python -m benchmarks.gpu --minutes 9 --out results/gpu",
    needs=["data"],
    quick={"minutes": 3.0, "seconds": 0.2, "steps": 8},
)
benchmark.option("--minutes", type=float, default=9.0, help="time for everything (%(default)s)")
benchmark.option("--out", type=Path, help="folder that receives the records")
benchmark.option(
    "--runs", type=Path, default=Path("runs", "gpu"), help="folder for training runs (%(default)s)"
)
benchmark.option("--plan", action="store_true", help="print the jobs, and run none")
benchmark.option("--prepare", type=Path, metavar="FOLDER", help="write what the jobs read, and end")
benchmark.option("--jobs", nargs="+", default=[""], help="words in the names of the jobs to run")
benchmark.option("--again", action="store_true", help="also run the jobs that are recorded")
benchmark.option("--together", type=int, default=os.cpu_count(), help="processes (%(default)s)")
benchmark.option(
    "--peer-python",
    default=os.environ.get(PEER_PYTHON, sys.executable),
    metavar="PATH",
    help=f"Python of the environment of CTranslate2 (or set {PEER_PYTHON}; default: this one)",
)
benchmark.option("--seconds", type=float, default=40.0, help="for each speed (%(default)s)")
benchmark.option("--steps", type=int, default=200, help="of the resumed run (%(default)s)")


# ---- tables --------------------------------------------------------------------------------------


def tables(found: list[Record]) -> Iterator[FilledTable]:
    """One table for each part that has records."""
    for part, (title, columns) in _TABLES.items():
        if rows := [record for record in found if record["part"] == part]:
            yield fill(columns, rows, rows, title)


def _equal(same: bool) -> str:
    return "equal bytes" if same else "other bytes"


def _lowest(record: Mapping[str, Any] | Record) -> dict[str, Any]:
    return min(record["curve"], key=lambda point: point["dev_perplexity"])


def _best(record: Record) -> str:
    return fixed(max(point["dev_bleu"] for point in record["curve"]))


_RUNS = (
    ("Run", "{name}"),
    ("Steps", "{steps:,.0f}"),
    ("Ended", "{ended}"),
    ("Lowest dev perplexity", lambda record: fixed(_lowest(record)["dev_perplexity"])),
    ("at step", lambda record: fixed(_lowest(record)["step"], 0)),
    ("Best dev BLEU of a checkpoint", _best),
)
_TABLES: dict[str, tuple[str, Any]] = {
    "speed": (
        "Training speed",
        (
            ("Recipe", "{name}"),
            ("Target tokens per second", "{tokens_per_second:,.0f}"),
            ("FLOPs per target token", "{flops_per_token:.3g}"),
            ("MFU, stated peak", "{mfu_stated:.1%}"),
            ("MFU, measured peak", "{mfu_measured:.1%}"),
            ("GiB at most", "{gib:,.1f}"),
        ),
    ),
    "resume": (
        "Resuming",
        (
            ("Run", "{name}"),
            ("Steps", "{steps}"),
            ("The same run again", lambda record: _equal(record["again"])),
            ("Interrupted and resumed", lambda record: _equal(record["resumed"])),
        ),
    ),
    "translation": (
        "Translation, tokens per second",
        (
            ("Model", "{name}"),
            (str(OURS), spread_of(f"speeds.{OURS}")),
            ("CTranslate2 float16", spread_of(f"speeds.{PEER}")),
            ("Left out", lambda record: ", ".join(record["absent"].values()) or NONE),
        ),
    ),
    "grid": (
        "Regularisation and width, Multi30k en-de",
        (*_RUNS, (f"Dev BLEU of the last {KEPT}, averaged", score_of("averaged"))),
    ),
    "sizes": (
        "Recipes for larger corpora",
        (
            *_RUNS,
            ("Dev BLEU of the model", score_of("dev")),
            ("Test BLEU", score_of("test")),
        ),
    ),
}


# ---- what the jobs read --------------------------------------------------------------------------


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs that are prepared once.

    recipe: Name or path of the recipe that decides on the vocabulary.
    train, dev, test: Below the folder of the corpora, without the suffix of the language. The test
        set is copied; empty: none.
    languages: Of source and target.
    """

    recipe: str
    train: str
    dev: str
    test: str = ""
    languages: tuple[str, str] = ("en", "de")


def _tatoeba(recipe: str, target: str) -> Corpus:
    parts = (f"tatoeba/en-{target}/{part}" for part in ("train", "dev", "test"))
    return Corpus(recipe, *parts, languages=("en", target))


CORPORA = {
    "news": Corpus("base", "wmt/newstest2009-2012", "wmt/newstest2013"),
    "multi30k": Corpus(
        str(RECIPES / "multi30k.toml"), "multi30k/train", "multi30k/val", "multi30k/test2016"
    ),
    "medium-de": _tatoeba("medium", "de"),
    "medium-fr": _tatoeba("medium", "fr"),
    "large-de": _tatoeba("large", "de"),
}


def recipe_of(name: str, args: argparse.Namespace, settings: Iterable[str] = ()) -> Recipe:
    """Return the recipe of a corpus with other settings."""
    corpus = CORPORA[name]
    source, target = corpus.languages
    texts = [
        f'data.{key}={{src="{args.data / part}.{source}", tgt="{args.data / part}.{target}"}}'
        for key, part in (("train", corpus.train), ("dev", corpus.dev))
    ]
    languages = [f'data.source_language="{source}"', f'data.target_language="{target}"']
    quick = QUICK if args.quick else ()
    return yakusu.load_recipe(corpus.recipe, [*texts, *languages, *settings, *quick])


def prepare(args: argparse.Namespace, folder: Path) -> Path:
    """Binarise all corpora and copy the test sets; return the folder of the binarised corpora."""
    for name, corpus in CORPORA.items():
        runs.prepare(recipe_of(name, args), folder / "prepared" / name)
        for language in corpus.languages if corpus.test else ():
            copied = folder / f"{corpus.test}.{language}"
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(args.data / f"{corpus.test}.{language}", copied)
    return folder / "prepared"


def data_of(name: str, args: argparse.Namespace) -> Path:
    """The binarised pairs of a corpus."""
    folder: Path = args.prepared / name / "data"
    return folder


# ---- 1. speed ------------------------------------------------------------------------------------


def speed(args: argparse.Namespace, *, recipe: str, compiled: bool) -> Iterator[dict[str, Any]]:
    """Train with a recipe of the paper for some seconds, on news."""
    differing = changes(yakusu.load_recipe("base"), yakusu.load_recipe(recipe))
    overrides = (
        *(f"{key}={new}" for key, (_, new) in differing.items() if key.startswith("model.")),
        *(f"training.compile={'yes' if compiled else 'no'}", "training.checkpoint_minutes=0"),
        *(QUICK if args.quick else ()),
        *(f"training.{limit}={10**9}" for limit in ("max_steps", "validate_steps")),
    )
    run, warmup = args.prepared / "news", 1 if args.quick else WARMUP_STEPS
    job = yakusu_loop.Job(run, args.seconds, 1, overrides=overrides, warmup=warmup)
    found = yakusu_loop.train(job)
    device, size = pick_device("auto"), job.vocab_size
    model = build(job.recipe.model, src_vocab_size=size, tgt_vocab_size=size).to(device)
    batch_tokens = job.recipe.batches.batch_tokens_on(device.type)
    per_token = flops_per_token(model, job.pairs, seed=1, batch_tokens=batch_tokens)
    used, name = per_token * found.tokens_per_second, made_by(device).hardware.device
    edge = 256 if args.quick else 8192
    stated = next((peak for known, peak in PEAK.items() if known in name), None)
    peak = product_rate(edge, edge, edge, torch.bfloat16, device.type)
    yield {
        "tokens_per_second": found.tokens_per_second,
        "steps": found.steps,
        "step_tokens": job.recipe.batches.step_tokens,
        "vocab_size": size,
        "flops_per_token": per_token,
        "peak_stated": stated,
        "peak_measured": peak,
        "mfu_stated": used / stated if stated else None,
        "mfu_measured": used / peak,
        "gib": torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else 0.0,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


# ---- 2. resume -----------------------------------------------------------------------------------


class Interruption(Remarks):
    """Progress reporter that sends SIGTERM to this process when a step is done."""

    def __init__(self, name: str, step: int) -> None:
        super().__init__(name)
        self._left = step

    def track(self, what: str, unit: str, total: int | None) -> nullcontext[Tracker]:
        """Return itself as the tracker of the training steps."""
        return nullcontext(self) if what == "training" else super().track(what, unit, total)

    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        """Count finished steps."""
        self._left -= n
        if n and self._left == 0:
            signal.raise_signal(signal.SIGTERM)


def resume(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Compare a run, the same run again, and one that is interrupted between two validations."""
    sizes = {"max_steps": args.steps, "validate_steps": max(2, args.steps // 4)}
    recipe, data = recipe_of("multi30k", args), data_of("multi30k", args)
    recipe = recipe.model_copy(
        update={"training": recipe.training.model_copy(update={**sizes, "checkpoint_minutes": 0.0})}
    )
    folders = {name: args.runs / f"resume-{name}" for name in ("once", "again", "interrupted")}
    last = args.steps // 2 + 1
    if not folders["interrupted"].exists():
        with suppress(SignalError):
            stop = Interruption("interrupted", last)
            runs.train(recipe, folders["interrupted"], data=data, progress=stop)
            raise RunError(f"the run was not interrupted after {last} steps")
    hashes = {}
    for name, folder in folders.items():
        runs.train(recipe, folder, data=data)
        hashes[name] = result_hash(folder)
    yield {
        "steps": args.steps,
        "interrupted_after": last,
        "again": hashes["again"] == hashes["once"],
        "resumed": hashes["interrupted"] == hashes["once"],
    }


# ---- 3. translation ------------------------------------------------------------------------------


def translation(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Search with a model of random weights; every translation has the same length."""
    shape = SHAPES["small" if args.quick else "base"]
    n, batch, beam, length = (8, 4, 2, 5) if args.quick else (4096, 512, 4, 32)
    plain, device = args.runs / "plain", "cuda" if torch.cuda.is_available() else "cpu"
    shutil.rmtree(plain, ignore_errors=True)
    write_random(shape, plain, seed=1)
    ids = random_sources(n, shape, lengths=SOURCE_LENGTHS, seed=1)
    request = {"sources": ids, "batch": batch, "beam": beam, "length": length}
    absent: dict[str, str] = {}
    with ExitStack() as stack:
        services = {OURS: _service(stack, sys.executable, "benchmarks.speed.engine_side")}
        threads = {"threads": os.cpu_count() or 1}
        services[OURS]("load_plain", folder=str(plain), device=device, **OURS.load, **threads)
        try:
            services[PEER] = _loaded_peer(stack, plain, device, args.peer_python)
        except RunError as error:
            absent[str(PEER)] = str(error).rpartition("failed: ")[2]
        rounds = in_turns(services, 1 if args.quick else 5, searching(request))
        versions = {str(system): service("versions") for system, service in services.items()}
    check_lengths(rounds, length)
    yield {
        "speeds": {
            system: summary([n * length / each["seconds"] for each in own])
            for system, own in rounds.items()
        },
        "absent": absent,
        "versions": versions,
        **{key: value for key, value in request.items() if key != "sources"},
        "sentences": n,
    }


def _service(stack: ExitStack, python: str, module: str) -> Service:
    return stack.enter_context(Service([python, "-m", module]))


def _loaded_peer(stack: ExitStack, plain: Path, device: str, python: str) -> Service:
    """Start CTranslate2.

    Raises:
        RunError: It is not installed, or does not find the libraries of the GPU.
    """
    if python == sys.executable and not find_spec("ctranslate2"):
        raise RunError("CTranslate2 is not installed")
    peer = _service(stack, python, "benchmarks.peers.ctranslate2_side")
    converted = plain / "ctranslate2"
    peer("convert", plain=str(plain), out=str(converted))
    precision = "float16" if device == "cuda" else "float32"
    settings = {**PEER.load, "precision": precision, "device": device}
    peer("load", folder=str(converted), plain=str(plain), **settings)
    peer("search", sources=[[5, 0]], batch=1, beam=1, length=2)  # loads the libraries
    return peer


# ---- 4 and 5. training runs ----------------------------------------------------------------------


def train(
    args: argparse.Namespace, *, recipe: str, corpus: str, settings: Mapping[str, float], name: str
) -> Iterator[dict[str, Any]]:
    """Train, or continue a run; a stopped run yields its curve.

    Args:
        args: The options.
        recipe: Its name or path.
        corpus: Key of `CORPORA`.
        settings: Settings that differ from the recipe.
        name: Name of the run folder.
    """
    folder, own = args.runs / slug(name), [f"{key}={value}" for key, value in settings.items()]
    own.append("training.checkpoint_minutes=3")
    facts: dict[str, Any] = {}
    with suppress(SignalError):
        facts = runs.train(recipe_of(corpus, args, own), folder, data=data_of(corpus, args))
    if points := curve(folder):
        yield {
            "settings": dict(settings),
            "recipe": Path(recipe).stem,
            "steps": facts.get("steps", points[-1]["step"]),
            "ended": facts.get("limit", "no"),
            "curve": points,
            **_scores(folder, corpus, facts, args),
        }


def _scores(
    folder: Path, corpus: str, facts: Mapping[str, Any], args: argparse.Namespace
) -> dict[str, str]:
    """Dev BLEU of the last checkpoints in the grid; elsewhere, BLEU of the finished model."""
    if corpus == "multi30k":
        out = folder.with_name(f"{folder.name}-average")
        shutil.rmtree(out, ignore_errors=True)
        yakusu.average(folder, last=min(KEPT, len(curve(folder))), out=out)
        return {"averaged": read_json(out / "receipt.json")["scores"][0]}
    if not facts:
        return {}
    test = args.data / CORPORA[corpus].test
    src, ref = (f"{test}.{language}" for language in CORPORA[corpus].languages)
    engine = yakusu.EngineConfig(device="auto", precision="float32")
    (score, *_) = yakusu.evaluate_model(folder / "model", src, ref, engine=engine)
    return {"dev": facts["scores"][0], "test": str(score)}


# ---- 6. missing cells ----------------------------------------------------------------------------


def table3_cell(args: argparse.Namespace, *, variant: Variant) -> Iterator[dict[str, Any]]:
    """Train a variant of Table 3."""
    settings = table3.QUICK if args.quick else ("training.engine=native",)
    small = yakusu.load_recipe(RECIPES / "table3.toml", settings)
    data = data_of("multi30k", args)
    yield table3.result_of(variant, small, data, args.runs / "table3") | {"seed": variant.seed}


def table2_cells(
    args: argparse.Namespace, *, systems: Iterable[str], flops: float | None
) -> Iterator[dict[str, Any]]:
    """Train systems of Table 2 within a budget, three seeds each; None: until convergence."""
    name = slug(f"table2 {flops}")
    words = ["--data", str(args.data), "--runs", str(args.runs / name), "--seeds", "3", "--set"]
    words += ["training.engine=native", "training.precision=bf16", "batches.pass_tokens=16384"]
    if args.quick:
        flops = 1.6e10
        words += [*SETTINGS, "--grid-flops", "8e9", "--step-tokens", "60"]
    own, data = table2.benchmark.arguments(Path(), words), data_of("multi30k", args)
    baseline = table2.trained(BASELINE, flops, data, own)
    for name in systems:
        found = baseline if name == BASELINE else table2.trained(name, flops, data, own)
        yield table2.result_of(found, baseline, own)


def joeynmt_epochs(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Train yakusu and JoeyNMT for ten epochs."""
    words = ["--data", str(args.data), "--runs", str(args.runs / "joeynmt")]
    own = joeynmt.benchmark.arguments(Path(), [*words, "--peer-python", sys.executable])
    own.parts = ["dev"]
    for name in joeynmt.SYSTEMS:
        yield joeynmt.measure(name, own)


def joeynmt_absent(args: argparse.Namespace) -> str:
    """Why JoeyNMT cannot be trained here; empty: it can."""
    text = args.data / joeynmt.CORPUS / "train.en"
    if not find_spec("joeynmt"):
        return "JoeyNMT is not installed"
    return "" if text.exists() else f"{text} does not exist"


# ---- the jobs ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A measurement or a training run.

    key: Fields that its last record has in FILE.json: names, and a budget.
    measure: Yields what is recorded, field by field.
    minutes: About how long it takes on an H100, together with others unless it is `alone`.
    value: How much its result is worth; the greatest first.
    alone: Whether no other job may run at the same time.
    resumes: Whether it continues where it was stopped.
    file: The name of the benchmark that has its records.
    absent: Returns why it cannot run; empty: it can.
    """

    key: Mapping[str, Any]
    measure: Callable[[argparse.Namespace], Iterable[dict[str, Any]]]
    minutes: float
    value: int
    alone: bool = False
    resumes: bool = False
    file: str = "gpu"
    absent: Callable[[argparse.Namespace], str] = field(default=lambda args: "")

    @property
    def name(self) -> str:
        """Its name in the plan."""
        values = (
            f"{each:g}" if isinstance(each, int | float) else each for each in self.key.values()
        )
        return ", ".join((*(() if self.file == "gpu" else (self.file,)), *values))


def _speed(recipe: str, *, compiled: bool, minutes: float, value: int) -> Job:
    name = recipe if compiled else f"{recipe}, without compilation"
    key = {"part": "speed", "name": name}
    measure = partial(speed, recipe=recipe, compiled=compiled)
    return Job(key, measure, minutes, value, alone=True)


def _run(
    part: str, name: str, minutes: float, value: int, corpus: str, settings: Mapping[str, float]
) -> Job:
    recipe = CORPORA[corpus].recipe
    own = partial(train, recipe=recipe, corpus=corpus, settings=settings, name=name)
    return Job({"part": part, "name": name}, own, minutes, value, resumes=True)


def _grid() -> Iterator[Job]:
    rates: dict[str, dict[str, float]] = {
        "no further regularisation": {},
        "R-Drop, alpha 5": {"training.r_drop": 5},
        "BPE-dropout 0.1": {"training.bpe_dropout": 0.1},
        "R-Drop, alpha 5, dropout 0.1": {"training.r_drop": 5, "model.dropout": 0.1},
        "BPE-dropout 0.1, dropout 0.1": {"training.bpe_dropout": 0.1, "model.dropout": 0.1},
        "R-Drop, alpha 5, BPE-dropout 0.1, dropout 0.1": {
            **{"training.r_drop": 5, "training.bpe_dropout": 0.1, "model.dropout": 0.1}
        },
    }
    wide = {"model.d_model": 256, "model.d_ff": 512, "training.lr_scale": round(1.2 * 2**0.5, 3)}
    steps = {"training.max_steps": 36_000, "training.validate_steps": 500, "training.patience": 20}
    fixed_settings = steps | {"training.keep_last": KEPT}
    for d_model, width in ((256, wide), (128, {})):
        for name, own in rates.items():
            settings = fixed_settings | width | own
            yield _run("grid", f"d_model {d_model}, {name}", 25, 6, "multi30k", settings)


def _cells() -> Iterator[Job]:
    rows = [row for row in table3.ROWS if row.startswith("C, ") and row != "C, N = 2"]
    variants = [Variant(row, rate=rate) for row in rows for rate in RATES]
    for variant in (Variant("big", rate=1.0, cell=("pre", 0.3)), *variants):
        own = partial(table3_cell, variant=variant)
        yield Job({"name": variant.name}, own, 6, 4, resumes=True, file="table3")
    epochs = {"name": joeynmt.THEIRS, "epochs": 10}
    yield Job(epochs, joeynmt_epochs, 35, 3, resumes=True, file="joeynmt", absent=joeynmt_absent)
    for budget, systems, minutes in (
        (3.2e14, ["LSTM with attention"], 200),
        (None, [BASELINE, "ConvS2S", "LSTM with attention"], 300),
    ):
        key: dict[str, Any] = {"name": systems[-1], "budget": budget or CONVERGED}
        own = partial(table2_cells, systems=systems, flops=budget)
        yield Job(key, own, minutes, 2, resumes=True, file="table2")


JOBS = {
    job.name: job
    for job in (
        *(_speed(name, compiled=False, minutes=1.5, value=9) for name in ("base", "big")),
        Job({"part": "resume", "name": "multi30k"}, resume, 2, 8),
        Job({"part": "translation", "name": "base"}, translation, 2, 7, alone=True),
        *(_speed(name, compiled=True, minutes=5, value=7) for name in ("base", "big")),
        *_grid(),
        *(
            _run("sizes", f"{recipe}, Tatoeba en-{to}", minutes, 5, f"{recipe}-{to}", {})
            for recipe, to, minutes in (
                ("medium", "de", 15),
                ("medium", "fr", 15),
                ("large", "de", 25),
            )
        ),
        *_cells(),
    )
}


def chosen(args: argparse.Namespace) -> list[Job]:
    """The jobs that the options name, in the order in which they start."""
    named = [job for name, job in JOBS.items() if any(words in name for words in args.jobs)]
    return sorted(named, key=lambda job: -job.value)


def is_recorded(job: Job, args: argparse.Namespace) -> bool:
    """Whether a record of a finished job is in --out or in results."""
    folders = [records.RESULTS, args.out] if args.out else [records.RESULTS]
    paths = [folder / f"{job.file}.json" for folder in folders]
    found = (each for path in paths if path.exists() for each in read_json(path))
    return any(
        each.get("ended") != "no" and all(each.get(k) == v for k, v in job.key.items())
        for each in found
    )


def obstacle(job: Job, args: argparse.Namespace, minutes_left: float) -> str:
    """Why a job does not run; empty: it does."""
    if not args.again and is_recorded(job, args):
        return "recorded"
    if reason := job.absent(args):
        return reason
    if args.quick:
        return ""
    if job.resumes and job.minutes > LEASE * args.minutes:
        return f"{job.minutes:g} minutes are more than {LEASE} calls of {args.minutes:g}"
    needed = LEAST_MINUTES if job.resumes else job.minutes
    return "" if needed <= minutes_left else f"{needed:g} minutes do not fit in the rest"


# ---- the loop ------------------------------------------------------------------------------------


def run_job(name: str, args: argparse.Namespace, log: Path) -> None:
    """Run a job in this process; its output goes to a file."""
    with log.open("a") as stream:
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)
    torch.set_num_threads(args.threads)
    job = JOBS[name]
    try:
        for found in job.measure(args):
            seed, record = found.pop("seed", 1), {**job.key, **found}
            records.append(job.file, record, seed=seed, threads=args.threads, folder=args.out)
    except SignalError as error:
        print(error)
        sys.exit(128 + error.signal)


@dataclass
class Loop:
    """Runs jobs in their order until the time is up.

    stop: When running jobs are told to stop, as `time.monotonic` counts.
    end: When they are killed.
    """

    args: argparse.Namespace
    stop: float
    end: float
    running: dict[str, BaseProcess] = field(default_factory=dict, init=False)

    def run(self, jobs: list[Job]) -> None:
        """Run jobs, or say why they do not run."""
        waiting = list(jobs)
        try:
            while (waiting or self.running) and time.monotonic() < self.stop:
                while waiting and self.has_place(waiting[0]):
                    self.start(waiting.pop(0))
                self.collect()
        finally:
            self.finish()
        for job in waiting:
            self.say(job.name, obstacle(job, self.args, 0.0) or "no time left")

    def finish(self) -> None:
        """Stop the jobs that run, and kill those that do not stop in time."""
        for process in self.running.values():
            process.terminate()
        while self.running and time.monotonic() < self.end:
            self.collect()
        for process in self.running.values():
            process.kill()
            process.join()
        self.collect()

    def has_place(self, job: Job) -> bool:
        """Whether a job may start now: alone, or beside others that share the device."""
        if job.alone or any(JOBS[name].alone for name in self.running):
            return not self.running
        return len(self.running) < self.args.together

    def start(self, job: Job) -> None:
        """Start the process of a job, or say why it does not run."""
        if reason := obstacle(job, self.args, (self.stop - time.monotonic()) / 60):
            self.say(job.name, reason)
            return
        log = self.args.runs / "logs" / f"{slug(job.name)}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        process = _CONTEXT.Process(target=run_job, args=(job.name, self.args, log))
        process.start()
        self.running[job.name] = process
        self.say(job.name, "started")

    def collect(self) -> None:
        """Wait a moment, and report the jobs whose processes have ended."""
        time.sleep(0.05)
        for name, process in list(self.running.items()):
            process.join(timeout=0)
            if process.exitcode is not None:
                del self.running[name]
                self.say(name, _ENDS.get(process.exitcode, f"failed with {process.exitcode}"))

    def say(self, name: str, what: str) -> None:
        """Print what happens to a job, and when."""
        minutes = self.args.minutes - (self.end - time.monotonic()) / 60
        print(f"{minutes:5.1f} min  {name}: {what}", flush=True)


_CONTEXT = get_context("forkserver")  # CUDA does not survive a fork
_CONTEXT.set_forkserver_preload([joeynmt.__name__, table2.__name__, table3.__name__])
_ENDS = {
    0: "done",
    128 + signal.SIGTERM: "stopped, to be continued",
    -signal.SIGTERM: "stopped",
    -signal.SIGKILL: "killed",
}


def show_plan(jobs: Iterable[Job], args: argparse.Namespace) -> None:
    """Print the jobs in their order."""
    print("value  minutes  job")
    for job in jobs:
        reason = obstacle(job, args, args.minutes * (1 - ENDING))
        kind = "alone" if job.alone else "may continue later" if job.resumes else "beside others"
        print(f"{job.value:5}{job.minutes:9g}  {job.name}: {reason or kind}")


def merge(out: Path) -> None:
    """Add the records in a folder to results, and rewrite the pages."""
    for path in sorted(out.glob("*.json")):
        records.merge(path)
    pages.write()


def main(args: argparse.Namespace) -> None:
    """Prepare, plan, or run the jobs."""
    start = time.monotonic()
    if args.prepare:
        folder = prepare(args, args.prepare)
        size = sum(path.stat().st_size for path in args.prepare.rglob("*"))
        print(f"{folder}: {size / 2**20:.1f} MiB")
        return
    jobs = chosen(args)
    show_plan(jobs, args)
    if args.plan:
        return
    if args.quick:
        args.out = args.out or args.data.parent / "out"
        args.runs = args.out / "runs"
    if args.out is None:
        raise DataError("--out is missing: give the folder that receives the records")
    for folder in (args.out, args.runs):
        folder.mkdir(parents=True, exist_ok=True)
    if not (prepared := args.data / "prepared").exists():
        prepared = prepare(args, args.runs)
    args.prepared = prepared
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    end = start + 60 * args.minutes
    Loop(args, stop=end - 60 * args.minutes * ENDING, end=end).run(jobs)
    if args.record:
        merge(args.out)


if __name__ == "__main__":
    benchmark.run(main)
