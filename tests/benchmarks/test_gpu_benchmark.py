"""The benchmark of what needs a GPU: its plan, its loop and its records."""

import argparse
import json
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

gpu: Any = pytest.importorskip("benchmarks.gpu", reason="only a checkout has benchmarks")
quick: Any = pytest.importorskip("benchmarks.quick")
records: Any = pytest.importorskip("benchmarks.records")


def job(name: str, minutes: float = 1.0, **more: Any) -> Any:
    measure = more.pop("measure", lambda args: [{"value": 1, "seed": 7}, {"value": 2}])
    return gpu.Job({"part": "made", "name": name}, measure, minutes, 1, **more)


@pytest.fixture
def args(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("YAKUSU_DATA", "")  # restored after `arguments` has set it
    words = ["--data", str(tmp_path), "--out", str(tmp_path), "--runs", str(tmp_path / "runs")]
    options: argparse.Namespace = gpu.benchmark.arguments(tmp_path, [*words, "--together", "2"])
    return options


def test_the_most_valuable_jobs_start_first_and_the_grid_has_twelve_runs(
    args: argparse.Namespace,
) -> None:
    jobs = gpu.chosen(args)
    values = [each.value for each in jobs]
    assert values == sorted(values, reverse=True) and len(jobs) == len(gpu.JOBS)
    names = [each.key["name"] for each in jobs if each.file == "gpu"]
    assert len(set(names)) == len(names)  # a page shows the newest record of a name
    assert sum(each.key.get("part") == "grid" for each in jobs) == 12
    first_shared = next(i for i, each in enumerate(jobs) if each.resumes)
    assert not any(each.alone for each in jobs[first_shared:])


@pytest.mark.parametrize(
    ("more", "left", "reason"),
    [
        ({"minutes": 4}, 5, ""),
        ({"minutes": 4}, 3, "4 min do not fit into the rest"),
        ({"minutes": 20, "resumes": True}, 3, ""),
        ({"minutes": 20, "resumes": True}, 0.5, "1 min do not fit into the rest"),
        ({"minutes": 30, "resumes": True}, 8, "30 min are more than 3 calls of 9 min"),
        ({"absent": lambda args: "no peer"}, 8, "no peer"),
    ],
)
def test_a_job_that_cannot_end_is_not_started(
    more: dict[str, Any], left: float, reason: str, args: argparse.Namespace
) -> None:
    assert gpu.obstacle(job("a", **more), args, left) == reason


def test_recorded_jobs_are_not_run_again_but_stopped_runs_continue(
    args: argparse.Namespace,
) -> None:
    done, stopped = job("done"), job("stopped", measure=lambda args: [{"ended": "no"}])
    for each in (done, stopped):
        gpu.record(each, args)
    assert [gpu.obstacle(each, args, 9) for each in (done, stopped)] == ["recorded", ""]
    found = json.loads((args.out / "gpu.json").read_text())
    assert [(each["value"], each["seed"]) for each in found[:2]] == [(1, 7), (2, 1)]
    records.RESULTS.mkdir()
    for _ in range(2):  # the second time, nothing is missing
        records.merge(args.out / "gpu.json")
    assert json.loads((records.RESULTS / "gpu.json").read_text()) == found


class Process:
    """A process that ends after a number of calls to `join`, or when it is terminated."""

    calls = 3

    def __init__(self, target: object, args: tuple[str, object, Path]) -> None:
        self.exitcode: int | None = None
        self._left = {"long": 10**6, "deaf": 10**6}.get(args[0].split(", ")[-1], self.calls)
        self._obeys = "deaf" not in args[0]

    def start(self) -> None:
        pass

    def join(self, timeout: float) -> None:
        self._left -= 1
        if self.exitcode is None and self._left < 0:
            self.exitcode = 0

    def terminate(self) -> None:
        if self._obeys:
            self.exitcode = 128 + signal.SIGTERM

    def kill(self) -> None:
        self.exitcode = -signal.SIGKILL


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch, args: argparse.Namespace) -> Callable[..., list[str]]:
    """Run jobs for a minute of a clock that only waiting moves; return what is said."""

    def run(*jobs: Any) -> list[str]:
        said: list[str] = []
        clock = SimpleNamespace(now=0.0)
        monkeypatch.setattr(
            gpu,
            "time",
            SimpleNamespace(
                monotonic=lambda: clock.now,
                sleep=lambda seconds: setattr(clock, "now", clock.now + seconds),
            ),
        )
        monkeypatch.setattr(gpu, "JOBS", {each.name: each for each in jobs})
        monkeypatch.setattr(gpu, "_CONTEXT", SimpleNamespace(Process=Process))
        monkeypatch.setattr(
            gpu.Loop, "say", lambda self, name, what: said.append(f"{name.split(', ')[1]} {what}")
        )
        gpu.Loop(args, stop=60, end=63).run(list(jobs))
        return said

    return run


def test_speeds_are_measured_alone_and_other_jobs_share_the_device(
    loop: Callable[..., list[str]],
) -> None:
    jobs = [job("speed", 0.5, alone=True), *(job(name, 0.5) for name in "abc")]
    assert loop(*jobs) == [
        *("speed started", "speed done", "a started", "b started", "a done", "b done"),
        *("c started", "c done"),
    ]


def test_the_end_stops_runs_kills_those_that_go_on_and_lists_the_rest(
    loop: Callable[..., list[str]],
) -> None:
    jobs = [job("long", resumes=True), job("deaf", resumes=True), job("late", 0.5)]
    assert loop(*jobs) == [
        *("long started", "deaf started", "long stopped, to be continued"),
        *("deaf killed, because it took too long", "late 0.5 min do not fit into the rest"),
    ]
    assert loop(job("long", 0.1)) == ["long started", "long killed, because it took too long"]


def test_packed_corpora_are_enough_to_train_on(
    args: argparse.Namespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jobs = gpu.gpu_jobs
    monkeypatch.setattr(jobs, "CORPORA", {"multi30k": jobs.CORPORA["multi30k"]})
    data, packed = tmp_path / "data", tmp_path / "packed"
    quick.write_data(data)
    args.data, args.quick = data, True
    assert jobs.pack(args, packed).stat().st_size < 2**20
    args.data = packed
    monkeypatch.setenv("YAKUSU_DATA", "")
    jobs.open_data(args)
    (found,) = gpu.JOBS["grid, d_model 128, no further regularisation"].measure(args)
    assert found["ended"] == "max_steps = 4" and [each["step"] for each in found["curve"]] == [2, 4]
