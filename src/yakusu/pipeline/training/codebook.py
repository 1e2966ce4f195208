"""Fits the codebook that maps the decoder states of a model to codes of 4 bits.

    scores = (h - mean) A,  A = loadings / scale       Algorithm 1 of the second paper, K = 16

The components have a variance of 1 on average, so two unrelated states are about 2 M apart.
"""

from collections.abc import Sequence
from math import ceil
from pathlib import Path

import numpy as np

from yakusu.compress.codes import code
from yakusu.data.pairs import Pairs
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.library import why_unavailable
from yakusu.engine.support import unsupported
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.training.validation import native_decoder
from yakusu.search.decoder import IdPair
from yakusu.search.neighbours import N_CODES, Codebook

N_PAIRS = 3000  # from which a codebook is fitted
_COMPONENTS, _MULTIPLE = 64, 16  # M, and what it is a multiple of
_TEMPERATURE, _REACH = 10 / 64, 40 / 64  # of a component
_WEIGHT = 0.5
_BATCH = 64  # pairs that are decoded together


def codebook_of(model: Seq2Seq, data: Path) -> Codebook | None:
    """Fit the codebook of a model to its training data; None if the native engine cannot run it.

    Args:
        model: The model, which has its final weights.
        data: The data folder of its run.
    """
    if unsupported(model.config) or why_unavailable():
        return None
    pairs = Pairs.open(data, "train")
    rows = range(0, len(pairs), max(1, ceil(len(pairs) / N_PAIRS)))
    chosen = [(pairs.src[row].tolist(), pairs.tgt[row].tolist()) for row in rows]
    return fit_codebook(native_decoder(model), chosen)


def fit_codebook(decoder: NativeDecoder, pairs: Sequence[IdPair]) -> Codebook | None:
    """Fit the codebook of the only model of a decoder; None if the model is too small for one.

    Args:
        decoder: The model.
        pairs: Sources and targets, with eos, as in training.
    """
    width = decoder.models[0].config.d_model
    n_components = min(_COMPONENTS, width // _MULTIPLE * _MULTIPLE)
    if not n_components or not pairs:
        return None
    states = np.concatenate(decoder.states(pairs, batch=_BATCH))
    coded = code(states, n_components=n_components, n_codes=N_CODES)
    centroids = np.full((n_components, N_CODES), np.nan, np.float32)
    centroids[:, : coded.centroids.shape[1]] = coded.centroids
    return Codebook(
        coded.axes.mean.astype(np.float32),
        (coded.axes.loadings / coded.axes.scale[:, None]).astype(np.float32),
        centroids,
        temperature=_TEMPERATURE * n_components,
        reach=_REACH * n_components,
        weight=_WEIGHT,
    )
