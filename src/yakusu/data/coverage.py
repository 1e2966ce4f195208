"""What the training text of a model covers: coverage.json, next to its tokenizer."""

from pathlib import Path

from yakusu.config import Config
from yakusu.errors import ModelError
from yakusu.folder import read_regular, write_json
from yakusu.typed import ValidationError

_FILE = "coverage.json"


class Coverage(Config):
    """Content of coverage.json.

    Attributes:
        source_characters: The characters of the training sources, sorted.
        target_characters: The characters of the training targets, sorted.
        longest_source: Number of tokens of the longest training source, without eos.
    """

    ignores_unknown = True  # a later version may add keys

    source_characters: str
    target_characters: str
    longest_source: int

    @classmethod
    def load(cls, folder: Path) -> "Coverage | None":
        """Read the file; None: the model is from a version that did not write it.

        Raises:
            ModelError: The file is malformed.
        """
        path = folder / _FILE
        if not path.exists():
            return None
        try:
            return cls.model_validate_json(read_regular(path))
        except ValidationError as error:
            raise ModelError(f"{path} is corrupt: copy the folder again") from error

    def save(self, folder: Path) -> Path:
        """Write the file; return its path."""
        path = folder / _FILE
        write_json(path, self.model_dump())
        return path
