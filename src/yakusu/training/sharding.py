"""One model over several processes: a whole copy in each, or a part in each.

Whole copies exchange gradients (DistributedDataParallel, docs/decisions/0016). Where training
outgrows a device, each process keeps a part of every weight, gradient and moment, and a layer is
whole only while it computes (FSDP2, docs/decisions/0018).
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from warnings import catch_warnings

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from yakusu.model.base import Seq2Seq
from yakusu.training.parallel import Group


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
