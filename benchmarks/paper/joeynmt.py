"""Tatoeba English-German: yakusu's recipe `medium`, and JoeyNMT 2.3 with its recipe for this size.

JoeyNMT's recipe is that of its published IWSLT 2014 de-en model (160,000 sentence pairs): 6 layers
of width 256, dropout 0.3, 32,000 pieces, steps of 4,096 tokens, and a learning rate that is reduced
when dev BLEU stops rising. Three settings differ: the text is not lower-cased, it is segmented by
SentencePiece, and the learning rate has no minimum. JoeyNMT runs in its own environment, through
benchmarks/peers/joeynmt_main.py. Both systems use a GPU if there is one.

Both models are trained for the same number of epochs and search with the same beam. JoeyNMT counts
padding as tokens and does not sort sentences by length, so its steps have fewer real tokens than
those of yakusu (4,000), and an epoch has more of them; the records hold the numbers of steps. The
default of 10 epochs is a small part of what either recipe is made for, so the comparison shows
which recipe has the higher score after short training. yakusu has a smaller model (4 layers) and
fewer pieces (16,000), as its recipe says, and saves a checkpoint about twice per epoch (`BUDGET`).
It averages the last five, and JoeyNMT, which is validated every 1,000 steps, uses the one with the
best dev BLEU, as its published model does. A finished run is not trained again, only scored. Each
epoch of JoeyNMT runs in a separate process with a different seed, and continues from the last
checkpoint of the previous epoch. An interrupted epoch is repeated from its beginning.

The dev set is translated. With --test, the test set is translated as well; use --test only once,
when all settings are fixed.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import sentencepiece
import torch

import yakusu
from benchmarks.common import Benchmark
from benchmarks.quick import SETTINGS
from benchmarks.runs import Remarks, curve, open_translator
from benchmarks.tables import Table, score_of
from yakusu.data.files.text import read_lines
from yakusu.errors import DataError
from yakusu.folder import read_json, write_json, write_text

OURS, THEIRS = "yakusu, medium", "JoeyNMT 2.3, transformer_iwslt14_deen_bpe"
PIECES, BEAM, DROPOUT = 32_000, 5, 0.3
BUDGET = ("batches.step_tokens=4000", "training.validate_steps=200")
CORPUS = Path("tatoeba", "en-de")
MAIN = Path(__file__).parents[1] / "peers" / "joeynmt_main.py"

benchmark = Benchmark(
    "joeynmt",
    __doc__,
    example="python -m benchmarks.paper.joeynmt --runs runs/joeynmt --peer-python peers/bin/python",
    needs=["data", "runs"],
    quick={
        "set": [*SETTINGS, "model.n_layers=1", "batches.step_tokens=500"],
        "epochs": 2,
        "test": True,
        "pieces": 110,
        "width": 16,
    },
)
benchmark.option("--epochs", type=int, default=10, help="epochs of each system (%(default)s)")
benchmark.option("--test", action="store_true", help="also translate the test set")
benchmark.option("--peer-python", help="Python of an environment with JoeyNMT")
benchmark.option("--set", nargs="+", default=[], help="settings of yakusu's run, key=value")
benchmark.option("--pieces", type=int, default=PIECES, help=argparse.SUPPRESS)
benchmark.option("--width", type=int, default=256, help=argparse.SUPPRESS)


tables = Table(
    (
        ("System", "{name}"),
        ("Parameters", "{parameters:,.0f}"),
        ("Epochs", "{epochs:,.0f}"),
        ("Steps", "{steps:,.0f}"),
        ("Minutes", "{minutes:,.0f}"),
        ("Dev BLEU", score_of("dev")),
        ("Test BLEU", score_of("test")),
    )
)


# ---- JoeyNMT -------------------------------------------------------------------------------------


def learn_pieces(corpus: Path, folder: Path, n_pieces: int) -> None:
    """Write a SentencePiece model and its pieces, which JoeyNMT reads as a vocabulary."""
    sentencepiece.SentencePieceTrainer.train(
        input=[f"{corpus}/train.en", f"{corpus}/train.de"],
        model_prefix=str(folder / "pieces"),
        vocab_size=n_pieces,
        model_type="bpe",
        character_coverage=1.0,
        minloglevel=2,
    )
    model = sentencepiece.SentencePieceProcessor(str(folder / "pieces.model"))
    pieces = [
        model.id_to_piece(i)
        for i in range(n_pieces)
        if not (model.is_control(i) or model.is_unknown(i))
    ]
    write_text(folder / "pieces.txt", "".join(f"{each}\n" for each in pieces))


def config_of(corpus: Path, folder: Path, epoch: int, width: int) -> dict[str, Any]:
    """Return JoeyNMT's configuration for one epoch, counted from 1."""
    last = str(folder / f"epoch-{epoch - 1}" / "latest.ckpt") if epoch > 1 else None
    return {
        "name": "tatoeba-en-de",
        "model_dir": str(folder / f"epoch-{epoch}"),
        "use_cuda": torch.cuda.is_available(),
        "random_seed": 42 + epoch,
        "data": _data(corpus, folder),
        "testing": {
            "beam_size": BEAM,
            "beam_alpha": 1.0,
            "max_output_length": 100,
            "eval_metrics": ["bleu"],
        },
        "training": {**_training(), "epochs": epoch, "load_model": last},
        "model": _model(width),
    }


def _data(corpus: Path, folder: Path) -> dict[str, Any]:
    side = {
        "level": "bpe",
        "lowercase": False,
        "max_length": 62,
        "voc_file": str(folder / "pieces.txt"),
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(folder / "pieces.model"), "pretokenizer": "none"},
    }
    return {
        "train": str(corpus / "train"),
        "dev": str(corpus / "dev"),
        "dataset_type": "plain",
        "src": {"lang": "en", **side},
        "trg": {"lang": "de", **side},
    }


def _model(width: int) -> dict[str, Any]:
    stack = {
        "type": "transformer",
        "num_layers": 6,
        "num_heads": 4,
        "embeddings": {"embedding_dim": width, "scale": True, "dropout": 0.0},
        "hidden_size": width,
        "ff_size": 4 * width,
        "dropout": DROPOUT,
        "layer_norm": "pre",
    }
    return {
        "initializer": "xavier_uniform",
        "embed_initializer": "xavier_uniform",
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": stack,
        "decoder": stack,
    }


def _training() -> dict[str, Any]:
    return {
        "optimizer": "adam",
        "normalization": "tokens",
        "adam_betas": [0.9, 0.999],
        "scheduling": "plateau",
        "patience": 5,
        "decrease_factor": 0.7,
        "learning_rate": 0.0003,
        "learning_rate_min": 0,  # 1e-8 in the recipe; JSON writes 1e-08, which YAML reads as text
        "label_smoothing": 0.1,
        "batch_size": 4096,
        "batch_type": "token",
        "early_stopping_metric": "bleu",
        "validation_freq": 1000,
        "logging_freq": 100,
        "keep_best_ckpts": 1,
        "overwrite": True,
        "shuffle": True,
    }


def train_epoch(corpus: Path, folder: Path, epoch: int, args: argparse.Namespace) -> float:
    """Train JoeyNMT for one epoch, unless it is finished; return its duration in seconds."""
    finished, config = folder / f"epoch-{epoch}" / "seconds.json", folder / "config.yaml"
    if not finished.exists():
        # JSON is YAML.
        write_json(config, config_of(corpus, folder, epoch, args.width))
        start = time.monotonic()
        _joeynmt(args, "train", config, "--skip-test")
        write_json(finished, {"seconds": time.monotonic() - start})
    seconds: float = read_json(finished)["seconds"]
    return seconds


def run_joeynmt(corpus: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Train JoeyNMT, and return its translations and facts about the training."""
    folder = (args.runs / "joeynmt").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "pieces.txt").exists():
        learn_pieces(corpus, folder, args.pieces)
    epochs = range(1, args.epochs + 1)
    seconds = [train_epoch(corpus, folder, epoch, args) for epoch in epochs]
    last, config = folder / f"epoch-{args.epochs}", folder / "translate.yaml"
    settings = config_of(corpus, folder, args.epochs, args.width)
    # Only epochs with a new best dev BLEU have best.ckpt. If none has, the last checkpoint is used.
    best = [path for k in epochs if (path := folder / f"epoch-{k}" / "best.ckpt").exists()]
    settings["testing"]["load_model"] = str(best[-1]) if best else None
    write_json(config, settings)
    log = (folder / "epoch-1" / "train.log").read_text("utf-8")
    return {
        "texts": {
            part: _joeynmt(args, "translate", config, source=corpus / f"{part}.en").split("\n")[:-1]
            for part in args.parts
        },
        "minutes": round(sum(seconds) / 60, 1),
        "parameters": int(re.findall(r"Total params: (\d+)", log)[-1]),
        "steps": int((last / "latest.ckpt").resolve().stem),
        "seed": settings["random_seed"],
        "recipe": {"training": _training(), "beam": BEAM, "model": settings["model"]},
    }


def _joeynmt(
    args: argparse.Namespace, mode: str, config: Path, *options: str, source: Path | None = None
) -> str:
    done = subprocess.run(
        [args.peer_python, str(MAIN), mode, str(config), *options],
        input=source.read_text("utf-8") if source else "",
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": str(args.threads)},
    )
    if done.returncode:
        raise DataError(f"JoeyNMT ended with an error: {done.stderr.strip()[-500:]}")
    return done.stdout


# ---- yakusu --------------------------------------------------------------------------------------


def run_yakusu(corpus: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Train with the recipe `medium`; return the translations and facts about the training."""
    files = {
        f"{part}{side}": str(corpus / f"{name}.{language}")
        for part, name in (("", "train"), ("dev_", "dev"))
        for side, language in (("src", "en"), ("tgt", "de"))
    }
    epochs, beam = f"training.max_epochs={args.epochs}", f"search.beam={BEAM}"
    settings = [*BUDGET, epochs, beam, *args.set]
    run = args.runs / f"yakusu-{args.epochs}"
    recipe = yakusu.load_recipe("medium", settings, run=run, **files)
    trained = yakusu.train(recipe, progress=Remarks(run.name))
    translator = open_translator(trained.model, threads=args.threads)
    return {
        "texts": {
            part: translator.translate(list(read_lines(corpus / f"{part}.en")))
            for part in args.parts
        },
        "minutes": round(trained.seconds / 60, 1),
        "parameters": read_json(trained.model / "receipt.json")["parameters"],
        "steps": trained.steps,
        "reason": trained.reason,
        "curve": curve(run),
        "seed": recipe.seed,
        "recipe": recipe.model_dump(mode="json", exclude={"run", "data"}),
    }


SYSTEMS = {OURS: run_yakusu, THEIRS: run_joeynmt}


def measure(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Train a system, translate `args.parts`, and return scores, facts and the seed."""
    corpus = (args.data / CORPUS).absolute()
    facts = SYSTEMS[name](corpus, args)
    texts = facts.pop("texts")
    found = {
        part: str(yakusu.evaluate(texts[part], corpus / f"{part}.de")[0]) for part in args.parts
    }
    return {"name": name, **found, "epochs": args.epochs, **facts}


def main(args: argparse.Namespace) -> None:
    """Train both, and score their translations."""
    args.parts = ["dev", "test"] if args.test else ["dev"]
    systems = list(SYSTEMS)
    if not args.peer_python:
        if args.record:
            raise DataError("--record needs both systems: give --peer-python, or omit --record")
        print("JoeyNMT is skipped: --peer-python is not given", file=sys.stderr)
        systems.remove(THEIRS)
    for name in systems:
        found = measure(name, args)
        seed = found.pop("seed")
        benchmark.record(found, seed=seed)
        for part in args.parts:
            print(f"{name}, {part}: {found[part]}", flush=True)


if __name__ == "__main__":
    benchmark.run(main)
