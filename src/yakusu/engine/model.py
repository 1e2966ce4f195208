"""A Transformer in the layout of the kernels."""

from collections.abc import Mapping, Sequence
from ctypes import byref, c_void_p

from yakusu.arrays import Array
from yakusu.engine.library import Matrix, library
from yakusu.engine.packing import Packing, Weights
from yakusu.engine.support import unsupported
from yakusu.engine.tables import DenseWeights
from yakusu.errors import ModelError
from yakusu.model.config import ModelConfig, TransformerConfig
from yakusu.model.table_plans import AnyTablePlan

N_POSITIONS = 2048  # of the table of sinusoids


class NativeModel:
    """A model whose weights the library holds.

    Args:
        config: Sizes of the model.
        weights: Its tensors by name, in float32.
        src_vocab_size: Size of the source vocabulary, including padding.
        tgt_vocab_size: Size of the target vocabulary, including padding.
        int8: Compute with integers of 8 bits.

    Raises:
        ModelError: A weight is NaN, or there is not enough memory.
    """

    def __init__(
        self,
        config: TransformerConfig,
        weights: Weights,
        *,
        src_vocab_size: int,
        tgt_vocab_size: int,
        int8: bool,
    ) -> None:
        n_positions = min(config.max_length, N_POSITIONS)
        n_tokens = src_vocab_size - 1, tgt_vocab_size - 1
        packing = Packing(config, weights, n_tokens, n_positions, int8)
        matrices = (Matrix * len(packing.matrices))(*packing.matrices)
        vectors = (c_void_p * len(packing.vectors))(*(v.ctypes.data for v in packing.vectors))
        self._free = library().yk_free_model
        self.handle = library().yk_model(byref(packing.sizes()), matrices, vectors)
        if not self.handle:
            raise ModelError("there is not enough memory for the model")
        self.config, self.max_length, self.int8 = config, n_positions, int8
        self.src_vocab_size, self.tgt_vocab_size = src_vocab_size, tgt_vocab_size

    @classmethod
    def load(
        cls,
        config: ModelConfig,
        stored: Mapping[str, Array],
        plans: Sequence[AnyTablePlan],
        *,
        src_vocab_size: int,
        tgt_vocab_size: int,
        int8: bool,
    ) -> "NativeModel":
        """Pack the weights of a model folder, each of which is read and expanded only meanwhile.

        Args:
            config: Sizes of the model.
            stored: Its weights, as `Decoded` returns them.
            plans: Its compressed tables.
            src_vocab_size: Size of the source vocabulary, including padding.
            tgt_vocab_size: Size of the target vocabulary, including padding.
            int8: Compute with integers of 8 bits.

        Raises:
            ModelError: The engine does not support the model, the weights belong to another model,
                one of them is NaN, or there is not enough memory.
        """
        if missing := unsupported(config):
            raise ModelError(f"the native engine does not support {missing}: use --engine torch")
        assert isinstance(config, TransformerConfig)
        sizes = {"src_vocab_size": src_vocab_size, "tgt_vocab_size": tgt_vocab_size}
        weights = DenseWeights(config, stored, plans, **sizes)
        return cls(weights.config, weights, **sizes, int8=int8)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self._free(self.handle)
