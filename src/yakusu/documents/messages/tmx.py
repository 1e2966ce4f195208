"""TMX: units without a variant in the target language are texts.

    <tu><tuv xml:lang="en"><seg>Press <hi>Start</hi>.</seg></tuv></tu>

The translation is a new <tuv> after that of the source, with creationid="yakusu"; variants that
exist stay, and empty ones are filled, with changeid="yakusu".
"""

import re
from collections.abc import Iterator, Sequence

from yakusu.data.files.xmltree import CharacterData, Element, XmlFile, attributes_of, with_attribute
from yakusu.data.languages import same_language
from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.positional import reordered
from yakusu.documents.messages.xliff_content import Content
from yakusu.errors import DataError

_LANG = "http://www.w3.org/XML/1998/namespace lang"
_CREATED = {"creationid": "yakusu"}
_DATED = re.compile(r"(?:change|creation)(?:id|date)|lastusagedate|usagecount")
_Edit = tuple[int, int, str]


class TmxDocument:
    """A translation memory to which variants in the target language are added.

    Args:
        data: The file.
        languages: The codes of the source and the target language.

    Attributes:
        texts: The texts of all units without a variant in the target language.
        skipped: Units that stay without one, each with the reason; complete after `render`.

    Raises:
        DataError: The file is not TMX, or a language is not known.
    """

    lines: Sequence[int] = ()
    reports_blank = True

    def __init__(self, data: bytes, languages: tuple[str, str]) -> None:
        self._file = XmlFile(data)
        self._languages = languages
        self._left: list[str] = []
        self.texts: list[str] = []
        self.keys: list[str] = []
        self.skipped: Sequence[str] = self._left
        root = self._file.parse(_is_unit, self._read)
        line = self._file.line_of(root.start)
        if root.name != "tmx":
            raise DataError(f"line {line}: the root element is <{root.name}>: a TMX file has <tmx>")
        if not all(languages):
            raise DataError(
                f"line {line}: the languages of the model are not known, so that no variant can be "
                "added: use a model that states its languages"
            )

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        skipped, edits, texts = [*self._left], list[_Edit](), iter(translations)

        def add(unit: Element) -> None:
            for variant, segment in self._source(unit):
                content = Content(self._file, segment)
                if not content.texts:
                    continue
                new = content.render([next(texts) for _ in content.texts])
                reason = "the translation is blank or its markup is not that of the source"
                if new is not None and (others := reordered(content.raw, new)):
                    reason = (
                        f"the translation has placeholders in another order: {', '.join(others)}"
                    )
                    new = None
                if new is None:
                    skipped.append(f"line {self._file.line_of(unit.start)}: {reason}")
                else:
                    edits.append(self._filled(unit, new) or self._variant(variant, segment, new))

        self._file.parse(_is_unit, add)
        self.skipped = skipped
        return self._file.edited(edits)

    def _read(self, unit: Element) -> None:
        for _, segment in self._source(unit):
            content = Content(self._file, segment)
            if content.problem:
                self._left.append(f"line {self._file.line_of(unit.start)}: {content.problem}")
            self.texts += content.texts
            self.keys += [unit.attributes.get("tuid", "")] * len(content.texts)

    def _source(self, unit: Element) -> Iterator[tuple[Element, Element]]:
        """The source variant of a unit that has no translation, and its segment."""
        source, target = self._languages
        if any(map(_has_content, _variants(unit, target))):
            return
        for variant in _variants(unit, source)[:1]:
            yield from ((variant, segment) for segment in variant.named("seg")[:1])

    def _filled(self, unit: Element, content: str) -> _Edit | None:
        """The change that fills an empty variant in the target language; None: there is none."""
        raw = self._file.raw
        for variant in _variants(unit, self._languages[1]):
            for segment in variant.named("seg")[:1]:
                tag = raw(segment.start, segment.inner).removesuffix(">")
                name = tag[1:].split()[0].rstrip("/")
                start = with_attribute(raw(variant.start, variant.inner), "changeid", "yakusu")
                start += raw(variant.inner, segment.start) + tag.removesuffix("/").rstrip()
                return variant.start, segment.end, f"{start}>{content}</{name}>"
        return None

    def _variant(self, variant: Element, segment: Element, content: str) -> _Edit:
        """The change that adds a variant in the target language."""
        raw = self._file.raw
        tag = raw(variant.start, variant.inner)
        name = tag[1:].split(maxsplit=1)[0]
        new = f"<{name}>"
        for attribute, value in attributes_of(tag):
            if attribute in ("xml:lang", "lang"):
                new = with_attribute(new, attribute, self._languages[1])
            elif not _DATED.fullmatch(attribute):
                new = f"{new[:-1]} {attribute}={value}>"
        for attribute, value in _CREATED.items():
            new = with_attribute(new, attribute, value)
        start = self._space_before(segment) + raw(segment.start, segment.inner)
        inside = start + content + raw(segment.inner_end, variant.end)
        return variant.end, variant.end, self._space_before(variant) + new + inside

    def _space_before(self, element: Element) -> str:
        """The white space before an element."""
        assert element.parent is not None
        siblings = element.parent.children
        place = next(i for i, child in enumerate(siblings) if child is element)
        before = siblings[place - 1] if place else None
        if not isinstance(before, CharacterData) or before.text.strip():
            return ""
        return self._file.raw(before.start, element.start)


def read(data: bytes, options: DocumentOptions) -> TmxDocument:
    """Read a translation memory as a document.

    Args:
        data: The file.
        options: `languages`: those of the variants to read and to add.

    Raises:
        DataError: The data is not TMX, or a language is not known.
    """
    return TmxDocument(data, options.languages)


def _is_unit(namespace: str, name: str) -> bool:
    return name == "tu"


def _variants(unit: Element, language: str) -> list[Element]:
    """The variants of a unit in a language."""
    found = list[Element]()
    for variant in unit.named("tuv"):
        code = variant.attributes.get(_LANG) or variant.attributes.get("lang", "")
        if language and code and same_language(language, code):
            found.append(variant)
    return found


def _has_content(variant: Element) -> bool:
    """Whether a variant has a segment with text or codes."""
    return any(each.text.strip() or any(each.elements) for each in variant.named("seg"))
