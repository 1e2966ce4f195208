"""TMX, XLIFF, PO, tables and JSON lines are read as segments with what they say about them."""

import json
from pathlib import Path

import pytest

from tests.pair_files import pair_file, segments
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.files.formats import format_of
from yakusu.data.files.long_lines import LEFT_OUT
from yakusu.data.files.units import utc_time
from yakusu.data.lines.private_use import closing, empty, line_break, opening
from yakusu.data.segment_files import read_segments
from yakusu.data.segments import MemorySegment
from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.xliff import read as read_xliff_document
from yakusu.errors import DataError

BOLD = opening(0), closing(0)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20261128T101500Z", "2026-11-28T10:15:00Z"),
        ("2026-11-28 11:15+0100", "2026-11-28T10:15:00Z"),
        ("2026-11-28", "2026-11-28T00:00:00Z"),
        ("2026-11-28T10:15:00.5Z", "2026-11-28T10:15:00Z"),
        ("0001-01-01T00:00:00+05:00", ""),
        ("YEAR-MO-DA HO:MI+ZONE", ""),
        ("", ""),
    ],
)
def test_dates_of_all_formats_are_utc(text: str, expected: str) -> None:
    assert utc_time(text) == expected


# ---- TMX


def tmx(units: str) -> str:
    return f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>'


def unit(src: str, tgt: str, attributes: str = "", inside: str = "", own: str = "") -> str:
    return (
        f'<tu {attributes}>{inside}<tuv xml:lang="en"><seg>{src}</seg></tuv>'
        f'<tuv xml:lang="de" {own}><seg>{tgt}</seg></tuv></tu>'
    )


def test_a_unit_of_tmx_says_who_when_and_where(tmp_path: Path) -> None:
    properties = (
        '<prop type="prev">Open</prop><prop type="next">Close</prop><prop type="file">a.txt</prop>'
        '<prop type="x-other">z</prop>'
    )
    path = written(
        tmp_path / "a.tmx",
        tmx(
            unit(
                "Save",
                "Speichern",
                'tuid="u1" creationid="Ben" creationdate="20250101T000000Z"',
                properties,
                'changeid="Anna" changedate="20260101T120000Z"',
            )
            + unit("Exit", "Schluss", 'tuid="u2" creationid="Ben" changedate="soon"')
            + unit("Go", "Los", 'tuid="9"', '<prop type="x-context-pre">&lt;seg>x&lt;/seg></prop>')
        ),
    )
    assert segments(path, "en", "de") == [
        MemorySegment(
            *("Save", "Speichern", "Open", "Close", "a.txt", "u1", "", "2026-01-01T12:00:00Z"),
            who="Anna",
        ),
        MemorySegment("Exit", "Schluss", key="u2", who="Ben"),
        MemorySegment("Go", "Los", before="x", key="9"),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('Press <bpt i="1">&lt;b></bpt>Go<ept i="1"/>.', f"Press {BOLD[0]}Go{BOLD[1]}."),
        ("Press <hi>Go</hi>.", f"Press {BOLD[0]}Go{BOLD[1]}."),
        ("a <ph>{0}</ph> b", f"a {empty(0)} b"),
        ("a<ph>&lt;br/&gt;</ph>b", f"a{line_break(0)}b"),
        ('a <it pos="begin">&lt;i></it>b', f"a {empty(0)}b"),
        ('<bpt i="1"/>a<bpt i="2"/>b<ept i="1"/>c<ept i="2"/>', None),
        ("a <ph>x<sub>text</sub></ph> b", f"a {empty(0)} b"),
        ("a &lt;b> \U000f0000 c", f"a <b> {empty(0)} c"),
    ],
)
def test_inline_markup_of_tmx_becomes_marks(
    source: str, expected: str | None, tmp_path: Path
) -> None:
    overlapping = f"{opening(0)}a{opening(1)}b{closing(0)}c{closing(1)}"
    (found,) = segments(written(tmp_path / "a.tmx", tmx(unit(source, source))), "en", "de")
    assert (found.source, found.target) == (expected or overlapping,) * 2


def test_placeholders_of_tmx_keep_their_numbers_when_they_change_places(tmp_path: Path) -> None:
    source, target = "<ph>%1</ph> of <ph>%2</ph>", "von <ph>%2</ph> <ph>%1</ph>"
    (found,) = segments(written(tmp_path / "a.tmx", tmx(unit(source, target))), "en", "de")
    assert found.target == f"von {empty(1)} {empty(0)}"


def test_a_unit_with_too_many_codes_is_left_out(tmp_path: Path) -> None:
    (found,) = segments(written(tmp_path / "a.tmx", tmx(unit("<ph/>" * 9000, "b"))), "en", "de")
    assert (len(found.source), found.target) == (9000, "b")
    many = unit("a" + "<ph/>" * 9000, "<ph/>" * 9000)
    (found,) = segments(written(tmp_path / "a.tmx", tmx(many)), "en", "de")
    assert found.source is LEFT_OUT and found.target is LEFT_OUT


# ---- XLIFF


def xliff_1(units: str) -> str:
    return (
        '<xliff version="1.2"><file original="a.html" source-language="en" target-language="de" '
        f'date="2026-02-03T04:05:06Z"><body>{units}</body></file></xliff>'
    )


def trans_unit(key: str, src: str, tgt: str, state: str = "") -> str:
    target = f"<target {state}>{tgt}</target>" if tgt else ""
    return f'<trans-unit id="{key}"><source>{src}</source>{target}</trans-unit>'


def test_a_unit_of_xliff_has_its_document_key_and_neighbours(tmp_path: Path) -> None:
    units = (
        trans_unit("1", "Open", "Öffnen")
        + trans_unit("2", "Save", "")
        + trans_unit("3", "Close", "Zu", 'state="needs-review-translation"')
        + '<trans-unit id="4" resname="x"><source>Exit</source><target>Aus</target></trans-unit>'
    )
    path, said = written(tmp_path / "a.xlf", xliff_1(units)), list[str]()
    found = [*read_segments(pair_file(path, "en", "de", remarks=said))]
    when = "2026-02-03T04:05:06Z"
    assert found == [
        MemorySegment("Open", "Öffnen", after="Save", file="a.html", key="1", time=when),
        MemorySegment("Exit", "Aus", before="Close", file="a.html", key="x", time=when),
    ]
    assert said == [f"{path}: units or segments left out: 1 unfinished, 1 untranslated"]


def test_a_segment_of_xliff_2_is_read_with_the_name_of_its_unit(tmp_path: Path) -> None:
    text = (
        '<xliff version="2.0" srcLang="en" trgLang="de" '
        'xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f" original="b.html">'
        '<unit id="u" name="menu"><segment state="final"><source>Press <pc id="1">Go</pc></source>'
        '<target><pc id="1">Los</pc> drücken</target></segment></unit></file></xliff>'
    )
    (found,) = segments(written(tmp_path / "a.xlf", text), "en", "de")
    assert found == MemorySegment(
        f"Press {BOLD[0]}Go{BOLD[1]}",
        f"{BOLD[0]}Los{BOLD[1]} drücken",
        file="b.html",
        key="menu",
    )


@pytest.mark.parametrize(
    "content",
    [
        'Press <g id="1">Go</g> <x id="2"/>.',
        'a<x id="1" ctype="lb"/>b',
        '<bpt id="1">&lt;b></bpt>bold<ept id="1">&lt;/b></ept> text',
        'two <bx id="1"/>words<ex id="1"/> and <ex id="7"/>',
        'a <mrk mtype="protected">Z</mrk> and <mrk mtype="x-term">term</mrk>',
        "wrapped\n        text <!-- note --> here",
        'nested <g id="1">a <g id="2">b</g></g>',
    ],
)
def test_the_source_of_a_segment_is_the_text_of_the_document(content: str, tmp_path: Path) -> None:
    document = xliff_1(trans_unit("1", content, ""))
    (text,) = read_xliff_document(document.encode(), DocumentOptions()).texts
    path = written(tmp_path / "a.xlf", xliff_1(trans_unit("1", content, content)))
    (found,) = segments(path, "en", "de")
    assert (found.source, found.target) == (text, text)


# ---- PO


def test_a_message_of_po_has_its_context_and_the_header_says_who(tmp_path: Path) -> None:
    header = (
        'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Last-Translator: Anna <a@example.org>\\n"\n'
        '"PO-Revision-Date: 2026-01-02 13:00+0100\\n"\n\n'
    )
    entries = (
        'msgctxt "menu"\nmsgid "Save\\n"\nmsgstr "Speichern\\n"\n\n'
        '#, fuzzy\nmsgid "Open"\nmsgstr "Offen"\n\n'
        'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d Datei"\nmsgstr[1] "%d Dateien"\n\n'
        'msgid "two\\nlines"\nmsgstr "zwei\\nZeilen"\n'
    )
    path = written(tmp_path / "de.po", header + entries)
    about = {"file": "de.po", "time": "2026-01-02T12:00:00Z", "who": "Anna <a@example.org>"}
    assert segments(path, "en", "de") == [
        MemorySegment("Save", "Speichern", key="menu", **about),
        MemorySegment("%d file", "%d Datei", **about),
        MemorySegment("%d files", "%d Dateien", **about),
        MemorySegment("two\nlines", "zwei\nZeilen", **about),
    ]


# ---- tables and JSON lines

KNOWN = MemorySegment("Save", "Speichern", key="menu.save", time="2026-01-02T00:00:00Z", who="Anna")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "a.tsv",
            "source\ttarget\tkey\tdate\tauthor\nSave\tSpeichern\tmenu.save\t2026-01-02\tAnna\n",
        ),
        ("a.csv", 'target,source,who,key,time\nSpeichern,Save,Anna,"menu.save",20260102T000000Z\n'),
        (
            "a.tsv",
            "Key\tDE\tEN-US\tChanged\tTranslator\nmenu.save\tSpeichern\tSave\t2026-01-02\tAnna\n",
        ),
        (
            "a.jsonl",
            '{"en": "Save", "de": "Speichern", "id": "menu.save", "who": "Anna", '
            '"time": "2026-01-02"}\n',
        ),
        (
            "a.jsonl",
            '{"translation": {"de": "Speichern", "en": "Save"}, "key": "menu.save", "who": "Anna",'
            ' "date": "20260102T000000Z"}\n',
        ),
        (
            "rows",
            '{"source": "Save", "target": "Speichern", "key": "menu.save", "who": "Anna", '
            '"time": "2026-01-02T01:00:00+01:00"}\n',
        ),
    ],
)
def test_columns_are_found_by_name_in_any_order(name: str, content: str, tmp_path: Path) -> None:
    file = pair_file(written(tmp_path / name, content))
    named = type(file)(file.path, (1, 2), file.errors, file.long, file.remark, None, ("en", "de"))
    assert [*read_segments(named)] == [KNOWN]


def test_columns_without_a_header_are_found_by_number(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", "1\tSpeichern\tSave\n2\tÖffnen\tOpen\n")
    assert [(s.source, s.target) for s in segments(path, 3, 2)] == [
        ("Save", "Speichern"),
        ("Open", "Öffnen"),
    ]


def test_a_cell_of_csv_keeps_its_line_breaks(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", 'source,target\n"one\ntwo","eins\nzwei"\n')
    assert segments(path) == [MemorySegment("one\ntwo", "eins\nzwei")]


def test_a_row_of_tsv_may_say_that_it_has_escapes(tmp_path: Path) -> None:
    rows = "a\\tb\tc\\nd\tyes\na\\tb\tc\\nd\t\n"
    path = written(tmp_path / "a.tsv", f"source\ttarget\tescaped\n{rows}")
    assert segments(path) == [MemorySegment("a\tb", "c\nd"), MemorySegment("a\\tb", "c\\nd")]
    written(path, 'source\ttarget\tescaped\na"\tb\tyes\n')
    with pytest.raises(DataError, match="line 2: an escape sequence is malformed"):
        segments(path)


def test_json_lines_are_a_corpus_too(tmp_path: Path) -> None:
    lines = ['{"source": "a\\nb", "target": "A"}', "", '["c", "C"]', '{"en": "d", "de": "D"}']
    path = written(tmp_path / "a.jsonl", "\n".join(lines))
    with pytest.raises(DataError, match="line 4 has the keys en, de: it needs 'source' and"):
        [*read_pairs(Corpus(pairs=str(path)))]
    written(path, "\n".join(lines[:3]))
    assert [*read_pairs(Corpus(pairs=str(path)))] == [("a b", "A"), ("", ""), ("c", "C")]
    written(path, lines[3])
    by_language = Corpus(pairs=str(path), src_column="de", tgt_column="en")
    assert [*read_pairs(by_language)] == [("D", "d")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1 is not JSON"),
        ("[" * 100_000, "line 1 is not JSON"),
        ("3", "line 1 is neither an object nor a list"),
        ('{"source": 1, "target": "a"}', "'source' is not a text"),
        ('{"source": "a"}', "line 1 has the keys source"),
        (json.dumps({"source": "\ud83d", "target": "a"}), "half of a surrogate pair"),
        ('{"source": "a", "target": "b", "who": "\\ud83d"}', "half of a surrogate pair"),
    ],
)
def test_a_line_that_is_not_a_pair_in_json_is_refused(
    line: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        segments(written(tmp_path / "a.jsonl", line))


def test_a_file_of_json_lines_is_recognised_by_its_content(tmp_path: Path) -> None:
    assert format_of(written(tmp_path / "a", '{"source": ""}')) == "jsonl"
    assert format_of(written(tmp_path / "b", "{0} files\t{0} Dateien")) == "tsv"
