"""The HTTP protocol of the service: uvicorn's, with limits of connections, time and buffers.

h11 refuses malformed requests. Beyond it, a connection has at most these costs for the event loop:

    a request head       _HEADER_LINES lines, a path of _PATH_BYTES
    a body in chunks     _FREE_CHUNKS chunks, and further ones of _CHUNK_BYTES bytes on average
    a step of the loop   _SLICE_BYTES bytes, unless they are a body of known length
"""

import asyncio
import json
import re
import select
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from yakusu.serve.access import ByAddress
from yakusu.serve.config import Limits
from yakusu.serve.errors import RefusedError, over_limit
from yakusu.serve.http.plain import PlainExchange, PlainRequest, plain_request

if sys.platform != "win32":
    import fcntl
    import termios

_HEAD_BYTES = 256 * 1024  # of the request line and the headers: clients send texts in the query
_HEADER_LINES, _PATH_BYTES = 200, 8192
_FREE_CHUNKS, _CHUNK_BYTES = 1000, 64
_SLICE_BYTES = 1024
_PIPELINED_BYTES = 64 * 1024  # that are read while another request is answered
_SEND_BYTES = 128 * 1024  # that the system holds for a client which does not read them
_CHECKS = 4  # of the progress of a response in `write_seconds`
_BLANK_LINE = re.compile(rb"\n\r?\n")


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP protocol with limits.

    Args:
        limits: The limits.
        clients: Counts the connections of each address.
        refused: Is called with the reason when a connection is refused.
        uvicorn: What uvicorn gives each connection.
    """

    def __init__(
        self,
        *,
        limits: Limits,
        clients: ByAddress,
        refused: Callable[[RefusedError], None],
        **uvicorn: Any,
    ) -> None:
        super().__init__(**uvicorn)
        self._limits, self._clients, self._refused = limits, clients, refused
        self._timer: asyncio.TimerHandle | None = None
        self._counted: str | None = None  # the address that the connection counts for
        self._unread = b""  # has been received, but not parsed

    def connection_made(self, transport: Any) -> None:
        """Begin a connection."""
        self._watched = _WatchedTransport(transport, self.loop, self._limits.write_seconds)
        super().connection_made(self._watched)
        own: Any = transport.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        self.conn = LimitedConnection(h11.SERVER, _HEAD_BYTES)
        try:
            self._count()
        except RefusedError as error:
            self._refused(error)
            self.transport.write(_response(error))
            self.transport.close()
        else:
            self._watch()

    def _count(self) -> None:
        """Count the connection.

        Raises:
            RefusedError: There are too many.
        """
        if len(self.connections) > self._limits.connections:
            raise over_limit(
                *("connections", self._limits.connections, 503),
                "Too many connections: try again later",
                retry_after=1,
            )
        address = self.client[0] if self.client else ""
        self._clients.enter(address)
        self._counted = address

    def data_received(self, data: bytes) -> None:
        """Add bytes that were received."""
        if self._is_idle() and (plain := plain_request(data)):
            self._begin(plain)
            return
        self._unread += data
        if isinstance(self.cycle, PlainExchange) and not self.cycle.response_complete:
            self._watched.hold(len(self._unread) > _PIPELINED_BYTES)
        else:
            self._parse()

    def _is_idle(self) -> bool:
        """Whether the next byte is the first one of a request, and no other is answered."""
        cycle: Any = self.cycle  # of the last request; None: there was none
        is_answered = cycle is None or cycle.response_complete
        idle = is_answered and not self._unread and self.conn.their_state is h11.IDLE
        return idle and not self.conn.trailing_data[0]

    def _begin(self, plain: PlainRequest) -> None:
        """Answer a plain request, as `H11Protocol.handle_events` does with others."""
        self._unset_keepalive_if_required()
        path, _, query = plain.target.partition(b"?")
        scope: Any = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "method": "POST",
            "root_path": self.root_path,
            "path": self.root_path + unquote(path.decode("ascii")),
            "raw_path": self.root_path.encode("ascii") + path,
            "query_string": query,
            "headers": plain.headers,
            "state": self.app_state.copy(),
        }
        self.cycle = PlainExchange(
            scope=scope,
            conn=self.conn,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            on_response=self.on_response_complete,
        )
        self.cycle.body, self.cycle.more_body = bytearray(plain.body), False
        self.cycle.message_event.set()
        task = self.loop.create_task(self.cycle.run_asgi(self.app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)
        self._watch()

    def _parse(self) -> None:
        """Parse some of what has been received, and the rest later."""
        if self.transport.is_closing():
            return
        size = len(self._unread) if self._has_known_length() else _SLICE_BYTES
        piece, self._unread = self._unread[:size], self._unread[size:]
        super().data_received(piece)
        self._watch()
        if self._unread:
            self.loop.call_soon(self._parse)
        self._watched.hold(bool(self._unread) or self._n_pipelined() > _PIPELINED_BYTES)

    def _has_known_length(self) -> bool:
        """Whether the body of a request is received, and not in chunks."""
        is_body = self.conn.their_state is h11.SEND_BODY
        return is_body and all(name != b"transfer-encoding" for name, _ in self.headers)

    def _n_pipelined(self) -> int:
        """Bytes of further requests that wait for the response to this one."""
        is_read = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        return 0 if is_read else len(self.conn.trailing_data[0])

    def on_response_complete(self) -> None:
        """Go on with the next request, if the client waits for it."""
        if (self._unread or self._n_pipelined()) and _has_left(self.transport):
            self.transport.close()  # nobody waits for the answers to further requests
        super().on_response_complete()
        if isinstance(self.cycle, PlainExchange) and self._unread:
            self._parse()
        else:
            self._watched.hold(bool(self._unread) or self._n_pipelined() > _PIPELINED_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection."""
        super().connection_lost(exc)
        self._stop()
        self._watched.stop()
        self._unread = b""
        if self._counted is not None:
            self._clients.leave(self._counted)

    def _watch(self) -> None:
        """Limit the time until the headers of the next request have arrived."""
        cycle: Any = self.cycle  # of the last request; None: there was none
        if cycle is not None and not cycle.response_complete:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(self._limits.body_seconds, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _response(error: RefusedError) -> bytes:
    """The response to a connection that is refused."""
    body = json.dumps({"error": str(error)}).encode()
    headers = {
        **{"Content-Type": "application/json", "Content-Length": str(len(body))},
        **{"Connection": "close", **error.headers},
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    phrase = STATUS_PHRASES[error.status].decode()
    return f"HTTP/1.1 {error.status} {phrase}\r\n{lines}\r\n".encode() + body


def _has_left(transport: asyncio.Transport) -> bool:
    """Whether the client has closed the connection, even if it has sent bytes before."""
    found = transport.get_extra_info("socket")
    if hasattr(select, "POLLRDHUP"):
        poll = select.poll()
        poll.register(found.fileno(), select.POLLRDHUP)
        return bool(poll.poll(0))
    with socket.fromfd(found.fileno(), found.family, found.type) as copy:
        copy.setblocking(False)
        try:
            return not copy.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True


def _n_unacknowledged(transport: asyncio.Transport) -> int:
    """Bytes that the system holds until the client has received them; 0 if it does not say."""
    if sys.platform == "win32":
        return 0
    sock = transport.get_extra_info("socket")
    try:
        found: int = struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0]
        return found
    except OSError:
        return 0


class LimitedConnection(h11.Connection):
    """A connection that refuses many headers, a long path and many small chunks."""

    def __init__(self, our_role: type[h11.SERVER], max_incomplete_event_size: int) -> None:
        super().__init__(our_role, max_incomplete_event_size)
        self._n_lines, self._tail = 0, b""  # of the head that is received; its last bytes
        self._n_chunks = self._n_bytes = 0

    def receive_data(self, data: bytes) -> None:
        """Add bytes that were received."""
        super().receive_data(data)
        if self.their_state is h11.IDLE:
            self._count_lines(data)

    def start_next_cycle(self) -> None:
        """Begin to read the next request."""
        super().start_next_cycle()
        self._n_lines, self._tail = 0, b""
        self._count_lines(self.trailing_data[0])

    def _count_lines(self, data: bytes) -> None:
        text = self._tail + data
        head = _BLANK_LINE.split(text, 1)[0]
        self._n_lines += head.count(b"\n") - self._tail.count(b"\n")
        self._tail = text[-2:]

    def next_event(self) -> Any:
        """The next event.

        Raises:
            RemoteProtocolError: The client has sent what is malformed or refused.
        """
        if self.their_state is h11.IDLE and self._n_lines > _HEADER_LINES:
            raise h11.RemoteProtocolError(f"more than {_HEADER_LINES} headers")
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._n_chunks = self._n_bytes = 0
            if len(event.target.partition(b"?")[0]) > _PATH_BYTES:
                raise h11.RemoteProtocolError(f"a path of more than {_PATH_BYTES} bytes")
        elif isinstance(event, h11.Data):
            self._n_chunks += event.chunk_end
            self._n_bytes += len(event.data)
            if _CHUNK_BYTES * (self._n_chunks - _FREE_CHUNKS) > self._n_bytes:
                raise h11.RemoteProtocolError("too many small chunks")
        return event


class _WatchedTransport(asyncio.Transport):
    """A transport that closes the connection if the client does not read what is sent.

    Progress counts: a slow client is not disconnected.

    Args:
        inner: The transport.
        loop: The event loop.
        seconds: Maximum time without progress.
    """

    def __init__(
        self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop, seconds: float
    ) -> None:
        super().__init__()
        self._inner, self._loop, self._seconds = inner, loop, seconds
        self._timer: asyncio.TimerHandle | None = None
        self._n_written, self._n_sent, self._since = 0, 0, 0.0
        self._is_wanted, self._is_held = True, False  # whether to read, whether to wait with it

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes, and watch their progress."""
        self._inner.write(data)
        self._n_written += len(data)
        if self._timer is None and (size := self._inner.get_write_buffer_size()):
            self._n_sent, self._since = self._count_sent(size), self._loop.time()
            self._timer = self._loop.call_later(self._seconds / _CHECKS, self._check)

    def _check(self) -> None:
        self._timer, size, now = None, self._inner.get_write_buffer_size(), self._loop.time()
        if not size:
            return
        if (n_sent := self._count_sent(size)) > self._n_sent:
            self._n_sent, self._since = n_sent, now
        if now - self._since >= self._seconds:
            self._inner.abort()  # `close` would wait until the client reads
        else:
            self._timer = self._loop.call_later(self._seconds / _CHECKS, self._check)

    def _count_sent(self, n_buffered: int) -> int:
        return self._n_written - n_buffered - _n_unacknowledged(self._inner)

    def stop(self) -> None:
        """End the watch: the connection is closed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def hold(self, is_held: bool) -> None:
        """Read nothing, whatever `resume_reading` says, until this is called with False."""
        if is_held != self._is_held:
            self._is_held = is_held
            self._apply()

    def pause_reading(self) -> None:
        """See `asyncio.Transport`."""
        self._is_wanted = False
        self._apply()

    def resume_reading(self) -> None:
        """See `asyncio.Transport`."""
        self._is_wanted = True
        self._apply()

    def _apply(self) -> None:
        if self._inner.is_closing():
            return
        if self._is_wanted and not self._is_held:
            self._inner.resume_reading()
        else:
            self._inner.pause_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """See `asyncio.Transport`."""
        return self._inner.get_extra_info(name, default)

    def is_closing(self) -> bool:
        """See `asyncio.Transport`."""
        return self._inner.is_closing()

    def close(self) -> None:
        """Close the connection when everything is sent."""
        self._inner.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._inner.abort()
