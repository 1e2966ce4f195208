"""What to choose where a size or a loss is given: M and K of codes, or the step of whole numbers.

Everything is measured, on an even sample of the words and at last on all; nothing is drawn. "Loss"
here is the squared error over the variance of the vectors, so that 0.05 loses a twentieth.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from functools import partial

import numpy as np

from yakusu.compress.codebook import Codebook, ratio
from yakusu.compress.codes import Coded, Floats, Matrix, code
from yakusu.compress.lattice import GREATEST, ONE_TIER, Numbers, Rounding, Tier, entropy
from yakusu.compress.lattice import ratio as ratio_of_numbers
from yakusu.compress.storage import bits_of, stored_bits
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent

Bits = Callable[[Numbers, Sequence[Tier]], float]  # of a word
Within = Callable[[float], bool]  # whether a step honours a wish
_SAMPLE = 40_000  # words
_CODES = (2, 4, 8, 16, 32, 64, 128, 256)  # K whose bits are all used
_RANGE = 2**14  # of steps
_CLOSE = 1.005  # to the step that just honours the wish on all words
_HALVINGS = 11  # of the whole range, until it is as narrow as that


@dataclass(frozen=True)
class Budget:
    """Exactly one of three wishes.

    bits: At most so many of codes a word.
    ratio: At least so many times smaller, by the paper's formula.
    max_loss: At most this share of the variance lost.

    Raises:
        DataError: None is given, or several, or one that cannot be.
    """

    bits: float | None = None
    ratio: float | None = None
    max_loss: float | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        possible = all(0 < value < math.inf for value in given.values())
        if len(given) != 1 or not possible or (self.max_loss or 0) >= 1:
            wishes = ", ".join(f"{name} = {value:g}" for name, value in given.items())
            raise DataError(
                f"{wishes or 'no wish'} is no budget: give one of bits, ratio and max_loss, "
                "greater than 0, and a loss of less than 1"
            )

    def honoured_by(self, reached: float) -> bool:
        """Whether so many bits, or such a ratio or loss, is what is wished for."""
        if self.ratio:
            return reached >= self.ratio
        return reached <= (self.bits or self.max_loss or 0)

    def __str__(self) -> str:
        if self.bits:
            return f"{self.bits:g} bits a word"
        return f"a ratio of {self.ratio:g}" if self.ratio else f"a loss of {self.max_loss:g}"


class BudgetError(DataError):
    """A budget that nothing honours.

    best: What can be had of it.
    """

    def __init__(self, budget: Budget, best: float) -> None:
        # Rounded to the side on which it can be had.
        rounding = ROUND_FLOOR if budget.ratio else ROUND_CEILING
        shown = Context(prec=3, rounding=rounding).create_decimal_from_float(best)
        most = "most" if budget.ratio else "least"
        super().__init__(f"{budget} cannot be reached: the {most} is {shown:f}")
        self.best = best


@dataclass(frozen=True)
class Storage:
    """How whole numbers are kept.

    greatest: That one may be.
    bits: A word takes of numbers (V, M) in these tiers.
    """

    greatest: int
    bits: Bits


RANS = Storage(GREATEST, stored_bits)  # as word vectors have it


@dataclass(frozen=True)
class Choice:
    """M and K, the bits of a word, the ratio, and the loss that was measured."""

    n_components: int
    n_codes: int
    bits: int
    ratio: float
    loss: float

    def reached(self, budget: Budget) -> float:
        """What of it the budget limits."""
        if budget.max_loss:
            return self.loss
        return self.ratio if budget.ratio else self.bits


def choose_codes(vectors: Matrix, budget: Budget, progress: Progress | None = None) -> Choice:
    """M and K for vectors (V, H): the least loss within a size, or the least size within a loss.

    Raises:
        DataError: No M and K satisfy the budget.
    """
    choices = list(trade_off(vectors, progress=progress))
    fitting = [choice for choice in choices if budget.honoured_by(choice.reached(budget))]
    if not budget.max_loss and fitting:
        return min(fitting, key=lambda choice: (choice.loss, choice.bits))
    for choice in sorted(fitting, key=lambda choice: (-choice.ratio, choice.loss)):
        measured = _on_all_words(choice, vectors)
        if budget.honoured_by(measured.loss):
            return measured
    best = max(choices, key=lambda choice: choice.ratio)
    if budget.max_loss:
        best = _on_all_words(min(choices, key=lambda choice: choice.loss), vectors)
    if budget.honoured_by(best.reached(budget)):  # though a sample of the words said no
        return best
    raise BudgetError(budget, best.reached(budget))


def choose_step(
    vectors: Matrix,
    budget: Budget,
    *,
    whitening: float = 0.5,
    tiers: Sequence[Tier] = ONE_TIER,
    storage: Storage = RANS,
    progress: Progress | None = None,
) -> float:
    """The greatest step within a loss, or the least within a size, for vectors (V, H).

    Args:
        vectors: The most frequent word first where there are tiers.
        budget: The wish.
        whitening: p.
        tiers: Steps by frequency.
        storage: What a number may be, and what it takes.
        progress: Watches.

    Raises:
        DataError: No step satisfies the budget.
    """
    rounding = Rounding(vectors, n_components=vectors.shape[1], whitening=whitening, tiers=tiers)
    sample = rounding.sampled(_SAMPLE)

    coarsest = rounding.coarsest()
    coarse, fine = 1.001 * coarsest, max(coarsest / _RANGE, coarsest / (2 * storage.greatest))
    good, bad = (fine, coarse) if budget.max_loss else (coarse, fine)
    reached = partial(_reached, budget, vectors.shape)
    best = reached(good, rounding, storage.bits)
    if not budget.honoured_by(best):
        raise BudgetError(budget, best)
    with (progress or Silent()).track("choosing the step", "steps", _HALVINGS) as tracker:

        def on_sample(step: float) -> bool:
            tracker.advance()
            return budget.honoured_by(reached(step, sample, entropy))

        found = _halved(good, bad, on_sample)

    def on_all(step: float) -> bool:
        return budget.honoured_by(reached(step, rounding, storage.bits))

    return _finished(found, good, bad, on_all)


def _reached(
    budget: Budget, shape: tuple[int, ...], step: float, rounding: Rounding, bits_of_word: Bits
) -> float:
    """What the budget limits, for vectors of `shape` (V, H) and this step on some of them."""
    numbers = rounding.numbers(step)
    if budget.max_loss:
        return rounding.lost(numbers).share
    bits = bits_of_word(numbers, rounding.tiers)
    return ratio_of_numbers(shape, shape[1], bits) if budget.ratio else bits


def _halved(good: float, bad: float, within: Within) -> float:
    """A step that honours the wish and is close to one that does not, from steps of which one does
    and one is taken not to."""
    while max(good, bad) > _CLOSE * min(good, bad):
        middle = float(np.sqrt(good * bad))
        good, bad = (middle, bad) if within(middle) else (good, middle)
    return good


def _finished(found: float, good: float, bad: float, within: Within) -> float:
    """The same on all words, beginning at what was found on a sample of them.

    A sample may lack the word that has most of the variance, and entropy knows less than a file.
    Strides that double lead from `found` to where the answer changes, mostly in one or two.
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
    vectors: Matrix, *, most: int = _SAMPLE, progress: Progress | None = None
) -> Iterator[Choice]:
    """Every M with every K of `_CODES`, and the loss of the closed form on at most `most` words."""
    n_words, width = vectors.shape
    sample = vectors[:: -(-n_words // most)]
    with (progress or Silent()).track("trying codes", "sizes", len(_CODES)) as tracker:
        for n_codes in _CODES:
            coded = code(sample, n_components=width, n_codes=n_codes)
            for n, loss in enumerate(losses_by_components(sample, coded), 1):
                bits = n * bits_of(n_codes)
                yield Choice(n, n_codes, bits, ratio(vectors.shape, n, n_codes), float(loss))
            tracker.advance()


def losses_by_components(vectors: Matrix, coded: Coded) -> Floats:
    """The loss of the closed form with the first 1, 2, ..., M components, (M,)."""
    book = Codebook.closed(coded)
    centred = vectors - book.mean
    chosen = book.weights[np.arange(coded.codes.shape[1]), coded.codes]  # (V, M)
    covered = np.cumsum(np.einsum("mh,mh->m", chosen.T @ centred, book.basis))
    products = (chosen.T @ chosen) * (book.basis @ book.basis.T)
    rebuilt = products.cumsum(axis=0).cumsum(axis=1).diagonal()
    variance = np.square(centred).sum()
    losses: Floats = 1 - (2 * covered - rebuilt) / variance
    return losses


def _on_all_words(choice: Choice, vectors: Matrix) -> Choice:
    if len(vectors) <= _SAMPLE:
        return choice
    coded = code(vectors, n_components=choice.n_components, n_codes=choice.n_codes)
    return replace(choice, loss=Codebook.closed(coded).lost(vectors, coded.codes).share)
