"""Calibrates the estimated quality of a model at the end of its training."""

from pathlib import Path

from yakusu.data.pairs import Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.library import why_unavailable
from yakusu.engine.support import unsupported
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.calibration import calibration_rows, fit_calibration
from yakusu.pipeline.training.validation import native_decoder
from yakusu.recipe import Recipe
from yakusu.translator import Translator
from yakusu.translator.quality import Calibration


def calibration_of(
    model: Seq2Seq, tokenizer: Tokenizer, recipe: Recipe, data: Path
) -> Calibration | None:
    """Calibrate a model on the dev set of its run.

    Args:
        model: The model, which has its final weights.
        tokenizer: Its tokenizer.
        recipe: The recipe of its run.
        data: The data folder of its run.

    Returns:
        The calibration; None: `fit_calibration` makes none, or the native engine cannot run the
        model.
    """
    if unsupported(model.config, recipe.search) or why_unavailable():
        return None
    pairs = Pairs.open(data, "dev")
    rows = calibration_rows(len(pairs))
    chosen = [(pairs.src[row].tolist(), pairs.tgt[row].tolist()) for row in rows]
    translator = Translator(
        native_decoder(model), tokenizer, languages=recipe.languages, search=recipe.search
    )
    return fit_calibration(translator, chosen)
