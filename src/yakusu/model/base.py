"""What every model offers; nothing outside this folder asks which architecture it holds.

B batch, S source, T target, K beam, D width of the hidden states, V vocabulary.

Ids follow docs/decisions/0003: pad = V - 1 can never be produced, so logits cover V - 1 ids.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from yakusu.config import Registry
from yakusu.errors import ModelError, RecipeError
from yakusu.model.attention import Attends
from yakusu.model.config import ModelConfig
from yakusu.model.table import DenseTable, Table

Role = Literal["encoder", "decoder", "cross"]  # what attends: source to source, and so on
Side = Literal["source", "target"]


class Routes(nn.Module, ABC):
    """A layer that chooses for each token by which of its parts it is computed."""

    @abstractmethod
    def balance_loss(self, real: Tensor) -> Tensor:
        """What training adds to the loss of a target token for the last pass; 0 in evaluation.

        Args:
            real: (B, n), True at positions that are no padding.
        """

    @abstractmethod
    def forget(self) -> None:
        """Let go of the last pass."""


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


class SearchModel(nn.Module, ABC):
    """What search asks of a model, which may be several that decide together.

    Args:
        src_vocab_size: V of the source side, pad included.
        tgt_vocab_size: V of the target side, pad included.
    """

    def __init__(self, *, src_vocab_size: int, tgt_vocab_size: int) -> None:
        super().__init__()
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

    @abstractmethod
    def encode(self, src: Tensor) -> "Memory":
        """Read source ids (B, S), padded by `src_pad`."""

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


class Seq2Seq(SearchModel):
    """An encoder-decoder that can be trained. `Memory` is whatever `encode` returns.

    Its three tables are `src_table`, `tgt_table` and `output_table`; tied ones are one object.

    Args:
        config: Its sizes.
        src_vocab_size: V of the source side, pad included.
        tgt_vocab_size: V of the target side, pad included.

    Raises:
        RecipeError: Three-way tying of two vocabularies.
    """

    Config: ClassVar[type[ModelConfig]]
    src_table: Table
    tgt_table: Table
    output_table: Table

    def __init__(self, config: ModelConfig, *, src_vocab_size: int, tgt_vocab_size: int) -> None:
        super().__init__(src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        if config.tied == "three-way" and src_vocab_size != tgt_vocab_size:
            raise RecipeError(
                f"model.tied = 'three-way' needs one vocabulary, not {src_vocab_size} source and "
                f"{tgt_vocab_size} target tokens: set model.tied = 'decoder', or "
                "tokenizer.joint = true"
            )
        self.config = config
        three_way = config.tied == "three-way"
        self.tgt_table = DenseTable(tgt_vocab_size, config.d_model)
        self.src_table = self.tgt_table if three_way else DenseTable(src_vocab_size, config.d_model)
        self.output_table = self.tgt_table
        if config.tied == "none":
            self.output_table = DenseTable(tgt_vocab_size, config.d_model)
            nn.init.xavier_uniform_(self.output_table.weight)
            nn.init.zeros_(self.output_table.weight[-1])

    @property
    def max_length(self) -> int:
        """The longest sentence, in tokens, that the model can represent."""
        return self.config.max_length

    @property
    def compiles(self) -> bool:
        """Whether torch.compile takes its training as one graph of any length."""
        return True

    @property
    def output_weight(self) -> Tensor:
        """The pre-softmax matrix (V, D) of a model that is learning; the row of pad is zero."""
        assert isinstance(self.output_table, DenseTable), "a compressed model learns no more"
        return self.output_table.weight

    @abstractmethod
    def hidden(self, tgt_in: Tensor, memory: "Memory") -> Tensor:
        """The decoder's last hidden states (B, T, D) for target ids shifted right (B, T)."""

    def decode(self, tgt_in: Tensor, memory: "Memory") -> Tensor:
        """Logits (B, T, V - 1) of all positions at once."""
        return self.logits(self.hidden(tgt_in, memory))

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits (..., V - 1) of hidden states (..., D)."""
        return self.output_table.logits(hidden)

    def attention_layers(self) -> Mapping[Role, Sequence[Attends]]:
        """Its layers of attention by role, the first layer first."""
        return {}

    def routing_layers(self) -> Mapping[Side, Sequence[Routes]]:
        """Its layers that choose, by the side whose tokens they see."""
        return {}

    def attentions(self, src: Tensor, tgt: Tensor) -> dict[Role, Tensor]:
        """How much each position attends to each other when `tgt` is predicted from `src`.

        Args:
            src: Source ids (B, S), padded.
            tgt: Target ids (B, T), padded.

        Returns:
            For each role that the model has, (B, N, H, queries, keys) of N layers with H heads.
        """
        roles = self.attention_layers()
        seen: dict[Attends, list[Tensor]] = {layer: [] for part in roles.values() for layer in part}
        hooks = [layer.register_forward_hook(partial(_look, seen[layer])) for layer in seen]
        try:
            self(src, tgt)
        finally:
            for hook in hooks:
                hook.remove()
        return {
            role: torch.stack([torch.cat(seen[layer], dim=2) for layer in layers], dim=1)
            for role, layers in roles.items()
        }

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


def _look(seen: list[Tensor], layer: Attends, inputs: tuple[Any, ...], output: Tensor) -> None:
    """A hook: how the layer has just attended; a decoder may call it position by position."""
    seen.append(layer.weights(*inputs))  # (B, H, T, S)


def shift_right(tgt: Tensor, pad: int) -> Tensor:
    """What the decoder sees when it predicts `tgt` (B, T): one position later, pad in front."""
    shifted = tgt.roll(1, dims=1)
    shifted[:, 0] = pad
    return shifted  # (B, T)


models: "Registry[type[Seq2Seq]]" = Registry("model")
