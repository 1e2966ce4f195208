"""Where an imported model is from: its name, licence and files."""

import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from yakusu.folder import downloaded, open_regular, sha256

_READ, _LENGTH = 2**16, 100  # bytes of a file, and characters of a name


class Origin(BaseModel):
    """The origin of an imported model, for its receipt and card.

    Attributes:
        format: The other toolkit.
        name: The name of the model there; "" if unknown.
        licence: The licence that its card names; "" if unknown.
        files: SHA-256 of each of its files.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    format: str
    name: str
    licence: str
    files: dict[str, str]

    @classmethod
    def of(cls, folder: Path, *, format: str, name: str) -> "Origin":
        """Describe a folder.

        Its licence is the one in the front matter of README.md, or the first line of LICENSE.
        """
        files = {path.name: sha256(path) for path in sorted(folder.iterdir()) if path.is_file()}
        return cls(format=format, name=_one_line(name), licence=licence_of(folder), files=files)


def licence_of(folder: Path) -> str:
    """Return the licence in the front matter of README.md or in LICENSE; "" if there is none."""
    front = _text(folder / "README.md").split("---")
    found = re.search(r"^licen[sc]e:\s*(.+)$", front[1], re.MULTILINE) if len(front) > 2 else None
    text = found[1] if found else _text(folder / "LICENSE").strip().partition("\n")[0]
    return _one_line(text.strip().strip("\"'"))


def _one_line(text: str) -> str:
    return "".join(filter(str.isprintable, text))[:_LENGTH]


def _text(path: Path) -> str:
    if not path.is_file():
        return ""
    with open_regular(downloaded(path)) as file:
        return file.read(_READ).decode(errors="replace")
