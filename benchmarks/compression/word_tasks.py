"""The word tasks of the compression paper, section 4.2, and the neighbours kept.

Similarity is the mean of Spearman's rho over its sets; analogy the mean accuracy in percent on
Google's semantic questions, its syntactic ones and MSR's; completion that of the Holmes sentences.
The paper's ninth similarity set, RW, is not included. Neighbours are the share, in percent, of the
10 nearest words before compression that stay among the 10 nearest ("neighbours") or the 100 nearest
("candidates"), for 1,000 words evenly spaced by frequency rank.

Ratios are chosen on one half of each set and counted on the other half, and on sets of similarity
that are not in the paper. The questions of Google and MSR combine few words in many ways, so their
halves share words, but no question.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compression.trade_off import formatted, scaled
from yakusu.vectors import WordVectors
from yakusu.vectors.nearest import Neighbours
from yakusu.vectors.outcomes import TaskResult, mean_of
from yakusu.vectors.testsets import read_task
from yakusu.vectors.wordtasks import Analogy, Completion, Similarity, TestSet

PAPER_FLOATS = {"analogy": 69.76, "completion": 31.25, "similarity": 0.60}  # GloVe 6B, 300 dim.
AMONG = (10, 100)  # of "neighbours" and of "candidates"
_SIMILARITIES = (
    *("mc30", "rg65", "ws353_sim", "ws353_rel", "men3k", "mturk287", "scws", "simlex999"),
)
_UNUSED = ("simverb3500", "yp130", "verb143")
Scores = dict[str, float]
Sets = Mapping[str, Sequence[TestSet]]  # by task


def paper_sets(data: Path) -> list[Path]:
    """Return the files of the paper's test sets in a folder of corpora."""
    return [
        *(data / "wordsim" / f"{name}.tsv" for name in _SIMILARITIES),
        data / "analogy" / "questions-words.txt",
        data / "analogy" / "msr.txt",
        data / "sentcomp" / "questions.tsv",
    ]


def unused_sets(data: Path) -> list[Path]:
    """Return the files of similarity sets that are not in the paper; no ratio is chosen on them."""
    return [data / "wordsim" / f"{name}.tsv" for name in _UNUSED]


def by_task(sets: Sequence[TestSet]) -> dict[str, list[TestSet]]:
    """Return test sets by their task."""
    names = {Analogy: "analogy", Completion: "completion", Similarity: "similarity"}
    found: dict[str, list[TestSet]] = {name: [] for name in names.values()}
    for task in sets:
        found[names[type(task)]].append(task)
    return {name: sets for name, sets in found.items() if sets}


def split(sets: Sequence[TestSet], unused: Sequence[TestSet] = ()) -> tuple[Sets, Sets]:
    """Return the half on which ratios are chosen, and the reserved half.

    The items of a set, or of a section of analogies, go to the halves alternately. An item that an
    earlier set contains goes to the same half as there, so the halves of all sets are disjoint.
    Unused sets are reserved, without the items of the other half, as task "unused similarity".
    """
    sides: dict[Hashable, int] = {}
    halves: tuple[list[TestSet], list[TestSet]] = ([], [])
    for task in sets:
        turns: Counter[str] = Counter()
        for key, section in _items(task):
            if key not in sides:
                sides[key] = turns[section] % 2
                turns[section] += 1
        for side, half in enumerate(halves):
            half.append(_only(task, [sides[key] == side for key, _ in _items(task)]))
    choice, reserved = map(by_task, halves)
    rest = [_only(task, [sides.get(key) != 0 for key, _ in _items(task)]) for task in unused]
    return choice, {**reserved, "unused similarity": rest} if rest else reserved


def _items(task: TestSet) -> Iterator[tuple[Hashable, str]]:
    """Yield a key of each item, equal for equal items of all sets, and its section."""
    match task:
        case Similarity():
            yield from ((frozenset(map(str.lower, pair)), "") for pair in task.pairs)
        case Analogy():
            for question, section in zip(task.questions, task.sections, strict=True):
                yield tuple(map(str.lower, question)), section
        case Completion():
            yield from ((question, "") for question in task.questions)


def _only(task: TestSet, kept: Sequence[bool]) -> TestSet:
    """Return a test set with some of its items."""

    def some(items: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(item for item, keep in zip(items, kept, strict=True) if keep)

    match task:
        case Similarity():
            return replace(task, pairs=some(task.pairs), scores=some(task.scores))
        case Analogy():
            return replace(task, questions=some(task.questions), sections=some(task.sections))
        case Completion():
            return replace(task, questions=some(task.questions))


@dataclass(frozen=True)
class WordTasks:
    """Test sets, and the words for whose vectors they are scored.

    kept: The neighbours before compression; None: not scored.
    candidates: Number of the most frequent words that may answer an analogy.
    """

    words: Sequence[str]
    sets: Sets
    kept: Neighbours | None = None
    candidates: int = 30_000

    @classmethod
    def of(cls, dense: WordVectors, paths: Sequence[Path]) -> "WordTasks":
        """Read test sets for the words of some vectors."""
        return cls(dense.words, by_task([read_task(path) for path in paths]))

    @classmethod
    def halves(cls, dense: WordVectors, data: Path) -> tuple["WordTasks", "WordTasks"]:
        """Return all tasks on the half on which ratios are chosen, and on the reserved half."""
        paper, unused = (
            [read_task(path) for path in paths] for paths in (paper_sets(data), unused_sets(data))
        )
        kept = Neighbours.of(dense.vectors)
        first, second = (
            cls(
                dense.words, sets, replace(kept, rows=kept.rows[side::2], found=kept.found[side::2])
            )
            for side, sets in enumerate(split(paper, unused))
        )
        return first, second

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    def results(self, vectors: np.ndarray) -> dict[str, TaskResult]:
        """Return the mean result of each task for vectors or codes (V, any width) as they are."""
        found = {name: self._mean(sets, vectors) for name, sets in self.sets.items()}
        if self.kept:
            found["neighbours"], found["candidates"] = self.kept.score(vectors, among=AMONG)
        return found

    def _mean(self, sets: Sequence[TestSet], vectors: np.ndarray) -> TaskResult:
        """Return the mean over sets; its description includes how a single set is scored."""
        results: list[TaskResult] = []
        for task in sets:
            if isinstance(task, Analogy):
                found = task.score(self._index, vectors, candidates=self.candidates)
                both = [part for part in found.parts if part.name in ("semantic", "syntactic")]
                results += both or [found]
            else:
                results.append(task.score(self._index, vectors))
        mean = mean_of(results)
        return replace(mean, how=f"{mean.how}: {results[0].how}")

    def score(self, vectors: np.ndarray) -> Scores:
        """Return the score of each task: percent of correct answers, or rho."""
        return scores_of(self.results(vectors))


def scores_of(results: Mapping[str, TaskResult]) -> Scores:
    """Return the score of each task: percent, or rho."""
    return {name: round(scaled(name, result.score), 4) for name, result in results.items()}


def facts(results: Mapping[str, TaskResult]) -> dict[str, Any]:
    """Return how each task is scored, and the number of its items that were used."""
    return {
        name: {"used": result.used, "left_out": result.left_out, "how": result.how}
        for name, result in results.items()
    }


def shown(scores: Scores) -> str:
    """Return scores in one line."""
    return ", ".join(f"{name} {formatted(name, score)}" for name, score in scores.items())
