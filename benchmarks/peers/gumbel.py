"""The baseline: codes learned by a neural network with random numbers (Shu and Nakayama 2018).

There are M codebooks of K vectors. A word is rebuilt as the sum of one vector of each codebook:

    h = tanh(theta E(w) + b)                 M K / 2 units
    a_m = softplus(theta'_m h + b'_m)        unnormalised probabilities of the K codes
    A_m = softmax(log a_m + Gumbel noise)    almost one-hot, but differentiable
    E'(w) = sum_m A_m D_m
    L = mean over words of ||E(w) - E'(w)||^2

The m-th code of a word is the index of the largest a_m. Codes have no order: code 3 is no closer to
4 than to 9. Used as vectors, as for the paper's low "Code" scores, they mean little.

As in their published code, temperature and learning rate are constant, and vectors are not centred.
Differences: L has no factor 1/2, to which Adam is invariant, so losses are comparable with Eq. 2;
200,000 batches of 128 words instead of 200 epochs with batches of 64; initial weights are not all
within 0.01 of 0, which trains faster; gradients are not clipped, which made no difference.

V words, H dimensions, M codebooks, K vectors in each, B words of a batch.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from yakusu.arrays import Doubles
from yakusu.compress.axes import check_vectors
from yakusu.compress.blocks import ROWS, Matrix, ReconstructionLoss
from yakusu.compress.codes import Codes
from yakusu.errors import DataError
from yakusu.folder import write_file
from yakusu.progress import Progress, Silent, Tracker

_LEAST = 1e-8  # of a, so that A is never 0 / 0
_SAMPLE = 2048  # words whose loss is reported
_EVERY = 500  # steps between two reports


@dataclass(frozen=True, eq=False)
class Gumbel:
    """Result of `learn`; rebuilds vectors: e_w = sum_m codebooks[m, c_m(w)].

    codes: Codes of the words, (V, M), from 0.
    codebooks: D, (M, K, H).
    """

    codes: Codes
    codebooks: npt.NDArray[np.float32]

    def rebuild(self, codes: Codes) -> Doubles:
        """Return the vectors (n, H) of codes (n, M)."""
        vectors = np.zeros((len(codes), self.codebooks.shape[2]))
        for codebook, chosen in zip(self.codebooks, codes.T, strict=True):
            vectors += codebook[chosen]
        return vectors

    def loss(self, vectors: Matrix, codes: Codes) -> ReconstructionLoss:
        """Measure Eq. 2 for vectors (V, H) and their codes (V, M)."""
        return ReconstructionLoss.of(vectors, lambda rows: self.rebuild(codes[rows]))


def ratio(n_words: int, n_columns: int, n_components: int, n_codes: int) -> float:
    """Compression ratio as the paper computes it: V H 32 / (V M log2 K + M K H 32)."""
    codes = n_words * n_components * math.log2(n_codes)
    return n_words * n_columns * 32 / (codes + n_components * n_codes * n_columns * 32)


def learn(
    vectors: Matrix,
    *,
    n_codebooks: int,
    n_codes: int,
    seed: int,
    steps: int = 200_000,
    batch: int = 128,
    learning_rate: float = 1e-4,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> Gumbel:
    """Train encoder and codebooks jointly, then encode the words.

    The same seed gives the same codes only on the same device with the same number of threads.

    Args:
        vectors: E, (V, H), finite; not centred, as in the original.
        n_codebooks: M.
        n_codes: K, at least 2.
        seed: Seed of the initial weights, the noise and the order of the words.
        steps: Number of batches.
        batch: B.
        learning_rate: Learning rate of Adam, constant. If it is too large, all words can end up
            with the same codes.
        device: Device to train on.
        progress: Progress reporter; receives the loss of a sample of words with their codes.

    Raises:
        DataError: M or K is out of range, or the vectors are not a finite matrix.
    """
    check_vectors(vectors)
    _check_sizes(n_codebooks, n_codes)
    generator = torch.Generator(device).manual_seed(seed)
    words = torch.from_numpy(np.array(vectors, dtype=np.float32)).to(device)
    network = _Network(words.shape[1], n_codebooks, n_codes, generator)
    with (progress or Silent()).track("learning codes", "steps", steps) as tracker:
        _train(network, words, tracker, steps=steps, batch=batch, learning_rate=learning_rate)
    return network.encode(words)


def save(path: Path, learned: Gumbel, vectors: np.ndarray, *, steps: int, seed: int) -> None:
    """Write codes and codebooks of vectors (V, H) to an .npz file, with how they were trained."""
    kept = {
        **{"codes": learned.codes, "codebooks": learned.codebooks, "steps": steps, "seed": seed},
        "vectors": _digest(vectors),
    }
    write_file(path, lambda file: np.savez(file, **kept))


def load(path: Path, vectors: np.ndarray) -> tuple[Gumbel, int]:
    """Read what `save` wrote, and the number of training steps.

    Raises:
        DataError: The codes were learned from other vectors.
    """
    with np.load(path) as kept:
        if str(kept["vectors"]) != _digest(vectors):
            raise DataError(
                f"{path} holds codes of other vectors: learn them again with "
                "python -m benchmarks.compression.shu_codes"
            )
        return Gumbel(kept["codes"], kept["codebooks"]), int(kept["steps"])


def _digest(vectors: np.ndarray) -> str:
    """Return the SHA-256 of vectors as float32."""
    return hashlib.sha256(np.ascontiguousarray(vectors, dtype=np.float32).data).hexdigest()


class _Network:
    """Encoder and codebooks; biases start at 0, weights uniform within sqrt(1 / rows)."""

    def __init__(
        self, n_columns: int, n_codebooks: int, n_codes: int, generator: torch.Generator
    ) -> None:
        self.shape, self.generator = (n_codebooks, n_codes), generator
        n_vectors = n_codebooks * n_codes
        units = n_vectors // 2
        shapes = (n_columns, units), (units, n_vectors), (n_vectors, n_columns)
        self.theta, self.theta_m, self.codebooks = (self._uniform(*shape) for shape in shapes)
        self.b, self.b_m = (
            torch.zeros(n, device=generator.device, requires_grad=True) for n in (units, n_vectors)
        )

    def _uniform(self, rows: int, columns: int) -> Tensor:
        reach = rows**-0.5
        weights = torch.empty(rows, columns, device=self.generator.device)
        return weights.uniform_(-reach, reach, generator=self.generator).requires_grad_()

    @property
    def weights(self) -> list[Tensor]:
        """All trainable tensors."""
        return [self.theta, self.b, self.theta_m, self.b_m, self.codebooks]

    def probabilities(self, words: Tensor) -> Tensor:
        """Compute a for a batch of words."""
        hidden = torch.addmm(self.b, words, self.theta).tanh()  # (B, M K / 2)
        a = F.softplus(torch.addmm(self.b_m, hidden, self.theta_m)) + _LEAST
        return a.view(-1, *self.shape)  # (B, M, K)

    def loss(self, words: Tensor) -> Tensor:
        """Compute L for a batch of words."""
        chosen = nearly_one(self.probabilities(words), self.generator).flatten(1)  # (B, M K)
        return (chosen @ self.codebooks - words).square().sum() / len(words)

    @torch.no_grad()
    def encode(self, words: Tensor) -> Gumbel:
        """Return the current codes of words, and the codebooks."""
        codes = [self.probabilities(part).argmax(-1).cpu().numpy() for part in words.split(ROWS)]
        smallest = np.min_scalar_type(self.shape[1] - 1)
        codebooks = self.codebooks.view(*self.shape, -1).cpu().numpy()
        return Gumbel(np.concatenate(codes).astype(smallest), codebooks)


def nearly_one(a: Tensor, generator: torch.Generator) -> Tensor:
    """Sample A, almost one-hot over K codes; A_k is the largest with probability a_k / sum a.

    softmax(log a - log e) with exponential e = -log u equals a / e, normalised; the sign cancels.

    Args:
        a: Positive, (..., K).
        generator: Generator of u, on the device of `a`.
    """
    shares = a / torch.empty_like(a).uniform_(generator=generator).log_()
    return shares / shares.sum(-1, keepdim=True)


def _train(
    network: _Network,
    words: Tensor,
    tracker: Tracker,
    *,
    steps: int,
    batch: int,
    learning_rate: float,
) -> None:
    adam = torch.optim.Adam(network.weights, lr=learning_rate, fused=True)
    sample = words[:: -(-len(words) // _SAMPLE)]
    vectors = sample.cpu().numpy()
    for step, some in enumerate(islice(_batches(words, batch, network.generator), steps), 1):
        adam.zero_grad()
        network.loss(some).backward()
        adam.step()
        if step % _EVERY == 0 or step == steps:
            now = network.encode(sample)
            loss = now.loss(vectors, now.codes).per_vector
            tracker.advance((step - 1) % _EVERY + 1, f"loss {loss:.5f}")


def _batches(words: Tensor, batch: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield batches forever: each epoch in a new order, without the incomplete last batch."""
    size = min(batch, len(words))
    while True:
        order = torch.randperm(len(words), generator=generator, device=words.device)
        for rows in order[: len(words) // size * size].view(-1, size):
            yield words[rows]  # (B, H)


def _check_sizes(n_codebooks: int, n_codes: int) -> None:
    if n_codebooks < 1 or n_codes < 2:
        raise DataError(
            f"M = {n_codebooks} codebooks of K = {n_codes} vectors are out of range: choose "
            "M of 1 or more and K of 2 or more"
        )
