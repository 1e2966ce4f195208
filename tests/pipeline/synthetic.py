"""Text, untrained models and interruptions for the tests of `distil` and `backtranslate`."""

from collections.abc import Callable
from pathlib import Path

import pytest

import yakusu.folder
from yakusu.data.lines.config import TextConfig
from yakusu.translator import Translator

LINES = [
    "The red boat.",
    "Two cats, one dog!",
    "",
    "Wait {n} minutes.",
    "Three old trains",
    "Two cats, one dog!",
    "Where is the boat? Here.",
    "# No heading",
    "The end.",
]
KEPT = [line for number, line in enumerate(LINES) if number not in (2, 5)]  # empty, a duplicate


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def pairs_of(corpus: Path) -> list[tuple[str, str]]:
    src, tgt = (lines_of(corpus / f"train.{side}") for side in ("src", "tgt"))
    return list(zip(src, tgt, strict=True))


def whole_lines(model: Path) -> Translator:
    """The translator of a folder, which reads each line as one sentence."""
    return Translator.load(model, text=TextConfig(one_sentence_per_line=True))


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, except locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def interrupt_at(number: int, patch: pytest.MonkeyPatch, command: Callable[[], object]) -> bool:
    """Interrupt a command before it puts file `number` on disk; return whether it got that far."""
    written, sync = iter(range(1000)), yakusu.folder._sync

    def interrupted(path: Path) -> None:
        if next(written) == number:
            raise KeyboardInterrupt
        sync(path)

    with patch.context() as inner:
        inner.setattr(yakusu.folder, "_sync", interrupted)
        try:
            command()
        except KeyboardInterrupt:
            return True
    return False
