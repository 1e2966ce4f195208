"""Calibrates the estimated quality of a model's translations on a dev set.

    w = (Z'Z + R I)^-1 Z'(y - mean of y),  y the chrF of each translation, Z the terms

The terms, and what the numbers mean, are at the top of `translator/quality.py`.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.languages import same_language
from yakusu.errors import DataError, ModelError
from yakusu.metrics import sentence_scorer
from yakusu.search.decoder import IdPair
from yakusu.shipped import own_folder
from yakusu.translator import Translator
from yakusu.translator.folder.folder import QUALITY, add_to_folder
from yakusu.translator.folder.quality import write_calibration
from yakusu.translator.quality import Calibration, Evidence, QualityTerm, tent

N_LEAST, N_MOST = 100, 500  # sentences
_RIDGE = 10.0  # R
_BAD = 30.0  # chrF
_WORST = 10  # percent of the dev set that are probably bad, at most
_DIGITS = 6  # of the numbers that are stored


def fit_calibration(translator: Translator, pairs: Sequence[IdPair]) -> Calibration | None:
    """Translate the sources of pairs, and fit the quality to chrF.

    Args:
        translator: The model, with the settings of its searches.
        pairs: Sources and references, with eos, as in training.

    Returns:
        The calibration; None: there are too few pairs, or all translations have the same chrF, so
        that nothing distinguishes the bad ones.
    """
    if len(pairs) < N_LEAST:
        return None
    found = [best[0] for best in translator.hypotheses([("", source) for source, _ in pairs])]
    texts, references = (
        translator.tokenizer.decode_target(ids)
        for ids in ([h.tokens for h in found], [target[:-1] for _, target in pairs])
    )
    score = sentence_scorer("chrf")
    rows = [
        (Evidence.of(h.token_log_probs, len(source)), score(text, reference))
        for h, (source, _), text, reference in zip(found, pairs, texts, references, strict=True)
        if h.path
    ]
    scores = np.array([own for _, own in rows])
    if len(rows) < N_LEAST or scores.min() == scores.max():
        return None
    return _fitted([evidence for evidence, _ in rows], scores)


def _fitted(evidence: Sequence[Evidence], scores: NDArray[np.float64]) -> Calibration:
    """The calibration for the chrF of translations."""
    numbers = np.array(evidence)
    means, scales = numbers.mean(0), np.maximum(numbers.std(0), 1e-6)
    terms = (numbers - means) / scales
    of_length = Evidence._fields.index("length")
    terms[:, of_length] = [tent(z) for z in terms[:, of_length]]
    centred = terms - terms.mean(0)
    gram = centred.T @ centred + _RIDGE * np.eye(terms.shape[1])
    weights = np.linalg.solve(gram, centred.T @ (scores - scores.mean()))
    estimates = centred @ weights + scores.mean()
    return Calibration(
        n_sentences=len(scores),
        correlation=_stored(rank_correlation(estimates, scores)),
        **{
            name: QualityTerm(mean=_stored(mean), scale=_stored(scale), weight=_stored(weight))
            for name, mean, scale, weight in zip(
                Evidence._fields, means, scales, weights, strict=True
            )
        },
        intercept=_stored(scores.mean() - terms.mean(0) @ weights),
        doubtful=_stored(min(_BAD, float(np.percentile(estimates, _WORST)))),
    )


def rank_correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Spearman's rank correlation; equal values have their mean rank; 0: one is constant."""
    ranks = list[NDArray[np.float64]]()
    for values in (one, other):
        _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        ends = counts.cumsum()
        ranks.append(((2 * ends - counts - 1) / 2)[places])
    if any(each.min() == each.max() for each in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _stored(value: float) -> float:
    """A number with the digits that are stored."""
    return float(f"{value:.{_DIGITS}g}")


def calibrate(model: str | Path, dev: Corpus) -> Calibration:
    """Calibrate the quality of a model on a dev set, and store the calibration in its folder.

    Args:
        model: Model folder.
        dev: The dev set, of which up to `N_MOST` pairs are translated.

    Raises:
        ModelError: The model is a parser, or its folder cannot be read.
        DataError: The dev set cannot be read, is in other languages, has fewer than `N_LEAST` pairs
            that are not too long, or all its translations have the same chrF.
    """
    translator = translator_for(model, dev)
    found = (translator.pair_ids(*pair) for pair in read_pairs(dev) if all(map(str.strip, pair)))
    pairs = [pair for pair in found if pair]
    calibration = fit_calibration(translator, [pairs[row] for row in calibration_rows(len(pairs))])
    if calibration is None:
        fault = (
            f"has {len(pairs)} pairs that are not too long: calibrate with at least {N_LEAST}"
            if len(pairs) < N_LEAST
            else f"is translated equally well throughout by {model}: calibrate with harder text"
        )
        raise DataError(f"{dev.files[0]} {fault}")
    write = partial(write_calibration, calibration=calibration)
    add_to_folder(own_folder(model), QUALITY, write)
    return calibration


def calibration_rows(n: int) -> list[int]:
    """The numbers of up to `N_MOST` of n pairs, evenly spaced."""
    return [i * n // N_MOST for i in range(N_MOST)] if n > N_MOST else list(range(n))


def translator_for(model: str | Path, corpus: Corpus) -> Translator:
    """Open a model that translates to the language of the targets of a corpus.

    Raises:
        ModelError: The model is a parser, or has several target languages and none of this file.
        DataError: The files are in other languages than those of the model.
    """
    translator = Translator.load(model)
    if translator.task.constrains:
        raise ModelError(f"{model} is a parser: name the folder of a translator")
    if translator.targets and (language := corpus.languages[1]):
        translator = translator.translating_to(language)
    translator.require_target()
    for side, own, given in zip((0, -1), translator.languages, corpus.languages, strict=True):
        if own and given and not same_language(own, given):
            raise DataError(
                f"{corpus.files[side]} is for {given}, but the model for {own}: name a model of "
                "its languages"
            )
    return translator
