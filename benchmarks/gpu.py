"""What needs a GPU, the most valuable first, within some minutes. Rerun to resume.

1. speed: training speed of `base` and `big` in bfloat16, and model FLOPs utilisation (MFU):

       MFU = counted FLOPs per target token x target tokens per second / peak FLOPS of the device

   as a share of the peak that the manufacturer states and of the fastest matrix product measured.
2. resume: the weights of a run, of the same run again, and of the same run stopped and resumed.
3. grid: Multi30k with more regularisation, at two widths and to the end of the dev loss.
4. sizes: the recipes for larger corpora, on Tatoeba.

The runs of 3 and 4 train at the same time, each in its own process, and are stopped at the end.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import yakusu
from benchmarks.common import Benchmark
from benchmarks.quick import SETTINGS
from benchmarks.records import RESULTS, Record
from benchmarks.runs import RECIPES, curve
from benchmarks.speed.yakusu_loop import TimeUpError
from benchmarks.tables import FilledTable, fill, fixed, score_of
from yakusu.data.batches import epoch_steps
from yakusu.data.pairs import Pairs
from yakusu.device import disable_cudnn_attention, made_by, pick_device
from yakusu.errors import YakusuError
from yakusu.folder import read_json
from yakusu.metrics import Score
from yakusu.model.architectures import build
from yakusu.progress import Silent, Tracker
from yakusu.training.flops import count_flops
from yakusu.training.step import load_batch
from yakusu.training.trainer import Trainer, TrainingData, TrainingOutput

PARTS = ("speed", "resume", "grid", "sizes")
PEAK = {"H100": 989e12, "H200": 989e12, "A100": 312e12}  # bfloat16, without sparsity
KEPT = 10  # checkpoints to average
WARMUP_STEPS = 30
WIDE = {"model.d_model": 256, "model.d_ff": 512, "training.lr_scale": round(1.2 * 2**0.5, 3)}


@dataclass(frozen=True)
class Run:
    """A training run.

    recipe: Its name or path.
    corpus: Folder of the corpus in the data, and the prefixes of its parts.
    languages: Of source and target.
    settings: Settings that differ from the recipe.
    """

    recipe: str
    corpus: str
    parts: tuple[str, str]
    languages: tuple[str, str]
    settings: Mapping[str, float]


def _grid() -> Iterator[tuple[str, Run]]:
    widths: tuple[dict[str, float], ...] = ({}, WIDE)
    regularised: dict[str, dict[str, float]] = {
        "no further regularisation": {},
        "R-Drop, alpha 5": {"training.r_drop": 5},
        "R-Drop, alpha 1": {"training.r_drop": 1},
        "BPE-dropout 0.1": {"training.bpe_dropout": 0.1},
        "R-Drop, alpha 5, dropout 0.1": {"training.r_drop": 5, "model.dropout": 0.1},
        "BPE-dropout 0.1, dropout 0.1": {"training.bpe_dropout": 0.1, "model.dropout": 0.1},
    }
    for name, own in regularised.items():
        for width in widths:
            steps = {"training.max_steps": 36_000, "training.validate_steps": 500}
            recipe, d_model = str(RECIPES / "multi30k.toml"), width.get("model.d_model", 128)
            yield (
                f"d_model {d_model:.0f}, {name}",
                Run(recipe, "multi30k", ("train", "val"), ("en", "de"), steps | width | own),
            )


GRID = dict(_grid())
SIZES = {
    f"{recipe}, Tatoeba en-{target}": Run(
        recipe, f"tatoeba/en-{target}", ("train", "dev"), ("en", target), {}
    )
    for recipe, target in (("medium", "de"), ("medium", "fr"), ("large", "de"))
}
TOGETHER = {"grid": GRID, "sizes": SIZES}

benchmark = Benchmark(
    "gpu",
    __doc__,
    example="python -m benchmarks.gpu --minutes 9 --runs runs/gpu --record --out results",
    needs=["data", "runs"],
    quick={"minutes": 0.3, "seconds": 1.0, "steps": 2, "parts": ["resume", "grid"]},
)
benchmark.option("--minutes", type=float, default=9.0, help="time for everything (%(default)s)")
benchmark.option("--seconds", type=float, default=40.0, help="for each speed (%(default)s)")
benchmark.option("--steps", type=int, default=200, help="of the resumed run (%(default)s)")
benchmark.option("--parts", nargs="+", default=list(PARTS), choices=PARTS, help="default: all")
benchmark.option("--rows", nargs="+", default=[""], help="words in the names of the runs to train")
benchmark.option("--out", type=Path, help="folder that receives results/gpu.json and all logs")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Speed, resumption and the runs that trained together."""
    by_part: dict[str, list[Record]] = {}
    for record in records:
        by_part.setdefault(record["part"], []).append(record)
    speed, resume = by_part.get("speed", []), by_part.get("resume", [])
    if speed:
        yield fill(_SPEED, speed, speed, "Training speed")
    if resume:
        yield fill(_RESUME, resume, resume, "Resuming on a GPU")
    for part, title in (("grid", "Regularisation and width, Multi30k en-de"), ("sizes", "Sizes")):
        if runs := by_part.get(part, []):
            yield fill(_RUNS, runs, runs, title)


_SPEED = (
    ("Recipe", "{name}"),
    ("Target tokens per second", "{tokens_per_second:,.0f}"),
    ("FLOPs per target token", "{flops_per_token:.3g}"),
    ("MFU, stated peak", "{mfu_stated:.1%}"),
    ("MFU, measured peak", "{mfu_measured:.1%}"),
    ("GiB at most", "{gib:,.1f}"),
)
_RESUME = (
    ("Run", "{name}"),
    ("Steps", "{steps}"),
    ("The same run again", lambda record: _equal(record["again"])),
    ("Stopped half-way and resumed", lambda record: _equal(record["resumed"])),
)


def _equal(same: bool) -> str:
    return "equal bytes" if same else "other bytes"


def _lowest(record: Mapping[str, Any] | Record) -> dict[str, Any]:
    return min(record["curve"], key=lambda point: point["dev_perplexity"])


_RUNS = (
    ("Run", "{name}"),
    ("Steps", "{steps:,.0f}"),
    ("Ended", "{ended}"),
    ("Lowest dev perplexity", lambda record: fixed(_lowest(record)["dev_perplexity"])),
    ("at step", lambda record: fixed(_lowest(record)["step"], 0)),
    (
        "Best dev BLEU of a checkpoint",
        lambda record: fixed(max(point["dev_bleu"] for point in record["curve"])),
    ),
    (f"Dev BLEU of the last {KEPT}, averaged", score_of("averaged")),
)


# ---- 1. speed ------------------------------------------------------------------------------------


class Stopwatch(Silent):
    """Progress reporter that notes the time of each step and ends a run after some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, float("inf")
        self.trainer: Trainer | None = None
        self.steps: list[tuple[float, int]] = []  # time, target tokens so far

    def track(self, what: str, unit: str, total: int | None) -> nullcontext[Tracker]:
        """Return itself as the tracker of the steps."""
        return nullcontext(self)

    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        """Note a finished step."""
        assert self.trainer
        now = time.perf_counter()
        if len(self.steps) == WARMUP_STEPS:  # the first ones compile the model
            self._end = now + self._seconds
        self.steps.append((now, self.trainer.state.target_tokens))
        if now >= self._end:
            raise TimeUpError

    @property
    def tokens_per_second(self) -> float:
        """Speed in the second half of the steps, after all kernels have been compiled."""
        (start, before), (end, after) = self.steps[len(self.steps) // 2], self.steps[-1]
        return (after - before) / (end - start)


def speed(name: str, prepared: Path, seconds: float) -> dict[str, Any]:
    """Train with a recipe of the paper for some seconds, on sentences of TED talks."""
    device, recipe = pick_device("auto"), yakusu.load_recipe(name)
    disable_cudnn_attention()
    pairs, size = Pairs.open(prepared / "data", "train"), recipe.tokenizer.vocab_size
    torch.manual_seed(1)
    model = build(recipe.model, src_vocab_size=size, tgt_vocab_size=size).to(device)
    watch = Stopwatch(seconds)
    trainer = watch.trainer = Trainer(
        model,
        TrainingData(pairs, Pairs.open(prepared / "data", "dev"), recipe.batches, seed=1),
        config=recipe.training.model_copy(update={"checkpoint_minutes": 0.0}),
        score=lambda model: Score("BLEU", 0.0, "not measured"),
        output=TrainingOutput(prepared / "never", record=lambda event: None, progress=watch),
    )
    with suppress(TimeUpError):
        trainer.run()
    memory = torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else 0.0
    per_token = _flops_per_token(trainer, pairs)
    used = per_token * watch.tokens_per_second
    name = made_by(device).hardware.device
    stated = next((peak for known, peak in PEAK.items() if known in name), float("nan"))
    return {
        "tokens_per_second": watch.tokens_per_second,
        "steps": len(watch.steps),
        "flops_per_token": per_token,
        "mfu_stated": used / stated,
        "mfu_measured": used / measured_peak(device),
        "gib": memory,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


def _flops_per_token(trainer: Trainer, pairs: Pairs) -> float:
    """Counted FLOPs per target token in the batches of a step."""
    sizes = trainer.data.batches
    batch_tokens = trainer.state.batch_tokens
    steps = epoch_steps(
        pairs, step_tokens=sizes.step_tokens, batch_tokens=batch_tokens, seed=1, epoch=0
    )
    n_tokens = sum(int(pairs.tgt.lengths_of(batch).sum()) for batch in steps[0])
    loaded = (load_batch(pairs, batch, trainer.model) for batch in steps[0])
    return count_flops(trainer.model, loaded) / n_tokens


def measured_peak(device: torch.device) -> float:
    """FLOPS of the fastest of 30 products of random bfloat16 matrices."""
    size = 512 if device.type == "cpu" else 8192
    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    fastest = float("inf")
    for _ in range(30):
        start = time.perf_counter()
        float((a @ b)[0, 0])  # waits for the device
        fastest = min(fastest, time.perf_counter() - start)
    return 2 * size**3 / fastest


# ---- 2. resume -----------------------------------------------------------------------------------


def resume(args: argparse.Namespace) -> dict[str, Any]:
    """Compare the weights of a run, of its repetition, and of a run stopped half-way."""

    def weights(name: str, *stops: int) -> str:
        run = args.runs / f"resume-{name}"
        for steps in stops:
            settings = [
                *(f'run="{run}"', f"training.max_steps={steps}"),
                *(f"training.validate_steps={max(1, args.steps // 4)}", *_further(args)),
            ]
            made = yakusu.train(yakusu.load_recipe(RECIPES / "multi30k.toml", settings))
        return hashlib.sha256((made.model / "model.safetensors").read_bytes()).hexdigest()

    once = weights("once", args.steps)
    return {
        "steps": args.steps,
        "again": weights("again", args.steps) == once,
        "resumed": weights("stopped", args.steps // 2, args.steps) == once,
    }


# ---- 3 and 4. runs at the same time --------------------------------------------------------------


def command(run: Run, folder: Path, args: argparse.Namespace) -> list[str]:
    """The command that trains a run or resumes it."""
    (source, target), corpus = run.languages, args.data / run.corpus
    texts = {
        key: f'{{src="{corpus / part}.{source}", tgt="{corpus / part}.{target}"}}'
        for key, part in zip(("train", "dev"), run.parts, strict=True)
    }
    settings = [
        *(f"data.{key}={value}" for key, value in texts.items()),
        *(f'data.source_language="{source}"', f'data.target_language="{target}"'),
        *(f"{key}={value}" for key, value in run.settings.items()),
        *("training.engine=native", f"training.keep_last={KEPT}", *_further(args)),
    ]
    words = [word for setting in settings for word in ("--set", setting)]
    return [sys.executable, "-m", "yakusu", "train", run.recipe, "--run", str(folder), *words]


def _further(args: argparse.Namespace) -> list[str]:
    return ["model.n_layers=1", "batches.step_tokens=500", *SETTINGS] if args.quick else []


def train_together(runs: Mapping[str, Run], args: argparse.Namespace, end: float) -> None:
    """Train all runs that have not ended, each in its own process, and stop them at a time."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    processes = []
    for place, (name, run) in enumerate(runs.items()):
        folder = folder_of(name, args.runs)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_suffix(".log").open("a") as log:
            processes.append(
                subprocess.Popen(
                    command(run, folder, args), stdout=log, stderr=log, env=environment
                )
            )
        time.sleep(0 if place else min(20.0, args.seconds))  # the first one fills the cache
    while time.time() < end and any(process.poll() is None for process in processes):
        time.sleep(1)
    for process in processes:
        process.terminate()
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=30)


def folder_of(name: str, runs: Path) -> Path:
    """The folder of a run."""
    return runs / "".join(letter if letter.isalnum() else "-" for letter in name)


def trained(name: str, run: Run, args: argparse.Namespace) -> dict[str, Any] | None:
    """What a run has reached; None before its first validation."""
    folder = folder_of(name, args.runs)
    points = curve(folder) if (folder / "log.jsonl").exists() else []
    if not points:
        return None
    receipt = folder / "model" / "receipt.json"
    steps = read_json(receipt)["steps"] if receipt.exists() else points[-1]["step"]
    limit = run.settings.get("training.max_steps")
    ended = "no" if not receipt.exists() else "at its limit" if steps == limit else "by patience"
    return {
        "settings": dict(run.settings),
        "recipe": Path(run.recipe).stem,
        "steps": steps,
        "ended": ended,
        "averaged": _averaged(folder, run, args, last=min(KEPT, len(points))),
        "curve": points,
    }


def _averaged(folder: Path, run: Run, args: argparse.Namespace, *, last: int) -> str:
    """Dev BLEU of the average of the last checkpoints."""
    (source, target), dev = run.languages, args.data / run.corpus / run.parts[1]
    out = folder.with_name(f"{folder.name}-average")
    shutil.rmtree(out, ignore_errors=True)
    try:
        yakusu.average(folder, last=last, out=out)
        lowercase = yakusu.load_recipe(folder / "recipe.toml").tokenizer.lowercases
        src, ref = f"{dev}.{source}", f"{dev}.{target}"
        return str(yakusu.evaluate_model(out, src, ref, lowercase=lowercase)[0])
    except YakusuError as error:
        return str(error)


# ---- the whole -----------------------------------------------------------------------------------


def prepared_talks(args: argparse.Namespace) -> Path:
    """Binarise the sentences that speed is measured on."""
    run: Path = args.runs / "talks"
    src, tgt, dev_src, dev_tgt = (
        args.data / "iwslt14" / f"{part}.tok.{language}"
        for part in ("train_lr", "valid")
        for language in ("en", "de")
    )
    settings = ["tokenizer.vocab_size=8000"]
    yakusu.prepare(
        yakusu.load_recipe(
            "base", settings, run=run, src=src, tgt=tgt, dev_src=dev_src, dev_tgt=dev_tgt
        )
    )
    return run


def main(args: argparse.Namespace) -> None:
    """Run the parts in their order until the time is up."""
    end = time.time() + 60 * args.minutes
    args.runs.mkdir(parents=True, exist_ok=True)
    if "speed" in args.parts:
        talks = prepared_talks(args)
        for name in ("base", "big"):
            _record("speed", name, speed(name, talks, args.seconds))
            torch.cuda.empty_cache()
    if "resume" in args.parts:
        _record("resume", "multi30k", resume(args))
    chosen = {part: runs for part, runs in TOGETHER.items() if part in args.parts}
    chosen = {
        part: {name: run for name, run in runs.items() if any(row in name for row in args.rows)}
        for part, runs in chosen.items()
    }
    if args.quick:
        chosen = {part: dict(list(runs.items())[:2]) for part, runs in chosen.items()}
    together = {name: run for runs in chosen.values() for name, run in runs.items()}
    if together:
        train_together(together, args, end)
    for part, runs in chosen.items():
        for name, run in runs.items():
            if found := trained(name, run, args):
                _record(part, name, found)
    if args.out and args.record:
        args.out.mkdir(parents=True, exist_ok=True)
        shutil.copy(RESULTS / "gpu.json", args.out)


def _record(part: str, name: str, found: Mapping[str, Any]) -> None:
    shown = {key: value for key, value in found.items() if key not in ("curve", "settings")}
    print(f"{part}, {name}: {shown}", flush=True)
    benchmark.record({"part": part, "name": name, **found})


if __name__ == "__main__":
    benchmark.run(main)
