"""corpus.json: how a synthetic corpus was made; a folder with one is written by `distil` and
`backtranslate`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from yakusu.errors import ModelError
from yakusu.folder import read_regular
from yakusu.pipeline.shards.receipt import ShardSettings

CORPUS_RECEIPT = "corpus.json"
_VERSION = 1  # of corpus.json


class Making(BaseModel):
    """What the bytes of a synthetic corpus depend on.

    Attributes:
        command: "distil" or "backtranslate".
        models: SHA-256 of the weights of each model, by its role, such as "teacher 1".
        inputs: SHA-256 of each text file, by its role, such as "src" or "held out 1".
        translations: How each model, or the ensemble, translated, by its role.
        options: The other settings of the command.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    command: str
    models: Mapping[str, str]
    inputs: Mapping[str, str]
    translations: Mapping[str, ShardSettings]
    options: Mapping[str, Any]


class CorpusFacts(BaseModel):
    """Content of corpus.json.

    Attributes:
        version: Version of the file format.
        making: What the bytes of the corpus depend on.
        counts: Number of lines that were read, that were dropped for each reason, and that were
            written.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    version: int = _VERSION
    making: Making
    counts: Mapping[str, int]

    @classmethod
    def read(cls, folder: Path) -> "CorpusFacts":
        """Read corpus.json.

        Raises:
            ModelError: The file is missing, malformed or of a later version.
        """
        path = folder / CORPUS_RECEIPT
        try:
            facts = cls.model_validate_json(read_regular(path))
        except (OSError, ValidationError) as error:
            raise ModelError(f"{path} is missing or corrupt: make the corpus again") from error
        if facts.version > _VERSION:
            raise ModelError(
                f"{path} has version {facts.version}, but this version of yakusu reads {_VERSION}: "
                "update yakusu"
            )
        return facts

    @property
    def summary(self) -> str:
        """The counts in one line."""
        return ", ".join(f"{n:,} {name}" for name, n in self.counts.items())

    def lines(self) -> list[str]:
        """Return the facts as lines of text."""
        making = self.making
        return [
            *(f"input {key}: {digest}" for key, digest in making.inputs.items()),
            *(f"{key}: {digest}" for key, digest in making.models.items()),
            f"made by yakusu {making.command}",
            f"lines: {self.summary}",
        ]
