"""Translates shards of a corpus: each is written completely or not at all, and finished ones stay.

    plan_shards -> read_parts -> PartTranslator, several at a time -> write_file, receipt

Reading and translating may happen in other processes and on other machines (`cluster.py`). This
module writes: it takes the translated parts in the order in which they were read.
"""

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO

from yakusu.data.shards.files import open_shard
from yakusu.errors import DataError, RunError
from yakusu.folder import locked, write_file
from yakusu.pipeline.shards.parts import End, ShardConfig, ShardPart
from yakusu.pipeline.shards.plan import ShardJob, plan_shards
from yakusu.pipeline.shards.receipt import FinishedShard, ShardReceipt, ShardSettings
from yakusu.progress import Progress, Tracker
from yakusu.translator import Translator
from yakusu.translator.tally import Tally

_log = logging.getLogger(__name__)
# Translates the parts of shards and returns them in order; refuses workers with other settings.
TranslateParts = Callable[
    [Sequence[ShardJob], ShardConfig, ShardSettings], Generator[ShardPart, None, None]
]


@dataclass
class TranslatedShards:
    """What was done.

    Attributes:
        translated: Number of shards that were translated.
        skipped: Number of shards that had been translated before.
        failed: A sentence for each shard that could not be translated.
        texts, n_tokens: Numbers of texts and of target tokens.
        invalid: Number of texts that were not UTF-8.
        tally: What was kept and copied.
    """

    translated: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)
    texts: int = 0
    n_tokens: int = 0
    invalid: int = 0
    tally: Tally = field(default_factory=Tally)


@dataclass
class _Parts:
    """The parts of one shard, with their counts so far."""

    job: ShardJob
    parts: Iterator[ShardPart]
    tracker: Tracker
    note: str  # next to the progress bar
    texts: int = 0
    n_tokens: int = 0
    tally: Tally = field(default_factory=Tally)
    end: End | None = None  # None: not reached

    def translations(self) -> Iterator[str | None]:
        """The translation of each text in order.

        Raises:
            DataError: The shard cannot be translated.
            RunError: No shard can be translated, or a part is missing.
        """
        for part in self.parts:
            if part.error:
                raise (RunError if part.is_fatal else DataError)(part.error)
            if part.block is None:
                self.end = part.end
                return
            if part.block.start != self.texts:
                break
            self.texts += len(part.translations)
            self.n_tokens += part.n_tokens
            self.tally = _sum(self.tally, part.tally)
            self.tracker.advance(len(part.translations), note=self.note)
            yield from part.translations
        raise RunError(
            f"a part of {self.job.source} after line {self.texts} was lost: rerun the command"
        )


def _sum(one: Tally, other: Tally) -> Tally:
    return Tally(*map(sum, zip(astuple(one), astuple(other), strict=True)))


def translate_shards(
    translator: Translator,
    config: ShardConfig,
    sources: Sequence[str | Path],
    out: str,
    translate: TranslateParts,
    *,
    progress: Progress,
) -> TranslatedShards:
    """Translate the shards that are not finished.

    Args:
        translator: The translator that `config` describes; workers open their own.
        config: How to translate.
        sources: Files, and folders of files.
        out: Folder to write.
        translate: What translates the parts.
        progress: Progress reporter.

    Raises:
        DataError: A path is not valid, or the folder contains other files or shards that were
            translated with other settings.
        RunError: Another process uses the folder, or no shard can be translated.
    """
    folder = Path(out)
    jobs = plan_shards(sources, folder)
    settings, config = config.settings(translator), config.for_workers(translator)
    with locked(folder, option="--out"):
        receipt = ShardReceipt(folder, settings)
        todo = receipt.unfinished(jobs)
        done = TranslatedShards(skipped=len(jobs) - len(todo))
        if todo:
            with (
                closing(translate(todo, config, settings)) as parts,
                progress.track("translating", "lines", None) as tracker,
            ):
                shards = groupby(parts, key=attrgetter("job"))
                for number, (job, of_job) in enumerate(shards, start=done.skipped + 1):
                    note = f"{job.source.name}, file {number} of {len(jobs)}"
                    shard = _Parts(job, of_job, tracker, note)
                    if _written(shard, config, receipt, done):
                        progress.say(f"{job.out}: {shard.texts:,} line{'s' * (shard.texts != 1)}")
                    elif len(jobs) > 1:
                        _log.warning("%s", done.failed[-1])
        if done.translated + len(done.failed) < len(todo):
            raise RunError("the Ray cluster stopped before the last file: rerun the command")
    return done


def _written(
    shard: _Parts, config: ShardConfig, receipt: ShardReceipt, done: TranslatedShards
) -> bool:
    """Write a shard and count it; return whether it could be translated."""
    try:
        write_file(shard.job.out, lambda file: _fill(file, shard, config, receipt))
    except DataError as error:
        done.failed.append(str(error))
        return False
    assert shard.end is not None  # it was reached
    if warning := shard.end.invalid.warning(str(shard.job.source), skipped="left empty"):
        _log.warning("%s", warning)
    done.translated += 1
    done.texts += shard.texts
    done.n_tokens += shard.n_tokens
    done.invalid += shard.end.invalid.count
    done.tally = _sum(done.tally, shard.tally)
    return True


def _fill(file: BinaryIO, shard: _Parts, config: ShardConfig, receipt: ShardReceipt) -> None:
    """Write the content of a shard, then its line of the receipt."""
    source = shard.job.source
    translations = shard.translations()
    open_shard(source, column=config.column).write(file, translations)
    if next(translations, None) is not None or shard.end is None:
        raise DataError(f"{source} was changed while it was translated: rerun the command")
    file.flush()
    receipt.add(
        FinishedShard(
            name=source.name,
            source=shard.end.source,
            texts=shard.texts,
            invalid=shard.end.invalid.count,
        )
    )
