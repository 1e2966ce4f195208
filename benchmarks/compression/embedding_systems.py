"""What embedding_tasks.py compares: every system at several sizes, one after another.

V words, H dimensions, M components, K codes. A ratio is 32 V H bits over those of codes and
codebook, as the paper counts: without words and mean vector.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from peers.gumbel import learn
from peers.gumbel import ratio as ratio_of_gumbel
from peers.quantisers import product_quantised, whole_rows
from yakusu.compress import Rounding, compress, ratio
from yakusu.compress.storage import EntropyCodes
from yakusu.vectors.wordtasks import centred, whitened

CODES = (2, 4, 8, 16, 32)  # K
STEPS = tuple(float(step) for step in np.geomspace(0.1, 1.6, 13).round(3))  # of whole numbers
# Of product quantisation: dimensions of a part, and bits of its code.
PARTS = ((2, 8), (2, 7), (2, 6), (2, 5), (4, 8), (5, 10), (5, 8), (10, 8))


@dataclass(frozen=True)
class Compressed:
    """Vectors after a system, or its codes.

    system: "Proposed", "Numbers" (by one step, entropy-coded), "Shu+'18", or a peer's name.
    kind: "Code", "Real", or "" for a control.
    curve: Which sizes belong on one line.
    size: In the system's own terms.
    ratio: To float32.
    vectors: (V, H), or the codes (V, M).
    """

    system: str
    kind: str
    curve: str
    size: str
    ratio: float
    vectors: np.ndarray


def controls(vectors: np.ndarray) -> Iterator[Compressed]:
    """Nothing compressed: as they are, whitened as codes are, and halfway, as numbers are."""
    yield Compressed("floats", "", "", "", 1.0, vectors)
    yield Compressed("whitened floats", "", "", "", 1.0, whitened(vectors))
    rounding = Rounding(vectors, n_components=vectors.shape[1])
    halfway = (vectors - rounding.mean) @ rounding.axes
    yield Compressed("half-whitened floats", "", "", "", 1.0, halfway.astype(np.float32))


def proposed(vectors: np.ndarray) -> Iterator[Compressed]:
    """The paper's codes, with all components and with half of them."""
    width = vectors.shape[1]
    for n_components, curve in ((width, "M = H"), (width // 2, "M = H/2")):
        for n_codes in CODES:
            size = f"M = {n_components}, K = {n_codes}"
            coded, book = compress(vectors, n_components=n_components, n_codes=n_codes, threads=1)
            times = ratio(vectors.shape, n_components, n_codes)
            yield Compressed("Proposed", "Code", curve, size, times, coded.codes)
            rebuilt = book.rebuild(coded.codes).astype(np.float32)
            yield Compressed("Proposed", "Real", curve, size, times, rebuilt)


def numbers(vectors: np.ndarray) -> Iterator[Compressed]:
    """Whole numbers by one step for all components; bits as rANS made them."""
    n_words, width = vectors.shape
    rounding = Rounding(vectors, n_components=width)
    for step in STEPS:
        whole = rounding.numbers(step)
        coded, lattice = EntropyCodes.of(whole, rounding.tiers), rounding.lattice(whole)
        bits = 8 * coded.n_bytes + 32 * lattice.basis.size
        size, times = f"step {step}", 32 * n_words * width / bits
        yield Compressed("Numbers", "Code", "", size, times, whole)
        rebuilt = lattice.rebuild(whole).astype(np.float32)
        yield Compressed("Numbers", "Real", "", size, times, rebuilt)


def shu(
    vectors: np.ndarray, sizes: Sequence[tuple[int, int]], *, steps: int, seed: int, device: str
) -> Iterator[Compressed]:
    """Codes learnt by a network, which depend on the seed."""
    torch.set_num_threads(1)
    n_words, width = vectors.shape
    for n_codebooks, n_codes in sizes:
        found = learn(
            vectors, n_codebooks=n_codebooks, n_codes=n_codes, seed=seed, steps=steps, device=device
        )
        size, curve = f"M = {n_codebooks}, K = {n_codes}", f"{steps:,} steps"
        times = ratio_of_gumbel(n_words, width, n_codebooks, n_codes)
        yield Compressed("Shu+'18", "Code", curve, size, times, found.codes)
        rebuilt = found.rebuild(found.codes).astype(np.float32)
        yield Compressed("Shu+'18", "Real", curve, size, times, rebuilt)


def peers(vectors: np.ndarray) -> Iterator[Compressed]:
    """Rows of whole numbers, and product quantisation, of centred vectors."""
    alike, width = centred(vectors), vectors.shape[1]
    for n_bits in (8, 4):
        rows = whole_rows(alike, n_bits)
        system = f"int{n_bits} rows"
        yield Compressed(system, "Real", "", "", 32 * width / rows.bits, rows.vectors)
    for part, n_bits in PARTS:
        if width % part == 0:
            made = product_quantised(alike, width // part, n_bits)
            size = f"{width // part} parts of {n_bits} bits"
            times = 32 * width / made.bits
            yield Compressed("faiss PQ", "Real", "", size, times, made.vectors)
