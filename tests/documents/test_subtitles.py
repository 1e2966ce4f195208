"""Subtitles keep everything but the texts of their cues."""

import re
from collections.abc import Callable, Sequence

import pysubs2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.documents import shared
from yakusu.data.lines.private_use import closing, empty, line_break, opening
from yakusu.documents.balance import balanced
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.subtitles import read
from yakusu.errors import DataError

SRT = """1
00:00:01,000 --> 00:00:02,500
The train to the coast
leaves at noon.

2
00:00:03,000 --> 00:00:04,000 X1:100 X2:200 Y1:100 Y2:200
{\\an8}We are <i>late</i>!

"""
VTT = """WEBVTT - The journey
Kind: captions

NOTE
Checked --> twice

STYLE
::cue(.loud) { color: red; }

REGION
id:top

first
00:01.000 --> 00:02.500 line:0 align:start
<v Ada>The train &amp; the <c.loud>boat</c>
leave at noon.

NOTE the end

1:00:03.000 --> 1:00:04.000
<i>Wait <00:00:03.500>here</i>
"""


def opened(text: str | bytes) -> Document:
    return read(text if isinstance(text, bytes) else text.encode(), DocumentOptions())


def translated(text: str, translate: Callable[[str], str]) -> str:
    return shared.translated(opened(text), translate).decode()


def cue(*lines: str) -> str:
    return "\n".join(["1", "00:00:01,000 --> 00:00:02,000", *lines, ""])


def message(text: str | bytes) -> str:
    with pytest.raises(DataError) as error:
        opened(text)
    return str(error.value)


def test_a_cue_is_one_text_and_tags_are_marks() -> None:
    assert list(opened(SRT).texts) == [
        "The train to the coast leaves at noon.",
        f"We are {opening(0)}late{closing(0)}!",
    ]


def test_a_translation_has_as_many_lines_as_its_cue() -> None:
    text = translated(cue("one two three", "four"), lambda _: "aaaa bbbb cccc dddd")
    assert text == cue("aaaa bbbb", "cccc dddd")


def test_headers_notes_styles_regions_identifiers_and_settings_stay() -> None:
    text = translated(VTT, str.upper)
    expected = VTT.replace(
        "The train &amp; the <c.loud>boat</c>\nleave at noon",
        "THE TRAIN &amp; THE\n<c.loud>BOAT</c> LEAVE AT NOON",
    )
    assert text == expected.replace("Wait", "WAIT").replace(">here", ">HERE")


def test_entities_of_webvtt_are_decoded_and_escaped() -> None:
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\nfish &amp; chips &lt; 5&nbsp;euros\n"
    assert list(opened(text).texts) == ["fish & chips < 5\u00a0euros"]
    assert translated(text, lambda _: "a --> b & c").endswith("\na --&gt; b &amp; c\n")


def test_entities_of_subrip_are_text() -> None:
    assert list(opened(cue("Q&amp;A")).texts) == ["Q&amp;A"]


def test_a_timestamp_in_a_cue_is_an_empty_mark() -> None:
    assert opened(VTT).texts[1] == f"Wait {empty(0)}here"


def test_unknown_tags_of_subrip_are_text() -> None:
    assert list(opened(cue("<door opens> <3 you")).texts) == ["<door opens> <3 you"]


def test_each_line_of_a_dialogue_is_a_text() -> None:
    text = cue("- Where is it?", "- Over there,", "by the door.")
    assert list(opened(text).texts) == ["Where is it?", "Over there, by the door."]
    assert translated(text, str.upper) == cue("- WHERE IS IT?", "- OVER THERE,", "BY THE DOOR.")


@pytest.mark.parametrize(
    ("lines", "written"),
    [
        ([">> where is it?", ">> over there,", "by the door."],
         [">> WHERE IS IT?", ">> OVER THERE,", "BY THE DOOR."]),
        (["ANNA: good day!", "DR. MEYER (on the phone): go now."],
         ["ANNA: GOOD DAY!", "DR. MEYER (on the phone): GO NOW."]),
        (["- ANNA: good day!", "- no, Bob: never."], ["- ANNA: GOOD DAY!", "- NO, BOB: NEVER."]),
        ([">>> MAN #2:", "hello you,", "everyone."], [">>> MAN #2:", "HELLO YOU,", "EVERYONE."]),
        (["<i>ÖZGÜR：late</i>"], ["<i>ÖZGÜR：LATE</i>"]),
        (["Http://a.b is up", "at 12:30: yes"], ["HTTP://A.B IS UP", "AT 12:30: YES"]),
        (["where? >> there."], ["WHERE? >> THERE."]),
    ],
)  # fmt: skip
def test_what_marks_a_speaker_is_kept(lines: list[str], written: list[str]) -> None:
    assert translated(cue(*lines), str.upper) == cue(*written)
    assert not any(
        mark in text for text in opened(cue(*lines)).texts for mark in (">>", "ANNA", "Ö")
    )


def test_a_change_of_speaker_within_a_line_ends_a_sentence() -> None:
    assert list(opened(cue("Where? >> There.")).texts) == [f"Where? {line_break(0)} There."]


def test_dialogue_within_a_tag_keeps_the_tag() -> None:
    text = cue("<i>- Where is it?", "- Over there.</i>")
    assert translated(text, str.upper) == cue("<i>- WHERE IS IT?", "- OVER THERE.</i>")


@pytest.mark.parametrize("lines", [("It is", "-5 degrees."), ("I was--", "--going.")])
def test_a_negative_number_or_two_dashes_begin_no_dialogue(lines: tuple[str, str]) -> None:
    assert list(opened(cue(*lines)).texts) == [" ".join(lines)]


def test_each_voice_of_webvtt_is_a_text() -> None:
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ada>Hello\n<v Alan>Good day\n"
    assert list(opened(text).texts) == ["Hello", "Good day"]


def test_tags_that_enclose_each_line_enclose_each_new_line() -> None:
    text = cue("{\\an8}<i>one two three</i>", "<i>four</i>")
    assert list(opened(text).texts) == ["one two three four"]
    assert translated(text, lambda _: "aa bb cc dd") == cue("{\\an8}<i>aa bb</i>", "<i>cc dd</i>")


def test_tags_without_their_other_end_stay() -> None:
    text = cue("<b>Stop</i> it <font color=red>now")
    assert translated(text, str.upper) == cue("<b>STOP</i> IT <font color=red>NOW")


def test_characters_that_are_marks_stay() -> None:
    text = cue(f"press {opening(3)} now")
    assert translated(text, str.upper) == cue(f"PRESS {opening(3)} NOW")


def test_cues_without_letters_are_no_texts() -> None:
    assert list(opened(cue("♪ 1, 2 ♪")).texts) == []


def test_a_missing_empty_line_and_a_missing_number_are_accepted() -> None:
    text = (
        "1\n00:00:01,000 --> 00:00:02,000\none\n2\n00:00:03,000 --> 00:00:04,000\ntwo\n\n"
        "00:00:05,000 --> 00:00:06,000\nthree"
    )
    assert list(opened(text).texts) == ["one", "two", "three"]
    assert translated(text, str.upper) == re.sub("one|two|three", lambda m: m[0].upper(), text)


def test_text_after_an_empty_line_belongs_to_the_cue_in_subrip() -> None:
    text = "\n\n" + cue("one", "", "", "two") + "\n\n\n" + cue("three")
    assert list(opened(text).texts) == ["one", "two", "three"]
    assert translated(text, str.upper) == re.sub("one|two|three", lambda m: m[0].upper(), text)


def test_text_after_an_empty_line_is_no_cue_in_webvtt() -> None:
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\none\n\ntwo\n"
    assert list(opened(text).texts) == ["one"]


def test_a_number_before_a_timing_is_no_text_and_another_number_is() -> None:
    text = cue("In the year", "1999")
    assert list(opened(text).texts) == ["In the year 1999"]


def test_two_times_with_words_between_them_are_text() -> None:
    assert list(opened(cue("7:30:15 or 8:30:15")).texts) == ["7:30:15 or 8:30:15"]


def test_a_long_number_after_a_time_takes_no_long_time() -> None:
    line = f"1:1:{'9' * 50_000} one"
    assert list(opened(cue(line)).texts) == [line]


def test_an_arrow_may_be_text_in_subrip() -> None:
    assert list(opened(cue("from A --> to B")).texts) == ["from A --> to B"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_line_ends_byte_order_marks_and_encodings_stay(end: str, encoding: str) -> None:
    for text in (SRT, VTT, SRT.rstrip()):
        data = text.replace("\n", end).encode(encoding)
        document = opened(data)
        assert document.texts == opened(text).texts
        assert document.render(document.texts) == data
        new = document.render([t.upper() for t in document.texts])
        assert new == translated(text, str.upper).replace("\n", end).encode(encoding)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (cue("x").replace(":01,", ":0x,"), "line 2: '00:00:0x,000 --> 00:00:02,000' is not a"),
        (cue("x").replace("-->", "->"), "line 2: '00:00:01,000 -> 00:00:02,000' is not a"),
        (cue("x").replace("00:00:02,000", ""), "line 2: '00:00:01,000 -->' is not a valid timing"),
        (cue("x").replace("00:00:01,000", ""), "line 2: '--> 00:00:02,000' is not a valid timing"),
        (SRT + "3\nsoon --> later\nx\n", "line 11: 'soon --> later' is not a valid timing"),
        (VTT + "\nsoon --> later\nx\n", "line 23: 'soon --> later' is not a valid timing"),
        ("Hello\n", "line 1: 'Hello' is neither the number nor the timing of a cue"),
        (cue("Z\xfcrich").encode("latin-1"), "line 3, byte 2: 0xfc is not UTF-8"),
        (cue("x").encode("utf-16-le"), "line 1 contains a NUL byte"),
        ("\u0a0a\nab".encode("utf-16")[:-1], "line 2, byte 3: 0x62 is not UTF-16-LE"),
        (b"\xff\xfea", "line 1, byte 1: 0x61 is not UTF-16-LE"),
    ],
)
def test_errors_name_the_line(text: str | bytes, words: str) -> None:
    assert message(text).startswith(words)


@pytest.mark.parametrize("text", ["", "\n\n", "WEBVTT", "WEBVTT\n"])
def test_files_without_cues_stay(text: str) -> None:
    assert list(opened(text).texts) == []
    assert translated(text, str.upper) == text


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("今日はとても天気がいいですね。", ["今日はとても", "天気がいいですね。"]),
        ("そうですか。わかりました。", ["そうですか。", "わかりました。"]),
        ("我们明天去北京好不好？", ["我们明天去", "北京好不好？"]),
        ("one", ["one"]),
        ("안녕하세요 여러분", ["안녕하세요", "여러분"]),
        (f"{opening(0)}aa bb{closing(0)} cc dd", [f"{opening(0)}aa bb{closing(0)}", "cc dd"]),
    ],
)
def test_lines_are_balanced_where_the_script_allows_a_break(text: str, lines: list[str]) -> None:
    assert balanced(text, 2).split("\n") == lines


WORDS = st.text(st.sampled_from("ab 語、か「」" + opening(0) + closing(0)), max_size=40)


@given(WORDS, st.integers(1, 6))
def test_balancing_replaces_spaces_or_inserts_breaks(text: str, n_lines: int) -> None:
    new = balanced(text, n_lines)
    assert new.count("\n") < n_lines
    assert new.replace("\n", "").replace(" ", "") == text.replace(" ", "")


LINES = st.sampled_from(
    ["Good day, Ada.", "<i>late</i>", "- No.", "{\\an1}top", "[music]", "<b>a", "12", "<font a=b>"]
)
CUES = st.lists(st.lists(LINES, min_size=1, max_size=3), min_size=1, max_size=5)


def subrip(cues: Sequence[Sequence[str]]) -> str:
    return "".join(
        f"{i}\n00:00:{i:02},000 --> 00:00:{i:02},900\n" + "\n".join(lines) + "\n\n"
        for i, lines in enumerate(cues, start=1)
    )


@given(CUES, st.sampled_from(["\n", "\r\n"]))
def test_texts_that_do_not_change_leave_the_same_bytes(cues: list[list[str]], end: str) -> None:
    data = subrip(cues).replace("\n", end).encode()
    document = opened(data)
    assert document.render(document.texts) == data


@given(CUES)
def test_only_letters_change_if_only_letters_are_translated(cues: list[list[str]]) -> None:
    text = subrip(cues)
    new = translated(text, lambda t: re.sub("[^\\W\\d_]", "x", t))
    skeleton = re.compile(r"<[^<>]*>|\{[^}]*\}|\d+|-->|^- |\s+|.", re.MULTILINE)
    tags = [t for t in skeleton.findall(text) if len(t) > 1 and not t.isspace()]
    assert [t for t in skeleton.findall(new) if len(t) > 1 and not t.isspace()] == tags


@given(CUES)
def test_pysubs2_reads_the_same_times_and_the_translated_texts(cues: list[list[str]]) -> None:
    text = subrip([[line for line in lines if line != "12"] or ["x"] for lines in cues])
    old, new = (
        pysubs2.SSAFile.from_string(t, format_="srt") for t in (text, translated(text, str.upper))
    )
    assert [(e.start, e.end) for e in new] == [(e.start, e.end) for e in old]
    assert [e.plaintext.split() for e in new] == [e.plaintext.upper().split() for e in old]


@given(st.binary(max_size=200))
def test_any_bytes_give_texts_or_a_sentence(data: bytes) -> None:
    try:
        document = opened(data)
    except DataError:
        return
    assert document.render(document.texts) == data
