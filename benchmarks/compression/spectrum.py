"""Write a matrix V x H with a spectrum like that of embeddings, as float16 in a .npy file.

A row is m + R diag(s) z: z has H independent standard normal values, R is a random rotation, and m
is a random vector of length 0.2. The variances s_i^2 fall by a power law, (i + 4)^-1 for i = 0 to
H - 1, and add up to 0.96, so the mean square of the length of a row is 1. The bytes depend on the
sizes, the seed, the version of numpy and the processor.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import blocks
from yakusu.folder import write_file
from yakusu.vectors.exports import write_npy

EXPONENT, OFFSET, MEAN = 1.0, 4.0, 0.2

Floats = npt.NDArray[np.float32]


def variances(width: int) -> npt.NDArray[np.float64]:
    """Return the variances of the H principal components, largest first."""
    law = (np.arange(width) + OFFSET) ** -EXPONENT
    return law / law.sum() * (1 - MEAN**2)


def parts(rows: int, width: int, seed: int) -> Iterator[npt.NDArray[np.float16]]:
    """Yield the rows of the matrix, (n, H) at a time."""
    rng = np.random.default_rng([seed, 0])
    rotation = np.linalg.qr(rng.standard_normal((width, width)))[0]
    scaled = (np.sqrt(variances(width))[:, None] * rotation.T).astype(np.float32)
    mean = rng.standard_normal(width)
    mean = (MEAN / np.linalg.norm(mean) * mean).astype(np.float32)
    for part in blocks(rows):
        rng = np.random.default_rng([seed, 1, part.start])
        normal = rng.standard_normal((part.stop - part.start, width), dtype=np.float32)
        product: Floats = normal @ scaled
        product += mean
        yield product.astype(np.float16)


def main() -> None:
    """Write the matrix and print how long it took."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: python -m benchmarks.compression.spectrum big.npy --rows 1000000",
    )
    parser.add_argument("out", type=Path, help="file to write")
    parser.add_argument("--rows", type=int, default=1_000_000, help="V (%(default)s)")
    parser.add_argument("--width", type=int, default=1536, help="H (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed (%(default)s)")
    args = parser.parse_args()
    start = time.perf_counter()
    shape, matrix = (args.rows, args.width), parts(args.rows, args.width, args.seed)
    write_file(args.out, lambda file: write_npy(file, shape, "float16", matrix))
    seconds = time.perf_counter() - start
    print(f"{args.rows:,} x {args.width} float16 in {seconds:.1f} s: {args.out}")


if __name__ == "__main__":
    main()
