"""Writes segments of a memory as TMX, TSV or JSON lines, which `importing.py` reads again.

TMX has the properties of `data.files.tmx.PROPERTIES`. A row of TSV whose cells contain tabs or line
breaks has the escape sequences of JSON, and "yes" in its last column.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Literal

from yakusu.data.files.inline_codes import CodeKind
from yakusu.data.files.tables import ESCAPED
from yakusu.data.files.tmx import PROPERTIES
from yakusu.data.files.units import ABOUT, utc_time
from yakusu.data.files.xmltree import escaped, is_writable
from yakusu.data.inline_marks import codes_of
from yakusu.data.segments import MemorySegment
from yakusu.version import __version__

MemoryFormat = Literal["tmx", "tsv", "jsonl"]
_COLUMNS = ("source", "target", *ABOUT)
_AT_ENDS = re.compile(r"\A\s+|\s+\Z")
_NEEDS_ESCAPES = re.compile(r"[\x00-\x1f\x7f]|\A\s|\s\Z")
_ELEMENTS = {
    CodeKind.START: '<bpt i="{0}" x="{0}"/>',
    CodeKind.END: '<ept i="{0}"/>',
    CodeKind.EMPTY: '<ph x="{0}"/>',
    CodeKind.BREAK: '<ph x="{0}" type="lb"/>',
}
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4">
  <header creationtool="yakusu" creationtoolversion="{version}" segtype="block" o-tmf="yakusu"
    adminlang="en" srclang="{source}" datatype="plaintext"/>
  <body>
"""


def exported(
    segments: Iterable[MemorySegment],
    form: MemoryFormat,
    languages: tuple[str, str],
    leave_out: Callable[[], None],
) -> Iterator[str]:
    """Yield the parts of a file.

    Args:
        segments: The segments.
        form: The format.
        languages: Codes of their languages.
        leave_out: Called for each segment with control characters, which XML cannot hold.
    """
    if form == "jsonl":
        for segment in segments:
            stated = {name: value for name, value in asdict(segment).items() if value}
            yield json.dumps(stated, ensure_ascii=False) + "\n"
    elif form == "tsv":
        yield "\t".join((*_COLUMNS, ESCAPED)) + "\n"
        yield from map(_row, segments)
    else:
        yield _HEAD.format(version=__version__, source=languages[0])
        for segment in segments:
            if is_writable("".join(asdict(segment).values())):
                yield _unit(segment, languages)
            else:
                leave_out()
        yield "  </body>\n</tmx>\n"


def _row(segment: MemorySegment) -> str:
    cells = [str(getattr(segment, name)) for name in _COLUMNS]
    is_escaped = any(map(_NEEDS_ESCAPES.search, cells))
    return "\t".join([*(map(_in_json, cells) if is_escaped else cells), "yes" * is_escaped]) + "\n"


def _in_json(text: str) -> str:
    """A text as a JSON string without quotes, and without white space at its ends."""
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    return _AT_ENDS.sub(lambda found: "".join(f"\\u{ord(c):04x}" for c in found[0]), written)


def _unit(segment: MemorySegment, languages: tuple[str, str]) -> str:
    names = {"changedate": _date(segment.time), "changeid": segment.who, "tuid": segment.key}
    attributes = "".join(f' {name}="{_attribute(value)}"' for name, value in names.items() if value)
    lines = [f"    <tu{attributes}>"]
    for field in ABOUT:
        if field in PROPERTIES and field != "key" and (value := getattr(segment, field)):
            lines.append(f'      <prop type="{PROPERTIES[field][0]}">{escaped(value)}</prop>')
    for language, text in zip(languages, (segment.source, segment.target), strict=True):
        lines.append(f'      <tuv xml:lang="{language}"><seg>{_content(text)}</seg></tuv>')
    return "\n".join([*lines, "    </tu>\n"])


def _date(time: str) -> str:
    return re.sub("[-:]", "", utc_time(time))


def _attribute(text: str) -> str:
    written = escaped(text).replace('"', "&quot;")
    return written.replace("\n", "&#10;").replace("\t", "&#9;")


def _content(text: str) -> str:
    return "".join(
        escaped(part) if isinstance(part, str) else _ELEMENTS[part.kind].format(int(part.name) + 1)
        for part in codes_of(text)
    )
