"""The systems that embedding_tasks.py compares, each at several sizes.

V words, H dimensions, M components, K codes. A ratio is 32 V H bits over those of codes and
codebook, with its mean vector and without the words. For the peers in
`benchmarks.peers.quantisers`, everything but the words is counted.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.compression.api import by_codes, by_integers
from benchmarks.peers.gumbel import load
from benchmarks.peers.gumbel import ratio as gumbel_ratio
from benchmarks.peers.quantisers import (
    FLOAT,
    Rebuilt,
    product_quantised,
    quantised_columns,
    quantised_rows,
    rabitq,
    rotated_product_quantised,
    scalar_quantised,
    signs,
    turboquantised,
)
from yakusu.vectors.controls import centred, half_whitened, whitened

CODES = (2, 4, 8, 16, 32)  # K
STEPS = tuple(float(step) for step in np.geomspace(0.1, 1.6, 13).round(3))  # of integers
# Product quantisation: dimensions of a part, and bits of its code.
PARTS = ((2, 8), (2, 7), (2, 6), (2, 5), (4, 8), (5, 10), (5, 8), (10, 8))
ROTATED_PARTS = ((2, 8), (2, 6), (2, 5), (5, 8))  # of OPQ, whose rotation takes minutes to train


@dataclass(frozen=True)
class Compressed:
    """Vectors after compression by a system, or its codes.

    system: "Proposed", "Integers" (one step, entropy-coded), "Shu+'18", or a peer's name.
    kind: "Code", "Real", or "" for a control.
    curve: Sizes with equal curves belong on one line of the figure.
    size: The size in the system's own terms.
    ratio: Compression ratio to float32.
    vectors: (V, H), or the codes (V, M).
    """

    system: str
    kind: str
    curve: str
    size: str
    ratio: float
    vectors: np.ndarray


def size(text: str) -> tuple[int, int]:
    """Parse M and K from 64x16."""
    n_components, n_codes = map(int, text.split("x"))
    return n_components, n_codes


def controls(vectors: np.ndarray) -> Iterator[Compressed]:
    """Yield uncompressed vectors: as they are, centred, half-whitened as integers, whitened."""
    yield Compressed("floats", "", "", "", 1.0, vectors)
    yield Compressed("centred floats", "", "", "", 1.0, centred(vectors))
    yield Compressed("half-whitened floats", "", "", "", 1.0, half_whitened(vectors))
    yield Compressed("whitened floats", "", "", "", 1.0, whitened(vectors))


def proposed(vectors: np.ndarray) -> Iterator[Compressed]:
    """Yield the paper's codes, with all components and with half of them."""
    width = vectors.shape[1]
    for n_components, curve in ((width, "M = H"), (width // 2, "M = H/2")):
        for n_codes in CODES:
            size = f"M = {n_components}, K = {n_codes}"
            made = by_codes(vectors, n_components, n_codes)
            yield Compressed("Proposed", "Code", curve, size, made.ratio, made.codes)
            yield Compressed("Proposed", "Real", curve, size, made.ratio, made.rebuilt())


def integers(vectors: np.ndarray) -> Iterator[Compressed]:
    """Yield integers by one step for all components; bits as stored by rANS."""
    for step, made in zip(STEPS, by_integers(vectors, STEPS), strict=True):
        size = f"step {step}"
        yield Compressed("Integers", "Code", "", size, made.ratio, made.codes)
        yield Compressed("Integers", "Real", "", size, made.ratio, made.rebuilt)


def shu_saved(path: Path, vectors: np.ndarray) -> Iterator[Compressed]:
    """Yield the codes of the baseline from a file that shu_codes.py wrote for these vectors."""
    learned, steps = load(path, vectors)
    n_codebooks, n_codes, width = learned.codebooks.shape
    size, curve = f"M = {n_codebooks}, K = {n_codes}", f"{steps:,} steps"
    ratio = gumbel_ratio(len(learned.codes), width, n_codebooks, n_codes)
    yield Compressed("Shu+'18", "Code", curve, size, ratio, learned.codes)
    rebuilt = learned.rebuild(learned.codes).astype(np.float32)
    yield Compressed("Shu+'18", "Real", curve, size, ratio, rebuilt)


def integer_rows(vectors: np.ndarray) -> Iterator[Compressed]:
    """Yield vectors whose rows are rounded to 8 and to 4 bits."""
    for n_bits in (8, 4):
        yield _peer(f"int{n_bits} rows", "", vectors, partial(quantised_rows, n_bits=n_bits))


def integer_columns(vectors: np.ndarray) -> Iterator[Compressed]:
    """Yield vectors whose columns are rounded to 4 bits, each by its best step."""
    yield _peer("int4 columns", "", vectors, partial(quantised_columns, n_bits=4))


def sign_bits(vectors: np.ndarray) -> Iterator[Compressed]:
    """Yield the signs of centred vectors, as they are and after a random rotation."""
    yield _peer("signs", "", vectors, partial(signs, rotated=False))
    yield _peer("rotated signs", "", vectors, partial(signs, rotated=True))


def scalar_quantisation(vectors: np.ndarray, *, threads: int = 1) -> Iterator[Compressed]:
    """Yield vectors whose columns faiss rounds to 8 and to 4 bits between minimum and maximum."""
    for n_bits in (8, 4):
        quantise = partial(scalar_quantised, n_bits=n_bits, threads=threads)
        yield _peer(f"faiss SQ{n_bits}", "", vectors, quantise)


def random_rotations(vectors: np.ndarray, *, threads: int = 1) -> Iterator[Compressed]:
    """Yield vectors after faiss' RaBitQ and TurboQuant of 1 to 4 bits per dimension."""
    for system, quantiser in (("RaBitQ", rabitq), ("TurboQuant", turboquantised)):
        for n_bits in (1, 2, 3, 4):
            size = f"{n_bits} bits" if n_bits > 1 else "1 bit"
            quantise = partial(quantiser, n_bits=n_bits, threads=threads)
            yield _peer(system, size, vectors, quantise)


def product_quantisation(vectors: np.ndarray, *, threads: int = 1) -> Iterator[Compressed]:
    """Yield vectors after faiss' product quantisation, at the sizes that suit V and H.

    OPQ is the same after a rotation that suits the parts.
    """
    width = vectors.shape[1]
    for system, quantiser, sizes in (
        ("faiss PQ", product_quantised, PARTS),
        ("faiss OPQ", rotated_product_quantised, ROTATED_PARTS),
    ):
        for part, n_bits in sizes:
            if width % part == 0 and len(vectors) >= 2**n_bits:
                size = f"{width // part} parts of {n_bits} bits"
                quantise = partial(quantiser, n_parts=width // part, n_bits=n_bits, threads=threads)
                yield _peer(system, size, vectors, quantise)


def all_systems(
    vectors: np.ndarray, baseline: Iterable[Compressed] = (), *, threads: int = 1
) -> Iterator[Compressed]:
    """Yield all systems, the floats first; those of faiss only if it is installed.

    Args:
        vectors: (V, H).
        baseline: Results of `shu_saved`.
        threads: Threads of faiss.
    """
    for plain in (controls, proposed, integers, integer_rows, integer_columns, sign_bits):
        yield from plain(vectors)
    if find_spec("faiss"):
        for peer in (scalar_quantisation, random_rotations, product_quantisation):
            yield from peer(vectors, threads=threads)
    yield from baseline


def _peer(
    system: str, size: str, vectors: np.ndarray, quantise: Callable[[np.ndarray], Rebuilt]
) -> Compressed:
    """Quantise centred vectors and add the mean again, whose bits are counted."""
    n_words, width = vectors.shape
    mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    made = quantise(vectors - mean)
    bits = made.bits + FLOAT * width / n_words
    return Compressed(system, "Real", "", size, FLOAT * width / bits, made.vectors + mean)
