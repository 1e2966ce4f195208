"""The workers of a Ray cluster have whole processor cores of one machine."""

import os
from typing import Any

import pytest

from yakusu.engine.config import EngineConfig
from yakusu.errors import RunError
from yakusu.pipeline.shards.cluster import count_workers


def node(*, alive: bool = True, **resources: float) -> dict[str, Any]:
    return {"Alive": alive, "Resources": {**resources, "memory": 1e9}}


NODES = [node(CPU=5.0), node(CPU=2.0, GPU=2.0), node(), node(CPU=8.0, alive=False)]


@pytest.mark.parametrize(("threads", "n_workers"), [(1, 7), (2, 3), (3, 1), (5, 1)])
def test_a_worker_never_spans_two_machines(threads: int, n_workers: int) -> None:
    assert count_workers(NODES, EngineConfig(threads=threads)) == n_workers


def test_with_cuda_each_gpu_has_a_worker() -> None:
    assert count_workers(NODES, EngineConfig(threads=1, device="cuda")) == 2


def test_a_local_cluster_uses_the_cores_that_this_process_may_use() -> None:
    engine = EngineConfig(threads=1)
    usable = len(os.sched_getaffinity(0))
    assert count_workers([node(CPU=1000.0)], engine, is_local=True) == usable


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        (EngineConfig(threads=6), "no machine of the Ray cluster has 6 CPUs: lower --threads"),
        (
            EngineConfig(threads=1, device="cuda"),
            "no machine of the Ray cluster has 1 GPU: remove --device cuda",
        ),
    ],
)
def test_a_cluster_that_is_too_small_is_refused(engine: EngineConfig, message: str) -> None:
    with pytest.raises(RunError, match=message):
        count_workers([node(CPU=5.0)], engine)
