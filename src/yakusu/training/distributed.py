"""Training with several processes: the process group, and one model in all of them.

torchrun starts the processes and describes them in environment variables; a run of one process
does not need torchrun (docs/decisions/0008).
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar
from warnings import catch_warnings

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from yakusu.device import out_of_memory
from yakusu.errors import RunError, YakusuError
from yakusu.model.base import Seq2Seq

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor

T = TypeVar("T")
_FILL = object()
_GRACE_SECONDS = 2.0  # time for every live process to notice that another one is gone


class Group:
    """The processes that train one model, as seen from one of them; by default a single process.

    Args:
        rank: Rank of this process, from 0.
        size: Number of processes.
        local_rank: Rank of this process on its machine, from 0.
    """

    def __init__(self, rank: int = 0, size: int = 1, local_rank: int = 0) -> None:
        self.rank, self.size, self.local_rank = rank, size, local_rank

    @property
    def is_main(self) -> bool:
        """Whether this is rank 0, the process that writes files."""
        return self.rank == 0

    def shard(self, items: Sequence[T]) -> list[T]:
        """Return the items of this process: every `size`-th item, starting at index `rank`."""
        return list(items[self.rank :: self.size])

    def gather(self, shard: list[T]) -> list[T]:
        """Return the items of all processes, in the order they had before `shard`."""
        return shard

    def sum(self, *numbers: float) -> list[float]:
        """Return the sum of each number over all processes."""
        return list(numbers)

    def run_on_main(self, work: Callable[[], T]) -> T:
        """Call `work` on rank 0 and return its result on all processes, however long it takes.

        Raises:
            YakusuError: `work` failed.
        """
        return work()

    def collective(self) -> AbstractContextManager[None]:
        """Return a context for operations in which the processes wait for each other.

        Raises:
            RunError: Another process did not take part.
        """
        return nullcontext()


class _ProcessGroup(Group):
    """Several processes connected by torch.distributed.

    A process that times out while it waits for the others writes its rank to the shared store, so
    the ranks missing from the store are those that died or stalled.
    """

    def __init__(self, store: Any, local_rank: int, stall_minutes: float) -> None:
        super().__init__(dist.get_rank(), dist.get_world_size(), local_rank)
        self._store, self._stall_minutes = store, stall_minutes
        stall = timedelta(minutes=stall_minutes)
        self._gloo = dist.new_group(backend="gloo", timeout=stall)
        self._gloo_without_timeout = dist.new_group(backend="gloo", timeout=timedelta(days=30))

    def gather(self, shard: list[T]) -> list[T]:
        shards: list[Any] = [None] * self.size
        with self.collective():
            dist.all_gather_object(shards, shard, group=self._gloo)
        items = chain(*zip_longest(*shards, fillvalue=_FILL))
        return [item for item in items if item is not _FILL]

    def sum(self, *numbers: float) -> list[float]:
        total = torch.tensor(numbers, dtype=torch.float64)
        with self.collective():
            dist.all_reduce(total, group=self._gloo)
        return list(total.tolist())

    def run_on_main(self, work: Callable[[], T]) -> T:
        result: list[Any] = [None, None]  # value, error message
        failure: YakusuError | None = None
        if self.is_main:
            try:
                result = [work(), None]
            except YakusuError as error:
                result, failure = [None, str(error)], error
        with self.collective():
            dist.broadcast_object_list(result, group=self._gloo_without_timeout)
        if result[1] is not None:
            raise failure or RunError(f"rank {self.rank}: rank 0 failed ({result[1]})")
        return result[0]  # type: ignore[no-any-return]

    @contextmanager
    def collective(self) -> Iterator[None]:
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
                f"rank {self.rank}: {who} died, or stalled for {self._stall_minutes:g} minutes "
                "(training.stall_minutes): rerun the same command to resume from the last "
                f"checkpoint [{error}]"
            ) from error


@contextmanager
def process_group(stall_minutes: float) -> Iterator[Group]:
    """Join the processes that torchrun started; without torchrun, a group of one process.

    Args:
        stall_minutes: How long the processes wait for each other before they give up.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        yield Group()
        return
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    store, rank, size = next(rendezvous("env://"))
    if os.environ["GROUP_WORLD_SIZE"] == "1":
        # The store may survive a restart and still hold the addresses of dead processes.
        store = dist.PrefixStore(f"attempt-{os.environ['TORCHELASTIC_RESTART_COUNT']}", store)  # type: ignore[attr-defined]
    dist.init_process_group(
        backend, store=store, rank=rank, world_size=size, timeout=timedelta(minutes=stall_minutes)
    )
    yield _ProcessGroup(store, int(os.environ["LOCAL_RANK"]), stall_minutes)
    dist.destroy_process_group()  # not after an error: it could wait for dead processes


# ---- one model in all processes ------------------------------------------------------------------


def wrap(loss: nn.Module, model: Seq2Seq, group: Group, *, sharded: bool) -> nn.Module:
    """Wrap the loss of a model so that its gradients are averaged over all processes.

    Args:
        loss: Module that calls the model.
        model: Its weights are sharded in place if `sharded`.
        group: The processes; with one process `loss` is returned unchanged.
        sharded: Each process holds a shard of the weights (FSDP2), not a copy of them (DDP).
    """
    if group.size == 1:
        return loss
    if sharded:
        return _fully_shard(loss, model, group)
    # torch 2.13 warns that `broadcast_buffers` has a new name, which torch 2.11 does not accept.
    with group.collective(), catch_warnings(action="ignore", category=FutureWarning):
        # `find_unused_parameters` keeps the order of the sums the same in every step.
        return DistributedDataParallel(loss, broadcast_buffers=False, find_unused_parameters=True)


def _fully_shard(loss: nn.Module, model: Seq2Seq, group: Group) -> nn.Module:
    from torch.distributed.fsdp import fully_shard  # takes as long as torch to import

    mesh = init_device_mesh(model.output_weight.device.type, (group.size,))
    for stack in model.children():
        if isinstance(stack, nn.ModuleList):
            for layer in stack:
                fully_shard(layer, mesh=mesh)
    fully_shard(loss, mesh=mesh)  # parameters outside the layers
    return loss


def is_sharded(loss: nn.Module) -> bool:
    """Return whether each process holds a shard of the weights."""
    return hasattr(loss, "unshard")  # of FSDPModule


def no_sync(loss: nn.Module, group: Group) -> AbstractContextManager[None]:
    """Accumulate gradients in each process without averaging them, unless they are sharded."""
    if is_sharded(loss):
        return group.collective()
    return loss.no_sync() if isinstance(loss, DistributedDataParallel) else nullcontext()


def sync_gradients(loss: nn.Module, group: Group, src: Tensor, tgt: Tensor) -> None:
    """Average the gradients that `no_sync` left in each process (docs/decisions/0016).

    DistributedDataParallel averages gradients only during a backward pass, so this function runs
    one that adds zero to them.

    Args:
        loss: A loss wrapped in DistributedDataParallel.
        group: The processes.
        src: Any source ids (B, S).
        tgt: Any target ids (B, T).
    """
    with group.collective():
        smoothed, _ = loss(src, tgt)
        (smoothed * 0).backward()


def _is_shard(tensor: Tensor) -> TypeGuard["DTensor"]:
    return hasattr(tensor, "full_tensor")


def full_tensor(tensor: Tensor) -> Tensor:
    """Assemble a tensor from the shards of all processes; every process must call this."""
    return tensor.full_tensor() if _is_shard(tensor) else tensor


def full_tensors(named: Iterable[tuple[str, Tensor]], *, keep: bool) -> dict[str, Tensor]:
    """Gather named tensors; every process must call this.

    Args:
        named: Names and tensors; sharded ones are moved to the CPU once gathered.
        keep: Return the tensors; otherwise only take part in gathering and return no tensors.
    """
    gathered = {}
    for name, tensor in named:
        full = full_tensor(tensor.detach())
        if keep:
            gathered[name] = full.cpu() if _is_shard(tensor) else full
    return gathered


def shard_like(full: Tensor, like: Tensor) -> Tensor:
    """Return this process's shard of `full`, on the device and with the layout of `like`."""
    full = full.to(like.device)
    if not _is_shard(like) or not full.ndim:
        return full
    from torch.distributed.tensor import distribute_tensor

    # Every process has read the same file, so nothing needs to be sent.
    return distribute_tensor(full, like.device_mesh, like.placements, src_data_rank=None)


def full_model(
    model: Seq2Seq, group: Group, weights: Mapping[str, Tensor] | None = None
) -> Seq2Seq:
    """Return a model with all its weights: the same one, or a copy if sharded or with `weights`.

    Args:
        model: The model.
        group: The processes.
        weights: Weights of the copy, sharded like those of the model; None: those of the model.
    """
    if weights is None and not _is_shard(model.output_weight):
        return model
    weights = model.weights() if weights is None else weights
    copy = type(model)(
        model.config, src_vocab_size=model.src_vocab_size, tgt_vocab_size=model.tgt_vocab_size
    ).to(model.output_weight.device)
    with group.collective(), torch.no_grad():
        copy.load_weights(full_tensors(weights.items(), keep=True))
    return copy
