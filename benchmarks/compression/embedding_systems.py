"""The systems that embedding_tasks.py compares, each at several sizes.

V words, H dimensions, M components, K codes. A ratio is 32 V H bits over those of codes and
codebook, as the paper counts them: without words and mean vector.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.compression.api import by_codes, by_integers
from benchmarks.peers.gumbel import learn
from benchmarks.peers.gumbel import ratio as gumbel_ratio
from yakusu.vectors.controls import centred, half_whitened, whitened

CODES = (2, 4, 8, 16, 32)  # K
STEPS = tuple(float(step) for step in np.geomspace(0.1, 1.6, 13).round(3))  # of integers
# Product quantisation: dimensions of a part, and bits of its code.
PARTS = ((2, 8), (2, 7), (2, 6), (2, 5), (4, 8), (5, 10), (5, 8), (10, 8))


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


def shu(
    vectors: np.ndarray, sizes: Sequence[tuple[int, int]], *, steps: int, seed: int, device: str
) -> Iterator[Compressed]:
    """Yield the codes of the baseline, a network that depends on the seed."""
    for n_codebooks, n_codes in sizes:
        found = learn(
            vectors, n_codebooks=n_codebooks, n_codes=n_codes, seed=seed, steps=steps, device=device
        )
        size, curve = f"M = {n_codebooks}, K = {n_codes}", f"{steps:,} steps"
        ratio = gumbel_ratio(*vectors.shape, n_codebooks, n_codes)
        yield Compressed("Shu+'18", "Code", curve, size, ratio, found.codes)
        rebuilt = found.rebuild(found.codes).astype(np.float32)
        yield Compressed("Shu+'18", "Real", curve, size, ratio, rebuilt)


def integer_rows(vectors: np.ndarray) -> Iterator[Compressed]:
    """Yield vectors whose rows, less the mean, are rounded to 8 and to 4 bits."""
    from benchmarks.peers.quantisers import quantised_rows

    mean = vectors.mean(axis=0)
    for n_bits in (8, 4):
        rows = quantised_rows(centred(vectors), n_bits)
        ratio = 32 * vectors.shape[1] / rows.bits
        yield Compressed(f"int{n_bits} rows", "Real", "", "", ratio, rows.vectors + mean)


def product_quantisation(vectors: np.ndarray) -> Iterator[Compressed]:
    """Yield vectors after faiss' product quantisation of them, less the mean.

    The sizes are those that suit V and H.
    """
    from benchmarks.peers.quantisers import product_quantised

    width, mean = vectors.shape[1], vectors.mean(axis=0)
    for part, n_bits in PARTS:
        if width % part == 0 and len(vectors) >= 2**n_bits:
            made = product_quantised(centred(vectors), width // part, n_bits)
            size = f"{width // part} parts of {n_bits} bits"
            rebuilt = made.vectors + mean
            yield Compressed("faiss PQ", "Real", "", size, 32 * width / made.bits, rebuilt)
