"""Office Open XML files for tests: parts, their types, and how they refer to each other."""

from collections.abc import Mapping

from tests.documents.shared import with_members

_PACKAGE = "http://schemas.openxmlformats.org/package/2006/"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_OFFICE = "application/vnd.openxmlformats-officedocument."
KINDS = {  # folders, or names in them -> content type
    "ppt/presentation.xml": f"{_OFFICE}presentationml.presentation.main+xml",
    "xl/workbook.xml": f"{_OFFICE}spreadsheetml.sheet.main+xml",
    "xl/worksheets/sheet1.xml": f"{_OFFICE}spreadsheetml.worksheet+xml",
    "xl/sharedStrings.xml": f"{_OFFICE}spreadsheetml.sharedStrings+xml",
    "ppt/slides/slide1.xml": f"{_OFFICE}presentationml.slide+xml",
    "ppt/slides/slide2.xml": f"{_OFFICE}presentationml.slide+xml",
}


def package(
    parts: Mapping[str, str | bytes],
    relations: Mapping[str, Mapping[str, str]],
    types: Mapping[str, str] = KINDS,
) -> bytes:
    """A file.

    Args:
        parts: Its parts by name.
        relations: What each part refers to: identifier -> "type target"; "" is the package.
        types: The content type of each part.
    """
    overrides = '<Default Extension="rels" ContentType="{}relationships+xml"/>'.format(
        "application/vnd.openxmlformats-package."
    ) + "".join(
        f'<Override PartName="/{name}" ContentType="{kind}"/>'
        for name, kind in types.items()
        if name in parts
    )
    content = {"[Content_Types].xml": f'<Types xmlns="{_PACKAGE}content-types">{overrides}</Types>'}
    for part, targets in relations.items():
        folder, _, name = part.rpartition("/")
        listed = "".join(
            f'<Relationship Id="{key}" Type="{_R}/{value.split()[0]}" '
            f'Target="{value.split()[1]}"'
            + (' TargetMode="External"/>' if "://" in value.split()[1] else "/>")
            for key, value in targets.items()
        )
        content[f"{folder}/_rels/{name}.rels".lstrip("/")] = (
            f'<Relationships xmlns="{_PACKAGE}relationships">{listed}</Relationships>'
        )
    encoded = {
        name: part if isinstance(part, bytes) else part.encode()
        for name, part in (content | dict(parts)).items()
    }
    return with_members(b"PK\x05\x06" + bytes(18), encoded)


SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'


def shared_strings(items: str) -> str:
    return f'{HEAD}<sst xmlns="{SHEET}">{items}</sst>'


def sheet_xml(rows: str, after: str = "") -> str:
    return f'{HEAD}<worksheet xmlns="{SHEET}"><sheetData>{rows}</sheetData>{after}</worksheet>'


def table_xml(*columns: str, attributes: str = "") -> str:
    named = "".join(
        f'<tableColumn id="{i}" name="{name}"/>' for i, name in enumerate(columns, start=1)
    )
    return (
        f'{HEAD}<table xmlns="{SHEET}" id="1" displayName="Sales" ref="A1:B2"{attributes}>'
        f"<tableColumns>{named}</tableColumns></table>"
    )


def workbook(
    strings: str = "",
    rows: str = "",
    after: str = "",
    *,
    names: str = "",
    parts: Mapping[str, str | bytes] | None = None,
    relations: Mapping[str, Mapping[str, str]] | None = None,
) -> bytes:
    """A workbook with one sheet.

    Args:
        strings: Its shared strings.
        rows: The rows of its sheet.
        after: What follows them.
        names: Its defined names.
        parts: Further parts.
        relations: What the sheet (and others) refer to.
    """
    book = (
        f'{HEAD}<workbook xmlns="{SHEET}" xmlns:r="{_R}"><sheets><sheet name="Data" sheetId="1" '
        f'r:id="rId1"/></sheets>{names}</workbook>'
    )
    own = {
        "xl/workbook.xml": book,
        "xl/worksheets/sheet1.xml": sheet_xml(rows, after),
        "xl/sharedStrings.xml": shared_strings(strings),
    }
    targets = {
        "": {"rId1": "officeDocument xl/workbook.xml"},
        "xl/workbook.xml": {
            "rId1": "worksheet worksheets/sheet1.xml",
            "rId2": "sharedStrings sharedStrings.xml",
        },
    }
    for part, more in (relations or {}).items():
        targets[part] = targets.get(part, {}) | dict(more)
    return package(own | dict(parts or {}), targets)
