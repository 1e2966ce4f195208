"""Estimators for compression, one per method, with scikit-learn's interface.

`fit` learns a codebook and compresses the matrix, `transform` returns codes, and
`inverse_transform` returns the vectors rebuilt from codes. The codebook of a large matrix is
learned from a sample of evenly spaced rows; the matrix itself is then read in blocks, and may
be a file (`StoredMatrix`).

V vectors, H dimensions, M components, K codes per component.
"""

from collections.abc import Sequence
from functools import partial
from typing import Self

import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from yakusu.arrays import Shorts
from yakusu.compress.blocks import AnyMatrix, Matrix, StoredMatrix, sampled
from yakusu.compress.budget import FILE, Budget, Storage, choose_codes, choose_step, enlarged_step
from yakusu.compress.codebook import Codebook
from yakusu.compress.codes import Coded, code
from yakusu.compress.config import CompressConfig
from yakusu.compress.digits import Codes, DigitCodes
from yakusu.compress.entropy import EntropyCodes
from yakusu.compress.fitting import fit_by_least_squares
from yakusu.compress.lattice import ONE_TIER, Tier, check_tiers, sampled_by_tier, tiers_from
from yakusu.compress.rounding import RoundedVectors, Rounding
from yakusu.compress.storage import CompressedMatrix
from yakusu.compress.vector_coder import VectorCoder
from yakusu.errors import DataError
from yakusu.progress import Progress

_N_CODES = 16
_BUDGET = Budget(max_loss=0.05)


class CodebookCompressor(VectorCoder):
    """The paper's method: codes by Algorithm 1, and the codebook of Eqs. 1 and 2.

    Args:
        n_components: M; None: H, or chosen by the budget.
        n_codes: K; None: 16, or chosen by the budget.
        solver: Method that fits the codebook: "least-squares" (of the basis only if M K exceeds
            10,000), "closed" (closed form, no fitting), or "adam" (the paper's method, slow).
        mean: "stored", or "folded" into the weights (the paper's form, without a mean).
        budget: Limit on size or loss that chooses M and K.
        storage: How the codes will be stored, for the budget; None: in a file of their own.
        sample: Maximum number of vectors from which the codebook is learned, evenly spaced; None:
            as many as have 2^27 numbers.
        rounds: Maximum number of rounds of least squares.
        n_jobs: Number of threads; it affects only the last digits of the result of "adam".

    Attributes:
        compressed_: All vectors, compressed.
        codebook_: Mean, basis and weights.
        coded_: Result of Algorithm 1 for the fitted vectors.
        fitted_rows_: Number of vectors from which the codebook was learned.
        loss_: Eq. 2 of the fitted vectors.
        ratio_: Size of the vectors in float32 divided by that of the file without words.
    """

    codebook_: Codebook
    coded_: Coded

    def __init__(
        self,
        n_components: int | None = None,
        n_codes: int | None = None,
        *,
        solver: str = "least-squares",
        mean: str = "stored",
        budget: Budget | None = None,
        storage: Storage | None = None,
        sample: int | None = None,
        rounds: int = 30,
        n_jobs: int = 2,
    ) -> None:
        self.n_components = n_components
        self.n_codes = n_codes
        self.solver = solver
        self.mean = mean
        self.budget = budget
        self.storage = storage
        self.sample = sample
        self.rounds = rounds
        self.n_jobs = n_jobs

    def fit(
        self,
        X: npt.ArrayLike | StoredMatrix,  # noqa: N803
        y: object = None,
        *,
        progress: Progress | None = None,
    ) -> Self:
        """Learn a codebook from vectors (V, H), or a sample of them, and code all of them.

        Raises:
            DataError: M, K, `solver` or `mean` is invalid, or no M and K meet the budget.
            ValueError: The vectors are not a finite matrix of two or more rows; a DataError if they
                are in a file or in half precision.
        """
        vectors = self._vectors(X)
        fitted = sampled(vectors, self.sample)
        n_components, n_codes = self._sizes(fitted, len(vectors), progress)
        self.coded_ = code(
            fitted,
            n_components=n_components,
            n_codes=n_codes,
            threads=self.n_jobs,
            progress=progress,
        )
        self.codebook_ = self._fitted(fitted, progress)
        self.fitted_rows_, codes = len(fitted), self.coded_.codes
        if len(fitted) < len(vectors):
            codes = self.coded_.encode(vectors, threads=self.n_jobs, progress=progress)
        digits = DigitCodes.of(codes, self.codebook_.n_codes)
        self.compressed_ = CompressedMatrix(self.codebook_, digits)
        self.loss_ = self.codebook_.loss(fitted, self.coded_.codes).per_vector
        self.ratio_ = self.compressed_.ratio
        return self

    def transform(self, X: npt.ArrayLike | StoredMatrix) -> Codes:  # noqa: N803
        """Return the codes (n, M) of vectors (n, H): the nearest centroid for each score."""
        check_is_fitted(self)
        vectors = self._vectors(X, fitting=False)
        return self.coded_.encode(vectors, threads=self.n_jobs)

    def _sizes(self, fitted: Matrix, n_rows: int, progress: Progress | None) -> tuple[int, int]:
        """Return M and K for V = `n_rows` vectors, of which some are given."""
        given = [n for n in (self.n_components, self.n_codes) if n is not None]
        if self.budget is None:
            m = fitted.shape[1] if self.n_components is None else self.n_components
            return m, _N_CODES if self.n_codes is None else self.n_codes
        if given or self.mean != "stored":
            raise DataError(
                "a budget chooses M and K for a stored mean: leave out n_components, n_codes and "
                "mean, or the budget"
            )
        choice = choose_codes(
            fitted,
            self.budget,
            n_rows=n_rows,
            storage=self.storage or FILE,
            progress=progress,
        )
        return choice.n_components, choice.n_codes

    def _fitted(self, vectors: Matrix, progress: Progress | None) -> Codebook:
        """Fit the codebook of the codes of vectors (V, H)."""
        if self.solver not in ("least-squares", "closed", "adam"):
            raise DataError(
                f"solver = '{self.solver}' is unknown: choose least-squares, closed or adam"
            )
        if self.mean not in ("stored", "folded"):
            raise DataError(f"mean = '{self.mean}' is unknown: choose stored or folded")
        book, codes = Codebook.closed(self.coded_), self.coded_.codes
        if self.solver == "least-squares":
            book = fit_by_least_squares(
                book, vectors, codes, rounds=self.rounds, threads=self.n_jobs, progress=progress
            )
        elif self.solver == "adam":
            from yakusu.compress.adam import fit_by_adam  # the only use of torch in compress/

            book = fit_by_adam(book, vectors, codes, progress=progress)
        return book.folded() if self.mean == "folded" else book


class LatticeCompressor(VectorCoder):
    """Integer codes with one step for all components, entropy-coded; see `lattice`.

    Args:
        step: Step, in units of a whitened component; None: chosen by the budget.
        n_components: M; None: H.
        whitening: p, from 0 to 1.
        ranks: Row indices at which the step doubles; the vectors are sorted by descending
            frequency. `transform` uses the step of the first rows.
        budget: Limit on size or loss that chooses the step. With neither a step nor a budget, at
            most 5% of the variance is lost.
        storage: How the integers will be stored, for the budget; None: in a file of their own.
        sample: Maximum number of vectors from which axes and basis are learned, evenly spaced;
            None: as many as have 2^27 numbers.

    Attributes:
        compressed_: All vectors, compressed.
        lattice_: Mean and basis.
        step_: The step.
        fitted_rows_: Number of vectors from which axes and basis were learned.
        loss_: Eq. 2 of the fitted vectors.
        ratio_: Size of the vectors in float32 divided by that of the file without words.
    """

    def __init__(
        self,
        step: float | None = None,
        *,
        n_components: int | None = None,
        whitening: float = 0.5,
        ranks: Sequence[int] = (),
        budget: Budget | None = None,
        storage: Storage | None = None,
        sample: int | None = None,
    ) -> None:
        self.step = step
        self.n_components = n_components
        self.whitening = whitening
        self.ranks = ranks
        self.budget = budget
        self.storage = storage
        self.sample = sample

    def fit(
        self,
        X: npt.ArrayLike | StoredMatrix,  # noqa: N803
        y: object = None,
        *,
        progress: Progress | None = None,
    ) -> Self:
        """Learn axes and basis from vectors (V, H), or a sample of them, and round all of them.

        Raises:
            DataError: M, p, a rank or the step is out of range, or no step meets the budget.
            ValueError: The vectors are not a finite matrix of two or more rows; a DataError if they
                are in a file or in half precision.
        """
        vectors, tiers = self._vectors(X), tiers_from(self.ranks)
        check_tiers(tiers, len(vectors))
        if self.step is not None and self.budget is not None:
            raise DataError("a budget chooses the step: leave out one of them")
        fitted, tiers_of_fitted = sampled_by_tier(vectors, tiers, self.sample)
        rounding = Rounding(
            fitted,
            n_components=vectors.shape[1] if self.n_components is None else self.n_components,
            whitening=self.whitening,
            tiers=tiers_of_fitted,
        )
        if self.step is None:
            self.step_ = self._chosen_step(rounding, vectors, tiers, progress)
        else:
            self.step_ = self.step
        integers = rounding.integers(self.step_)
        self.projection_ = rounding.projection
        self.lattice_ = rounding.lattice(integers)
        self.fitted_rows_ = len(fitted)
        self.loss_ = rounding.loss(integers, self.lattice_).per_vector
        every = RoundedVectors(vectors, self.projection_, self.step_, tiers)
        self.compressed_ = CompressedMatrix(self.lattice_, EntropyCodes.of(every, tiers, progress))
        self.ratio_ = self.compressed_.ratio
        return self

    def transform(self, X: npt.ArrayLike | StoredMatrix) -> Shorts:  # noqa: N803
        """Return the integers (n, M) of vectors (n, H)."""
        check_is_fitted(self)
        vectors = self._vectors(X, fitting=False)
        return RoundedVectors(vectors, self.projection_, self.step_, ONE_TIER)[:]

    def _chosen_step(
        self,
        rounding: Rounding,
        vectors: AnyMatrix,
        tiers: Sequence[Tier],
        progress: Progress | None,
    ) -> float:
        """Choose the step on a sample; the integers of all vectors are small enough."""
        if self.n_components is not None:
            raise DataError(
                f"n_components = {self.n_components} needs a step: a budget uses all "
                f"{self.n_features_in_} components"
            )
        budget, storage, n_rows = self.budget or _BUDGET, self.storage or FILE, len(vectors)
        step = choose_step(rounding, budget, n_rows=n_rows, storage=storage, progress=progress)
        if budget.max_loss or len(rounding.vectors) == n_rows:
            return step
        every = partial(RoundedVectors, vectors, rounding.projection, tiers=tiers)
        return enlarged_step(every, tiers, budget, step, storage=storage)


Compressor = CodebookCompressor | LatticeCompressor


def compressor_of(config: CompressConfig) -> Compressor:
    """Return the estimator that the settings describe."""
    limits = {"bits": config.bits, "ratio": config.ratio, "max_loss": config.max_loss}
    budget = Budget(**limits) if any(limits.values()) else None
    if config.method == "codes":
        return CodebookCompressor(
            config.m,
            config.k,
            solver=config.fit,
            mean=config.mean,
            budget=budget,
            sample=config.sample,
        )
    return LatticeCompressor(
        config.step,
        whitening=config.whitening,
        ranks=config.tiers,
        budget=budget,
        sample=config.sample,
    )
