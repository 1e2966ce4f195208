"""A text in the language of another one, which it is compared with."""

from pathlib import Path

from yakusu.data.languages import same_language
from yakusu.errors import ModelError
from yakusu.pipeline.aligning.texts import SentenceText
from yakusu.pipeline.translate import open_translator
from yakusu.progress import Progress
from yakusu.search.config import SearchConfig


def translations_of(
    one: SentenceText, other: SentenceText, model: str | Path, progress: Progress
) -> list[str]:
    """The translations of a text into the language of the other one, by greedy search.

    Raises:
        ModelError: The model is no translator, or has other languages.
    """
    translator = open_translator(model, SearchConfig(beam=1))
    if translator.task_name != "translation":
        raise ModelError(f"{model} is a {translator.task.model_noun}: use a translator")
    if translator.targets and other.language:
        translator = translator.translating_to(other.language)
    for text, known in zip((one, other), translator.languages, strict=True):
        if text.language and known and not same_language(text.language, known):
            raise ModelError(
                f"{text.path} is in {text.language}, but {model} translates from "
                f"{' to '.join(translator.languages)}: use another model, or swap the texts"
            )
    with progress.track("translating", "sentences", len(one.texts)) as tracker:
        found = []
        for best in translator.stream(one.texts):
            found.append(best[0].text)
            tracker.advance()
    return found
