"""The interface of every model; no code outside model/ asks which architecture a model has.

B batch, S source, T target, K beam, D width of the hidden states, V vocabulary.

Ids follow docs/decisions/0003: pad = V - 1 is never produced, so logits cover V - 1 ids.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, Literal

import torch
from torch import Tensor, nn
from typing_extensions import TypeVar  # typing.TypeVar lacks `default` before 3.13

from yakusu.config import Registry
from yakusu.errors import ModelError, RecipeError
from yakusu.model.attention import Attends
from yakusu.model.config import ModelConfig, Role
from yakusu.model.table import DenseTable, Table

Side = Literal["source", "target"]


class Memory:
    """The output of the encoder for a batch of source sentences."""


class DecoderState(ABC):
    """The state of decoding B sentences with K hypotheses each; all tensors are batch-first."""

    @abstractmethod
    def reorder(self, beams: Tensor) -> None:
        """Let hypothesis k of sentence b continue hypothesis beams[b, k].

        Args:
            beams: (B, K), values from 0 to K - 1.
        """

    @abstractmethod
    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences.

        Args:
            sentences: (B',), values from 0 to B - 1.
        """


MemoryT = TypeVar("MemoryT", bound=Memory, default=Any)
StateT = TypeVar("StateT", bound=DecoderState, default=Any)


class SearchModel(nn.Module, ABC, Generic[MemoryT, StateT]):
    """The part of the interface that search uses; a single model or an ensemble implements it.

    Args:
        src_vocab_size: Size V of the source vocabulary, including padding.
        tgt_vocab_size: Size V of the target vocabulary, including padding.
    """

    def __init__(self, *, src_vocab_size: int, tgt_vocab_size: int) -> None:
        super().__init__()
        self.src_vocab_size, self.tgt_vocab_size = src_vocab_size, tgt_vocab_size

    @property
    def src_pad(self) -> int:
        """The padding id of source sentences."""
        return self.src_vocab_size - 1

    @property
    def tgt_pad(self) -> int:
        """The padding id of target sentences; it is the decoder's first input, a zero vector."""
        return self.tgt_vocab_size - 1

    @property
    @abstractmethod
    def max_length(self) -> int:
        """The longest sentence, in tokens, that the model can process."""

    @abstractmethod
    def encode(self, src: Tensor) -> MemoryT:
        """Encode source ids (B, S), padded with `src_pad`."""

    @abstractmethod
    def decode(self, tgt_in: Tensor, memory: MemoryT) -> Tensor:
        """Logits (B, T, V - 1) of all positions at once, for shifted target ids (B, T)."""

    @abstractmethod
    def start(self, memory: MemoryT, n_beams: int) -> StateT:
        """The state before the first target token, for K = n_beams hypotheses per sentence."""

    @abstractmethod
    def step(self, prev_ids: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """Decode one position.

        Args:
            prev_ids: (B, K), the last token of each hypothesis; `tgt_pad` at the start.
            state: From `start` or the previous `step`; it is modified and must not be used again.

        Returns:
            Logits (B, K, V - 1) of the next token, and the new state.
        """


class Seq2Seq(SearchModel[MemoryT, StateT]):
    """An encoder-decoder that can be trained.

    Its three tables are `src_table`, `tgt_table` and `output_table`; tied tables are one object.
    `output_bias` (V - 1) is added to the logits; None: no bias.

    Args:
        config: Sizes of the model.
        src_vocab_size: Size V of the source vocabulary, including padding.
        tgt_vocab_size: Size V of the target vocabulary, including padding.

    Raises:
        RecipeError: Three-way tying is set, but the vocabularies differ in size.
    """

    Config: ClassVar[type[ModelConfig]]
    src_table: Table
    tgt_table: Table
    output_table: Table
    output_bias: nn.Parameter | None

    def __init__(self, config: ModelConfig, *, src_vocab_size: int, tgt_vocab_size: int) -> None:
        super().__init__(src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        if config.tied == "three-way" and src_vocab_size != tgt_vocab_size:
            raise RecipeError(
                f"model.tied = 'three-way' needs one vocabulary, not {src_vocab_size} source and "
                f"{tgt_vocab_size} target tokens: set model.tied = 'decoder' or "
                "tokenizer.joint = true"
            )
        self.config = config
        self.register_parameter("output_bias", None)
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
        """The longest sentence, in tokens, that the model can process."""
        return self.config.max_length

    @property
    def compiles(self) -> bool:
        """Whether `training.compile` compiles the model, as one graph for all lengths."""
        return True

    @property
    def output_weight(self) -> Tensor:
        """The pre-softmax matrix (V, D) of a trainable model; the padding row is zero."""
        if not isinstance(self.output_table, DenseTable):
            raise ModelError("a compressed model cannot be trained: train the original model")
        return self.output_table.weight

    @abstractmethod
    def hidden(self, tgt_in: Tensor, memory: MemoryT) -> Tensor:
        """Hidden states (B, T, D) of the last decoder layer for shifted target ids (B, T)."""

    def decode(self, tgt_in: Tensor, memory: MemoryT) -> Tensor:
        """Logits (B, T, V - 1) of all positions at once."""
        return self.logits(self.hidden(tgt_in, memory))

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits (..., V - 1) of hidden states (..., D)."""
        logits = self.output_table.logits(hidden)
        return logits if self.output_bias is None else logits + self.output_bias

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Hidden states (B, T, D) that predict `tgt` (B, T) from `src` (B, S), for training."""
        return self.hidden(shift_right(tgt, self.tgt_pad), self.encode(src))

    def token_states(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Hidden states (N, D) that predict the tokens of `tgt`, without padding, for training."""
        states: Tensor = self(src, tgt)[tgt != self.tgt_pad]
        return states

    def attention_layers(self) -> Mapping[Role, Sequence[Attends]]:
        """The attention layers of each role, from the first layer to the last."""
        return {}

    def routing_layers(self) -> "Mapping[Side, Sequence[Routes]]":
        """The mixture-of-experts layers, by the side whose tokens they process."""
        return {}

    def attentions(
        self, src: Tensor, tgt: Tensor, *, roles: Collection[Role] | None = None
    ) -> dict[Role, Tensor]:
        """The attention weights of all layers when `tgt` is predicted from `src`.

        Args:
            src: Source ids (B, S), padded.
            tgt: Target ids (B, T), padded.
            roles: The roles to record; None: all.

        Returns:
            For each of these roles that the model has, (B, N, H, queries, keys) for N layers of H
            heads.
        """
        found = self.attention_layers()
        chosen = {role: found[role] for role in found if roles is None or role in roles}
        seen: dict[Attends, list[Tensor]] = {
            layer: [] for layers in chosen.values() for layer in layers
        }
        hooks = [layer.register_forward_hook(partial(_record, seen[layer])) for layer in seen]
        try:
            self(src, tgt)
        finally:
            for hook in hooks:
                hook.remove()
        return {
            role: torch.stack([torch.cat(seen[layer], dim=2) for layer in layers], dim=1)
            for role, layers in chosen.items()
        }

    def weights(self) -> dict[str, Tensor]:
        """The parameters by name; tied parameters appear once."""
        return dict(self.named_parameters())

    def load_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Copy tensors into the model; names and shapes must match its own.

        Raises:
            ModelError: The tensors belong to another model.
        """
        own = self.weights()
        strange = sorted(own.keys() ^ weights.keys()) or [
            name for name in own if own[name].shape != weights[name].shape
        ]
        if strange:
            raise ModelError(f"the weights belong to another model: '{strange[0]}' does not match")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(weights[name])


class Routes(nn.Module, ABC):
    """A layer that sends each token to some of its parts, such as a mixture of experts."""

    @abstractmethod
    def balance_loss(self, real: Tensor) -> Tensor:
        """The auxiliary loss per target token of the last forward pass; 0 in evaluation mode.

        Args:
            real: (B, n), True at tokens, False at padding.
        """

    @abstractmethod
    def forget(self) -> None:
        """Release the tensors of the last forward pass."""


def _record(seen: list[Tensor], layer: Attends, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Forward hook that records attention weights; some decoders run a layer once per position."""
    seen.append(layer.weights(*inputs))  # (B, H, T, S)


def shift_right(tgt: Tensor, pad: int) -> Tensor:
    """The decoder input (B, T) that predicts `tgt` (B, T): one padding id, then tgt[:, :-1]."""
    shifted = tgt.roll(1, dims=1)
    shifted[:, 0] = pad
    return shifted  # (B, T)


models: Registry[type[Seq2Seq]] = Registry("model")
