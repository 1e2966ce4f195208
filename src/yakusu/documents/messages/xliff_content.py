"""The content of a <source> of XLIFF as texts: inline elements are marks, their code is kept."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from yakusu.data.files.xmltree import XML_SPACE, Element, Other, Text, XmlFile, escaped, is_writable
from yakusu.data.lines import private_use as markup
from yakusu.documents.messages.icu import Message

_ENCLOSING = ("g", "mrk", "pc")  # their content is text
_ENDS = {"ept": "bpt", "ex": "bx", "ec": "sc", "em": "sm"}  # elements that end, and that begin
_INDENTATION = re.compile(r"(?<=\S)[ \t]*\n[ \t]+(?=\S)")


@dataclass
class _Code:
    """Markup as it is written.

    Attributes:
        parts: Parts of the file, and texts inside code (<sub>).
        opens: A key that the end of the pair has in `closes`, if it begins a pair.
        closes: The key, if it ends a pair.
        is_tag: Whether it is the start or end tag of one element, which must nest.
        breaks: Whether it is a line break.
    """

    parts: "list[str | Content]"
    opens: tuple[str, str] | None = None
    closes: tuple[str, str] | None = None
    is_tag: bool = False
    breaks: bool = False


class Content:
    """The texts of an element, and the element with other texts.

    Args:
        file: The file.
        element: A <source>, a segment of it, or <sub>.

    Attributes:
        raw: The content as it is written.
        texts: The texts to translate.
    """

    def __init__(self, file: XmlFile, element: Element) -> None:
        self._file = file
        self.raw = file.raw(element.inner, element.inner_end)
        children = element.children
        self._cdata = len(children) == 1 and isinstance(children[0], Text) and children[0].cdata
        items = list(self._items(element))
        codes = [item for item in items if isinstance(item, _Code)]
        if len(codes) > markup.MAX_MARKS:
            items, codes = [], []
        self._codes = dict(zip(_marks(codes), codes, strict=True))
        marks = iter(self._codes)
        string = "".join(item if isinstance(item, str) else next(marks) for item in items)
        if element.inherited(XML_SPACE, "default") != "preserve":
            string = _INDENTATION.sub(" ", string)
        self._message = Message(string)
        inner = (part for code in codes for part in code.parts if isinstance(part, Content))
        self.texts: Sequence[str] = (
            *self._message.texts,
            *(text for content in inner for text in content.texts),
        )

    def _items(self, element: Element) -> Iterator[str | _Code]:
        """The text and the codes of an element."""
        stop = 0  # of the last code
        for child in element.children:
            if child.start < stop:  # inside a part that must not be translated
                continue
            if isinstance(child, Text):
                yield from _text_items(child.text)
            elif isinstance(child, Other):
                yield _Code([self._file.raw(child.start, child.end)])
            elif (
                child.name in _ENCLOSING and child.inner_end < child.end and _is_translatable(child)
            ):
                key = ("tag", str(child.start))
                start_tag = self._file.raw(child.start, child.inner)
                yield _Code([start_tag], opens=key, is_tag=True)
                yield from self._items(child)
                end_tag = self._file.raw(child.inner_end, child.end)
                yield _Code([end_tag], closes=key, is_tag=True)
            else:
                stop = _stop(child, element)
                yield self._code(child, stop)

    def _code(self, element: Element, stop: int) -> _Code:
        """An element whose content is code, except for <sub>, which is text."""
        parts: list[str | Content] = []
        at = element.start
        for inner in element.descendants():
            if inner.name == "sub" and inner.start >= at:
                parts += [self._file.raw(at, inner.inner), Content(self._file, inner)]
                at = inner.inner_end
        kind = element.attributes.get("ctype"), element.attributes.get("subType")
        code = _Code([*parts, self._file.raw(at, stop)], breaks="lb" in kind or "xlf:lb" in kind)
        name, key = element.name, _key(element)
        if name in _ENDS.values() and stop == element.end:
            code.opens = (name, key)
        elif name in _ENDS:
            code.closes = (_ENDS[name], key)
        return code

    def render(self, translations: Sequence[str]) -> str | None:
        """Return the content with these translations, one for each text.

        None: a translation is blank, or its markup is not that of its text.
        """
        if tuple(translations) == self.texts:
            return self.raw
        n_texts = len(self._message.texts)
        string = self._message.render(translations[:n_texts])
        codes = self._rendered_codes(translations[n_texts:])
        if string is None or codes is None or not self._nests(string):
            return None
        if self._cdata and self._file.holds(string):
            return "<![CDATA[" + string.replace("]]>", "]]]]><![CDATA[>") + "]]>"
        parts = re.split(f"({markup.MARKS})", string)
        return "".join(codes[part] if part in codes else escaped(part) for part in parts)

    def _rendered_codes(self, translations: Sequence[str]) -> dict[str, str] | None:
        """The codes by their marks, with translations of the texts in them."""
        rendered = {}
        at = 0
        for mark, code in self._codes.items():
            written = ""
            for part in code.parts:
                new: str | None = part if isinstance(part, str) else None
                if isinstance(part, Content):
                    new = part.render(translations[at : at + len(part.texts)])
                    at += len(part.texts)
                if new is None:
                    return None
                written += new
            rendered[mark] = written
        return rendered

    def _nests(self, string: str) -> bool:
        """Whether the result is well-formed XML."""
        open_tags: list[str] = []
        for mark in re.findall(markup.MARKS, string):
            if not (mark in self._codes and self._codes[mark].is_tag):
                continue
            if markup.is_opening(mark):
                open_tags.append(mark)
            elif not open_tags or markup.number_of(open_tags.pop()) != markup.number_of(mark):
                return False
        return is_writable(string)


def _text_items(text: str) -> Iterator[str | _Code]:
    """Text, in which private-use characters that could be taken for marks are codes."""
    for part in re.split(f"({markup.MARKS})", text):
        yield _Code([part]) if re.fullmatch(markup.MARKS, part) else part


def _is_translatable(element: Element) -> bool:
    """Whether an annotation allows its text to be translated."""
    attributes = element.attributes
    return attributes.get("translate") != "no" and attributes.get("mtype") != "protected"


def _key(element: Element) -> str:
    """What the start and the end of a pair have in common."""
    for name in ("rid", "startRef", "id"):
        if name in element.attributes:
            return element.attributes[name]
    return ""


def _stop(element: Element, parent: Element) -> int:
    """Where a code ends: that of <sm translate="no"/> after its <em/>."""
    if element.name == "sm" and not _is_translatable(element):
        for end in parent.named("em"):
            if end.start > element.start and _key(end) == _key(element):
                return end.end
    return element.end


def _marks(codes: Sequence[_Code]) -> list[str]:
    """The mark of each code; pairs have the number of their start."""
    marks = [
        (markup.line_break if code.breaks else markup.empty)(number)
        for number, code in enumerate(codes)
    ]
    is_open: list[int] = []
    keys: Counter[tuple[str, str]] = Counter()  # of `is_open`
    for number, code in enumerate(codes):
        if code.opens:
            is_open.append(number)
            keys[code.opens] += 1
        if not code.closes or not keys[code.closes]:
            continue
        place = len(is_open) - 1
        while codes[is_open[place]].opens != code.closes:
            place -= 1
        start, between = is_open[place], is_open[place + 1 :]
        if code.is_tag or not any(codes[inner].is_tag for inner in between):
            marks[start], marks[number] = markup.opening(start), markup.closing(start)
            keys.subtract(codes[inner].opens or ("", "") for inner in is_open[place:])
            del is_open[place:]
    return marks
