"""Single operations of the kernels, scores and translations, called through ctypes."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import Structure, byref, c_float, c_int, c_int64, c_size_t, c_void_p
from typing import Any

import numpy as np

from yakusu.engine.library import PACKED, MatrixFormat, Record, Requirements, Settings, library
from yakusu.engine.model import NativeModel
from yakusu.engine.packing import beside
from yakusu.native.library import kernels

Pair = tuple[Sequence[int], Sequence[int]]  # source and target ids, both ending with eos


def floats(x: Any) -> Any:
    return np.ascontiguousarray(x, np.float32)


def linear(
    isa: str, x: Any, rows: Any, bias: Any = None, *, format_: MatrixFormat
) -> tuple[Any, Any, Any]:
    """x W^T + b, and the scales and integers of W."""
    x, rows = floats(x), floats(rows)
    bias = None if bias is None else floats(bias)
    y = np.empty((len(x), len(rows)), np.float32)
    scale, integers = np.zeros(len(rows), np.float32), np.zeros(rows.shape, np.int16)
    function = library().yk_probe_linear
    pointer, number = c_void_p, c_int
    function.argtypes = (
        *(pointer, pointer, pointer, number, number, number),
        *(pointer, number, pointer, pointer, pointer),
    )
    matrix = rows.ctypes.data, None if bias is None else bias.ctypes.data, *rows.shape
    addresses = (array.ctypes.data for array in (y, scale, integers))
    done = function(kernels(isa), *matrix, format_, x.ctypes.data, len(x), *addresses)
    assert done == PACKED
    return y, scale, integers


class Heads(Structure):
    """`Heads` in native/engine.h."""

    _fields_ = [(name, c_int) for name in ("n", "lanes", "key_width", "value_width")] + [
        ("scale", c_float)
    ]


def attention(isa: str, q: Any, k: Any, v: Any, *, scale: float) -> Any:
    """Attention of queries (n, h, d_k) to keys (S, h, d_k) and values (S, h, d_v)."""
    n, h, d_v = *q.shape[:2], v.shape[2]
    q, k, v = (floats(beside(floats(x).reshape(len(x), -1), 1, h)) for x in (q, k, v))
    lanes, n_groups = min(16, 1 << (h - 1).bit_length()), -(-h // 16)
    heads = Heads(h, lanes, q.shape[1] // n_groups, v.shape[1] // n_groups, scale)
    out = np.empty((n, v.shape[1]), np.float32)
    function = library().yk_probe_attention
    pointer, number = c_void_p, c_int
    function.argtypes = (
        *(pointer, pointer, number, pointer, number),
        *(pointer, pointer, number, pointer),
    )
    addresses = k.ctypes.data, v.ctypes.data, len(k), out.ctypes.data
    assert function(kernels(isa), byref(heads), n_groups, q.ctypes.data, n, *addresses)
    groups = out.reshape(n, n_groups, -1)[:, :, : d_v * lanes].reshape(n, n_groups, d_v, lanes)
    return groups.swapaxes(2, 3).reshape(n, -1, d_v)[:, :h]


def activation(isa: str, x: Any, number: int) -> Any:
    """ReLU (0), SiLU (1) or GELU (2) of a vector whose length is a multiple of 16."""
    y = floats(x).copy()
    function = library().yk_probe_activation
    function.argtypes = (c_void_p, c_void_p, c_size_t, c_int)
    function(kernels(isa), y.ctypes.data, len(y), number)
    return y


def norm(isa: str, x: Any, n: int, gain: Any, bias: Any, epsilon: float) -> Any:
    """LayerNorm of the first n numbers of a vector whose length is a multiple of 16."""
    x, gain, bias = map(floats, (x, gain, bias))
    y = np.empty_like(x)
    function = library().yk_probe_norm
    function.argtypes = (c_void_p, c_void_p, c_int, c_void_p, c_void_p, c_float, c_void_p)
    addresses = (array.ctypes.data for array in (x, gain, bias, y))
    first, *others = addresses
    function(kernels(isa), first, n, *others[:2], epsilon, others[2])
    return y


def alternate(log_probs: Any, progress: Any, n_required: int) -> list[int]:
    """The order of candidates (n,) with different numbers of the required tokens."""
    log_probs, progress = np.array(log_probs, np.float64), np.array(progress, np.int32)
    order, function = np.empty(len(progress), np.int32), library().yk_probe_alternate
    function.argtypes = (c_void_p, c_void_p, c_int, c_int, c_void_p)
    sizes = len(progress), n_required
    assert function(log_probs.ctypes.data, progress.ctypes.data, *sizes, order.ctypes.data)
    found: list[int] = order.tolist()
    return found


@contextmanager
def session(models: Sequence[NativeModel], isa: str) -> Iterator[c_void_p]:
    """Decodes sentences with the mean of the models' probabilities; UNK is not generated."""
    allowed = np.ones(models[0].tgt_vocab_size + 15, np.uint8)
    allowed[1] = 0
    handles = (c_void_p * len(models))(*(model.handle for model in models))
    made = library().yk_session(
        handles, len(models), kernels(isa), 64, allowed.ctypes.data, None, None, False, None
    )
    yield c_void_p(made)
    library().yk_free_session(made)


def log_probs(
    models: Sequence[NativeModel], pairs: Sequence[Pair], isa: str = ""
) -> list[list[float]]:
    """The log-probability of each target token, eos included; all pairs are decoded together."""
    found = [np.empty(len(target)) for _, target in pairs]
    with session(models, isa) as handle:
        for key, (source, target) in enumerate(pairs):
            src, tgt = np.array(models[0].encoded(source), np.int32), np.array(target, np.int32)
            record = Record(n_alternatives=0, log_probs=found[key].ctypes.data)
            sizes = src.ctypes.data, len(src), tgt.ctypes.data, len(tgt)
            assert library().yk_score(handle, key, *sizes, byref(record))
        assert library().yk_advance(handle, math.inf) == 0
    return [each.tolist() for each in found]


def translations(
    models: Sequence[NativeModel],
    sources: Sequence[Sequence[int]],
    *,
    beam: int,
    max_extra: int,
    isa: str = "",
) -> list[tuple[tuple[int, ...], float]]:
    """The best translation of each source, without eos, and its log-probability."""
    found = {}
    with session(models, isa) as handle:
        for key, source in enumerate(sources):
            src, limit = np.array(models[0].encoded(source), np.int32), len(source) + max_extra
            settings = Settings(beam=beam, n_best=1, limit=limit, margin=math.inf, alpha=0.6)
            sizes = src.ctypes.data, len(src), None, 0
            assert library().yk_search(handle, key, *sizes, byref(settings), byref(Requirements()))
        assert library().yk_advance(handle, math.inf) == 0
        at = c_int64()
        while search := library().yk_next(handle, byref(at)):
            best = search[0].found[0]
            found[at.value] = tuple(best.tokens[: best.n]), best.log_prob
    return [found[key] for key in range(len(sources))]
