"""Resource files of .NET and message files of Qt Linguist."""

from pathlib import Path

import pytest

from tests.documents.shared import translated
from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.apps import qt_linguist, resx
from yakusu.documents.registry import is_supported, read_document
from yakusu.errors import DataError

OPTIONS = DocumentOptions(("en", "de"))
RESX = """\ufeff<?xml version="1.0" encoding="utf-8"?>
<root>
  <!-- Kept words in a comment -->
  <resheader name="writer"><value>System.ResXResourceWriter, System.Kept</value></resheader>
  <data name="A" xml:space="preserve">
    <value>Open the &lt;b&gt;door&lt;/b&gt; in {0:N2} minutes &amp; {{wait}}</value>
    <comment>Kept remark</comment>
  </data>
  <data name="B" type="System.String"><value><![CDATA[Two <i>lamps</i>]]></value></data>
  <data name="Icon" type="System.Drawing.Icon, System.Drawing" mimetype="x"><value>Kept data</value
  ></data>
  <data name="File" type="System.Resources.ResXFileRef"><value>Kept.ico;Kept type</value></data>
  <data name="&gt;&gt;label1.Type"><value>Kept type name</value></data>
  <data name="C"><value>Kept brand name</value><comment>{Locked}</comment></data>
  <data name="D"><value>Ask Blue Fox now</value><comment>{Locked="Blue Fox"}</comment></data>
  <data name="H"><value>Ask Fox now</value><comment>{Locked=qps} {Locked="Fox"}</comment></data>
  <data name="E" xml:space="preserve"><value>
First line.
  Second line.
</value></data>
  <data name="F"><value>btn_ok</value></data>
  <metadata name="G"><value>Kept metadata</value></metadata>
</root>
""".replace("\n", "\r\n").encode()


def test_strings_of_resx_are_texts_and_everything_else_stays() -> None:
    document = resx.read(RESX, OPTIONS)
    assert document.render(document.texts) == RESX
    assert list(document.skipped) == ["line 21: 'btn_ok' looks like an identifier, not like text"]
    assert [*document.keys] == ["A", "B", "D", "H", "E"]
    written = translated(document, lambda text: text.replace("a", "ä<").replace("l", "ł")).decode()
    assert written.count("\r\n") == RESX.count(b"\r\n") and written.count("Kept") == RESX.count(
        b"Kept"
    )
    assert "Open the &lt;b&gt;door&lt;/b&gt; in {0:N2} minutes &amp; {{wä&lt;it}}</" in written
    assert "<![CDATA[Two <i>łä<mps</i>]]>" in written
    assert "<value>Ask Blue Fox now</value>" in written
    assert "<value>Ask Fox now</value>" in written
    assert "<value>\r\nFirst łine.\r\n  Second łine.\r\n</value>" in written


def test_a_file_with_another_root_is_not_resx() -> None:
    with pytest.raises(DataError, match=r"line 2: the file begins with <x>, not with <root>"):
        resx.read(b"\n<x/>", OPTIONS)
    with pytest.raises(DataError, match=r"line 2, column 3 is not well-formed XML"):
        resx.read(b"<root>\n</x>", OPTIONS)


def qt(messages: str, attributes: str = 'version="2.1" language="pl" sourcelanguage="en"') -> bytes:
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n<TS {attributes}>\n<context>\n'
        f"    <name>Window</name>\n{messages}</context>\n</TS>\n"
    ).encode()


POLISH = DocumentOptions(("en", "pl"))
COUNTED = """    <message numerus="yes">
        <location filename="a.cpp" line="4"/>
        <source>Copied %n file(s) to %1 &amp; %L2</source>
        <comment>Kept comment</comment>
        <translation{}>
            <numerusform></numerusform>
            <numerusform></numerusform>
        </translation>
    </message>
"""


@pytest.mark.parametrize("state", ["", ' type="unfinished"'])
def test_qt_gets_the_forms_of_the_language_for_review(state: str) -> None:
    data = qt(COUNTED.format(state))
    document = qt_linguist.read(data, POLISH)
    assert [*document.texts] == ["Copied %n file(s) to %1 & %L2"]
    assert [*document.keys] == ["Window"]
    form = "            <numerusform>NA %1 &amp; %L2: %n</numerusform>\n"
    empty = data.decode().split("<translation")[0]
    expected = f'{empty}<translation type="unfinished">\n{3 * form}        </translation>\n'
    written = document.render(["NA %1 & %L2: %n"]).decode()
    assert written.startswith(expected)
    again = qt_linguist.read(written.encode(), POLISH)
    assert [*again.texts] == [] and again.render([]) == written.encode()


def test_qt_messages_that_are_translated_or_gone_stay() -> None:
    kept = """    <message><source>Done work</source><translation>Gotowe</translation></message>
    <message><source>Old work</source><translation type="vanished"></translation></message>
    <message><source>Draft work</source><translation type="unfinished">Szkic</translation></message>
"""
    document = qt_linguist.read(qt(kept), POLISH)
    assert [*document.texts] == []
    assert document.render([]) == qt(kept)
    again = qt_linguist.read(qt(kept), DocumentOptions(("en", "pl"), retranslate=True))
    assert [*again.texts] == ["Done work", "Draft work"]
    written = again.render(["Zrobione", "Robota"]).decode()
    assert '<source>Done work</source><translation type="unfinished">Zrobione</' in written


def test_qt_translations_that_are_missing_or_empty_are_written() -> None:
    texts = """    <message><source>Open</source><translation/></message>
    <message>
        <source>Bell<byte value="x7"/> rings</source>
        <extracomment>Kept</extracomment>
    </message>
"""
    document = qt_linguist.read(qt(texts, 'version="2.1"'), POLISH)
    written = translated(document, str.upper).decode()
    assert '<TS version="2.1" language="pl">' in written
    assert '<source>Open</source><translation type="unfinished">OPEN</translation>' in written
    assert (
        "<extracomment>Kept</extracomment>\n        "
        '<translation type="unfinished">BELL<byte value="x7"/> RINGS</translation>\n    </message>'
    ) in written


@pytest.mark.parametrize(("translation", "retranslate"), [("", False), ("Okno", True)])
def test_qt_translations_of_several_lengths_stay_and_are_reported(
    translation: str, retranslate: bool
) -> None:
    data = qt(
        '<message><source>A window</source><translation type="unfinished" variants="yes">'
        f"<lengthvariant>{translation}</lengthvariant></translation></message>\n"
    )
    options = DocumentOptions(("en", "pl"), retranslate=retranslate)
    document = qt_linguist.read(data, options)
    assert document.render([]) == data
    assert document.skipped == ["line 6: 'A window' has translations of several lengths"]


def test_qt_translations_with_other_placeholders_are_refused() -> None:
    document = qt_linguist.read(qt(COUNTED.format("")), POLISH)
    assert document.render(["NA %1: %n"]) == qt(COUNTED.format(""))
    (reason,) = document.skipped
    assert reason.startswith("line 6: 'Copied %n file(s)") and "numbers or markup differ" in reason


def test_a_qt_file_in_another_language_is_refused() -> None:
    with pytest.raises(DataError, match="line 3: the target language of the file is 'pl'"):
        qt_linguist.read(qt(COUNTED.format("")), OPTIONS)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_the_content_of_a_ts_file_is_its_format(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.ts"
    content = qt(COUNTED.format("")).decode().replace("utf-8", encoding)
    path.write_bytes(content.encode(encoding))
    assert is_supported(path)
    assert len(read_document(path, POLISH).texts) == 1
    for script in ("export const a: Array<TS> = 'Two words';\n", "// <TS>\n", "<TSX>"):
        path.write_text(script)
        assert not is_supported(path)
    with pytest.raises(DataError, match=r"a\.ts is a TypeScript file"):
        read_document(path)
