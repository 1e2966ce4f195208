"""The parts of an Office Open XML file: their content types, and how they refer to each other.

[Content_Types].xml             the type of each part
_rels/.rels                     which part is the document
ppt/slides/_rels/slide1.xml.rels    what a part refers to, by identifier
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from yakusu.data.files.office.archive import Archive
from yakusu.data.files.xmltree import Element
from yakusu.documents.office.parts import parse_part
from yakusu.errors import DataError

_TYPES = "[content_types].xml"  # in lower case
_LONGEST_TYPE = 1000  # characters of a content type; longer ones are not those of an office program


class Relation(NamedTuple):
    """What a part refers to.

    Attributes:
        key: Its identifier in the part.
        kind: The last part of the address of its type.
        target: The name of the part; "": the archive lacks it, or it is not in the archive.
    """

    key: str
    kind: str
    target: str


@dataclass(frozen=True)
class PackageKind:
    """A kind of package.

    Attributes:
        name: In messages, such as "Word document".
        suffix: What a file should be saved as, such as ".docx".
        main: A pattern for the end of the content type of the document.
    """

    name: str
    suffix: str
    main: re.Pattern[str]


class Package:
    """The parts of a file; case has no meaning in their names.

    Args:
        archive: The file.
        kind: What it must be.

    Raises:
        DataError: It has no content types.

    Attributes:
        archive: The file.
        types: The content type of each part that has one, by name.
    """

    def __init__(self, archive: Archive, kind: PackageKind) -> None:
        self.archive = archive
        self._kind = kind
        self._names = {name.lower(): name for name in archive.names}
        if _TYPES not in self._names:
            raise DataError(
                f"the file is a zip archive but not {kind.name}: save it as {kind.suffix}"
            )
        self.types = dict(self._content_types())

    def main(self) -> str:
        """The name of the part that is the document.

        Raises:
            DataError: There is none of this kind.
        """
        found = [name for name, type_ in self.types.items() if self._kind.main.search(type_)]
        declared = [each.target for each in self.relations() if each.kind == "officeDocument"]
        for name in (*declared, *found):
            if name in found:
                return name
        raise self.no_document()

    def no_document(self) -> DataError:
        """The error of an archive without a document of this kind."""
        what = self._kind.name.split(maxsplit=1)[1]
        return DataError(f"the archive has no {what}: save the document as {self._kind.suffix}")

    def existing(self, target: str | None, what: str) -> str:
        """The name of a part to which the document refers.

        Raises:
            DataError: The file lacks it.
        """
        if not target:
            raise DataError(f"the file lacks a {what}: obtain it again, or save it again")
        return target

    def relations(self, part: str = "") -> list[Relation]:
        """What a part, or the package, refers to, in the order of the file.

        Raises:
            DataError: The list is not valid XML.
        """
        folder, name = posixpath.split(part)
        own = self._names.get(posixpath.join(folder, "_rels", f"{name}.rels").lower())
        found: list[Relation] = []

        def use(element: Element) -> None:
            target = posixpath.normpath(posixpath.join("/", folder, element.get("Target")))
            is_inside = element.get("TargetMode") != "External"
            found.append(
                Relation(
                    element.get("Id"),
                    element.get("Type").rpartition("/")[2],
                    self._names.get(target.lstrip("/").lower(), "") if is_inside else "",
                )
            )

        if own:
            parse_part(self.archive, own, lambda _, name: name == "Relationship", use)
        return found

    def _content_types(self) -> Iterator[tuple[str, str]]:
        """The names of the parts that have a content type, with it."""
        defaults: dict[str, str] = {}
        own: dict[str, str] = {}

        def use(element: Element) -> None:
            kind = element.get("ContentType")
            if len(kind) >= _LONGEST_TYPE:
                kind = ""
            if element.name == "Default":
                defaults[element.get("Extension").lower()] = kind
            else:
                own[element.get("PartName").removeprefix("/").lower()] = kind

        parse_part(
            self.archive,
            self._names[_TYPES],
            lambda _, name: name in ("Default", "Override"),
            use,
        )
        main = {each.target for each in self.relations() if each.kind == "officeDocument"}
        for lowered, name in self._names.items():
            default = defaults.get(lowered.rpartition(".")[2], "")
            if lowered in own:
                yield name, own[lowered]
            elif name in main or not self._kind.main.search(default):
                yield name, default  # other parts with the type of the document are not in it
