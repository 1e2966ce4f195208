"""Models that translate the shards of a synthetic corpus: teachers, and reverse models."""

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from yakusu.data.files.text import raw_lines
from yakusu.data.languages import same_language
from yakusu.data.lines.config import TextConfig
from yakusu.engine.config import Engine, EngineConfig
from yakusu.errors import DataError, ModelError
from yakusu.pipeline.shards.parts import (
    PartTranslator,
    ShardConfig,
    ShardPart,
    from_line,
    read_parts,
)
from yakusu.pipeline.shards.plan import ShardJob
from yakusu.pipeline.shards.receipt import ShardSettings
from yakusu.pipeline.shards.shards import translate_shards
from yakusu.progress import Progress
from yakusu.search.config import SearchConfig
from yakusu.shipped import model_path
from yakusu.translator.folder.folder import weights_hash


class ShardModels:
    """Models that translate shards: one, or an ensemble.

    Args:
        folders: Model folders.
        options: Settings of the search; those that are not given are the model's, except `n_best`,
            which is 1.
        to: Target language; "": the model's default.
        engine: What runs the models.

    Raises:
        ModelError: A folder is not valid, or holds a parser.
        RecipeError: A setting is not valid.
    """

    def __init__(
        self,
        folders: Sequence[str | Path],
        options: SearchConfig | None = None,
        *,
        to: str = "",
        engine: EngineConfig | Engine | None = None,
    ) -> None:
        options = options or SearchConfig()
        if "n_best" not in options.model_fields_set:
            options = options.model_copy(update={"n_best": 1})
        self._config = ShardConfig(
            tuple(str(model_path(each)) for each in folders),
            options,
            TextConfig(to=to, one_sentence_per_line=True, own_memory=False),
            EngineConfig.of(engine),
            errors="strict",
        )
        self.translator = self._config.open()
        if self.translator.task.constrains:
            raise ModelError(f"{folders[0]} is a parser: name a translator")
        self.translator.require_target()

    @property
    def settings(self) -> ShardSettings:
        """What the bytes of the translations depend on."""
        return self._config.settings(self.translator)

    @property
    def hashes(self) -> list[str]:
        """SHA-256 of the weights of each model."""
        return [weights_hash(Path(each)) for each in self._config.models]

    def require_languages(self, text: str, languages: tuple[str, str]) -> None:
        """Refuse a text in another language than the models read, or for another target language.

        Args:
            text: Name of the text in the message.
            languages: Language of the text and target language; "": unknown.

        Raises:
            ModelError: A known language differs.
        """
        known = "-".join(each or "?" for each in self.translator.languages)
        for side, wanted, own in zip(
            ("source", "target"), languages, self.translator.languages, strict=True
        ):
            if wanted and own and not same_language(wanted, own):
                raise ModelError(
                    f"the {side} language of {text} is '{wanted}', but {self._config.models[0]} "
                    f"translates {known}: use a model for these languages, or rename the file if "
                    "its name states the wrong one"
                )

    def fits(self, text: str) -> bool:
        """Whether a text is translated as a whole."""
        (ids,) = self.translator.tokenizer.encode_source([text])
        return len(ids) <= self.translator.max_source_tokens

    def translate(self, shards: Path, out: Path, progress: Progress) -> None:
        """Translate the shards of a folder that are not translated yet.

        Raises:
            DataError: They were translated with other settings, or a shard has changed.
        """
        sources = shards_of(shards)
        done = translate_shards(
            self.translator, self._config, sources, str(out), self._parts, progress=progress
        )
        if done.failed:
            raise DataError(done.failed[0])

    def _parts(
        self, jobs: Sequence[ShardJob], config: ShardConfig, settings: ShardSettings
    ) -> Generator[ShardPart, None, None]:
        translate = PartTranslator(config, settings, self.translator)
        for job in jobs:
            yield from map(translate, read_parts(job, config))

    def read(self, shards: Path, out: Path) -> Iterator[list[str]]:
        """The translations of each text, best first."""
        for shard in shards_of(shards):
            for line in raw_lines(out / shard.name):
                yield from_line(line, self.translator.search.n_best)


def shards_of(folder: Path) -> list[Path]:
    """The files of texts in a folder, in order."""
    return sorted(folder.glob("*.src"))
