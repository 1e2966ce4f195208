"""A Transformer in the layout of the kernels."""

from collections.abc import Mapping, Sequence
from ctypes import byref

import numpy as np

from yakusu.arrays import Array
from yakusu.engine.library import MatrixFormat, StoredArray, library
from yakusu.engine.packing import Packing, model_sizes
from yakusu.engine.shapes import dense_config
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
        weights: Its tensors by name, each of which is read and packed before the next one.
        plans: Its compressed tables.
        src_vocab_size: Size of the source vocabulary, including padding.
        tgt_vocab_size: Size of the target vocabulary, including padding.
        matrices: Numbers of the matrices.

    Raises:
        ModelError: The weights belong to another model, one of them is NaN or infinite, or there is
            not enough memory.
    """

    _file: Array  # of a model that is mapped, which needs it

    def __init__(
        self,
        config: TransformerConfig,
        weights: Mapping[str, Array],
        plans: Sequence[AnyTablePlan] = (),
        *,
        src_vocab_size: int,
        tgt_vocab_size: int,
        matrices: MatrixFormat,
    ) -> None:
        if config.start_id is not None and config.start_id >= tgt_vocab_size - 1:
            raise ModelError(
                f"model.start_id = {config.start_id} is not among the ids 0 to "
                f"{tgt_vocab_size - 2} of the target vocabulary"
            )
        sizes = {"src_vocab_size": src_vocab_size, "tgt_vocab_size": tgt_vocab_size}
        dense = DenseWeights(config, weights, plans, **sizes)
        n_positions = min(config.max_length, N_POSITIONS)
        n_tokens = src_vocab_size - 1, tgt_vocab_size - 1
        try:
            with np.errstate(all="ignore"):  # overflows give infinity, which is refused
                self._take(Packing(dense, n_tokens, n_positions, matrices))
        except MemoryError as error:
            raise ModelError("there is not enough memory for the model") from error

    def _take(self, packing: Packing) -> None:
        self._free = library().yk_free_model
        self.handle = packing.model()
        self.config, self.matrices = packing.config, packing.matrices
        self.max_length = packing.n_positions
        self.src_vocab_size, self.tgt_vocab_size = (n + 1 for n in packing.n_tokens)

    @classmethod
    def mapped(
        cls,
        file: Array,
        config: TransformerConfig,
        plans: Sequence[AnyTablePlan],
        *,
        src_vocab_size: int,
        tgt_vocab_size: int,
        matrices: MatrixFormat,
    ) -> "NativeModel | None":
        """The model with the `arrays` of a file; None: the sizes differ, or out of memory.

        The arrays are not copied. All other arguments are those of `NativeModel`.
        """
        made = cls.__new__(cls)
        made._file, made._free = file, library().yk_free_mapped
        made.config, made.matrices = dense_config(config, plans), matrices
        made.max_length = min(config.max_length, N_POSITIONS)
        made.src_vocab_size, made.tgt_vocab_size = src_vocab_size, tgt_vocab_size
        sizes = model_sizes(made.config, (src_vocab_size - 1, tgt_vocab_size - 1), made.max_length)
        made.handle = library().yk_mapped(byref(sizes), file.ctypes.data, len(file))
        return made if made.handle else None

    def arrays(self) -> Sequence[StoredArray]:
        """Its matrices and vectors, as a file stores them."""
        found = (StoredArray * library().yk_arrays(self.handle, None))()
        library().yk_arrays(self.handle, found)
        return list(found)

    @classmethod
    def of(cls, packing: Packing) -> "NativeModel":
        """The model of a packing, which must not be used again."""
        made = cls.__new__(cls)
        made._take(packing)
        return made

    @classmethod
    def load(
        cls,
        config: ModelConfig,
        stored: Mapping[str, Array],
        plans: Sequence[AnyTablePlan],
        *,
        src_vocab_size: int,
        tgt_vocab_size: int,
        matrices: MatrixFormat,
    ) -> "NativeModel":
        """Pack the weights of a model of any kind, as `Decoded` returns them; see `NativeModel`.

        Raises:
            ModelError: The engine does not support the model, or as for `NativeModel`.
        """
        if missing := unsupported(config):
            raise ModelError(f"the native engine does not support {missing}: use --engine torch")
        assert isinstance(config, TransformerConfig)
        sizes = {"src_vocab_size": src_vocab_size, "tgt_vocab_size": tgt_vocab_size}
        return cls(config, stored, plans, **sizes, matrices=matrices)

    def encoded(self, source: Sequence[int]) -> Sequence[int]:
        """Return the ids that the encoder reads of a source: without eos if the model says so."""
        return source if self.config.source_eos or len(source) < 2 else source[:-1]

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self._free(self.handle)
