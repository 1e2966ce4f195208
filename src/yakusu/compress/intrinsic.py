"""The intrinsic tasks of section 4.2: what vectors know of words, before and after compression.

Similarity   Spearman's rho between people's scores of pairs (x, y) and cos(x, y)
Analogy      a is to b as c is to argmax_d cos(d, b - a + c), d not one of a, b, c      (3CosAdd)
Completion   argmax_d cos(d, mean of the sentence's other words), d one of five candidates
Neighbours   the share of a word's n nearest by cosine that are still among its n nearest

V words, the most frequent first, H dimensions, N candidates, Q questions, R sampled words. Words
are looked up as written, else lower-cased. Cosines depend on where the origin is, so the caller
passes vectors that are `centred` alike: the uncompressed ones, the codes themselves (the paper's
Code) and the rebuilt vectors (its Real).

Codes spread about alike in every component, so Code compares vectors that are whitened, and owes
to compression only what it has beyond `whitened` floats, the control. Google's analogies in
percent, 30,000 candidates, GloVe 6B, M = H, K = 16:

H     uncompressed   whitened   Code   Real
100       65.2         67.8     65.7   64.2    whitening alone explains why Code beats the floats
50        49.2         37.9     38.8   46.8    whitening destroys analogies, and Code suffers it
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from yakusu.compress.codes import Codes, Floats, Matrix, PrincipalAxes
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent, Task

Rows = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
_HEADER = ["id", "question", *"abcde", "answer"]
_BLANK = "_____"
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")  # letters, and apostrophes between them
_COSINES = 2**25  # that are there at a time: 128 MiB


@dataclass(frozen=True)
class TaskResult:
    """How well vectors did at a task.

    name: Of the test set, or of a part of it.
    score: Spearman's rho, or the share of right answers from 0 to 1; NaN where there is none.
    used, left_out: Items that were scored, and that were not for want of a vector.
    how: The way of scoring, in words.
    parts: Of analogies in sections: semantic and syntactic (Google's), then each section.
    """

    name: str
    score: float
    used: int
    left_out: int
    how: str
    parts: tuple["TaskResult", ...] = ()


@dataclass(frozen=True)
class Similarity:
    """Pairs of words, and how alike people find them."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    scores: tuple[float, ...]

    def score(
        self, index: Mapping[str, int], vectors: Matrix, *, progress: Progress | None = None
    ) -> TaskResult:
        """Spearman's rho; pairs with an unknown word are left out.

        Args:
            index: The row of each word.
            vectors: (V, H), centred, finite.
            progress: Watches.
        """
        with (progress or Silent()).task(self.name, "pairs", len(self.pairs)) as task:
            rows = np.array([_rows(index, pair) for pair in self.pairs])  # (pairs, 2)
            known = (rows >= 0).all(axis=1)
            x, y = (_unit(vectors[side], np.float64) for side in rows[known].T)
            cosines = np.einsum("qh,qh->q", x, y).round(12)  # else pairs of one word do not tie
            rho = _spearman(np.array(self.scores)[known], cosines)
            task.advance(len(self.pairs))
        how = "Spearman's rho of cosines; pairs with an unknown word left out"
        return TaskResult(self.name, rho, int(known.sum()), int((~known).sum()), how)


@dataclass(frozen=True)
class Analogy:
    """Questions (a, b, c, d): a is to b as c is to d; and the section of each, or ""."""

    name: str
    questions: tuple[tuple[str, ...], ...]
    sections: tuple[str, ...]

    def score(
        self,
        index: Mapping[str, int],
        vectors: Matrix,
        *,
        candidates: int = 30_000,
        progress: Progress | None = None,
    ) -> TaskResult:
        """3CosAdd; questions with a word that is no candidate are left out.

        Args:
            index: The row of each word.
            vectors: (V, H), centred, finite, the most frequent word first.
            candidates: N, the most frequent words, which may be answers; 0 for all.
            progress: Watches.

        Raises:
            DataError: `candidates` is negative.
        """
        if candidates < 0:
            raise DataError(f"candidates = {candidates} is no number of words: choose 0 for all")
        n = min(candidates or len(vectors), len(vectors))
        rows = np.array([_rows(index, question) for question in self.questions])  # (Q, 4)
        known: Booleans = np.all((rows >= 0) & (rows < n), axis=1)
        right = np.zeros(len(rows), dtype=bool)
        with (progress or Silent()).task(self.name, "questions", int(known.sum())) as task:
            unit = _unit(vectors[:n], np.float32)
            for block in _blocks(np.flatnonzero(known), n):
                given, answers = rows[block, :3], rows[block, 3]
                a, b, c = given.T
                cosines = (unit[b] - unit[a] + unit[c]) @ unit.T  # (Q, N), times |b - a + c|
                np.put_along_axis(cosines, given, -np.inf, axis=1)
                right[block] = cosines.argmax(axis=1) == answers
                task.advance(len(block))
        which = "all words" if n == len(vectors) else f"the {n:,} most frequent words"
        how = (
            f"accuracy; 3CosAdd, inputs excluded, candidates: {which}; questions with any other "
            "word left out"
        )
        parts = tuple(
            _accuracy(part, right[of], known[of], how) for part, of in self._parts().items()
        )
        return _accuracy(self.name, right, known, how, parts)

    def _parts(self) -> dict[str, Booleans]:
        """Which questions each part has; Google's syntactic sections are gram1 to gram9."""
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
    """A sentence with a blank: its other words, five candidates, and which of them is right."""

    words: tuple[str, ...]
    candidates: tuple[str, ...]
    answer: int


@dataclass(frozen=True)
class Completion:
    """Sentences with a blank, to be filled with one of five candidates."""

    name: str
    questions: tuple[Question, ...]

    def score(
        self, index: Mapping[str, int], vectors: Matrix, *, progress: Progress | None = None
    ) -> TaskResult:
        """The candidate nearest the mean of the sentence's other words (unknown ones skipped).

        A candidate without a vector is never chosen; a question is left out if its right answer
        has none, or all of its other words. Arguments as of `Similarity.score`.
        """
        right, known = (np.zeros(len(self.questions), dtype=bool) for _ in range(2))
        with (progress or Silent()).task(self.name, "questions", len(self.questions)) as task:
            for i, question in enumerate(self.questions):
                words, candidates = _rows(index, question.words), _rows(index, question.candidates)
                words = words[words >= 0]
                known[i] = words.size > 0 and candidates[question.answer] >= 0
                if known[i]:
                    mean = vectors[words].mean(axis=0, dtype=np.float64)  # (H,)
                    cosines = _unit(vectors[candidates], np.float64) @ mean  # (5,), times |mean|
                    chosen = np.where(candidates >= 0, cosines, -np.inf).argmax()
                    right[i] = chosen == question.answer
                task.advance()
        how = (
            "accuracy; nearest the mean of the sentence's other words, unknown candidates never "
            "chosen; questions whose answer is unknown left out"
        )
        return _accuracy(self.name, right, known, how)


@dataclass(frozen=True)
class Band:
    """Recall of neighbours among words of like frequency.

    first, last: Ranks, the most frequent word's being 1.
    used: Words that were looked at, evenly spaced.
    recall: From 0 to 1.
    """

    first: int
    last: int
    used: int
    recall: float


def read_task(path: str | Path) -> Similarity | Analogy | Completion:
    """Read a test set of UTF-8 text, named as its file; what it is, its first line shows.

    Similarity: word, word, score, tabs between. Analogy: four words a line, `: section` lines or
    none. Completion: tabs, a header `id question a b c d e answer`, and `_____` for the blank.

    Raises:
        DataError: The file cannot be read, is of another kind, or a line is not as the first.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: convert it (iconv -t UTF-8)") from error
    filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not filled:
        raise DataError(f"{path} is empty: name a set of similarities, analogies or completions")
    first = filled[0][1]
    if first.split("\t") == _HEADER:
        return _completion(path, filled)
    if first.count("\t") == 2:
        return _similarity(path, filled)
    if first.startswith(":") or len(first.split()) == 4:
        return _analogy(path, filled)
    raise _bad(path, filled[0], "two words and a score between tabs, four words, or a header")


def mean_of(results: Sequence[TaskResult]) -> TaskResult:
    """The unweighted mean over test sets; those without a score are left out and named."""
    scored = [result for result in results if not math.isnan(result.score)]
    without = [result.name for result in results if math.isnan(result.score)]
    return TaskResult(
        "mean",
        sum(result.score for result in scored) / len(scored) if scored else math.nan,
        sum(result.used for result in results),
        sum(result.left_out for result in results),
        f"unweighted mean of {', '.join(result.name for result in scored) or 'nothing'}"
        + (f"; without a score: {', '.join(without)}" if without else ""),
    )


def centred(vectors: Matrix | Codes) -> Matrix:
    """Vectors or codes (V, any H), each column less its mean, in floats of 32 bits or more."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    moved: Matrix = vectors - mean.astype(np.result_type(vectors, np.float32))
    return moved


def whitened(vectors: Matrix) -> npt.NDArray[np.float32]:
    """All principal components of vectors (V, H), each over its deviation: (V, H), centred.

    The control of codes: as Algorithm 1, but for the clustering. A component without spread is 0.
    """
    axes = PrincipalAxes.of(vectors, vectors.shape[1])
    scores = axes.scores(vectors, slice(None))  # (H, V)
    deviation = scores.std(axis=1)
    spread = deviation > 1e-6 * deviation.max()  # else rounding errors
    scores /= np.where(spread, deviation, np.inf)[:, None]
    return np.ascontiguousarray(scores.T, dtype=np.float32)


def recall_of_neighbours(
    original: Matrix,
    rebuilt: Matrix,
    rows: Rows,
    *,
    n: int = 10,
    progress: Progress | None = None,
) -> Floats:
    """The share of each row's n nearest in `original` that are its n nearest in `rebuilt`, (R,).

    Args:
        original: (V, H), centred, finite.
        rebuilt: (V, M) or (V, H), centred, finite, of the same words.
        rows: Whose neighbours, (R,); these are sought among all V words but the row itself.
        n: How many neighbours.
        progress: Watches.

    Raises:
        DataError: The two are not of the same words, or V is not above n.
    """
    if len(original) != len(rebuilt):
        raise DataError(
            f"{len(original)} words cannot be compared with {len(rebuilt)}: give the same words"
        )
    if not 1 <= n < len(original):
        raise DataError(
            f"n = {n} neighbours cannot be had of {len(original)} words: choose n from 1 to "
            f"{len(original) - 1}"
        )
    with (progress or Silent()).task("finding neighbours", "words", 2 * len(rows)) as task:
        before, after = (_nearest(vectors, rows, n, task) for vectors in (original, rebuilt))
    recall: Floats = (before[:, :, None] == after[:, None, :]).any(axis=2).mean(axis=1)
    return recall


def neighbours_by_band(
    original: Matrix,
    rebuilt: Matrix,
    *,
    bands: Sequence[int] = (1_000, 10_000, 100_000),
    sample: int = 500,
    n: int = 10,
    progress: Progress | None = None,
) -> tuple[Band, ...]:
    """Recall of neighbours by frequency: other tasks ask for frequent words alone.

    Args:
        original, rebuilt, n, progress: As of `recall_of_neighbours`, the most frequent word first.
        bands: The last rank of each band but the last, ascending.
        sample: Words of a band that are looked at, evenly spaced.

    Raises:
        DataError: As of `recall_of_neighbours`.
    """
    ends = [0, *(end for end in bands if end < len(original)), len(original)]
    samples = [
        np.linspace(begin, end - 1, min(sample, end - begin)).round().astype(np.int64)
        for begin, end in pairwise(ends)
    ]
    recall = recall_of_neighbours(
        original, rebuilt, np.concatenate(samples), n=n, progress=progress
    )
    by_band = np.split(recall, np.cumsum([len(rows) for rows in samples])[:-1])
    return tuple(
        Band(begin + 1, end, len(part), float(part.mean()))
        for (begin, end), part in zip(pairwise(ends), by_band, strict=True)
    )


def _nearest(vectors: Matrix, rows: Rows, n: int, task: Task) -> Rows:
    """The n nearest words of each row, in no order, (R, n)."""
    unit = _unit(vectors, np.float32)
    found = np.empty((len(rows), n), dtype=np.int64)
    done = 0
    for block in _blocks(rows, len(unit)):
        cosines = unit[block] @ unit.T  # (R, V)
        np.put_along_axis(cosines, block[:, None], -np.inf, axis=1)
        for row in cosines:  # one at a time: the places are twice as large as the cosines
            found[done] = np.argpartition(row, -n)[-n:]
            done += 1
        task.advance(len(block))
    return found


def _similarity(path: Path, lines: list[tuple[int, str]]) -> Similarity:
    pairs, scores = [], []
    for line in lines:
        try:
            first, second, score = line[1].split("\t")
            scores.append(float(score))
        except ValueError as error:
            raise _bad(path, line, "two words and a score between tabs") from error
        if not math.isfinite(scores[-1]):
            raise _bad(path, line, "scored with a finite number")
        pairs.append((first, second))
    return Similarity(path.stem, tuple(pairs), tuple(scores))


def _analogy(path: Path, lines: list[tuple[int, str]]) -> Analogy:
    questions, sections, section = [], [], ""
    for line in lines:
        if line[1].startswith(":"):
            section = line[1][1:].strip()
            continue
        words = line[1].split()
        if len(words) != 4:
            raise _bad(path, line, "four words or a section (': name')")
        questions.append(tuple(words))
        sections.append(section)
    if not questions:
        raise _bad(path, lines[-1], "followed by a question of four words")
    return Analogy(path.stem, tuple(questions), tuple(sections))


def _completion(path: Path, lines: list[tuple[int, str]]) -> Completion:
    questions = []
    for line in lines[1:]:
        fields = line[1].split("\t")
        if len(fields) != 8 or fields[1].count(_BLANK) != 1 or fields[-1] not in [*"abcde"]:
            raise _bad(path, line, f"8 fields between tabs, one {_BLANK}, an answer from a to e")
        _, sentence, *candidates, answer = fields
        words = tuple(_WORD.findall(sentence.replace(_BLANK, " ")))
        questions.append(Question(words, tuple(candidates), "abcde".index(answer)))
    if not questions:
        raise _bad(path, lines[0], "followed by a question")
    return Completion(path.stem, tuple(questions))


def _bad(path: Path, line: tuple[int, str], wanted: str) -> DataError:
    number, text = line
    return DataError(f"{path}, line {number}: {text[:60]!r} is not {wanted}: mend the line")


def _rows(index: Mapping[str, int], words: Sequence[str]) -> Rows:
    """As written, else lower-cased; -1 where unknown."""
    return np.array([index.get(word, index.get(word.lower(), -1)) for word in words], np.int64)


def _unit(vectors: Matrix, dtype: type[np.floating]) -> Matrix:
    """Of length 1; zeros stay zeros."""
    unit: Matrix = vectors.astype(dtype)
    length = np.sqrt(np.einsum("vh,vh->v", unit, unit))
    unit /= np.where(length > 0, length, 1)[:, None]
    return unit


def _blocks(rows: Rows, n_candidates: int) -> Iterator[Rows]:
    """As many rows at a time as memory is set aside for."""
    size = max(1, _COSINES // n_candidates)
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]


def _accuracy(
    name: str, right: Booleans, known: Booleans, how: str, parts: tuple[TaskResult, ...] = ()
) -> TaskResult:
    used = int(known.sum())
    score = float(right.sum() / used) if used else math.nan  # what is not known is not right
    return TaskResult(name, score, used, len(known) - used, how, parts)


def _spearman(x: Floats, y: Floats) -> float:
    """The correlation of ranks; NaN where either has fewer than two values."""
    ranks = [_ranks(values) - (len(values) + 1) / 2 for values in (x, y)]
    scale = math.sqrt(math.prod(float(r @ r) for r in ranks))
    return float(ranks[0] @ ranks[1]) / scale if scale else math.nan


def _ranks(values: Floats) -> Floats:
    """From 1; equal values share the mean of their ranks."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (counts.cumsum() - (counts - 1) / 2)[which]
    return ranks
