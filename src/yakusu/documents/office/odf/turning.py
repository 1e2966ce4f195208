"""Paragraphs of OpenDocument that turn: their style is copied, with another direction.

<style:style style:name="yakusu1" style:family="paragraph" style:parent-style-name="Standard">
    <style:paragraph-properties fo:text-align="right" style:writing-mode="rl-tb"/></style:style>

Text that is written from right to left has its own properties of bold, italics and size. Where the
styles of a paragraph and its spans lack them, the copies get those of other text.
"""

import html
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import NamedTuple

from yakusu.data.files.xmltree import Element, XmlFile, attributes_of, with_attribute
from yakusu.documents.inline import Inline, Run
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
_NEW = f'<style:style xmlns:style="{_STYLE}" style:family="{{}}"></style:style>'
_AUTOMATIC = re.compile(
    rb"<(?P<name>(?:[\w.-]{1,20}:)?automatic-styles)(?P<attributes>(?:\s[^<>/]*+(?:/[^<>/]++)*+)?+)(?P<end>/?>)"
)
_TAG = re.compile(r"<([\w.-]{1,20}:)?[\w.-]+(?:\s[^<>]*)?>")
_PARAGRAPHS = re.compile(r"<(?:[\w.-]{1,20}:)?paragraph-properties(?:\s[^<>]*)?>")
_TEXTS = re.compile(r"<(?:[\w.-]{1,20}:)?text-properties(?:\s[^<>]*)?>")
_AFTER_TEXTS = re.compile(r"<(?:[\w.-]{1,20}:)?map[\s/>]|</(?:[\w.-]{1,20}:)?style\s*>")
_SPAN_STYLE = re.compile(rb"""(\sstyle-name|:style-name)(\s*=\s*)(?:"([^"]*)"|'([^']*)')""")
# Right-to-left text has properties of its own for these: "font-weight-complex" and so on.
_LEFTWARD = ("font-weight", "font-style", "font-size")
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
        source: Its source, if only this part has it; "": others have it.
        fonts: The properties of `_LEFTWARD` that it states; None: also for right-to-left text.
    """

    parent: _StyleKey
    side: str
    source: str
    fonts: Mapping[str, str | None]


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
        self._added: dict[Hashable, tuple[str, str]] = {}  # names and sources
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
        tag, direction = copy(start, inner), new_direction(inline.text, translation)
        if direction and self._has_styles(start):
            tag = self._turned(tag, keys, direction)
            inline = self._with_fonts(inline) if direction == "rtl" else inline
        content = self._written(inline, end - start, translation, copy)
        return tag + content + copy(inner_end, end)

    def _turned(self, tag: bytes, keys: Sequence[_StyleKey], direction: str) -> bytes:
        """The start tag of a paragraph with another style."""
        mode, sides, side = _MODES[direction]
        side = side if self._side(keys) in sides else ""
        fonts = self._fonts(keys) if direction == "rtl" else {}
        name = self._copy_of(keys[0], mode, side, fonts)
        found = _TAG.match(text := tag.decode())
        assert found is not None
        return with_attribute(text, f"{found[1] or ''}style-name", name).encode()

    def _with_fonts(self, inline: Inline) -> Inline:
        """A paragraph whose spans have styles with properties for text from right to left."""
        known: dict[int, Run] = {}  # pieces in one run share its spans

        def turned(run: Run | None) -> Run | None:
            return run and known.setdefault(id(run), self._leftward(run))

        return replace(
            inline,
            marks={m: piece._replace(run=turned(piece.run)) for m, piece in inline.marks.items()},
            before=[piece._replace(run=turned(piece.run)) for piece in inline.before],
            runs={pair: turned(run) for pair, run in inline.runs.items()},
        )

    def _leftward(self, run: Run) -> Run:
        """A run whose spans have styles with properties for text from right to left."""

        def replaced(found: re.Match[bytes]) -> bytes:
            name = html.unescape((found[3] or found[4] or b"").decode())
            key = _StyleKey("text", name)
            if fonts := self._fonts([key]):
                name = self._copy_of(key, "", "", fonts)
                return found[1] + found[2] + f'"{name}"'.encode()
            return found[0]

        return replace(run, before=_SPAN_STYLE.sub(replaced, run.before))

    def _copy_of(self, key: _StyleKey, mode: str, side: str, fonts: Mapping[str, str]) -> str:
        """The name of a copy of a style with other properties, which is added."""
        assert self._styles is not None
        added = key, mode, side, tuple(fonts.items())
        if added not in self._added:
            names = (f"yakusu{n}" for n in self._numbers)
            name = next(each for each in names if _StyleKey(key.family, each) not in self._styles)
            self._added[added] = name, self._copied(key, name, mode, side, fonts)
        return self._added[added][0]

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

    def _has_styles(self, start: int) -> bool:
        """Whether the part has its own styles, before a place; all styles are read."""
        if self._styles is None:
            self._styles = {}
            for part in (*self._common, self._name):
                xml = read_part(self._archive, part)
                self._styles |= _styles_in(xml, is_own=part == self._name)
                self._own = _AUTOMATIC.search(xml.content)
        return self._own is not None and self._own.end() <= start

    def _chain(self, keys: Sequence[_StyleKey]) -> Iterator[_Style]:
        """The styles of a paragraph or span, each followed by those on which it is based."""
        assert self._styles is not None
        for key in keys:
            for _ in range(_MAX_PARENTS):
                if (style := self._styles.get(key)) is None:
                    break
                yield style
                key = style.parent

    def _side(self, keys: Sequence[_StyleKey]) -> str:
        """The side at which a paragraph is aligned; "": no style states it."""
        return next((style.side for style in self._chain(keys) if style.side), "")

    def _fonts(self, keys: Sequence[_StyleKey]) -> dict[str, str]:
        """The properties that styles state, but not for text from right to left."""
        found: dict[str, str | None] = {}
        for style in self._chain(keys):
            found = {**style.fonts, **found}
        return {name: value for name, value in found.items() if value}

    def _copied(
        self, base: _StyleKey, name: str, mode: str, side: str, fonts: Mapping[str, str]
    ) -> str:
        """The source of a style that is based on another one and has other properties."""
        assert self._styles is not None
        known = self._styles.get(base)
        source = (known and known.source) or _NEW.format(base.family)
        head = _TAG.match(source)
        assert head is not None
        prefix = head[1] or ""
        tag = with_attribute(head[0], f"{prefix}name", name)
        if not (known and known.source) and base.name:
            tag = with_attribute(tag, f"{prefix}parent-style-name", base.name)
        inside, end = source[head.end() :], ""
        if tag.endswith("/>"):
            tag, end = tag.removesuffix("/>") + ">", f"</{prefix}style>"
        if mode:
            found = _PARAGRAPHS.search(inside)
            start, stop = found.span() if found else (0, 0)
            new = inside[start:stop] or f"<{prefix}paragraph-properties/>"
            new = _aligned(with_attribute(new, f"{prefix}writing-mode", mode), side)
            inside = inside[:start] + new + inside[stop:]
        if fonts:
            found = _TEXTS.search(inside)
            after = _AFTER_TEXTS.search(inside)
            start = stop = after.start() if after else len(inside)
            start, stop = found.span() if found else (start, stop)
            new = inside[start:stop] or f"<{prefix}text-properties/>"
            for key, value in fonts.items():
                new = with_attribute(new, f"{prefix}{key}-complex", value)
            inside = inside[:start] + new + inside[stop:]
        return tag + inside + end


def _aligned(properties: str, side: str) -> str:
    """The start tag of properties with another side; "": the same."""
    if not side:
        return properties
    stated = [key for key, _ in attributes_of(properties) if key.endswith(":text-align")]
    if not stated:
        properties = with_attribute(properties, "xmlns:fo", _FORMAT)
    return with_attribute(properties, (stated or ["fo:text-align"])[0], side)


def _styles_in(xml: XmlFile, *, is_own: bool) -> dict[_StyleKey, _Style]:
    """The styles of a part; its automatic ones are those of the part only."""
    found: dict[_StyleKey, _Style] = {}

    def use(style: Element) -> None:
        is_automatic = style.parent is not None and style.parent.name == "automatic-styles"
        if is_automatic and not is_own:
            return
        key = _StyleKey(style.get("family"), style.get("name"))
        properties = style.named("paragraph-properties")
        side = properties[0].attributes.get(f"{_FORMAT} text-align", "") if properties else ""
        is_copied = is_automatic and key.family in ("paragraph", "text")
        source = xml.raw(style.start, style.end) if is_copied else ""
        parent = _StyleKey(key.family, style.get("parent-style-name"))
        found[key] = _Style(parent, side, source, _fonts_of(style))

    xml.parse(lambda namespace, name: (namespace, name) == (_STYLE, "style"), use)
    return found


def _fonts_of(style: Element) -> dict[str, str | None]:
    """The properties of `_LEFTWARD` that a style states; None: also for right-to-left text."""
    found: dict[str, str | None] = {}
    for properties in style.named("text-properties"):
        for name in _LEFTWARD:
            if f"{_STYLE} {name}-complex" in properties.attributes:
                found[name] = None
            elif value := properties.attributes.get(f"{_FORMAT} {name}"):
                found[name] = value
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
