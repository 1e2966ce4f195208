"""Messages between a process and its worker: bytes, JSON, texts and files.

    message = length (8 bytes, the highest first), then as many bytes

Texts and files are sent in parts, and an empty message ends them, so that neither side holds an
encoded copy of all of them.
"""

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any, BinaryIO

from yakusu.documents.document import Known, Offer

_LENGTH = 8  # bytes of a length
_PART = 1 << 20  # bytes of a file, or characters of texts, in one message
_TEXTS = 10_000  # texts in one message
_TEXT_BYTES = 250  # of memory for a text and its translation, besides their characters


class Connection:
    """One end of a stream of messages.

    Args:
        sock: A connected socket.

    Attributes:
        n_held: Bytes of memory that what was received takes, with what is computed of each text.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self.n_held = sock, 0

    def send(self, data: bytes | memoryview) -> None:
        """Send a message.

        Raises:
            EOFError: The other end is closed.
        """
        try:
            self._sock.sendall(len(data).to_bytes(_LENGTH))
            self._sock.sendall(data)
        except OSError as error:
            raise EOFError from error

    def receive(self) -> bytes:
        """Wait for a message.

        Raises:
            EOFError: The other end is closed.
        """
        return self._exactly(int.from_bytes(self._exactly(_LENGTH)))

    def _exactly(self, n: int) -> bytes:
        found = bytearray()
        while len(found) < n:
            try:
                part = self._sock.recv(min(n - len(found), _PART))
            except OSError as error:  # closed with data that it did not read
                raise EOFError from error
            if not part:
                raise EOFError
            found += part
            self.n_held += len(part)
        return bytes(found)

    def send_json(self, value: Any) -> None:
        """Send a value; strings may have halves of surrogate pairs."""
        self.send(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))

    def receive_json(self) -> Any:
        """Wait for a value."""
        return json.loads(self.receive().decode("utf-8", "surrogatepass"))

    def send_texts(self, texts: Sequence[str]) -> None:
        """Send a list of texts."""
        for part in _parts(texts):
            self.send_json(part)
        self.send(b"")

    def receive_texts(self) -> list[str]:
        """Wait for a list of texts."""
        texts: list[str] = []
        while part := self.receive():
            more = json.loads(part.decode("utf-8", "surrogatepass"))
            self.n_held += _TEXT_BYTES * len(more)
            texts += more
        return texts

    def send_known(self, known: Mapping[int, Known]) -> None:
        """Send what memories know of texts."""
        for number, each in known.items():
            offers = [*map(astuple, each.offers)]
            self.send_json([number, each.match, offers, each.quality, each.doubt, each.kept])
        self.send(b"")

    def receive_known(self) -> dict[int, Known]:
        """Wait for what memories know of texts."""
        found: dict[int, Known] = {}
        while part := self.receive():
            number, match, offers, *more = json.loads(part.decode("utf-8", "surrogatepass"))
            found[number] = Known(match, [Offer(*each) for each in offers], *more)
        return found

    def send_file(self, file: BinaryIO) -> None:
        """Send what can be read from a file."""
        while part := file.read(_PART):
            self.send(part)
        self.send(b"")

    def send_bytes(self, data: bytes) -> None:
        """Send bytes like a file."""
        with memoryview(data) as view:
            for start in range(0, len(view), _PART):
                self.send(view[start : start + _PART])
        self.send(b"")

    def receive_file(self) -> bytes:
        """Wait for the content of a file."""
        found = bytearray()
        while part := self.receive():
            found += part
        return bytes(found)

    def close(self) -> None:
        """Close this end."""
        self._sock.close()


def _parts(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in lists of limited length."""
    part, size = list[str](), 0
    for text in texts:
        part.append(text)
        size += len(text)
        if size >= _PART or len(part) == _TEXTS:
            yield part
            part, size = [], 0
    if part:
        yield part
