"""Runs: stretches of text with their formatting, in documents, slides and cells alike.

<w:r><w:rPr><w:b/></w:rPr><w:t>bold</w:t></w:r>
<a:r><a:rPr b="1"/><a:t>bold</a:t></a:r>
<r><rPr><b/></rPr><t>bold</t></r>
"""

import re
from collections.abc import Callable, Collection, Hashable

from yakusu.data.files.xmltree import Element, XmlFile
from yakusu.documents.inline import Run

LINE_SPACES = re.compile("[\t\r\n]+")
_COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"
IsUnseen = Callable[[str], bool]  # whether a reader does not see the attribute of this name


def is_copy(element: Element) -> bool | None:
    """Whether an element is a fallback for another one (True), or has one (False)."""
    if element.namespace != _COMPATIBILITY or element.name not in ("Choice", "Fallback"):
        return None
    return element.name == "Fallback"


def run_of(
    element: Element,
    xml: XmlFile,
    *,
    unseen: Collection[str] = (),
    is_unseen: IsUnseen = lambda _: False,
) -> Run:
    """The run of an element, whose properties are its child `rPr`.

    Args:
        element: The element.
        xml: Its file.
        unseen: Names of properties that a reader does not see.
        is_unseen: Whether a reader does not see an attribute of the properties.
    """
    properties = next(iter(element.named("rPr")), None)
    return Run(
        _formatting(properties, unseen, is_unseen) if properties else frozenset(),
        before=xml.content[element.start : properties.end if properties else element.inner],
        after=xml.content[element.inner_end : element.end],
        prefix=element.prefix,
    )


def _formatting(element: Element, unseen: Collection[str], is_unseen: IsUnseen) -> Hashable:
    """The properties of a run that a reader sees, to compare them with those of others."""
    shown = set[Hashable](_seen(element, is_unseen))
    for child in element.elements:
        is_empty = child.name == "rFonts" and not _seen(child, is_unseen)  # it had only a hint
        if child.name not in unseen and not is_empty:
            shown.add((child.namespace, child.name, _formatting(child, unseen, is_unseen)))
    return frozenset(shown)


def _seen(element: Element, is_unseen: IsUnseen) -> frozenset[tuple[str, str]]:
    return frozenset(
        (name, value)
        for name, value in element.attributes.items()
        if not is_unseen(name.rpartition(" ")[2])
    )
