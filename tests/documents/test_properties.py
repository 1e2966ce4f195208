"""Java properties files: values are texts, and everything else keeps its bytes."""

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.shared import translated
from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.apps.properties import read
from yakusu.errors import DataError

OPTIONS = DocumentOptions()


def texts(data: str) -> list[str]:
    return list(read(data.encode(), OPTIONS).texts)


def written(data: str, *translations: str) -> str:
    return read(data.encode(), OPTIONS).render(translations).decode()


def test_values_are_texts_and_comments_and_keys_stay() -> None:
    data = (
        "# Kept = words\r\n! Kept = words\n\n  a = Good day  \nb:Good\tnight\nc   Well done\n"
        "d\\ e\\=f=One \\\n    # two\ng\nh=\nkey\\\n  .i = Three words"
    )
    document = read(data.encode(), OPTIONS)
    assert document.texts == ["Good day", "Good\tnight", "Well done", "One # two", "Three words"]
    assert document.keys == ["a", "b", "c", "d e=f", "key.i"]
    assert document.render(document.texts) == data.encode()
    assert translated(document, str.upper).decode() == (
        "# Kept = words\r\n! Kept = words\n\n  a = GOOD DAY  \nb:GOOD\\tNIGHT\nc   WELL DONE\n"
        "d\\ e\\=f=ONE # TWO\ng\nh=\nkey\\\n  .i = THREE WORDS"
    )


@pytest.mark.parametrize(
    ("source", "text", "translation", "expected"),
    [
        (r"a\nb\tc d", "a\nb\tc d", "d\ne\tf\\", r"d\ne\tf\\"),
        ("a \\\r\n  b", "a b", "c d", "c d"),
        ("One\\n\\\n  two", "One\ntwo", "1\n 2\nx", "1\\n\\\n  \\ 2\\n\\\n  x"),
        (r"A\u00e9 \ud83d\ude00", "Aé 😀", "ü 😀", r"\u00fc \ud83d\ude00"),
        (r"At \u00C9", "At É", "Ü", r"\u00DC"),
        ("One", "One", "für ✓", r"f\u00fcr \u2713"),
        (r"One\: two", "One: two", "a: b = c", r"a\: b = c"),
        ("One", "One", "=a", r"\=a"),
        (r"One\ ", "One", "Eins", "Eins "),
    ],
)
def test_escapes_are_decoded_and_written(
    source: str, text: str, translation: str, expected: str
) -> None:
    assert texts(f"k={source}") == [text]
    assert written(f"k={source}", text) == f"k={source}"
    assert written(f"k={source}", translation) == f"k={expected}"


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", "Hôtel “✓”"),
        ("utf-8-sig", "Hôtel “✓”"),
        ("iso-8859-1", r"Hôtel \u201c\u2713\u201d"),
    ],
)
def test_the_encoding_stays(encoding: str, expected: str) -> None:
    data = "# ©\na=Grüße\n".encode(encoding)
    document = read(data, OPTIONS)
    assert document.texts == ["Grüße"]
    assert document.render(["Hôtel “✓”"]) == f"# ©\na={expected}\n".encode(encoding)


def test_values_in_ascii_stay_so() -> None:
    made = read("# ©\na=One\n".encode(), OPTIONS).render(["Hôtel"])
    assert made == "# ©\na=H\\u00f4tel\n".encode()


@pytest.mark.parametrize(
    ("data", "text", "translation", "expected"),
    [
        ("a=Open {0}", "Open {0}", "L'{0} d'un", "L''{0} d''un"),
        ("a=Don''t open {0}", "Don't open {0}", "L'un {0}", "L''un {0}"),
        ("a=Don't open {0}", "Don't open {0}", "L'un {0}", "L'un {0}"),
        ("a=Don't {0} if it's {1}", "Don't {0} if it's {1}", "L'un {0} {1}", "L'un {0} {1}"),
        ("a=Open it", "Open it", "L'un", "L'un"),
        ("a=Don''t open it", "Don't open it", "L'un", "L''un"),
        ("b=x {1} isn't\na=Open {0}", "Open {0}", "L'un {0}", "L'un {0}"),
        ("b=It''s odd\na=Open it", "Open it", "L'un", "L''un"),
        ("b=It's odd\nc=it''s\na=Open it", "Open it", "L'un", "L'un"),
    ],
)
def test_apostrophes_of_message_format_are_doubled(
    data: str, text: str, translation: str, expected: str
) -> None:
    document = read(data.encode(), OPTIONS)
    assert document.texts[-1] == text
    made = document.render([*document.texts[:-1], translation])
    assert made.decode() == data.rpartition("a=")[0] + f"a={expected}"


def test_quotations_and_branches_of_message_format_stay() -> None:
    data = "a=Use '{'braces'}' in {0}, don''t\nb={n, plural, other {#}} isn''t here"
    document = read(data.encode(), OPTIONS)
    assert document.render(document.texts) == data.encode()
    made = translated(document, lambda text: text.replace("Use", "Nimm").replace("here", "l'un"))
    assert made.decode() == data.replace("Use", "Nimm").replace("here", "l''un")


def test_what_stays_is_reported() -> None:
    data = b"a=com.example.Class\nb=TRUE\nc=Copied %s to %d\nd=Go\ne=A {0,choice,0#B|1#C}"
    document = read(data, OPTIONS)
    assert document.skipped == [
        "line 1: 'com.example.Class' looks like an identifier, not like text",
        "line 2: 'TRUE' looks like a setting, not like text",
        "line 5: 'A {0,choice,0#B|1#C}' has a choice, whose branches are not translated: make a "
        "plural of it",
    ]
    assert document.render(["%d nach %s", ""]) == data
    assert "in another order" in document.skipped[3]
    assert "line 4: 'Go' has a translation that is blank" in document.skipped[4]


def test_a_wrong_escape_is_refused_with_its_place() -> None:
    message = r"^line 3, column 8: \\u needs four hexadecimal digits after it"
    with pytest.raises(DataError, match=message):
        texts("a=b\r\nb=c\nc=path \\users")


def test_a_file_that_is_not_text_is_refused() -> None:
    with pytest.raises(DataError, match=r"^line 2 has the control character 0x01: write it as"):
        texts("a=b\nb=\1 c")
    with pytest.raises(DataError, match=r"^line 3: byte 0xe9 is not valid in utf-8"):
        read("a=Grüße\nb=für\n".encode() + b"c=th\xe9", OPTIONS)


FILES = [*islice(Path("/usr").glob("lib/jvm/*/conf/**/*.properties"), 30)]


@pytest.mark.skipif(not FILES, reason="no Java is installed")
def test_files_of_packages_keep_their_bytes() -> None:
    for path in FILES:
        document = read(path.read_bytes(), OPTIONS)
        assert document.render(document.texts) == path.read_bytes()
        again = read(translated(document, str.upper), OPTIONS)
        assert len(again.texts) == len(document.texts)


VALUES = st.text(st.sampled_from([*"ab '\"\\\n\t\r\f:=#!é{}0\ue000", "\U0001f600"]))


@settings(max_examples=80, deadline=None)
@given(old=VALUES, new=VALUES, encoding=st.sampled_from(["utf-8", "iso-8859-1"]))
def test_a_translation_is_read_again(old: str, new: str, encoding: str) -> None:
    raw = old.translate({ord("\\"): "\\\\", ord("\n"): "\\n\\\n ", ord("\r"): "\\r"})
    data = f"k = Some {raw} words\n".encode(encoding, "ignore")
    document = read(data, OPTIONS)
    assert document.render(document.texts) == data
    if len(document.texts) != 1 or any(ord(each) >= 0xF0000 for each in document.texts[0]):
        return
    made = document.render([f"Some x{new}x words"])
    if not document.skipped and not {"'", "{"} & {*old, *new}:
        (found,) = read(made, OPTIONS).texts
        assert "".join(c for c in found if ord(c) < 0xF0000) == "".join(
            c for c in f"Some x{new}x words" if c not in "\r\f"
        )
