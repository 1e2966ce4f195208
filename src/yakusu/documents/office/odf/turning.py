"""Paragraphs of OpenDocument that turn: their style is copied, with another direction.

<style:style style:name="yakusu1" style:family="paragraph" style:parent-style-name="Standard">
    <style:paragraph-properties fo:text-align="right" style:writing-mode="rl-tb"/></style:style>
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import NamedTuple

from yakusu.data.files.xmltree import Element, XmlFile, attributes_of, with_attribute
from yakusu.documents.inline import Inline
from yakusu.documents.office.direction import new_direction
from yakusu.documents.office.odf.text import NAMES, TEXT
from yakusu.documents.office.parts import (
    Dialect,
    DocumentTexts,
    OfficePart,
    PartSource,
    read_part,
)
from yakusu.documents.splice import Copy, SourceSegment

_STYLE, _FORMAT = NAMES + "style:1.0", NAMES + "xsl-fo-compatible:1.0"
_NEW = f'<style:style xmlns:style="{_STYLE}" style:family="paragraph"></style:style>'
_AUTOMATIC = re.compile(
    rb"<(?P<name>(?:[\w.-]{1,20}:)?automatic-styles)(?P<attributes>(?:\s[^<>/]*+(?:/[^<>/]++)*+)?+)(?P<end>/?>)"
)
_TAG = re.compile(r"<([\w.-]{1,20}:)?[\w.-]+(?:\s[^<>]*)?>")
_PROPERTIES = re.compile(r"<([\w.-]{1,20}:)?paragraph-properties(?:\s[^<>]*)?>")
# The writing mode of a direction, the sides of paragraphs that change, and their new side
_MODES = {
    "rtl": ("rl-tb", ("", "start", "left"), "right"),
    "ltr": ("lr-tb", ("end", "right"), "left"),
}
_SHAPES = {"presentation": "presentation", "drawing": "graphic"}  # families of styles of shapes
_MAX_PARENTS = 20  # of a style


class _StyleKey(NamedTuple):
    """Family and name of a style."""

    family: str
    name: str


@dataclass(frozen=True)
class _Style:
    """What a style says about paragraphs.

    Attributes:
        parent: The style on which it is based.
        side: The side at which it aligns them; "": that of its parent.
        source: Its source, if it is of paragraphs and only this part has it; "": others have it.
    """

    parent: _StyleKey
    side: str
    source: str


class TurningPart(OfficePart):
    """The paragraphs of a part, which turn with their translations; see `OfficePart`.

    Args:
        common: The names of parts with styles that this part may use.
    """

    def __init__(
        self,
        archive: PartSource,
        name: str,
        dialect: Dialect,
        texts: DocumentTexts,
        *,
        common: Sequence[str],
    ) -> None:
        self._common = common
        self._styles: dict[_StyleKey, _Style] | None = None  # when the first paragraph turns
        self._own: re.Match[bytes] | None = None  # where the part has its own styles
        self._added: dict[tuple[str, str, str], tuple[str, str]] = {}  # names and sources
        self._numbers = count(1)  # of added styles
        super().__init__(archive, name, dialect, texts)

    def render(self, translations: Sequence[str]) -> bytes | bytearray | None:
        """See `OfficePart.render`."""
        self._added.clear()
        self._numbers = count(1)
        return super().render(translations)

    def _segment(self, paragraph: Element, inline: Inline) -> SourceSegment[bytes]:
        if paragraph.namespace != TEXT:  # it has no style
            return super()._segment(paragraph, inline)
        write = partial(
            self._whole,
            inline,
            (paragraph.start, paragraph.inner, paragraph.inner_end, paragraph.end),
            _style_keys(paragraph),
        )
        return SourceSegment(paragraph.start, paragraph.end, inline.text, write)

    def _whole(
        self,
        inline: Inline,
        places: tuple[int, int, int, int],
        keys: Sequence[_StyleKey],
        translation: str,
        copy: Copy[bytes],
    ) -> bytes:
        """The bytes of a paragraph with its tags."""
        start, inner, inner_end, end = places
        content = self._written(inline, end - start, translation, copy)
        tag = copy(start, inner)
        if direction := new_direction(inline.text, translation):
            tag = self._turned(tag, start, keys, direction)
        return tag + content + copy(inner_end, end)

    def _turned(self, tag: bytes, start: int, keys: Sequence[_StyleKey], direction: str) -> bytes:
        """The start tag of a paragraph with another style."""
        if self._styles is None:
            self._styles = self._read_styles()
        if not self._own or self._own.end() > start:
            return tag
        mode, sides, side = _MODES[direction]
        side = side if self._side(keys) in sides else ""
        key = keys[0].name, mode, side
        if key not in self._added:
            names = (f"yakusu{n}" for n in self._numbers)
            name = next(each for each in names if _StyleKey("paragraph", each) not in self._styles)
            self._added[key] = name, self._copied(keys[0], name, mode, side)
        found = _TAG.match(text := tag.decode())
        assert found is not None
        return with_attribute(text, f"{found[1] or ''}style-name", self._added[key][0]).encode()

    def _completed(self, written: bytearray) -> bytearray:
        own = self._own
        if not (own and self._added):
            return written
        sources = "".join(source for _, source in self._added.values()).encode()
        start = b"<" + own["name"] + own["attributes"] + b">" + sources
        end = b"</" + own["name"] + b">" if own["end"] == b"/>" else b""
        written[own.start() : own.end()] = start + end
        return written

    # ---- styles ------------------------------------------------------------------------------

    def _read_styles(self) -> dict[_StyleKey, _Style]:
        """The styles that the part may use; where it has its own is noted."""
        found: dict[_StyleKey, _Style] = {}
        for part in (*self._common, self._name):
            xml = read_part(self._archive, part)
            found |= _styles_in(xml, is_own=part == self._name)
            self._own = _AUTOMATIC.search(xml.content)
        return found

    def _side(self, keys: Sequence[_StyleKey]) -> str:
        """The side at which a paragraph is aligned; "": no style states it."""
        assert self._styles is not None
        for key in keys:
            for _ in range(_MAX_PARENTS):
                if (style := self._styles.get(key)) is None:
                    break
                if style.side:
                    return style.side
                key = style.parent
        return ""

    def _copied(self, base: _StyleKey, name: str, mode: str, side: str) -> str:
        """The source of a style that is based on another one and has another direction."""
        assert self._styles is not None
        known = self._styles.get(base)
        source = (known and known.source) or _NEW
        head = _TAG.match(source)
        assert head is not None
        prefix = head[1] or ""
        tag = with_attribute(head[0], f"{prefix}name", name)
        if not (known and known.source) and base.name:
            tag = with_attribute(tag, f"{prefix}parent-style-name", base.name)
        inside, end = source[head.end() :], ""
        if tag.endswith("/>"):
            tag, end = tag.removesuffix("/>") + ">", f"</{prefix}style>"
        properties = _PROPERTIES.search(inside)
        own = properties[0] if properties else f"<{prefix}paragraph-properties/>"
        new = with_attribute(own, f"{prefix}writing-mode", mode)
        if side:
            stated = [key for key, _ in attributes_of(new) if key.endswith(":text-align")]
            if not stated:
                new = with_attribute(new, "xmlns:fo", _FORMAT)
            new = with_attribute(new, (stated or ["fo:text-align"])[0], side)
        if properties:
            return tag + inside.replace(own, new, 1) + end
        return tag + new + inside + end


def _styles_in(xml: XmlFile, *, is_own: bool) -> dict[_StyleKey, _Style]:
    """The styles of a part; its automatic ones are those of paragraphs of the part only."""
    found: dict[_StyleKey, _Style] = {}

    def use(style: Element) -> None:
        is_automatic = style.parent is not None and style.parent.name == "automatic-styles"
        if is_automatic and not is_own:
            return
        key = _StyleKey(style.get("family"), style.get("name"))
        properties = style.named("paragraph-properties")
        side = properties[0].attributes.get(f"{_FORMAT} text-align", "") if properties else ""
        is_copied = is_automatic and key.family == "paragraph"
        source = xml.raw(style.start, style.end) if is_copied else ""
        found[key] = _Style(_StyleKey(key.family, style.get("parent-style-name")), side, source)

    xml.parse(lambda namespace, name: (namespace, name) == (_STYLE, "style"), use)
    return found


def _style_keys(paragraph: Element) -> list[_StyleKey]:
    """The styles of a paragraph, and of the shape around it, which applies to it too."""
    keys = [_StyleKey("paragraph", paragraph.get("style-name"))]
    around = paragraph.parent
    while around is not None and len(keys) == 1:
        for space, family in _SHAPES.items():
            if name := around.attributes.get(f"{NAMES}{space}:1.0 style-name"):
                keys.append(_StyleKey(family, name))
        around = around.parent
    return keys
