"""Creates a store: its codebook is learned from a sample, and never changes."""

from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt

from yakusu.compress.axes import check_vectors
from yakusu.compress.blocks import StoredMatrix, sampled
from yakusu.compress.config import CompressConfig
from yakusu.errors import DataError, RecipeError, VectorStoreError
from yakusu.vectors.store.coding import HALF_BYTE, coder_of
from yakusu.vectors.store.file import (
    WIDEST,
    KeptPrecision,
    StoreSettings,
    StoreSimilarity,
    create_store_file,
)
from yakusu.vectors.store.similarity import comparable
from yakusu.vectors.store.store import VectorStore, open_store

_SAMPLE = 2**15  # vectors
_NO_EFFECT = ("ratio", "bits", "tiers", "stacks", "exact", "int8", "half")


def create_store(
    path: str | Path,
    sample: npt.ArrayLike | StoredMatrix,
    *,
    similarity: StoreSimilarity = "cosine",
    originals: KeptPrecision | None = None,
    config: CompressConfig | None = None,
) -> VectorStore:
    """Create an empty store, and open it for writing.

    Args:
        path: The file, which must not exist.
        sample: Vectors (n, H) like those that will be added, from which the codebook is learned: at
            most 32,768 of them, evenly spaced, or `config.sample`. They are not added.
        similarity: What is compared: "cosine", "inner-product" or "euclidean".
        originals: Type in which the vectors themselves are kept, so that the best candidates are
            ranked again; None: only codes are kept.
        config: Settings of the codebook; by default codes with M = H and K = 16, in closed form.

    Raises:
        RecipeError: A setting is unknown or has no effect on stores, or K is above 16.
        DataError: The file exists or cannot be written, or the sample is not a finite matrix of two
            or more different vectors.
    """
    path = Path(path)
    if path.exists() and path.stat().st_size:
        raise VectorStoreError(f"{path} exists: choose another name, or add vectors to it")
    create_store_file(path, learned_settings(sample, similarity, originals, config))
    return open_store(path, writable=True)


def learned_settings(
    sample: npt.ArrayLike | StoredMatrix,
    similarity: StoreSimilarity,
    originals: KeptPrecision | None,
    config: CompressConfig | None,
) -> StoreSettings:
    """Return the settings of a new store, and learn its codebook; see `create_store`."""
    config = _for_stores(config or CompressConfig())
    if similarity not in get_args(StoreSimilarity) or originals not in (
        None,
        *get_args(KeptPrecision),
    ):
        raise RecipeError(
            f"similarity = {similarity!r} with originals = {originals!r} is unknown: choose "
            "cosine, inner-product or euclidean, and float16, float32 or None"
        )
    given = sample if isinstance(sample, StoredMatrix) else np.asarray(sample)
    if given.ndim != 2 or given.shape[1] > WIDEST or given.dtype.kind not in "fiu":
        raise DataError(
            f"vectors have shape {given.shape} and type {given.dtype}: give a matrix of numbers "
            f"with at most {WIDEST:,} columns"
        )
    rows = sampled(given, config.sample or _SAMPLE)
    check_vectors(rows)
    vectors = comparable(rows, similarity)
    if (vectors[1:] == vectors[:1]).all():
        raise DataError(
            f"the codebook cannot be learned from {len(vectors)} equal vectors: give two or more "
            "different ones"
        )
    from yakusu.compress.compressor import compressor_of  # imports scikit-learn

    book = compressor_of(config).fit(vectors).compressed_.book
    return StoreSettings(similarity, originals, coder_of(book))


def _for_stores(config: CompressConfig) -> CompressConfig:
    """Refuse what stores do not have; fit in closed form unless another fit is given."""
    config.refuse(_NO_EFFECT, "stores")
    if config.method != "codes":
        return config
    if (config.k or HALF_BYTE) > HALF_BYTE:
        raise RecipeError(
            f"codes with K = {config.k} cannot be searched in a store: set compress.k to "
            f"{HALF_BYTE} or less, or compress.method = 'integers'"
        )
    is_given = "fit" in config.model_fields_set
    return config if is_given else config.model_copy(update={"fit": "closed"})
