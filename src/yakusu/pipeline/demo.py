"""The demo: a translator trained in minutes on a generated phrasebook."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from yakusu.errors import RunError
from yakusu.metrics import Score, score
from yakusu.pipeline.train import train
from yakusu.progress import Progress, Silent
from yakusu.recipe import load_recipe
from yakusu.translator import Translator

_EVERY = 19  # every 19th test sentence is a sample, because neighbours are similar


@dataclass(frozen=True)
class Demo:
    """Result of `demo`.

    Attributes:
        model: Model folder.
        samples: Source, translation and reference of some test sentences.
        bleu: BLEU on all test sentences.
        same_numbers: Share of the test sentences whose translation has the reference's digits.
        n_test: Number of test sentences.
        seconds: Training time.
    """

    model: Path
    samples: list[tuple[str, str, str]]
    bleu: Score
    same_numbers: float
    n_test: int
    seconds: float


def demo(
    target: str = "ja",
    *,
    folder: str | Path = "runs",
    seed: int = 1,
    changes: Sequence[str] = (),
    progress: Progress | None = None,
) -> Demo:
    """Generate a phrasebook, train a translator on it and translate its test sentences.

    Args:
        target: Target language: "ja", "de", "fr" or "ko"; the source language is English.
        folder: Parent folder of the run folder demo-en-TARGET.
        seed: Seed of the training; the phrasebook is always the same.
        changes: Keys of the recipe to override, such as "training.max_steps=500".
        progress: Progress reporter.

    Raises:
        DataError: There is no phrasebook in that language.
        RunError: A library of the extra "demo" is missing.
    """
    try:
        from yakusu.data.phrasebook import phrasebook, write
    except ModuleNotFoundError as error:
        raise RunError(
            f"the demo needs {error.name}: install yakusu with its extra 'demo', as in "
            "pip install '.[demo]'"
        ) from error

    progress, folder = progress or Silent(), Path(folder)
    book = phrasebook(target)
    text = folder / f"phrasebook-en-{target}"
    files = write(book, text)
    progress.say(f"wrote a phrasebook of {len(book.train):,} sentence pairs to {text}")
    recipe = load_recipe(
        "demo",
        [f"data.target_language={json.dumps(target)}", f"seed={seed}", *changes],
        run=folder / f"demo-en-{target}",
        src=files["train.en"],
        tgt=files[f"train.{target}"],
        dev_src=files["dev.en"],
        dev_tgt=files[f"dev.{target}"],
    )
    trained = train(recipe, progress=progress)
    sources, references = zip(*book.test, strict=True)
    translations = Translator.load(trained.model).translate(sources)
    bleu = score(translations, references, metrics=("bleu",), target_language=target)[0]
    samples = list(zip(sources, translations, references, strict=True))[::_EVERY]
    same = same_numbers(translations, references)
    return Demo(trained.model, samples, bleu, same, len(sources), trained.seconds)


def same_numbers(translations: Sequence[str], references: Sequence[str]) -> float:
    """Return the share of translations with the same digits as the reference, in the same order."""
    pairs = zip(translations, references, strict=True)
    same = [re.findall(r"\d+", one) == re.findall(r"\d+", other) for one, other in pairs]
    return sum(same) / len(same)
