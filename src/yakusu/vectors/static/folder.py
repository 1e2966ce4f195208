"""Folders of static embeddings, as model2vec reads them or compressed.

    model2vec                model.safetensors ("embeddings"), config.json
    sentence-transformers    model.safetensors ("embedding.weight"), in 0_StaticEmbedding/ or not;
                             config_sentence_transformers.json
    compressed               embeddings.ykv, tokens.safetensors, config.json

tokenizer.json is next to the vectors. model.safetensors or tokens.safetensors may contain
"weights", one per token, and "mapping", the row of each token, without which tokens and rows are
the same. V rows, T tokens, H dimensions.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from yakusu.arrays import Array, Arrays, ArraysOnDisk, Floats, Longs
from yakusu.errors import ModelError
from yakusu.folder import read_regular

TABLE, TOKENS, DENSE = "embeddings.ykv", "tokens.safetensors", "model.safetensors"
CONFIG, TOKENIZER = "config.json", "tokenizer.json"
_LAYOUTS = (  # files of the vectors, the configuration and the tokenizer; name of the vectors
    (TABLE, CONFIG, TOKENIZER, ""),
    (DENSE, CONFIG, TOKENIZER, "embeddings"),
    *(
        (
            f"{at}{DENSE}",
            "config_sentence_transformers.json",
            f"{at}{TOKENIZER}",
            "embedding.weight",
        )
        for at in ("", "0_StaticEmbedding/")
    ),
)
_FLOATS = (np.float16, np.float32, np.float64)
_LARGEST = 1e8  # magnitude of a number; squares of sums of products fit in float32
_MOST_TOKENS = 512  # of a text, if the configuration does not say it


@dataclass(frozen=True)
class StaticSettings:
    """What the configuration says of a text.

    normalize: Whether its vector has length 1.
    max_length: Maximum number of its tokens; None: all are used.
    """

    normalize: bool = False
    max_length: int | None = _MOST_TOKENS


@dataclass(frozen=True)
class StaticFolder:
    """The files of a folder.

    vectors, config, tokenizer: Their paths.
    name: Name of the vectors in a safetensors file; "": the folder is compressed.
    """

    vectors: Path
    config: Path
    tokenizer: Path
    name: str

    @classmethod
    def of(cls, folder: Path) -> "StaticFolder":
        """Find the files of a folder.

        Raises:
            ModelError: The folder does not contain static embeddings.
        """
        for vectors, config, tokenizer, name in _LAYOUTS:
            found = cls(folder / vectors, folder / config, folder / tokenizer, name)
            if all(file.is_file() for file in (found.vectors, found.config, found.tokenizer)):
                return found
        raise ModelError(
            f"{folder} does not contain static embeddings (model.safetensors, tokenizer.json and "
            "config.json): choose the folder of a model2vec model, or a compressed one"
        )

    @property
    def is_compressed(self) -> bool:
        """Whether the vectors are compressed."""
        return not self.name

    @property
    def size(self) -> int:
        """Bytes of all files that `open_static` reads."""
        paths = {self.vectors, self.config, self.tokenizer, self._of_tokens}
        return sum(path.stat().st_size for path in paths if path.is_file())

    @property
    def _of_tokens(self) -> Path:
        return self.vectors.parent / TOKENS if self.is_compressed else self.vectors

    def settings(self) -> StaticSettings:
        """Read the configuration.

        Raises:
            ModelError: It is not valid.
        """
        try:
            read = json.loads(read_regular(self.config))
            normalize = read.get("normalize", False)
            most = read.get("max_length", _MOST_TOKENS)
        except OSError as error:
            raise ModelError(f"{self.config} cannot be read: {error.strerror}") from error
        except (ValueError, AttributeError, RecursionError) as error:
            raise ModelError(f"{self.config} is not valid: copy the folder again") from error
        if type(normalize) is not bool or not (most is None or (type(most) is int and most >= 0)):
            raise ModelError(
                f"{self.config} needs true or false for 'normalize' and a number or null for "
                "'max_length': correct it"
            )
        return StaticSettings(normalize, most)

    def dense(self) -> Array:
        """Read the vectors (V, H) of a folder that is not compressed.

        Raises:
            ModelError: They are missing or not a finite matrix of numbers.
        """
        arrays = ArraysOnDisk(self.vectors)
        if self.name not in arrays:
            raise ModelError(f"{self.vectors} has no tensor '{self.name}': copy the folder again")
        found = arrays[self.name]
        if found.ndim != 2 or not found.size or found.dtype not in (*_FLOATS, np.int8):
            raise ModelError(
                f"{self.vectors}: '{self.name}' has shape {found.shape} and type {found.dtype}: "
                "save a matrix of floats or of int8"
            )
        if not _are_usual(found):
            raise ModelError(
                f"{self.vectors} has numbers that are not finite, or above {_LARGEST:g}: correct "
                "them"
            )
        return found

    def of_tokens(self, n_rows: int) -> "OfTokens":
        """Read weights and rows of tokens.

        Args:
            n_rows: V.

        Raises:
            ModelError: They are invalid or do not fit V rows.
        """
        if not self._of_tokens.is_file():
            return OfTokens(None, None)
        arrays = ArraysOnDisk(self._of_tokens)
        found = {name: arrays[name] for name in ("weights", "mapping") if name in arrays}
        weights, mapping = found.get("weights"), found.get("mapping")
        if not (
            all(array.ndim == 1 and array.size for array in found.values())
            and len({len(array) for array in found.values()}) <= 1
            and (weights is None or (weights.dtype in _FLOATS and _are_usual(weights)))
            and (mapping is None or _are_rows(mapping, n_rows))
            and (weights is None or mapping is not None or len(weights) == n_rows)
        ):
            raise ModelError(
                f"{self._of_tokens}: the weights or rows of the tokens do not fit {n_rows} "
                "vectors: copy the folder again"
            )
        return OfTokens(
            None if weights is None else weights.astype(np.float32, copy=False),
            None if mapping is None else mapping.astype(np.int64, copy=False),
        )


@dataclass(frozen=True, eq=False)
class OfTokens:
    """Weights (T,) and rows (T,) of the tokens; None: all weights are 1, and token t has row t."""

    weights: Floats | None
    mapping: Longs | None

    @property
    def arrays(self) -> Arrays:
        """Those that are not None, by name."""
        return {name: array for name, array in vars(self).items() if array is not None}


def _are_usual(numbers: Array) -> bool:
    """Whether numbers are finite and not too large."""
    return float(numbers.min()) >= -_LARGEST and float(numbers.max()) <= _LARGEST


def _are_rows(mapping: Array, n_rows: int) -> bool:
    return mapping.dtype.kind in "iu" and int(mapping.min()) >= 0 and int(mapping.max()) < n_rows
