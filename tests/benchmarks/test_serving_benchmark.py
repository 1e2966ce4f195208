"""The benchmark of the service: its clients, its peer, and what it computes."""

import importlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from yakusu.engine.library import why_unavailable
from yakusu.errors import RunError
from yakusu.translator import Translator
from yakusu.translator.folder.folder import ModelFolder

services: Any = pytest.importorskip("benchmarks.services", reason="only a checkout has benchmarks")
load: Any = pytest.importorskip("benchmarks.speed.serving_load")
processes: Any = pytest.importorskip("benchmarks.speed.serving_processes")
records: Any = pytest.importorskip("benchmarks.records")
serving: Any = pytest.importorskip("benchmarks.speed.serving")

ROOT = Path(services.__file__).parents[1]
MODEL = ROOT / "tests" / "fixtures" / "format-1" / "transformer"
PEER = "CTranslate2 int8, 2/1, 0 ms"
pytestmark = pytest.mark.skipif(why_unavailable() is not None, reason="the engine is not compiled")


@pytest.fixture(scope="module")
def port() -> int:
    """A free port, followed by others that are probably free."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        number: int = found.getsockname()[1]
    return min(number, 65_000)


# ---- clients -------------------------------------------------------------------------------------


@pytest.fixture
def answering(port: int) -> Iterator[int]:
    """The port of a server that answers every request without translating it."""
    with services.Service([sys.executable, "-m", "benchmarks.speed.serving_load"]) as server:
        server("answer", port=port)
        yield port


@pytest.mark.parametrize("clients", [1, 3, 9])
def test_every_text_is_sent_once_whatever_the_number_of_clients(
    answering: int, clients: int
) -> None:
    found = load.load(answering, ["a", "b", "c", "d", "e", "訳"], clients, "en", "de")
    assert found["texts"] == [""] * 6
    assert 0 < min(found["latencies"]) <= max(found["latencies"]) <= found["seconds"]


def test_a_reply_may_arrive_in_pieces() -> None:
    ours, theirs = socket.socketpair()
    client = load._Client(ours)
    with ours, theirs:
        for piece in (b"HTTP/1.1 200 OK\r\nContent-", b"Length: 3\r\n\r\n", b"ab"):
            theirs.sendall(piece)
            assert client.receive() is None
        theirs.sendall(b"c")
        reply = client.receive()
        assert reply is not None and reply.endswith(b"\r\n\r\nabc")


def test_a_refused_request_ends_the_measurement() -> None:
    with pytest.raises(ValueError, match=r"the server refused a request: HTTP/1\.1 503"):
        load._translation(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n")


# ---- services ------------------------------------------------------------------------------------


def test_a_service_that_ends_early_is_reported(port: int) -> None:
    with pytest.raises(RunError, match="ended with exit code 1: out of order"):
        processes.Running([sys.executable, "-c", "exit('out of order')"], port, {})


def test_translations_with_random_weights_have_the_same_length(tmp_path: Path) -> None:
    opened = ModelFolder.open(MODEL)
    folder = processes.write_random("small", opened, tmp_path / "model", length=7, seed=1)
    found = Translator.load(folder, engine="native").stream(["the red boat", "a boat"])
    assert [best[0].n_tokens for best in found] == [7, 7]


@pytest.mark.slow
@pytest.mark.parametrize("peer", [False, True])
def test_a_quick_run_compares_the_service_and_its_peer(
    peer: bool, port: int, thorough: bool
) -> None:
    if not thorough:
        pytest.skip("needs YAKUSU_TESTS=thorough")
    missing = [name for name in ("ctranslate2", "fastapi", "uvicorn") if not find_spec(name)]
    if peer and missing:
        pytest.skip(f"{', '.join(missing)}: not installed")
    command = [sys.executable, "-m", "benchmarks.speed.serving", "--quick", "--model", str(MODEL)]
    command += ["--port", str(port), *(["--peer-python", sys.executable] if peer else [])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "  3 clients  yakusu serve" in done.stdout and "overhead" in done.stdout
    assert ("times CTranslate2 int8, 1/1, 5 ms" in done.stdout) == peer


def test_a_batch_of_the_peer_has_what_waits_and_no_more_than_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("ctranslate2")
    peer: Any = importlib.import_module("benchmarks.speed.serving_ctranslate2")
    asyncio: Any = importlib.import_module("asyncio")
    monkeypatch.setattr(peer, "BATCH", 2)

    class Upper:
        n_parallel, batches = 1, list[int]()

        def translate(self, texts: list[str]) -> list[str]:
            self.batches.append(len(texts))
            return [text.upper() for text in texts]

    async def run(seconds: float) -> list[str]:
        batches = peer.Batches(Upper(), seconds)
        task = asyncio.create_task(batches.run())
        found: list[str] = await asyncio.gather(*map(batches.translate, "abc"))
        task.cancel()
        return found

    for seconds in (0.0, 0.005):
        assert asyncio.run(run(seconds)) == ["A", "B", "C"]
    assert Upper.batches == [2, 1] * 2


# ---- results -------------------------------------------------------------------------------------


def _load_of(throughput: float, p95: float) -> dict[str, float]:
    return {"throughput": throughput, "p50": 4.0, "p95": p95, "p99": 9.0, "cpu_ms": 2.5}


def _rounds() -> list[dict[str, Any]]:
    clients = {
        n: {"yakusu serve": _load_of(90.0, 5.0), PEER: _load_of(30.0, 10.0)} for n in ("1", "16")
    }
    together = {"yakusu translate, batch 16": 80.0, "yakusu translate, batch 64": 100.0}
    cpu_ms = {"yakusu translate, batch 16": 2.25, "yakusu translate, batch 64": 2.0}
    one = {"clients": clients, "together": together, "cpu_ms": cpu_ms, "one_by_one": 3.5}
    return [one] * 2


def test_more_than_one_is_better_for_throughput_and_latency() -> None:
    found = serving.results(_rounds())
    gains = found["cells"]["16"]["gains"]
    assert gains["throughput"] == {"best": PEER, "yakusu serve": {"value": 3.0, "worst": 3.0}}
    assert gains["p95"]["yakusu serve"] == {"value": 2.0, "worst": 2.0}
    assert found["translate"]["share"] == {
        "best": "yakusu translate, batch 64",
        "yakusu serve": {"value": 0.9, "worst": 0.9},
    }
    assert found["overhead"]["median"] == 0.5


def test_services_that_write_texts_of_other_lengths_are_not_compared() -> None:
    def cells(ours: float, theirs: float) -> dict[str, Any]:
        sizes = {"yakusu serve": ours, PEER: theirs}
        own = {name: {"characters": {"median": size}} for name, size in sizes.items()}
        return {"16": {"services": own}}

    serving.check_work(cells(1000, 1090))
    with pytest.raises(RunError, match=f"yakusu serve wrote 1,200 characters and {PEER} 1,000"):
        serving.check_work(cells(1200, 1000))


def test_records_of_the_service_become_rows() -> None:
    machine = {"cpu": "x", "cores": 2, "threads": 2}
    stated = {"commit": "a", "date": "2026-01-01T00:00:00+00:00", "machine": machine}
    stated |= {"torch": "2", "python": "3", "seed": 1, "command": "python"}
    spread = {"median": 1.5, "low": 1.0, "high": 2.0}
    own = {"first": {"yakusu serve": spread}, "clients alone": {"1": 9000, "16": 9000}}
    own |= {"peak_mib": {"yakusu serve": 90, PEER: 80}, "name": "tiny", "sentences": 500}
    record = records.Record.model_validate({**stated, **own, **serving.results(_rounds())})
    services_table, others = serving.tables([record])
    assert services_table.rows[2] == [
        *("16", "yakusu serve", "90 (90 to 90)", "3.00", "3.00", "4.0 (4.0 to 4.0)"),
        *("5.0 (5.0 to 5.0)", "2.00", "2.00", "9.0 (9.0 to 9.0)"),
    ]
    assert services_table.rows[3][3:5] == ["-", "-"]
    assert others.rows[:4] == [
        ["throughput with 16 clients / yakusu translate, batch 64", "0.90, worst 0.90", "0.90"],
        ["overhead with one client, ms", "0.50 (0.50 to 0.50)", "5.0"],
        [
            "CPU besides translating with 16 clients, ms per request",
            *("0.50 (0.50 to 0.50)", "0.50"),
        ],
        ["first answer of yakusu serve, s", "1.50 (1.00 to 2.00)", "2.0"],
    ]
    for table in (services_table, others):
        assert all(len(row) == len(table.head) for row in table.rows)
