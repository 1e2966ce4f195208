"""The inline content of XLIFF and TMX: text, tags that enclose text, and native code.

    1.2   Press <g id="1">Start</g> <x id="2"/>
    2.x   Press <pc id="1">Start</pc> <ph id="2"/>
    TMX   Press <hi>Start</hi> <ph x="1"/>

Codes that begin and end a pair may be apart: bpt and ept, bx and ex, sc and ec, sm and em.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from yakusu.data.files.inline_codes import CodeKind
from yakusu.data.files.xmltree import CharacterData, Element, Other

ENDS = {"ept": "bpt", "ex": "bx", "ec": "sc", "em": "sm"}  # elements that end, and that begin
INDENTATION = re.compile(r"(?<=\S)[ \t]*\n[ \t]+(?=\S)")
_ENCLOSING = ("g", "mrk", "pc", "hi")  # their content is text
_KEPT = ("protected", "x-sdl-deleted")  # types of annotations whose content is not


@dataclass(frozen=True, slots=True)
class InlinePart:
    """A text, or a code with its place in the file.

    Attributes:
        kind: What the code is; None: this is a text.
        start: Where the code begins.
        stop: Where it ends.
        text: The text.
        name: The same for a start and its end.
        link: The same for a code of the source and of the translation.
        code: The element of native code; None: a tag that encloses text, or a comment.
    """

    kind: CodeKind | None
    start: int
    stop: int
    text: str = ""
    name: str = ""
    link: str = ""
    code: Element | None = None


def inline_parts(element: Element) -> Iterator[InlinePart]:
    """Yield the content of a <source>, a <target> or a segment of them."""
    stop = 0  # of the last code
    ends: Mapping[str, deque[Element]] | None = None
    for child in element.children:
        if child.start < stop:  # inside a part that must not be translated
            continue
        if isinstance(child, CharacterData):
            yield InlinePart(None, child.start, child.start, child.text)
        elif isinstance(child, Other):
            yield InlinePart(CodeKind.EMPTY, child.start, child.end)
        elif child.name in _ENCLOSING and _is_translatable(child):
            name, link = f"tag {child.start}", f"{child.name} {code_key(child)}"
            yield InlinePart(CodeKind.START, child.start, child.inner, name=name, link=link)
            yield from inline_parts(child)
            yield InlinePart(CodeKind.END, child.inner_end, child.end, name=name)
        else:
            ends = _ends(element) if ends is None and child.name == "sm" else ends
            stop = _stop(child, ends or {})
            yield _code(child, stop)


def _code(element: Element, stop: int) -> InlinePart:
    """An element whose content is code."""
    kinds = element.attributes.get("ctype"), element.attributes.get("subType")
    kind = CodeKind.BREAK if "lb" in kinds or "xlf:lb" in kinds else CodeKind.EMPTY
    name = f"{ENDS.get(element.name, element.name)} {code_key(element)}"
    if element.name in ENDS.values() and stop == element.end:
        kind = CodeKind.START
    elif element.name in ENDS:
        kind = CodeKind.END
    return InlinePart(kind, element.start, stop, name=name, link=name, code=element)


def _is_translatable(element: Element) -> bool:
    """Whether an annotation allows its text to be translated."""
    attributes = element.attributes
    return attributes.get("translate") != "no" and attributes.get("mtype") not in _KEPT


def code_key(element: Element) -> str:
    """What the start and the end of a pair have in common."""
    for name in ("rid", "startRef", "id", "i"):
        if name in element.attributes:
            return element.attributes[name]
    return ""


def _ends(parent: Element) -> dict[str, deque[Element]]:
    """The ends of annotations, by the key of their start."""
    ends = defaultdict[str, deque[Element]](deque)
    for end in parent.named("em"):
        ends[code_key(end)].append(end)
    return ends


def _stop(element: Element, ends: Mapping[str, deque[Element]]) -> int:
    """Where a code ends: that of <sm translate="no"/> after its <em/>.

    Args:
        element: The code; it comes after those of previous calls.
        ends: The ends of annotations, from which those before the code are removed.
    """
    if element.name == "sm" and not _is_translatable(element):
        following = ends.get(code_key(element), deque())
        while following and following[0].start < element.start:
            following.popleft()
        if following:
            return following[0].end
    return element.end
