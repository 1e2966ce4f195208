"""Shards on a Ray cluster with two machines: the same bytes as one process, whatever is killed."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.cases import THOROUGH
from tests.translators import save, untrained

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra 'ray'"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own
    pytest.mark.slow,
]
_LIMIT = 400  # seconds, on a busy machine
_SIZES = (300, 900, 500) if THOROUGH else (120,)  # lines of the shards
_TEXT = "Der alte Hund läuft über die Brücke.\n\n- Kaffee, bitte!\n2. Wo ist der Bahnhof?\n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two machines with a processor core each, as processes on this one."""
    from ray.cluster_utils import Cluster

    machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    machines.add_node(num_cpus=1)
    yield machines
    machines.shutdown()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and shards with blank lines and, from the second on, a block of code."""
    root = tmp_path_factory.mktemp("shards")
    save(root / "model", untrained("bytes"))
    (root / "in").mkdir()
    for number, n_lines in enumerate(_SIZES):
        lines = [f"{number}.{n} {_TEXT}" for n in range(n_lines // 4)]
        code = ["```\n", *["kein Text\n"] * 80, "```\n"] if number else []  # longer than a block
        half = len(lines) // 2
        text = "".join([*lines[:half], *code, *lines[half:]])
        (root / "in" / f"{number}.txt").write_text(text)
    return root


def _command(folder: Path, *options: str) -> list[str]:
    command = [sys.executable, "-m", "yakusu", "translate", str(folder / "model")]
    return [*command, "--window", "32", *options]


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, bytes]:
    """The translation of each shard in one process."""
    out = folder / "expected"
    done = _run(folder, str(folder / "in"), "--out", str(out))
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_bytes() for path in out.glob("*.txt")}


def _workers(cluster: Any) -> set[int]:
    """The processes of the cluster that translate."""
    kind = "raylet"
    raylets = {
        each.process.pid for node in cluster.list_all_nodes() for each in node.all_processes[kind]
    }
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            name = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if parent in raylets and b"_Worker" in name:
            found.add(int(folder.name))
    return found


def _run(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = _command(folder, *options)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT)


@pytest.mark.skipif(not THOROUGH, reason="needs YAKUSU_TESTS=thorough")
def test_killing_a_worker_loses_nothing_and_changes_no_byte(
    cluster: Any, folder: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    command = _command(folder, str(folder / "in"), "--out", str(tmp_path), "--ray", cluster.address)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        limit = Timer(_LIMIT, process.kill)
        limit.start()
        first = process.stderr.readline()  # the next file is being translated
        assert first == f"{tmp_path}/0.txt: 300 lines\n"
        workers = _workers(cluster)
        assert len(workers) == 2
        os.kill(min(workers), signal.SIGKILL)
        out, said = process.communicate()
        limit.cancel()
    assert (process.returncode, out) == (0, ""), said
    assert said.startswith(f"{tmp_path}/1.txt: 982 lines\n{tmp_path}/2.txt: 582 lines\n")
    assert said.endswith("\n3 shards translated\n")
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.txt")} == expected


def test_without_an_address_ray_is_started_and_stopped(
    folder: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    source = str(folder / "in" / "0.txt")
    done = _run(folder, "--ray", source, "--out", str(tmp_path / "out"))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    lines = f"{_SIZES[0]} lines"
    assert done.stderr.startswith(f"{tmp_path}/out/0.txt: {lines}\n{lines} in ")
    assert (tmp_path / "out" / "0.txt").read_bytes() == expected["0.txt"]


def test_an_address_where_nothing_answers_is_an_error(folder: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    done = _run(folder, str(folder / "in"), "--out", str(tmp_path), "--ray", address)
    assert done.returncode == 2
    assert done.stderr == (
        f"error: there is no usable Ray cluster at '{address}' (Connection refused): start one "
        "with 'ray start --head', or use --ray without an address\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
