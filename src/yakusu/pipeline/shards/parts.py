"""Blocks of shards and their translation: what workers do, in any process and on any machine."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path

from yakusu.data.files.text import ErrorPolicy, InvalidLines, window_size
from yakusu.data.files.tree_files import holds_trees
from yakusu.data.lines.config import TextConfig
from yakusu.data.shards.blocks import ShardBlock
from yakusu.data.shards.files import TextShard, open_shard
from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.errors import DataError, ModelError, YakusuError
from yakusu.folder import FileEntry, sha256
from yakusu.pipeline.shards.plan import ShardJob
from yakusu.pipeline.shards.receipt import ShardSettings, source_entry
from yakusu.pipeline.translate import open_translator
from yakusu.search.config import SearchConfig
from yakusu.shipped import model_path
from yakusu.translator import Translator
from yakusu.translator.folder.folder import model_hash
from yakusu.translator.tally import Tally
from yakusu.version import __version__


@dataclass(frozen=True)
class ShardConfig:
    """How shards are translated.

    Attributes:
        models: Model folders; more than one: an ensemble.
        options: Settings of the search; those that are not given are the model's. With n_best above
            1, the translation of a text is a JSON list of its best ones.
        text: How text is read.
        engine: What runs the models; `threads` is the number of threads of each worker.
        batch: Maximum number of sentences translated together.
        window: Number of texts of a block; None: 32 batches, and at least 512.
        errors: What to do with lines that are not UTF-8.
        column: Column of Parquet files with the texts; None: see `ParquetShard`.
    """

    models: tuple[str, ...]
    options: SearchConfig
    text: TextConfig
    engine: EngineConfig
    batch: int = 64
    window: int | None = None
    errors: ErrorPolicy = "replace"  # so that a byte does not end a run of many hours
    column: str | None = None

    @property
    def block_size(self) -> int:
        """Number of texts that a worker translates at a time."""
        return self.window or window_size(self.batch)

    def open(self) -> Translator:
        """Open the translator; see `open_translator`."""
        first, *others = self.models
        return open_translator(
            first, self.options, text=self.text, ensemble=others, engine=self.engine
        )

    def for_workers(self, translator: Translator) -> "ShardConfig":
        """The same with absolute paths and with the engine of `translator`, on every machine."""
        decoder = translator.decoder
        runs = {"engine": "torch", "precision": "float32"}  # no warning about another precision
        if isinstance(decoder, NativeDecoder):
            runs = {"engine": "native", "precision": decoder.precision}
        glossary = _absolute(self.text.glossary)
        text = {"glossary": glossary, "memory": _absolute(self.text.memory)}
        return replace(
            self,
            models=_absolute(self.models),
            text=self.text.model_copy(update=text),
            engine=self.engine.model_copy(update=runs),
        )

    def settings(self, translator: Translator) -> ShardSettings:
        """What the bytes of the translations depend on."""
        decoder, memories = translator.decoder, dict[str, int]()
        if translator.memories:
            paths = _absolute(translator.text_config.memory)
            memories = dict(zip(paths, translator.memories.revisions, strict=True))
        runs = f"torch {self.engine.device}"
        if isinstance(decoder, NativeDecoder):
            runs = f"native {decoder.precision}"
        return ShardSettings(
            yakusu=__version__,
            models=tuple(model_hash(model_path(model)) for model in self.models),
            search=translator.search.model_dump(mode="json"),
            text=self.text.model_dump(mode="json", exclude={"glossary", "memory"}),
            glossary=" ".join(sha256(Path(each)) for each in self.text.glossary),
            memories=memories,
            engine=runs,
            errors=self.errors,
            column=self.column,
        )


def _absolute(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(Path(path).absolute()) for path in paths)


@dataclass(frozen=True)
class End:
    """What is known at the end of a shard.

    Attributes:
        invalid: The lines that were not UTF-8.
        source: Size and SHA-256 of the file.
    """

    invalid: InvalidLines
    source: FileEntry


@dataclass(frozen=True)
class ShardPart:
    """A block of a shard, with its translations once it has them, or the end of the shard.

    Attributes:
        job: The shard.
        block: The block, without its texts once they are translated; None: the end of the shard, or
            an error.
        translations: The translation of each text.
        n_tokens: Number of target tokens.
        tally: What was kept and copied.
        end: The end of the shard.
        error: Why the shard cannot be translated; "": it can.
        is_fatal: No shard can be translated.
    """

    job: ShardJob
    block: ShardBlock | None = None
    translations: tuple[str | None, ...] = ()
    n_tokens: int = 0
    tally: Tally = field(default_factory=Tally)
    end: End | None = None
    error: str = ""
    is_fatal: bool = False


def read_parts(job: ShardJob, config: ShardConfig) -> Iterator[ShardPart]:
    """Read the blocks of a shard, then its end; an error is a part, too."""
    invalid = InvalidLines(config.errors)
    try:
        source = source_entry(job.source)  # first, so that a change after it is noticed
        shard = open_shard(job.source, column=config.column)
        if isinstance(shard, TextShard) and holds_trees(job.source):
            raise DataError(f"{job.source} contains trees: translate it without --ray")
        for block in shard.blocks(config.block_size, invalid):
            yield ShardPart(job, block)
    except (YakusuError, OSError) as error:
        yield ShardPart(job, error=_sentence(error, job.source))
    else:
        yield ShardPart(job, end=End(invalid, source))


def _sentence(error: YakusuError | OSError, path: Path) -> str:
    if isinstance(error, YakusuError):
        return str(error)
    return f"{error.filename or path} cannot be read: {error.strerror or error}"


def as_line(texts: Sequence[str], n_best: int) -> str:
    """The best translation, or with n_best above 1 a JSON list of them."""
    return texts[0] if n_best == 1 else json.dumps(texts, ensure_ascii=False)


def from_line(line: str, n_best: int) -> list[str]:
    """The translations, best first, in a line that `as_line` wrote."""
    return [line] if n_best == 1 else list(json.loads(line))


class PartTranslator:
    """Translates parts; opens the models for the first one.

    Args:
        config: How to translate.
        settings: The settings in the receipt, which must be those of this machine.
        translator: The models, if they are open already.
    """

    def __init__(
        self, config: ShardConfig, settings: ShardSettings, translator: Translator | None = None
    ) -> None:
        self._config, self._settings, self._translator = config, settings, translator
        self._opened = ExitStack()  # the memories

    def __call__(self, part: ShardPart) -> ShardPart:
        """Return a part with its translations, or with the error."""
        if part.block is None:
            return part
        try:
            translator = self._translator = self._translator or self._open()
        except (YakusuError, OSError) as error:
            return ShardPart(part.job, error=_sentence(error, part.job.source), is_fatal=True)
        try:
            return self._translated(translator, part, part.block)
        except DataError as error:
            first, last = part.block.start + 1, part.block.start + len(part.block.texts)
            place = f"{part.job.source}, lines {first} to {last}"
            return ShardPart(part.job, error=f"{place}: {error}")

    def _open(self) -> Translator:
        translator = self._config.open()
        if translator.memories:
            self._opened.enter_context(translator.memories.held())
        if self._config.settings(translator) != self._settings:
            raise ModelError(
                f"{self._config.models[0]}, the glossary, a memory or the version of yakusu was "
                "changed, or differs between machines: use the same on all machines, and another "
                "folder"
            )
        return translator

    def _translated(self, translator: Translator, part: ShardPart, block: ShardBlock) -> ShardPart:
        before = astuple(translator.tally)
        found = list(
            translator.stream(
                [text for text in block.texts if text is not None],
                batch=self._config.batch,
                window=self._config.block_size,
                layout=block.layout,
            )
        )
        n_best = translator.search.n_best
        lines = iter([as_line([each.text for each in best], n_best) for best in found])
        now = astuple(translator.tally)
        return replace(
            part,
            block=replace(block, texts=(), layout=None),
            translations=tuple(None if text is None else next(lines) for text in block.texts),
            n_tokens=sum(best[0].n_tokens for best in found),
            tally=Tally(*(b - a for a, b in zip(before, now, strict=True))),
        )
