"""TMX, XLIFF, PO, TSV and CSV are read as pairs; a hostile or broken file gets one sentence."""

import bz2
import gzip
import logging
import lzma
import os
import sys
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.files.formats import format_of, languages_in
from yakusu.data.files.xmlstream import is_line_break
from yakusu.data.files.xmltree import XmlFile
from yakusu.errors import DataError, RunError

PACK = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def written(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def pairs(path: Path, *columns: int | str, **more: str) -> list[tuple[str, str]]:
    src, tgt = columns or (1, 2)
    return list(read_pairs(Corpus(pairs=str(path), src_column=src, tgt_column=tgt, **more)))


def fault(path: Path, *columns: int | str) -> str:
    with pytest.raises(DataError) as error:
        pairs(path, *columns)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(str(path), path.name)


def tmx(units: str, header: str = 'srclang="en"', root: str = 'version="1.4"') -> str:
    return f"<tmx {root}><header {header}/><body>{units}</body></tmx>"


def unit(attribute: str = "xml:lang", **segments: str) -> str:
    return "<tu>{}</tu>".format(
        "".join(
            f'<tuv {attribute}="{code.replace("_", "-")}"><seg>{text}</seg></tuv>'
            for code, text in segments.items()
        )
    )


# ---- TMX: languages


def test_the_two_languages_of_a_tmx_are_source_and_target(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(de="Hund", en="dog") + unit(en="cat", de="Katze")))
    assert pairs(path) == [("dog", "Hund"), ("cat", "Katze")]
    assert languages_in(str(path)) == (["de", "en"], "en")


def test_languages_are_selected_in_both_directions(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en="dog", de="Hund", fr="chien")))
    assert pairs(path, "de", "fr") == [("Hund", "chien")]
    assert pairs(path, "fr", "de") == [("chien", "Hund")]


def test_a_language_matches_its_regions_and_an_exact_match_wins(tmp_path: Path) -> None:
    units = unit(en_GB="lorry", en_US="truck", de_DE="Laster") + unit(
        en_GB="lift", en="elevator", de="Lift"
    )
    path = written(tmp_path / "a.tmx", tmx(units))
    assert pairs(path, "en", "de") == [("lorry", "Laster"), ("elevator", "Lift")]
    assert pairs(path, "en-US", "de") == [("truck", "Laster"), ("elevator", "Lift")]
    assert pairs(path, "eng-US", "deu") == [("truck", "Laster"), ("elevator", "Lift")]
    assert pairs(path, "EN_us", "de-DE") == [("truck", "Laster"), ("elevator", "Lift")]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ("he", "iw"),
        ("no", "nb"),
        ("nb-NO", "no"),
        ("zh-CN", "zh-Hans"),
        ("zh-Hant", "zh_TW"),
        ("zh-SG", "zh-Hans"),
        ("id", "in"),
        ("yi", "ji"),
        ("sr-Latn-RS", "sh"),
    ],
)
def test_a_language_matches_its_other_codes(wanted: str, code: str, tmp_path: Path) -> None:
    for one, other in ((wanted, code), (code, wanted)):
        unit_ = unit(**{other.replace("-", "_"): "x"}, fi="y")
        path = written(tmp_path / "a.tmx", tmx(unit_))
        assert pairs(path, one, "fi") == [("x", "y")]


@pytest.mark.parametrize(
    ("wanted", "code"), [("zh-TW", "zh-Hans"), ("nb", "nn"), ("sr-RS", "sr-Latn"), ("id", "ms")]
)
def test_other_scripts_and_close_languages_do_not_match(
    wanted: str, code: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(**{code.replace("-", "_"): "x"}, fi="y")))
    assert fault(path, wanted, "fi").startswith(f"a.tmx has no language {wanted}")


def test_two_codes_of_one_language_are_one_language(tmp_path: Path) -> None:
    units = unit(en="dog", he="כלב") + unit(en="cat", iw="חתול")
    assert pairs(written(tmp_path / "a.tmx", tmx(units))) == [("dog", "כלב"), ("cat", "חתול")]


def test_two_regions_of_one_language_are_two_languages(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(pt_BR="trem", pt_PT="comboio"), 'srclang="pt-BR"'))
    assert pairs(path) == [("trem", "comboio")]
    assert pairs(path, "pt-PT", "pt") == [("comboio", "trem")]


def test_a_language_may_be_spelled_in_several_ways(tmp_path: Path) -> None:
    units = unit(EN_us="dog", DE="Hund") + unit(de="Katze", en_US="cat")
    path = written(tmp_path / "a.tmx", tmx(units, 'srclang="en_US"'))
    assert pairs(path) == [("dog", "Hund"), ("cat", "Katze")]
    assert languages_in(str(path)) == (["EN-us", "DE"], "en_US")


def test_a_missing_language_is_reported_with_those_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en_US="dog", de="Hund")))
    assert fault(path, "en", "fr") == (
        "a.tmx has no language fr: choose two of en-US, de, as in --columns en-US,de"
    )


def test_several_languages_without_a_choice_are_reported(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en="dog", de="Hund") + unit(en="cat", fr="chat")))
    assert fault(path) == (
        "a.tmx has more than two languages: choose two of en, de, fr, as in --columns en,de"
    )


@pytest.mark.parametrize("header", ['srclang="*all*"', 'srclang="fr"', ""])
def test_an_unknown_source_language_is_reported(header: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en="dog", de="Hund"), header))
    assert fault(path) == (
        "a.tmx does not state its source language: choose two of en, de, as in --columns en,de "
        "(languages, not numbers)"
    )


def test_languages_that_never_meet_are_reported(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.tmx", tmx(unit(en="dog", fr="chien") + unit(de="Katze", fr="chat"))
    )
    assert fault(path, "en", "de").startswith("a.tmx has no unit with both en and de: ")


def test_one_language_is_not_enough(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en="dog")))
    assert fault(path) == "a.tmx has only one language, en: specify a file with two"


def test_the_old_lang_attribute_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit("lang", EN="dog", DE="Hund")))
    assert pairs(path, "en", "de") == [("dog", "Hund")]


def test_a_unit_without_one_language_is_left_out_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    units = unit(en="dog", de="Hund") + unit(en="cat") + unit(de="Maus") + unit(en="hen", de="Huhn")
    corpus = Corpus(
        pairs=str(written(tmp_path / "a.tmx", tmx(units))), src_column="en", tgt_column="de"
    )
    for _ in range(2):  # the warnings are given once
        assert list(read_pairs(corpus)) == [("dog", "Hund"), ("hen", "Huhn")]
    assert caplog.messages == [
        f"{corpus.pairs}: 1 unit without de was left out",
        f"{corpus.pairs}: 1 unit without en was left out",
    ]


def test_the_first_of_duplicated_segments_is_read_and_the_others_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tuv = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    unit_ = "".join(tuv.format(*each) for each in (("en", "dog"), ("de", "Hund"), ("de", "Köter")))
    path = written(tmp_path / "a.tmx", tmx(f"<tu>{unit_}</tu>"))
    assert pairs(path) == [("dog", "Hund")]
    assert "1 unit has several segments in one language" in caplog.text


def test_a_tmx_without_units_has_no_pairs(tmp_path: Path) -> None:
    assert pairs(written(tmp_path / "a.tmx", tmx(""))) == []


def test_a_tmx_is_not_selected_by_numbers(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en="dog", de="Hund")))
    expected = "choose two of en, de, as in --columns en,de"
    assert fault(path, 2, 1) == f"a.tmx has languages, not columns 2 and 1: {expected}"
    assert fault(path, 1, "de") == f"a.tmx has languages, not columns 1 and de: {expected}"
    path = written(tmp_path / "b.xlf", XLIFF_1)
    assert fault(path, 3, 1).endswith("choose two of en-US, de, as in --columns en-US,de")


# ---- TMX: text


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ('Press <bpt i="1">&lt;b&gt;</bpt>Start<ept i="1">&lt;/b&gt;</ept>.', "Press Start."),
        ('a<ph x="1">{0}</ph>b<it pos="begin">&lt;i&gt;</it>c<ut>{\\cs6}</ut>', "abc"),
        ("<hi>a <hi type='x'>b</hi> c</hi> d", "a b c d"),
        ("<hi>a<ph>code <sub>title <hi>of</hi></sub></ph></hi> b", "a b"),
        ("a<bpt i='1'>x<sub>y</sub>z</bpt> b<ept i='1'/>", "a b"),
        ("a <!-- note --> b<?pi x?>", "a  b"),
        ("Hi<ph type='lb'/>there", "Hi there"),
        ("Hi<ph>&lt;br/></ph>there", "Hi there"),
        ("Hi<ph>&lt;BR class='x'><sub/></ph>there", "Hi there"),
        ("Hi<it pos='begin'>&lt;br></it>there<ph>\\n</ph>now", "Hi there now"),
        ("thumb<ph>&lt;i/></ph>nail", "thumbnail"),
        ("a &lt;b&gt; &amp;amp; &#233;", "a <b> &amp; é"),
        ("<![CDATA[a <b> & c]]>", "a <b> & c"),
        ("two\nlines\r\nand\n  three ", "two lines and   three"),
        ("a  b\tc\u00a0d", "a  b\tc\u00a0d"),
        ("<unknown>kept</unknown>", "kept"),
        ("", ""),
    ],
)
def test_the_text_of_a_segment(segment: str, text: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en=segment, de="x")))
    assert pairs(path) == [(text, "x")]


@given(
    st.lists(
        st.tuples(*2 * [st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cn"]))])
    )
)
def test_any_text_comes_back_from_a_tmx(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]]
) -> None:
    from xml.sax.saxutils import escape

    texts = [(src.replace("\x7f", ""), tgt.replace("\x7f", "")) for src, tgt in texts]
    content = tmx("".join(unit(en=escape(src), de=escape(tgt)) for src, tgt in texts))
    path = written(tmp_path_factory.mktemp("made") / "a.tmx", content)
    assert pairs(path, "en", "de") == [(src.strip(), tgt.strip()) for src, tgt in texts]


def test_namespaces_do_not_matter(tmp_path: Path) -> None:
    units = unit(en="a <hi>b</hi><ph>c</ph>", de="x")
    path = written(tmp_path / "a.tmx", tmx(units, root='xmlns="http://www.lisa.org/tmx14"'))
    assert pairs(path) == [("a b", "x")]
    path = written(
        tmp_path / "b.tmx",
        '<t:tmx xmlns:t="urn:t"><t:header srclang="en"/><t:body><t:tu><t:tuv xml:lang="en"><t:seg>a'
        '</t:seg></t:tuv><t:tuv xml:lang="de"><t:seg>b</t:seg></t:tuv></t:tu></t:body></t:tmx>',
    )
    assert pairs(path) == [("a", "b")]


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "iso-8859-1"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings_and_line_ends_do_not_matter(encoding: str, end: str, tmp_path: Path) -> None:
    declared = {"utf-8-sig": "UTF-8"}.get(
        encoding, encoding.removesuffix("-le").removesuffix("-be")
    )
    text = f'<?xml version="1.0" encoding="{declared}"?>\n' + tmx(unit(en="a\nb", de="schön"))
    path = written(tmp_path / "a.tmx", text.replace("\n", end).encode(encoding))
    assert pairs(path) == [("a b", "schön")]


def test_utf8_that_is_declared_as_utf16_is_read(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="UTF-16"?>\n' + tmx(unit(en="a", de="schön"))
    assert pairs(written(tmp_path / "a.tmx", text)) == [("a", "schön")]


@pytest.mark.parametrize("suffix", PACK)
def test_a_compressed_tmx_is_read(suffix: str, tmp_path: Path) -> None:
    packed = PACK[suffix](tmx(unit(en="a", de="b") * 9).encode())
    path = written(tmp_path / f"a.tmx{suffix}", packed)
    assert pairs(path) == [("a", "b")] * 9
    assert pairs(written(tmp_path / "memory", packed)) == [("a", "b")] * 9  # by its content


# ---- TMX: hostile and broken files

EXTERNAL = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
BOMB = "<!DOCTYPE tmx [<!ENTITY a 'ha'>{}]>".format(
    "".join(f"<!ENTITY {chr(98 + i)} '{f'&{chr(97 + i)};' * 10}'>" for i in range(9))
)


def test_a_doctype_with_an_external_dtd_is_accepted(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", EXTERNAL + tmx(unit(en="a", de="b")))
    assert pairs(path) == [("a", "b")]


def test_an_internal_subset_without_entities_is_accepted(tmp_path: Path) -> None:
    doctype = "<!DOCTYPE tmx [<!ELEMENT hi ANY>]>"
    assert pairs(written(tmp_path / "a.tmx", doctype + tmx(unit(en="a", de="b")))) == [("a", "b")]


@pytest.mark.parametrize(
    "doctype",
    [
        BOMB,
        "<!DOCTYPE tmx [<!ENTITY a SYSTEM 'file:///etc/hostname'>]>",
        "<!DOCTYPE tmx [<!ENTITY % a SYSTEM 'file:///etc/hostname'> %a;]>",
        '<!DOCTYPE tmx SYSTEM "tmx14.dtd" [<!ENTITY a "b">]>',
        f"<!--{5000 * 'x'}--><!DOCTYPE tmx [<!ENTITY a 'b'>]>",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_declarations_of_entities_are_refused(doctype: str, encoding: str, tmp_path: Path) -> None:
    content = doctype + tmx(unit(en="a &a;", de="b"))
    assert fault(written(tmp_path / "a.tmx", content.encode(encoding))).startswith(
        "a.tmx declares entities in its DOCTYPE, which are not safe to read"
    )


def test_a_bomb_in_an_attribute_is_refused(tmp_path: Path) -> None:
    content = f"<!--{5000 * 'x'}-->{BOMB}<tmx x='&j;'><header/></tmx>"
    assert fault(written(tmp_path / "a.tmx", content)).startswith("a.tmx, line 1, column ")


def test_an_undefined_entity_is_reported_with_its_place(tmp_path: Path) -> None:
    units = "\n" + unit(en="a&nbsp;b", de="x")
    assert fault(written(tmp_path / "a.tmx", EXTERNAL + tmx(units))) == (
        "a.tmx, line 2: the entity &nbsp; is not defined: write the character itself"
    )
    assert "line 2, column " in (message := fault(written(tmp_path / "a.tmx", tmx(units))))
    assert "Entity 'nbsp' not defined" in message


def test_malformed_xml_is_reported_with_line_and_column(tmp_path: Path) -> None:
    content = tmx("\n" + unit(en="a", de="b") + "\n<tu></tv>")
    assert fault(written(tmp_path / "a.tmx", content)) == (
        "a.tmx, line 3, column 9: malformed XML (Opening and ending tag mismatch: tu line 3 and "
        "tv): correct the file or export it again"
    )


def test_units_before_a_fault_are_read(tmp_path: Path) -> None:
    units = unit(en="a", de="b") * 1000
    read = read_pairs(Corpus(pairs=str(written(tmp_path / "a.tmx", tmx(units)[:-100]))))
    assert [next(read) for _ in range(900)] == [("a", "b")] * 900
    with pytest.raises(DataError, match="malformed XML"):
        list(read)


@pytest.mark.parametrize("content", [b"", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_tmx_is_reported(content: bytes, tmp_path: Path) -> None:
    assert fault(written(tmp_path / "a.tmx", content)).startswith("a.tmx is empty: ")


def test_xml_of_another_kind_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", "<html><tu/></html>")
    assert fault(path).startswith("a.tmx is XML of another kind: its root element is <html>, not")
    assert "malformed XML" in fault(written(tmp_path / "b.tmx", "plain text\n"))
    packed = written(tmp_path / "c.tmx", b"PK\x03\x04\x00\xff")
    assert fault(packed).startswith("c.tmx is a ZIP archive, such as .zip, .docx or .xlsx: ")


def test_invalid_bytes_in_xml_are_reported(tmp_path: Path) -> None:
    content = tmx(unit(en="a", de="sch\xf6n")).encode("latin-1")
    assert "malformed XML (Invalid bytes in character encoding)" in fault(
        written(tmp_path / "a.tmx", content)
    )


@pytest.mark.parametrize("suffix", PACK)
def test_a_truncated_compressed_tmx_is_reported(suffix: str, tmp_path: Path) -> None:
    units = "".join(unit(en=f"a{n * n}", de=f"b{n**3}") for n in range(2000))
    packed = PACK[suffix](tmx(units).encode())
    path = written(tmp_path / f"a.tmx{suffix}", packed[: len(packed) // 2])
    assert fault(path).endswith("file: compress it again")


# ---- XLIFF

XLIFF_1 = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file original="a" source-language="en-US" target-language="de" datatype="plaintext"><body>
  <trans-unit id="1"><source>Press <g id="1">Start</g><x id="2"/>.</source>
   <target><g id="1">Start</g> dr<mrk mtype="x">ück</mrk>en<ph id="3">{0}</ph>.</target>
   <alt-trans><source>other</source><target>anderes</target></alt-trans></trans-unit>
  <group id="g"><trans-unit id="2"><source>new</source></trans-unit>
   <trans-unit id="3"><source>empty</source><target/></trans-unit>
   <trans-unit id="4">
    <source>a<bpt id="1">&lt;b></bpt>b<ept id="1"/><it id="2" pos="open">x</it></source>
    <target>a
b</target></trans-unit></group>
 </body></file>
</xliff>
"""
XLIFF_2 = """<xliff version="2.0" srcLang="en" trgLang="ja"
 xmlns="urn:oasis:names:tc:xliff:document:2.0">
 <file id="f"><unit id="1"><originalData><data id="d">&lt;b></data></originalData>
  <segment><source>Press <pc id="1" dataRefStart="d">Start</pc>.</source>
   <target><pc id="1"><mrk id="m">開始</mrk></pc>を押す<ph id="2" dataRef="d"/>。</target></segment>
  <ignorable><source> </source></ignorable>
  <segment><source>Untranslated.</source></segment></unit></file>
</xliff>
"""


def test_xliff_1_2_gives_the_units_with_a_target(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "a.xlf", XLIFF_1)
    expected = [("Press Start.", "Start drücken."), ("ab", "a b")]
    assert pairs(path) == expected
    assert caplog.messages == [f"{path}: units or segments left out: 2 untranslated"]
    assert pairs(path, "en", "de") == expected
    assert pairs(path, "de", "en") == [(tgt, src) for src, tgt in expected]
    assert languages_in(str(path)) == (["en-US", "de"], "en-US")
    assert fault(path, "en", "fr").startswith("a.xlf has no language fr: choose two of en-US, de")


def test_xliff_2_gives_the_segments_with_a_target(tmp_path: Path) -> None:
    path = written(tmp_path / "a.xliff", XLIFF_2)
    assert pairs(path) == [("Press Start.", "開始を押す。")]
    assert pairs(path, "ja", "en") == [("開始を押す。", "Press Start.")]


def units_1(units: str) -> str:
    start = '<xliff version="1.2"><file source-language="en" target-language="de"><body>'
    return f"{start}{units}</body></file></xliff>"


def units_2(units: str) -> str:
    return f'<xliff version="2.0" srcLang="en" trgLang="de"><file id="f">{units}</file></xliff>'


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ("", ""),
        ('state="translated"', ""),
        ('state="final" state-qualifier="exact-match"', ""),
        ('state="new"', "untranslated"),
        ('state="needs-translation"', "untranslated"),
        ('state="needs-adaptation"', "unfinished"),
        ('state="needs-review-translation"', "unfinished"),
        ('state="needs-review-translation" state-qualifier="leveraged-mt"', "machine-translated"),
        ('state-qualifier="mt-suggestion"', "machine-translated"),
    ],
)
def test_xliff_1_2_units_that_are_not_finished_are_left_out_and_counted(
    attributes: str, kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    side = f"<source>dog</source><target {attributes}>Hund</target>"
    path = written(tmp_path / "a.xlf", units_1(f"<trans-unit>{side}</trans-unit>"))
    assert pairs(path) == ([] if kind else [("dog", "Hund")])
    assert caplog.messages == [f"{path}: units or segments left out: 1 {kind}"][: bool(kind)]
    approved = units_1(f'<trans-unit approved="yes">{side}</trans-unit>')
    assert pairs(written(tmp_path / "b.xlf", approved)) == [("dog", "Hund")]


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ("", ""),
        ('state="translated"', ""),
        ('state="reviewed" subState="my:checked"', ""),
        ('state="initial"', "untranslated"),
        ('state="translated" subState="yakusu:mt"', "machine-translated"),
    ],
)
def test_xliff_2_segments_that_are_not_finished_are_left_out_and_counted(
    attributes: str, kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    segment = f"<segment {attributes}><source>dog</source><target>Hund</target></segment>"
    path = written(tmp_path / "a.xlf", units_2(f"<unit>{segment}</unit>"))
    assert pairs(path) == ([] if kind else [("dog", "Hund")])
    assert caplog.messages == [f"{path}: units or segments left out: 1 {kind}"][: bool(kind)]


def test_segments_of_an_xliff_1_2_unit_are_paired_by_their_numbers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mark = '<mrk mtype="seg" mid="{}">{}</mrk>'
    sources = " ".join(map(mark.format, "123", ("One.", "Two.", "Three.")))
    targets = " ".join(map(mark.format, "321", ("Drei.", " ", "<g id='1'>Eins</g>.")))
    unit_ = (
        f"<trans-unit><source>One. Two. Three.</source><seg-source>{sources}</seg-source>"
        "<target>{}</target></trans-unit>"
    )
    path = written(tmp_path / "a.xlf", units_1(unit_.format(targets)))
    assert pairs(path) == [("One.", "Eins."), ("Three.", "Drei.")]
    assert caplog.messages == [f"{path}: units or segments left out: 1 untranslated"]
    path = written(tmp_path / "b.xlf", units_1(unit_.format("Eins zwei drei.")))
    assert pairs(path) == [("One. Two. Three.", "Eins zwei drei.")]


def test_a_line_break_of_xliff_separates_words(tmp_path: Path) -> None:
    for code in ('<x id="1" ctype="lb"/>', '<ph id="1">&lt;br/></ph>', '<x equiv-text="&lt;br>"/>'):
        side = f"<source>Hi{code}there</source><target>Hallo</target>"
        path = written(tmp_path / "a.xlf", units_1(f"<trans-unit>{side}</trans-unit>"))
        assert pairs(path) == [("Hi there", "Hallo")]
    for code in ('<ph id="1" dataRef="d"/>', '<ph id="1" type="fmt" subType="xlf:lb"/>'):
        unit_ = '<unit><originalData><data id="d">&lt;br/></data></originalData>' + (
            f"<segment><source>Hi{code}there</source><target>Hallo</target></segment>" * 2
        )
        path = written(tmp_path / "b.xlf", units_2(f"{unit_}</unit>"))
        assert pairs(path) == [("Hi there", "Hallo")] * 2


def test_xliff_without_a_target_language_takes_the_wanted_one(tmp_path: Path) -> None:
    path = written(tmp_path / "a.xlf", XLIFF_1.replace(' target-language="de"', ""))
    expected = [("Press Start.", "Start drücken."), ("ab", "a b")]
    assert pairs(path) == pairs(path, "en", "de") == expected
    assert pairs(path, "de", "en") == [(tgt, src) for src, tgt in expected]


def test_malformed_xliff_is_reported(tmp_path: Path) -> None:
    assert fault(written(tmp_path / "a.xlf", XLIFF_1[:-20])).startswith("a.xlf, line 13, column")
    assert fault(written(tmp_path / "b.xlf", BOMB + XLIFF_2)).startswith(
        "b.xlf, line 1: the DOCTYPE has declarations, which could be harmful"
    )
    undefined = XLIFF_1.replace("new", "a&nbsp;b")
    assert fault(written(tmp_path / "d.xlf", undefined)).startswith("d.xlf, line 7, column 45 ")
    latin = XLIFF_1.encode("latin-1")
    assert fault(written(tmp_path / "e.xlf", latin)).startswith("e.xlf, line 5 is not utf-8: ")
    deep = units_1("<group>" * 300 + "</group>" * 300)
    assert fault(written(tmp_path / "f.xlf", deep)) == (
        "f.xlf, line 1: the XML has more than 256 levels of elements: flatten it"
    )
    assert fault(written(tmp_path / "g.xlf", "")).startswith("g.xlf is empty")
    assert "root element is <tmx>, not <xliff>" in fault(written(tmp_path / "c.xlf", tmx("")))


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "utf-8-sig", "shift_jis"])
def test_xliff_is_read_in_its_encoding(encoding: str, tmp_path: Path) -> None:
    declared = encoding.removesuffix("-sig")
    text = XLIFF_1.replace('"1.0"', f'"1.0" encoding="{declared}"', 1)
    if encoding == "shift_jis":
        text = text.replace("ü", "表")
    path = written(tmp_path / "a.xlf", text.replace("\n", "\r\n").encode(encoding))
    assert pairs(path)[0] == (
        "Press Start.",
        "Start dr表cken." if "表" in text else "Start drücken.",
    )
    if encoding == "utf-16":  # some programs leave the declaration as it was
        assert len(pairs(written(tmp_path / "b.xlf", text))) == 2


def test_elements_of_other_namespaces_are_not_those_of_xliff(tmp_path: Path) -> None:
    side = '<source>dog</source><target>Hund</target><target xmlns="urn:x">Katze</target>'
    path = written(tmp_path / "a.xlf", units_1(f"<trans-unit>{side}</trans-unit>"))
    assert pairs(path) == [("dog", "Hund")]


def test_an_element_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yakusu.data.files.xmlstream.MAX_PENDING", 2**20)
    for start, end in (("<!--", "-->"), ("<trans-unit><source>", "</source></trans-unit>")):
        path = written(tmp_path / "a.xlf", units_1(f"{start}{'x ' * 2**21}{end}"))
        assert fault(path).startswith("a.xlf, line 1: an element, tag or comment is larger than 1 ")


def test_a_unit_of_tmx_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yakusu.data.files.safexml.MAX_PENDING", 2**20)
    unit = "<tu><tuv xml:lang='en'><seg>{}</seg></tuv><tuv xml:lang='de'><seg>b</seg></tuv></tu>"
    path = written(tmp_path / "a.tmx", tmx(unit.format("a" * 100_000) * 30))
    assert len(pairs(path, "en", "de")) == 30
    for large in (unit.format("a" * 2**21), "<x/>" * 2**19 + unit.format("a")):
        path = written(tmp_path / "b.tmx", tmx(large))
        assert fault(path) == (
            "b.tmx: a unit, or what is between two units, is larger than 1 MB: divide it"
        )


@pytest.mark.parametrize("suffix", ["xlf", "po"])
def test_memory_does_not_grow_with_the_file(suffix: str, tmp_path: Path) -> None:
    side = '<source>a <g id="1">b</g></source><target>c</target>'
    of_po = 'msgid "a"\nmsgstr "b"\n#  A comment that is not short\n'
    part = of_po if suffix == "po" else f"<trans-unit>{side}</trans-unit>{' ' * 50}"
    peaks = []
    for n in (1_000, 8_000):
        text = part * n if suffix == "po" else units_1(part * n)
        path = written(tmp_path / f"a.{suffix}", text)
        del text
        tracemalloc.start()
        assert sum(1 for _ in read_pairs(Corpus(pairs=str(path), src_column=1, tgt_column=2))) == n
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] + 100_000


def test_the_number_of_elements_is_limited_within_a_unit_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yakusu.data.files.xmltree._MAX_NODES", 20)
    monkeypatch.setattr("yakusu.data.files.xmlstream._CHUNK", 64)
    unit = "<trans-unit><source>a</source><target>b</target></trans-unit>"
    path = written(tmp_path / "many.xlf", units_1(unit * 100))
    corpus = Corpus(pairs=str(path), src_column=1, tgt_column=2)
    assert sum(1 for _ in read_pairs(corpus)) == 100
    deep = f"<trans-unit><source>{'<x/>' * 30}</source><target>b</target></trans-unit>"
    written(path, units_1(deep))
    with pytest.raises(
        DataError, match="line 1: the element <trans-unit> contains more than 20 elements"
    ):
        list(read_pairs(corpus))


# ---- PO

PO = r"""# A comment
msgid ""
msgstr ""
"Language: de\n"
"Content-Type: text/plain; charset=UTF-8\n"

#: a.c:1
msgid "dog"
msgstr "Hund"

msgctxt "animal"
msgid ""
"two\n"
"lines"
msgstr "zwei\n"
"Zeilen \"x\""

#, fuzzy
msgid "cat"
msgstr "Kater"

msgid "open"
msgstr ""

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] "%d Dateien"

#~ msgid "old"
#~ msgstr "alt"
"""
PO_PAIRS = [
    ("dog", "Hund"),
    ("two lines", 'zwei Zeilen "x"'),
    ("%d file", "%d Datei"),
    ("%d files", "%d Dateien"),
]


def test_po_gives_the_finished_messages_and_counts_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "a.po", PO)
    assert pairs(path) == PO_PAIRS
    assert caplog.messages == [f"{path}: messages left out: 1 fuzzy, 1 obsolete, 1 untranslated"]
    assert pairs(path, "en", "de") == PO_PAIRS
    assert pairs(path, 2, 1) == pairs(path, "de", "en") == [(tgt, src) for src, tgt in PO_PAIRS]
    assert fault(path, "en", "fr").startswith("a.po has translations into de, not into fr")
    assert fault(path, 1, 3).startswith("a.po has no columns 1 and 3: ")


def test_the_last_of_several_plural_forms_is_read(tmp_path: Path) -> None:
    forms = "".join(f'msgstr[{n}] "{n}"\n' for n in range(3))
    path = written(tmp_path / "a.po", f'msgid "one"\nmsgid_plural "many"\n{forms}')
    assert pairs(path) == [("one", "0"), ("many", "2")]
    path = written(tmp_path / "ja.po", 'msgid "one"\nmsgid_plural "many"\nmsgstr[0] "0"\n')
    assert pairs(path) == [("one", "0"), ("many", "0")]


@pytest.mark.parametrize("charset", ["UTF-8", "ISO-8859-1", "EUC-JP", "CHARSET"])
def test_a_po_file_is_read_in_its_charset(charset: str, tmp_path: Path) -> None:
    text = "日本" if charset == "EUC-JP" else "schön"
    content = PO.replace("UTF-8", charset).replace("Hund", text)
    encoding = "UTF-8" if charset == "CHARSET" else charset
    path = written(tmp_path / "a.po", content.encode(encoding))
    assert pairs(path)[0] == ("dog", text)


def test_only_a_newline_ends_a_line_of_a_po_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a.po", 'msgid "a\u2028b"\r\nmsgstr "c\x85d"\r\n')
    assert pairs(path) == [("a\u2028b", "c\x85d")]


def test_a_malformed_po_file_is_reported_with_its_line(tmp_path: Path) -> None:
    assert fault(written(tmp_path / "a.po", 'msgid "a"\nmsgstr "b" c "d"\n')) == (
        'a.po, line 2: the string must be enclosed in ", with \\" inside it: correct \'"b" c "d"\''
    )
    assert fault(written(tmp_path / "b.po", "plain text\n")).startswith("b.po, line 1 is not valid")
    latin = PO.encode().replace(b"Hund", b"sch\xf6n")
    assert fault(written(tmp_path / "c.po", latin)).startswith("c.po, line 9, byte 12: 0xf6 is not")
    assert fault(written(tmp_path / "d.po", PO.replace("UTF-8", "EUC-JP") + "# €")).startswith(
        "d.po is not in EUC-JP, which its header names"
    )


@pytest.mark.parametrize(
    "charset",
    ["x-none", "undefined", "punycode", "idna", "utf-7", "unicode_escape", "UTF-16", "base64"],
)
def test_a_charset_that_does_not_extend_ascii_is_refused(charset: str, tmp_path: Path) -> None:
    assert fault(written(tmp_path / "a.po", PO.replace("UTF-8", charset))) == (
        f"a.po: its header names the charset {charset}, which is unknown or not for PO files: "
        "convert the file to UTF-8 and correct Content-Type in the header"
    )


def test_messages_that_are_not_utf8_may_be_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "a.po", PO.encode().replace(b"Hund", b"sch\xf6n"))
    assert pairs(path, errors="skip") == PO_PAIRS[1:]
    assert f"{path}: 1 line is not UTF-8 and was left out: line 9" in caplog.messages
    assert pairs(path, errors="replace")[0] == ("dog", "sch\ufffdn")


def test_the_grammar_of_po_is_that_of_gettext(tmp_path: Path) -> None:
    content = PO + (
        '#no space\n#,fuzzy\nmsgid "x"\nmsgstr "y"\n\n'
        'msgid "\\x41\\303\\244\\a" "b"\nmsgstr"c"\n\n#| odd\nmsgid "last"\nmsgstr "d"\n#:\n'
    )
    path = written(tmp_path / "a.po", content)
    assert pairs(path) == [*PO_PAIRS, ("Aä\ab", "c"), ("last", "d")]
    for wrong in ("msgid foo", 'msgid "a', 'msgid "a\\"', 'msgid "a"\n\n# end\n'):
        path = written(tmp_path / "b.po", f"{PO}\n{wrong}\n")
        assert fault(path).startswith("b.po, line 33: ")


def test_the_header_of_a_po_file_applies_to_what_follows_it(tmp_path: Path) -> None:
    english = PO.replace("Language: de", "Language: en")
    path = written(tmp_path / "a.po", PO + "\n" + english)
    assert pairs(path, "en", "de") == [*PO_PAIRS, *((tgt, src) for src, tgt in PO_PAIRS)]
    assert fault(written(tmp_path / "b.po", 'msgid "a"\nmsgstr "b"\n' + PO), "en", "fr").startswith(
        "b.po has translations into de, not into fr"
    )


@pytest.mark.parametrize("language", ["a" + " " * 100_000 + "b", "ab" + "_a" * 50_000 + "!"])
def test_a_hostile_language_of_a_po_header_costs_linear_time(language: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.po", PO.replace("Language: de", f"Language: {language}"))
    assert pairs(path, "en", "de") == PO_PAIRS


def test_an_empty_po_file_has_no_pairs(tmp_path: Path) -> None:
    assert pairs(written(tmp_path / "a.po", "")) == []


# ---- TSV and CSV


def test_a_csv_cell_may_contain_commas_quotes_and_newlines(tmp_path: Path) -> None:
    content = '"a, ""b""","c\r\nd"\r\n\r\nx,"y\tz\nw"\n'
    assert pairs(written(tmp_path / "a.csv", content)) == [
        ('a, "b"', "c d"),
        ("", ""),
        ("x", "y\tz w"),
    ]


def test_the_separator_is_the_one_that_gives_all_rows_as_many_cells(tmp_path: Path) -> None:
    content = "Hello, world;Hallo, Welt\nYes;Ja\n" + "a, b, c;d\n" * 20 + '"e;\n;f";g\n'
    path = written(tmp_path / "a.csv", content)
    expected = [("Hello, world", "Hallo, Welt"), ("Yes", "Ja"), *20 * [("a, b, c", "d")]]
    assert pairs(path) == [*expected, ("e; ;f", "g")]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_of_a_csv_is_found(separator: str, tmp_path: Path) -> None:
    cells = "1", f'"So{separator} yes"', "Also ja"
    content = f'\ufeffid{separator}"en"{separator}de\n{separator.join(cells)}\n'
    path = written(tmp_path / "a.csv", content)
    expected = [("Also ja", f"So{separator} yes")]
    assert pairs(path, "de", "en") == pairs(path, 3, 2) == expected


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            'a,b\n"c,d\ne,f\n',
            "line 2: the row that begins here is malformed (unexpected end of data",
        ),
        ('a,b\n\n"c"d,e\n', "line 3: the row that begins here is malformed ("),
        ("a,b\nc\n", "line 2: column 2 is missing because the line has only 1: check the quotes"),
        (
            f"a,{'x' * 200_000}\n",
            "line 1: a cell of the row that begins here has more than 131,072 characters: close "
            "its quotes, or split the cell",
        ),
        (
            f'a,b\nc,"d\n{"e,f" * 50_000}\n',
            "line 2: a cell of the row that begins here has more than 131,072 characters: ",
        ),
        (
            "Hello,Hallo\nI saw,Ich kam, sah und ging\n",
            "line 2: this row has more cells than the table has columns: check the quotes",
        ),
        (
            "I saw,Ich kam, sah und ging\nHello,Hallo\n",
            "line 1: this row has more cells than the table has columns: check the quotes",
        ),
    ],
)
def test_a_malformed_csv_row_is_reported_with_its_line(
    content: str, told: str, tmp_path: Path
) -> None:
    assert fault(written(tmp_path / "a.csv", content)).startswith(f"a.csv, {told}")


def test_the_separator_of_a_csv_without_header_must_be_certain(tmp_path: Path) -> None:
    rows = "Price 1,5 EUR;Preis 1,5 EUR\n" * 3
    assert fault(written(tmp_path / "a.csv", rows)) == (
        "a.csv: the cells may be separated by commas or semicolons: add a header row, such as "
        "source,target with the separator of the file, or save the file as TSV"
    )
    expected = [("Price 1,5 EUR", "Preis 1,5 EUR")] * 3
    assert pairs(written(tmp_path / "b.csv", f"source;target\n{rows}")) == expected
    quoted = written(tmp_path / "c.csv", '"Yes, please";"Ja, bitte"\n')
    assert pairs(quoted) == [("Yes, please", "Ja, bitte")]


@pytest.mark.parametrize("columns", [(1, 2), ("en", "de")])
def test_a_header_shows_the_separator(columns: tuple[int | str, ...], tmp_path: Path) -> None:
    content = "en;de;note, or not\nRed, green;Rot;1\nGreen, red;Grün;2\n"
    expected = [("Red, green", "Rot"), ("Green, red", "Grün")]
    names = content.replace("en;de", "English;German") if columns == (1, 2) else content
    assert pairs(written(tmp_path / "a.csv", names), *columns) == expected


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_empty_cells_at_the_end_of_a_row_do_not_count(name: str, tmp_path: Path) -> None:
    content = "dog\tHund\ncat\tKatze\t\t \n"
    path = written(tmp_path / name, content if name == "a.tsv" else content.replace("\t", ","))
    assert pairs(path) == [("dog", "Hund"), ("cat", "Katze")]


@pytest.mark.parametrize("n_before", [0, 1, 30])
def test_a_tsv_row_with_too_many_cells_is_left_out_and_counted(
    n_before: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = "dog\tHund\n" * n_before + "I saw\tich\tsah\n" + "cat\tKatze\n" * 2
    path = written(tmp_path / "a.tsv", content)
    # An empty pair keeps the number of the line for the following pairs.
    assert pairs(path) == [("dog", "Hund")] * n_before + [("", "")] + [("cat", "Katze")] * 2
    assert caplog.messages == [
        f"{path}: 1 row was left out because of more cells than the table has columns (line "
        f"{n_before + 1}): remove the tabs inside sentences"
    ]


def test_columns_that_are_not_selected_are_not_too_many_cells(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "a.tsv", "dog\tHund\tCC BY\ncat\tKatze\nhen\tHuhn\tCC BY\n")
    assert pairs(path) == [("dog", "Hund"), ("cat", "Katze"), ("hen", "Huhn")]
    assert caplog.messages == []


def test_a_tsv_cell_keeps_its_quotes(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", '"a\tb"\n""\t"\n')
    assert pairs(path) == [('"a', 'b"'), ('""', '"')]


HEADERS = [
    ("en", "de"),
    ("EN-us", "zh_Hant"),
    ("eng", "deu"),
    ("English", "German"),
    ("source", "target"),
    ("Source text", "Translation"),
    ("tgt", "src"),
    ("English (US)", "ja"),
]
SENTENCES = [
    ("dog", "Hund"),
    ("the", "das"),
    ("English", "Englisch"),
    ("no", "nein"),
    ("I", "ich"),
    ("German", "de"),
    ("en", "en"),
    ("", ""),
    ("source", "Quelle"),
]


@pytest.mark.parametrize("cells", HEADERS, ids=" ".join)
@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_a_header_is_left_out_and_announced(
    cells: tuple[str, str], name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    separator = "\t" if name == "a.tsv" else ","
    content = f"{separator.join(cells)}\nA red house.{separator}这是红色的房子。\n"
    assert pairs(written(tmp_path / name, content)) == [("A red house.", "这是红色的房子。")]
    assert caplog.messages == [
        f"{tmp_path / name}, line 1: '{cells[0]}' and '{cells[1]}' are taken for names of the "
        "columns, not for a pair of sentences"
    ]


@pytest.mark.parametrize("cells", SENTENCES, ids=" ".join)
def test_a_first_pair_is_not_a_header(
    cells: tuple[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "a.tsv", "\t".join(cells) + "\nx\ty\n")
    assert pairs(path) == [cells, ("x", "y")]
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("cells", "below"),
    [
        (("No", "So"), ("A much longer sentence", "Een veel langere zin")),
        (("is", "est"), ("dog", "chien")),
        (("en", "de"), ("dog", "Hund")),
    ],
)
def test_short_words_that_are_also_codes_are_a_pair(
    cells: tuple[str, str],
    below: tuple[str, str],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = written(tmp_path / "a.tsv", "\t".join(cells) + "\n" + "\t".join(below) + "\n")
    assert pairs(path) == [cells, below]
    assert caplog.messages == [
        f"{path}, line 1: '{cells[0]}' and '{cells[1]}' are taken for a pair of sentences: if they "
        f"are names of the columns, write --columns {','.join(cells)}"
    ]


def test_columns_are_found_by_language_and_without_case_too(tmp_path: Path) -> None:
    path = written(tmp_path / "b.tsv", "ID\tQuelle\teng\n1\tHund\tdog\n")
    assert pairs(path, "quelle", "en") == [("Hund", "dog")]
    path = written(tmp_path / "a.tsv", "id\tEnglish\tde-DE\n1\tdog\tHund\n")
    assert pairs(path, "de", "en") == [("Hund", "dog")]


def test_a_row_that_is_not_utf8_is_left_out_and_the_others_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "a.tsv", b"dog\tHund\ncat\tKa\xff\nhen\tHuhn\n")
    assert pairs(path, errors="skip") == [("dog", "Hund"), ("", ""), ("hen", "Huhn")]
    assert caplog.messages == [f"{path}: 1 line is not UTF-8 and was left out: line 2"]
    path = written(tmp_path / "a.csv", b'dog,Hund\n"cat\n\xff","Katze"\nhen,Huhn\n')
    assert pairs(path, errors="skip") == [("dog", "Hund"), ("", ""), ("hen", "Huhn")]


def test_a_header_that_is_not_utf8_takes_no_row_along(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", b"en\tde\t\xff\ndog\tHund\t1\n")
    assert pairs(path, "en", "de", errors="skip") == [("dog", "Hund")]
    path = written(tmp_path / "b.tsv", b"dog\tK\xf6ter\ncat\tKatze\n")
    assert pairs(path, errors="skip") == [("", ""), ("cat", "Katze")]


def test_an_empty_table_has_no_pairs(tmp_path: Path) -> None:
    for name in ("a.tsv", "a.csv"):
        path = written(tmp_path / name, "")
        assert pairs(path) == pairs(path, "en", "de") == []


# ---- formats


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.TMX", "", "tmx"),
        ("a.sdlxliff", "", "xliff"),
        ("a.po.xz", "", "po"),
        ("a.csv.gz", "", "csv"),
        ("a.xml", tmx(""), "tmx"),
        ("a.xml", f"\ufeff\n{EXTERNAL}{tmx('')}", "tmx"),
        ("a.xml", XLIFF_1, "xliff"),
        ("a.xml", f"<!-- {'long ' * 5000} -->\n{XLIFF_1}", "xliff"),
        ("a.txt", "read <xliff >\tlies <xliff >\n", "tsv"),
        ("a.txt", PO, "po"),
        ("a.txt", "a\tb\n", "tsv"),
        ("a", "", "tsv"),
    ],
)
def test_the_format_is_known_by_name_or_content(
    name: str, content: str, expected: str, tmp_path: Path
) -> None:
    assert format_of(written(tmp_path / name, content)) == expected
    if name == "a.xml":
        utf16 = written(tmp_path / name, content.removeprefix("\ufeff").encode("utf-16"))
        assert format_of(utf16) == expected


def test_a_missing_library_is_reported_with_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lxml", None)
    path = written(tmp_path / "a.tmx", "x")
    with pytest.raises(RunError) as error:
        pairs(path)
    assert str(error.value) == (
        f"{path} needs lxml: install yakusu with its extra 'corpora', as in pip install "
        "'.[corpora]'"
    )
    assert languages_in(str(written(tmp_path / "a.csv", "a,b\n"))) == ([], "")


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.tmx")
    assert fault(tmp_path / "a.tmx").startswith("a.tmx is a pipe, but a corpus is read several ")


def test_nothing_is_logged_about_a_complete_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    pairs(written(tmp_path / "a.tmx", tmx(unit(en="a", de="b"))))
    pairs(written(tmp_path / "a.csv", "a,b\n"))
    assert caplog.messages == []


def test_invalid_utf_8_is_reported_in_its_line_in_files_of_many_parts() -> None:
    content = "<a>é\n</a>\n".encode() * 200_000
    assert XmlFile(content).content == content
    at = content.index("é".encode(), 1_500_000)
    broken = content[: at + 1] + b"x" + content[at + 2 :]
    with pytest.raises(DataError) as error:
        XmlFile(broken)
    line = content.count(b"\n", 0, at) + 1
    assert str(error.value).startswith(f"line {line} is not utf-8: convert the file")


@pytest.mark.parametrize(
    ("code", "is_break"),
    [
        *((code, True) for code in ("<br/>", " \n<br />\n", "\n\n", r" \n ", r"\r\n")),
        *((code, False) for code in ("", " ", "\n\nx", "x\n", "<b>")),
    ],
)
def test_code_of_line_breaks_is_recognised(code: str, is_break: bool) -> None:
    assert is_line_break({}, code) is is_break


@pytest.mark.parametrize("token", ["<!--{}-->", "<?b {}?>", "<b c='{}'/>", "<b c='{}"])
def test_large_tags_and_comments_are_refused(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yakusu.data.files.xmltree._MAX_TOKEN", 200_000)

    def parse(inside: str) -> None:
        content = f"<a>\n<b/>{'x' * 200_000}{inside}</a>"
        XmlFile(content.encode()).parse(lambda *_: False, lambda _: None)

    parse(f"<![CDATA[<!-- {'x' * 200_000}]]><!----><b c='{'>' * 100_000}'/>{'x' * 200_000}")
    with pytest.raises(DataError) as error:
        parse(token.format("x" * 200_001))
    assert str(error.value) == "line 2: a tag or comment is larger than 0 MB: divide it"
