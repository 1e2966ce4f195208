"""XLIFF 1.x and 2.x: units without a translation are texts.

What is translated here is marked for review: in XLIFF 1.x by state="needs-review-translation" and
state-qualifier="leveraged-mt", in XLIFF 2.x by state="translated" (the state before "reviewed") and
subState="yakusu:mt". What comes from a memory has state-qualifier="leveraged-tm" or
subState="yakusu:tm", and if the memory has exactly this text, state="translated" and
state-qualifier="exact-match". Other matches are <alt-trans> in XLIFF 1.x, and <mtc:match> in XLIFF
2.x if the segment has an id.

The estimated quality of a translation, from 0 to 1, is its:mtConfidence of a <target> of XLIFF 1.x.
Files of Trados, memoQ and Phrase are marked as `xliff_dialects` says; what they lock stays.

A translation that is probably bad has a <note> with the reason; category="yakusu" or from="yakusu".

Specifications: https://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html and
https://docs.oasis-open.org/xliff/xliff-core/v2.1/xliff-core-v2.1.html
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from yakusu.data.files.xliff import (
    LANGUAGES,
    UNTRANSLATED,
    XliffPart,
    marked_segments,
    unit_key,
    xliff_parts,
)
from yakusu.data.files.xmltree import (
    CharacterData,
    Element,
    XmlFile,
    attributes_of,
    escaped,
    with_attribute,
)
from yakusu.documents.document import DocumentOptions, Known, Offer, plain_text
from yakusu.documents.languages import check_language
from yakusu.documents.messages.positional import reordered
from yakusu.documents.messages.xliff_content import Content
from yakusu.documents.messages.xliff_dialects import (
    closed_segments,
    is_closed,
    machine_translated,
    tags_in_text,
)
from yakusu.errors import DataError

_Edit = tuple[int, int, str]  # start, stop, new content
_MATCHES = "urn:oasis:names:tc:xliff:matches:2.0"
_ITS = {  # https://www.w3.org/TR/its20/#mtconfidence
    "xmlns:its": "http://www.w3.org/2005/11/its",
    "its:annotatorsRef": "mt-confidence|yakusu",
}
# By the match of a translation: states and qualifiers of XLIFF 1.x
_STATES = {
    0: ("needs-review-translation", "leveraged-mt"),
    99: ("needs-review-translation", "leveraged-tm"),
    100: ("translated", "exact-match"),
}
_UNKNOWN = Known()
_UNUSABLE = "the translation is blank or its markup is not that of the source"
_CONFIDENCE = re.compile(r"""(?<!\s)\s++its:mtConfidence=("[^"]*"|'[^']*')""")
_AFTER_NOTES = ("originalData", "segment", "ignorable")  # of a unit of XLIFF 2
_DONE = ("final", "signed-off")  # states of targets that are never replaced


@dataclass
class _Unit:
    """A <trans-unit> or <segment> to translate.

    Attributes:
        element: The element.
        template: The element whose content becomes that of the target.
        contents: Parts of the template to translate.
        kept: Parts of the template that are replaced by what the target already has.
    """

    element: Element
    template: Element
    contents: Sequence[tuple[Element, Content]]
    kept: Sequence[_Edit] = ()

    @property
    def target(self) -> Element | None:
        """The target that exists."""
        return next(iter(self.element.named("target")), None)


class XliffDocument:
    """An XLIFF file whose units can be translated.

    Only the texts are kept: the file is parsed again when it is rendered.

    Attributes:
        texts: The texts of all units to translate.
        keys: The name of the unit of each text.
        skipped: Units that stay untranslated, each with the reason; complete after `render`.
    """

    lines: Sequence[int] = ()
    reports_blank = True

    def __init__(self, data: bytes, options: DocumentOptions) -> None:
        self._file = XmlFile(data)
        self._options = options
        self._left: list[str] = []
        self._owners = set[int]()  # where the elements begin whose languages have been checked
        self._known: Mapping[int, Known] = {}
        self.texts: list[str] = []
        self.keys: list[str] = []
        self.skipped: Sequence[str] = self._left
        root = self._file.parse(_is_unit, self._read)
        _version(root)

    def tell(self, known: Mapping[int, Known]) -> None:
        """See `StatesOrigin.tell`."""
        self._known = known

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        rendering = _Rendering(self._file, self._options, translations, self._known)
        self._file.parse(_is_unit, rendering.add)
        self.skipped = [*self._left, *rendering.skipped]
        return self._file.edited(rendering.edits)

    def _read(self, element: Element) -> None:
        """Read the units in an element."""
        for unit in _units(self._file, element, self._options.retranslate):
            for _, content in unit.contents:
                if problem := content.problem:
                    self._left.append(_reason(self._file, unit, problem))
            texts = [text for _, content in unit.contents for text in content.texts]
            if texts:
                self._check_languages(_owner(unit.element))
                self.texts += texts
                self.keys += [unit_key(unit.element)] * len(texts)

    def _check_languages(self, owner: Element | None) -> None:
        """Refuse a file of other languages."""
        if owner is None or owner.start in self._owners:
            return
        self._owners.add(owner.start)
        line = self._file.line_of(owner.start)
        names = LANGUAGES[owner.name != "file"]
        for side, name, wanted in zip(
            ("source", "target"), names, self._options.languages, strict=True
        ):
            check_language(side, owner.attributes.get(name, ""), wanted, line)


class _Rendering:
    """The changes that give the units of a file their translations.

    Args:
        file: The file.
        options: How it was read.
        translations: The translations of all units.
        known: What memories know of the texts.

    Attributes:
        edits: The changes.
        skipped: Units that stay untranslated, each with the reason.
    """

    def __init__(
        self,
        file: XmlFile,
        options: DocumentOptions,
        translations: Sequence[str],
        known: Mapping[int, Known],
    ) -> None:
        self.edits: list[_Edit] = []
        self.skipped: list[str] = []
        self._file = file
        self._options = options
        self._texts = enumerate(translations)
        self._known = known
        self._owners = set[int]()  # where the elements begin whose languages are written

    def add(self, element: Element) -> None:
        """Add the changes of the units in an element."""
        changed, matched = list[Element](), list[tuple[Element, Sequence[Known]]]()
        for unit in _units(self._file, element, self._options.retranslate):
            if not any(content.texts for _, content in unit.contents):
                continue
            new, reason, known = self._rendered(unit)
            if reason:
                self.skipped.append(_reason(self._file, unit, reason))
            elif change := self._target(unit, new, known):
                self.edits += change
                changed.append(unit.element)
                matched.append((unit.element, known))
                self._add_language(_owner(unit.element))
        self.edits += [*self._ignorables(changed), *self._candidates(matched)]
        self.edits += self._unit_notes(matched)

    def _rendered(self, unit: _Unit) -> tuple[list[_Edit], str, list[Known]]:
        """The changes of a template, why they are not possible, or "", and what is known of it."""
        new, reason, known = list(unit.kept), "", list[Known]()
        for element, content in unit.contents:
            texts = [next(self._texts) for _ in content.texts]
            known += (self._known.get(number, _UNKNOWN) for number, _ in texts)
            rendered = content.render([text for _, text in texts], self._options.languages[1])
            if rendered is None:
                reason = "; ".join(each.kept for each in known if each.kept) or _UNUSABLE
            elif others := reordered(content.raw, rendered):
                reason = f"the translation has placeholders in another order: {', '.join(others)}"
            else:
                new.append((element.inner, element.inner_end, rendered))
        return new, reason, known

    def _target(self, unit: _Unit, new: Sequence[_Edit], known: Sequence[Known]) -> list[_Edit]:
        """The changes that give a unit its target; none if it already has this one."""
        inside = _spliced(self._file, unit.template, new)
        target = unit.target
        if target and self._file.raw(target.inner, target.inner_end) == inside:
            return []
        source = unit.element.named("source")[0]
        if target:
            tag = self._file.raw(target.start, target.inner)
        else:
            tag = _target_tag(self._file.raw(source.start, source.inner))
        match = min((each.match or 0 for each in known), default=0)
        written = ""
        numbers = [element.attributes.get("mid", "") for element, _ in unit.contents]
        tool = machine_translated(self._file, unit.element, numbers, match)
        if unit.element.name == "trans-unit" and tool is None:
            state, qualifier = _STATES.get(match, _STATES[0])
            tag = with_attribute(tag, "state", state)
            tag = with_attribute(tag, "state-qualifier", qualifier)
            tag = _with_quality(tag, known)
            written = "".join((*self._notes(source, known), *self._alternatives(source, known)))
        written = _element(tag, inside) + written
        if target:
            edits = [(target.start, target.end, written), *self._old_notes(unit.element)]
        else:
            before = (unit.element.named("seg-source") or [source])[0]
            edits = [(before.end, before.end, self._indentation(source) + written)]
        if unit.element.name == "trans-unit":
            return [*edits, *(tool or ())]
        return [*edits, *self._segment_state(unit.element, match)]

    def _alternatives(self, source: Element, known: Sequence[Known]) -> Iterator[str]:
        """What memories offer for a unit of XLIFF 1.x."""
        prefix = _prefix(self._file, source)
        for offer in known[0].offers if len(known) == 1 else ():
            tag = f'<{prefix}alt-trans match-quality="{offer.match}%">'
            yield self._indentation(source) + _offered(offer, tag, prefix)

    def _old_notes(self, unit: Element) -> list[_Edit]:
        """The changes that remove the notes of an earlier translation from a unit of XLIFF 1.x."""
        notes = unit.named("note") if unit.name == "trans-unit" else ()
        return [(n.start, n.end, "") for n in notes if n.attributes.get("from") == "yakusu"]

    def _notes(self, source: Element, known: Sequence[Known]) -> Iterator[str]:
        """The note on a unit of XLIFF 1.x whose translation is probably bad."""
        for each in (each for each in known if each.doubt):
            prefix = _prefix(self._file, source)
            note = _element(f'<{prefix}note from="yakusu">', escaped(_doubt(each)))
            yield self._indentation(source) + note

    def _unit_notes(self, segments: Sequence[tuple[Element, Sequence[Known]]]) -> Iterator[_Edit]:
        """Notes on the units of XLIFF 2 whose translations are probably bad, and no older ones."""
        doubts: dict[int, tuple[Element, list[Known]]] = {}
        for segment, known in segments:
            if segment.name == "segment" and segment.parent:
                _, own = doubts.setdefault(segment.parent.start, (segment.parent, []))
                own += (each for each in known if each.doubt)
        for unit, own in doubts.values():
            prefix = _prefix(self._file, unit)
            tag = f'<{prefix}note category="yakusu" appliesTo="target">'
            new = "".join(_element(tag, escaped(_doubt(each))) for each in own)
            if not (notes := unit.named("notes")):
                at = unit.named(*_AFTER_NOTES)[0].start
                yield (at, at, _element(f"<{prefix}notes>", new) if new else "")
                continue
            every = notes[0].named("note")
            kept = [each for each in every if each.attributes.get("category") != "yakusu"]
            raw = new + "".join(self._file.raw(each.start, each.end) for each in kept)
            if new or len(kept) < len(every):
                yield (
                    notes[0].start,
                    notes[0].end,
                    _element(f"<{prefix}notes>", raw) if raw else "",
                )

    def _candidates(self, segments: Sequence[tuple[Element, Sequence[Known]]]) -> list[_Edit]:
        """What memories offer for segments of XLIFF 2, at the beginning of their units."""
        found: dict[int, list[str]] = {}
        for segment, known in segments:
            parent, name = segment.parent, segment.attributes.get("id", "")
            if segment.name != "segment" or not (parent and name) or parent.named("matches"):
                continue
            prefix = _prefix(self._file, segment.named("source")[0])
            for offer in known[0].offers if len(known) == 1 else ():
                tag = with_attribute("<mtc:match>", "ref", f"#{name}")
                tag = with_attribute(tag, "matchQuality", f"{offer.match}.0")
                found.setdefault(parent.inner, []).append(_offered(offer, tag, prefix))
        start, end = f'<mtc:matches xmlns:mtc="{_MATCHES}">', "</mtc:matches>"
        return [(at, at, start + "".join(each) + end) for at, each in found.items()]

    def _segment_state(self, segment: Element, match: int) -> list[_Edit]:
        """The state of a segment of XLIFF 2."""
        tag = self._file.raw(segment.start, segment.inner)
        tag = with_attribute(tag, "state", "translated")
        new = with_attribute(tag, "subState", "yakusu:tm" if match else "yakusu:mt")
        return [(segment.start, segment.inner, new)]

    def _indentation(self, element: Element) -> str:
        """The white space before an element."""
        parent = element.parent
        assert parent is not None
        place = next(i for i, child in enumerate(parent.children) if child is element)
        before = parent.children[place - 1] if place else None
        if not isinstance(before, CharacterData) or before.cdata or before.text.strip():
            return ""
        return self._file.raw(before.start, element.start)

    def _add_language(self, owner: Element | None) -> None:
        """Name the target language where there is none."""
        language = self._options.languages[1]
        if not language or owner is None or owner.start in self._owners:
            return
        self._owners.add(owner.start)
        name = LANGUAGES[owner.name != "file"][1]
        if name not in owner.attributes:
            tag = self._file.raw(owner.start, owner.inner)
            self.edits.append((owner.start, owner.inner, with_attribute(tag, name, language)))

    def _ignorables(self, changed: Sequence[Element]) -> list[_Edit]:
        """Targets of the parts between the segments of a changed unit of XLIFF 2."""
        units = {
            element.parent.start: element.parent
            for element in changed
            if element.parent and element.name == "segment"
        }
        edits = []
        for unit in units.values():
            parts = unit.named("segment", "ignorable")
            reordered = any("order" in item.attributes for p in parts for item in p.named("target"))
            for ignorable in unit.named("ignorable"):
                sources, targets = ignorable.named("source"), ignorable.named("target")
                if sources and not targets and not reordered:
                    source = sources[0]
                    tag = _target_tag(self._file.raw(source.start, source.inner))
                    written = _element(tag, self._file.raw(source.inner, source.inner_end))
                    new = self._indentation(source) + written
                    edits.append((source.end, source.end, new))
        return edits


def read(data: bytes, options: DocumentOptions) -> XliffDocument:
    """Read an XLIFF file.

    Args:
        data: The file.
        options: `retranslate`: units with a translation are texts, too, unless they are approved
            or final. `languages`: a file in other languages is refused; the target language is
            written where the file states none.

    Raises:
        DataError: The data is not well-formed XML, declares entities, or is not XLIFF; or it states
            other languages.
    """
    return XliffDocument(data, options)


def _version(root: Element) -> str:
    """The major version."""
    version = root.attributes.get("version", "") or root.namespace.rpartition(":")[2]
    if root.name != "xliff":
        raise DataError(f"the root element is <{root.name}>: an XLIFF file has <xliff>")
    if not re.match(r"[12](\.|$)", version):
        raise DataError(f'XLIFF version "{version}" is not supported: convert it to 1.2 or 2.1')
    return version[0]


def _is_unit(namespace: str, name: str) -> bool:
    return name in ("trans-unit", "unit")


def _units(file: XmlFile, element: Element, retranslate: bool) -> Iterator[_Unit]:
    """The units in a <trans-unit> or <unit>."""
    root = element
    while root.parent:
        root = root.parent
    name = "unit" if _version(root) == "2" else "trans-unit"
    for each in element.descendants():
        is_unit = each.name == name and each.namespace == root.namespace
        if is_unit and each.inherited("translate", "yes") != "no":
            units = _segments if name == "unit" else _trans_units
            yield from units(file, each, retranslate)


def _reason(file: XmlFile, unit: _Unit, reason: str) -> str:
    return f"line {file.line_of(unit.element.start)}: {reason}"


def _owner(element: Element) -> Element | None:
    """The element that states the languages of a <trans-unit> or <segment>."""
    name = "file" if element.name == "trans-unit" else "xliff"
    parent = element.parent
    while parent is not None and parent.name != name:
        parent = parent.parent
    return parent


def _trans_units(file: XmlFile, element: Element, retranslate: bool) -> Iterator[_Unit]:
    """The unit of a <trans-unit>."""
    if element.attributes.get("approved") != "yes" and not is_closed(element):
        for part in xliff_parts(element):
            yield from _trans_unit(file, part, retranslate=retranslate)


def _trans_unit(file: XmlFile, part: XliffPart, *, retranslate: bool) -> Iterator[_Unit]:
    """The unit of an element, if there is something to translate."""
    template = part.divided
    segments = _with_content(template)
    if not segments:
        template, segments = part.source, [part.source]
    filled: dict[str, str] = {}
    closed = closed_segments(part.element)
    is_done = part.target and not retranslate and _has_translation(file, part)
    if part.target and (is_done or closed):
        filled = {
            number: file.raw(item.inner, item.inner_end)
            for item in _with_content(part.target)
            if item.text.strip()
            and ((number := item.attributes.get("mid", "")) in closed or is_done)
        }
        if is_done and not filled:
            return
    if part.state in _DONE:
        return
    filled = dict.fromkeys(closed, "") | filled
    numbered = [(item, item.attributes.get("mid", "")) for item in segments]
    code = tags_in_text(part.element)
    yield _Unit(
        part.element,
        template,
        [
            (item, Content(file, item, code=code))
            for item, number in numbered
            if number not in filled
        ],
        [
            (item.inner, item.inner_end, filled[number])
            for item, number in numbered
            if number in filled
        ],
    )


def _segments(file: XmlFile, unit: Element, retranslate: bool) -> Iterator[_Unit]:
    """The segments of a <unit>."""
    for part in xliff_parts(unit):
        if part.state not in _DONE and (retranslate or not _has_translation(file, part)):
            yield _Unit(part.element, part.source, [(part.source, Content(file, part.source))])


def _with_content(side: Element) -> list[Element]:
    """The segments of XLIFF 1.2 that can have content: not <mrk mtype="seg"/>."""
    return [item for item in marked_segments(side) if item.inner < item.end]


def _has_translation(file: XmlFile, part: XliffPart) -> bool:
    """Whether a target is neither empty nor a copy of the source that is still to be translated."""
    source, target = part.source, part.target
    if not target:
        return False
    copies = file.raw(target.inner, target.inner_end) == file.raw(source.inner, source.inner_end)
    inside = (item for each in marked_segments(target) or [target] for item in each.descendants())
    codes = (item for item in inside if item.name not in ("target", "mrk"))
    has_content = bool(target.text.strip()) or next(codes, None) is not None
    return has_content and not (copies and part.state in UNTRANSLATED)


def _spliced(file: XmlFile, template: Element, new: Sequence[_Edit]) -> str:
    """The content of an element with parts replaced."""
    pieces = []
    at = template.inner
    for start, stop, content in sorted(new):
        pieces += [file.raw(at, start), content]
        at = stop
    return "".join([*pieces, file.raw(at, template.inner_end)])


def _prefix(file: XmlFile, element: Element) -> str:
    """The prefix of the name of an element, with its colon."""
    prefix, colon, _ = file.raw(element.start, element.inner)[1:].split()[0].rpartition(":")
    return prefix + colon


def _offered(offer: Offer, tag: str, prefix: str) -> str:
    """An element with an offer, without its markup."""
    tag = with_attribute(tag, "origin", offer.origin) if offer.origin else tag
    sides = (("source", offer.source), ("target", offer.target))
    inside = (
        f"<{prefix}{name}>{escaped(plain_text(text))}</{prefix}{name}>" for name, text in sides
    )
    return _element(tag, "".join(inside))


def _with_quality(tag: str, known: Sequence[Known]) -> str:
    """The start tag of a target with the estimated quality, if it is known for all of its texts."""
    values = [each.quality for each in known if each.quality is not None]
    if not values or len(values) < len(known):
        return _CONFIDENCE.sub("", tag)
    for name, value in (_ITS | {"its:mtConfidence": f"{min(values) / 100:.2f}"}).items():
        tag = with_attribute(tag, name, value)
    return tag


def _doubt(known: Known) -> str:
    """Why a translation is probably bad."""
    return f"probably a bad translation (quality {known.quality} of 100): {known.doubt}"


def _target_tag(source: str) -> str:
    """The start tag of a new target, with the prefix of the source."""
    name = re.sub("source$", "target", source[1:].split()[0].rstrip("/>"))
    kept = [
        f" {name}={value}"
        for name, value in attributes_of(source)
        if name.startswith("xmlns") or name == "xml:space"
    ]
    return f"<{name}{''.join(kept)}>"


def _element(tag: str, inside: str) -> str:
    """An element with this start tag."""
    if tag.endswith("/>"):
        tag = tag.removesuffix("/>").rstrip() + ">"
    name = tag[1:-1].split()[0]
    return f"{tag}{inside}</{name}>"
