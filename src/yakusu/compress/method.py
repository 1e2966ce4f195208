"""The ways in which vectors become a file: codes of one size, or entropy-coded whole numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from yakusu.compress.adam import fit_by_adam
from yakusu.compress.budget import RANS, Budget, Storage, choose_codes, choose_step
from yakusu.compress.codebook import Codebook, fit_by_least_squares
from yakusu.compress.codes import Coded, Codes, Matrix, code
from yakusu.compress.compressed import CompressedMatrix
from yakusu.compress.lattice import Rounding, tiers_from
from yakusu.compress.storage import EntropyCodes, PackedCodes
from yakusu.errors import DataError
from yakusu.progress import Progress


class Method(Protocol):
    """Compresses vectors whose most frequent words come first."""

    def __call__(self, vectors: Matrix, progress: Progress) -> CompressedMatrix:
        """Of vectors (V, H)."""


@dataclass(frozen=True)
class Fitting:
    """What becomes of the closed form of a codebook.

    fit: "least-squares"; "closed", which leaves it; or "adam", the paper's way.
    mean: "stored" beside basis and weights; or "folded" into the weights, the paper's form.

    Raises:
        DataError: They are called something else.
    """

    fit: str = "least-squares"
    mean: str = "stored"

    def __post_init__(self) -> None:
        for name, known in ((self.fit, _FITS), (self.mean, _MEANS)):
            if name not in known:
                raise DataError(f"'{name}' is no way to a codebook: choose {' or '.join(known)}")

    def __call__(self, vectors: Matrix, coded: Coded, progress: Progress) -> Codebook:
        """The codebook of vectors (V, H) and their codes."""
        closed = Codebook.closed(coded)
        return _MEANS[self.mean](_FITS[self.fit](closed, vectors, coded.codes, progress=progress))


def _unfitted(
    start: Codebook, vectors: Matrix, codes: Codes, *, progress: Progress | None = None
) -> Codebook:
    return start


class _Fit(Protocol):
    def __call__(
        self, start: Codebook, vectors: Matrix, codes: Codes, *, progress: Progress | None = None
    ) -> Codebook: ...


_FITS: dict[str, _Fit] = {
    "closed": _unfitted,
    "least-squares": fit_by_least_squares,
    "adam": fit_by_adam,
}
_MEANS: dict[str, Callable[[Codebook], Codebook]] = {
    "stored": lambda book: book,
    "folded": Codebook.folded,
}


@dataclass(frozen=True)
class ByCodes:
    """The paper's: M codes of K kinds a word.

    n_components: M; 0 for H.
    n_codes: K.
    fitting: Of the codebook.
    """

    n_components: int = 0
    n_codes: int = 16
    fitting: Fitting = Fitting()

    def __call__(self, vectors: Matrix, progress: Progress) -> CompressedMatrix:
        """Of vectors (V, H)."""
        n_components = self.n_components or vectors.shape[1]
        coded = code(vectors, n_components=n_components, n_codes=self.n_codes, progress=progress)
        book = self.fitting(vectors, coded, progress)
        packed = PackedCodes.of(coded.codes, book.weights.shape[1])
        return CompressedMatrix(book, packed)


@dataclass(frozen=True)
class ByNumbers:
    """Past the paper: whole numbers by one step; see `uniform`.

    step: In units of a whitened component.
    whitening: p.
    boundaries: Where the words begin whose step is twice that of the words before.
    """

    step: float
    whitening: float = 0.5
    boundaries: tuple[int, ...] = ()

    def __call__(self, vectors: Matrix, progress: Progress) -> CompressedMatrix:
        """Of vectors (V, H)."""
        tiers = tiers_from(self.boundaries)
        rounding = Rounding(
            vectors, n_components=vectors.shape[1], whitening=self.whitening, tiers=tiers
        )
        numbers = rounding.numbers(self.step, progress)
        codes = EntropyCodes.of(numbers, tiers)
        return CompressedMatrix(rounding.lattice(numbers), codes)


@dataclass(frozen=True)
class CodesWithin:
    """The paper's, with M and K chosen for a budget, by the loss of the closed form.

    Raises:
        DataError: The mean is to be folded, which loses more than was measured.
    """

    budget: Budget
    fitting: Fitting = Fitting()

    def __post_init__(self) -> None:
        if self.fitting.mean != "stored":
            raise DataError(
                "bits, ratio and max_loss choose M and K for a stored mean: name M and K where it "
                "is to be folded"
            )

    def __call__(self, vectors: Matrix, progress: Progress) -> CompressedMatrix:
        """Of vectors (V, H)."""
        choice = choose_codes(vectors, self.budget, progress)
        by_codes = ByCodes(choice.n_components, choice.n_codes, self.fitting)
        return by_codes(vectors, progress)


@dataclass(frozen=True)
class NumbersWithin:
    """Whole numbers, with a step chosen for a budget."""

    budget: Budget
    whitening: float = 0.5
    boundaries: tuple[int, ...] = ()
    storage: Storage = RANS

    def __call__(self, vectors: Matrix, progress: Progress) -> CompressedMatrix:
        """Of vectors (V, H)."""
        step = choose_step(
            vectors,
            self.budget,
            whitening=self.whitening,
            tiers=tiers_from(self.boundaries),
            storage=self.storage,
            progress=progress,
        )
        return ByNumbers(step, self.whitening, self.boundaries)(vectors, progress)
