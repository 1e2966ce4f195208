"""Detects the languages of a corpus whose recipe, columns and file names do not state them."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from yakusu.data.corpus import read_pairs
from yakusu.data.identification import SAMPLE, EvenSample, can_identify, identifier
from yakusu.errors import YakusuError
from yakusu.pipeline.training.run import is_started
from yakusu.recipe import Recipe, load_recipe

_INSPECTED = 5000  # pairs at the beginning of a corpus
_SIDES = ("source", "target")


def with_detected_languages(recipe: Recipe) -> tuple[Recipe, str]:
    """Return a recipe with the languages of its corpus, and a sentence about them or "".

    A language that is given stays; one that is not certain stays unknown, and so does one of
    several close languages; the sentence asks for these. A run that has started keeps its own.
    """
    given = recipe.languages
    if all(given) or recipe.task != "translation" or recipe.data.others:
        return recipe, ""
    saved = Path(recipe.run) / "recipe.toml"
    if recipe.run and saved.is_file() and is_started(Path(recipe.run)):
        own = load_recipe(saved).data
        return _with_languages(recipe, (own.source_language, own.target_language)), ""
    if not can_identify():
        install = ", or install yakusu with its extra 'train' to detect languages"
        return recipe, _request([_SIDES[i] for i in (0, 1) if not given[i]], install)
    try:
        sample = _sample(recipe)
    except YakusuError:
        return recipe, ""  # reported when the corpus is read
    detected, close, unknown = ["", ""], list[str](), list[str]()
    for side, lines in enumerate(zip(*sample, strict=True)):
        if given[side]:
            continue
        match identifier().languages_of(lines):
            case [code]:
                detected[side] = code
            case [_, *_] as several:
                close.append(_question(_SIDES[side], several))
            case _:
                unknown.append(_SIDES[side])
    found = _with_languages(recipe, (detected[0], detected[1]))
    return found, "; ".join(filter(None, (_statement(detected), *close, _request(unknown))))


def _sample(recipe: Recipe) -> EvenSample[tuple[str, str]]:
    sample: EvenSample[tuple[str, str]] = EvenSample(SAMPLE)
    for pair in islice(read_pairs(recipe.data.train), _INSPECTED):
        sample.add(pair)
    return sample


def _with_languages(recipe: Recipe, codes: tuple[str, str]) -> Recipe:
    """Return a recipe with codes for the languages that are not known."""
    update = {
        f"{side}_language": code
        for side, code, given in zip(_SIDES, codes, recipe.languages, strict=True)
        if code and not given
    }
    return recipe.model_copy(update={"data": recipe.data.model_copy(update=update)})


def _statement(detected: Sequence[str]) -> str:
    """What was detected: "languages: en to ja, ..."."""
    named = [(side, code) for side, code in zip(_SIDES, detected, strict=True) if code]
    if not named:
        return ""
    options = " and ".join(f"data.{side}_language" for side, _ in named)
    what = f"{named[0][0]} language" if len(named) == 1 else "languages"
    codes = " to ".join(code for _, code in named)
    wrong = "it is" if len(named) == 1 else "they are"
    return f"{what}: {codes}, detected in the corpus (set {options} if {wrong} wrong)"


def _request(sides: Sequence[str], otherwise: str = "") -> str:
    """Ask for languages that cannot be detected."""
    if not sides:
        return ""
    what = "language is" if len(sides) == 1 else "languages are"
    options = " and ".join(f"--set data.{side}_language=CODE" for side in sides)
    return f"the {' and '.join(sides)} {what} not known: add {options}, such as en{otherwise}"


def _question(side: str, codes: Sequence[str]) -> str:
    *others, last = codes
    return (
        f"the {side} language is {', '.join(others)} or {last}, which are too close to be told "
        f"apart: set data.{side}_language to one of them"
    )
