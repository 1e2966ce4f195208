"""Runs the service: sockets, slow clients, signals."""

import logging
import socket
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from yakusu.errors import RunError, YakusuError
from yakusu.serve.access import ByAddress
from yakusu.serve.app import create_app
from yakusu.serve.config import ServeConfig
from yakusu.serve.http.middleware import FirstProtocol
from yakusu.serve.http.protocol import LimitedProtocol
from yakusu.serve.log import JsonLines, log_in_thread
from yakusu.serve.monitoring import Metrics
from yakusu.serve.service import Service
from yakusu.serve.shutdown import run_until_signal

_log = logging.getLogger(__name__)
_BACKLOG = 256  # connections that wait to be accepted
_SWITCH_SECONDS = 0.0005  # threads that decode take turns with those that prepare texts


def serve(
    read_config: Callable[[], ServeConfig],
    folders: Sequence[Path],
    started: Callable[[str], None] = lambda _: None,
) -> None:
    """Run the service until it is stopped by SIGTERM or SIGINT; then finish the open requests.

    The process ends then, in `shutdown_seconds` and one more second at the latest. After SIGHUP, it
    reads the settings, keys and models again; if they are not valid, the old ones stay in use.

    Args:
        read_config: Reads the settings.
        folders: Model folders.
        started: Is called with the address when the service accepts connections.

    Raises:
        ModelError: A model folder is not valid.
        RecipeError: The file of keys is not valid.
        RunError: The address is not available.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    config = read_config()
    logging.getLogger("yakusu.serve").setLevel(logging.INFO)
    if config.log_format == "json":
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonLines())
    if not config.log_text:  # warnings show the beginnings of sentences
        for name in ("yakusu.translator", "yakusu.documents", "yakusu.pipeline"):
            logging.getLogger(name).setLevel(logging.ERROR)
    sock = _listening(config.host, config.port)
    service = Service(config, folders)
    server = uvicorn.Server(uvicorn_config(config, create_app(service)))
    host, port = sock.getsockname()[:2]
    started(f"http://{f'[{host}]' if ':' in host else host}:{port}{config.root_path}/")
    with log_in_thread() as end_log:
        run_until_signal(
            server,
            sock,
            seconds=config.shutdown_seconds,
            reload=lambda: _reload(service, read_config),
            closing=[service.readers.close, service.files.close],
            last=end_log,
        )


def _reload(service: Service, read_config: Callable[[], ServeConfig]) -> None:
    """Use the settings as they are now, if they are valid."""
    try:
        service.reload(read_config())
    except YakusuError as error:
        _log.warning("the old settings are kept: %s", error)
    except Exception:
        _log.exception("the old settings are kept")


def _listening(host: str, port: int) -> socket.socket:
    """A socket that accepts connections.

    Raises:
        RunError: The address is not available.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        # Connections inherit this, where the event loop does not set it itself.
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0]
        raise RunError(
            f"{host}:{port} is not available ({reason}): choose another --host or --port"
        ) from error


def uvicorn_config(config: ServeConfig, app: Starlette) -> uvicorn.Config:
    """The settings of uvicorn for an application of `create_app`."""
    served: Any = app
    if config.trusted_proxies:
        trusting: Any = ProxyHeadersMiddleware(served, [*config.trusted_proxies])
        served = FirstProtocol(trusting)
    metrics: Metrics = app.state.service.metrics
    connection: Any = partial(  # uvicorn calls it for each
        LimitedProtocol,
        limits=config.limits,
        clients=ByAddress("connections", config),
        refused=lambda error: metrics.count_refusal(error.reason),
    )
    return uvicorn.Config(
        served,
        host=config.host,
        port=config.port,
        http=connection,
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=config.shutdown_seconds,  # type: ignore[arg-type]  # any number
        proxy_headers=False,  # see above
        server_header=False,
        access_log=False,
        log_config=None,
    )
