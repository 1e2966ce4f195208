"""The coverage penalty of GNMT (Wu et al. 2016, arXiv:1609.08144, section 7, Eq. 14).

    cp(X; Y) = beta * sum over source tokens i of log(min(sum over target tokens j of p_ij, 1))

p_ij is the attention weight from the position that predicts token j to source token i; X and Y end
with eos, except that X is without it if the encoder leaves it out (docs/decisions/0034). For a
model with several layers or heads, and for an ensemble, it is the mean weight. cp is at most 0, and
0 if every source token receives a total weight of 1 or more.
"""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from yakusu.arrays import Floats
from yakusu.data.vocabulary import EOS
from yakusu.errors import ModelError
from yakusu.model.base import SearchModel, Seq2Seq
from yakusu.model.ensemble import members_of
from yakusu.search.forced import forced_attention


def coverage_penalty(weights: Floats, beta: float) -> float:
    """cp of attention weights p (T, S); a total of 0 counts as the smallest normal float32."""
    total = weights.astype(np.float64).sum(axis=0)  # (S,)
    return beta * float(np.log(total.clip(np.finfo(np.float32).tiny, 1.0)).sum())


class CoveragePenalty:
    """Computes the coverage penalty of finished hypotheses, from one more pass of the decoder.

    Args:
        model: A model, or an ensemble, in evaluation mode.
        src: Source ids (B, S), each sentence ending with eos, padded with `model.src_pad`.
        beta: The weight of the penalty.

    Raises:
        ModelError: The model, or a member of the ensemble, has no attention to the source.
    """

    def __init__(self, model: SearchModel, src: Tensor, beta: float) -> None:
        every = members_of(model)
        members = [
            each
            for each in every
            if isinstance(each, Seq2Seq) and "cross" in each.attention_layers()
        ]
        if len(members) < len(every):
            raise ModelError(
                f"search.coverage = {beta:g} needs attention to the source, which the model does "
                "not have: set search.coverage to 0"
            )
        self.members, self.src, self.beta = members, src, beta
        self._reads_eos = any(getattr(each, "source_eos", True) for each in members)

    def penalties(self, found: Sequence[tuple[int, Sequence[int]]]) -> list[float]:
        """cp of each hypothesis; it does not depend on the others.

        Args:
            found: The number of the sentence, and the target ids without eos.
        """
        pad = self.members[0].src_pad
        sources = [self.src[sentence] for sentence, _ in found]
        pairs = [
            (ids[ids != pad].tolist(), (*tokens, EOS))
            for ids, (_, tokens) in zip(sources, found, strict=True)
        ]
        of_members = [
            [own["cross"].mean(axis=(0, 1)) for own in forced_attention(member, pairs, ["cross"])]
            for member in self.members
        ]
        end = None if self._reads_eos else -1
        means = (np.mean(own, axis=0)[:, :end] for own in zip(*of_members, strict=True))  # (T, S)
        return [coverage_penalty(mean, self.beta) for mean in means]
