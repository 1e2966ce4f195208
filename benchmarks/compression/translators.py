"""Compressed translators: how they are made, what they translate, and the interval of a difference.

V tokens, D width, M components, K codes.
"""

import hashlib
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from sacrebleu.metrics.bleu import BLEU

import yakusu
from benchmarks.peers.gumbel import learn
from benchmarks.peers.gumbel import ratio as gumbel_ratio
from yakusu.compress.config import CompressConfig
from yakusu.data.text import read_lines
from yakusu.errors import DataError, ModelError, unequal
from yakusu.metrics import Score, score
from yakusu.model.config import TransformerConfig
from yakusu.model.table import DenseTable
from yakusu.translator.network import open_model, save_translator
from yakusu.translator.passage import TextConfig

Precision = Literal["auto", "float32", "int8"]
STACKS = {"encoder": ("encoder",), "decoder": ("decoder",), "both": ("encoder", "decoder")}
_TABLES = {
    "encoder": ("src_table",),
    "decoder": ("tgt_table", "output_table"),
    "both": ("src_table", "tgt_table", "output_table"),
}
_ORDER = 4  # of the n-grams of BLEU
_RESAMPLES = 1000


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


@dataclass(frozen=True)
class ParallelLines:
    """Sentences and their references."""

    src: list[str]
    ref: list[str]

    @classmethod
    def read(cls, src: Path, ref: Path, most: int | None = None) -> "ParallelLines":
        """Read two files, or their first `most` lines.

        Raises:
            DataError: They have different numbers of lines.
        """
        lines = [list(read_lines(path)) for path in (src, ref)]
        if len(lines[0]) != len(lines[1]):
            raise unequal(str(src), len(lines[0]), str(ref), len(lines[1]))
        if not lines[0]:
            raise DataError(f"{src} is empty: give at least one sentence")
        return cls(lines[0][:most], lines[1][:most])


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


# ---- BLEU ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scorer:
    """BLEU against references.

    lowercase: Ignore case.
    language: Target language; None if unknown.
    """

    ref: list[str]
    lowercase: bool
    language: str | None

    def score(self, texts: list[str]) -> Score:
        """Return the BLEU of translations."""
        return score(
            texts,
            self.ref,
            metrics=("bleu",),
            lowercase=self.lowercase,
            target_language=self.language,
        )[0]

    def difference(self, before: list[str], after: list[str]) -> tuple[float, float, float]:
        """Return BLEU after minus before, with its 95% interval by paired bootstrap resampling."""
        counts = [self._counts(texts) for texts in (before, after)]
        n = len(self.ref)
        rng = np.random.default_rng(12345)
        times = np.stack([np.ones(n)] + [self._resample(rng, n) for _ in range(_RESAMPLES)])
        pairs = zip(*(times @ each for each in counts), strict=True)
        differences = [_bleu(two) - _bleu(one) for one, two in pairs]
        low, high = np.percentile(differences[1:], [2.5, 97.5])
        return differences[0], float(low), float(high)

    @staticmethod
    def _resample(rng: np.random.Generator, n: int) -> np.ndarray:
        return np.bincount(rng.integers(0, n, n), minlength=n)

    def _counts(self, texts: list[str]) -> np.ndarray:
        """Return what BLEU counts in each sentence, (n, 2 + 8)."""
        metric = BLEU(lowercase=self.lowercase, trg_lang=self.language or "")
        found = [
            metric.corpus_score([text], [[ref]]) for text, ref in zip(texts, self.ref, strict=True)
        ]
        return np.array([[s.sys_len, s.ref_len, *s.counts, *s.totals] for s in found], float)


def _bleu(counts: np.ndarray) -> float:
    lengths, correct, total = np.split(counts, [2, 2 + _ORDER])
    score = BLEU.compute_bleu(
        *(list(correct.astype(int)), list(total.astype(int)), *map(int, lengths)),
        smooth_method="exp",
    )
    return float(score.score)
