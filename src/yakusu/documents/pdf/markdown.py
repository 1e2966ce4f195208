"""Writes blocks as Markdown."""

import re
from collections.abc import Sequence

from yakusu.documents.pdf.blocks import Block, TableBlock, TextBlock

_SPECIAL = re.compile(r"[\\`*\[\]$~]|(?<!\w)_|_(?!\w)|<(?=[\w/!?])|&(?=#?\w{1,32};)")
# What would begin another block; a backslash is written after the number, if there is one.
_START = re.compile(r"(\d{0,9})(?=[.)](?:\s|$)|[-+](?:\s|$)|#{1,6}(?:\s|$)|>|[-=]+$|:\s)")
_CLOSING = re.compile(r"(?<= )(?=#+$)")  # of a heading
_NUMBER = re.compile(r"\d+[.)]")


def as_markdown(blocks: Sequence[Block]) -> str:
    """Return blocks as Markdown; the items of a list are on adjacent lines."""
    written = list[str]()
    before: bool | None = None  # whether the item before is numbered; None: it is none
    for block in blocks:
        marker = block.marker if isinstance(block, TextBlock) else ""
        kind = bool(_NUMBER.fullmatch(marker)) if marker else None
        if written and (kind is None or kind != before):
            written.append("\n")
        written.append(_table(block) if isinstance(block, TableBlock) else _text(block))
        before = kind
    return "".join(written)


def _text(block: TextBlock) -> str:
    if block.heading:
        text = _CLOSING.sub(r"\\", _inline(block.text))
        return f"{'#' * block.heading} {text}\n"
    if not block.marker:
        return f"{_block(block.text)}\n"
    indentation = "    " * block.depth
    if _NUMBER.fullmatch(block.marker):
        return f"{indentation}{block.marker} {_block(block.text)}\n"
    label = f"{block.marker} " if block.marker[-1] in ".)" else ""
    return f"{indentation}- {_block(label + block.text)}\n"


def _table(block: TableBlock) -> str:
    rows = [[_inline(cell).replace("|", "\\|") for cell in row] for row in block.rows]
    rows.insert(1, ["---"] * len(rows[0]))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _inline(text: str) -> str:
    """A text on one line, without characters that are markup."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def _block(text: str) -> str:
    """The text of a paragraph, which begins no other block."""
    found, text = _START.match(" ".join(text.split())), _inline(text)
    return f"{found[1]}\\{text[len(found[1]) :]}" if found else text
