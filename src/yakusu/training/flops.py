"""Cost of training in floating-point operations (FLOPs), Table 2: by formula and by counting.

By the paper's formula, section 6.1:  seconds x number of devices x sustained FLOPS of a device.
By counting:  2 n m k for each product of an (n, m) and an (m, k) matrix, forward and backward.
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

# Sustained single-precision FLOPS of GPUs, section 6.1, footnote 5.
SUSTAINED = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}

_N_PRODUCTS = 100


def by_formula(seconds: float, *, n_devices: int, sustained: float) -> float:
    """Return the FLOPs of a training run by the paper's formula.

    Args:
        seconds: Wall-clock time.
        n_devices: Number of devices that trained together.
        sustained: FLOPS of one device, as returned by `sustained_flops`.
    """
    return seconds * n_devices * sustained


def sustained_flops(name: str, device: torch.device) -> float:
    """Return the FLOPS of a device: the paper's value for its GPUs, otherwise measured.

    The measurement is the fastest of many matrix products. Each is large enough to keep the device
    busy, and short enough that some of them run undisturbed by other work.

    Args:
        name: Name of the device, as reported by its driver.
        device: Device to measure on.
    """
    for gpu, flops in SUSTAINED.items():
        if re.search(rf"\b{gpu}\b", name):
            return flops
    size = 512 if device.type == "cpu" else 4096
    a, fastest = torch.ones(size, size, device=device), float("inf")
    for _ in range(_N_PRODUCTS):
        start = time.perf_counter()
        float((a @ a)[0, 0])  # waits for the device
        fastest = min(fastest, time.perf_counter() - start)
    return 2 * size**3 / fastest


def count_flops(model: Seq2Seq, batches: Iterable[Batch]) -> int:
    """Count the FLOPs of the loss of batches and of its gradient; the gradients are discarded."""
    device, training = model.output_weight.device, model.training
    model.train()
    with counting() as counter:
        for batch in batches:
            on_device = batch.to(device)
            is_token = on_device.tgt != model.tgt_pad  # (B, T)
            hidden = model(on_device.src, on_device.tgt)[is_token]  # (N, D)
            target = on_device.tgt[is_token]  # (N,)
            weight, bias = model.output_weight, model.output_bias
            smoothed_loss(hidden, weight, target, epsilon=0.1, bias=bias).smoothed.backward()
    model.zero_grad(set_to_none=True)
    forget_routing(model)
    model.train(training)
    return counter.get_total_flops()


@contextmanager
def counting() -> Iterator[FlopCounterMode]:
    """Return a context that counts the matrix products inside it, for `get_total_flops`.

    LSTMs on a GPU run as separate matrix products, because torch cannot count inside cuDNN.
    """
    with (
        FlopCounterMode(display=False, custom_mapping=_FORMULAS) as counter,
        torch.backends.cudnn.flags(enabled=False),
    ):
        yield counter


_Shape = Sequence[int]


def _product_in_place(_sum: _Shape, a: _Shape, b: _Shape, *_: Any, out_shape: Any) -> int:
    """A product of (n, m) and (m, k) that is added to a matrix, as in the loss."""
    return 2 * prod(a) * b[1]


def _lstm(x: _Shape, w_x: _Shape, w_h: _Shape, *_: Any, out_shape: Any) -> int:
    """One direction of an LSTM layer of oneDNN on x (T, B, D), which torch does not count."""
    return 2 * x[0] * x[1] * (prod(w_x) + prod(w_h))


def _lstm_backward(x: _Shape, w_x: _Shape, w_h: _Shape, *_: Any, out_shape: Any) -> int:
    """The gradients of x, of the hidden states and of the weights."""
    return 2 * _lstm(x, w_x, w_h, out_shape=None)


def _attention(q: _Shape, k: _Shape, v: _Shape, *_args: Any, **_named: Any) -> int:
    """Fused attention of queries (B, H, T, d_k) to keys (B, H, S, d_k) and their values."""
    return 2 * prod(q[:-1]) * k[-2] * (q[-1] + v[-1])


def _attention_backward(_grad: _Shape, *qkv: Any, **_named: Any) -> int:
    """The gradient of fused attention; recomputing the weights is not counted."""
    return 2 * _attention(*qkv)


def _convolution_backward(
    grad: _Shape, _x: _Shape, weight: _Shape, *rest: Any, out_shape: Any
) -> int:
    """Each gradient costs as much as the forward pass: 2 x outputs x weights of one output.

    torch's own formula ignores the groups of a depthwise convolution.
    """
    needed: list[bool] = rest[-1][:2]  # the gradients of x and of the weights
    return 2 * prod(grad) * prod(weight[1:]) * sum(needed)


# Operations that torch's counter lacks or counts incorrectly.
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
