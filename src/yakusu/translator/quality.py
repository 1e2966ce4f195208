"""The estimated quality of a translation: the chrF that it would have against a reference.

    quality = b + w_1 z(certainty) + w_2 z(neighbours) + w_3 tent(z(length)) + w_4 z(source)

    p_1 ... p_n    the probabilities of its tokens and of eos; the source has m tokens with eos
    certainty      the mean of p_i
    neighbours     the mean of min(p_i, p_i+1): lower, the more the unsure tokens are scattered
    length         log(n / m)
    source         log m
    z(x)           (x - mean of the dev set) / standard deviation in the dev set
    tent(z)        min(z, 1/2, 4 - z): short translations lack something, very long ones repeat

b and w are those of a ridge regression on the dev set (`pipeline/calibration.py`). A translation is
probably bad if its quality is below 30, and below that of nine tenths of the dev set. A text of
several sentences has the quality of the worst one.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple

from yakusu.config import Config
from yakusu.search.decoder import Query
from yakusu.search.hypothesis import Hypothesis
from yakusu.typed import setting

UNSURE = "the model is unsure of its words"
SHORT = "it is shorter than usual: parts of the source may be missing"
LONG = "it is longer than usual: parts may be repeated or added"


class Evidence(NamedTuple):
    """What the quality of a translation is estimated from; see above."""

    certainty: float
    neighbours: float
    length: float
    source: float

    @classmethod
    def of(cls, log_probs: Sequence[float], n_source: int) -> "Evidence":
        """The evidence of a translation.

        Args:
            log_probs: The log-probability of each token and of eos.
            n_source: Number of tokens of the source, including eos.
        """
        probs = [math.exp(log_prob) for log_prob in log_probs]
        both = [min(pair) for pair in pairwise(probs)] or probs
        n = len(probs)
        return cls(
            certainty=math.fsum(probs) / n,
            neighbours=math.fsum(both) / len(both),
            length=math.log(n / n_source),
            source=math.log(n_source),
        )


class Quality(NamedTuple):
    """The estimated quality of a translation.

    Attributes:
        value: The chrF that it would have, from 0 to 100.
        doubt: Why the translation is probably bad; "": it is not.
    """

    value: int
    doubt: str


def tent(z: float) -> float:
    """See above."""
    return min(z, 0.5, 4 - z)


class QualityTerm(Config):
    """How a number adds to the quality: its mean, its standard deviation and w."""

    mean: float
    scale: Annotated[float, setting(gt=0)]
    weight: float

    def z(self, value: float) -> float:
        """The number in standard deviations from its mean."""
        return (value - self.mean) / self.scale

    def part(self, value: float) -> float:
        """What the number adds."""
        return self.weight * self.z(value)


class Calibration(Config):
    """What a model's quality is estimated with: quality.json of a model folder.

    Attributes:
        n_sentences: Number of sentences that it was fitted to.
        correlation: Rank correlation of the estimates with chrF in them.
        certainty: See above, as are the others.
        intercept: b.
        doubtful: The quality below which a translation is probably bad.
    """

    n_sentences: int
    correlation: float
    certainty: QualityTerm
    neighbours: QualityTerm
    length: QualityTerm
    source: QualityTerm
    intercept: float
    doubtful: float

    def quality(self, evidence: Evidence) -> Quality:
        """The quality of a translation."""
        unsure = self.certainty.part(evidence.certainty)
        unsure += self.neighbours.part(evidence.neighbours)
        z = self.length.z(evidence.length)
        length, source = self.length.weight * tent(z), self.source.part(evidence.source)
        value = min(100.0, max(0.0, self.intercept + unsure + length + source))
        if value >= self.doubtful:
            return Quality(round(value), "")
        if unsure <= length:
            return Quality(round(value), UNSURE)
        return Quality(round(value), SHORT if z < 0 else LONG)

    def of(self, query: Query, found: Hypothesis) -> Quality | None:
        """The quality of a translation that a search has found; None: it is unknown."""
        if not (found.tokens and found.path):
            return None
        return self.quality(Evidence.of(found.token_log_probs, len(query.source)))
