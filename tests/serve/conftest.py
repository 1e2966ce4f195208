"""Services with small models: in this process, and behind a socket."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio._backends._asyncio  # noqa: F401  (see below)
import pytest
import uvicorn
from starlette.testclient import TestClient

from tests.translators import save, untrained
from yakusu.serve.app import create_app
from yakusu.serve.config import ServeConfig
from yakusu.serve.server import uvicorn_config
from yakusu.serve.service import Service

# anyio imports its backend in the thread of the first client, where pytest parses it to rewrite its
# assertions. Python 3.11 fails if two threads parse at the same time (python/cpython#106905), so it
# is imported here.

Client = TestClient
StartClient = Callable[..., TestClient]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models of German to English and of English to French."""
    root, translator = tmp_path_factory.mktemp("served"), untrained("bytes")
    pairs = {"de-en": ("de", "en"), "en-fr": ("en", "fr")}
    return {
        name: save(root / name, translator, source_language=source, target_language=target)
        for name, (source, target) in pairs.items()
    }


@pytest.fixture
def start(folders: dict[str, Path]) -> Iterator[StartClient]:
    """Start a service in this process: start("de-en", limits={"characters": 100})."""
    with ExitStack() as stack:

        def begin(*names: str, **settings: Any) -> TestClient:
            config = ServeConfig.model_validate(settings)
            chosen = [folders[name] for name in names or folders]
            app = create_app(Service(config, chosen))
            own = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
            return stack.enter_context(own)

        yield begin


@pytest.fixture(scope="module")
def shared(folders: dict[str, Path]) -> Iterator[TestClient]:
    """A service with both models and the default settings."""
    app = create_app(Service(ServeConfig(), [*folders.values()]))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@dataclass
class Running:
    """A service behind a socket."""

    port: int
    service: Service
    server: uvicorn.Server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def running(folders: list[Path], **settings: Any) -> Iterator[Running]:
    """Run a service in a thread, on a free port."""
    config = ServeConfig.model_validate({"port": 0, **settings})
    service = Service(config, folders)
    server = uvicorn.Server(uvicorn_config(config, create_app(service)))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Running(port, service, server)
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def socket_service(folders: dict[str, Path]) -> Iterator[Running]:
    """A service with both models behind a socket."""
    with running([*folders.values()]) as found:
        yield found
