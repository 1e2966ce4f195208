"""JSON files: values that are language are texts, and everything else keeps its bytes."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yakusu.data.lines import private_use as markup
from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.identifiers import is_language
from yakusu.documents.messages.json_strings import read
from yakusu.errors import DataError

OPTIONS = DocumentOptions()


def texts(data: str | bytes) -> list[str]:
    data = data.encode() if isinstance(data, str) else data
    return list(read(data, OPTIONS).texts)


def upper(data: str | bytes) -> str:
    data = data.encode() if isinstance(data, str) else data
    document = read(data, OPTIONS)
    return document.render([text.upper() for text in document.texts]).decode()


def test_values_are_texts_and_keys_stay() -> None:
    data = '{\n\t"title": "Good morning",\n\t"menu": {"open": "Open file", "n": 3}\n}\n'
    assert texts(data) == ["Good morning", "Open file"]
    assert upper(data) == data.replace("Good morning", "GOOD MORNING").replace(
        "Open file", "OPEN FILE"
    )


def test_lists_duplicate_keys_and_layout_stay() -> None:
    data = '[ "One apple" ,{"a":"Two apples","a" :"Three apples"}, [[ ]], {} , null]\r\n'
    assert texts(data) == ["One apple", "Two apples", "Three apples"]
    assert upper(data) == re.sub("[A-Z][a-z]+ apples?", lambda m: m[0].upper(), data)


def test_a_file_that_escapes_non_ascii_characters_keeps_doing_so() -> None:
    data = r'{"a": "M\u00fcller bar", "b": "Smile \ud83d\ude00"}'
    assert texts(data) == ["Müller bar", "Smile 😀"]
    assert upper(data) == r'{"a": "M\u00dcLLER BAR", "b": "SMILE \ud83d\ude00"}'


def test_a_file_with_upper_case_escapes_keeps_them() -> None:
    assert upper(r'{"a": "M\u00FCller bar"}') == r'{"a": "M\u00DCLLER BAR"}'


def test_a_file_with_raw_characters_keeps_them() -> None:
    assert upper('{"a": "Café bar"}') == '{"a": "CAFÉ BAR"}'


def test_escapes_of_markup_and_slashes_are_used_again() -> None:
    assert upper(r'{"a": "Read \u003cb\u003ethis\u003c\/b\u003e now"}') == (
        r'{"a": "READ \u003cB\u003eTHIS\u003c\/B\u003e NOW"}'
    )
    assert upper(r'{"a": "He said \u0022no\u0022"}') == r'{"a": "HE SAID \"NO\""}'


def test_escapes_of_ascii_letters_digits_and_spaces_are_not_used_again() -> None:
    assert upper(r'{"a": "Room\u0020\u0031\u0032 at \u006foon", "b": "a 1 <b>\u003c"}') == (
        r'{"a": "ROOM 12 AT OOON", "b": "A 1 \u003cB>\u003c"}'
    )
    assert upper(r'{"a": "M\u00fcller \u0031 bar"}') == r'{"a": "M\u00dcLLER 1 BAR"}'


def test_unchanged_strings_keep_their_own_escapes() -> None:
    data = r'{"a": "M\u00fcller \/ bar\tmü"}'.encode()
    document = read(data, OPTIONS)
    assert document.render(document.texts) == data


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32-be"])
def test_encodings_and_byte_order_marks_stay(encoding: str) -> None:
    data = '{"a": "Grüße"}'.encode(encoding)
    document = read(data, OPTIONS)
    assert document.texts == ["Grüße"]
    assert document.render(["Hôtel"]) == '{"a": "Hôtel"}'.encode(encoding)


@pytest.mark.parametrize(
    "value",
    [
        *("https://example.org/a?b=c", "mailto:a@example.org", "www.example.org", "a@example.org"),
        *("/usr/share/doc", "./img/logo.png", "../up", "C:\\Program Files\\App", "src/app/main.js"),
        *("btn_ok", "MAX_SIZE", "en-US", "zh-Hans-CN", "pt-BR", "btn-primary", "userName"),
        *("messages.title", "logo.svg", "v1.2.3", "application/json", "10px", "1.5em", "100%"),
        *("#ff8800", "#FFF", "rgba(0, 0, 0, 0.5)", "2024-05-01", "2024-05-01T10:00:00Z"),
        *("dd.MM.yyyy", "HH:mm", "MMMM D, YYYY", "12345", "...", "", " ", "{name}", "%s: %d"),
        *("{{count}}", "$t(common.ok)", "<br/>", "&nbsp;", "b1946ac92492d2347c6235b4d2611184"),
        *("550e8400-e29b-41d4-a716-446655440000", "x" * 5000),
    ],
)
def test_strings_that_are_not_language_stay(value: str) -> None:
    assert not is_language(value)


@pytest.mark.parametrize(
    "value",
    [
        *("OK", "Save", "save", "Sign-in", "Wi-Fi", "and/or", "Yes/No", "Loading...", "Loading…"),
        *(
            "保存",
            "設定/変更",
            "はい。いいえ",
            "Да",
            "Note:",
            "e.g. this",
            "Visit https://example.org",
        ),
        *("Mass", "100% sure", "3 apples", "Hello {name}", "A", "Press #1 to go on", "@ home"),
        *("Don't", "C'est-à-dire", "No.", "Open C:\\temp"),
    ],
)
def test_words_are_language(value: str) -> None:
    assert is_language(value)


def test_a_lower_case_word_under_a_key_of_code_stays() -> None:
    assert texts('{"icon": "home", "lang": "en", "text": "home", "type": "type"}') == [
        "home",
        "type",
    ]


def test_what_is_not_language_is_counted() -> None:
    document = read(b'{"a": "btn_ok",\n"b": "Two words"}', OPTIONS)
    assert list(document.skipped) == ['line 1: "btn_ok" looks like an identifier, not like text']


def test_a_blank_translation_leaves_the_string_and_is_counted() -> None:
    data = b'{\n"b": "Two words"}'
    document = read(data, OPTIONS)
    assert document.render([" "]) == data
    reason = "has a translation that is blank, or whose numbers or markup differ"
    assert list(document.skipped) == [f'line 2: "Two words" {reason}']


def test_metadata_of_arb_files_stays() -> None:
    data = (
        '{"@@locale": "en", "@@x-author": "Ann Example", "hi": "Hi {name}",'
        ' "@hi": {"description": "A greeting for the user", "placeholders": {"name": {}}}}'
    )
    assert texts(data) == ["Hi {name}"]


def test_a_file_in_several_languages_is_refused() -> None:
    data = b'{"en": {"a": "The ferry"}, "pt_BR": {"a": "A balsa"}}'
    with pytest.raises(DataError, match=r"has texts in several languages \(en, pt_BR\)"):
        read(data, DocumentOptions(("en", "de")))
    for other in (data.replace(b"pt_BR", b"page"), b'{"en": "English", "fr": "French"}'):
        assert read(other, DocumentOptions(("en", "de"))).texts


def test_only_messages_of_browser_extensions_are_texts() -> None:
    data = json.dumps(
        {
            "hello": {
                "message": "Hello $USER$, $1",
                "description": "Greets the user",
                "placeholders": {"user": {"content": "$1", "example": "Ann Example"}},
            },
            "bye": {"message": "Good bye"},
        }
    )
    user, first = markup.empty(0), markup.empty(1)
    assert texts(data) == [f"Hello {user}, {first}", "Good bye"]
    assert '"HELLO $USER$, $1"' in upper(data)


def test_only_default_messages_of_formatjs_are_texts() -> None:
    data = '{"x1": {"defaultMessage": "Good day", "description": "Title of the page"}}'
    assert texts(data) == ["Good day"]


@pytest.mark.parametrize(
    ("stated", "languages", "written"),
    [
        ("en", ("en", "de"), "de"),
        ("en_US", ("en", "pt-BR"), "pt_BR"),
        ("fr", ("en", "de"), "fr"),
        ("en", ("", "de"), "en"),
    ],
)
def test_the_locale_of_an_arb_file_becomes_the_target_language(
    stated: str, languages: tuple[str, str], written: str
) -> None:
    data = '{"hi": "Hi you", "@@locale": "%s", "@hi": {"context": "@@locale"}}'
    document = read((data % stated).encode(), DocumentOptions(languages))
    assert document.render(["Na du"]).decode() == (data % written).replace("Hi you", "Na du")


def test_plural_forms_that_the_source_lacks_are_added_and_are_to_be_checked() -> None:
    data = b'{"b": "Two words",\n"a": "{n, plural, one {# file} other {# files}}"}'
    document = read(data, DocumentOptions(("en", "pl")))
    assert document.render(document.texts) == data and document.checks == []
    written = document.render([text.upper() for text in document.texts]).decode()
    assert "other {# FILES} few {# FILES} many {# FILES}}" in written
    assert document.checks == [
        "line 2: the plural forms few, many are copies of 'other': check them"
    ]


SHOUTED = re.compile(r"\b(?:Say|say|Some|some)\b[^\"|<$\[]*")  # what is a text in LAYOUTS_OF_FILES
LAYOUTS_OF_FILES = {
    "extension": {
        "a": {"message": "Say this", "description": "Kept", "hint": "Kept too"},
        "b": {"message": "Say that"},
    },
    "nls": {"a": "Some name", "b": {"message": "Say $(icon)", "comment": ["Kept words"]}},
    "formatjs": [{"id": "x", "defaultMessage": "Say this", "description": "Kept", "odd": "Kept"}],
    "go-i18n": {
        "a": {"description": "Kept", "one": "Say one", "other": "Say some"},
        "b": {"c": {"hash": "sha1-a", "other": "Say that", "odd": "Kept words"}},
        "d": "Some title",
        "e": {"one": "Some first", "two": "Some second"},
    },
    "go-i18n 1": [
        {"id": "a", "translation": {"one": "Say one", "other": "Say some"}},
        {"id": "Kept words", "translation": "Say that"},
    ],
    "transifex": {"a": {"string": "Say this", "context": "Kept words", "character_limit": 20}},
    "lokalise": {"a": {"translation": "Say this", "notes": "Kept words", "limit": 20}},
    "i18next": {
        "form": {"message": "Some", "title": "Some", "label": "Some", "description": "Some"}
    },
    "vue": {"a": "Some | Say one | Say some", "b": "{'|'} Some {1 | 2} some || some"},
    "laravel": {"a": "{0} Some|[1,19] Say one|[20,*] Say some"},
    "home assistant": {"a": "[%key:a::kept%]", "b": "Some [%key:b::kept%]", "description": "Some"},
}


@pytest.mark.parametrize("name", LAYOUTS_OF_FILES)
def test_each_layout_says_what_is_text(name: str) -> None:
    data = json.dumps(LAYOUTS_OF_FILES[name], indent=2)
    values = re.compile(r'(?<=: )"(?:[^"\\]|\\.)*"')  # not keys
    expected = values.sub(lambda m: SHOUTED.sub(lambda n: n[0].swapcase(), m[0]), data)
    document = read(data.encode(), OPTIONS)
    assert document.render(document.texts).decode() == data
    assert document.render([text.swapcase() for text in document.texts]).decode() == expected


def test_each_plural_form_is_a_text_and_bars_stay() -> None:
    data = '{"a": "no rooms | one room |{count} rooms"}'
    assert texts(data) == ["no rooms", "one room", "{count} rooms"]
    document = read(data.encode(), OPTIONS)
    assert document.render(["x", "y", "z"]) == b'{"a": "x | y |z"}'
    assert document.render(["x", "y | y", "z"]) == data.encode()
    assert "numbers or markup differ" in document.skipped[0]


def test_bars_in_parentheses_and_double_bars_separate_nothing() -> None:
    assert texts('{"a": "Sure (yes|no)?", "b": "one || two"}') == ["Sure (yes|no)?", "one || two"]


def test_positional_placeholders_keep_their_order() -> None:
    data = b'{"a": "%d files in %s", "b": "%1$d files in %2$s", "c": "100% safe, 50% done"}'
    document = read(data, OPTIONS)
    result = document.render(["%s: %d", "%2$s: %1$d", "50% done, 100% safe"])
    assert json.loads(result) == {
        "a": "%d files in %s",
        "b": "%2$s: %1$d",
        "c": "50% done, 100% safe",
    }
    (reason,) = document.skipped
    assert reason.endswith("has a translation with placeholders in another order: %s, %d")


def test_a_message_under_an_unknown_key_is_reported() -> None:
    data = b'{"a": {"message": "Two words",\n"hint": "Three short words", "description": "x"}}'
    (reason,) = read(data, OPTIONS).skipped
    assert reason == (
        'line 2: "Three short words" has a key that is not known in messages.json of browser '
        "extensions"
    )


def test_plural_keys_of_i18next_are_keys() -> None:
    data = '{"item_one": "{{count}} item", "item_other": "{{count}} items, see $t(more)"}'
    assert texts(data) == ["{{count}} item", "{{count}} items, see " + markup.empty(0)]


def test_icu_messages_have_a_text_for_each_branch() -> None:
    data = '{"n": "{n, plural, one {# new file} other {# new \\"files\\"}}"}'
    assert texts(data) == [f"{markup.empty(0)} new file", f'{markup.empty(0)} new "files"']
    assert upper(data) == '{"n": "{n, plural, one {# NEW FILE} other {# NEW \\"FILES\\"}}"}'


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"", "line 1, column 1 "),
        (b'{\n  "a": "b",\n}', "line 3, column 1 "),
        (b'{"a": "tab\t"}', "line 1, column 11 "),
        (b'{"a": "b"} x', "line 1, column 12 "),
        (b"// note\n{}", "line 1, column 1 "),
        (b'{\n"a": "\xff"}', "line 2: byte 0xff "),
        (b"[" * 100_000, "more than 100 levels"),
        (b"[" * 101 + b'"Text"' + b"]" * 101, "more than 100 levels"),
    ],
)
def test_invalid_json_is_reported_with_line_and_column(data: bytes, place: str) -> None:
    with pytest.raises(DataError, match=place):
        read(data, OPTIONS)


def test_lone_surrogates_and_private_characters_survive() -> None:
    data = '{"a": "Half \\ud83d of it", "b": "Icon \U000f0001 here \U000f0001"}'
    document = read(data.encode(), OPTIONS)
    assert document.texts[1] == f"Icon {markup.empty(0)} here {markup.empty(1)}"
    assert upper(data) == ('{"a": "HALF \\ud83d OF IT", "b": "ICON \U000f0001 HERE \U000f0001"}')


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)
LAYOUT = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "indent": st.sampled_from([None, 0, 2, "\t"]),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : ")]),
    }
)


@settings(deadline=None)
@given(JSON, LAYOUT)
def test_identical_translations_give_identical_bytes(value: Any, layout: dict[str, Any]) -> None:
    data = json.dumps(value, **layout).encode(errors="surrogatepass")
    try:
        document = read(data, OPTIONS)
    except DataError:  # a raw surrogate is not UTF-8
        assert not layout["ensure_ascii"]
        return
    assert document.render(document.texts) == data


def enclosed(text: str) -> str:
    """A translation: every text changes, and keeps its marks."""
    return f"<< {text} >>"


def changed(value: Any, path: tuple[str, ...] = ()) -> Any:
    """The oracle: the same change of the parsed value."""
    if isinstance(value, dict):
        return {key: changed(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [changed(item, path) for item in value]
    if not isinstance(value, str) or not is_language(value, path):
        return value
    if any(key.startswith("@") for key in path):
        return value
    body = value.strip()
    return value.replace(body, enclosed(body))


WORDS = st.text(st.sampled_from("ab é/\\\"\n\t{}'日\U000f0003"), max_size=12)
MESSAGES = st.recursive(
    WORDS | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=15,
)


@settings(deadline=None)
@given(MESSAGES, LAYOUT)
def test_changed_translations_change_nothing_else(value: Any, layout: dict[str, Any]) -> None:
    data = json.dumps(value, **layout).encode()
    document = read(data, OPTIONS)
    result = document.render([enclosed(text) for text in document.texts])
    assert result == json.dumps(changed(value), **layout).encode()


def test_messages_beyond_a_limit_stay_and_are_reported() -> None:
    deep = "{n, plural, other {a " * 22 + "}}" * 22
    data = json.dumps({"one": deep, "two": "Two apples"})
    document = read(data.encode(), OPTIONS)
    assert list(document.texts) == ["Two apples"]
    assert document.render(document.texts).decode() == data
    assert document.skipped == [
        f'line 1: "{deep}" cannot be translated: the message has arguments nested more than 20 '
        "levels deep"
    ]
