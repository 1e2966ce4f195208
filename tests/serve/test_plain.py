"""Requests that are read without h11: h11 reads them in the same way, and so are the answers."""

import json
import re
import socket

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.serve.conftest import Running
from tests.serve.test_limits import PAIR, request_of
from yakusu.serve.http.plain import plain_request

PLAIN = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
STARTS = [b"POST /a?b=%20 HTTP/1.1", b"POST / HTTP/1.0", b"GET / HTTP/1.1", b"POST /\xc3 HTTP/1.1"]
HEADERS = [
    *(b"Host: x", b"host:y", b"Content-Length: 2", b"content-length:3", b"Content-Length: +2"),
    *(b"Content-Length: 2, 2", b"Content-Length: 2 2", b"Transfer-Encoding: chunked", b"A:\tb \t"),
    *(b"Connection: keep-alive", b"Connection: close", b"Upgrade: websocket", b"A : b", b" folded"),
    *(b"A:", b"A: b\x00", b"A: \xff", b"A: b\nB: c", b"A: b\rB: c", b": a", b"A", b"A: b  c"),
    *(b"Expect: 100-continue", b"A: b\x7f", b"A(: b"),
]
BODIES = [b"{}", b"", b"{}\r\n", b"2\r\n{}\r\n0\r\n\r\n", b"{", b"{}POST / HTTP/1.1\r\n\r\n"]


def read(data: bytes) -> tuple[bytes, list[tuple[bytes, bytes]], bytes]:
    """The target, the headers and the body of the only request of some bytes, as h11 reads them."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    request, body = connection.next_event(), b""
    assert isinstance(request, h11.Request)
    assert request.method == b"POST"
    while isinstance(event := connection.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage)
    assert connection.trailing_data == (b"", False)
    return request.target, list(request.headers), body


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([*STARTS, STARTS[0], STARTS[0]]),
    st.lists(st.sampled_from(HEADERS), max_size=3),
    st.sampled_from([*BODIES, BODIES[0]]),
    st.booleans(),
)
def test_h11_reads_what_is_plain_in_the_same_way(
    start: bytes, headers: list[bytes], body: bytes, usual: bool
) -> None:
    every = [*headers, *([b"Host: x", b"Content-Length: 2"] if usual else ())]
    data = b"\r\n".join([start, *every, b"", body])
    if plain := plain_request(data):
        assert read(data) == tuple(plain)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *((b"POST", b"GET"), (b"1.1", b"1.0"), (b"\r\n", b"\n"), (b"{}", b"{}."), (b"{}", b"{")),
        *((b"Host: x", b"A: b"), (b"x", b"x\r\nHost: y"), (b"x", b"x\r\nConnection: close")),
        *((b"x", b"x\r\nTransfer-Encoding: chunked"), (b"x", b"x\r\nExpect: 100-continue")),
        *((b"x", b"x\r\nUpgrade: h2c"), (b"x", b"x\r\nContent-Length: 2"), (b"x", b"x\r\n y")),
        *((b"x", b"x" * 17_000), (b"x", b"x" + b"\r\na: b" * 40), (b"x", b"x\0")),
    ],
)
def test_what_is_not_usual_is_not_plain(old: bytes, new: bytes) -> None:
    assert plain_request(PLAIN)
    assert not plain_request(PLAIN.replace(old, new, 1))


def answers(service: Running, pieces: list[bytes], n: int) -> list[bytes]:
    """What a service answers to requests that it receives in pieces, without the dates."""
    found = b""
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            client.sendall(piece)
        while len(found.split(b"HTTP/1.1 ")) <= n or not found.endswith((b"}", b"0\r\n\r\n")):
            found += client.recv(65536)
    return re.sub(rb"date: .*\r\n", b"", found).split(b"HTTP/1.1 ")[1:]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/translate", PAIR | {"q": "Zug"}, b"200 OK"),
        ("/translate", PAIR, b"400 Bad Request"),
        ("/v1/stream", PAIR | {"text": "Zug"}, b"200 OK"),
        ("/nothing", PAIR, b"404 Not Found"),
    ],
)
def test_answers_do_not_depend_on_the_pieces(
    socket_service: Running, path: str, body: dict[str, str], status: bytes
) -> None:
    whole = request_of(json.dumps(body)).replace(b"/translate", path.encode())
    assert plain_request(whole)
    (plain,) = answers(socket_service, [whole], 1)
    assert plain.startswith(status)
    first, second = answers(socket_service, [whole + whole[:20], whole[20:]], 2)
    assert first.lower() == plain.lower() == second.lower()
