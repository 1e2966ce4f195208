"""Reads the requests of a translation: sentences with prefixes and phrases of their own.

text   a sentence per line
tsv    a sentence and the prefix of its translation, separated by a tab
json   an object per line: {"text": ..., "prefix": ..., "include": [...], "exclude": [...]}
"""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from yakusu.data.files.text import count_lines, read_lines
from yakusu.errors import DataError, unequal
from yakusu.translator.request import Request

if TYPE_CHECKING:
    from pydantic import TypeAdapter

InputFormat = Literal["text", "tsv", "json"]


def read_requests(
    lines: Iterable[str],
    *,
    name: str,
    n_lines: int | None = None,
    input_format: InputFormat = "text",
    prefixes: str | Path | None = None,
    single_lines: bool = False,
) -> Iterator[Request]:
    """Read requests in order, as they arrive.

    Args:
        lines: The lines of the source.
        name: Name of the source in error messages.
        n_lines: Number of lines, if it is known.
        input_format: How a line is read.
        prefixes: File with a prefix per line; an empty line means no prefix.
        single_lines: Refuse texts with line breaks, whose translations would be several lines of
            plain output.

    Raises:
        DataError: A line is invalid, or `prefixes` has another number of lines than the source.
    """
    if prefixes is None:
        read_object = _single_line if single_lines else _object
        parse = {"text": _plain, "tsv": _columns, "json": read_object}[input_format]
        return (parse(line, f"{name}, line {n}") for n, line in enumerate(lines, start=1))
    if input_format != "text":
        raise DataError(f"{input_format} input has prefixes of its own: leave out --prefix")
    of_pipe = Path(prefixes).is_fifo()  # it can be read only once
    if n_lines is not None and not of_pipe and n_lines != (n_prefixes := count_lines(prefixes)):
        raise unequal(name, n_lines, str(prefixes), n_prefixes)
    return _with_prefixes(lines, name, prefixes)


def _with_prefixes(lines: Iterable[str], name: str, prefixes: str | Path) -> Iterator[Request]:
    for number, (line, prefix) in enumerate(zip_longest(lines, read_lines(prefixes)), start=1):
        if line is None or prefix is None:
            longer, shorter = (prefixes, name) if line is None else (name, prefixes)
            raise DataError(
                f"{longer} has more than the {number - 1:,} lines of {shorter}: write one prefix "
                "per sentence, or an empty line for none"
            )
        yield Request(line, prefix)


def _plain(line: str, place: str) -> Request:
    return Request(line)


def _columns(line: str, place: str) -> Request:
    text, _, prefix = line.rstrip("\r\n").partition("\t")
    if "\t" in prefix:
        raise DataError(f"{place}: more than two columns: write sentence, tab, prefix")
    return Request(text, prefix)


@cache
def _request() -> "TypeAdapter[Request]":
    from pydantic import TypeAdapter

    return TypeAdapter(Request)


def _object(line: str, place: str) -> Request:
    from pydantic import ValidationError  # slow to load, and not needed for text

    try:
        return _request().validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        message = first["msg"][0].lower() + first["msg"][1:]
        if first["type"] == "unexpected_keyword_argument":
            message = "unknown key"
        raise DataError(
            f"{place}: {key}{': ' if key else ''}{message}: write an object such as "
            '{"text": "A cat.", "prefix": "Eine", "include": ["Katze"]}'
        ) from error


def _single_line(line: str, place: str) -> Request:
    request = _object(line, place)
    if "\n" in request.text:
        raise DataError(
            f"{place}: the text has several lines, but plain output has one line for each text: "
            "add --format json, or write one object per line"
        )
    return request
