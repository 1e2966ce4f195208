"""EPUB books keep everything but the texts of their pages, tables of contents and metadata."""

import io
import zipfile

import pytest

from tests.documents.shared import described, members, readable_texts, translated, with_members
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.epub.epub import read
from yakusu.errors import DataError

CONTAINER, PACKAGE, ENCRYPTION = (
    "META-INF/container.xml",
    "OEBPS/book.opf",
    "META-INF/encryption.xml",
)
NAV = (
    '<nav epub:type="toc"><ol><li><a href="b.xhtml">Later</a></li></ol></nav>'
    '<nav epub:type="page-list"><ol><li><a href="b.xhtml#p">xii</a></li></ol></nav>'
    '<p><span role="doc-pagebreak" title="xii"/>After</p>'
)
NCX = (
    '<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "ncx.dtd">'
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" xml:lang="en-US"><docTitle><text>The book'
    "</text></docTitle><docAuthor><text>Ada</text></docAuthor><navMap><navPoint><navLabel><text>\n"
    " Part &amp; one</text></navLabel></navPoint></navMap><pageList><pageTarget><navLabel><text>iv"
    "</text></navLabel></pageTarget></pageList></ncx>"
)


def page(body: str, attributes: str = ' xml:lang="en" lang="en"') -> str:
    html = f'<html xmlns="http://www.w3.org/1999/xhtml"{attributes}>'
    return f'{html}<body lang="en">{body}</body></html>'


def package(metadata: str, items: str = "", spine: str = '<itemref idref="b"/>') -> str:
    return (
        '<?xml version="1.0"?>\r\n<package xmlns="http://www.idpf.org/2007/opf" xml:lang="en" '
        'version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'{metadata}</metadata><manifest><item id="a" href="a.xhtml" '
        'media-type="application/xhtml+xml"/><item id="b" href="sub/b%20c.xhtml" '
        f'media-type="application/xhtml+xml"/>{items}</manifest><spine>{spine}</spine></package>'
    )


TITLE = '<dc:title xml:lang="en">A title</dc:title><dc:language>en-GB</dc:language>'


def epub_of(opf: str, parts: dict[str, str] | None = None) -> bytes:
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
        f'full-path="{PACKAGE}" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>"
    )
    contents = {CONTAINER: container, PACKAGE: opf} | (parts or {})
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        for name, content in contents.items():
            archive.writestr(name, content, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def opened(data: bytes, languages: tuple[str, str] = ("en", "de")) -> Document:
    return read(data, DocumentOptions(languages))


def opf_after(metadata: str, languages: tuple[str, str] = ("en", "de")) -> str:
    data = translated(opened(epub_of(package(metadata)), languages), str.upper)
    return members(data)[PACKAGE].decode()


def test_pages_come_in_the_order_of_the_spine_and_then_the_others_and_tables() -> None:
    items = '<item id="n" href="t.ncx" media-type="application/x-dtbncx+xml"/>'
    parts = {
        "OEBPS/a.xhtml": page(NAV),
        "OEBPS/sub/b c.xhtml": page("<h1>First</h1><p>The <i>second</i> text</p>"),
        "OEBPS/t.ncx": NCX,
    }
    data = epub_of(package(TITLE, items), parts)
    document = opened(data)
    assert readable_texts(document) == [
        *("A title", "First", "The <0>second</0> text", "Later", "After"),
        *("The book", "Part & one"),
    ]
    assert document.skipped == []
    assert document.render(document.texts) == data
    new = translated(document, lambda text: text.replace("e", "é&"))
    assert described(new) == described(data)
    assert new[30:58] == b"mimetypeapplication/epub+zip"
    old_members, new_members = members(data), members(new)
    assert new_members["OEBPS/t.ncx"].decode() == NCX.replace("en-US", "de").replace(
        "The book", "Thé&amp; book"
    ).replace("one<", "oné&amp;<")
    pages = page(NAV, ' xml:lang="de" lang="de"').replace('<body lang="en"', '<body lang="de"')
    assert new_members["OEBPS/a.xhtml"].decode() == pages.replace("Later", "Laté&amp;r").replace(
        "After", "Afté&amp;r"
    )
    assert all(new_members[name] == old_members[name] for name in ("mimetype", CONTAINER))


def test_pages_without_a_declaration_are_xml_and_keep_their_encoding() -> None:
    body = '<p>One <span class="x"/>two</p><script src="a.js"/><p>three&#160;four<br/></p>'
    document = opened(epub_of(package(TITLE), {"OEBPS/a.xhtml": page(body)}))
    assert readable_texts(document) == ["A title", "One <0></0>two", "three\xa0four"]
    new = members(translated(document, lambda text: text.replace("t", "ü\x00")))["OEBPS/a.xhtml"]
    assert new.decode() == page(
        '<p>One <span class="x"/>üwo</p><script src="a.js"/><p>ühree&#160;four<br/></p>',
        ' xml:lang="de" lang="de"',
    ).replace('<body lang="en"', '<body lang="de"')


def test_the_language_of_the_book_becomes_that_of_the_translation() -> None:
    french = '<dc:title xml:lang="fr">Un titre</dc:title><dc:creator xml:lang="en">Ada</dc:creator>'
    expected = package(TITLE + french).replace("A title", "A TITLE").replace("en-GB", "de")
    expected = expected.replace('<dc:title xml:lang="en">', '<dc:title xml:lang="de">')
    expected = expected.replace(
        'idpf.org/2007/opf" xml:lang="en"', 'idpf.org/2007/opf" xml:lang="de"'
    )
    assert opf_after(TITLE + french) == expected
    assert opf_after(TITLE + french, ("", "de")) == expected


@pytest.mark.parametrize("stated", ["", 'page-progression-direction="ltr" '])
def test_pages_and_their_order_turn_with_the_language(stated: str) -> None:
    opf = package(TITLE).replace("<spine", f"<spine {stated}".rstrip())
    name, own = "OEBPS/sub/b c.xhtml", page("<p>One</p>", ' dir="ltr"' if stated else "")
    own = own.replace("<body", '<body dir="ltr"')
    data = epub_of(opf, {name: own})
    same, turned = (opened(data, ("en", code)) for code in ("de", "ar"))
    assert turned.render(turned.texts) == data
    kept = members(translated(same, str.upper))
    new = members(translated(turned, str.upper))
    assert b'<spine page-progression-direction="rtl">' in new[PACKAGE]
    assert (b"rtl" in kept[PACKAGE], b"ltr" in kept[PACKAGE]) == (False, bool(stated))
    text = kept[name].decode().replace("ltr", "rtl").replace('"de"', '"ar"')
    html = text if stated else text.replace("<html", '<html dir="rtl"')
    assert new[name].decode() == html


@pytest.mark.parametrize(
    ("languages", "reason"),
    [(("en", ""), "the target language is unknown"), (("es", "de"), "not 'es'")],
)
def test_a_language_that_stays_is_reported(languages: tuple[str, str], reason: str) -> None:
    document = opened(epub_of(package(TITLE, spine="")), languages)
    assert document.skipped == [f"the language of the book, 'en-GB' ({reason})"]
    assert b"<dc:language>en-GB<" in members(translated(document, str.upper))[PACKAGE]


@pytest.mark.parametrize(
    ("source", "texts", "written"),
    [
        ("A &amp; c", ["A & c"], "A &amp; &lt;C&gt;"),
        ("\n  wrapped\r\n  cd ", ["wrapped cd"], "\n  WRAPPED &lt;C&gt;D "),
        (
            "&lt;p class='é'&gt;C &amp;amp; &lt;b&gt;two&lt;/b&gt;&lt;/p&gt;&lt;p&gt;3&lt;/p&gt; c",
            ["C & <0>two</0>", "c"],
            "&lt;p class='é'&gt;&amp;lt;C&amp;gt; &amp;amp; &lt;b&gt;TWO&lt;/b&gt;&lt;/p&gt;"
            "&lt;p&gt;3&lt;/p&gt; &amp;lt;C&amp;gt;",
        ),
        (
            "<![CDATA[<p>C</p>\n<p>two</p>]]>",
            ["C", "two"],
            "<![CDATA[<p>&lt;C&gt;</p>\n<p>TWO</p>]]>",
        ),
        ("<![CDATA[ c]d ]]>", ["c]d"], "<![CDATA[ <C>]D ]]>"),
        ("xii <!-- c --> c", [], "xii <!-- c --> c"),
        ("12", [], "12"),
    ],
)
def test_a_description_is_text_or_html(source: str, texts: list[str], written: str) -> None:
    def metadata(content: str) -> str:
        return package(f"<dc:title>c</dc:title><dc:description>{content}</dc:description>")

    document = opened(epub_of(metadata(source)), ("en", ""))
    assert readable_texts(document) == ["c", *texts]
    data = translated(document, lambda text: text.upper().replace("C", "<C>"))
    changed = metadata(written).replace(">c</dc:title>", ">&lt;C&gt;</dc:title>")
    assert members(data)[PACKAGE].decode() == changed


def test_pictures_and_recordings_are_reported() -> None:
    items = (
        '<item id="s" href="s.svg" media-type="image/svg+xml"/>'
        '<item id="m" href="m.smil" media-type="application/smil+xml"/>'
    )
    opf = package(TITLE, items, '<itemref idref="s"/><itemref idref="none"/>')
    assert opened(epub_of(opf, {"OEBPS/s.svg": "<svg/>", "OEBPS/m.smil": "<smil/>"})).skipped == [
        "1 page of the type image/svg+xml",
        "1 page that the file lacks, such as 'none'",
        "1 recording of read text",
    ]


def test_names_of_pages_may_have_escapes_and_their_types_parameters() -> None:
    items = '<item id="c" href="../c%20d.x" media-type="Application/xhtml+xml; charset=utf-8"/>'
    parts = {"OEBPS/sub/b%20c.xhtml": page("b"), "c d.x": page("c")}
    assert list(opened(epub_of(package("", items), parts)).texts) == ["b", "c"]


def test_obfuscated_fonts_are_read_and_encrypted_books_are_refused() -> None:
    def encrypted(algorithm: str) -> bytes:
        xml = f'<encryption><EncryptionMethod Algorithm="{algorithm}"/></encryption>'
        return with_members(epub_of(package(TITLE)), {ENCRYPTION: xml.encode()})

    assert list(opened(encrypted("http://www.idpf.org/2008/embedding")).texts) == ["A title"]
    with pytest.raises(DataError, match=r"encrypted \(DRM\): obtain a copy without protection"):
        opened(encrypted("http://www.w3.org/2001/04/xmlenc#aes128-cbc"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (with_members(epub_of(""), {"mimetype": b"application/zip"}), "not a book: save it as"),
        (with_members(epub_of(""), {CONTAINER: b"<container/>"}), "lacks the package"),
        (with_members(epub_of(""), {CONTAINER: b"<a>\n<b>"}), "container.xml, line 2, column 4"),
        (epub_of("<package>\n<item></package>"), "OEBPS/book.opf, line 2, column"),
        (
            epub_of(package(TITLE), {"OEBPS/a.xhtml": '<!DOCTYPE a [<!ENTITY b "c">]>\n&nbsp;&b;'}),
            "OEBPS/a.xhtml, line 2: the page declares the entity &b;: write its text instead",
        ),
        (epub_of(package(TITLE), {"OEBPS/a.xhtml": "<?xml version='1.0' encoding='x-y'?>"}), "x-y"),
        (
            with_members(epub_of(package(TITLE)), {"OEBPS/a.xhtml": b"<p>\n\xff</p>"}),
            "OEBPS/a.xhtml, line 2: byte 0xff is not valid in utf-8",
        ),
    ],
)
def test_other_files_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(DataError) as error:
        opened(data)
    assert words in str(error.value)
