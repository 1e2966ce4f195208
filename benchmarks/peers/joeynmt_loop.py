"""Peer: JoeyNMT 2.3.0, through its own configuration, data loading, model and ``TrainManager``.

The pairs are written to a temporary folder as plain text, one token per id, and JoeyNMT is
started on it as its ``train`` command does. It shuffles, batches by padded tokens without grouping
by length, sorts each batch by source length, and takes Noam-scheduled Adam steps on its XentLoss.
A sentence ends with JoeyNMT's own symbol, and its vocabulary has one symbol more, for the start.

JoeyNMT's code is not patched. Two settings keep its training loop running until the time is up: a
Noam schedule, because it requires one, and no lower limit of the learning rate, which it would
otherwise reach during warm-up. Validation is disabled.
"""

import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from joeynmt.batch import Batch
from joeynmt.config import parse_global_args, set_validation_args
from joeynmt.prediction import prepare
from joeynmt.training import TrainManager

from .common import EOS, LABEL_SMOOTHING, UNK, Pair, Sizes, Stopwatch, Throughput

NEVER = 10**9


class TimedTrainManager(TrainManager):
    """JoeyNMT's trainer, stopped when the time of a stopwatch is up."""

    def __init__(self, watch: Stopwatch, **settings: Any) -> None:
        super().__init__(**settings)
        self.watch = watch
        self.last_batch: Batch | None = None

    def _train_step(self, batch: Batch) -> tuple[float, int]:
        # Called before the optimizer step, so a batch is counted when the next one arrives.
        if self.last_batch is not None:
            source, target = self.last_batch.src, self.last_batch.trg
            if self.watch.step_done(source, target, self.model.pad_index):
                self.stats.is_max_update = True  # ends the loop after the current step
        self.last_batch = batch
        loss, correct = super()._train_step(batch)
        return loss, correct


def _text(ids: list[int]) -> str:
    """Return the sentence as words, without eos, which JoeyNMT adds itself."""
    return " ".join("<unk>" if token == UNK else f"t{token}" for token in ids if token != EOS)


def _write_data(folder: Path, pairs: list[Pair], sizes: Sizes) -> None:
    """Write training pairs, a required development set of one sentence, and the vocabulary."""
    filled = [pair for pair in pairs if min(map(len, pair)) > 1]  # JoeyNMT accepts no empty line
    for side, language in enumerate(("src", "trg")):
        lines = [_text(pair[side]) + "\n" for pair in filled]
        (folder / f"train.{language}").write_text("".join(lines))
        (folder / f"dev.{language}").write_text(lines[0])
    words = [f"t{token}\n" for token in range(UNK + 1, sizes.pad)]
    (folder / "vocab.txt").write_text("".join(words))


def _model_config(sizes: Sizes) -> dict[str, Any]:
    """Return the ``model`` section: a post-norm Transformer that shares all its embeddings."""
    stack = {
        "type": "transformer",
        "num_layers": sizes.n_layers,
        "num_heads": sizes.n_heads,
        "embeddings": {"embedding_dim": sizes.d_model, "scale": True, "dropout": sizes.dropout},
        "hidden_size": sizes.d_model,
        "ff_size": sizes.d_ff,
        "dropout": sizes.dropout,
        "layer_norm": "post",
        "activation": "relu",
    }
    ties = {"tied_embeddings": True, "tied_softmax": True}
    return {"initializer": "xavier_uniform", "encoder": stack, "decoder": dict(stack), **ties}


def _config(folder: Path, sizes: Sizes, tokens_per_batch: int, seed: int) -> dict[str, Any]:
    """Return a complete JoeyNMT configuration, as in its YAML files."""
    side = {"level": "word", "voc_file": str(folder / "vocab.txt")}
    data = {"train": str(folder / "train"), "dev": str(folder / "dev"), "dataset_type": "plain"}
    training = {
        "optimizer": "adam",
        "adam_betas": [0.9, 0.98],
        "scheduling": "noam",
        "learning_rate_min": 0.0,
        "label_smoothing": LABEL_SMOOTHING,
        "normalization": "tokens",
        "batch_type": "token",
        "batch_size": tokens_per_batch,
        "epochs": NEVER,
        "validation_freq": NEVER,
        "shuffle": True,
    }
    return {
        "name": "throughput",
        "model_dir": str(folder),
        "use_cuda": False,
        "random_seed": seed,
        "data": {**data, "src": {**side, "lang": "src"}, "trg": {**side, "lang": "trg"}},
        "testing": {"eval_metrics": []},
        "training": training,
        "model": _model_config(sizes),
    }


def _train(config: dict[str, Any], watch: Stopwatch) -> None:
    """Train as ``joeynmt.training.train`` does on one CPU, with the timed trainer."""
    args = parse_global_args(config, rank=0, mode="train")
    model, train_data, dev_data, _ = prepare(args, rank=0, mode="train")
    trainer = TimedTrainManager(
        watch,
        rank=0,
        model=model,
        model_dir=args.model_dir,
        device=args.device,
        n_gpu=args.n_gpu,
        num_workers=args.num_workers,
        autocast=args.autocast,
        seed=args.seed,
        train_args=args.train,
        dev_args=set_validation_args(args.test),
    )
    trainer.train_and_validate(train_data=train_data, valid_data=dev_data)


def train_tokens_per_second(
    pairs: list[Pair], sizes: Sizes, *, tokens_per_batch: int, seconds: float, seed: int
) -> Throughput:
    """Train for about ``seconds``; here ``tokens_per_batch`` counts padding, as JoeyNMT does."""
    watch = Stopwatch(seconds)
    previous = logging.root.manager.disable
    logging.disable(logging.INFO)
    try:
        with TemporaryDirectory() as folder:
            _write_data(Path(folder), pairs, sizes)
            _train(_config(Path(folder), sizes, tokens_per_batch, seed), watch)
    finally:
        logging.disable(previous)
    return watch.result()
