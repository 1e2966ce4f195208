"""What every model offers; nothing outside this folder asks which architecture it holds.

B batch, S source, T target, K beam, D width of the hidden states, V vocabulary.

Ids follow docs/decisions/0003: pad = V - 1 can never be produced, so logits cover V - 1 ids.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from yakusu.config import Config
from yakusu.errors import ModelError
from yakusu.model.table import DenseTable, Table
from yakusu.registry import Registry


class DecoderState(ABC):
    """All that decoding remembers of B sentences with K hypotheses each; batch first."""

    @abstractmethod
    def reorder(self, beams: Tensor) -> None:
        """Let hypothesis k of sentence b go on from hypothesis beams[b, k].

        Args:
            beams: (B, K), numbers from 0 to K - 1.
        """

    @abstractmethod
    def keep(self, sentences: Tensor) -> None:
        """Forget all sentences but these.

        Args:
            sentences: (B',), numbers from 0 to B - 1.
        """


class Seq2Seq(nn.Module, ABC):
    """An encoder-decoder. `Memory` is whatever `encode` returns, opaque to others.

    Its three tables are `src_table`, `tgt_table` and `output_table`; tied ones are one object.

    Args:
        config: Its sizes.
        src_vocab_size: V of the source side, pad included.
        tgt_vocab_size: V of the target side, pad included.
    """

    src_table: Table
    tgt_table: Table
    output_table: Table

    def __init__(self, config: Config, *, src_vocab_size: int, tgt_vocab_size: int) -> None:
        super().__init__()
        self.config = config
        self.src_vocab_size, self.tgt_vocab_size = src_vocab_size, tgt_vocab_size

    @property
    def src_pad(self) -> int:
        """The id that fills up source sentences."""
        return self.src_vocab_size - 1

    @property
    def tgt_pad(self) -> int:
        """The id that fills up target sentences; its embedding is zero, so it also begins them."""
        return self.tgt_vocab_size - 1

    @property
    @abstractmethod
    def max_length(self) -> int:
        """The longest sentence, in tokens, that the model can represent."""

    @property
    def output_weight(self) -> Tensor:
        """The pre-softmax matrix (V, D) of a model that is learning; the row of pad is zero."""
        assert isinstance(self.output_table, DenseTable), "a compressed model learns no more"
        return self.output_table.weight

    @abstractmethod
    def encode(self, src: Tensor) -> "Memory":
        """Read source ids (B, S), padded by `src_pad`."""

    @abstractmethod
    def hidden(self, tgt_in: Tensor, memory: "Memory") -> Tensor:
        """The decoder's last hidden states (B, T, D) for target ids shifted right (B, T)."""

    def decode(self, tgt_in: Tensor, memory: "Memory") -> Tensor:
        """Logits (B, T, V - 1) of all positions at once."""
        return self.logits(self.hidden(tgt_in, memory))

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits (..., V - 1) of hidden states (..., D)."""
        return self.output_table.logits(hidden)

    @abstractmethod
    def start(self, memory: "Memory", n_beams: int) -> DecoderState:
        """The state before the first target token, for K = n_beams hypotheses a sentence."""

    @abstractmethod
    def step(self, prev_ids: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Decode one position.

        Args:
            prev_ids: (B, K), the last token of each hypothesis; `tgt_pad` at the start.
            state: From `start` or the last `step`; it is used up.

        Returns:
            Logits (B, K, V - 1) of the next token, and the state after it.
        """

    def weights(self) -> dict[str, Tensor]:
        """The learnt tensors by name; a tied one is there once."""
        return dict(self.named_parameters())

    def load_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Take over what `weights` gave.

        Raises:
            ModelError: The tensors are those of another model.
        """
        own = self.weights()
        strange = sorted(own.keys() ^ weights.keys()) or [
            name for name in own if own[name].shape != weights[name].shape
        ]
        if strange:
            raise ModelError(f"the weights are of another model: '{strange[0]}' does not fit")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(weights[name])

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Hidden states (B, T, D) that predict `tgt` (B, T) from `src` (B, S): training."""
        return self.hidden(shift_right(tgt, self.tgt_pad), self.encode(src))


class Memory:
    """A source sentence as the encoder understood it."""


def shift_right(tgt: Tensor, pad: int) -> Tensor:
    """What the decoder sees when it predicts `tgt` (B, T): one position later, pad in front."""
    shifted = tgt.roll(1, dims=1)
    shifted[:, 0] = pad
    return shifted  # (B, T)


models: "Registry[type[Seq2Seq]]" = Registry("model")
