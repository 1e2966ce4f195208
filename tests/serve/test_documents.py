"""Documents that take too much: what they cost is theirs, and their places are freed."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.documents import hostile
from tests.serve.conftest import Client, Running, StartClient, running
from tests.serve.test_limits import PAIR, wait_until
from yakusu.documents.isolated import template
from yakusu.documents.isolated.readers import Readers


@pytest.fixture(autouse=True)
def hostile_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """In worker processes, .vtt files say what happens there."""
    monkeypatch.setattr(template, "_CODE", hostile.TEMPLATE)


def sent(client: Client, act: str) -> httpx.Response:
    files = {"file": ("a.vtt", act.encode())}
    return client.post("/translate_file", files=files, data=PAIR)


def test_each_limit_of_a_document_has_a_message_of_its_own(start: StartClient) -> None:
    limits = {"file_memory": 50_000_000, "file_cpu_seconds": 1, "memory": 200_000_000}
    client = start("de-en", limits=limits)
    with ThreadPoolExecutor(2) as threads:
        cpu, memory = threads.map(lambda act: sent(client, act), ("cpu", "memory 60"))
    assert (cpu.status_code, cpu.json()["error"]) == (
        422,
        "a.vtt: reading or writing it takes more processor time than limits.file_cpu_seconds = 1: "
        "split it, or raise the limit",
    )
    assert (memory.status_code, memory.json()["error"]) == (
        422,
        "a.vtt: reading or writing it takes more memory than limits.file_memory = 50000000 bytes: "
        "split it, or raise the limit",
    )
    metrics = client.get("/metrics").text
    for reason in ("memory", "cpu_seconds"):
        assert f'yakusu_killed_workers_total{{reason="{reason}"}} 1.0' in metrics
    for reason in ("limits.file_memory", "limits.file_cpu_seconds"):
        assert f'yakusu_refusals_total{{reason="{reason}"}} 1.0' in metrics
    assert sent(client, "deep").json()["error"].startswith("Invalid request: a.vtt: it is nested")
    assert 'yakusu_refusals_total{reason="400"} 1.0' in client.get("/metrics").text
    assert sent(client, "").status_code == 200


def test_long_html_is_parsed_in_a_worker(
    start: StartClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, opened, open_file = start("de-en"), list[str](), Readers.open

    def counted(self: Readers, name: str, *given: Any, **more: Any) -> Any:
        opened.append(name)
        return open_file(self, name, *given, **more)

    monkeypatch.setattr(Readers, "open", counted)
    part = "<p>Der <b>Zug</b> kommt &amp; geht.</p>\n"
    values = {"source": "en", "target": "en", "format": "html", "q": [part, part * 200]}
    answer = client.post("/translate", json=values)
    assert answer.json()["translatedText"] == [part, part * 200]
    assert opened == ["text.html"]


def test_documents_share_the_memory_of_all_requests(start: StartClient) -> None:
    client = start("de-en", limits={"memory": 100_000_000})
    with ThreadPoolExecutor(2) as threads:
        answers = [*threads.map(lambda act: sent(client, act), ("memory 70", "memory 80"))]
        refused = [each for each in answers if each.status_code == 503]
        assert "limits.memory = 100000000 bytes" in refused[0].json()["error"]
        assert int(refused[0].headers["retry-after"]) > 0
    assert client.app.state.service.budget.used < 1_000_000  # type: ignore[attr-defined]


@contextmanager
def uploaded(service: Running, act: str) -> Iterator[None]:
    """Send a document, and close the connection at the end without reading the answer."""
    fields = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in PAIR.items()
    )
    file = f'--x\r\nContent-Disposition: form-data; name="file"; filename="a.vtt"\r\n\r\n{act}\r\n'
    body = f"{fields}{file}--x--\r\n".encode()
    head = (
        "POST /translate_file HTTP/1.1\r\nHost: x\r\nContent-Length: "
        f"{len(body)}\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(head + body)
        wait_until(lambda: len(service.service.readers._workers) == 1)
        yield


def test_the_place_of_a_client_that_leaves_is_freed_within_a_second(
    folders: dict[str, Path],
) -> None:
    with running([folders["de-en"]], limits={"waiting": 1}) as service:
        for act in ("cpu", "render cpu", "wait"):
            with uploaded(service, act):
                assert httpx.get(f"{service.url}/health").is_success
            left = time.monotonic()
            wait_until(lambda: service.service.work.n == 0)
            assert time.monotonic() - left < 15
            assert not service.service.readers._workers
            left_over = {path.name for path in service.service.files.folder.iterdir()}
            assert left_over <= {"lock", "memories"}


def test_the_place_of_a_document_that_takes_too_long_is_freed(start: StartClient) -> None:
    client = start("de-en", limits={"file_seconds": 0.3})
    client.app.state.service.readers.start()  # type: ignore[attr-defined]
    answer = sent(client, "cpu")
    assert answer.status_code == 503
    assert (
        "took longer than 0.3 s: shorten the text (limits.file_seconds = 0.3)"
        in answer.json()["error"]
    )
    wait_until(lambda: client.app.state.service.work.n == 0)  # type: ignore[attr-defined]


def test_closing_the_service_ends_its_documents(folders: dict[str, Path]) -> None:
    with running([folders["de-en"]]) as service, uploaded(service, "cpu"):
        start = time.monotonic()
        service.service.readers.close()
        wait_until(lambda: service.service.work.n == 0)
        assert time.monotonic() - start < 15
