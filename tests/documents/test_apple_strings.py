"""Strings files and plurals of Apple: values are texts, and everything else keeps its bytes."""

import plistlib
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.shared import translated
from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.apps import property_lists, strings
from yakusu.errors import DataError

OPTIONS = DocumentOptions()


def texts(data: str) -> list[str]:
    return list(strings.read(data.encode(), OPTIONS).texts)


def written(data: str, *translations: str) -> str:
    return strings.read(data.encode(), OPTIONS).render(translations).decode()


def test_values_are_texts_and_comments_and_keys_stay() -> None:
    data = (
        '/* "a" = "Kept"; */\n"title" = "Good day";\r\n// "b" = "Kept";\n'
        'menu.open=Open;\n"a = b;"\t=\t\'Two words\' ; "Close it";\n'
    )
    document = strings.read(data.encode(), OPTIONS)
    assert document.texts == ["Good day", "Open", "Two words", "Close it"]
    assert document.keys == ["title", "menu.open", "a = b;", "Close it"]
    assert document.render(document.texts) == data.encode()
    assert translated(document, str.upper).decode() == (
        '/* "a" = "Kept"; */\n"title" = "GOOD DAY";\r\n// "b" = "Kept";\n'
        'menu.open="OPEN";\n"a = b;"\t=\t\'TWO WORDS\' ; "Close it" = "CLOSE IT";\n'
    )


@pytest.mark.parametrize(
    ("source", "text", "translation", "expected"),
    [
        (r'"a \"b\" \\ c"', 'a "b" \\ c', 'd "e" \\', r'"d \"e\" \\"'),
        (r'"a\nb\tc d"', "a\nb\tc d", "d\ne\tf", r'"d\ne\tf"'),
        ('"a\nb c"', "a\nb c", "d\ne", '"d\ne"'),
        (r"'it\'s a'", "it's a", 'l\'un "b"', "'l\\'un \"b\"'"),
        (r'"it\'s a"', "it's a", "l'un", '"l\'un"'),
        (r'"\U00e9t\U00e9 \Ud83d\Ude00"', "été 😀", "für 😀", r'"f\U00fcr \Ud83d\Ude00"'),
        (r'"a\u2026 b"', "a… b", "ü…", r'"ü\U2026"'),
        (r'"A\040b c"', "A b c", "d", '"d"'),
        (r'"\Ue9t\Ue9 a"', "été a", "thé\x1b", r'"th\U00e9\U001b"'),
        ('"%1$@ of %d"', "%1$@ of %d", "%1$@ von %d", '"%1$@ von %d"'),
    ],
)
def test_escapes_are_decoded_and_written(
    source: str, text: str, translation: str, expected: str
) -> None:
    data = f'"k" = {source};'
    assert texts(data) == [text]
    assert written(data, text) == data
    assert written(data, translation) == f'"k" = {expected};'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_and_byte_order_marks_stay(encoding: str) -> None:
    data = '"a" = "Grüße";\r\n'.encode(encoding)
    document = strings.read(data, OPTIONS)
    assert document.texts == ["Grüße"]
    assert document.render(["Hôtel ✓"]) == '"a" = "Hôtel ✓";\r\n'.encode(encoding)


def test_braces_may_enclose_the_entries() -> None:
    assert texts('// c\n{ "a" = "One day"; }\n') == ["One day"]
    assert texts("{}") == texts("") == texts("/* c */") == []


def test_what_stays_is_reported() -> None:
    document = strings.read(b'"a" = "snake_case";\n"b" = "gr\\374n one";\n"c" = "Go";', OPTIONS)
    assert document.skipped[0] == "line 1: 'snake_case' looks like an identifier, not like text"
    assert "line 2" in document.skipped[1] and "octal escapes" in document.skipped[1]
    assert document.render([" "]).endswith(b'"Go";')
    assert "line 3: 'Go' has a translation that is blank" in document.skipped[2]


@pytest.mark.parametrize(
    ("data", "place", "what"),
    [
        ('"a" = "b"\n"c" = "d";', "line 2, column 1", "a semicolon was expected"),
        ('"a" = ;', "line 1, column 7", "a string was expected after ="),
        ('"a" = "b";\n\n  "c', "line 3, column 3", "a string without an end begins"),
        ('/* "a" = "b";', "line 1, column 1", "a comment without an end begins"),
        ('"a" = {"b" = "c";};', "line 1, column 7", "a string was expected"),
        ('{"a" = "b";', "line 1, column 12", "nothing but one } was expected"),
        ('= "b";', "line 1, column 1", "a key was expected"),
        ('"a" = "b"; é = c;', "line 1, column 12", "this is unexpected"),
    ],
)
def test_a_bad_strings_file_is_refused_with_its_place(data: str, place: str, what: str) -> None:
    with pytest.raises(DataError, match=f'^{place} is not valid .*{what}.*write "key"'):
        texts(data)


def plist(body: str) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"'
        ' "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n<plist version="1.0">\n'
        f"<dict>\n{body}\n</dict>\n</plist>\n"
    )


FORMS = """\t<key>%d days</key>
\t<dict>
\t\t<key>NSStringLocalizedFormatKey</key>
\t\t<string>%#@days@ left</string>
\t\t<key>days</key>
\t\t<dict>
\t\t\t<key>NSStringFormatSpecTypeKey</key>
\t\t\t<string>NSStringPluralRuleType</string>
\t\t\t<key>NSStringFormatValueTypeKey</key>
\t\t\t<string>d</string>
\t\t\t<key>one</key>
\t\t\t<string>%d day</string>
\t\t\t<key>other</key>
\t\t\t<string>%d days &amp; more</string>
\t\t</dict>
\t</dict>"""
WIDTHS = (
    "<key>a</key><dict><key>NSStringVariableWidthRuleType</key><dict><key>20</key><string>Short"
    "</string><key>50</key><string>A longer one</string></dict></dict><key>b</key><array><string>"
    "Kept words</string></array>"
)


def test_plurals_of_a_stringsdict_get_the_categories_of_the_target_language() -> None:
    data = plist(FORMS)
    document = property_lists.read(data.encode(), DocumentOptions(("en", "ru")))
    assert document.texts == ["%d day", "%d days & more", "%#@days@ left"]
    assert not property_lists.read(data.replace(" left", "").encode(), OPTIONS).skipped
    assert document.keys == ["%d days.days", "%d days.days", "%d days"]
    assert document.render(document.texts) == data.encode()
    made = document.render(["%d день", "%d дня < 5", "Осталось %#@days@"]).decode()
    added = "\t\t\t<!-- yakusu: few, many from 'other', to be checked -->\n" + "".join(
        f"\t\t\t<key>{each}</key>\n\t\t\t<string>%d дня &lt; 5</string>\n"
        for each in ("few", "many")
    )
    expected = (
        data.replace("%d day<", "%d день<")
        .replace("%d days &amp; more</string>\n", "%d дня &lt; 5</string>\n" + added)
        .replace("%#@days@ left", "Осталось %#@days@")
    )
    assert made == expected
    parsed = plistlib.loads(made.encode())["%d days"]["days"]
    assert {*parsed} >= {"one", "few", "many", "other"}


def test_widths_are_texts_and_other_strings_of_a_stringsdict_stay() -> None:
    data = plist(WIDTHS + "<key>c</key><string>Good day</string>")
    document = property_lists.read(data.encode(), DocumentOptions(("en", "ru")))
    assert document.texts == ["Short", "A longer one", "Good day"]
    assert b"yakusu" not in translated(document, str.upper)


def test_the_string_for_other_devices_is_no_plural_form() -> None:
    data = plist(
        "<key>a</key><dict><key>NSStringDeviceSpecificRuleType</key><dict><key>mac</key><string>"
        "Click it</string><key>other</key><string>Tap it</string></dict></dict>"
    )
    document = property_lists.read(data.encode(), DocumentOptions(("en", "ru")))
    assert document.categories == ["", ""]
    made = translated(document, str.upper).decode()
    assert made == data.replace("Click it", "CLICK IT").replace("Tap it", "TAP IT")


def test_a_strings_file_may_be_a_property_list_in_xml() -> None:
    data = plist("<key>a</key><string>Good day</string><key>other</key><string>Bye now</string>")
    document = strings.read(data.encode(), DocumentOptions(("en", "ru")))
    assert document.texts == ["Good day", "Bye now"]
    assert translated(document, str.upper).decode() == (
        data.replace("Good day", "GOOD DAY").replace("Bye now", "BYE NOW")
    )


def test_a_string_with_tags_stays() -> None:
    document = strings.read(plist("<key>a</key><string>A <b>b</b></string>").encode(), OPTIONS)
    assert not document.texts
    assert document.skipped == ["line 5: 'A b' has tags or comments in it"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("<x><dict/></x>", "begins with <x>, not with <plist>"),
        ("<plist><dict></plist>", "line 1, column 16 is not well-formed XML"),
        (
            "<plist>" + "<dict><key>a</key>" * 22 + "</dict>" * 22 + "</plist>",
            "line 1: the property list has more than 20 levels: flatten it",
        ),
    ],
)
def test_a_bad_property_list_is_refused(data: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        property_lists.read(data.encode(), OPTIONS)


FILES = [*islice(Path("/usr").glob("*/GNUstep/**/*.strings"), 30)]


@pytest.mark.skipif(not FILES, reason="no package of GNUstep is installed")
def test_files_of_packages_keep_their_bytes() -> None:
    for path in FILES:
        document = strings.read(path.read_bytes(), OPTIONS)
        assert document.render(document.texts) == path.read_bytes()


VALUES = st.text(st.sampled_from([*"ab '\"\\\n\té/*;=%\ue000", "\ud83d", "\0"]))


@settings(max_examples=60, deadline=None)
@given(new=VALUES, quote=st.sampled_from("\"'"))
def test_a_translation_is_read_again(new: str, quote: str) -> None:
    data = f'"k" = {quote}Some words{quote};'
    document = strings.read(data.encode(), OPTIONS)
    made = document.render([f"x{new}x words"])
    if not document.skipped:
        (found,) = strings.read(made, OPTIONS).texts
        assert "".join(c for c in found if ord(c) < 0xF0000) == "".join(
            c for c in f"x{new}x words" if c not in "\ud83d\0"
        )
