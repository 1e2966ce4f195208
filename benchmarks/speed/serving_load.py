"""Clients of a translation service, all in one process that does as little as possible.

Each client has a connection that stays open, and sends its next request when the reply has arrived.
Requests are encoded before the measured time, and replies are decoded after it. `answer` starts a
server that translates nothing, which shows how many requests the clients can send.
"""

import asyncio
import json
import re
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from benchmarks.services import serve

_HOST = "127.0.0.1"
_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_REPLY = b'HTTP/1.1 200 OK\r\ncontent-length: 21\r\n\r\n{"translatedText":""}'


def request_of(text: str, source: str, target: str, *, path: str = "/translate") -> bytes:
    """A request for the translation of a text, with LibreTranslate's API or DeepL's."""
    values: dict[str, Any] = {"q": text, "source": source, "target": target}
    if path != "/translate":
        values = {"text": [text], "source_lang": source, "target_lang": target}
    body = json.dumps(values).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}{_END.decode()}".encode() + body


@dataclass
class _Client:
    """A connection with at most one open request."""

    socket: socket.socket
    number: int = -1  # of the request
    sent: float = 0.0
    received: bytearray = field(default_factory=bytearray)
    expected: int = 0  # bytes of the reply; 0: not known yet

    def send(self, number: int, request: bytes) -> None:
        self.number, self.expected = number, 0
        self.received.clear()
        self.sent = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bytes | None:
        """Read what has arrived; return the reply if it is complete."""
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the server closed a connection")
        self.received += data
        if not self.expected and (end := self.received.find(_END)) >= 0:
            found = _LENGTH.search(self.received, 0, end + 2)
            self.expected = end + len(_END) + int(found[1] if found else 0)
        done = 0 < self.expected <= len(self.received)
        return bytes(self.received) if done else None


def load(
    port: int,
    texts: Sequence[str],
    clients: int,
    source: str,
    target: str,
    path: str = "/translate",
) -> dict[str, Any]:
    """Send all texts, each in a request of its own.

    Returns:
        The seconds in all and of each request, the CPU seconds of this process, and the
        translations.
    """
    requests = [request_of(text, source, target, path=path) for text in texts]
    seconds, replies = [0.0] * len(requests), [b""] * len(requests)
    connected = [_Client(socket.create_connection((_HOST, port))) for _ in range(clients)]
    cpu, start = time.process_time(), time.perf_counter()
    for client, reply in _exchange(connected, requests):
        seconds[client.number] = time.perf_counter() - client.sent
        replies[client.number] = reply
    measured = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "latencies": seconds,
    }
    for client in connected:
        client.socket.close()
    return measured | {"texts": [_translation(reply) for reply in replies]}


def _exchange(
    clients: Sequence[_Client], requests: Sequence[bytes]
) -> Iterator[tuple[_Client, bytes]]:
    """Send all requests; yield each reply, with its client."""
    waiting = iter(enumerate(requests))
    with selectors.DefaultSelector() as selector:
        for client, (number, request) in zip(clients, waiting, strict=False):
            client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.send(number, request)
        while selector.get_map():
            for key, _ in selector.select():
                client = key.data
                if (reply := client.receive()) is None:
                    continue
                yield client, reply
                if (following := next(waiting, None)) is None:
                    selector.unregister(client.socket)
                else:
                    client.send(*following)


def _translation(reply: bytes) -> str:
    head, _, body = reply.partition(_END)
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise ValueError(f"the server refused a request: {reply.decode()[-300:]}")
    found = json.loads(body)
    return str(
        found["translations"][0]["text"] if "translations" in found else found["translatedText"]
    )


# ---- a server that translates nothing ------------------------------------------------------------


class _Answer(asyncio.Protocol):
    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(_REPLY)


def answer(port: int) -> None:
    """Answer every request at once, in a thread."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(_Answer, _HOST, port)
        await server.serve_forever()

    Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            return socket.create_connection((_HOST, port)).close()
        except ConnectionRefusedError:
            time.sleep(0.01)
    raise TimeoutError(f"port {port} does not answer")


if __name__ == "__main__":
    serve({"load": load, "answer": answer})
