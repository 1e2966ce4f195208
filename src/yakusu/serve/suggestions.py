"""The file of suggested translations: JSON lines."""

import json
import os
from pathlib import Path
from threading import Lock

from yakusu.errors import RecipeError
from yakusu.serve.errors import not_stored, over_limit


class Suggestions:
    """Appends suggestions to a file; any number of threads may use it.

    Args:
        path: The file.
        most: Its maximum size in bytes: `limits.suggestions`.

    Raises:
        RecipeError: Nothing can be appended.
    """

    def __init__(self, path: Path, most: int) -> None:
        self._path, self._most, self._lock = path, most, Lock()
        try:
            path.open("a").close()
        except OSError as error:
            raise RecipeError(f"{path} cannot be written: {error.strerror}") from error

    def add(self, row: dict[str, str]) -> None:
        """Append a suggestion.

        Raises:
            RefusedError: The file or the disk is full; nothing is appended.
        """
        line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
        try:
            with self._lock, self._path.open("ab", buffering=0) as file:
                size = file.tell()
                if size + len(line) > self._most:
                    message = "The file of suggestions is full"
                    raise over_limit("suggestions", self._most, 503, message)
                if (written := file.write(line)) < len(line):  # the disk is full
                    os.truncate(self._path, size)
                    raise OSError(f"{written} of {len(line)} bytes")
        except OSError as error:
            raise not_stored(error) from error
