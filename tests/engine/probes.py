"""Single operations of the kernels, called through ctypes."""

from ctypes import byref, c_float, c_int, c_size_t, c_void_p
from typing import Any

import numpy as np

from yakusu.engine.library import Matrix, library


def floats(x: Any) -> Any:
    return np.ascontiguousarray(x, np.float32)


def kernels(name: str) -> c_void_p:
    return c_void_p(library().yk_kernels(name.encode()))


def linear(isa: str, x: Any, rows: Any, bias: Any = None, *, int8: bool) -> tuple[Any, Any, Any]:
    """x W^T + b, and the scales and integers of W."""
    x, rows = floats(x), floats(rows)
    bias = None if bias is None else floats(bias)
    matrix = Matrix(rows.ctypes.data, None if bias is None else bias.ctypes.data, *rows.shape)
    y = np.empty((len(x), len(rows)), np.float32)
    scale, integers = np.zeros(len(rows), np.float32), np.zeros(rows.shape, np.int8)
    function = library().yk_probe_linear
    function.argtypes = (c_void_p, c_void_p, c_int, c_void_p, c_int, c_void_p, c_void_p, c_void_p)
    addresses = (array.ctypes.data for array in (y, scale, integers))
    assert function(kernels(isa), byref(matrix), int8, x.ctypes.data, len(x), *addresses)
    return y, scale, integers


def attention(isa: str, q: Any, k: Any, v: Any, *, scale: float, target: bool) -> Any:
    """Attention of queries (n, h, d_k) to keys (S, h, d_k) and values (S, h, d_v)."""
    q, k, v = map(floats, (q, k, v))
    n_heads, d_k, d_v = q.shape[1], q.shape[2], v.shape[2]
    out = np.empty((len(q), n_heads, d_v), np.float32)
    function = library().yk_probe_attention
    pointer, number = c_void_p, c_int
    function.argtypes = (
        *(pointer, pointer, number, pointer, pointer, number, number, number, number),
        *(c_float, number, pointer),
    )
    assert function(
        kernels(isa), q.ctypes.data, len(q), k.ctypes.data, v.ctypes.data, len(k), n_heads, d_k, d_v,
        scale, target, out.ctypes.data,
    )  # fmt: skip
    return out


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
