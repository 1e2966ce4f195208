"""The word tasks of section 4.2, which score vectors before and after compression.

Similarity   Spearman's rho between human scores of pairs (x, y) and cos(x, y)
Analogy      a is to b as c is to argmax_d cos(d, b - a + c), d not one of a, b, c      (3CosAdd)
Completion   argmax_d cos(d, mean of the sentence's other words), d one of five candidates

V words, most frequent first, H dimensions, N candidates, Q questions. Words are looked up as
written, then in lower case. The vectors are the uncompressed ones, the codes themselves (the
paper's Code) or the rebuilt ones (its Real). They are scored as they are: `controls` says how the
origin and the spread of the components change the cosines.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Flags
from yakusu.compress.blocks import Matrix, Rows
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent
from yakusu.vectors.nearest import unit
from yakusu.vectors.outcomes import RankCorrelation, Shares, TaskResult, result_of

_COSINES = 2**25  # held in memory at a time: 128 MiB


@dataclass(frozen=True)
class Similarity:
    """Pairs of words with human similarity scores."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    scores: tuple[float, ...]

    def score(
        self, index: Mapping[str, int], vectors: Matrix, *, progress: Progress | None = None
    ) -> TaskResult:
        """Compute Spearman's rho; pairs with an unknown word are left out.

        Args:
            index: Row of each word.
            vectors: (V, H), finite.
            progress: Progress reporter.
        """
        with (progress or Silent()).track(self.name, "pairs", len(self.pairs)) as tracker:
            rows = np.array([_rows(index, pair) for pair in self.pairs])  # (pairs, 2)
            known = (rows >= 0).all(axis=1)
            x, y = (unit(vectors[column].astype(np.float64)) for column in rows[known].T)
            cosines = np.einsum("qh,qh->q", x, y).round(12)  # pairs of equal words must tie
            agreement = RankCorrelation(np.array(self.scores)[known], cosines)
            tracker.advance(len(self.pairs))
        how = "Spearman's rho of cosines; pairs with an unknown word left out"
        return result_of(self.name, agreement, int((~known).sum()), how)


@dataclass(frozen=True)
class Analogy:
    """Questions (a, b, c, d), "a is to b as c is to d", with the section of each, or ""."""

    name: str
    questions: tuple[tuple[str, ...], ...]
    sections: tuple[str, ...]

    def score(
        self,
        index: Mapping[str, int],
        vectors: Matrix,
        *,
        candidates: int | None = 30_000,
        progress: Progress | None = None,
    ) -> TaskResult:
        """Answer with 3CosAdd; questions with a word that is not a candidate are left out.

        Args:
            index: Row of each word.
            vectors: (V, H), finite, most frequent word first.
            candidates: N, the number of most frequent words that may be answers; None for all.
            progress: Progress reporter.

        Raises:
            DataError: `candidates` is less than 1.
        """
        if candidates is not None and candidates < 1:
            raise DataError(f"candidates = {candidates}: choose 1 or more, or None for all words")
        n = min(candidates or len(vectors), len(vectors))
        rows = np.array([_rows(index, question) for question in self.questions])  # (Q, 4)
        known: Flags = np.all((rows >= 0) & (rows < n), axis=1)
        right = np.zeros(len(rows), dtype=bool)
        with (progress or Silent()).track(self.name, "questions", int(known.sum())) as tracker:
            near = unit(vectors[:n].astype(np.float32))
            for block in _blocks(np.flatnonzero(known), n):
                right[block] = _answers(near, rows[block, :3]) == rows[block, 3]
                tracker.advance(len(block))
        which = "all words" if n == len(vectors) else f"the {n:,} most frequent words"
        how = (
            f"accuracy; 3CosAdd, inputs excluded, candidates: {which}; questions with any other "
            "word left out"
        )
        parts = tuple(
            _accuracy(part, right[of], known[of], how) for part, of in self._parts().items()
        )
        return _accuracy(self.name, right, known, how, parts)

    def _parts(self) -> dict[str, Flags]:
        """Return the questions of each part; Google's syntactic sections are gram1 to gram9."""
        parts = {
            name: np.array([section == name for section in self.sections])
            for name in dict.fromkeys(self.sections)
            if name
        }
        if any(name.startswith("gram") for name in parts):
            syntactic = np.array([section.startswith("gram") for section in self.sections])
            parts = {"semantic": ~syntactic, "syntactic": syntactic, **parts}
        return parts


@dataclass(frozen=True)
class Question:
    """A sentence with a blank: its other words, five candidates, and the index of the answer."""

    words: tuple[str, ...]
    candidates: tuple[str, ...]
    answer: int


@dataclass(frozen=True)
class Completion:
    """Sentences with a blank to fill with one of five candidates."""

    name: str
    questions: tuple[Question, ...]

    def score(
        self, index: Mapping[str, int], vectors: Matrix, *, progress: Progress | None = None
    ) -> TaskResult:
        """Choose the candidate nearest to the mean of the sentence's other words.

        Unknown words are skipped, and unknown candidates are never chosen. A question is left out
        if its answer, or all of its other words, are unknown.

        Args:
            index: Row of each word.
            vectors: (V, H), finite.
            progress: Progress reporter.
        """
        right, known = (np.zeros(len(self.questions), dtype=bool) for _ in range(2))
        with (progress or Silent()).track(self.name, "questions", len(self.questions)) as tracker:
            for i, question in enumerate(self.questions):
                words, candidates = _rows(index, question.words), _rows(index, question.candidates)
                words = words[words >= 0]
                known[i] = words.size > 0 and candidates[question.answer] >= 0
                if known[i]:
                    mean = vectors[words].mean(axis=0, dtype=np.float64)  # (H,)
                    near = unit(vectors[candidates].astype(np.float64))  # (5, H)
                    cosines = near @ mean  # (5,), times |mean|
                    chosen = np.where(candidates >= 0, cosines, -np.inf).argmax()
                    right[i] = chosen == question.answer
                tracker.advance()
        how = (
            "accuracy; nearest the mean of the sentence's other words, unknown candidates never "
            "chosen; questions whose answer is unknown left out"
        )
        return _accuracy(self.name, right, known, how)


TestSet = Similarity | Analogy | Completion


def _rows(index: Mapping[str, int], words: Sequence[str]) -> Rows:
    """Look up words as written, then in lower case; -1 if unknown."""
    return np.array([index.get(word, index.get(word.lower(), -1)) for word in words], np.int64)


def _answers(unit: npt.NDArray[np.float32], given: Rows) -> Rows:
    """Return the words (Q,) nearest to b - a + c, except a, b and c; `given` is (Q, 3)."""
    a, b, c = given.T
    cosines = (unit[b] - unit[a] + unit[c]) @ unit.T  # (Q, N), times |b - a + c|
    np.put_along_axis(cosines, given, -np.inf, axis=1)
    answers: Rows = cosines.argmax(axis=1)
    return answers


def _blocks(rows: Rows, n_candidates: int) -> Iterator[Rows]:
    """Split rows into blocks whose cosines fit into memory."""
    size = max(1, _COSINES // n_candidates)
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]


def _accuracy(
    name: str, right: Flags, known: Flags, how: str, parts: tuple[TaskResult, ...] = ()
) -> TaskResult:
    outcomes = Shares(right[known].astype(np.float64))
    return result_of(name, outcomes, int((~known).sum()), how, parts)
