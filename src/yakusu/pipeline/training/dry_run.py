"""`train --dry-run`: what training would do, from a sample in a temporary folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from yakusu.data.config import Direction
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.identification import EvenSample
from yakusu.errors import DataError
from yakusu.pipeline.aligning.misaligned import explained_unequal
from yakusu.pipeline.training.fit import plan_resolved
from yakusu.pipeline.training.plan import TrainingPlan
from yakusu.pipeline.training.run import with_values
from yakusu.progress import Progress
from yakusu.recipe import Recipe

_SAMPLE = 20_000  # pairs of a corpus, or up to twice as many
_PER_TOKEN = 2  # pairs for each token of the vocabulary, which cannot be learned from fewer


def plan_from_sample(recipe: Recipe, told: tuple[str, ...], progress: Progress) -> TrainingPlan:
    """Prepare a sample of the corpora in a temporary folder, and describe the training.

    Args:
        recipe: The recipe of the run.
        told: Sentences about the choice of the recipe and the languages.
        progress: Progress reporter.

    Raises:
        YakusuError: As in `prepare`.
    """
    with TemporaryDirectory(prefix="yakusu-") as folder:
        sampled, n_sampled, n = _sampled(recipe, Path(folder))
        with _explained(recipe, sampled):
            made = plan_resolved(sampled, told, progress)
    if n_sampled == n:
        return replace(made, sampled=0)
    return replace(
        made,
        n_pairs=round(made.n_pairs * n / n_sampled),
        dropped=round(made.dropped * n / n_sampled),
        tokens=round(made.tokens * n / n_sampled),
        sampled=n_sampled,
    )


@contextmanager
def _explained(recipe: Recipe, sampled: Recipe) -> Iterator[None]:
    """Name the files of the user, not those of the sample, in an error."""
    try:
        yield
    except DataError as error:
        text = str(error)
        directions = zip(
            (recipe.data, *recipe.data.others), (sampled.data, *sampled.data.others), strict=True
        )
        for own, made in directions:
            real, temporary = (" and ".join(map(str, each.train.files)) for each in (own, made))
            text = text.replace(temporary, real)
        raise DataError(text) from error


def _sampled(recipe: Recipe, folder: Path) -> tuple[Recipe, int, int]:
    """Return a recipe of a run in a folder with sampled corpora, and the pairs of both."""
    samples: list[tuple[Corpus, int, int]] = []

    def smaller(direction: Direction) -> dict[str, Any]:
        size = max(_SAMPLE, _PER_TOKEN * recipe.tokenizer.vocab_size)
        samples.append(_sample(direction.train, folder / str(len(samples)), size))
        codes = dict(zip(("source_language", "target_language"), direction.languages, strict=True))
        return {"train": samples[-1][0], **codes}

    data = recipe.data
    if recipe.task == "translation":
        others = tuple(each.model_copy(update=smaller(each)) for each in data.others)
        data = data.model_copy(update={**smaller(data), "others": others})
    n_sampled, n = sum(n for _, n, _ in samples), sum(n for _, _, n in samples)
    made = recipe.model_copy(update={"data": data, "run": str(folder / "run")})
    if n_sampled:  # as many steps as with all pairs
        epochs = recipe.training.max_epochs * n / n_sampled
        made = with_values(made, {"training.max_epochs": epochs})
    return made, n_sampled, n


def _sample(corpus: Corpus, folder: Path, size: int) -> tuple[Corpus, int, int]:
    """Write evenly spaced pairs of a corpus; return them, their number and that of all pairs."""
    sample: EvenSample[tuple[str, str]] = EvenSample(size)
    n = 0
    with explained_unequal(corpus):
        for pair in read_pairs(corpus):
            sample.add(pair)
            n += 1
    folder.mkdir()
    for side, name in enumerate(("src", "tgt")):
        with (folder / name).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(pair[side] + "\n" for pair in sample)
    return Corpus(src=str(folder / "src"), tgt=str(folder / "tgt")), len(sample), n
