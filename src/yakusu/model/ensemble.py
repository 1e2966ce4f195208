"""The ensembles of Table 2: models that decode together, where P(y) is the mean of all P_i(y).

B batch, T target, K beam, V vocabulary.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from yakusu.errors import ModelError
from yakusu.model.base import DecoderState, Memory, SearchModel
from yakusu.model.layers import Layers


@dataclass(frozen=True)
class EnsembleMemory(Memory):
    """The memory of each model."""

    memories: tuple[Memory, ...]


@dataclass
class EnsembleState(DecoderState):
    """The state of each model; all follow the same hypotheses."""

    states: list[DecoderState]

    def reorder(self, beams: Tensor) -> None:
        """Let hypothesis k of sentence b continue hypothesis beams[b, k] (B, K)."""
        for state in self.states:
            state.reorder(beams)

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences."""
        for state in self.states:
            state.keep(sentences)


class Ensemble(SearchModel[EnsembleMemory, EnsembleState]):
    """Models of any architecture that share a vocabulary, with equal weights.

    Args:
        members: The models, at least one.

    Raises:
        ModelError: Their vocabularies differ in size.
    """

    def __init__(self, members: Sequence[SearchModel]) -> None:
        sizes = {(member.src_vocab_size, member.tgt_vocab_size) for member in members}
        if len(sizes) != 1:
            raise ModelError(
                f"the vocabularies of the ensemble have {len(sizes)} different sizes: use models "
                "that were trained with the same tokenizer"
            )
        ((src_vocab_size, tgt_vocab_size),) = sizes
        super().__init__(src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        self.members = Layers(members)

    @property
    def max_length(self) -> int:
        """The longest sentence that every member can process."""
        return min(member.max_length for member in self.members)

    def encode(self, src: Tensor) -> EnsembleMemory:
        """Encode source ids (B, S) with each member."""
        return EnsembleMemory(tuple(member.encode(src) for member in self.members))

    def decode(self, tgt_in: Tensor, memory: EnsembleMemory) -> Tensor:
        """The logarithm of the mean distribution (B, T, V - 1) of all positions at once."""
        pairs = zip(self.members, memory.memories, strict=True)
        return self._log_mean(member.decode(tgt_in, own) for member, own in pairs)

    def start(self, memory: EnsembleMemory, n_beams: int) -> EnsembleState:
        """The state of each member before the first target token."""
        pairs = zip(self.members, memory.memories, strict=True)
        return EnsembleState([member.start(own, n_beams) for member, own in pairs])

    def step(self, prev_ids: Tensor, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        """The logarithm of the mean distribution (B, K, V - 1), and the new states."""
        pairs = zip(self.members, state.states, strict=True)
        logits, states = zip(*(member.step(prev_ids, own) for member, own in pairs), strict=True)
        return self._log_mean(logits), EnsembleState(list(states))  # (B, K, V - 1)

    def _log_mean(self, logits: Iterable[Tensor]) -> Tensor:
        """The logarithm of the mean of the members' distributions (..., V - 1), one by one."""
        log_probs = (each.float().log_softmax(dim=-1) for each in logits)
        return reduce(_log_add, log_probs) - math.log(len(self.members))


def members_of(model: SearchModel) -> list[SearchModel]:
    """The members of an ensemble, or the model itself."""
    return list(model.members) if isinstance(model, Ensemble) else [model]


def _log_add(a: Tensor, b: Tensor) -> Tensor:
    """log(exp a + exp b) of finite numbers; not `torch.logaddexp`, for the reason in `sigmoid`."""
    return torch.maximum(a, b) + (a - b).abs().neg().exp().log1p()
