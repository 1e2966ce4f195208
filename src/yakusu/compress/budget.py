"""Choice of M and K for codes, or of the step for integers, within a given size or loss.

Every choice is measured, first on an evenly spaced sample of the vectors and finally on all of them
or, for a large matrix, on all from which the codebook is learned; nothing is random. "Loss" here is
the share of the variance lost: squared error over variance.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from functools import partial

import numpy as np

from yakusu.arrays import Doubles
from yakusu.compress.blocks import AnyMatrix, Matrix, sampled
from yakusu.compress.codebook import Codebook
from yakusu.compress.codes import Coded, code
from yakusu.compress.lattice import LARGEST, IntegerRows, Tier
from yakusu.compress.rounding import Rounding
from yakusu.compress.storage import MatrixShape, Size, size_of_codes, size_of_integers
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent

Within = Callable[[float], bool]  # whether a step meets the budget
_SAMPLE, _NUMBERS = 40_000, 2**24  # vectors in a sample, and their numbers
_CODES = (2, 4, 8, 16, 32, 64, 128, 256)  # powers of 2, which use all of their bits
_RANGE = 2**14  # ratio of the coarsest step to the finest
_CLOSE = 1.005  # tolerance: a step that differs by this factor does not meet the budget


@dataclass(frozen=True)
class Budget:
    """A limit on the size or on the loss; exactly one of the three is given.

    bits: Maximum stored bits of codes per vector.
    ratio: Minimum ratio of the size of float32 vectors to the stored size.
    max_loss: Maximum share of the variance lost.

    Raises:
        DataError: No limit or several limits are given, or the limit is out of range.
    """

    bits: float | None = None
    ratio: float | None = None
    max_loss: float | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        possible = all(0 < value < math.inf for value in given.values())
        if len(given) != 1 or not possible or (self.max_loss or 0) >= 1:
            limits = ", ".join(f"{name} = {value:g}" for name, value in given.items())
            raise DataError(
                f"{limits or 'nothing'} is not a valid budget: give one of bits, ratio and "
                "max_loss, greater than 0, and max_loss less than 1"
            )

    def allows(self, reached: float) -> bool:
        """Return whether this number of bits, this ratio or this loss meets the budget."""
        if self.ratio:
            return reached >= self.ratio
        return reached <= (self.bits or self.max_loss or 0)

    def __str__(self) -> str:
        if self.bits:
            return f"{self.bits:g} bits per vector"
        return f"a ratio of {self.ratio:g}" if self.ratio else f"a loss of {self.max_loss:g}"


class BudgetError(DataError):
    """A budget that no choice meets.

    best: The closest value that can be reached.
    """

    def __init__(self, budget: Budget, best: float, hint: str = "") -> None:
        # Rounded to a value that can be reached.
        rounding = ROUND_FLOOR if budget.ratio else ROUND_CEILING
        shown = Context(prec=3, rounding=rounding).create_decimal_from_float(best)
        most = "maximum" if budget.ratio else "minimum"
        super().__init__(f"{budget} cannot be reached: the {most} is {shown:f}{hint}")
        self.best = best


@dataclass(frozen=True)
class Storage:
    """How codes and integers are stored.

    of_codes: Returns the size of M codes to the base K for vectors of a shape (V, H).
    of_integers: Returns the size of integers (V, M) in these tiers, for vectors of a shape (V, H).
    largest: Largest magnitude of an integer.
    """

    of_codes: Callable[[MatrixShape, int, int], Size] = size_of_codes
    of_integers: Callable[[MatrixShape, IntegerRows, Sequence[Tier]], Size] = size_of_integers
    largest: int = LARGEST


FILE = Storage()  # a file of compressed vectors, without words


@dataclass(frozen=True)
class SizeChoice:
    """M and K with stored bits of codes per vector, ratio of sizes, and measured loss."""

    n_components: int
    n_codes: int
    bits: float
    ratio: float
    loss: float

    def reached(self, budget: Budget) -> float:
        """Return the value that the budget limits."""
        if budget.max_loss:
            return self.loss
        return self.ratio if budget.ratio else self.bits


def choose_codes(
    vectors: Matrix,
    budget: Budget,
    *,
    n_rows: int | None = None,
    storage: Storage = FILE,
    progress: Progress | None = None,
) -> SizeChoice:
    """Choose M and K for vectors (V, H): lowest loss within a size, or least size within a loss.

    Args:
        vectors: (V, H).
        budget: Limit on size or loss.
        n_rows: Number of rows of the matrix of which the vectors are a sample; None: V.
        storage: Size of the stored codes.
        progress: Progress reporter.

    Raises:
        BudgetError: No M and K meet the budget.
    """
    choices = list(trade_off(vectors, n_rows=n_rows, storage=storage, progress=progress))
    fitting = [choice for choice in choices if budget.allows(choice.reached(budget))]
    if not budget.max_loss and fitting:
        return min(fitting, key=lambda choice: (choice.loss, choice.bits))
    for choice in sorted(fitting, key=lambda choice: (-choice.ratio, choice.loss)):
        measured = _on_all_vectors(choice, vectors)
        if budget.allows(measured.loss):
            return measured
    best = max(choices, key=lambda choice: choice.ratio)
    if budget.max_loss:
        best = _on_all_vectors(min(choices, key=lambda choice: choice.loss), vectors)
    if budget.allows(best.reached(budget)):  # even if the loss on the sample was too high
        return best
    more_codes = budget.max_loss and len(vectors) > _CODES[-1]
    hint = f" with K up to {_CODES[-1]}; for a larger K, set compress.k" if more_codes else ""
    raise BudgetError(budget, best.reached(budget), hint)


def choose_step(
    rounding: Rounding,
    budget: Budget,
    *,
    n_rows: int | None = None,
    storage: Storage = FILE,
    progress: Progress | None = None,
) -> float:
    """Choose the largest step within a loss, or the smallest step within a size.

    Args:
        rounding: The vectors (V, H) to round.
        budget: Limit on size or loss.
        n_rows: Number of rows of the matrix of which the vectors are a sample; None: V.
        storage: Range and size of the stored integers.
        progress: Progress reporter.

    Raises:
        BudgetError: No step meets the budget.
    """
    vectors = rounding.vectors
    sample = rounding.sampled(_sample_size(vectors, _SAMPLE))
    coarsest = rounding.coarsest()
    coarse, fine = 1.001 * coarsest, max(coarsest / _RANGE, coarsest / (2 * storage.largest))
    good, bad = (fine, coarse) if budget.max_loss else (coarse, fine)
    shape = n_rows or len(vectors), vectors.shape[1]
    reached = partial(_reached, budget, shape, storage)
    # The coarsest step gives zeros, whose size follows from that of the sample.
    best = reached(good, rounding if budget.max_loss else sample)
    if not budget.allows(best):
        raise BudgetError(budget, best)
    with (progress or Silent()).track("choosing the step", "steps", None) as tracker:

        def within(step: float, of: Rounding, times: float = 1.0) -> bool:
            tracker.advance()
            return budget.allows(times * reached(step, of))

        found = _halved(good, bad, partial(within, of=sample))
        if len(sample.vectors) < len(vectors):
            # Steps near this one have about the same quotient.
            of_sample = reached(found, sample)
            quotient = reached(found, rounding) / of_sample if of_sample else 1.0
            found = _corrected(found, good, bad, partial(within, of=sample, times=quotient))
        return _corrected(found, good, bad, partial(within, of=rounding))


def enlarged_step(
    rounded: Callable[[float], IntegerRows],
    tiers: Sequence[Tier],
    budget: Budget,
    step: float,
    *,
    storage: Storage = FILE,
) -> float:
    """Enlarge a step, chosen on a sample, until the size of all vectors meets the budget.

    Args:
        rounded: Returns the integers (V, H) of all vectors for a step.
        tiers: Their tiers.
        budget: Limit on size.
        step: The least step.
        storage: Size of the stored integers.
    """
    stride = _CLOSE
    while True:
        integers = rounded(step)
        if budget.allows(_size_reached(budget, integers.shape, storage, integers, tiers)):
            return step
        step, stride = step * stride, stride**2


def _reached(
    budget: Budget, shape: MatrixShape, storage: Storage, step: float, rounding: Rounding
) -> float:
    """Return the value that the budget limits, for vectors (V, H) and this step."""
    integers = rounding.integers(step)
    if budget.max_loss:
        return rounding.loss(integers).share
    return _size_reached(budget, shape, storage, integers, rounding.tiers)


def _size_reached(
    budget: Budget,
    shape: MatrixShape,
    storage: Storage,
    integers: IntegerRows,
    tiers: Sequence[Tier],
) -> float:
    """Return the ratio or the bits of integers that stand for vectors of a shape (V, H)."""
    size = storage.of_integers(shape, integers, tiers)
    return size.ratio(shape) if budget.ratio else size.bits


def _halved(good: float, bad: float, within: Within) -> float:
    """Bisect between a step that meets the budget and one that does not; return one that does."""
    while max(good, bad) > _CLOSE * min(good, bad):
        middle = float(np.sqrt(good * bad))
        good, bad = (middle, bad) if within(middle) else (good, middle)
    return good


def _corrected(found: float, good: float, bad: float, within: Within) -> float:
    """Correct a step that was found in another way, such as on a sample.

    Steps ever further from `found` are tried until the answer changes, usually one or two.
    """
    near, inside, stride = found, within(found), _CLOSE
    end = bad if inside else good
    while True:
        further = min(near * stride, end) if end > found else max(near / stride, end)
        if further == end or within(further) != inside:
            break
        near, stride = further, stride**2
    return _halved(near, further, within) if inside else _halved(further, near, within)


def trade_off(
    vectors: AnyMatrix,
    *,
    most: int = _SAMPLE,
    n_rows: int | None = None,
    storage: Storage = FILE,
    progress: Progress | None = None,
) -> Iterator[SizeChoice]:
    """Yield every M with every K of `_CODES`, with the loss of the closed form on a sample."""
    width = vectors.shape[1]
    shape = n_rows or len(vectors), width
    sample = sampled(vectors, _sample_size(vectors, most))
    with (progress or Silent()).track("trying codes", "sizes", len(_CODES)) as tracker:
        for n_codes in _CODES:
            coded = code(sample, n_components=width, n_codes=n_codes)
            for n, loss in enumerate(losses_by_components(sample, coded), 1):
                size = storage.of_codes(shape, n, n_codes)
                bits, ratio = size.bits, size.ratio(shape)
                yield SizeChoice(n, n_codes, bits, ratio, float(loss))
            tracker.advance()


def _sample_size(vectors: AnyMatrix, most: int) -> int:
    return min(most, max(2, _NUMBERS // int(vectors.shape[1])))


def losses_by_components(vectors: Matrix, coded: Coded) -> Doubles:
    """Return the loss of the closed form with the first 1, 2, ..., M components, (M,)."""
    book = Codebook.closed(coded)
    centred = vectors - book.mean
    chosen = book.chosen(coded.codes)  # (V, M)
    covered = np.cumsum(np.einsum("mh,mh->m", chosen.T @ centred, book.basis))
    products = (chosen.T @ chosen) * (book.basis @ book.basis.T)
    rebuilt = products.cumsum(axis=0).cumsum(axis=1).diagonal()
    variance = np.square(centred).sum()
    losses: Doubles = 1 - (2 * covered - rebuilt) / variance
    return losses


def _on_all_vectors(choice: SizeChoice, vectors: Matrix) -> SizeChoice:
    if len(vectors) <= _sample_size(vectors, _SAMPLE):
        return choice
    coded = code(vectors, n_components=choice.n_components, n_codes=choice.n_codes)
    return replace(choice, loss=Codebook.closed(coded).loss(vectors, coded.codes).share)
