"""The processes of one run: who is who, what each does, sums over all.

torchrun starts them and says so in the environment; a run of one process needs neither
(docs/decisions/0008).
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, zip_longest
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from yakusu.errors import RunError, YakusuError

T = TypeVar("T")
_GAP = object()


@dataclass(frozen=True)
class Group:
    """All processes that train one model, as seen from one of them; alone: rank 0 of 1."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0  # on its machine
    timeout: timedelta = timedelta(minutes=10)
    meeting: Any = None  # a gloo group, whatever the gradients travel by
    patient: Any = None  # another, for work of unknown length

    @property
    def leads(self) -> bool:
        """Whether this process writes what all have made."""
        return self.rank == 0

    def share(self, items: Sequence[T]) -> list[T]:
        """This process's part; together the parts are all items."""
        return list(items[self.rank :: self.size])

    def join(self, part: list[T]) -> list[T]:
        """The parts of all processes, in the order before `share`."""
        if self.size == 1:
            return part
        parts: list[Any] = [None] * self.size
        dist.all_gather_object(parts, part, group=self.meeting)
        return [item for item in chain(*zip_longest(*parts, fillvalue=_GAP)) if item is not _GAP]

    def sums(self, *numbers: float) -> list[float]:
        """The sum of each number over all processes."""
        if self.size == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(total, group=self.meeting)
        return list(total.tolist())

    def lead(self, work: Callable[[], T]) -> T:
        """What rank 0 makes of `work`, for all; the others wait as long as it takes.

        Raises:
            YakusuError: It failed.
        """
        if self.size == 1:
            return work()
        made: list[Any] = [None, None]
        fault: YakusuError | None = None
        if self.leads:
            try:
                made = [work(), None]
            except YakusuError as error:
                made, fault = [None, str(error)], error
        dist.broadcast_object_list(made, group=self.patient)
        if made[1] is not None:
            raise fault or RunError(f"rank {self.rank}: rank 0 has stopped ({made[1]})")
        return made[0]  # type: ignore[no-any-return]

    def meet(self) -> None:
        """Wait for all processes.

        Raises:
            RunError: One did not come in time; rank 0 knows which.
        """
        if self.size == 1:
            return
        try:
            dist.monitored_barrier(self.meeting, timeout=self.timeout, wait_all_ranks=True)
        except RuntimeError as error:
            minutes = self.timeout.total_seconds() / 60
            raise RunError(
                f"rank {self.rank}: a process died or stalled for {minutes:g} minutes, see "
                f"training.stall_minutes ({str(error).splitlines()[0]}): start the same command "
                "again to go on from the last checkpoint"
            ) from error


@contextmanager
def processes(stall_minutes: float) -> Iterator[Group]:
    """The group that torchrun's environment describes; without torchrun, one process."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        yield Group()
        return
    timeout = timedelta(minutes=stall_minutes)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, timeout=timeout)
    try:
        meeting = dist.new_group(backend="gloo", timeout=timeout)
        patient = dist.new_group(backend="gloo", timeout=timedelta(days=30))
        local_rank = int(os.environ["LOCAL_RANK"])
        yield Group(dist.get_rank(), dist.get_world_size(), local_rank, timeout, meeting, patient)
    finally:
        dist.destroy_process_group()


def spread(module: nn.Module, group: Group) -> nn.Module:
    """The same module, which averages its gradients over the processes in each backward pass."""
    return DistributedDataParallel(module, broadcast_buffers=False) if group.size > 1 else module


def apart(module: nn.Module) -> AbstractContextManager[None]:
    """While it is open, gradients stay within their process."""
    return module.no_sync() if isinstance(module, DistributedDataParallel) else nullcontext()
