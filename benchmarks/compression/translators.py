"""Compressed translators: how they are made, and what they translate.

V tokens, D width, M components, K codes.
"""

import hashlib
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import torch

import yakusu
from benchmarks.peers.gumbel import learn
from benchmarks.peers.gumbel import ratio as gumbel_ratio
from yakusu.compress.config import CompressConfig
from yakusu.data.lines.config import TextConfig
from yakusu.errors import ModelError
from yakusu.model.config import TransformerConfig
from yakusu.model.table import DenseTable
from yakusu.translator.folder.network import open_model, save_translator

Precision = Literal["auto", "float32", "int8"]
STACKS = {"encoder": ("encoder",), "decoder": ("decoder",), "both": ("encoder", "decoder")}
_TABLES = {
    "encoder": ("src_table",),
    "decoder": ("tgt_table", "output_table"),
    "both": ("src_table", "tgt_table", "output_table"),
}


@dataclass(frozen=True)
class Made:
    """A compressed translator.

    folder: Its model folder.
    table_bytes: Bytes of the compressed tables (before, after).
    lost: Share of the variance of the vectors that is lost.
    """

    folder: Path
    table_bytes: tuple[int, int]
    lost: float

    @property
    def ratio(self) -> float:
        """Bytes of the tables before compression divided by those after."""
        return self.table_bytes[0] / self.table_bytes[1]


def compressed(model: Path, out: Path, config: CompressConfig) -> Made:
    """Compress a translator as `yakusu compress` does.

    Raises:
        DataError: The settings do not fit its tables.
    """
    tables = yakusu.compress_translator(model, out, config=config).tables
    before = [4 * table.n_words * table.width for table in tables]
    after = [n / table.ratio for n, table in zip(before, tables, strict=True)]
    lost = sum(table.loss for table in tables) / len(tables)
    return Made(out, (sum(before), round(sum(after))), lost)


def compressed_by_shu(
    model: Path, out: Path, side: str, *, size: tuple[int, int], steps: int, seed: int
) -> Made:
    """Replace a table with the vectors that the baseline rebuilds from M codes of K values each.

    The folder stores these vectors; the bytes are those of the codes.

    Raises:
        ModelError: The model is not a Transformer whose decoder has one table.
    """
    config, network, tokenizer = open_model(model)
    if not isinstance(config.model, TransformerConfig) or config.model.tied == "none":
        raise ModelError(f"{model} has several tables in its decoder: choose a tied Transformer")
    if side == "both" and config.model.tied != "three-way":
        raise ModelError(
            f"{model} has two tables, and the baseline compresses one: leave out --shu"
        )
    dense = getattr(network, _TABLES[side][0])
    vectors = dense.weight.detach()[:-1].numpy()
    learned = learn(vectors, n_codebooks=size[0], n_codes=size[1], seed=seed, steps=steps)
    table = DenseTable(*dense.weight.shape)
    with torch.no_grad():
        table.weight[:-1] = torch.from_numpy(learned.rebuild(learned.codes))
    for name in _TABLES[side]:
        setattr(network, name, table)
    tied = config.model.tied if side == "both" else "decoder"
    untied = config.model.model_copy(update={"tied": tied})
    saved = config.model_copy(update={"model": untied})
    save_translator(out, network.weights(), tokenizer, saved)
    ratio = gumbel_ratio(*vectors.shape, *size)
    return Made(
        out,
        (vectors.nbytes, round(vectors.nbytes / ratio)),
        learned.loss(vectors, learned.codes).share,
    )


def digest(folder: Path) -> str:
    """Return the SHA-256 of the weights of a model folder."""
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


# ---- translation --------------------------------------------------------------------------------


@cache
def _loaded(folder: Path, precision: Precision, threads: int) -> yakusu.Translator:
    engine = yakusu.EngineConfig(engine="native", precision=precision, threads=threads)
    text = TextConfig(one_sentence_per_line=True)
    return yakusu.Translator.load(folder, engine=engine, text=text)


def tokens_per_second(src: list[str], *, folder: Path, precision: Precision, threads: int) -> float:
    """Translate sentences with the CPU engine; a process opens a model once."""
    translator = _loaded(folder, precision, threads)
    start = time.perf_counter()
    n_tokens = sum(best[0].n_tokens for best in translator.stream(src))
    return n_tokens / (time.perf_counter() - start)


def translated(folder: Path, src: list[str], *, precision: Precision, threads: int) -> list[str]:
    """Return the translations of the CPU engine."""
    translator = _loaded.__wrapped__(folder, precision, threads)
    return [best[0].text for best in translator.stream(src)]
