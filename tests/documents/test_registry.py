"""The format of a file, and what is refused with one sentence."""

import io
import sys
import zipfile
from pathlib import Path

import pytest

from yakusu.documents.registry import (
    check_suffixes,
    is_supported,
    read_document,
    supported,
)
from yakusu.documents.suffixes import SUFFIXES
from yakusu.errors import DataError

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100)
XHTML = b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><p>Read</p></html>'


def archive(*, encrypted: bool = False) -> bytes:
    """A ZIP archive with one file, marked as encrypted or not."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("word/document.xml", "<x/>")
    data = bytearray(buffer.getvalue())
    if encrypted:
        data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def message(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(DataError) as error:
        read_document(path)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.html", b"<p>Read</p>"),
        ("a.HTM", b"<p>Read</p>"),
        ("a.xhtml", XHTML),
        ("a.xml", XHTML),
        ("a.md", b"Read\n"),
        ("a.markdown", b"# Read\n"),
        ("a.mdown", b"# Read\n"),
        ("a.webvtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\nRead\n"),
        ("a.txt", b"Read"),
        ("a.text", b"Read"),
        ("a.properties", b"a=Read"),
        ("a.strings", b'"a" = "Read";'),
        ("a.stringsdict", b"<plist><dict><key>other</key><string>Read</string></dict></plist>"),
        ("a.xcstrings", b'{"strings": {"Read": {}}}'),
        ("a.xml", b"<resources><string name='a'>Read</string></resources>"),
    ],
)
def test_the_suffix_of_a_file_is_its_format(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert is_supported(path)
    assert list(read_document(path).texts) == ["Read"]


XLIFF = (
    '<{0}xliff xmlns{1}="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><{0}file><{0}body>'
    "<{0}trans-unit id='1'><{0}source>Read</{0}source></{0}trans-unit></{0}body></{0}file>"
    "</{0}xliff>"
)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (XLIFF.format("", ""), "utf-8"),
        (XLIFF.format("x:", ":x"), "utf-8"),
        (XLIFF.format("", ""), "utf-16"),
        (XLIFF.format("x:", ":x"), "utf-16-le"),
        (XLIFF.format("", ""), "utf-16-be"),
        (f"<!-- {'long ' * 10_000} -->\n" + XLIFF.format("", ""), "utf-8"),
        (XHTML.decode(), "utf-16"),
        (f"<!-- {'long ' * 10_000} -->\n" + XHTML.decode()[21:], "utf-8"),
    ],
)
def test_the_content_of_an_xml_file_is_its_format(tmp_path: Path, text: str, encoding: str) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(text.encode(encoding))
    assert is_supported(path)
    assert list(read_document(path).texts) == ["Read"]


def test_other_xml_files_are_not_translated(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    for content in ("<xliffs/>", "<htmls xmlns='http://www.w3.org/1999/xhtml'/>", "<html/>"):
        path.write_text(content)
        assert not is_supported(path)


@pytest.mark.parametrize("name", ["a.jpeg", "a.DOC", "a.tex", "README", "a.html.bak", "a.xml"])
def test_an_unknown_format_is_refused_with_the_suffixes_of_the_others(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    told = message(path, b"text")
    assert str(path) in told
    assert supported() in told
    assert all(suffix in told for suffix in SUFFIXES)
    assert not is_supported(path)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.docx", OLE, "with a password: remove the password"),
        ("a.xlsx", OLE, "with a password: remove the password"),
        ("a.pptx", archive(encrypted=True), "is encrypted: remove the password of the document"),
        ("a.odt", archive(encrypted=True), "is encrypted: remove the password of the document"),
        ("a.docx", b"PK\3\4" + bytes(56), "is not a valid zip archive"),
        ("a.docx", b"%PDF-1.7", "is not a .docx file: check its suffix"),
        ("a.epub", b"plain text", "is not a .epub file: check its suffix"),
        ("a.ods", archive(), "is a zip archive but not a spreadsheet: save it as .ods"),
        ("a.fodt", archive(), "is a ZIP archive, not what its suffix .fodt says"),
        ("a.docx", b"plain text", "is not a .docx file: check its suffix"),
        ("a.html", b"%PDF-1.7", "is a PDF file, not what its suffix .html says"),
        ("a.md", b"PK\3\4" + bytes(56), "is a ZIP archive, not what its suffix .md says"),
        ("a.txt", b"\x89PNG\r\n", "is a picture, not what its suffix .txt says"),
        ("a.strings", b"bplist00\0", "is a binary property list (plutil -convert xml1 makes"),
        ("a.txt", b"a\0b", "is a binary file, not what its suffix .txt says"),
        ("a.md", b"one\n\xff", "a.md: line 2: byte 0xff is not valid in utf-8"),
    ],
)
def test_what_is_not_of_its_format_is_refused(
    tmp_path: Path, name: str, data: bytes, expected: str
) -> None:
    path = tmp_path / name
    told = message(path, data)
    assert str(path) in told
    assert expected in told


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.RTF", "is an RTF file: save it as .docx"),
        ("a.xls", "is a spreadsheet: save it as .xlsx"),
        ("a.ppt", "is a presentation: save it as .pptx"),
        ("a.sxw", "is an OpenOffice file of an older version: save it as .odt, .ods or .odp"),
        ("a.doc", "is a Word file of an older version: save it as .docx"),
        ("a.txt.gz", "is a compressed file: decompress it, or translate its lines with --ray"),
        ("a.ts", "is a TypeScript file: move its texts into a .json file"),
    ],
)
def test_a_common_format_that_is_not_supported_is_named_with_a_way_out(
    tmp_path: Path, name: str, expected: str
) -> None:
    assert f"{tmp_path / name} {expected}" in message(tmp_path / name, b"text")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.html does not exist: check the path"):
        read_document(tmp_path / "a.html")
    with pytest.raises(DataError, match="is a folder: name a file in it"):
        read_document(tmp_path)


def test_a_format_is_imported_when_it_is_needed(tmp_path: Path) -> None:
    import subprocess

    path = tmp_path / "a.txt"
    path.write_text("Read")
    code = (
        "import sys; from pathlib import Path; from yakusu.documents.registry import *; "
        "read_document(Path(sys.argv[1])); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    modules = set(done.stdout.split())
    assert "yakusu.documents.text" in modules
    assert not modules & {
        "yakusu.documents.html.html",
        "yakusu.documents.markdown.markdown",
        "markdown_it",
        "lxml",
    }


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("a.docx", "b.docm"),  # Word does not open a file with the suffix of the other
        ("a.odt", "b.ott"),
        ("a.pptx", "b.ppsx"),
        ("a.xlsm", "b.xlsx"),
        ("a.odp", "b.odg"),
        ("a.fods", "b.fodt"),
        ("a.srt", "b.vtt"),
        ("a.vtt", "b.srt"),
        ("a.txt", "b.md"),
        ("a.po", "b.mo"),
        ("a.strings", "b.stringsdict"),
    ],
)
def test_an_output_with_the_suffix_of_another_format_is_refused(source: str, out: str) -> None:
    with pytest.raises(DataError, match=f"name the output b{Path(source).suffix}$"):
        check_suffixes(Path(source), Path(out))


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("a.pot", "de.po"),
        ("a.html", "b.HTM"),
        ("a.xlf", "b.xliff"),
        ("a.xlf", "b.xml"),
        ("a.xml", "b.xlf"),  # the content of an .xml file decides
        ("a.txt", "b"),
        ("a.html", "a.html.new"),
        ("a.json", "de.arb"),
        ("a.vtt", "b.webvtt"),
    ],
)
def test_an_output_may_have_any_suffix_of_its_format_or_an_unknown_one(
    source: str, out: str
) -> None:
    check_suffixes(Path(source), Path(out))
