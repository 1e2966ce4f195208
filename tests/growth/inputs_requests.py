"""Bodies of requests that grow, and what a connection receives."""

from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Any

import h11

from tests.growth.crafted import Crafted
from yakusu.documents.document import DocumentOptions
from yakusu.documents.html import html
from yakusu.serve.api.texts import BestTexts, html_bytes, translate_html
from yakusu.serve.api.v1 import TranslateBody, parsed_body
from yakusu.serve.config import Limits
from yakusu.serve.http.fields import parse_json
from yakusu.serve.http.forms import multipart, pairs
from yakusu.serve.http.protocol import LimitedConnection

_MOST = 10**9
_LIMITS = Limits(body=_MOST, file=_MOST, texts=_MOST, values=_MOST, terms=_MOST, depth=_MOST)
_OPTIONS = {b"boundary": b"x" * 70}


def _repeated(
    begin: bytes, unit: bytes, end: bytes = b"", make: Callable[[bytes], Any] = bytes
) -> Callable[[int], Any]:
    """A function that repeats a unit up to a size."""
    return lambda n: make(begin + unit * (n // len(unit)) + end)


def _form(body: bytes) -> object:
    return pairs(body, "utf-8", _LIMITS)


def _json(body: bytes) -> object:
    return parse_json(body, _LIMITS)


def _counted(body: bytes) -> object:
    """Read as by default: beyond `limits.values`, keys are only counted."""
    return parsed_body(body, TranslateBody, Limits())


def _numbered_keys(n: int) -> bytes:
    return b"{" + b",".join(b'"%07d":1' % i for i in range(n // 12)) + b"}"


def _request(body: bytes) -> object:
    return parsed_body(body, TranslateBody, _LIMITS)


def _with_file(body: bytes) -> object:
    return multipart(BytesIO(body), _OPTIONS, _LIMITS)


def _part(content: bytes, *, name: bytes = b"q") -> bytes:
    head = b'Content-Disposition: form-data; name="%s"\r\n\r\n' % name
    return b"--" + _OPTIONS[b"boundary"] + b"\r\n" + head + content + b"\r\n"


def _connection(data: bytes) -> object:
    """Receive bytes as a connection does."""
    connection = LimitedConnection(h11.SERVER, _MOST)
    with suppress(h11.RemoteProtocolError):  # the request is refused
        for at in range(0, len(data), 4096):
            connection.receive_data(data[at : at + 4096])
            while connection.next_event() not in (h11.NEED_DATA, h11.PAUSED):
                pass
    return connection


def _html(text: str) -> object:
    document = html.read(html_bytes(text), DocumentOptions())
    return translate_html(document, lambda texts: [BestTexts([each]) for each in texts])


_END = b"--" + _OPTIONS[b"boundary"] + b"--\r\n"
_CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

CRAFTED: tuple[Crafted, ...] = (
    Crafted("form: percent signs", _repeated(b"q=", b"%"), _form),
    Crafted("form: escapes", _repeated(b"q=", b"%C3%A9"), _form),
    Crafted("form: broken escapes", _repeated(b"q=", b"%4%G"), _form),
    Crafted("form: plus signs", _repeated(b"q=", b"+"), _form),
    Crafted("form: fields", _repeated(b"", b"q=a&"), _form),
    Crafted("form: separators", _repeated(b"", b"&"), _form),
    Crafted("form: equals signs", _repeated(b"", b"="), _form),
    Crafted("json body: lists", _repeated(b"[", b"[],", b"[]]"), _json),
    Crafted("json body: nested lists", _repeated(b"", b"["), _json),
    Crafted("json body: objects in objects", _repeated(b"", b'{"q":'), _json),
    Crafted("json body: keys", _numbered_keys, _counted),
    Crafted("json body: one key", _repeated(b"{", b'"q":1,', b'"q":1}'), _json),
    Crafted("json body: numbers", _repeated(b"[", b"1e9,", b"1]"), _json),
    Crafted("json body: a long number", _repeated(b"[0.", b"1", b"]"), _json),
    Crafted("json body: long whole numbers", _repeated(b"[", b"9" * 4200 + b",", b"1]"), _json),
    Crafted("json body: an exponent", _repeated(b"[1e", b"1", b"]"), _json),
    Crafted("json body: escapes", _repeated(b'{"q":"', b"\\u00e9", b'"}'), _json),
    Crafted(
        "json body: pairs of surrogates", _repeated(b'{"q":"', b"\\ud83d\\ude00", b'"}'), _json
    ),
    Crafted("json body: an open text", _repeated(b'{"q":"', b"\\\\"), _json),
    Crafted("json body: blanks", _repeated(b"", b" "), _json),
    Crafted(
        "json body: a text of many characters", _repeated(b'{"q":"', "é".encode(), b'"}'), _json
    ),
    Crafted("request: terms of a wrong type", _repeated(b'{"glossary":[', b"1,", b"1]}"), _request),
    Crafted("request: a term of many", _repeated(b'{"glossary":[[', b'"a",', b'"a"]]}'), _request),
    Crafted(
        "request: phrases of a wrong type", _repeated(b'{"include":[', b"{},", b"1]}"), _request
    ),
    Crafted("multipart: fields", _repeated(b"", _part(b"a"), _END), _with_file),
    Crafted(
        "multipart: almost its boundary",
        _repeated(_part(b"")[:-2], b"\r\n--" + b"x" * 69, b"\r\n" + _END),
        _with_file,
    ),
    Crafted(
        "multipart: the letter of its boundary",
        _repeated(_part(b"")[:-2], b"x", b"\r\n" + _END),
        _with_file,
    ),
    Crafted("multipart: no end", _repeated(_part(b"a"), b"a"), _with_file),
    Crafted("multipart: no beginning", _repeated(b"", b"\r\n--"), _with_file),
    Crafted("connection: chunks", _repeated(_CHUNKED, b"40\r\n%s\r\n" % (b"a" * 64)), _connection),
    Crafted("connection: a chunk header", _repeated(_CHUNKED + b"1;", b"a"), _connection),
    Crafted(
        "connection: a path",
        _repeated(b"GET /", b"%", b" HTTP/1.1\r\nHost: a\r\n\r\n"),
        _connection,
    ),
    Crafted(
        "connection: headers", _repeated(b"GET / HTTP/1.1\r\nHost: a\r\n", b"a: b\r\n"), _connection
    ),
    Crafted("connection: a header", _repeated(b"GET / HTTP/1.1\r\na:", b" b"), _connection),
    Crafted("connection: no end of line", _repeated(b"GET / HTTP/1.1\r\na:", b"\r"), _connection),
    Crafted(
        "translate: tags of an HTML text", _repeated(b"", b"<b>a</b>", b"", bytes.decode), _html
    ),
    Crafted("translate: open tags", _repeated(b"", b"<i>a", b"", bytes.decode), _html),
    Crafted("translate: references", _repeated(b"", b"&amp;", b"", bytes.decode), _html),
)
