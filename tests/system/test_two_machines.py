"""Two machines train together, as docs/reliability.md shows it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cases import THOROUGH
from tests.system.runs import Job, recipe_for, result, settings, wait_for

# Enough steps that a process can be killed after the third one.
STEPS = ("training.max_steps=20", "training.validate_steps=10", "training.checkpoint_steps=1")


@dataclass(frozen=True)
class Machine:
    """Where a command runs: host name and command prefix."""

    name: str = "localhost"
    enter: tuple[str, ...] = ()


def done(*command: str) -> bool:
    """Whether a command exists and succeeded."""
    try:
        return not subprocess.run(command, capture_output=True).returncode
    except FileNotFoundError:
        return False


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[Machine]]:
    """Two connected network namespaces, or this machine twice if they cannot be created."""
    spaces = {f"first-{os.getpid()}": "10.77.0.1", f"second-{os.getpid()}": "10.77.0.2"}
    one, other = spaces
    hosts = tmp_path / "hosts"
    known = {"localhost": "127.0.0.1", **spaces}
    hosts.write_text("".join(f"{ip} {name}\n" for name, ip in known.items()))
    commands = [
        *(f"ip netns add {name}" for name in spaces),
        f"ip link add eth0 netns {one} type veth peer name eth0 netns {other}",
        *(f"ip -n {name} address add {ip}/24 dev eth0" for name, ip in spaces.items()),
        *(f"ip -n {name} link set {card} up" for name in spaces for card in ("lo", "eth0")),
    ]
    named = f'mount --bind {hosts} /etc/hosts && hostname "$0" && exec "$@"'
    enter = "ip netns exec {} unshare --uts --mount sh -c"
    apart = [Machine(name, (*enter.format(name).split(), named, name)) for name in spaces]
    ready = all(done(*command.split()) for command in commands) and done(*apart[0].enter, "true")
    yield apart if ready else [Machine(), Machine()]
    for name in spaces:
        done("ip", "netns", "delete", name)


def torchrun(machine: Machine, *options: str, corpus: Path, run: Path) -> subprocess.Popen[str]:
    """`torchrun ... yakusu train` on a machine."""
    program = ["-m", "--", "yakusu", *settings(corpus, *STEPS), "--run", str(run)]
    environment = {"OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    return subprocess.Popen(
        [*machine.enter, sys.executable, "-m", "torch.distributed.run", *options, *program],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@contextmanager
def together(
    machines: list[Machine], restarts: int, corpus: Path, run: Path
) -> Iterator[list[subprocess.Popen[str]]]:
    """A job with one process on each machine that has written three checkpoints."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        endpoint = f"{machines[0].name}:{free.getsockname()[1]}"
    options = [
        "--nnodes=2", "--nproc-per-node=1", f"--max-restarts={restarts}", "--rdzv-backend=c10d",
        f"--rdzv-endpoint={endpoint}", "--rdzv-id=en-de",
    ]  # fmt: skip
    agents = [torchrun(machine, *options, corpus=corpus, run=run) for machine in machines]
    try:
        wait_for(run / "checkpoints" / "step-00000003")
        yield agents
    finally:
        for agent in agents:
            turn_off(agent)


def turn_off(agent: subprocess.Popen[str]) -> None:
    """Kill every process of a machine."""
    if agent.poll() is None:
        for process in (*workers(agent), agent.pid):
            os.kill(process, signal.SIGKILL)
    if agent.stdout and not agent.stdout.closed:
        sys.stdout.write(agent.communicate()[0])  # for the report if a test fails


def workers(agent: subprocess.Popen[str]) -> list[int]:
    """The processes that torchrun started."""
    return list(map(int, Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()))


@pytest.mark.slow
@pytest.mark.skipif(not THOROUGH, reason="needs YAKUSU_TESTS=thorough")
def test_a_worker_killed_on_one_machine_does_not_change_the_result(
    machines: list[Machine], corpus: Path, tmp_path: Path
) -> None:
    alone = Job(tmp_path, recipe_for(corpus, tmp_path / "alone", *STEPS))
    with together(machines, 2, corpus, tmp_path / "run") as (first, second):
        os.kill(workers(second)[0], signal.SIGKILL)
        out, _ = first.communicate(timeout=120)
        assert first.returncode == 0, out
        assert "already at step" in out
        out, _ = second.communicate(timeout=120)
        assert second.returncode == 0, out
    code, output = alone.finish()
    assert code == 0, output
    assert result(tmp_path / "run") == result(tmp_path / "alone")


@pytest.mark.slow
@pytest.mark.skipif(not THOROUGH, reason="needs YAKUSU_TESTS=thorough")
def test_a_lost_machine_ends_the_job_and_its_rank_is_named(
    machines: list[Machine], corpus: Path, tmp_path: Path
) -> None:
    with together(machines, 0, corpus, tmp_path / "run") as (first, second):
        turn_off(second)
        out, _ = first.communicate(timeout=60)
    assert first.returncode not in (0, None)
    assert "rank 0: rank 1 died, or stalled for 10 minutes" in out, out
