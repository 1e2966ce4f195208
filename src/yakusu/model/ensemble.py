"""Several models that decide together: P(y) is the mean of their P_i(y) (Table 2's ensembles).

B batch, K beam, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from yakusu.errors import ModelError
from yakusu.model.base import DecoderState, Memory, SearchModel


@dataclass(frozen=True)
class EnsembleMemory(Memory):
    """What each model understood."""

    memories: tuple[Memory, ...]


@dataclass
class EnsembleState(DecoderState):
    """What each model remembers; all follow the same hypotheses."""

    states: list[DecoderState]

    def reorder(self, beams: Tensor) -> None:
        """Let hypothesis k of sentence b go on from hypothesis beams[b, k] (B, K)."""
        for state in self.states:
            state.reorder(beams)

    def keep(self, sentences: Tensor) -> None:
        """Forget all sentences but these."""
        for state in self.states:
            state.keep(sentences)


class Ensemble(SearchModel):
    """Models of one vocabulary, of any architectures, each with the same weight.

    Args:
        members: The models, at least one.

    Raises:
        ModelError: Their vocabularies are not of one size.
    """

    def __init__(self, members: Sequence[SearchModel]) -> None:
        sizes = {(member.src_vocab_size, member.tgt_vocab_size) for member in members}
        if len(sizes) != 1:
            raise ModelError(f"an ensemble needs one vocabulary, not {len(sizes)} sizes of them")
        ((src_vocab_size, tgt_vocab_size),) = sizes
        super().__init__(src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        self.members = nn.ModuleList(members)

    @property
    def max_length(self) -> int:
        """What every member can represent."""
        return min(member.max_length for member in self._members())

    def encode(self, src: Tensor) -> EnsembleMemory:
        """Each member reads source ids (B, S)."""
        return EnsembleMemory(tuple(member.encode(src) for member in self._members()))

    def start(self, memory: Memory, n_beams: int) -> EnsembleState:
        """The state of each member before the first target token."""
        assert isinstance(memory, EnsembleMemory)
        pairs = zip(self._members(), memory.memories, strict=True)
        return EnsembleState([member.start(own, n_beams) for member, own in pairs])

    def step(self, prev_ids: Tensor, state: DecoderState) -> tuple[Tensor, EnsembleState]:
        """The logarithm of the mean distribution (B, K, V - 1), and the states after it."""
        assert isinstance(state, EnsembleState)
        pairs = zip(self._members(), state.states, strict=True)
        logits, states = zip(*(member.step(prev_ids, own) for member, own in pairs), strict=True)
        log_probs = torch.stack([each.float().log_softmax(dim=-1) for each in logits])
        mean = log_probs.logsumexp(dim=0) - math.log(len(states))  # (B, K, V - 1)
        return mean, EnsembleState(list(states))

    def _members(self) -> list[SearchModel]:
        members = list(self.members)
        assert all(isinstance(member, SearchModel) for member in members)
        return members  # type: ignore[return-value]
