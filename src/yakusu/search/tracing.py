"""The traces of a batch that torch searches.

B sentences, K hypotheses per sentence, n candidates of a step.
"""

import math
from collections.abc import Sequence

from torch import Tensor

from yakusu.data.vocabulary import EOS
from yakusu.search.candidates import Candidates
from yakusu.search.config import SearchConfig
from yakusu.search.trace import Extension, TraceStep, best_first


class Tracer:
    """Appends the steps of a batch to the traces of its sentences.

    Args:
        traces: The trace of each sentence; None: not requested.
        config: Settings of the search.
    """

    def __init__(self, traces: Sequence[list[TraceStep[int]] | None], config: SearchConfig) -> None:
        self.traces = traces
        # At first, all hypotheses are equal, or the samples are in order.
        self._open = [list(range(config.n_slots)) for _ in traces]  # slots of the open hypotheses

    def record(
        self,
        rows: Sequence[tuple[int, int]],
        candidates: Candidates,
        scores: list[list[float]],
        chosen: Tensor,
        log_probs: Tensor,
    ) -> None:
        """Append a step to the trace of each open sentence.

        Args:
            rows: The rows of the open sentences, and their numbers.
            candidates: The extensions of the step.
            scores: Of the extensions of each row, if they end.
            chosen: The places of the next hypotheses among the candidates (B, K).
            log_probs: Of the next hypotheses (B, K); -inf: not open.
        """
        for row, sentence in rows:
            trace = self.traces[sentence]
            if trace is None:
                continue
            next_, kept = chosen[row].tolist(), log_probs[row].tolist()
            step = _step(candidates.of(row), scores[row], self._open[sentence], next_, kept)
            if step != TraceStep():  # no token may follow
                trace.append(step)
            self._open[sentence] = [k for k, own in enumerate(kept) if own > -math.inf]


def _step(
    candidates: list[tuple[float, int, int]],
    scores: list[float],
    parents: list[int],
    chosen: list[int],
    kept: list[float],
) -> TraceStep[int]:
    """A step of one sentence.

    Args:
        candidates: The log-probability, the extended hypothesis and the id of each.
        scores: The score of each, if it ends.
        parents: The open hypotheses of the previous step.
        chosen: The places of the next hypotheses among the candidates (K).
        kept: Their log-probabilities (K); -inf: not open.
    """
    found: dict[int, Extension[int]] = {}
    for place, (log_prob, beam, token) in enumerate(candidates):
        if log_prob > -math.inf:
            score = scores[place] if token == EOS else None
            found[place] = Extension(parents.index(beam), token, log_prob, score)
    ended = [each for each in found.values() if each.score is not None]
    next_ = [
        (found[place], own > -math.inf)
        for place, own in zip(chosen, kept, strict=True)
        if place in found and found[place].score is None
    ]
    return TraceStep(
        tuple(each for each, is_open in next_ if is_open),
        best_first(ended),
        tuple(each for each, is_open in next_ if not is_open),
    )
