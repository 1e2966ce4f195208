"""Where the time of a training step goes, and how fast its matrix products are.

Runs with and without torch.profiler take turns, each in its own process. The profiler gives the
time of each operator of torch without those that it calls. An operator belongs to the first of
these parts that it or one of its callers is in:

    matrix products     of the layers, of the output projection, and of their gradients
    attention           the fused kernel, which includes its own products
    loss                softmax, maxima and sums over the logits, without the products
    dropout             random bits, masks and products with masks, and their gradients
    normalisation       LayerNorm and its gradient
    rows                embeddings, and tokens collected without padding or padded again
    optimizer           the norm of the gradient and Adam
    memory              filling, copying and joining tensors elsewhere
    other operators     such as ReLU and sums of branches or gradients
    Python and torch    the rest of the wall time: Python, autograd, and the profiler

The shares are those of the fastest round. The speed of the products is the number of their
multiplications and additions, divided by their time; the limit is the best speed of a product of
two large square matrices in the same process. A bound is the speed-up of the fastest round without
the profiler if some parts stay as they are and all others take no time.
"""

import argparse
import math
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function

from benchmarks.common import Benchmark
from benchmarks.peers.common import Throughput
from benchmarks.records import Record
from benchmarks.speed.systems import cpu_flags
from benchmarks.speed.training_throughput import prepare, recipe_sha256
from benchmarks.speed.yakusu_loop import Job, train
from benchmarks.tables import FilledTable, fill, spread_of
from benchmarks.workers import Worker, in_turns
from yakusu.model.dropout import Dropout
from yakusu.recipe import Recipe

PRODUCTS, ATTENTION, REST = "matrix products", "attention", "Python and torch"
_PRODUCT = r"^aten::(mm|addmm_?|bmm|baddbmm_?)$"
_LABEL = "dropout"  # of its calls
PARTS = {
    PRODUCTS: _PRODUCT,
    ATTENTION: "scaled_dot_product",
    "loss": "_ChunkedLoss",
    "dropout": f"^{_LABEL}$",
    "normalisation": "native_layer_norm",
    "rows": "_Pack|_Pad|aten::embedding",
    "optimizer": r"^Optimizer\.|aten::_foreach_norm",
    "memory": "^aten::(fill_|zero_|copy_|cat)$",
    "other operators": "^aten::",
}
_SQUARE = 2048  # rows of the matrices whose product is the limit
_ROWS = 4096  # tokens in the products that are compared in two data types
_PROBE_SECONDS = 1.0

benchmark = Benchmark(
    "training_profile",
    __doc__,
    example="python -m benchmarks.speed.training_profile --sizes tiny --record",
    needs=["data"],
    threads=2,
    quick={"sizes": ["tiny"], "vocab": 300, "step_tokens": 200, "rounds": 1, "seconds": 0.2},
)
benchmark.option("--sizes", nargs="+", default=["tiny"], help="names of recipes")
benchmark.option("--vocab", type=int, default=10_000, help="tokens of the joint BPE (%(default)s)")
benchmark.option("--step-tokens", type=int, default=4096, help="tokens per update (%(default)s)")
benchmark.option("--rounds", type=int, default=5, help="measured rounds (%(default)s)")
benchmark.option("--seconds", type=float, default=12.0, help="per side and round (%(default)s)")
benchmark.option("--seed", type=int, default=1, help="seed of the weights (%(default)s)")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """The share of each part, the speed of the products, and that in two data types."""
    sizes = [record["size"] for record in records]
    rows = [
        [part, *(f"{record['shares'][part]:.1%}" for record in records)] for part in (*PARTS, REST)
    ]
    yield FilledTable(["Share of the time", *sizes], rows, records)
    speeds = (
        ("Recipe", "{size}, {step_tokens:,} tokens per update"),
        ("Target tokens per second", spread_of("speed")),
        ("With the profiler", spread_of("profiled")),
        ("GFLOP/s of the products", "{products:,.0f}"),
        ("At most", "{peak:,.0f}"),
        ("Share", "{share_of_peak:.0%}"),
        ("Bound of products", lambda record: f"{bound(record, PRODUCTS):.2f}"),
        ("Of products and attention", lambda record: f"{bound(record, PRODUCTS, ATTENTION):.2f}"),
    )
    yield fill(speeds, records, records)
    types = (
        ("Product", "{compared.product}"),
        ("float32, GFLOP/s", "{compared.float32:,.0f}"),
        ("bfloat16, GFLOP/s", "{compared.bfloat16:,.0f}"),
    )
    yield fill(types, records, records)


def bound(found: Mapping[str, Any] | Record, *parts: str) -> float:
    """Return the speed-up if all but some parts took no time."""
    overhead: float = found["profiled"]["high"] / found["speed"]["high"]
    return overhead / sum(found["shares"][part] for part in parts)


# ---- what is measured ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Profile:
    """What the profiler saw of a training run.

    whole: Tokens and wall time.
    seconds: The time of each part; their sum is the wall time.
    operations: Multiplications and additions of the matrix products.
    peak: Operations per second of a large product.
    """

    whole: Throughput
    seconds: dict[str, float]
    operations: int
    peak: float


def profiled(job: Job) -> Profile:
    """Train as `yakusu train` does, under the profiler."""
    peak = product_rate(_SQUARE, _SQUARE, _SQUARE)
    profiler = profile(activities=[ProfilerActivity.CPU], record_shapes=True)
    with _labelled_dropout():
        whole = train(job, profiler)
    events = list(profiler.events())
    seconds = seconds_of_parts(events)
    seconds[REST] = whole.seconds - sum(seconds.values())
    peak = max(peak, product_rate(_SQUARE, _SQUARE, _SQUARE))
    return Profile(whole, seconds, sum(map(operations, events)), peak)


@contextmanager
def _labelled_dropout() -> Iterator[None]:
    original = Dropout.forward

    def labelled(self: Dropout, x: Tensor) -> Tensor:
        with record_function(_LABEL):
            return original(self, x)

    Dropout.forward = labelled  # type: ignore[method-assign]
    try:
        yield
    finally:
        Dropout.forward = original  # type: ignore[method-assign]


def seconds_of_parts(events: Sequence[FunctionEvent]) -> dict[str, float]:
    """Return the seconds of the operators of each part."""
    seconds, part_of = dict.fromkeys(PARTS, 0.0), parts(events)
    for event in events:
        if event.name.startswith("aten::"):
            seconds[part_of(event)] += event.self_cpu_time_total / 1e6
    return seconds


def parts(events: Sequence[FunctionEvent]) -> Callable[[FunctionEvent], str]:
    """Return a function that finds the part of an operator."""
    # The gradient of a product has the sequence number of the product.
    dropped = {
        event.sequence_nr
        for event in events
        if event.name == "aten::mul" and event.cpu_parent and event.cpu_parent.name == _LABEL
    }

    def names(event: FunctionEvent | None) -> Iterator[str]:
        """The names of an operator and its callers; the gradient of dropout is named after it."""
        while event:
            is_gradient = event.name == "MulBackward0" and event.sequence_nr in dropped
            yield _LABEL if is_gradient else event.name
            event = event.cpu_parent

    return lambda event: list(PARTS)[min(map(_rank, names(event)))]


@cache
def _rank(name: str) -> int:
    """The index of the first part whose pattern occurs in a name."""
    found = (i for i, pattern in enumerate(PARTS.values()) if re.search(pattern, name))
    return next(found, len(PARTS))


def operations(event: FunctionEvent) -> int:
    """Multiplications and additions of a matrix product, (..., n, k) by (..., k, m); else 0."""
    if not re.search(_PRODUCT, event.name):
        return 0
    left, right = [shape for shape in event.input_shapes if len(shape) > 1][-2:]
    return 2 * math.prod(left) * int(right[-1])


def product_rate(
    n: int, k: int, m: int, dtype: torch.dtype = torch.float32, device: str = "cpu"
) -> float:
    """Return the operations per second of a product (n, k) by (k, m), the best of several."""
    left, right = (torch.randn(size, device=device).to(dtype) for size in ((n, k), (k, m)))
    best, end = math.inf, time.perf_counter() + _PROBE_SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        left @ right
        if device != "cpu":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return 2 * n * k * m / best


# ---- the benchmark -------------------------------------------------------------------------------


def measure(recipe: Recipe, size: str, args: argparse.Namespace) -> dict[str, Any]:
    """Train in turns with and without the profiler."""
    run = Path(recipe.run)
    found = in_turns(
        {"plain": train, "profiled": profiled},
        args.rounds,
        lambda i: [Job(run, args.seconds if i >= 0 else 0.0, args.seed + i + 1)],
        threads=args.threads,
    )
    with Worker(compare_types, threads=args.threads) as compare:
        compared = compare(recipe.model.d_model)
    profiles: list[Profile] = found["profiled"]
    fastest = max(profiles, key=lambda each: each.whole.tokens_per_second)
    shares = {part: own / fastest.whole.seconds for part, own in fastest.seconds.items()}
    speed = fastest.operations / fastest.seconds[PRODUCTS]
    peak = max(each.peak for each in profiles)
    return {
        "size": size,
        "step_tokens": recipe.batches.step_tokens,
        "recipe_sha256": recipe_sha256(recipe),
        "cpu flags": cpu_flags(),
        "speed": _spread([each.tokens_per_second for each in found["plain"]]),
        "profiled": _spread([each.whole.tokens_per_second for each in profiles]),
        "shares": {part: round(share, 4) for part, share in shares.items()},
        "products": speed / 1e9,
        "peak": peak / 1e9,
        "share_of_peak": speed / peak,
        "compared": compared,
    }


def compare_types(d_model: int) -> dict[str, Any]:
    """The speed of a product in two data types: (4096, d_model) by (d_model, 4 d_model)."""
    shape = _ROWS, d_model, 4 * d_model
    return {
        "product": f"({_ROWS}, {d_model}) x ({d_model}, {4 * d_model})",
        "float32": product_rate(*shape) / 1e9,
        "bfloat16": product_rate(*shape, dtype=torch.bfloat16) / 1e9,
    }


def _spread(speeds: list[float]) -> dict[str, float]:
    return {"median": statistics.median(speeds), "low": min(speeds), "high": max(speeds)}


def show(found: dict[str, Any]) -> None:
    """Print a measurement."""
    print(f"{found['size']}, tokens per second: {found['speed']}, profiled {found['profiled']}")
    for part, share in found["shares"].items():
        print(f"  {part:20}{share:8.1%}")
    print(f"  products: {found['products']:.0f} of {found['peak']:.0f} GFLOP/s")
    print(f"  bounds: {bound(found, PRODUCTS):.2f}, {bound(found, PRODUCTS, ATTENTION):.2f}")
    print(f"  {found['compared']}")


def main(args: argparse.Namespace) -> None:
    """Measure each size."""
    for size in args.sizes:
        with TemporaryDirectory() as folder:
            found = measure(prepare(size, args, folder), size, args)
        show(found)
        benchmark.record(found, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
