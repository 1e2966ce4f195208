"""Prepares a memory for a model that learns from it: the states of its segments, and the codebook.

    scores = (h - mean) A,  A = loadings / scale       Algorithm 1 of the second paper, K = 16

Training fits the codebook of a model. An older model gets one from a memory, in its folder. The
columns of a state are scaled to a variance of 1, so the first components have more: on average 1.8
for 64 of 128, with which two unrelated states are about 3.6 M apart.
"""

from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from yakusu.compress.codes import code
from yakusu.data.lines.config import TextConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.errors import ModelError
from yakusu.memory.memory import TranslationMemory
from yakusu.progress import Progress, Silent
from yakusu.search.decoder import IdPair
from yakusu.search.neighbours import N_CODES, StateCodebook
from yakusu.shipped import own_folder
from yakusu.translator import Translator
from yakusu.translator.folder.codebook import CODEBOOK, write_codebook
from yakusu.translator.folder.folder import add_to_folder

N_PAIRS = 3000  # from which a codebook is fitted
_COMPONENTS, _MULTIPLE = 64, 16  # M, and what it is a multiple of
_TEMPERATURE, _REACH = 10 / 64, 70 / 64  # of a component
_WEIGHT = 0.99
_BATCH = 64  # pairs that are decoded together


def fit_codebook(decoder: NativeDecoder, pairs: Sequence[IdPair]) -> StateCodebook | None:
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
    return StateCodebook(
        coded.axes.mean.astype(np.float32),
        (coded.axes.loadings / coded.axes.scale[:, None]).astype(np.float32),
        centroids,
        temperature=_TEMPERATURE * n_components,
        reach=_REACH * n_components,
        weight=_WEIGHT,
    )


def add_states(memory: str | Path, model: str | Path, *, progress: Progress | None = None) -> int:
    """Compute the states of those segments of a memory that have none for a model.

    A model without a codebook gets one, which is fitted to the memory.

    Args:
        memory: The file of the memory, which must be writable.
        model: Model folder.
        progress: Counts the segments.

    Returns:
        The number of segments whose states were computed.

    Raises:
        ModelError: The model cannot learn from a memory.
        DataError: The memory cannot be read or written, or has other languages.
    """
    folder, path, done = own_folder(model), Path(memory), [0]
    if not (folder / CODEBOOK).exists():
        _give_codebook(folder, path)
    translator = Translator.load(folder, text=TextConfig(memory=(str(path),)))
    assert translator.memories
    with (progress or Silent()).track("states", "segments", None) as tracker:

        def advance(n: int) -> None:
            done[0] += n
            tracker.advance(n)

        translator.memories.compute_states(advance)
    return done[0]


def _give_codebook(folder: Path, memory: Path) -> None:
    """Write a codebook into a model folder."""
    translator = Translator.load(folder)
    if not isinstance(translator.decoder, NativeDecoder):
        raise ModelError(f"torch runs {folder}, and does not learn from a memory")
    with TranslationMemory.open(memory) as opened, opened.snapshot():
        step = max(1, -(-len(opened) // N_PAIRS))
        chosen = [each.segment for each in islice(opened, 0, None, step)]
    pairs = [translator.pair_ids(each.source, each.target) for each in chosen]
    codebook = fit_codebook(translator.decoder, [pair for pair in pairs if pair])
    if codebook is None:
        raise ModelError(f"{folder} is too small, or {memory} is empty: there is nothing to learn")
    add_to_folder(folder, CODEBOOK, partial(write_codebook, codebook=codebook))
