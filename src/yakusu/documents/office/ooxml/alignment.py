"""The side at which the paragraphs of slides are aligned, which most of them inherit.

a paragraph -> the style of its shape -> the same placeholder of the layout, of the master
            -> the style of titles, of bodies or of other text of the master -> left
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from yakusu.data.files.xmltree import Element
from yakusu.documents.office.ooxml.package import Package
from yakusu.documents.office.parts import parse_part

PRESENTATION = {
    "http://schemas.openxmlformats.org/presentationml/2006/main",
    "http://purl.oclc.org/ooxml/presentationml/main",
}
_TITLES = ("title", "ctrTitle")
_STYLES = {"titleStyle": "title", "bodyStyle": "body", "otherStyle": "other"}
_Styles = dict[str, str]  # sides, by the type, or the type and index, of a placeholder


class Alignments:
    """The sides at which the text of shapes is aligned: "l", "r", "ctr" and others.

    Args:
        package: The presentation.
    """

    def __init__(self, package: Package) -> None:
        self._package = package
        self._parts: dict[str, _Styles] = {}

    def of_slide(self, slide: str) -> Callable[[Element], str]:
        """A function that returns the side of a paragraph that does not state one.

        It returns "" if the side is unknown.

        Raises:
            DataError: The layout or the master of the slide is not valid XML.
        """
        layers: list[_Styles] = []
        part = slide
        for kinds in (("slideLayout", "notesMaster"), ("slideMaster",)):
            related = (each for each in self._package.relations(part) if each.kind in kinds)
            part = next((each.target for each in related), "")
            if not part:
                break
            layers.append(self._styles(part))
        return partial(_side, layers)

    def _styles(self, part: str) -> _Styles:
        """The sides of the placeholders of a layout or master, and of its styles."""
        if part not in self._parts:
            found: _Styles = {}

            def use(element: Element) -> None:
                if element.name in _STYLES:
                    found[f"style {_STYLES[element.name]}"] = _level_side(element) or "l"
                elif side := _own_side(element):
                    kind, index = _placeholder(element)
                    found.setdefault(f"{kind} {index}", side)
                    found.setdefault(kind, side)

            parse_part(self._package.archive, part, _is_style, use)
            self._parts[part] = found
        return self._parts[part]


def _side(layers: Sequence[_Styles], paragraph: Element) -> str:
    """The side of a paragraph, given the styles of the layout and of the master."""
    around = paragraph.parent
    while around is not None:
        if around.name == "tc":
            return "l"
        if around.name == "sp" and around.namespace in PRESENTATION:
            return _own_side(around) or _inherited(layers, *_placeholder(around))
        around = around.parent
    return ""


def _inherited(layers: Sequence[_Styles], kind: str, index: str) -> str:
    """The side of a placeholder of a type and index, or of another shape."""
    for layer in layers:
        for key in (f"{kind} {index}", kind) if kind else ():
            if key in layer:
                return layer[key]
    style = "title" if kind == "title" else "body" if kind else "other"
    return layers[-1].get(f"style {style}", "l") if layers else "l"


def _is_style(namespace: str, name: str) -> bool:
    return namespace in PRESENTATION and (name == "sp" or name in _STYLES)


def _placeholder(shape: Element) -> tuple[str, str]:
    """The type and the index of a placeholder; ("", ""): it is none."""
    for element in _within(shape, "nvSpPr", "nvPr", "ph"):
        kind = element.get("type") or "obj"
        return "title" if kind in _TITLES else kind, element.get("idx") or "0"
    return "", ""


def _own_side(shape: Element) -> str:
    """The side that the list style of a shape states."""
    return next((_level_side(style) for style in _within(shape, "txBody", "lstStyle")), "")


def _level_side(style: Element) -> str:
    """The side of the first level of a list style."""
    return next((each.get("algn") for each in style.elements if each.name == "lvl1pPr"), "")


def _within(element: Element, *names: str) -> Iterator[Element]:
    """Yield the elements on a path of names."""
    if not names:
        yield element
        return
    for child in element.elements:
        if child.name == names[0]:
            yield from _within(child, *names[1:])
