"""BLEU of the lines of a test set, and the interval of a difference between two systems."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from benchmarks.bootstrap import interval, resampled
from yakusu.data.files.text import read_lines
from yakusu.errors import DataError, unequal
from yakusu.metrics import METRICS, MetricOptions, Score, score_translations

_ORDER = 4  # of the n-grams of BLEU


@dataclass(frozen=True)
class ParallelLines:
    """Sentences and their references."""

    src: list[str]
    ref: list[str]

    @classmethod
    def read(cls, src: Path, ref: Path, most: int | None = None) -> "ParallelLines":
        """Read two files, or their first `most` lines.

        Raises:
            DataError: They have different numbers of lines, or are empty.
        """
        lines = [list(read_lines(path)) for path in (src, ref)]
        if len(lines[0]) != len(lines[1]):
            raise unequal(str(src), len(lines[0]), str(ref), len(lines[1]))
        if not lines[0]:
            raise DataError(f"{src} is empty: give at least one sentence")
        return cls(lines[0][:most], lines[1][:most])


@dataclass(frozen=True)
class Scorer:
    """BLEU against references.

    lowercase: Ignore case.
    language: Target language; None if unknown.
    tokenize: sacreBLEU's tokenizer; None: that of the language.
    """

    ref: list[str]
    lowercase: bool
    language: str | None
    tokenize: str | None = None

    def score(self, texts: list[str]) -> Score:
        """Return the BLEU of translations."""
        return score_translations(
            texts,
            self.ref,
            metrics=("bleu",),
            lowercase=self.lowercase,
            target_language=self.language,
            tokenize=self.tokenize,
        )[0]

    def difference(self, before: list[str], after: list[str]) -> tuple[float, float, float]:
        """Return BLEU after minus before, with its 95% interval by paired bootstrap resampling."""
        counts = [self._counts(texts) for texts in (before, after)]
        value = _bleu(counts[1].sum(axis=0)) - _bleu(counts[0].sum(axis=0))
        pairs = zip(*map(resampled, counts), strict=True)
        differences = [_bleu(two) - _bleu(one) for one, two in pairs]
        return value, *interval(np.array(differences))

    def _counts(self, texts: list[str]) -> np.ndarray:
        """Return what BLEU counts in each sentence, (n, 2 + 8)."""
        options = MetricOptions(self.tokenize, self.lowercase, self.language)
        metric = METRICS["bleu"](options)
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
