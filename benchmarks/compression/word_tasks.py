"""The three word tasks of the second paper, section 4.2, for its benchmarks.

Similarity is the mean of Spearman's rho over its sets; analogy the mean accuracy in percent of
Google's semantic questions, its syntactic ones and MSR's; completion that of the Holmes sentences.
The paper's ninth similarity set, RW, is not in the project's data.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from yakusu.compress import WordVectors
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

TASKS = ("analogy", "completion", "similarity")
SLACK = {"analogy": 0.5, "completion": 0.5, "similarity": 0.005}  # that still is "without loss"
PAPER_FLOATS = {"analogy": 69.76, "completion": 31.25, "similarity": 0.60}  # GloVe 6B, 300 dim.
_SIMILARITIES = (
    *("mc30", "rg65", "ws353_sim", "ws353_rel", "men3k", "mturk287", "scws", "simlex999"),
)
Scores = dict[str, float]


def paper_sets() -> list[Path]:
    """The files of the paper's sets under $YAKUSU_DATA."""
    data = Path(os.environ.get("YAKUSU_DATA", "."))
    return [
        *(data / "wordsim" / f"{name}.tsv" for name in _SIMILARITIES),
        data / "analogy" / "questions-words.txt",
        data / "analogy" / "msr.txt",
        data / "sentcomp" / "questions.tsv",
    ]


@dataclass(frozen=True)
class WordTasks:
    """Test sets, and the words whose vectors are to be scored.

    candidates: Most frequent words that may answer an analogy.
    """

    words: Sequence[str]
    sets: tuple[TestSet, ...]
    candidates: int = 30_000

    @classmethod
    def of(cls, dense: WordVectors, paths: Sequence[Path]) -> "WordTasks":
        """The sets in some files."""
        return cls(dense.words, tuple(map(read_task, paths)))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    def results(self, vectors: np.ndarray) -> dict[str, TaskResult]:
        """The mean of each task, for vectors or codes (V, any width), which are centred here."""
        alike = centred(vectors)
        of_task: dict[str, list[TaskResult]] = {}
        for task in self.sets:
            match task:
                case Analogy():
                    found = task.score(self._index, alike, candidates=self.candidates)
                    both = [part for part in found.parts if part.name in ("semantic", "syntactic")]
                    of_task.setdefault("analogy", []).extend(both or [found])
                case Completion():
                    of_task.setdefault("completion", []).append(task.score(self._index, alike))
                case Similarity():
                    of_task.setdefault("similarity", []).append(task.score(self._index, alike))
        return {name: _mean(of_task[name]) for name in TASKS if name in of_task}

    def score(self, vectors: np.ndarray) -> Scores:
        """Percent right, or rho."""
        return {
            name: round(result.score * (1 if name == "similarity" else 100), 4)
            for name, result in self.results(vectors).items()
        }

    def facts(self, vectors: np.ndarray) -> dict[str, Any]:
        """How each task is scored, and how many of its items."""
        return {
            name: {"used": result.used, "left_out": result.left_out, "how": result.how}
            for name, result in self.results(vectors).items()
        }


def _mean(results: Sequence[TaskResult]) -> TaskResult:
    """With the way of scoring one set."""
    mean = mean_of(results)
    return replace(mean, how=f"{mean.how}: {results[0].how}")


def shown(scores: Scores) -> str:
    """Scores in one line."""
    return ", ".join(
        f"{name} {score:.{3 if name == 'similarity' else 2}f}" for name, score in scores.items()
    )
