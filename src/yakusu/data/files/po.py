"""PO: the messages of a program and their translations (gettext).

This module needs polib (extra 'corpora').
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from yakusu.data.files.compressed import missing_library, open_binary
from yakusu.data.files.text import Pair, PairFile, decode_lines, extends_ascii, one_line
from yakusu.data.languages import closeness
from yakusu.errors import DataError

if TYPE_CHECKING:
    from polib import POEntry, POFile

_CHARSET = re.compile(rb'"Content-Type:[^"]*?charset=([\w.:-]+)')
_HEAD = 2**16  # bytes that hold the header
_INVALID = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8


def read_po(file: PairFile) -> Iterator[Pair]:
    """Read the messages with their translations; fuzzy, obsolete and empty ones are left out.

    A message with plural forms gives two pairs: singular and first form, plural and last form.

    Raises:
        DataError: The file is malformed, or is in another language than the columns say.
    """
    catalogue = _parse(file)
    reverse = _is_reversed(file, _language(catalogue))
    left_out = Counter[str]()
    for entry in catalogue:
        kind = "obsolete" if entry.obsolete else "fuzzy" if entry.fuzzy else "untranslated"
        pairs = [] if kind != "untranslated" else [pair for pair in _pairs(entry) if all(pair)]
        if not pairs:
            left_out[kind] += 1
        for source, target in pairs:
            if _INVALID.search(source + target):
                continue  # counted by `file.errors`
            yield (target, source) if reverse else (source, target)
    if left_out:
        counts = ", ".join(f"{n:,} {kind}" for kind, n in sorted(left_out.items()))
        file.remark(f"{file.path}: messages left out: {counts}")


def _pairs(entry: "POEntry") -> list[Pair]:
    if not entry.msgid_plural:
        return [(one_line(entry.msgid), one_line(entry.msgstr))]
    forms = [one_line(text) for _, text in sorted(entry.msgstr_plural.items())]
    if not forms:
        return []
    return [(one_line(entry.msgid), forms[0]), (one_line(entry.msgid_plural), forms[-1])]


def _language(catalogue: "POFile") -> str:
    """Return the language of the translations that the header names, or "": sr@latin -> sr."""
    found = re.fullmatch(
        r"([a-z]{2,3}(?:[-_]\w+)*)(?:@\w+)?", catalogue.metadata.get("Language", ""), re.I
    )
    return found[1] if found else ""


def _is_reversed(file: PairFile, language: str) -> bool:
    """Whether the columns make translations the source; `language` is that of the file."""
    src, tgt = file.columns
    if isinstance(src, int) and isinstance(tgt, int):
        if sorted((src, tgt)) != [1, 2]:
            raise DataError(
                f"{file.path} has no columns {src} and {tgt}: msgid is column 1, msgstr column 2"
            )
        return src == 2
    if not language or closeness(str(tgt), language) is not None:
        return False
    if closeness(str(src), language) is not None:
        return True
    raise DataError(
        f"{file.path} has translations into {language}, not into {tgt}: name it in --columns"
    )


class _Content(str):
    """Content of a file; only "\\n" ends a line of it, unlike in a str, which polib would split."""

    def splitlines(self, keepends: bool = False) -> list[str]:
        return self.split("\n")


def _parse(file: PairFile) -> "POFile":
    try:
        import polib
    except ModuleNotFoundError as error:
        raise missing_library(error, file.path) from error
    content = _Content(_content(file))
    try:
        return polib.pofile(content, encoding="utf-8")
    except (OSError, ValueError, IndexError, KeyError, AttributeError) as error:
        found = re.search(r"line (\d+)\)?:?\s*(.*)", str(error))
        line, reason = found.groups() if found else ("?", "")
        raise DataError(
            f"{file.path}, line {line}: malformed PO{f' ({reason})' if reason else ''}: correct "
            "the line (msgfmt -c checks a file)"
        ) from error


def _content(file: PairFile) -> str:
    """Return the text of a PO file in the encoding that its header names, UTF-8 by default."""
    with open_binary(Path(file.path)) as stream:
        declared = _CHARSET.search(stream.peek(_HEAD)[:_HEAD])
        charset = declared[1].decode() if declared else "UTF-8"
        if charset.upper() in ("UTF-8", "UTF8", "ASCII", "US-ASCII", "CHARSET"):
            return "\n".join(decode_lines(stream, file.path, errors=file.errors))
        if not extends_ascii(charset):
            raise DataError(
                f"{file.path}: its header names the charset {charset}, which is unknown or not for "
                "PO files: convert the file to UTF-8 and correct Content-Type in the header"
            )
        try:
            return stream.read().decode(charset)
        except UnicodeError as error:
            raise DataError(
                f"{file.path} is not in {charset}, which its header names: correct "
                "Content-Type in the header"
            ) from error
