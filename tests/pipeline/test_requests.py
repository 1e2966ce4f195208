"""Requests read from text, tab-separated columns and JSON, with prefixes from a file."""

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from yakusu.errors import DataError
from yakusu.pipeline.requests import InputFormat, read_requests
from yakusu.translator.request import Request


def read(lines: list[str], input_format: InputFormat = "text") -> list[Request]:
    return list(read_requests(lines, name="input", input_format=input_format))


def test_a_line_of_text_is_a_sentence() -> None:
    lines = ["a boat", "", "a\ttab", '{"text": "a"}']
    assert read(lines) == [Request(line) for line in lines]


def test_the_second_column_is_the_prefix() -> None:
    lines = ["a boat\tein", "a boat", "a boat\t", "a boat\t ein Boot \r", "\tein", ""]
    assert read(lines, "tsv") == [
        Request("a boat", "ein"),
        Request("a boat"),
        Request("a boat"),
        Request("a boat", " ein Boot "),
        Request("", "ein"),
        Request(""),
    ]


def test_an_object_has_a_text_and_settings_of_its_own() -> None:
    lines = [
        '{"text": "a boat"}',
        ' {"text": "a\\nboat", "prefix": "ein", "include": ["Boot", "小舟"], "exclude": ["Kahn"]} ',
        '{"text": "", "include": []}\r',
    ]
    assert read(lines, "json") == [
        Request("a boat"),
        Request("a\nboat", "ein", include=("Boot", "小舟"), exclude=("Kahn",)),
        Request(""),
    ]


def test_requests_are_read_as_they_arrive() -> None:
    def arriving() -> Iterator[str]:
        yield "a boat\tein"
        pytest.fail("the second line is read before it is needed")

    requests = read_requests(arriving(), name="input", input_format="tsv")
    assert next(requests) == Request("a boat", "ein")


EXAMPLE = ': write an object such as {"text": "A cat.", "prefix": "Eine", "include": ["Katze"]}'


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "invalid JSON: EOF while parsing a value at line 1 column 0"),
        ("a boat", "invalid JSON: expected value at line 1 column 1"),
        ('{"text": "a"} {}', "invalid JSON: trailing characters at line 1 column 15"),
        ('["a boat"]', "input should be an object"),
        ("{}", "text: field required"),
        ('{"text": 5}', "text: input should be a valid string"),
        ('{"text": "a", "prefix": null}', "prefix: input should be a valid string"),
        ('{"text": "a", "include": "Boot"}', "include: input should be a valid array"),
        ('{"text": "a", "exclude": ["b", 5]}', "exclude.1: input should be a valid string"),
        ('{"text": "a", "includes": ["b"]}', "includes: unknown key"),
        ('{"text": "a", "details": {}}', "details: unknown key"),
    ],
)
def test_an_invalid_object_is_refused_with_its_line_and_key(line: str, told: str) -> None:
    with pytest.raises(DataError) as error:
        read(['{"text": "a boat"}', line], "json")
    assert str(error.value) == f"input, line 2: {told}{EXAMPLE}"


def test_a_third_column_is_refused_with_its_line() -> None:
    with pytest.raises(DataError) as error:
        read(["a boat", "a\tb\tc"], "tsv")
    assert str(error.value) == ("input, line 2: more than two columns: write sentence, tab, prefix")


@pytest.mark.parametrize("text", [r"a\nboat", r"a boat\n", r"a\r\nboat"])
def test_a_text_with_line_breaks_is_refused_where_the_output_has_one_line_for_each(
    text: str,
) -> None:
    lines = ['{"text": "a boat"}', f'{{"text": "{text}"}}']
    with pytest.raises(DataError) as error:
        list(read_requests(lines, name="input", input_format="json", single_lines=True))
    assert str(error.value) == (
        "input, line 2: the text has several lines, but plain output has one line for each text: "
        "add --format json, or write one object per line"
    )


def test_other_line_separators_do_not_break_the_lines_of_the_output() -> None:
    lines = [r'{"text": "a\u2028boat\r", "prefix": "ein\nBoot"}']
    found = read_requests(lines, name="input", input_format="json", single_lines=True)
    assert list(found) == [Request("a\u2028boat\r", "ein\nBoot")]


# ---- a file of prefixes --------------------------------------------------------------------------


@pytest.fixture
def prefixes(tmp_path: Path) -> Path:
    path = tmp_path / "prefixes"
    path.write_text("ein\n\n die  alte \n")
    return path


@pytest.mark.parametrize("n_lines", [3, None])
def test_each_sentence_gets_the_prefix_of_its_line(prefixes: Path, n_lines: int | None) -> None:
    found = read_requests(["a", "b", "c"], name="input", n_lines=n_lines, prefixes=prefixes)
    assert list(found) == [Request("a", "ein"), Request("b"), Request("c", "die  alte")]


@pytest.mark.parametrize("n_lines", [0, 2, 4])
def test_a_file_of_another_length_is_refused_before_the_first_sentence(
    prefixes: Path, n_lines: int
) -> None:
    with pytest.raises(DataError) as error:
        read_requests(["a"] * n_lines, name="input", n_lines=n_lines, prefixes=prefixes)
    assert str(error.value) == (
        f"input and {prefixes} differ in length ({n_lines} and 3 lines): align them line by line"
    )


@pytest.mark.parametrize(
    ("n_lines", "told"),
    [
        (2, "{prefixes} has more than the 2 lines of standard input"),
        (0, "{prefixes} has more than the 0 lines of standard input"),
        (5, "standard input has more than the 3 lines of {prefixes}"),
    ],
)
def test_a_pipe_of_another_length_is_refused_when_one_of_both_ends(
    prefixes: Path, n_lines: int, told: str
) -> None:
    requests = read_requests(["a"] * n_lines, name="standard input", prefixes=prefixes)
    for _ in range(min(n_lines, 3)):
        next(requests)
    with pytest.raises(DataError) as error:
        next(requests)
    assert str(error.value) == (
        f"{told.format(prefixes=prefixes)}: write one prefix per sentence, or an empty line for "
        "none"
    )


def test_prefixes_may_come_from_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_text, args=("ein\ndie\n",), daemon=True)
    writer.start()
    found = list(read_requests(["a", "b"], name="input", n_lines=2, prefixes=pipe))
    writer.join()
    assert found == [Request("a", "ein"), Request("b", "die")]


@pytest.mark.parametrize("n_lines", [1, None])
def test_a_missing_file_of_prefixes_is_refused(tmp_path: Path, n_lines: int | None) -> None:
    with pytest.raises(DataError, match="none does not exist: check the path"):
        list(read_requests(["a"], name="input", n_lines=n_lines, prefixes=tmp_path / "none"))


@pytest.mark.parametrize("input_format", ["tsv", "json"])
def test_a_file_of_prefixes_next_to_prefixes_in_the_input_is_refused(
    prefixes: Path, input_format: InputFormat
) -> None:
    with pytest.raises(DataError) as error:
        read_requests([], name="input", input_format=input_format, prefixes=prefixes)
    assert str(error.value) == f"{input_format} input has prefixes of its own: leave out --prefix"
