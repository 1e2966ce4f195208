"""XLIFF 1.2 of translation tools: their locks, and how they mark a machine translation.

Trados   .sdlxliff   <sdl:seg id="1" locked="true" conf="Draft" origin="mt"/> for each segment
memoQ    .mqxliff    <trans-unit mq:locked="locked" mq:status="MachineTranslated">
Phrase   .mxliff     <trans-unit m:locked="true" m:confirmed="0">, tags as text: {1>bold<1}
"""

from collections.abc import Iterator, Sequence

from yakusu.data.files.xmltree import Element, XmlFile, attributes_of, with_attribute

_Edit = tuple[int, int, str]
_TRADOS = "http://sdl.com/FileTypes/SdlXliff/1.0"
_MEMOQ = "MQXliff"
_PHRASE = "http://www.memsource.com/mxlf/2.0"
_TRADOS_DONE = ("ApprovedTranslation", "ApprovedSignOff")
_MEMOQ_DONE = ("ManuallyConfirmed", "Reviewer1Confirmed", "Proofread")
_PHRASE_TAGS = r"\{[\w^]{1,9}>|<[\w^]{1,9}\}|\{[\w^]{1,9}\}"


def is_closed(unit: Element) -> bool:
    """Whether a tool has locked or confirmed a <trans-unit>."""
    stated = unit.attributes
    return (
        stated.get(f"{_MEMOQ} locked") == "locked"
        or stated.get(f"{_MEMOQ} status") in _MEMOQ_DONE
        or stated.get(f"{_PHRASE} locked") == "true"
        or stated.get(f"{_PHRASE} confirmed", "0") != "0"
    )


def closed_segments(unit: Element) -> set[str]:
    """The numbers of the segments of a <trans-unit> that Trados has locked or approved."""
    return {
        each.attributes.get("id", "")
        for each in _definitions(unit)
        if each.attributes.get("locked") == "true" or each.attributes.get("conf") in _TRADOS_DONE
    }


def tags_in_text(unit: Element) -> str | None:
    """Regular expression of the tags that the text of a <trans-unit> has; None: it has none."""
    return _PHRASE_TAGS if _added_by(unit, _PHRASE) else None


def machine_translated(
    file: XmlFile, unit: Element, segments: Sequence[str], match: int
) -> list[_Edit] | None:
    """The changes that show a tool that a translation needs a check; None: it is plain XLIFF.

    Args:
        file: The file.
        unit: The <trans-unit>.
        segments: The numbers of the segments that are translated.
        match: The match of the memory that the translation is from, in percent; 0: of none.
    """
    if definitions := [*_definitions(unit)]:
        origin = {"conf": "Draft", "origin": "tm" if match else "mt", "percent": str(match)}
        return [
            _with_attributes(file, each, origin)
            for each in definitions
            if each.attributes.get("id", "") in segments
        ]
    if prefix := _prefix_of(file, unit, _MEMOQ):
        status = "Pretranslated" if match else "MachineTranslated"
        return [_with_attributes(file, unit, {f"{prefix}status": status})]
    if prefix := _prefix_of(file, unit, _PHRASE):
        origin = {f"{prefix}confirmed": "0"}
        if f"{_PHRASE} trans-origin" in unit.attributes:
            origin[f"{prefix}trans-origin"] = "tm" if match else "mt"
        return [_with_attributes(file, unit, origin)]
    return None


def _definitions(unit: Element) -> Iterator[Element]:
    """What Trados says about the segments of a <trans-unit>."""
    for each in unit.elements:
        if each.namespace == _TRADOS and each.name == "seg-defs":
            yield from each.named("seg")


def _added_by(unit: Element, namespace: str) -> set[str]:
    """The names of the attributes that a tool adds, without their prefix."""
    names = (name.rpartition(" ") for name in unit.attributes)
    return {local for stated, _, local in names if stated == namespace}


def _prefix_of(file: XmlFile, unit: Element, namespace: str) -> str:
    """The prefix of the attributes that a tool adds, with its colon; "": there are none."""
    added = _added_by(unit, namespace)
    for name, _ in attributes_of(file.raw(unit.start, unit.inner)):
        prefix, colon, local = name.rpartition(":")
        if colon and local in added:
            return prefix + colon
    return ""


def _with_attributes(file: XmlFile, element: Element, attributes: dict[str, str]) -> _Edit:
    """The change of a start tag that gives it attributes."""
    tag = file.raw(element.start, element.inner)
    for name, value in attributes.items():
        tag = with_attribute(tag, name, value)
    return element.start, element.inner, tag
