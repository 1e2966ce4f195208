"""What the jobs of `benchmarks.gpu` measure, and the data that they read.

Each function takes the options and yields what is recorded. Training runs are in `args.runs`, and
prepared corpora in `args.prepared`.
"""

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

import yakusu
from benchmarks import runs
from benchmarks.paper import joeynmt, table2, table3
from benchmarks.paper.table2_rows import BASELINE
from benchmarks.paper.table3_rows import Variant
from benchmarks.quick import SETTINGS
from benchmarks.reliability.kills import result_hash
from benchmarks.runs import RECIPES, Remarks, curve, slug
from benchmarks.services import Service
from benchmarks.speed import yakusu_loop
from benchmarks.speed.plain import SHAPES, SOURCE_LENGTHS, random_sources, write_random
from benchmarks.speed.systems import System, check_lengths, in_turns, searching, summary
from benchmarks.speed.training_profile import product_rate
from yakusu.device import made_by, pick_device
from yakusu.errors import RunError, SignalError
from yakusu.folder import read_json
from yakusu.model.architectures import build
from yakusu.pipeline.receipts.facts import flops_per_token
from yakusu.progress import Tracker
from yakusu.recipe import Recipe, changes

PEAK = {"H100": 989e12, "H200": 989e12, "A100": 312e12}  # bfloat16, without sparsity
KEPT = 10  # checkpoints that are averaged in the grid
WARMUP_STEPS = 30  # the first ones compile the model
OURS, PEER = System("torch float32"), System("CTranslate2 float16", (1, 1))
PACKED = "gpu.tar.xz"
QUICK = (
    *("model.n_layers=1", "model.d_model=16", "model.d_ff=32", "model.n_heads=2"),
    *("batches.step_tokens=500", "training.max_steps=4", "training.validate_steps=2"),
    *("training.compile=no", *SETTINGS),
)


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


def prepare(args: argparse.Namespace, folder: Path) -> None:
    """Binarise all corpora below a folder, and copy their test sets."""
    for name, corpus in CORPORA.items():
        runs.prepare(recipe_of(name, args), folder / "prepared" / name)
        for language in corpus.languages if corpus.test else ():
            copied = folder / f"{corpus.test}.{language}"
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(args.data / f"{corpus.test}.{language}", copied)


def pack(args: argparse.Namespace, folder: Path) -> Path:
    """Prepare the corpora and pack them into one file of a folder."""
    with TemporaryDirectory() as scratch:
        prepare(args, Path(scratch))
        shutil.make_archive(str(folder / PACKED.partition(".")[0]), "xztar", scratch)
    return folder / PACKED


def open_data(args: argparse.Namespace) -> None:
    """Prepare the corpora in the folder of the runs, or unpack them, and set `args.prepared`."""
    packed, folder = args.data / PACKED, args.runs / "data"
    if not folder.exists():
        made = folder.with_name(".data")
        if packed.exists():
            shutil.unpack_archive(packed, made, filter="data")
        else:
            prepare(args, made)
        made.rename(folder)
    if packed.exists():
        args.data = folder
        os.environ["YAKUSU_DATA"] = str(folder)  # the recipes refer to it
    args.prepared = folder / "prepared"


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
    memory = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
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
        "gib": memory / 2**30,
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
        settings = {**OURS.load, "threads": args.threads, "device": device}
        services[OURS]("load_plain", folder=str(plain), **settings)
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
    stopped: SignalError | None = None
    try:
        facts = runs.train(recipe_of(corpus, args, own), folder, data=data_of(corpus, args))
    except SignalError as error:
        stopped = error
    if points := curve(folder) if (folder / "log.jsonl").exists() else []:
        yield {
            "settings": dict(settings),
            "recipe": Path(recipe).stem,
            "steps": facts.get("steps", points[-1]["step"]),
            "ended": facts.get("limit", "no"),
            "curve": points,
            **_scores(folder, corpus, facts, args),
        }
    if stopped:
        raise stopped


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
        flops, systems = 1.6e10, [BASELINE]
        words += [*SETTINGS, "--grid-flops", "8e9", "--step-tokens", "60", "--seeds", "1"]
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
