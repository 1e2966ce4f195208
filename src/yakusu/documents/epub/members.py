"""The members of a book that have text: package, pages and tables of contents, with their places.

<dc:title xml:lang="en">A garden</dc:title>    a text, and the language that is stated

Pages and their order state the direction of the translation, if it is another one.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import AnyStr, Generic, NamedTuple

from yakusu.data.files.xmltree import (
    CharacterData,
    Element,
    XmlFile,
    encoding_of,
    escaped,
    value_place,
)
from yakusu.data.languages import language_code, same_language
from yakusu.data.lines.private_use import MARKS
from yakusu.data.lines.words import has_letter
from yakusu.data.numbers.cldr import cldr_locale
from yakusu.documents.epub.package import DC
from yakusu.documents.html.html import html_segments
from yakusu.documents.html.tokens import TokenKind, tokens
from yakusu.documents.splice import Copy, SourceSegment, Splicer, decode_source
from yakusu.errors import DataError

_NCX = "http://www.daisy.org/z3986/2005/ncx/"
_LABELS = {"docTitle", "navLabel", "navInfo"}
_LANG = ("lang", "xml:lang")
_TYPES = ("type", "epub:type", "role")
_PAGE_LISTS, _PAGE_BREAKS = {"page-list", "doc-pagelist"}, {"pagebreak", "doc-pagebreak"}
_REFERENCE = re.compile("&[^;&]*+;")
_DECLARED = re.compile(r"<!ENTITY\s+([^\s<>]++)")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*+>")
_MARK = re.compile(MARKS)


class LanguageChange(NamedTuple):
    """The languages of a translation; "": unknown."""

    source: str
    target: str

    def is_stated(self, value: str) -> bool:
        """Whether a value states the source language, and so must state the target language."""
        code = language_code(value) if self.source and self.target else ""
        return bool(code) and same_language(self.source, code)

    @property
    def direction(self) -> str:
        """The direction of the translation, "rtl" or "ltr"; "": that of the source, or unknown."""
        before, after = map(cldr_locale, self)
        if not (before and after) or before.text_direction == after.text_direction:
            return ""
        return after.text_direction


class MemberContent(Generic[AnyStr]):
    """The content of a member.

    Args:
        source: The member.
        texts: Its texts.
        stated: The places that state its language.
        turned: The places that state its direction, or must, if the translation has another one.
        language: The languages of a translation.
        encode: Returns the member with another content.

    Attributes:
        texts: The texts to translate.
    """

    def __init__(
        self,
        source: AnyStr,
        texts: Sequence[SourceSegment[AnyStr]],
        *,
        stated: Sequence[SourceSegment[AnyStr]],
        turned: Sequence[SourceSegment[AnyStr]] = (),
        language: LanguageChange,
        encode: Callable[[AnyStr], bytes],
    ) -> None:
        segments: list[SourceSegment[AnyStr]] = list(texts)
        segments += (each for each in stated if language.is_stated(each.text))
        segments += turned
        starts = {each.start for each in segments[len(texts) :]}
        self._splicer: Splicer[AnyStr] = Splicer(source, segments)
        self._target = language.target
        self._encode: Callable[[AnyStr], bytes] = encode
        self._is_stated = [start in starts for start in self._splicer.starts]
        pairs = zip(self._splicer.texts, self._is_stated, strict=True)
        self.texts = [text for text, is_stated in pairs if not is_stated]

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the member with these translations, one for each text, and their language."""
        own = iter(translations)
        new = [self._target if is_stated else next(own) for is_stated in self._is_stated]
        return self._encode(self._splicer.spliced(new))


# ---- pages ---------------------------------------------------------------------------------------


def read_page(data: bytes, language: LanguageChange) -> MemberContent[str]:
    """Read a page.

    Raises:
        DataError: The data is not valid in its encoding, the encoding is unknown, or the page uses
            an entity that it declares.
    """
    source = decode_source(data, encoding_of(data)[1], errors="xmlcharrefreplace")
    _check_entities(source.text)
    numbers = [*_page_numbers(source.text)]
    return MemberContent(
        source.text,
        [
            each
            for each in html_segments(source.text, is_xml=True)
            if bisect_right(numbers, each.start) % 2 == 0
        ],
        stated=[*_languages_of_page(source.text)],
        turned=[*_directions_of_page(source.text, language.direction)],
        language=language,
        encode=lambda text: text.encode(source.encoding, source.errors),
    )


def _languages_of_page(source: str) -> Iterator[SourceSegment[str]]:
    """The languages that a page and its body state."""
    for token in tokens(source, is_xml=True):
        if token.kind is TokenKind.START and token.name in ("html", "body"):
            for each in token.attributes:
                if each.name in _LANG and each.quote:
                    yield SourceSegment(each.start, each.end, each.value, _plain)
        if token.name == "body":
            return


def _directions_of_page(source: str, direction: str) -> Iterator[SourceSegment[str]]:
    """Where a page and its body must state a direction, if there is one."""
    for token in tokens(source, is_xml=True) if direction else ():
        if token.kind is TokenKind.START and token.name in ("html", "body"):
            own = [each for each in token.attributes if each.name == "dir" and each.quote]
            for each in own:
                yield SourceSegment(each.start, each.end, "", lambda *_: direction)
            if token.name == "html" and not own:
                at = token.start + len("<html")
                yield SourceSegment(at, at, "", lambda *_: f' dir="{direction}"')
        if token.name == "body":
            return


def _plain(text: str, copy: Copy[str]) -> str:
    """The source of a code of a language."""
    return text


def _page_numbers(source: str) -> Iterator[int]:
    """Where lists of pages, and the attributes of page breaks, begin and end by turns.

    Their texts are numbers of pages, such as "xii".
    """
    if not any(each in source for each in (*_PAGE_LISTS, *_PAGE_BREAKS)):
        return
    in_list = False
    for token in tokens(source, is_xml=True):
        values = (each.value.split() for each in token.attributes if each.name in _TYPES)
        kinds = {kind for value in values for kind in value}
        if token.name == "nav" and (
            token.kind is TokenKind.END if in_list else kinds & _PAGE_LISTS
        ):
            in_list = not in_list
            yield token.end
        elif kinds & _PAGE_BREAKS and not in_list:
            yield from (token.start + 1, token.end)


def _check_entities(source: str) -> None:
    """Refuse entities that a page declares, except those of HTML."""
    declared = {*_DECLARED.findall(source)}
    for found in _REFERENCE.finditer(source) if declared else ():
        if found[0][1:-1] in declared and html.unescape(found[0]) == found[0]:
            line = source.count("\n", 0, found.start()) + 1
            raise DataError(
                f"line {line}: the page declares the entity {found[0]}: write its text instead"
            )


# ---- XML -----------------------------------------------------------------------------------------


def read_table(data: bytes, language: LanguageChange) -> MemberContent[bytes]:
    """Read a table of contents in the format NCX.

    Raises:
        DataError: The data is not valid XML.
    """
    xml = XmlFile(data)
    texts: list[SourceSegment[bytes]] = []

    def use(text: Element) -> None:
        label = text.parent
        if label is not None and label.name in _LABELS:
            target = label.parent
            if target is None or target.name != "pageTarget":
                texts.extend(_text_of(text, xml))

    root = xml.parse(lambda namespace, name: name == "text" and namespace == _NCX, use)
    stated = [*_language_of(root, xml)]
    return MemberContent(xml.content, texts, stated=stated, language=language, encode=_encoder(xml))


def read_package(data: bytes, language: LanguageChange) -> MemberContent[bytes]:
    """Read the title, the description and the language of a book.

    Raises:
        DataError: The data is not valid XML.
    """
    xml = XmlFile(data)
    texts: list[SourceSegment[bytes]] = []
    stated: list[SourceSegment[bytes]] = []
    turned: list[SourceSegment[bytes]] = []

    def use(element: Element) -> None:
        if element.name == "spine":
            turned.extend(_order_of_pages(element, xml, language.direction))
            return
        own = [*_language_of(element, xml)]
        if element.name == "language":
            stated.extend(_place(element, xml))
        elif not (own and language_code(own[0].text)) or language.is_stated(own[0].text):
            found = [*(_markup_of(element, xml) or _text_of(element, xml))]
            texts.extend(found)
            stated.extend(own if found else ())

    names = ("title", "description", "language")
    root = xml.parse(
        lambda namespace, name: name == "spine" or (name in names and namespace == DC), use
    )
    stated += _language_of(root, xml)
    return MemberContent(
        *(xml.content, texts),
        stated=stated,
        turned=turned,
        language=language,
        encode=_encoder(xml),
    )


def _order_of_pages(spine: Element, xml: XmlFile, direction: str) -> Iterator[SourceSegment[bytes]]:
    """Where the order of the pages must state a direction, if there is one."""
    if not direction:
        return
    name = b"page-progression-direction"
    value = b'"%s"' % direction.encode()
    if place := value_place(xml.content[spine.start : spine.inner], name):
        start, end = (spine.start + at for at in place)
        yield SourceSegment(start, end, "", lambda *_: value)
    else:
        at = spine.start + len(f"<{spine.prefix}{spine.name}")
        yield SourceSegment(at, at, "", lambda *_: b" " + name + b"=" + value)


def _encoder(xml: XmlFile) -> Callable[[bytes], bytes]:
    return lambda content: bytes(xml.encoded(bytearray(content)))


def _language_of(element: Element, xml: XmlFile) -> Iterator[SourceSegment[bytes]]:
    """The place of the attribute `xml:lang` of an element."""
    place = value_place(xml.content[element.start : element.inner], b"xml:lang")
    if place:
        start, end = (element.start + at for at in place)
        value = html.unescape(xml.content[start + 1 : end - 1].decode())
        yield SourceSegment(start + 1, end - 1, value, lambda text, _: text.encode())


def _place(element: Element, xml: XmlFile) -> Iterator[SourceSegment[bytes]]:
    """The place of the characters of an element, without white space at their ends."""
    if len(element.children) != 1 or not isinstance(element.children[0], CharacterData):
        return
    data = element.children[0]
    end = element.inner_end
    if data.cdata:
        end = xml.content.index(b"]]>", data.start)
    raw = xml.content[data.start : end]
    start, end = data.start + len(raw) - len(raw.lstrip()), end - len(raw) + len(raw.rstrip())
    if start < end:

        def write(text: str, _: Copy[bytes]) -> bytes:
            return _written(text, is_cdata=data.cdata)

        yield SourceSegment(start, end, " ".join(data.text.split()), write)


def _written(text: str, *, is_cdata: bool) -> bytes:
    return (text.replace("]]>", "]] >") if is_cdata else escaped(text)).encode()


def _text_of(element: Element, xml: XmlFile) -> Iterator[SourceSegment[bytes]]:
    """The text of an element, if it has letters."""
    return (
        each
        for each in _place(element, xml)
        if has_letter(each.text) and not _MARK.search(each.text)
    )


def _markup_of(element: Element, xml: XmlFile) -> list[SourceSegment[bytes]]:
    """The texts of an element whose characters are HTML, as in `&lt;p&gt;A story&lt;/p&gt;`."""
    found: list[SourceSegment[bytes]] = []
    for place in _place(element, xml) if _TAG.search(element.text) else ():
        source = _Decoded(xml.content[place.start : place.end], element.children[0])
        for each in html_segments(source.text):
            start, end = (place.start + source.raw(at) for at in (each.start, each.end))
            if not found or start >= found[-1].end:  # not an attribute in a text
                found.append(SourceSegment(start, end, each.text, source.writer(each)))
    return found


class _Decoded:
    """Characters with references, decoded.

    Args:
        raw: The characters as they are written.
        data: What they are.

    Attributes:
        text: The decoded characters.
    """

    def __init__(self, raw: bytes, data: object) -> None:
        self._is_cdata = isinstance(data, CharacterData) and data.cdata
        parts, places, at, text = [], [], 0, raw.decode()
        for found in () if self._is_cdata else _REFERENCE.finditer(text):
            parts += [text[at : found.start()], html.unescape(found[0])]
            places += [found.start(), found.end()]
            at = found.end()
        parts.append(text[at:])
        self.text = "".join(parts)
        self._raw = text
        self._ends = [0, *accumulate(map(len, parts))]  # of parts, in the text
        self._places = [0, *places, len(text)]  # of parts, as they are written
        self._counted = (0, 0)  # characters, and their bytes

    def raw(self, at: int) -> int:
        """The place of a decoded character, in bytes as they are written; places ascend."""
        part = min(bisect_right(self._ends, at), len(self._ends) - 1) - 1
        place = self._places[part]
        if part % 2 == 0:
            place += at - self._ends[part]
        elif at >= self._ends[part + 1]:
            place = self._places[part + 1]
        counted, size = self._counted
        if place < counted:
            counted = size = 0
        self._counted = (place, size + len(self._raw[counted:place].encode()))
        return self._counted[1]

    def writer(self, segment: SourceSegment[str]) -> Callable[[str, Copy[bytes]], bytes]:
        """Return the function that writes a translation of a text of the decoded characters."""

        def write(text: str, _: Copy[bytes]) -> bytes:
            new = segment.write(text, lambda start, end: self.text[start:end])
            return _written(new, is_cdata=self._is_cdata)

        return write
