"""Where an imported model is from: its name, licence and files."""

import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from yakusu.folder import sha256


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
        """Describe a folder; its licence is the one in the front matter of README.md."""
        files = {path.name: sha256(path) for path in sorted(folder.iterdir()) if path.is_file()}
        return cls(format=format, name=name, licence=_licence(folder / "README.md"), files=files)


def _licence(card: Path) -> str:
    if not card.is_file():
        return ""
    front = card.read_text(encoding="utf-8", errors="replace").split("---")
    found = re.search(r"^licen[sc]e:\s*(.+)$", front[1], re.MULTILINE) if len(front) > 2 else None
    return found[1].strip().strip("\"'") if found else ""
