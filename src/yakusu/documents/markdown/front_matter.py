"""Front matter of YAML: the title, the description and other texts that a page shows."""

import re
from collections.abc import Iterator

from yakusu.data.lines.private_use import MARKS
from yakusu.documents.messages.apps.yaml_strings import YamlFile
from yakusu.documents.messages.units import MessageUnit, UnitString
from yakusu.documents.splice import Copy, SourceSegment
from yakusu.errors import DataError

_TEXTS = (  # keys at the top
    *("title", "subtitle", "description", "summary", "excerpt", "abstract", "lead", "tagline"),
    *("caption", "linkTitle", "sidebar_label", "pagination_label", "seo_title", "image_alt"),
)


def front_segments(source: str, start: int, end: int) -> Iterator[SourceSegment[str]]:
    """Yield the texts of front matter; none if it is not valid YAML.

    Args:
        source: The file.
        start: Where the line of the first "---" ends.
        end: Where the front matter ends.
    """
    if source[start - 3 : start] != "---":
        return  # TOML
    content = source[start:end].rstrip()[:-3]  # without the last "---" or "..."
    units = list[MessageUnit]()
    try:
        YamlFile(content.encode("utf-8", "surrogatepass"), "", "").parse(units.append)
    except DataError:
        return
    for unit in units:
        for string in unit.strings if unit.key in _TEXTS else ():
            if not string.problem and not re.search(MARKS, string.marked.string):
                yield _segment(source, string, start)


def _segment(source: str, string: UnitString, offset: int) -> SourceSegment[str]:
    """The segment of a value."""
    start, end, value = offset + string.start, offset + string.end, string.marked.string
    text = value.strip()

    def write(translation: str, copy: Copy[str]) -> str:
        del copy
        new = string.write(value.replace(text, translation, 1))
        return source[start:end] if new is None else new

    return SourceSegment(start, end, text, write)
