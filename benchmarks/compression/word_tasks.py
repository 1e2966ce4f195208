"""The three word tasks of the compression paper, section 4.2.

Similarity is the mean of Spearman's rho over its sets; analogy the mean accuracy in percent on
Google's semantic questions, its syntactic ones and MSR's; completion that of the Holmes sentences.
The paper's ninth similarity set, RW, is not included.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compression.trade_off import TASKS, formatted
from yakusu.vectors import WordVectors
from yakusu.vectors.testsets import read_task
from yakusu.vectors.wordtasks import (
    Analogy,
    Completion,
    Similarity,
    TaskResult,
    TestSet,
    centred,
    mean_of,
)

PAPER_FLOATS = {"analogy": 69.76, "completion": 31.25, "similarity": 0.60}  # GloVe 6B, 300 dim.
_SIMILARITIES = (
    *("mc30", "rg65", "ws353_sim", "ws353_rel", "men3k", "mturk287", "scws", "simlex999"),
)
Scores = dict[str, float]


def paper_sets(data: Path) -> list[Path]:
    """Return the files of the paper's test sets in a folder of corpora."""
    return [
        *(data / "wordsim" / f"{name}.tsv" for name in _SIMILARITIES),
        data / "analogy" / "questions-words.txt",
        data / "analogy" / "msr.txt",
        data / "sentcomp" / "questions.tsv",
    ]


@dataclass(frozen=True)
class WordTasks:
    """Test sets, and the words for whose vectors they are scored.

    candidates: Number of the most frequent words that may answer an analogy.
    """

    words: Sequence[str]
    sets: tuple[TestSet, ...]
    candidates: int = 30_000

    @classmethod
    def of(cls, dense: WordVectors, paths: Sequence[Path]) -> "WordTasks":
        """Read test sets for the words of some vectors."""
        return cls(dense.words, tuple(map(read_task, paths)))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    def results(self, vectors: np.ndarray) -> dict[str, TaskResult]:
        """Return the mean result of each task for vectors or codes (V, any width).

        They are centred first.
        """
        alike = centred(vectors)
        by_task: dict[str, list[TaskResult]] = {}
        for task in self.sets:
            match task:
                case Analogy():
                    found = task.score(self._index, alike, candidates=self.candidates)
                    both = [part for part in found.parts if part.name in ("semantic", "syntactic")]
                    by_task.setdefault("analogy", []).extend(both or [found])
                case Completion():
                    by_task.setdefault("completion", []).append(task.score(self._index, alike))
                case Similarity():
                    by_task.setdefault("similarity", []).append(task.score(self._index, alike))
        return {name: _mean(by_task[name]) for name in TASKS if name in by_task}

    def score(self, vectors: np.ndarray) -> Scores:
        """Return the score of each task: percent of correct answers, or rho."""
        return {
            name: round(result.score * (1 if name == "similarity" else 100), 4)
            for name, result in self.results(vectors).items()
        }

    def facts(self, vectors: np.ndarray) -> dict[str, Any]:
        """Return how each task is scored, and the number of its items that were used."""
        return {
            name: {"used": result.used, "left_out": result.left_out, "how": result.how}
            for name, result in self.results(vectors).items()
        }


def _mean(results: Sequence[TaskResult]) -> TaskResult:
    """Return the mean of results; its description includes how a single set is scored."""
    mean = mean_of(results)
    return replace(mean, how=f"{mean.how}: {results[0].how}")


def shown(scores: Scores) -> str:
    """Return scores in one line."""
    return ", ".join(f"{name} {formatted(name, score)}" for name, score in scores.items())
