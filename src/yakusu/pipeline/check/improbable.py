"""The pairs of a corpus that a model finds least probable, and why.

    log-probability of a pair = min(mean of log p_i, log p_n / 2)

p_1 ... p_n are the probabilities of the tokens of the target and of eos: after a truncated target,
only eos is improbable. The reason is the first of these that applies:

    copy          the target repeats the source
    language      the target is in another language (py3langid)
    misaligned    the target is as probable after the source of another pair of the list
    length        log(n / m), m the number of tokens of the source, is two standard deviations or
                  more from the mean of all pairs; if eos decides, below the mean is enough
    unsure        the model is unsure of the words
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappush, heappushpop
from math import fsum, log, sqrt
from pathlib import Path
from typing import NamedTuple

from yakusu.data.corpus import Corpus, count_pairs, numbered_pairs
from yakusu.data.files.text import Pair, windows
from yakusu.data.identification import CorpusLanguages, can_identify
from yakusu.data.noise import nearly_identical
from yakusu.pipeline.calibration import translator_for
from yakusu.progress import Progress, Silent
from yakusu.search.decoder import IdPair
from yakusu.translator import Translator

COPY = "the target repeats the source"
MISALIGNED = "misaligned: the target is as probable after the source of another pair"
TRUNCATED = "the target ends early: truncated?"
LONGER = "the target is much longer than usual: is the source truncated?"
UNSURE = "the model is unsure of its words"
_WINDOW, _BATCH = 2048, 64  # pairs
_N_OTHERS = 3  # pairs whose sources are compared
_ODD = 2.0  # standard deviations
_COPIED = 0.7  # share of the words of the target


@dataclass(frozen=True)
class ImprobablePair:
    """A pair that a model finds improbable.

    Attributes:
        line: Its line, from 1; in formats without lines, its number.
        src: The source.
        tgt: The target.
        log_prob: Its log-probability, in nats; see above.
        reason: What is probably wrong.
    """

    line: int
    src: str
    tgt: str
    log_prob: float
    reason: str


@dataclass(frozen=True)
class ImprobablePairs:
    """What was found.

    Attributes:
        pairs: The least probable pairs, the worst first.
        n_pairs: Number of pairs that were scored.
        n_left_out: Number of those that are empty or too long for the model.
    """

    pairs: Sequence[ImprobablePair]
    n_pairs: int
    n_left_out: int


def improbable_pairs(
    model: str | Path, corpus: Corpus, *, n: int = 20, progress: Progress | None = None
) -> ImprobablePairs:
    """Find the pairs of a corpus that a model finds least probable.

    The corpus is read once; only the pairs that are found are held.

    Args:
        model: Model folder of a translator.
        corpus: The corpus.
        n: Number of pairs.
        progress: Progress reporter.

    Raises:
        ModelError: The model is a parser, or its folder cannot be read.
        DataError: The corpus cannot be read, or is in other languages than those of the model.

    Example:
        `improbable_pairs("runs/en-de/model", Corpus(src="train.en", tgt="train.de")).pairs[0]`
    """
    translator = translator_for(model, corpus)
    worst, lengths, n_left_out = list[_Scored](), _Lengths(), 0
    with (progress or Silent()).track("scoring", "pairs", count_pairs(corpus)) as tracker:
        for window in windows(numbered_pairs(corpus), _WINDOW):
            encoded = [(line, pair, _ids(translator, pair)) for line, pair in window]
            known = [(line, pair, ids) for line, pair, ids in encoded if ids]
            n_left_out += len(encoded) - len(known)
            scores = _scores(translator, [ids for *_, ids in known])
            for (line, pair, ids), (mean, end) in zip(known, scores, strict=True):
                lengths.add(ids)
                scored = _Scored(max(-mean, -end / 2), -line, pair, ids, mean)
                (heappush if len(worst) < n else heappushpop)(worst, scored)
            tracker.advance(len(window))
    worst.sort(reverse=True)
    reasons = _Reasons(translator, worst, lengths)
    found = [
        ImprobablePair(-each.line, *each.pair, -each.loss, reasons.of(number))
        for number, each in enumerate(worst)
    ]
    return ImprobablePairs(found, lengths.n, n_left_out)


class _Scored(NamedTuple):
    """A pair in the order of its loss; of equal losses, the later pair comes first."""

    loss: float  # the negative log-probability
    line: int  # negative
    pair: Pair
    ids: IdPair
    mean: float  # of log p_i

    @property
    def ends_early(self) -> bool:
        """Whether eos decides."""
        return self.loss > -self.mean


class _Lengths:
    """The mean and the standard deviation of log(n / m)."""

    def __init__(self) -> None:
        self.n, self._sum, self._squares = 0, 0.0, 0.0

    def add(self, ids: IdPair) -> None:
        own = log(len(ids[1]) / len(ids[0]))
        self.n, self._sum, self._squares = self.n + 1, self._sum + own, self._squares + own * own

    def z(self, ids: IdPair) -> float:
        """log(n / m) of a pair, in standard deviations from the mean."""
        mean = self._sum / self.n
        deviation = sqrt(max(self._squares / self.n - mean * mean, 0.0))
        return (log(len(ids[1]) / len(ids[0])) - mean) / deviation if deviation else 0.0


class _Reasons:
    """Why pairs are improbable; see above."""

    def __init__(self, translator: Translator, worst: Sequence[_Scored], lengths: _Lengths) -> None:
        self._worst, self._lengths = worst, lengths
        self._languages = None
        if can_identify() and all(translator.languages):
            self._languages = CorpusLanguages(*translator.languages)
        n, pairs = len(worst), list[IdPair]()
        self._n_others = min(_N_OTHERS, n - 1)
        for row, each in enumerate(worst):
            others = (worst[(row + k) % n] for k in range(1, self._n_others + 1))
            pairs += ((other.ids[0], each.ids[1]) for other in others)
        self._after_others = [mean for mean, _ in _scores(translator, pairs)]

    def of(self, row: int) -> str:
        """Why a pair is improbable."""
        own = self._worst[row]
        src, tgt = own.pair
        if _repeats(src, tgt):
            return COPY
        if self._languages and (other := self._languages.foreign((src, tgt))[1]):
            return f"the target seems to be in another language ({other})"
        first = row * self._n_others
        others = self._after_others[first : first + self._n_others]
        if any(mean >= own.mean for mean in others):
            return MISALIGNED
        z = self._lengths.z(own.ids)
        if z <= -_ODD or (own.ends_early and z < 0):
            return TRUNCATED
        return LONGER if z >= _ODD else UNSURE


def _repeats(src: str, tgt: str) -> bool:
    """Whether a target is the source, or has most of its words from it."""
    known, words = set(src.casefold().split()), tgt.casefold().split()
    n_same = sum(word in known for word in words)
    return nearly_identical((src, tgt)) or n_same >= max(2, _COPIED * len(words))


def _ids(translator: Translator, pair: Pair) -> IdPair | None:
    """The ids of a pair; None: it is empty, or too long."""
    return translator.pair_ids(*pair) if all(map(str.strip, pair)) else None


def _scores(translator: Translator, pairs: Sequence[IdPair]) -> list[tuple[float, float]]:
    """The mean log-probability of the tokens of each target with eos, and that of eos."""
    every = translator.decoder.score(pairs, alternatives=0, batch=_BATCH)
    found = [each.token_log_probs for each in every]
    return [(fsum(own) / len(own), own[-1]) for own in found]
