"""Connections that take too much: never read, many of one address, pipelined, in small pieces."""

import json
import re
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve.conftest import Running, running
from tests.serve.test_limits import PAIR, exchange, request_of, status_of, wait_until
from yakusu.serve.access import ByAddress
from yakusu.serve.config import ServeConfig
from yakusu.serve.errors import RefusedError

SIZE = 3_000_000  # of a document, more than socket buffers hold
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"


def connected(service: Running, *, source: str = "127.0.0.1") -> socket.socket:
    """A connection with a small buffer."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    found.settimeout(20)
    found.bind((source, 0))
    found.connect(("127.0.0.1", service.port))
    return found


@pytest.fixture
def document(tmp_path: Path) -> Callable[[Running], bytes]:
    """A function that keeps a large document; returns the request that downloads it."""

    def keep(service: Running) -> bytes:
        files = service.service.files
        key, folder = files.new()
        (folder / "a.txt").write_bytes(b"a" * SIZE)
        files.keep(key, folder / "a.txt")
        return f"GET /download_file/{key}/a.txt HTTP/1.1\r\nHost: x\r\n\r\n".encode()

    return keep


def test_clients_that_never_read_are_disconnected_and_others_get_in(
    folders: dict[str, Path], document: Callable[[Running], bytes]
) -> None:
    limits = {"connections": 20, "write_seconds": 0.5}
    with running([folders["de-en"]], limits=limits) as service, ExitStack() as stack:
        download = document(service)
        for n in range(20):
            client = stack.enter_context(connected(service, source=f"127.0.0.{2 + n // 10}"))
            client.sendall(download + HEALTH * (n % 3))
        wait_until(lambda: len(service.server.server_state.connections) == 20)
        assert status_of(exchange(service, b"")) == 503
        wait_until(lambda: not service.server.server_state.connections)
        wait_until(lambda: not service.server.server_state.tasks)
        assert httpx.get(f"{service.url}/health").is_success


def test_a_slow_client_that_reads_on_gets_all(
    folders: dict[str, Path], document: Callable[[Running], bytes]
) -> None:
    limits = {"write_seconds": 0.4}
    with running([folders["de-en"]], limits=limits) as service, connected(service) as client:
        client.sendall(document(service))
        size, start = 0, time.monotonic()
        while size < SIZE:
            is_slow = time.monotonic() - start < 1.5
            part = client.recv(2000 if is_slow else 65536)
            assert part, f"closed after {size} bytes"
            size += len(part)
            time.sleep(0.05 * is_slow)  # 40 kB/s


def test_a_stream_that_nobody_reads_ends(folders: dict[str, Path]) -> None:
    limits = {"write_seconds": 0.3, "lines": 50_000}
    with running([folders["de-en"]], limits=limits) as service, connected(service) as client:
        body = json.dumps({**PAIR, "text": "a\n" * 3000, "details": True})
        client.sendall(request_of(body).replace(b"/translate", b"/v1/stream", 1))
        wait_until(lambda: bool(service.server.server_state.connections))
        wait_until(lambda: not service.server.server_state.connections)


def test_an_address_has_half_of_the_connections(folders: dict[str, Path]) -> None:
    with running([folders["de-en"]], limits={"connections": 6}) as service, ExitStack() as stack:
        for _ in range(3):
            client = stack.enter_context(connected(service))
            client.sendall(HEALTH)
            assert status_of(client.recv(4096)) == 200
        answer = exchange(service, b"")
        assert status_of(answer) == 429 and b"Retry-After: 1" in answer
        assert b"(limits.per_address = 3)" in answer
        other = stack.enter_context(connected(service, source="127.0.0.2"))
        other.sendall(HEALTH)
        assert status_of(other.recv(4096)) == 200
        counted = service.service.metrics.text()
        assert b'yakusu_refusals_total{reason="limits.per_address"} 1.0' in counted
        stack.close()
        wait_until(lambda: not service.server.server_state.connections)
        assert status_of(exchange(service, HEALTH, ends=True) or b"- 0") == 200


def test_a_trusted_proxy_has_no_limit_but_its_clients_have(folders: dict[str, Path]) -> None:
    settings: dict[str, Any] = {
        "limits": {"connections": 6, "per_address": 2},
        "trusted_proxies": ["127.0.0.1"],
    }
    upload = (
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nX-Forwarded-For: %s\r\n\r\n"
    )
    with running([folders["de-en"]], **settings) as service, ExitStack() as stack:

        def begin(address: bytes) -> socket.socket:
            client = stack.enter_context(connected(service))
            client.sendall(upload % address)
            return client

        first = begin(b"2001:db8::1"), begin(b"2001:db8::2")
        assert status_of(begin(b"2001:db8::3").recv(4096)) == 429
        assert begin(b"2001:db8:0:1::1")
        first[0].sendall(b"123456789")
        assert status_of(first[0].recv(4096)) == 400
        third = begin(b"2001:db8::4")
        third.settimeout(0.2)
        with pytest.raises(TimeoutError):  # it is not refused, but waits for its body
            third.recv(1)


@pytest.mark.parametrize("address", ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "", "name"])
def test_zero_is_no_limit(address: str) -> None:
    none = ByAddress("requests", ServeConfig.model_validate({"limits": {"per_address": 0}}))
    one = ByAddress("requests", ServeConfig.model_validate({"limits": {"per_address": 1}}))
    for _ in range(1000):
        none.enter(address)
    one.enter(address)
    with pytest.raises(RefusedError, match=r"Too many requests .*\(limits.per_address = 1\)"):
        one.enter(address)
    one.leave(address)
    one.enter(address)


def n_requests(service: Running, path: str) -> int:
    """The number of requests that were answered."""
    text = httpx.get(f"{service.url}/metrics").text
    found = re.findall(rf'yakusu_requests_total{{path="{path}",.*}} (\d+)', text)
    return sum(map(int, found))


@pytest.mark.parametrize("path", ["/languages", "/translate"])
@pytest.mark.parametrize("ends", [True, False])
def test_further_requests_of_a_client_that_has_left_are_dropped(
    folders: dict[str, Path], path: str, ends: bool
) -> None:
    with running([folders["de-en"]]) as service:
        get = HEALTH.replace(b"/health", path.encode())
        given = (
            get if path == "/languages" else request_of(json.dumps({**PAIR, "q": "Zug"}))
        ) * 500
        with socket.create_connection(("127.0.0.1", service.port)) as client:
            client.sendall(given)
            if ends:
                client.shutdown(socket.SHUT_WR)
        wait_until(lambda: len(service.server.server_state.connections) < 2)
        wait_until(lambda: not service.service.work.n)
        assert n_requests(service, path) < 100  # a busy machine notices later that it has left


def test_a_client_that_waits_gets_all_answers_to_pipelined_requests(
    socket_service: Running,
) -> None:
    with socket.create_connection(("127.0.0.1", socket_service.port), timeout=20) as client:
        client.sendall((HEALTH[:-2] + b"X: %s\r\n\r\n" % (b"x" * 500)) * 300)
        found = b""
        while found.count(b'{"status":"ok"}') < 300:
            found += client.recv(65536)
    assert found.count(b"200 OK") == 300


def chunked(size: int, n: int) -> bytes:
    """A form of n pieces of a size."""
    head = "POST /translate?source=de&target=en&q=Zug HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    return (
        f"{head}Transfer-Encoding: chunked\r\n\r\n".encode()
        + b"%x\r\n%s\r\n"
        % (
            size,
            b"x" * size,
        )
        * n
        + b"0\r\n\r\n"
    )


def test_a_body_may_have_many_chunks_unless_they_are_small(socket_service: Running) -> None:
    assert status_of(exchange(socket_service, chunked(1, 900))) == 200
    assert status_of(exchange(socket_service, chunked(100, 15_000))) == 200
    answer = exchange(socket_service, chunked(1, 300_000))
    assert not answer or status_of(answer) == 400


def test_a_request_head_has_at_most_200_lines_and_a_short_path(socket_service: Running) -> None:
    many = HEALTH[:-2] + b"a: b\r\n" * 190 + b"Connection: close\r\n\r\n"
    assert status_of(exchange(socket_service, many)) == 200
    for head in (HEALTH[:-2] + b"a:b\r\n" * 210, b"GET /%s HTTP/1.1\r\n\r\n" % (b"%" * 9000)):
        answer = exchange(socket_service, head)
        assert not answer or status_of(answer) == 400
