"""PowerPoint presentations (.pptx, .pptm, .potx, .potm, .ppsx, .ppsm): slides and notes.

The texts of each slide come first, then those of its SmartArt and charts, its comments and notes.
Masters and layouts stay.
"""

import re

from yakusu.data.files.office.archive import Archive
from yakusu.data.files.xmltree import Element
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.ooxml.alignment import Alignments
from yakusu.documents.office.ooxml.drawing import DrawingDialect
from yakusu.documents.office.ooxml.graphics import GraphicDocument
from yakusu.documents.office.ooxml.package import Package, PackageKind
from yakusu.documents.office.parts import parse_part

_KIND = PackageKind(
    "a PowerPoint presentation",
    ".pptx",
    re.compile(
        r"(presentationml|ms-powerpoint)\.(presentation|template|slideshow)(\.macroEnabled)?"
        r"\.main\+xml$",
        re.IGNORECASE,
    ),
)
_BESIDE = ("comments", "notesSlide")  # what else belongs to a slide


def read(data: bytes, options: DocumentOptions) -> Document:
    """Read a PowerPoint presentation.

    Raises:
        DataError: The data is not a valid PowerPoint presentation.
    """
    package = Package(Archive(data), _KIND)
    document, alignments = GraphicDocument(package), Alignments(package)
    seen: set[str] = set()
    for slide in _slides(package):
        if slide not in seen:
            seen.add(slide)
            _add_slide(document, package, slide, seen, alignments=alignments)
    return document


def _slides(package: Package) -> list[str]:
    """The parts of the slides, in their order.

    Raises:
        DataError: The file lacks one.
    """
    main = package.main()
    targets = {each.key: each.target for each in package.relations(main)}
    found: list[str] = []

    def use(slide: Element) -> None:
        for name, value in slide.attributes.items():
            if name.endswith(" id"):
                found.append(package.existing(targets.get(value), "slide"))

    parse_part(package.archive, main, lambda _, name: name == "sldId", use)
    return found


def _add_slide(
    document: GraphicDocument,
    package: Package,
    slide: str,
    seen: set[str],
    *,
    alignments: Alignments,
) -> None:
    document.parts.add(slide, DrawingDialect(side=alignments.of_slide(slide)))
    document.add_graphics(slide, seen)
    related = [each for each in package.relations(slide) if each.target]
    beside = [each for each in related if each.kind in _BESIDE]
    for each in sorted(beside, key=lambda each: each.kind):
        if each.target not in seen:
            seen.add(each.target)
            side = alignments.of_slide(each.target)
            document.parts.add(each.target, DrawingDialect(side=side))
