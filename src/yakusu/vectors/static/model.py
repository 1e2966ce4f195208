"""Static embeddings of texts: the mean of the vectors of their tokens, as model2vec computes it.

V rows, T tokens, H dimensions, M components, N texts.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np

from yakusu.arrays import Array, Floats, Longs, distinct_numbers
from yakusu.compress import kernels
from yakusu.errors import DataError, ModelError
from yakusu.vectors.file import open_compressed
from yakusu.vectors.static.averaging import CodedTokens, DenseTokens, TokenVectors
from yakusu.vectors.static.folder import OfTokens, StaticFolder, StaticSettings
from yakusu.vectors.static.tokens import StaticTokenizer

_AT_ONCE = 2**14  # tokens whose coordinates are in memory
_TINY = 1e-32  # added to lengths, as in model2vec


def open_static(folder: str | Path, *, verified: bool = False) -> "StaticEmbeddings":
    """Open a folder of static embeddings, compressed or not; codes are a memory map.

    Args:
        folder: A folder of `compress_static`, model2vec or sentence-transformers.
        verified: Check the SHA-256 of compressed vectors, which reads the whole file.

    Raises:
        ModelError: A file is missing or not valid, or the files do not fit each other.
        DataError: The package tokenizers is not installed.
    """
    files = StaticFolder.of(Path(folder))
    tokenizer = StaticTokenizer(files.tokenizer)
    table: TokenVectors = (
        CodedTokens(open_compressed(files.vectors, verified=verified))
        if files.is_compressed
        else DenseTokens(files.dense())
    )
    of_tokens = files.of_tokens(table.shape[0])
    per_token = table.shape[0] if of_tokens.mapping is None else len(of_tokens.mapping)
    if per_token != tokenizer.n_tokens:
        raise ModelError(
            f"{folder} has vectors for {per_token} tokens, but its tokenizer has "
            f"{tokenizer.n_tokens}: copy the folder again"
        )
    return StaticEmbeddings(table, tokenizer, of_tokens, files.settings())


class StaticEmbeddings:
    """Vectors of texts, with the interface of model2vec's `StaticModel.encode`.

    Args:
        table: Vectors of the tokens.
        tokenizer: Splits texts.
        of_tokens: Weights and rows of the tokens.
        settings: Defaults of `encode`.
    """

    def __init__(
        self,
        table: TokenVectors,
        tokenizer: StaticTokenizer,
        of_tokens: OfTokens,
        settings: StaticSettings,
    ) -> None:
        self._table, self._tokenizer, self._of_tokens = table, tokenizer, of_tokens
        self.settings = settings

    @property
    def dim(self) -> int:
        """H."""
        return self._table.shape[1]

    def tokenize(self, texts: Sequence[str], *, max_length: int | None = None) -> list[list[int]]:
        """Return the ids of texts, without unknown tokens; see `encode`."""
        return self._tokenizer.ids(texts, max_length)

    def encode(
        self,
        sentences: str | Sequence[str],
        *,
        max_length: int | Literal["model"] | None = "model",
        normalize: bool | None = None,
        batch_size: int = 1024,
        **ignored: object,
    ) -> Array:
        """Return the vector (H,) of a text, or those of texts, (N, H).

        A text without known tokens has the vector 0.

        Args:
            sentences: A text or a list of texts.
            max_length: Maximum number of tokens of a text, the first ones; None: all; "model": as
                the folder says.
            normalize: Whether vectors have length 1; None: as the folder says.
            batch_size: Number of texts that are split at a time.
            ignored: Other arguments of `StaticModel.encode`, which have no effect.

        Raises:
            DataError: A text is not a string or not valid Unicode, or a number is out of range.
        """
        most = self.settings.max_length if max_length == "model" else max_length
        if batch_size < 1 or (most is not None and most < 0):
            raise DataError(
                f"batch_size = {batch_size} or max_length = {most} is out of range: give a "
                "batch_size of at least 1 and a max_length of at least 0, or None"
            )
        texts = [sentences] if isinstance(sentences, str) else [*sentences]
        vectors = np.empty((len(texts), self.dim), np.float32)
        for begin in range(0, len(texts), batch_size):
            batch = slice(begin, begin + batch_size)
            vectors[batch] = self._means(self._tokenizer.ids(texts[batch], most))
        if self.settings.normalize if normalize is None else normalize:
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + _TINY
        vectors = vectors.astype(self._table.kind, copy=False)
        return vectors[0] if isinstance(sentences, str) else vectors

    def _means(self, texts: Sequence[Sequence[int]]) -> Floats:
        """Return the mean vectors (N, H) of the tokens of texts."""
        vectors = np.empty((len(texts), self.dim), np.float32)
        lengths = np.array([*map(len, texts)], np.int64)
        for part in _parts(lengths):
            tokens = np.fromiter(chain.from_iterable(texts[part]), np.int64)
            vectors[part] = self._means_of(tokens, lengths[part])
        return vectors

    def _means_of(self, tokens: Longs, lengths: Longs) -> Floats:
        """Return mean vectors (N, H).

        Args:
            tokens: Ids of all texts, one text after the other.
            lengths: Number of tokens of each text, (N,).
        """
        weights, mapping = self._of_tokens.weights, self._of_tokens.mapping
        n_tokens = self._table.shape[0] if mapping is None else len(mapping)
        if tokens.size and tokens.max() >= n_tokens:
            raise ModelError("the tokenizer has ids without a vector: copy the folder again")
        used, numbers = distinct_numbers(tokens, n_tokens)
        coordinates = self._table.coordinates(used if mapping is None else mapping[used])
        per_text = np.maximum(lengths, 1).astype(np.float32)
        shares = (lengths > 0).astype(np.float32)
        if weights is not None:
            coordinates *= weights[used][:, None]
            of_text = np.repeat(np.arange(len(lengths)), lengths)
            sums = np.bincount(of_text, weights[tokens], len(lengths))
            shares = sums.astype(np.float32) / per_text
        means = kernels.sums_of_rows(coordinates, numbers, lengths) / per_text[:, None]
        return self._table.vectors(means, shares)


def _parts(lengths: Longs) -> Iterator[slice]:
    """Yield slices of texts that have about `_AT_ONCE` tokens together, or one text."""
    ends = np.cumsum(lengths)
    begin = done = 0
    while begin < len(lengths):
        end = max(begin + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
        yield slice(begin, end)
        begin, done = end, int(ends[end - 1])
