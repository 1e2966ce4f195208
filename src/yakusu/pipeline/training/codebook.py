"""Fits the codebook of a model at the end of its training."""

from math import ceil
from pathlib import Path

from yakusu.data.pairs import Pairs
from yakusu.engine.library import why_unavailable
from yakusu.engine.support import unsupported
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.learning import N_PAIRS, fit_codebook
from yakusu.pipeline.training.validation import native_decoder
from yakusu.search.neighbours import StateCodebook


def codebook_of(model: Seq2Seq, data: Path) -> StateCodebook | None:
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
