"""The demo: a translator trained in minutes on a generated phrasebook."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch  # noqa: F401  (training needs it; without it, no phrasebook is written)

from yakusu.data.files.text import Pair
from yakusu.data.languages import canonical
from yakusu.errors import RunError
from yakusu.metrics import Score, score_translations
from yakusu.pipeline.digits import Digits
from yakusu.pipeline.export_web import export_web
from yakusu.pipeline.training.train import train
from yakusu.progress import Progress, Silent
from yakusu.recipe import RecipeFiles, load_recipe
from yakusu.translator import Translator

_PAIRS = 30_000  # with 12,000, the digits of more sentences are wrong (docs/decisions/0047)
_EVERY = 19  # every 19th test sentence is a sample, because neighbours are similar


@dataclass(frozen=True)
class Demo:
    """Result of `demo`.

    Attributes:
        model: Model folder.
        page: The translator as one HTML file.
        samples: Source, translation and reference of some test sentences.
        bleu: BLEU on all test sentences.
        digits: How many test sentences have the right digits.
        n_test: Number of test sentences.
        seconds: Training time.
    """

    model: Path
    page: Path
    samples: list[tuple[str, str, str]]
    bleu: Score
    digits: Digits
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

    The translator is also written as one HTML file, RUN/translator.html.

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
    progress, folder = progress or Silent(), Path(folder)
    target = canonical(target) or target
    files, test = _text(target, folder / f"phrasebook-en-{target}", progress)
    run = files["run"] = folder / f"demo-en-{target}"
    settings = [f"data.target_language={json.dumps(target)}", f"seed={seed}", *changes]
    recipe = load_recipe("demo", settings, **files)
    trained = train(recipe, progress=progress)
    sources, references = zip(*test, strict=True)
    translations = Translator.load(trained.model).translate(sources)
    (bleu,) = score_translations(
        translations, references, metrics=("bleu",), target_language=target
    )
    samples = list(zip(sources, translations, references, strict=True))[::_EVERY]
    digits = Digits.of(translations, references)
    page = run / "translator.html"
    page.unlink(missing_ok=True)
    export_web(trained.model, page, progress=progress)
    return Demo(trained.model, page, samples, bleu, digits, len(sources), trained.seconds)


def _text(target: str, folder: Path, progress: Progress) -> tuple[RecipeFiles, list[Pair]]:
    """Write a phrasebook; return the files of its training and dev set, and its test set."""
    try:
        from yakusu.pipeline.demo.phrasebook import phrasebook, write
    except ModuleNotFoundError as error:
        raise RunError(
            f"the demo needs {error.name}: install yakusu with its extra 'demo', as in "
            "pip install '.[demo]'"
        ) from error
    book = phrasebook(target, n_pairs=_PAIRS)
    files = write(book, folder)
    progress.say(f"wrote a phrasebook of {len(book.train):,} sentence pairs to {folder}")
    sets: RecipeFiles = {
        "src": files["train.en"],
        "tgt": files[f"train.{target}"],
        "dev_src": files["dev.en"],
        "dev_tgt": files[f"dev.{target}"],
    }
    return sets, book.test
