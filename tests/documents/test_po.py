"""PO files: untranslated messages are texts, and every other line keeps its bytes."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yakusu.data.files.po import Entry, PoReader
from yakusu.data.lines.private_use import empty
from yakusu.documents.document import DocumentOptions, Known
from yakusu.documents.messages.identifiers import is_key
from yakusu.documents.messages.po import PoDocument, read
from yakusu.documents.messages.po_file import PoFile
from yakusu.errors import DataError

HEADER = (
    '# Comment of the header\nmsgid ""\nmsgstr ""\n"Project-Id-Version: x\\n"\n'
    '"Content-Type: text/plain; charset=UTF-8\\n"\n'
    '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n'
)


def opened(data: str | bytes, *, retranslate: bool = False) -> PoDocument:
    raw = data.encode() if isinstance(data, str) else data
    return read(raw, DocumentOptions(retranslate=retranslate))


def rendered(data: str, translations: list[str], *, retranslate: bool = False) -> str:
    return opened(data, retranslate=retranslate).render(translations).decode()


def test_untranslated_messages_are_texts_and_become_fuzzy() -> None:
    data = HEADER + '#: a.c:1\nmsgctxt "menu"\nmsgid "Open"\nmsgstr ""\n'
    assert opened(data).texts == ["Open"]
    assert rendered(data, ["Öffnen"]) == data.replace(
        'msgctxt "menu"', '#, fuzzy\nmsgctxt "menu"'
    ).replace('msgid "Open"\nmsgstr ""', 'msgid "Open"\nmsgstr "Öffnen"')


def test_messages_that_a_memory_has_exactly_are_not_fuzzy() -> None:
    """A message with two texts is one of them only if both are."""
    entries = (
        'msgid "One"\nmsgid_plural "Ones"\nmsgstr[0] ""\nmsgstr[1] ""\n',
        'msgid "Two"\nmsgstr ""\n',
    )
    document = opened(HEADER + "\n".join(entries))
    document.tell({0: Known(100), 2: Known(100)})
    written = document.render(["Eins", "Einsen", "Zwei"]).decode()
    assert '#, fuzzy\nmsgid "One"' in written
    assert '\n\nmsgid "Two"' in written
    document.tell({0: Known(100), 1: Known(100), 2: Known(99)})
    written = document.render(["Eins", "Einsen", "Zwei"]).decode()
    assert '\n\nmsgid "One"' in written
    assert '#, fuzzy\nmsgid "Two"' in written


def test_fuzzy_goes_first_among_flags_and_before_previous_messages() -> None:
    data = HEADER + (
        '#, c-format\n#| msgid "Old"\nmsgid "One %d"\nmsgstr ""\n\n'
        '#. note\n#| msgctxt "x"\n#| msgid "Old"\nmsgid "Two"\nmsgstr ""\n\n'
        '#, fuzzy, no-wrap\nmsgid "Three"\nmsgstr ""\n'
    )
    result = rendered(data, ["Eins %d", "Zwei", "Drei"])
    assert '#, fuzzy, c-format\n#| msgid "Old"\nmsgid "One %d"\nmsgstr "Eins %d"\n' in result
    assert '#. note\n#, fuzzy\n#| msgctxt "x"\n' in result
    assert '#, fuzzy, no-wrap\nmsgid "Three"\nmsgstr "Drei"\n' in result


def test_translated_fuzzy_and_obsolete_messages_stay() -> None:
    data = HEADER + (
        'msgid   "One"\nmsgstr "Ei"\n"ns"\n\n#, fuzzy\nmsgid "Two"\nmsgstr "Drei"\n\n'
        '#, fuzzy\n#~ msgid "Old"\n#~ msgstr ""\n#~| msgid "Older"\n'
    )
    assert opened(data).texts == []
    assert rendered(data, []) == data
    assert opened(data, retranslate=True).texts == ["One", "Two"]


def test_retranslating_to_the_same_strings_changes_nothing() -> None:
    data = HEADER + 'msgid "One"\nmsgstr "Ei"\n"ns"\n'
    assert rendered(data, ["Eins"], retranslate=True) == data
    assert rendered(data, ["Eine"], retranslate=True).endswith(
        '#, fuzzy\nmsgid "One"\nmsgstr "Eine"\n'
    )


def plural(header: str, forms: str, *, retranslate: bool = False) -> str:
    data = header + f'msgid "%d cat"\nmsgid_plural "%d cats"\n{forms}'
    document = opened(data, retranslate=retranslate)
    return document.render([f"<{text}>" for text in document.texts]).decode()[len(header) :]


def test_plurals_have_the_number_of_forms_of_the_header() -> None:
    result = '#, fuzzy\nmsgid "%d cat"\nmsgid_plural "%d cats"\n'
    two = 'msgstr[0] ""\nmsgstr[1] ""\n'
    assert plural(HEADER, two) == result + 'msgstr[0] "<%d cat>"\nmsgstr[1] "<%d cats>"\n'
    one = HEADER.replace("nplurals=2; plural=(n != 1)", "nplurals=1; plural=0")
    assert plural(one, two) == result + 'msgstr[0] "<%d cats>"\n'
    three = HEADER.replace("nplurals=2; plural=(n != 1)", "nplurals=3; plural=n==1?0:n==2?1:2")
    expected = 'msgstr[0] "<%d cat>"\nmsgstr[1] "<%d cats>"\nmsgstr[2] "<%d cats>"\n'
    assert plural(three, two) == result + expected
    assert plural(three, two[:-1]) == result + expected[:-1]  # no line end at the end of the file


def test_the_singular_is_the_form_of_the_number_one() -> None:
    header = HEADER.replace("nplurals=2; plural=(n != 1)", "nplurals=3; plural=n==0?0:n==1?1:2")
    assert plural(header, 'msgstr[0] ""\nmsgstr[1] ""\nmsgstr[2] ""\n').endswith(
        'msgstr[0] "<%d cats>"\nmsgstr[1] "<%d cat>"\nmsgstr[2] "<%d cats>"\n'
    )


def test_without_plural_forms_the_entry_gives_the_number() -> None:
    for forms in ("nplurals=INTEGER; plural=EXPRESSION", "nplurals=999999999; plural=0", "x"):
        header = HEADER.replace("nplurals=2; plural=(n != 1)", forms)
        assert plural(header, 'msgstr[0] ""\nmsgstr[1] ""\n').endswith(
            'msgstr[0] "<%d cat>"\nmsgstr[1] "<%d cats>"\n'
        )


def test_forms_that_are_translated_stay() -> None:
    assert plural(HEADER, 'msgstr[0] "%d Katze"\nmsgstr[1] ""\n').endswith(
        'msgstr[0] "%d Katze"\nmsgstr[1] "<%d cats>"\n'
    )


def test_a_translated_plural_with_fewer_forms_than_the_header_states_stays() -> None:
    header = HEADER.replace("nplurals=2", "nplurals=4")
    forms = 'msgstr[0] "%d Katze"\nmsgstr[1] "%d Katzen"\n'
    assert plural(header, forms) == f'msgid "%d cat"\nmsgid_plural "%d cats"\n{forms}'


def test_leading_and_trailing_line_breaks_are_those_of_the_source() -> None:
    data = HEADER + 'msgid ""\n"\\n"\n"One\\n"\n"two\\n"\nmsgstr ""\n'
    assert opened(data).texts == ["One\ntwo"]
    assert rendered(data, ["Eins\nzwei"]).endswith('msgstr ""\n"\\n"\n"Eins\\n"\n"zwei\\n"\n')


def test_escapes_are_decoded_and_written() -> None:
    data = HEADER + 'msgid "A \\"b\\" \\\\ \\t c \\303\\244 \\x41."\nmsgstr ""\n'
    assert opened(data).texts == ['A "b" \\ \t c ä A.']
    assert rendered(data, ['"\\ \tx']).endswith('msgstr "\\"\\\\ \\tx"\n')


LONG = "A sentence that is certainly too long for a single line of seventy-nine columns, and more."


def test_long_strings_are_wrapped_as_gettext_does() -> None:
    data = (
        HEADER + f'msgid "Word"\nmsgstr ""\n\nmsgid ""\n"{LONG[:50]}"\n"{LONG[50:]}"\nmsgstr "x"\n'
    )
    lines = rendered(data, [LONG]).splitlines()
    start = lines.index('msgstr ""', 9)
    assert lines[start + 1 : start + 3] == [
        '"A sentence that is certainly too long for a single line of seventy-nine "',
        '"columns, and more."',
    ]


@pytest.mark.skipif(not shutil.which("msgcat"), reason="gettext is not installed")
@pytest.mark.parametrize(
    "words",
    [
        "部屋 の 番号 は 、 ｛ 160 です 。 「 カタカナ 」 ッ ょ ー ・ ABC （ ％ ） %s … ！ 々",
        "我们 的 房间 。 ， 《 》 “ ” （ ） ： English 12 ！ —— …… %d ·",
        "방 번호는 입니다. (네) 그리고, 안녕하세요 100%",
        'well-known (see) \\"it\\" 3.5 10,000 e.g. http://a.org/b/c?d=e --flag x/y … – — A&B \\\\',
    ],
)
def test_strings_are_wrapped_between_ideographs_as_msgcat_does(words: str) -> None:
    draw = random.Random(1)
    separator = "" if "。" in words else " "
    data = HEADER
    for i in range(40):
        value = separator.join(draw.choices(words.split(), k=draw.randint(5, 60)))
        data += f'msgid "{i}"\nmsgstr "{i} {value}"\n\n'
    expected = subprocess.run(["msgcat", "-"], input=data.encode(), capture_output=True, check=True)
    written = [
        f'msgid "{entry.strings["msgid"].value}"\n'
        + "\n".join(PoFile(HEADER.encode()).write("msgstr", entry.forms[0].value))
        for entry in PoFile(data.encode()).entries[1:]
    ]
    assert "\n\n".join(written) == expected.stdout.decode().partition("\n\n")[2].rstrip("\n")


def test_long_strings_stay_on_one_line_in_files_without_wrapping() -> None:
    data = HEADER + f'msgid "Word"\nmsgstr ""\n\nmsgid "{LONG}"\nmsgstr "x"\n'
    assert f'msgstr "{LONG}"\n' in rendered(data, [LONG])
    assert f'msgstr ""\n"{LONG}\\n"\n"b"\n' in rendered(data, [f"{LONG}\nb"])


def test_entries_that_forbid_it_are_not_wrapped() -> None:
    data = HEADER + '#, no-wrap\nmsgid "One"\nmsgstr ""\n\nmsgid "Two"\nmsgstr ""\n'
    result = rendered(data, [LONG, LONG])
    assert f'msgid "One"\nmsgstr "{LONG}"\n' in result
    assert f'msgid "Two"\nmsgstr ""\n"{LONG[:70]}' in result
    flagged = f'#, no-wrap\nmsgid "{LONG}"\nmsgstr "x"\n\nmsgid "Two"\nmsgstr ""\n'
    assert f'msgid "Two"\nmsgstr ""\n"{LONG[:70]}' in rendered(HEADER + flagged, [LONG])


def test_line_ends_and_the_byte_order_mark_stay() -> None:
    data = "\ufeff" + (HEADER + 'msgid "One"\nmsgstr ""\n').replace("\n", "\r\n")
    assert rendered(data, ["Eins"]) == data.replace(
        'msgid "One"\r\nmsgstr ""', '#, fuzzy\r\nmsgid "One"\r\nmsgstr "Eins"'
    )


def test_the_charset_of_the_header_is_used() -> None:
    header = HEADER.replace("UTF-8", "ISO-8859-1")
    data = (header + 'msgid "Größe"\nmsgstr ""\n\nmsgid "Two"\nmsgstr ""\n').encode("latin-1")
    document = opened(data)
    assert document.texts == ["Größe", "Two"]
    assert b'msgstr "\xc3bc"' in document.render(["Ãbc", "日本"])
    assert list(document.skipped) == ["line 11: ISO-8859-1, the charset of the header, has no '日'"]


def test_bytes_of_other_charsets_are_not_taken_for_backslashes() -> None:
    data = (HEADER.replace("UTF-8", "SHIFT_JIS") + 'msgid "表"\nmsgstr ""\n').encode("shift_jis")
    document = opened(data)
    assert document.texts == ["表"]
    assert document.render(["ソ"]) == data.replace(
        b'msgid "\x95\x5c"\nmsgstr ""', b'#, fuzzy\nmsgid "\x95\x5c"\nmsgstr "\x83\x5c"'
    )


@pytest.mark.parametrize(
    ("flag", "source", "translation"),
    [
        ("c-format", "%d of %s", "%s von %s"),
        ("c-format", "%d of %s", "%d von %s zu 100 %"),
        ("python-format", "%(a)s and %(b)d", "%(a)s und %(c)d"),
        ("python-brace-format", "{a} and {}", "{a}"),
        ("qt-format", "%1 of %2", "%1 von"),
    ],
)
def test_messages_whose_placeholders_change_stay_untranslated(
    flag: str, source: str, translation: str
) -> None:
    data = HEADER + f'#, {flag}\nmsgid "{source}"\nmsgstr ""\n'
    document = opened(data)
    assert document.render([translation]).decode() == data
    assert document.skipped[0].startswith(f"line 9: the translation of {source!r} has other")
    assert f'msgstr "{translation}"' in rendered(data.replace(flag, "no-wrap"), [translation])


@pytest.mark.parametrize(
    ("flag", "source", "may_be_swapped"),
    [
        ("c-format", "%d of %s", False),
        ("c-format", "%-5d of %.2f", False),
        ("c-format", "%1$d of %2$s", True),
        ("python-format", "%(a)s and %(b)d", True),
        ("python-brace-format", "{} and {:.2f}", False),
        ("python-brace-format", "{a} and {}", True),
        ("python-brace-format", "{0} and {1}", True),
        ("qt-format", "%1 of %2", True),
    ],
)
def test_only_placeholders_with_names_or_numbers_may_be_swapped(
    flag: str, source: str, may_be_swapped: bool
) -> None:
    data = HEADER + f'#, {flag}\nmsgid "{source}"\nmsgstr ""\n'
    swapped = " ".join(reversed(source.split()))
    document = opened(data)
    assert (f'msgstr "{swapped}"' in document.render([swapped]).decode()) == may_be_swapped
    assert may_be_swapped or "has placeholders in another order (" in document.skipped[0]


def test_positional_placeholders_keep_their_order_without_a_flag() -> None:
    data = HEADER + 'msgid "%d of %s"\nmsgstr ""\n\nmsgid "%1$d of %2$s"\nmsgstr ""\n'
    document = opened(data)
    result = document.render(["%s: %d", "%2$s: %1$d"]).decode()
    assert 'msgstr ""' in result and 'msgstr "%2$s: %1$d"' in result
    assert "has placeholders in another order (%s, %d)" in document.skipped[0]


def test_plural_forms_between_bars_are_texts() -> None:
    data = HEADER + 'msgid "no rooms | {n} rooms"\nmsgstr ""\n\nmsgid "add|rm X"\nmsgstr ""\n'
    assert opened(data).texts == ["no rooms", "{n} rooms", "add|rm X"]
    assert 'msgstr "x | y"' in rendered(data, ["x", "y", "z"])
    assert 'msgstr ""' in rendered(data, ["x", "y | y", "z"])


def test_blank_translations_are_counted() -> None:
    data = HEADER + 'msgid "One"\nmsgstr ""\n'
    document = opened(data)
    assert document.render([""]).decode() == data
    reason = "the translation of 'One' is blank, or its numbers or markup differ"
    assert list(document.skipped) == [f"line 8: {reason}"]


def test_icu_messages_have_a_text_for_each_branch() -> None:
    data = HEADER + (
        '#, python-brace-format\nmsgid "{n, plural, one {# cat} other {# cats}}"\nmsgstr ""\n'
    )
    assert opened(data).texts == [f"{empty(0)} cat", f"{empty(0)} cats"]
    assert 'msgstr "{n, plural, one {# Katze} other {# Katzen}}"' in rendered(
        data, [f"{empty(0)} Katze", f"{empty(0)} Katzen"]
    )


def test_what_gettext_allows_is_read() -> None:
    data = (
        '#Translator\n\t msgid"One" "\u2028two"\n\nmsgstr\n\t""\n#\n#, fuzzy\n\n'
        '##\nmsgid ""\nmsgctxt "a"\n"b"\nmsgstr[0] ""\n'
    )
    assert opened(data).texts == ["One\u2028two"]
    assert opened("").texts == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('msgid "a"\nmsgstr "b\n', "line 2: the string must be enclosed"),
        ('msgid "a" b"\nmsgstr ""\n', "line 1: the string must be enclosed"),
        ('msgid "a"\n\nmsgid "b"\nmsgstr ""\n', "line 3: msgid is not expected"),
        ('msgid "a"\n#~ msgid "b"\n', "line 1: the entry has no msgstr"),
        ('msgid "a"\nmsgstr ""\nmsgstr ""\n', "line 3: msgstr is not expected"),
        ('msgstr ""\n', "line 1: msgstr is not expected"),
        ('"a"\n', "line 1: a string without msgid"),
        ("hello\n", "line 1 is not valid in a PO file"),
        (f'msgid "a"\nmsgstr[{"9" * 5000}] ""\n', "line 2: the string must be enclosed"),
        (HEADER.replace("UTF-8", "x-none"), "charset x-none of the header is unknown"),
        (HEADER.replace("UTF-8", "cp037"), "charset cp037 of the header is unknown"),
        (HEADER.encode() + b'msgid "\xff"\nmsgstr ""\n', "line 8 is not UTF-8"),
    ],
)
def test_invalid_files_are_reported(data: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(data)


STRINGS = st.text(
    st.sampled_from('ab "\\\n\té日%{}\U000f0002')
    | st.characters(codec="utf-8", exclude_categories=["Cc"])
)
COMMENTS = ["# A comment", "#. A note", "#: a.c:1", '#| msgid "Before"', "#, no-wrap", "#, fuzzy"]
ENTRIES = st.tuples(
    st.lists(st.sampled_from(COMMENTS), unique=True).map(
        lambda them: sorted(them, key=COMMENTS.index)
    ),
    st.none() | st.sampled_from(["menu", ""]),  # msgctxt
    STRINGS.filter(bool),  # msgid
    st.sampled_from(["", "", "Ja", "Ja\n"]),  # msgstr
)


def quoted(text: str, width: int) -> str:
    """A string of a PO file, divided into lines."""
    chunks = [text[at : at + width] for at in range(0, len(text), width)] or [""]
    names = {"\n": "\\n", '"': '\\"', "\\": "\\\\"}
    return "\n".join(f'"{"".join(names.get(c, c) for c in chunk)}"' for chunk in chunks)


def entries_of(data: str) -> list[Entry]:
    return list(PoReader("UTF-8").entries(data.split("\n")))


def fields(entry: Entry) -> tuple[object, ...]:
    """Everything but the translation and whether it is fuzzy."""
    return {key: item.value for key, item in entry.strings.items()}, entry.flags - {"fuzzy"}


def comments(data: str) -> list[str]:
    """Lines with comments that are not flags."""
    return [line for line in data.split("\n") if line.startswith("#") and line[1:2] != ","]


@settings(deadline=None)
@given(
    st.lists(st.tuples(ENTRIES, st.booleans()), max_size=4),
    st.sampled_from([10, 78, 1000]),
    st.booleans(),
)
def test_nothing_but_the_translations_and_fuzzy_changes(
    entries: list[tuple[tuple[list[str], str | None, str, str], bool]],
    width: int,
    retranslate: bool,
) -> None:
    data = HEADER
    for (lines, context, msgid, msgstr), obsolete in entries:
        lines = [*lines, *([] if context is None else [f"msgctxt {quoted(context, width)}"])]
        text = "\n".join(
            [*lines, f"msgid {quoted(msgid, width)}", f"msgstr {quoted(msgstr, width)}"]
        )
        data += "\n" + ("#~ " + text.replace("\n", "\n#~ ") if obsolete else text) + "\n"
    document = opened(data, retranslate=retranslate)
    assert document.render([" "] * len(document.texts)) == data.encode()
    result = document.render([f"x{text}y" for text in document.texts]).decode()
    assert comments(result) == comments(data)
    before, after = entries_of(data), entries_of(result)
    assert list(map(fields, after)) == list(map(fields, before))
    for old, new in zip(before, after, strict=True):
        msgid, was, now = old.strings["msgid"].value, old.forms[0].value, new.forms[0].value
        body = msgid.strip()
        if (was and not retranslate) or not any(map(str.isalpha, body)) or is_key(msgid):
            assert (now, new.flags) == (was, old.flags)
        else:
            assert now == msgid.replace(body, f"x{body}y")
            assert "fuzzy" in new.flags


@pytest.mark.parametrize("key", ["action.save", "btn_ok", "openFile", "menu.1.new-file"])
def test_keys_of_messages_stay_and_are_reported(key: str) -> None:
    data = HEADER + f'msgid "{key}"\nmsgstr ""\n\nmsgid "read-only"\nmsgstr ""\n'
    document = opened(data)
    assert document.texts == ["read-only"]
    result = document.render(["nur lesen"]).decode()
    assert f'msgid "{key}"\nmsgstr ""\n' in result
    assert list(document.skipped) == [f"line 8: {key!r} looks like an identifier, not like text"]


def test_a_byte_order_mark_stays_at_the_start() -> None:
    data = b'\xef\xbb\xbfmsgid "Yes"\nmsgstr ""\n'
    expected = b'\xef\xbb\xbf#, fuzzy\nmsgid "Yes"\nmsgstr "Ja"\n'
    assert opened(data).render(["Ja"]) == expected


@pytest.mark.skipif(not shutil.which("msgfmt"), reason="gettext is not installed")
def test_gettext_accepts_the_result(tmp_path: Path) -> None:
    data = HEADER + (
        '#, c-format\nmsgid "\\n%d cat\\n"\nmsgid_plural "\\n%d cats\\n"\n'
        'msgstr[0] ""\nmsgstr[1] ""\n\n#, python-format\nmsgid "%(a)s \\"x\\"\\n"\nmsgstr ""\n\n'
        f'#| msgid "old"\nmsgid "{LONG}"\nmsgstr ""\n\n#~ msgid "gone"\n#~ msgstr "weg"\n'
    )
    normal = subprocess.run(["msgcat"], input=data.encode(), capture_output=True, check=True)
    document = opened(normal.stdout)
    path = tmp_path / "de.po"
    path.write_bytes(document.render([f"{text} 日本語 é" for text in document.texts]))
    command = ["msgfmt", "--check-format", "--use-fuzzy", "-o", str(tmp_path / "de.mo"), str(path)]
    assert subprocess.run(command, capture_output=True).stderr == b""
    normal = subprocess.run(["msgcat", str(path)], capture_output=True, check=True)
    assert normal.stdout == path.read_bytes()  # wrapped as gettext does


def test_a_number_of_plurals_of_any_length_is_read() -> None:
    header = HEADER.replace("nplurals=2", f"nplurals={'9' * 5000}")
    assert list(opened(header + 'msgid "one"\nmsgstr ""\n').texts) == ["one"]


def in_language(language: str) -> str:
    return HEADER.replace('"Project', f'"Language: {language}\\n"\n"Project')


@pytest.mark.parametrize(
    "language", ["", "de", "de_AT", "de-CH", "deu", "German", "de@formal", "x"]
)
def test_a_file_in_the_target_language_is_read(language: str) -> None:
    data = (in_language(language) + 'msgid "One"\nmsgstr ""\n').encode()
    assert list(read(data, DocumentOptions(("en", "de"))).texts) == ["One"]


@pytest.mark.parametrize("model", ["de", "de-DE"])
@pytest.mark.parametrize("language", ["fr", "pt_BR", "French"])
def test_a_file_in_another_language_is_refused(language: str, model: str) -> None:
    data = (in_language(language) + 'msgid "One"\nmsgstr ""\n').encode()
    with pytest.raises(DataError) as error:
        read(data, DocumentOptions(("en", model)))
    assert str(error.value) == (
        f"line 3: the target language of the file is {language!r}, but the model translates into "
        f"{model!r}: use another model, or correct the language of the file"
    )
    assert list(read(data, DocumentOptions()).texts) == ["One"]
    assert list(read(in_language(language).encode(), DocumentOptions(("en", model))).texts) == []


@pytest.mark.parametrize(
    "part", [b"Content-Type:", b"Content-Type: charset", b"charset=", b"\nmsgid"]
)
def test_a_long_line_that_looks_like_a_charset_is_refused(part: bytes) -> None:
    data = b"Content-Type:" + part * (2**22 // len(part))
    with pytest.raises(DataError):
        read(data, DocumentOptions())


def test_messages_beyond_a_limit_stay_and_are_reported() -> None:
    deep = "{n, plural, other {a " * 22 + "}}" * 22
    data = f'msgid "{deep}"\nmsgstr ""\n'
    document = opened(data)
    assert list(document.texts) == []
    assert document.render([]).decode() == data
    assert document.skipped == ["line 1: the message has arguments nested more than 20 levels deep"]


def test_a_message_that_is_kept_is_reported_with_the_reason() -> None:
    data = b'msgid "Save"\nmsgstr ""\n\nmsgid "Open"\nmsgstr ""\n'
    document = read(data, DocumentOptions())
    document.tell({1: Known(kept="its quality is too low")})
    written = document.render(["Sichern", ""])
    assert written.endswith(b'msgid "Open"\nmsgstr ""\n')
    assert document.skipped == ["line 4: its quality is too low"]


def test_a_template_gets_the_plural_forms_of_the_target_language() -> None:
    header = (
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
        '"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n\n'
    )
    entry = 'msgid "%d file"\nmsgid_plural "%d files"\n'
    data = (header + entry + 'msgstr[0] ""\nmsgstr[1] ""\n').encode()
    document = read(data, DocumentOptions(("en", "pl")))
    written = document.render(["%d plik", "%d pliki"]).decode()
    assert '"Plural-Forms: nplurals=3; plural=(n==1 ? 0 :' in written
    forms = 'msgstr[0] "%d plik"\nmsgstr[1] "%d pliki"\nmsgstr[2] "%d pliki"\n'
    assert written.endswith("\n\n#, fuzzy\n" + entry + forms)
    unknown = read(data, DocumentOptions())
    assert unknown.render(["a %d", "b %d"]).decode().startswith(header)
