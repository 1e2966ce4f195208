"""YAML files: values are texts, and everything else keeps its bytes."""

import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.documents.shared import translated
from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.apps.yaml_scalars import is_typed, scalar_with
from yakusu.documents.messages.apps.yaml_strings import read
from yakusu.documents.messages.identifiers import is_language
from yakusu.errors import DataError

OPTIONS = DocumentOptions()
POLISH = DocumentOptions(("en", "pl"))
SOURCE = """\
# A comment: kept
en:
  hello: &x Hello world # kept
  quoted: "Two lamps for %{count}
    people"
  tagged: !!str 'It''s  open'
  lines: |
     line one
       line two

  # kept
  folded: >-
    some folded text
    with more words

    and a paragraph
  list: [one apple, 'two apples', *x]
  other_type: !ruby/object kept words
  indented: |2-
     text with a space
  plain: a long value
    on two lines
  switch: No
  symbol: :short
  number: 12_000
  date: 2020-01-01
  address: https://example.org/a
  <<: *x
"""


def upper(text: str) -> str:
    return text.upper().replace("%{COUNT}", "%{count}")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", "\ufeff"])
def test_values_are_texts_and_everything_else_stays(newline: str, before: str) -> None:
    data = (before + SOURCE.replace("\n", newline)).encode()
    document = read(data, OPTIONS)
    assert document.render(document.texts) == data
    assert [*document.skipped] == [
        "line 23: 'No' is a boolean for many readers, not text: quote it to have it translated",
        "line 27: 'https://example.org/a' looks like an identifier, not like text",
    ]
    expected = SOURCE.replace("Hello world", "HELLO WORLD").replace("It''s  open", "IT''S  OPEN")
    for old, new in (
        ('"Two lamps for %{count}\n    people"', '"TWO LAMPS FOR %{count} PEOPLE"'),
        ("a long value\n    on two lines", "A LONG VALUE ON TWO LINES"),
    ):
        expected = expected.replace(old, new)
    for text in (
        *("line one", "line two", "some folded text", "with more words", "and a paragraph"),
        *("one apple", "two apples", "text with a space"),
    ):
        expected = expected.replace(text, text.upper())
    assert translated(document, upper).decode() == before + expected.replace("\n", newline)


def test_rails_gets_the_language_and_its_plural_forms() -> None:
    data = (
        'en:\n  n:\n    one: "%{count} file"  # a\n    other: "%{count} files"  # b\n'
        "  flow: {one: a file, other: files}\n  menu:\n    one: First\n    title: Second\n"
    )
    document = read(data.encode(), POLISH)
    assert [*document.keys] == [
        "en.n",
        "en.n",
        "en.flow",
        "en.flow",
        "en.menu.one",
        "en.menu.title",
    ]
    assert translated(document, upper).decode() == (
        'pl:\n  n:\n    one: "%{count} FILE"  # a\n    other: "%{count} FILES"  # b\n'
        "    # yakusu: few, many from 'other', to be checked\n"
        '    few: "%{count} FILES"\n    many: "%{count} FILES"\n'
        "  flow: {one: A FILE, other: FILES, few: FILES, many: FILES}\n"
        "  menu:\n    one: FIRST\n    title: SECOND\n"
    )


@pytest.mark.parametrize(
    ("data", "target", "expected"),
    [
        ('"en-GB":\n  a: x', "de", '"de":\n  a: x'),
        ("en_US:\n  a: x", "pt-BR", "pt_BR:\n  a: x"),
        ("en:\n  a: x", "no", '"no":\n  a: x'),
        ("en:\n  a: x\nmore:\n  a: x", "de", "en:\n  a: x\nmore:\n  a: x"),
        ("en: x\nfr: x", "de", "en: x\nfr: x"),
        ("en-US:\n  a: x\nen-GB:\n  a: x", "de", "en-US:\n  a: x\nen-GB:\n  a: x"),
        ("is:\n  a: x", "de", "is:\n  a: x"),
        ("en:\n  a: x", "", "en:\n  a: x"),
        ("en: x", "de", "en: x"),
    ],
)
def test_only_a_single_key_of_the_source_language_is_renamed(
    data: str, target: str, expected: str
) -> None:
    document = read(data.encode(), DocumentOptions(("en", target)))
    assert document.render(document.texts).decode() == expected


@pytest.mark.parametrize("data", [b"en:\n  a: x\nfr:\n  a: x", b"fr:\n  a: x\n---\nen-GB:\n  a: x"])
def test_a_file_in_several_languages_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="has texts in several languages"):
        read(data, DocumentOptions(("en", "de")))
    document = read(data, DocumentOptions(("ja", "de")))
    assert document.render(document.texts) == data


def test_a_translation_does_not_change_the_indentation_of_a_block() -> None:
    data = b"a: |2\n   One lamp\n  Two lamps\nb: >\n\n  Three lamps\n"
    document = read(data, OPTIONS)
    for space in (" ", "\t"):
        assert document.render([space + text for text in document.texts]) == data
        assert len(document.skipped) == len(document.texts)


def test_icu_messages_and_positional_placeholders_are_checked() -> None:
    data = b"a: '{n, plural, one {# file} other {# files}}'\nb: \"%s of %d things\"\n"
    document = read(data, OPTIONS)
    assert len(document.texts) == 3
    assert document.render([*document.texts[:2], "%d things of %s"]) == data
    assert "line 2" in document.skipped[0] and "another order" in document.skipped[0]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ("a: [1, 2\nb: c", "line 2, column 2 is not valid YAML"),
        ("a: b: c", "line 1, column 5 is not valid YAML"),
        ("a: 1\n\tb: 2", "line 2, column 1 is not valid YAML"),
        ("a: x\nb: 'open", "is not valid YAML"),
        ("a: x\nb: \x01", "line 2, column 4 is not valid YAML"),
        ("a: *x", r"line 1, column 4 is not valid YAML \(\*x has no anchor\)"),
        ("a: &x [*x]", r"\(\*x contains itself\)"),
        ("[" * 100_000, "line 1: the YAML has more than 100 levels"),
        ("{a: " * 100_000, "line 1: the YAML has more than 100 levels"),
        ("- " * 100_000, "line 1: the YAML has more than 100 levels"),
    ],
)
def test_invalid_yaml_is_refused_with_line_and_column(data: str, place: str) -> None:
    with pytest.raises(DataError, match=place):
        read(data.encode(), OPTIONS)
    with pytest.raises(DataError, match="line 2: byte 0xff"):
        read(b"a: x\nb: \xff", OPTIONS)


def test_aliases_that_stand_for_too_many_values_are_refused() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
    )
    with pytest.raises(DataError, match="aliases stand for more than 10,000,000 values"):
        read(bomb.encode(), OPTIONS)


def test_typed_values_are_those_of_a_reader() -> None:
    for value in (
        "12",
        "1_000",
        "0x1F",
        "1.5e3",
        ".inf",
        "2020-01-01",
        "12:30:45",
        "~",
        "Yes",
        "y",
    ):
        assert is_typed(value)
    for value in ("12 apples", "Yes please", "v1", "one", "1st"):
        assert not is_typed(value)


TEXT = st.text(
    st.sampled_from("ab é:#'\"\\-?,[]{}&*!|>%@`\n\t日\U0001f600\x85\u2028%"), max_size=12
)
WORDS = TEXT | st.sampled_from(["No", "12", "null", "a: b", "a #b", "- a", "'a", "a\nb c\n", "=a"])


@settings(deadline=None)
@given(WORDS, WORDS, st.sampled_from([None, "'", '"', "|", ">"]), st.booleans())
def test_a_scalar_has_the_new_value(old: str, new: str, style: Any, in_flow: bool) -> None:
    old, new = f"x{old}x\n"[: len(old) + 2], new.strip() or "x"
    dumped: str = yaml.dump(
        {"k": [old, "z"]}, default_style=style, default_flow_style=in_flow, allow_unicode=True
    )
    events = [each for each in yaml.parse(dumped) if isinstance(each, yaml.ScalarEvent)]
    event = next((each for each in events if each.value == old), None)
    assume(event is not None)  # PyYAML does not write every value so that it reads it again
    assert event
    start, end = event.start_mark.index, event.end_mark.index
    written = scalar_with(dumped[start:end], old, new, in_flow=in_flow)
    if written is not None:
        loaded = yaml.safe_load(dumped[:start] + written + dumped[end:])
        assert loaded == {"k": [new, "z"]}


VALUES = st.recursive(
    WORDS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
STYLE = st.fixed_dictionaries(
    {
        "default_style": st.sampled_from([None, "'", '"', "|", ">"]),
        "default_flow_style": st.sampled_from([None, True, False]),
        "allow_unicode": st.booleans(),
        "indent": st.sampled_from([2, 4]),
        "width": st.sampled_from([10, 80]),
        "explicit_start": st.booleans(),
    }
)


def changed(value: Any, path: tuple[Any, ...] = ()) -> Any:
    """The oracle: the same change of the loaded value."""
    if isinstance(value, dict):
        return {key: changed(item, (*path, str(key))) for key, item in value.items()}
    if isinstance(value, list):
        return [changed(item, path) for item in value]
    if not isinstance(value, str) or not is_language(value, path):
        return value
    body = value.strip()
    return value.replace(body, f"<< {body} >>: x", 1)


@settings(deadline=None)
@given(VALUES, STYLE)
def test_changed_translations_change_nothing_else(value: Any, style: dict[str, Any]) -> None:
    data: str = yaml.safe_dump(value, **style)
    document = read(data.encode(), OPTIONS)
    assert document.render(document.texts).decode() == data
    result = document.render([f"<< {text} >>: x" for text in document.texts])
    if not document.skipped:
        assert yaml.safe_load(result) == changed(yaml.safe_load(data))
    else:
        yaml.safe_load(result)


def test_files_of_installed_packages_come_back_byte_for_byte() -> None:
    folders = (
        "material/plugins/social",
        "mkdocs/themes",
        "ray/autoscaler/aws",
        "ray/autoscaler/gcp",
    )
    root = Path(sysconfig.get_path("purelib"))
    files = [path for name in folders for path in (root / name).rglob("*.y*ml")]
    if not files:
        pytest.skip("none of the packages is installed")
    for path in files:
        data = path.read_bytes()
        document = read(data, OPTIONS)
        assert document.render(document.texts) == data, path
        written = document.render([f"{text} +" for text in document.texts])
        assert len(written) >= len(data) and len(read(written, OPTIONS).texts) == len(
            document.texts
        )
