"""The HTTP protocol of the service: uvicorn's, with limits of connections, headers and time."""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from yakusu.serve.config import Limits

_HEADER_BYTES = 256 * 1024  # of the request line and the headers: clients send texts in the query


def protocol(limits: Limits) -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol with these limits of connections, and of the time for headers."""

    class Protocol(HttpToolsProtocol):
        _timer: asyncio.TimerHandle | None = None
        _n_received = 0  # bytes of a request whose headers are not complete
        _is_awaited = True  # whether the next headers have not arrived yet

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                self._refuse("503 Service Unavailable", "Too many connections: try again later")
            else:
                self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._n_received += len(data)
            if self._is_awaited and self._n_received > _HEADER_BYTES:
                message = f"Send at most {_HEADER_BYTES} bytes of headers"
                self._refuse("431 Request Header Fields Too Large", message)
            self._watch()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._is_awaited = True

        def on_headers_complete(self) -> None:
            super().on_headers_complete()
            self._is_awaited, self._n_received = False, 0

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._stop()

        def _refuse(self, status: str, message: str) -> None:
            body = json.dumps({"error": message})
            head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n"
            head += f"Retry-After: 1\r\nContent-Length: {len(body)}\r\n\r\n"
            self.transport.write((head + body).encode())
            self.transport.close()

        def _watch(self) -> None:
            """Limit the time until the headers of the next request have arrived."""
            cycle: Any = self.cycle  # of the last request; None: there was none
            if cycle is not None and not cycle.response_complete:
                self._stop()
            elif self._timer is None:
                self._timer = self.loop.call_later(limits.body_seconds, self.transport.close)

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Protocol
