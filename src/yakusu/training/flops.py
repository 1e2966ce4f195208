"""What training costs in floating-point operations (FLOPs), Table 2: by formula and by counting.

The paper's formula, section 6.1:  seconds x number of devices x sustained FLOPS of one.
Counted:  2 n m k for each product of an (n, m) and an (m, k) matrix, forward and backward.
"""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from yakusu.data.batches import Batch
from yakusu.model.base import Seq2Seq
from yakusu.training.loss import smoothed_loss
from yakusu.training.step import forget_routing

# Single-precision FLOPS of GPUs as the paper takes them, section 6.1, footnote 5.
SUSTAINED = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}

_PRODUCTS = 100


def by_formula(seconds: float, *, n_devices: int, sustained: float) -> float:
    """FLOPs of a training run by the paper's formula.

    Args:
        seconds: Of wall time.
        n_devices: How many trained together.
        sustained: FLOPS of one, as from `sustained_flops`.
    """
    return seconds * n_devices * sustained


def sustained_flops(name: str, device: torch.device) -> float:
    """FLOPS of a device: the paper's figure for its GPUs, else the best of many products.

    They are large enough to keep the device busy, and so short that other work, which may stand
    in the way of most, leaves some alone.

    Args:
        name: What the device calls itself.
        device: Where the products are measured.
    """
    for gpu, flops in SUSTAINED.items():
        if re.search(rf"\b{gpu}\b", name):
            return flops
    size = 512 if device.type == "cpu" else 4096
    a, best = torch.ones(size, size, device=device), float("inf")
    for _ in range(_PRODUCTS):
        began = time.perf_counter()
        float((a @ a)[0, 0])  # waits for the device
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best


def count_flops(model: Seq2Seq, batches: Iterable[Batch]) -> int:
    """FLOPs of the loss of some batches and of its gradient; the gradients are thrown away."""
    device, training = model.output_weight.device, model.training
    model.train()  # evaluation computes a few rows more, docs/decisions/0015
    with counting() as counter:
        for batch in batches:
            on_device = batch.to(device)
            real = on_device.tgt != model.tgt_pad  # (B, T)
            hidden = model(on_device.src, on_device.tgt)[real]  # (N, D)
            target = on_device.tgt[real]  # (N,)
            smoothed_loss(hidden, model.output_weight, target, epsilon=0.1).smoothed.backward()
    model.zero_grad(set_to_none=True)
    forget_routing(model)
    model.train(training)
    return counter.get_total_flops()


@contextmanager
def counting() -> Iterator[FlopCounterMode]:
    """Counts the products made within; its `get_total_flops` tells.

    LSTMs on a GPU run as plain products, for torch's counter does not look into their kernel.
    """
    with (
        FlopCounterMode(display=False, custom_mapping=_FORMULAS) as counter,
        torch.backends.cudnn.flags(enabled=False),
    ):
        yield counter


Shape = Sequence[int]


def _product_in_place(_sum: Shape, a: Shape, b: Shape, *_: Any, out_shape: Any) -> int:
    """Of (n, m) and (m, k), as the loss adds them up."""
    return 2 * prod(a) * b[1]


def _lstm(x: Shape, w_x: Shape, w_h: Shape, *_: Any, out_shape: Any) -> int:
    """oneDNN's LSTM layer of one direction: x (T, B, D), of which torch has no formula."""
    return 2 * x[0] * x[1] * (prod(w_x) + prod(w_h))


def _lstm_backward(x: Shape, w_x: Shape, w_h: Shape, *_: Any, out_shape: Any) -> int:
    """The gradients of x, h and the weights."""
    return 2 * _lstm(x, w_x, w_h, out_shape=None)


def _attention(q: Shape, k: Shape, v: Shape, *_args: Any, **_named: Any) -> int:
    """Fused: queries (B, H, T, d_k) meet all keys (B, H, S, d_k), and weigh all values."""
    return 2 * prod(q[:-1]) * k[-2] * (q[-1] + v[-1])


def _attention_backward(_grad: Shape, *qkv: Any, **_named: Any) -> int:
    """As if the weights had been kept: that they are computed again spares memory, and is free."""
    return 2 * _attention(*qkv)


def _convolution_backward(grad: Shape, _x: Shape, weight: Shape, *rest: Any, out_shape: Any) -> int:
    """Each wanted gradient costs what forward does: 2 x outputs x the weights that make one.

    torch's own formula forgets the groups of a depthwise convolution.
    """
    wanted: list[bool] = rest[-1][:2]  # the gradients of x and of the weights
    return 2 * prod(grad) * prod(weight[1:]) * sum(wanted)


# What torch's counter does not know, or not well.
_FORMULAS = {
    torch.ops.aten.addmm_: _product_in_place,
    torch.ops.aten.mkldnn_rnn_layer: _lstm,
    torch.ops.aten.mkldnn_rnn_layer_backward: _lstm_backward,
    torch.ops.aten.convolution_backward: _convolution_backward,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
    torch.ops.aten._scaled_dot_product_flash_attention_backward: _attention_backward,
    torch.ops.aten._scaled_dot_product_efficient_attention_backward: _attention_backward,
    torch.ops.aten._scaled_dot_product_cudnn_attention_backward: _attention_backward,
}
