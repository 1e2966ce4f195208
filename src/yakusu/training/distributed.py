"""The processes of one run: who is who, what each does, sums over all.

torchrun starts them and says so in the environment; a run of one process needs neither
(docs/decisions/0008).
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from itertools import chain, zip_longest
from typing import Any, TypeVar
from warnings import catch_warnings

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.rendezvous import rendezvous
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from yakusu.device import out_of_memory
from yakusu.errors import RunError, YakusuError
from yakusu.model.base import Seq2Seq

T = TypeVar("T")
_GAP = object()
_GRACE_SECONDS = 2.0  # in which all that live notice that one is lost


class Group:
    """All processes that train one model, as seen from one of them; alone: rank 0 of 1.

    Args:
        rank: This process's number.
        size: How many there are.
        local_rank: Its number on its machine.
    """

    def __init__(self, rank: int = 0, size: int = 1, local_rank: int = 0) -> None:
        self.rank, self.size, self.local_rank = rank, size, local_rank

    @property
    def leads(self) -> bool:
        """Whether this process writes what all have made."""
        return self.rank == 0

    def share(self, items: Sequence[T]) -> list[T]:
        """This process's part; together the parts are all items."""
        return list(items[self.rank :: self.size])

    def join(self, part: list[T]) -> list[T]:
        """The parts of all processes, in the order before `share`."""
        return part

    def sums(self, *numbers: float) -> list[float]:
        """The sum of each number over all processes."""
        return list(numbers)

    def lead(self, work: Callable[[], T]) -> T:
        """What rank 0 makes of `work`, for all; the others wait as long as it takes.

        Raises:
            YakusuError: It failed.
        """
        return work()

    def exchange(self) -> AbstractContextManager[None]:
        """Within it the processes wait for one another.

        Raises:
            RunError: One did not come.
        """
        return nullcontext()


class _Joined(Group):
    """Several processes; every exchange raises RunError if one of them does not come to it.

    Those who waited in vain say so in a store that all can read; who does not is the one.
    """

    def __init__(self, store: Any, local_rank: int, minutes: float) -> None:
        super().__init__(dist.get_rank(), dist.get_world_size(), local_rank)
        self._store, self._minutes = store, minutes
        self._prompt = dist.new_group(backend="gloo", timeout=timedelta(minutes=minutes))
        self._patient = dist.new_group(backend="gloo", timeout=timedelta(days=30))

    def join(self, part: list[T]) -> list[T]:
        parts: list[Any] = [None] * self.size
        with self.exchange():
            dist.all_gather_object(parts, part, group=self._prompt)
        return [item for item in chain(*zip_longest(*parts, fillvalue=_GAP)) if item is not _GAP]

    def sums(self, *numbers: float) -> list[float]:
        total = torch.tensor(numbers, dtype=torch.float64)
        with self.exchange():
            dist.all_reduce(total, group=self._prompt)
        return list(total.tolist())

    def lead(self, work: Callable[[], T]) -> T:
        made: list[Any] = [None, None]
        fault: YakusuError | None = None
        if self.leads:
            try:
                made = [work(), None]
            except YakusuError as error:
                made, fault = [None, str(error)], error
        with self.exchange():
            dist.broadcast_object_list(made, group=self._patient)
        if made[1] is not None:
            raise fault or RunError(f"rank {self.rank}: rank 0 has stopped ({made[1]})")
        return made[0]  # type: ignore[no-any-return]

    @contextmanager
    def exchange(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            if out_of_memory(error):
                raise
            self._store.set(f"gave up/{self.rank}", "")
            time.sleep(_GRACE_SECONDS)
            lost = [r for r in range(self.size) if not self._store.check([f"gave up/{r}"])]
            who = f"rank {', '.join(map(str, lost))}" if lost else "another rank"
            raise RunError(
                f"rank {self.rank}: {who} died, or stalled for {self._minutes:g} minutes "
                "(training.stall_minutes): the same command goes on from the last checkpoint "
                f"[{error}]"
            ) from error


@contextmanager
def processes(stall_minutes: float) -> Iterator[Group]:
    """The group that torchrun's environment describes; without torchrun, one process."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        yield Group()
        return
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    store, rank, size = next(rendezvous("env://"))
    if os.environ["GROUP_WORLD_SIZE"] == "1":
        # The store may outlive a restart, with the addresses of processes that are gone.
        store = dist.PrefixStore(f"attempt-{os.environ['TORCHELASTIC_RESTART_COUNT']}", store)  # type: ignore[attr-defined]
    dist.init_process_group(
        backend, store=store, rank=rank, world_size=size, timeout=timedelta(minutes=stall_minutes)
    )
    yield _Joined(store, int(os.environ["LOCAL_RANK"]), stall_minutes)
    dist.destroy_process_group()  # after an error it could wait for those that are gone


# ---- from training/sharding.py: One model over several processes: a whole copy in each, or a part in each.


def spread(loss: nn.Module, model: Seq2Seq, group: Group, *, sharded: bool) -> nn.Module:
    """The same loss of a model, for all processes: their gradients are averaged.

    Args:
        loss: Calls the model.
        model: Its weights are cut into parts where `sharded`.
        group: The processes; alone, nothing changes.
        sharded: Each process keeps a part of the weights, not a copy.
    """
    if group.size == 1:
        return loss
    if sharded:
        return _shard(loss, model, group)
    # The warning is torch 2.13's, of a new name for `broadcast_buffers` that 2.11 does not know.
    with group.exchange(), catch_warnings(action="ignore", category=FutureWarning):
        # With `find_unused_parameters` the order of the sums is the same in every step.
        return DistributedDataParallel(loss, broadcast_buffers=False, find_unused_parameters=True)


def _shard(loss: nn.Module, model: Seq2Seq, group: Group) -> nn.Module:
    mesh = init_device_mesh(model.output_weight.device.type, (group.size,))
    for stack in model.children():
        if isinstance(stack, nn.ModuleList):
            for layer in stack:
                fully_shard(layer, mesh=mesh)
    fully_shard(loss, mesh=mesh)  # what lies outside the layers
    return loss


def is_sharded(loss: nn.Module) -> bool:
    """Whether each process has a part of the weights."""
    return isinstance(loss, FSDPModule)


def apart(loss: nn.Module, group: Group) -> AbstractContextManager[None]:
    """While it is open, gradients stay within their process; parts of a model have to meet."""
    if is_sharded(loss):
        return group.exchange()
    return loss.no_sync() if isinstance(loss, DistributedDataParallel) else nullcontext()


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor of which each process has a part; all processes call this together."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def whole_tensors(named: Iterable[tuple[str, Tensor]], *, keep: bool) -> dict[str, Tensor]:
    """All of each, on the CPU if they were in parts; nothing where `keep` is False."""
    found = {}
    for name, tensor in named:
        full = whole(tensor.detach())
        if keep:
            found[name] = full.cpu() if isinstance(tensor, DTensor) else full
    return found


def part_of(full: Tensor, like: Tensor) -> Tensor:
    """What this process keeps of `full`, on the device and in the parts of `like`."""
    full = full.to(like.device)
    if not isinstance(like, DTensor) or not full.ndim:
        return full
    # Every process has read the same file: nothing is sent.
    return distribute_tensor(full, like.device_mesh, like.placements, src_data_rank=None)


def whole_model(model: Seq2Seq, group: Group) -> Seq2Seq:
    """A model that can do more than training: the same one, or a copy put together from parts."""
    if not isinstance(model.output_weight, DTensor):
        return model
    copy = type(model)(
        model.config, src_vocab_size=model.src_vocab_size, tgt_vocab_size=model.tgt_vocab_size
    ).to(model.output_weight.device)
    with group.exchange(), torch.no_grad():
        copy.load_weights(whole_tensors(model.weights().items(), keep=True))
    return copy
