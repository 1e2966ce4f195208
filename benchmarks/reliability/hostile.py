"""Requests that once cost a translation service too much: documents, bodies, connections."""

import json
import socket
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from typing import NamedTuple

_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_BOUNDARY = "----boundary"
_PAUSE = 0.1  # seconds until a client that leaves comes back


class Attack(NamedTuple):
    """A request, and how its client behaves.

    Attributes:
        name: What is hostile about it.
        request: The bytes that are sent.
        reads: Whether the client reads the answer.
        leaves: Whether it closes the connection after sending.
    """

    name: str
    request: bytes
    reads: bool = True
    leaves: bool = False

    def run(self, port: int, seconds: float) -> int:
        """Send it to a service on this computer; return the status of the answer, or 0."""
        with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
            with suppress(OSError):  # the service has closed the connection
                connection.sendall(self.request)
            if self.leaves:
                time.sleep(_PAUSE)
                return 0
            with suppress(OSError):
                if not self.reads:
                    time.sleep(seconds)
                    return 0
                begin = connection.recv(100)
                while connection.recv(65536):
                    pass
                return int(begin.split()[1]) if begin else 0
        return 0


def attacks(size: int, source: str, target: str) -> list[Attack]:
    """One of each kind.

    Args:
        source: The source language of a model that is served.
        target: Its target language.
        size: Bytes of a body or a document, about; most have two megabytes at most.
    """
    pair = {"source": source, "target": target}
    return [*_documents(size, pair), *_bodies(size, pair), *_connections(size)]


# ---- documents -----------------------------------------------------------------------------------


def _documents(size: int, pair: dict[str, str]) -> Iterator[Attack]:
    def repeated(begin: str, unit: str, end: str = "") -> bytes:
        return (begin + unit * (size // len(unit)) + end).encode()

    header = 'msgid ""\nmsgstr ""\n"Language: a'
    xliff = '<xliff version="1.2"><file source-language="de" target-language="en"><body>'
    two = (
        '<xliff version="2.0" srcLang="de" trgLang="en" '
        'xmlns="urn:oasis:names:tc:xliff:document:2.0">'
    )
    unit = '<file id="f"><unit id="u"><segment><source>a'
    nested = "{n, plural, other {" * 40
    files = {
        "PO: blanks in a header": (
            "a.po",
            repeated(header, " ", 'b\\n"\n\nmsgid "a"\nmsgstr ""\n'),
        ),
        "Markdown: front matter": ("a.md", repeated("---\na", "=")),
        "HTML: ends of tags": ("a.html", repeated("", "</")),
        "HTML: closed elements": ("a.html", repeated("", "<p><b></i>")),
        "XLIFF: files": (
            "a.xlf",
            repeated('<xliff version="1.2">', "<file><body></body></file>", "</xliff>"),
        ),
        "XLIFF: open spans": (
            "a.xlf",
            repeated(two + unit, '<sm id="a"/>', "</source></segment></unit></file></xliff>"),
        ),
        "XLIFF: an open end": ("a.xlf", repeated(xliff, "<trans-unit>")),
        "docx: runs": ("a.docx", _docx(10 * size)),
        "JSON: nested messages": (
            "a.json",
            json.dumps({"a": nested + "'{" * (size // 100) + "}}" * 40}).encode(),
        ),
    }
    for name, (file, content) in files.items():
        yield Attack(name, _post("/translate_file", *_upload(file, content, pair)))


def _docx(size: int) -> bytes:
    """A document of many runs, which is far smaller in the archive."""
    run = "<w:r><w:t>a</w:t></w:r>"
    runs = run * (size // len(run))
    text = f'<w:document xmlns:w="{_W}"><w:body><w:p>{runs}</w:p></w:body></w:document>'
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
        'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'wordprocessingml.document.main+xml"/></Types>'
    )
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", types)
        archive.writestr("word/document.xml", text)
    return file.getvalue()


def _upload(name: str, content: bytes, pair: dict[str, str]) -> tuple[str, bytes]:
    """The content type and the body of a form with a file."""
    fields = "".join(
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in pair.items()
    )
    head = (
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    )
    body = fields.encode() + head.encode() + content + f"\r\n--{_BOUNDARY}--\r\n".encode()
    return f"multipart/form-data; boundary={_BOUNDARY}", body


# ---- bodies --------------------------------------------------------------------------------------


def _bodies(size: int, pair: dict[str, str]) -> Iterator[Attack]:
    def repeated(begin: bytes, unit: bytes, end: bytes = b"") -> bytes:
        return begin + unit * ((size - len(begin) - len(end)) // len(unit)) + end

    begin = json.dumps(pair).encode()[:-1] + b","
    keys = b",".join(b'"%d":1' % n for n in range(size // 12))
    bodies = {
        "form: percent signs": ("/translate", _FORM, repeated(b"q=", b"%")),
        "form: fields": ("/translate", _FORM, repeated(b"", b"q&")),
        "JSON: lists": ("/translate", _JSON, repeated(b"[", b"[],", b"0]")),
        "JSON: keys": ("/v1/translate", _JSON, b"{%s}" % keys),
        "JSON: terms": ("/v1/translate", _JSON, repeated(b'{"glossary":[', b"1,", b"1]}")),
        "JSON: a text": (
            "/translate",
            _JSON,
            repeated(begin + b'"q":"', b"a. ", b'"}'),
        ),
        "HTML: ends of tags in a text": (
            "/translate",
            _JSON,
            begin + b'"format":"html","q":"' + b"</" * 49_000 + b'"}',
        ),
    }
    for name, (path, kind, body) in bodies.items():
        yield Attack(name, _post(path, kind, body))


def _post(path: str, kind: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


# ---- connections ---------------------------------------------------------------------------------


def _connections(size: int) -> Iterator[Attack]:
    get = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
    page = get % b"spec"
    yield Attack("connection: never reads", page * 500, reads=False)
    yield Attack("connection: leaves", page * 500, leaves=True)
    head = b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    yield Attack("connection: small chunks", head + b"1\r\na\r\n" * (size // 6))
    yield Attack("connection: headers", get[:-2] % b"health" + b"a:b\r\n" * (size // 5) + b"\r\n")
    yield Attack("connection: a path", get % (b"%" * size))
