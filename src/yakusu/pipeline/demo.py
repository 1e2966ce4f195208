"""The demo: a translator from nothing but libraries, in minutes."""

from dataclasses import dataclass
from pathlib import Path

from yakusu.errors import RunError
from yakusu.metrics import Score, score
from yakusu.pipeline.train import train
from yakusu.progress import Progress, Silent
from yakusu.recipe import load_recipe
from yakusu.translator import Translator


@dataclass(frozen=True)
class Demo:
    """What `demo` made."""

    model: Path
    samples: list[tuple[str, str, str]]  # source, translation, reference
    bleu: Score
    seconds: float


def demo(
    target: str = "ja", *, folder: str | Path = "runs", progress: Progress | None = None
) -> Demo:
    """Make a phrasebook, train a translator on it and translate sentences that it never saw.

    Args:
        target: ja, de, fr or ko; the source is English.
        folder: Where the run goes, as FOLDER/demo-en-TARGET.
        progress: Watches.

    Raises:
        DataError: There is no phrasebook in that language.
    """
    try:
        from yakusu.data.phrasebook import phrasebook, write
    except ModuleNotFoundError as error:
        raise RunError(f"the demo needs {error.name}: pip install 'yakusu[demo]'") from error

    progress = progress or Silent()
    run = Path(folder) / f"demo-en-{target}"
    text = Path(folder) / f"phrasebook-en-{target}"
    book = phrasebook(target)
    files = write(book, text)
    progress.say(f"a phrasebook of {len(book.train):,} sentence pairs: {text}")
    corpora = {
        f"data.{split}": f'{{src = "{files[f"{split}.en"]}", tgt = "{files[f"{split}.{target}"]}"}}'
        for split in ("train", "dev")
    }
    recipe = load_recipe(
        "demo",
        [
            f'run="{run}"',
            f'data.target_language="{target}"',
            *(f"{key}={value}" for key, value in corpora.items()),
        ],
    )
    trained = train(recipe, progress=progress)
    sources = [source for source, _ in book.test]
    references = [reference for _, reference in book.test]
    translations = Translator.load(trained.model).translate(sources)
    bleu = score(translations, references, metrics=("bleu",), target_language=target)[0]
    samples = list(zip(sources, translations, references, strict=True))[::19]  # of many frames
    return Demo(trained.model, samples, bleu, trained.seconds)
