"""Translates the parts of shards on a cluster, with Ray Data.

    from_items(jobs) -> flat_map(read) -> map(translate, actors) -> iter_rows

One task reads the shards, one after the other, and each row is one block of lines, so that all
actors work on the same shard, which may be much larger than the memory. Ray pauses the task while
enough blocks wait for actors, and the actors while enough translated blocks wait for the command.
The rows keep their order, so that a shard is written as a stream. If an actor is killed, Ray
restarts it and repeats its block, on another machine if necessary; nothing of this block has been
written yet, and its translation is always the same.
"""

import logging
import os
import pickle
import signal
import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

from yakusu.engine.config import EngineConfig
from yakusu.errors import RunError, SignalError
from yakusu.pipeline.shards.parts import PartTranslator, ShardConfig, ShardPart, read_parts
from yakusu.pipeline.shards.plan import ShardJob
from yakusu.pipeline.shards.receipt import ShardSettings

LOCAL = "local"  # the address of a cluster that is started for the command
_TIMEOUT = 10  # seconds
_SHOWN = 200  # characters of a message from Ray
_QUEUED = 2**25  # bytes of waiting blocks, for each worker; by default, Ray keeps gigabytes
_ROW = "part"  # the only column; its values are pickled, because Arrow cannot store parts
_ENVIRONMENT = {  # before Ray is loaded, unless the user has set them
    "RAY_USAGE_STATS_ENABLED": "0",  # statistics that Ray sends to its authors
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # other messages are in Ray's log files
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # messages that Ray prints to standard output
}


class Cluster:
    """Translates parts on a Ray cluster; see `shards.TranslateParts`.

    Args:
        address: HOST:PORT of a cluster; "auto": the one that runs on this machine; "local": start
            one, and stop it at the end.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        for name in ("ray", "ray.data"):
            import_module(name)  # which sets the level
            logging.getLogger(name).setLevel(logging.ERROR)

    def __call__(
        self, jobs: Sequence[ShardJob], config: ShardConfig, settings: ShardSettings
    ) -> Generator[ShardPart, None, None]:
        """Translate the parts of shards and return them in order.

        Raises:
            RunError: There is no cluster at the address, it is too small, or it failed.
        """
        import ray
        from ray.exceptions import RayError

        with self._connected():
            workers = count_workers(ray.nodes(), config.engine, is_local=self._address == LOCAL)
            try:
                for row in _dataset(jobs, config, settings, workers).iter_rows():
                    yield pickle.loads(row[_ROW])
            except RayError as error:
                reason = str(error).strip().splitlines()[-1]
                raise RunError(
                    f"the Ray cluster failed ({reason}): rerun the command to resume"
                ) from error

    @contextmanager
    def _connected(self) -> Iterator[None]:
        import ray

        if ray.is_initialized():  # this process has its own connection
            yield
            return
        try:
            _reach(self._address)
            with _silent():
                ray.init(self._address, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, RuntimeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or " ".join(str(error).split())
            raise RunError(
                f"there is no usable Ray cluster at '{self._address}' ({reason[:_SHOWN]}): start "
                "one with 'ray start --head', or use --ray without an address"
            ) from error
        try:
            with _stopped_by_sigterm():
                yield
        finally:
            ray.shutdown()


def _reach(address: str) -> None:
    """Raise OSError if nothing answers at HOST:PORT: Ray itself would try for minutes."""
    host, separator, port = address.rpartition(":")
    if separator:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_TIMEOUT).close()


@contextmanager
def _silent() -> Iterator[None]:
    """Discard what Ray's C++ code writes to standard error while it starts."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Raise SignalError on SIGTERM, for which Ray prints a stack trace."""

    def stop(number: int, frame: object) -> NoReturn:
        raise SignalError("stopped by SIGTERM: rerun the command to resume", number)

    earlier = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)


def count_workers(
    nodes: Sequence[dict[str, Any]], engine: EngineConfig, *, is_local: bool = False
) -> int:
    """Return the number of workers: each has whole processor cores of one machine, or a GPU.

    Args:
        nodes: The machines, as `ray.nodes` lists them.
        engine: The device, and the number of threads of a worker.
        is_local: The only machine is this one.

    Raises:
        RunError: No machine has as many.
    """
    kind, each = ("GPU", 1) if engine.device == "cuda" else ("CPU", engine.n_threads)
    found = [int(node["Resources"].get(kind, 0)) for node in nodes if node["Alive"]]
    if is_local and kind == "CPU":  # Ray counts cores that this process must not use
        found = [min(count, EngineConfig().n_threads) for count in found]
    if workers := sum(count // each for count in found):
        return workers
    fix = "lower --threads" if kind == "CPU" else "remove --device cuda"
    raise RunError(f"no machine of the Ray cluster has {each} {kind}{'s' * (each > 1)}: {fix}")


def _dataset(
    jobs: Sequence[ShardJob], config: ShardConfig, settings: ShardSettings, workers: int
) -> Any:
    """The rows with translations; nothing is computed before they are read."""
    from ray.data import (
        ActorPoolStrategy,
        DataContext,
        ExecutionResources,
        TaskPoolStrategy,
        from_items,
    )

    context = DataContext.get_current().copy()
    context.enable_progress_bars = context.print_on_execution_start = False
    context.execution_options.preserve_order = True
    limits = ExecutionResources(object_store_memory=workers * _QUEUED)
    context.execution_options.resource_limits = limits
    context.target_max_block_size = 1  # bytes: each row is scheduled separately
    uses_gpu = config.engine.device == "cuda"
    with DataContext.current(context):
        rows = [{"job": pickle.dumps(job)} for job in jobs]
        parts = from_items(rows, override_num_blocks=len(rows)).flat_map(
            _Reader(config),
            num_cpus=0,  # hardly any, and the workers have them all
            compute=TaskPoolStrategy(size=1),
        )
        return parts.map(
            _Worker,
            fn_constructor_args=(config, settings),
            num_cpus=1 if uses_gpu else config.engine.n_threads,
            num_gpus=1 if uses_gpu else 0,
            compute=ActorPoolStrategy(size=workers),
        )


class _Reader:
    def __init__(self, config: ShardConfig) -> None:
        self._config = config

    def __call__(self, row: dict[str, bytes]) -> Iterator[dict[str, bytes]]:
        for part in read_parts(pickle.loads(row["job"]), self._config):
            yield {_ROW: pickle.dumps(part)}


class _Worker:
    def __init__(self, config: ShardConfig, settings: ShardSettings) -> None:
        self._translate = PartTranslator(config, settings)

    def __call__(self, row: dict[str, bytes]) -> dict[str, bytes]:
        return {_ROW: pickle.dumps(self._translate(pickle.loads(row[_ROW])))}
