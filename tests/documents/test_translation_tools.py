"""XLIFF of translation tools, and translation memories as documents."""

import pytest

from tests.documents.shared import readable_texts, translated
from yakusu.documents.document import DocumentOptions, Known
from yakusu.documents.messages import tmx, xliff
from yakusu.errors import DataError

OPTIONS = DocumentOptions(("en", "de"))
XLIFF = (
    '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:sdl="http://sdl.com/FileTypes/'
    'SdlXliff/1.0" xmlns:mq="MQXliff" xmlns:m="http://www.memsource.com/mxlf/2.0" version="1.2">\n'
    '<file source-language="en-US" target-language="de-DE"><body>\n{}</body></file></xliff>\n'
)
TRADOS = XLIFF.format(
    '<trans-unit id="1"><source>One lamp. Two lamps. Three.</source><seg-source>'
    '<mrk mtype="seg" mid="1">One lamp.</mrk> <mrk mtype="seg" mid="2">Two <g id="4">lamps</g>.'
    '</mrk> <mrk mtype="seg" mid="3">Three.</mrk></seg-source><target>'
    '<mrk mtype="seg" mid="1"/> <mrk mtype="seg" mid="2"/> <mrk mtype="seg" mid="3">Drei!</mrk>'
    '</target><sdl:seg-defs><sdl:seg id="1" conf="RejectedTranslation"><sdl:value key="x">y'
    '</sdl:value></sdl:seg><sdl:seg id="2"/><sdl:seg id="3" locked="true" conf="Translated"/>'
    "</sdl:seg-defs></trans-unit>\n"
    '<trans-unit id="2" translate="no"><source>Kept words</source></trans-unit>\n'
)


@pytest.mark.parametrize("retranslate", [False, True])
def test_trados_gets_drafts_and_locked_segments_stay(retranslate: bool) -> None:
    options = DocumentOptions(("en", "de"), retranslate=retranslate)
    document = xliff.read(TRADOS.encode(), options)
    assert readable_texts(document) == ["One lamp.", "Two <0>lamps</0>."]
    written = translated(document, str.upper).decode()
    assert written == TRADOS.replace(
        '<target><mrk mtype="seg" mid="1"/> <mrk mtype="seg" mid="2"/>',
        '<target><mrk mtype="seg" mid="1">ONE LAMP.</mrk> '
        '<mrk mtype="seg" mid="2">TWO <g id="4">LAMPS</g>.</mrk>',
    ).replace(
        '<sdl:seg id="1" conf="RejectedTranslation">',
        '<sdl:seg id="1" conf="Draft" origin="mt" percent="0">',
    ).replace('<sdl:seg id="2"/>', '<sdl:seg id="2" conf="Draft" origin="mt" percent="0"/>')


def test_memoq_gets_machine_translations() -> None:
    data = XLIFF.format(
        '<trans-unit id="1" mq:status="NotStarted"><source>One lamp</source><target/></trans-unit>'
        '<trans-unit id="2" mq:locked="locked"><source>Kept</source><target/></trans-unit>'
        '<trans-unit id="3" mq:status="Proofread"><source>Kept</source><target/></trans-unit>'
    )
    document = xliff.read(data.encode(), DocumentOptions(("en", "de"), retranslate=True))
    assert translated(document, str.upper).decode() == data.replace(
        'status="NotStarted"><source>One lamp</source><target/>',
        'status="MachineTranslated"><source>One lamp</source><target>ONE LAMP</target>',
    )
    document.tell({0: Known(match=100)})
    assert 'mq:status="Pretranslated"' in translated(document, str.upper).decode()


def test_phrase_gets_unconfirmed_segments_with_its_tags() -> None:
    data = XLIFF.format(
        '<trans-unit id="1" m:confirmed="0" m:locked="false" m:trans-origin="null">'
        "<source>A {1&gt;red&lt;1} lamp{2}</source><target></target></trans-unit>"
        '<trans-unit id="2" m:confirmed="0" m:locked="true"><source>Kept</source></trans-unit>'
        '<trans-unit id="3" m:confirmed="1"><source>Kept</source></trans-unit>'
    )
    document = xliff.read(data.encode(), OPTIONS)
    assert readable_texts(document) == ["A <0/>red<1/> lamp<2/>"]
    assert translated(document, str.upper).decode() == data.replace(
        "<target></target>", "<target>A {1&gt;RED&lt;1} LAMP{2}</target>"
    ).replace('trans-origin="null"', 'trans-origin="mt"')


TMX = """\
<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
  <tu tuid="a">
    <note>Kept note</note>
    <tuv xml:lang="en-GB" creationdate="20200101T000000Z" datatype="x">
      <prop type="x-k">Kept</prop>
      <seg>Press <bpt i="1">&lt;b></bpt>the <hi>red</hi> lamp<ept i="1">&lt;/b></ept> &amp; go</seg>
    </tuv>
    <tuv xml:lang="fr"><seg>Bleu</seg></tuv>
  </tu>
  <tu><tuv xml:lang="en"><seg>Kept</seg></tuv><tuv xml:lang="DE-AT"><seg>Alt</seg></tuv></tu>
  <tu><tuv xml:lang="fr"><seg>Deux</seg></tuv></tu>
</body></tmx>
"""


def test_variants_of_the_target_are_added_to_tmx() -> None:
    document = tmx.read(TMX.encode(), OPTIONS)
    assert readable_texts(document) == ["Press <0>the <1>red</1> lamp</0> & go"]
    assert [*document.keys] == ["a"]
    added = (
        '\n    <tuv xml:lang="de" datatype="x" creationid="yakusu">\n      <seg>PRESS '
        '<bpt i="1">&lt;b></bpt>THE <hi>RED</hi> LAMP<ept i="1">&lt;/b></ept> &amp; GO</seg>'
        "\n    </tuv>"
    )
    end = '\n    <tuv xml:lang="fr"><seg>Bleu'
    assert translated(document, str.upper).decode() == TMX.replace(end, added + end)
    again = tmx.read(translated(document, str.upper), OPTIONS)
    assert [*again.texts] == [] and again.render([]) == translated(document, str.upper)


def test_tmx_without_known_languages_and_other_xml_are_refused() -> None:
    with pytest.raises(DataError, match="line 3: the languages of the model are not known"):
        tmx.read(TMX.encode(), DocumentOptions())
    with pytest.raises(DataError, match="the root element is <x>: a TMX file has <tmx>"):
        tmx.read(b"<x/>", OPTIONS)


def test_segments_in_tags_around_them_are_translated() -> None:
    data = XLIFF.format(
        '<trans-unit id="1"><source>x</source><seg-source><g id="1"><mrk mtype="seg" mid="1">One '
        '<mrk mtype="x-sdl-deleted">old</mrk> lamp</mrk></g></seg-source><target><g id="1">'
        '<mrk mtype="seg" mid="1"/></g></target></trans-unit>'
    )
    document = xliff.read(data.encode(), OPTIONS)
    assert readable_texts(document) == ["One <0/> lamp"]
    written = translated(document, str.upper).decode()
    deleted = '<mrk mtype="x-sdl-deleted">old</mrk>'
    assert f'<g id="1"><mrk mtype="seg" mid="1">ONE {deleted} LAMP</mrk></g></target>' in written
    assert [*xliff.read(written.encode(), OPTIONS).texts] == []


def test_tools_are_told_with_the_prefix_of_the_file() -> None:
    unit = '<trans-unit m:confirmed="0"><source>One {1} lamp</source></trans-unit>'
    data = XLIFF.format(unit).replace("m:con", "p:con").replace("xmlns:m=", "xmlns:p=")
    document = xliff.read(data.encode(), OPTIONS)
    target = "<target>ONE {1} LAMP</target></trans-unit>"
    assert translated(document, str.upper).decode() == data.replace("</trans-unit>", target)


@pytest.mark.parametrize("empty", ["<seg/>", "<seg></seg>", "<seg> </seg>"])
def test_empty_variants_of_the_target_are_filled(empty: str) -> None:
    unit = '<tu><tuv xml:lang="en"><seg>One lamp</seg></tuv><tuv xml:lang="de">{}</tuv></tu>'
    data = f"<tmx><body>{unit.format(empty)}</body></tmx>"
    document = tmx.read(data.encode(), OPTIONS)
    expected = data.replace(empty, "<seg>ONE LAMP</seg>").replace('"de"', '"de" changeid="yakusu"')
    assert translated(document, str.upper).decode() == expected
