"""The receipt of a folder of translated shards: how they were translated, and from what.

The first line of `.receipt.jsonl` has the settings, and each further line a finished shard. A line
is added before its shard gets its name, so that no shard without a line is ever complete.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from yakusu.errors import DataError
from yakusu.folder import FileEntry, read_utf8, sha256, write_text
from yakusu.pipeline.shards.plan import ShardJob

RECEIPT = ".receipt.jsonl"  # hidden, so that a folder of shards can be translated again
_VERSION = 1  # of the receipt


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ShardSettings(_Line):
    """What the bytes of the translations depend on: the first line of a receipt.

    Attributes:
        version: Version of the receipt.
        yakusu: Version of yakusu.
        models: The hash of each model, see `model_hash`.
        search: Settings of the search.
        text: How text is read.
        glossary: SHA-256 of each glossary; "": none.
        memories: The revisions of the memories, by path.
        engine: What runs the models, with its precision and device.
        errors: What is done with lines that are not UTF-8.
        column: The column of Parquet files that was requested, if any.
    """

    version: int = _VERSION
    yakusu: str
    models: tuple[str, ...]
    search: dict[str, Any]
    text: dict[str, Any]
    glossary: str
    memories: dict[str, int] = {}
    engine: str
    errors: str
    column: str | None


class FinishedShard(_Line):
    """A shard that was translated: a further line of a receipt.

    Attributes:
        name: Its name.
        source: Size and SHA-256 of the file that was read.
        texts: Number of its texts.
        invalid: Number of texts that were not UTF-8.
    """

    name: str
    source: FileEntry
    texts: int
    invalid: int


class ShardReceipt:
    """The receipt of a folder: with which settings its shards were translated, and from what.

    Args:
        folder: The folder.
        settings: The settings of this run.

    Raises:
        DataError: The folder has a receipt with other settings, or one that is not valid.
    """

    def __init__(self, folder: Path, settings: ShardSettings) -> None:
        self._path, self._settings = folder / RECEIPT, settings
        self._finished: dict[str, FinishedShard] = {}
        self._is_complete = False  # the file has the settings and complete lines only
        if self._path.exists():
            self._read(folder)

    def _read(self, folder: Path) -> None:
        try:
            complete = read_utf8(self._path).rpartition("\n")[0].split("\n")
            earlier = json.loads(complete[0])
            finished = [FinishedShard.model_validate_json(line) for line in complete[1:]]
        except (ValidationError, ValueError) as error:
            raise DataError(
                f"{self._path} is not a valid receipt of translated shards: choose another folder"
            ) from error
        known = {each.name: each for each in finished if (folder / each.name).exists()}
        if known and (found := difference(earlier, self._settings.model_dump(mode="json"))):
            raise DataError(
                f"{folder} contains shards that were translated with other settings "
                f"({found}): choose another folder, or use the same settings"
            )
        self._finished = known

    def unfinished(self, jobs: Sequence[ShardJob]) -> list[ShardJob]:
        """The shards that are still to be translated.

        Raises:
            DataError: The source of a finished shard has changed since, or an output exists that
                is not in the receipt.
        """
        return [job for job in jobs if not self._is_finished(job)]

    def _is_finished(self, job: ShardJob) -> bool:
        if not job.out.exists():
            return False
        known = self._finished.get(job.source.name)
        if known is None:
            raise DataError(
                f"{job.out} exists, but was not written by --ray: move it, or choose another folder"
            )
        size = job.source.stat().st_size
        if size != known.source.size or sha256(job.source) != known.source.sha256:
            raise DataError(
                f"{job.out} was translated from a file other than {job.source}: delete {job.out} "
                "to translate it again, or choose another folder"
            )
        return True

    def add(self, finished: FinishedShard) -> None:
        """Record a shard; call this before the shard gets its name."""
        self._finished[finished.name] = finished
        if not self._is_complete:
            write_text(self._path, "".join(map(_line, (self._settings, *self._finished.values()))))
            self._is_complete = True
            return
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line(finished))
            file.flush()
            os.fsync(file.fileno())


def source_entry(path: Path) -> FileEntry:
    """Size and SHA-256 of a shard."""
    return FileEntry(size=path.stat().st_size, sha256=sha256(path))


def _line(content: _Line) -> str:
    return content.model_dump_json() + "\n"


def difference(earlier: Any, now: Any, name: str = "") -> str:
    """Describe the first setting that differs; "" if none does."""
    if earlier == now:
        return ""
    if isinstance(earlier, dict) and isinstance(now, dict):
        for key in sorted({*earlier, *now}):
            one, other = earlier.get(key), now.get(key)
            if found := difference(one, other, f"{name}.{key}".lstrip(".")):
                return found
    if name in ("models", "glossary"):
        return "the model differs" if name == "models" else "the glossary differs"
    return f"{name}: {json.dumps(earlier)}, now {json.dumps(now)}"
