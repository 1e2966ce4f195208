"""The HTTP protocol of the service: uvicorn's, with limits of connections and time.

h11 refuses malformed requests, and limits headers, trailers and pipelined requests.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from yakusu.serve.config import Limits

_TOO_MANY = b'{"error":"Too many connections: try again later"}'
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(_TOO_MANY), _TOO_MANY)
)


def protocol(limits: Limits) -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol with these limits of connections, and of the time for headers."""

    class Protocol(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                transport.write(_REFUSAL)
                transport.close()
            else:
                self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._stop()

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
