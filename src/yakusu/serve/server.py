"""Runs the service: sockets, slow clients, signals."""

import asyncio
import logging
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from yakusu.errors import RunError
from yakusu.serve.app import create_app
from yakusu.serve.config import Limits, ServeConfig
from yakusu.serve.service import Service

_BACKLOG = 256  # connections that wait to be accepted
_HEADER_BYTES = 256 * 1024  # of the request line and the headers: clients send texts in the query
_SWITCH_SECONDS = 0.0005  # threads that decode take turns with those that prepare texts


def serve(
    config: ServeConfig, folders: Sequence[Path], started: Callable[[str], None] = lambda _: None
) -> None:
    """Run the service until it is stopped by SIGTERM or SIGINT; then finish the open requests.

    Args:
        config: The settings.
        folders: Model folders.
        started: Is called with the address when the service accepts connections.

    Raises:
        ModelError: A model folder is not valid.
        RecipeError: The file of keys is not valid.
        RunError: The address is not available.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    logging.getLogger("yakusu.serve").setLevel(logging.INFO)
    if not config.log_text:  # warnings of the translator show the beginnings of sentences
        logging.getLogger("yakusu.translator").setLevel(logging.ERROR)
    sock = _listening(config.host, config.port)
    server = uvicorn.Server(uvicorn_config(config, create_app(Service(config, folders))))
    host, port = sock.getsockname()[:2]
    started(f"http://{f'[{host}]' if ':' in host else host}:{port}{config.root_path}/")
    server.run(sockets=[sock])


def _listening(host: str, port: int) -> socket.socket:
    """A socket that accepts connections.

    Raises:
        RunError: The address is not available.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0]
        raise RunError(
            f"{host}:{port} is not available ({reason}): choose another --host or --port"
        ) from error


def uvicorn_config(config: ServeConfig, app: Any) -> uvicorn.Config:
    """The settings of uvicorn."""
    limits = config.limits
    return uvicorn.Config(
        app,
        host=config.host,
        port=config.port,
        http=_protocol(limits),
        ws="none",
        h11_max_incomplete_event_size=_HEADER_BYTES,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(max(limits.seconds, limits.file_seconds)) + 1,
        proxy_headers=bool(config.trusted_proxies),
        forwarded_allow_ips=list(config.trusted_proxies),
        server_header=False,
        access_log=False,
        log_config=None,
    )


def _protocol(limits: Limits) -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol, which closes connections whose headers do not arrive in time.

    A body is sent at once, without waiting until the client has acknowledged the headers.
    """

    class Protocol(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                transport.close()
                return
            connection = transport.get_extra_info("socket")
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
