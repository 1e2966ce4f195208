"""What a command to train asks for, and what it results in."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from yakusu.pipeline.training.verdict import Verdict

Detail = Literal["plain", "normal", "verbose"]


@dataclass(frozen=True)
class Trained:
    """Result of `train`.

    Attributes:
        model: Model folder.
        steps: Number of steps of the run.
        seconds: Training time, over all resumptions.
        reason: The limit that ended the training.
        dev_score: Score of the model on the dev set, with its signature.
        example: A source sentence to try.
        rank: Rank of this process.
        verdict: How good its translations of the dev set are; None for a parser, for a run of an
            earlier version, and in all processes but the first.
    """

    model: Path
    steps: int
    seconds: float
    reason: str
    dev_score: str
    example: str
    rank: int
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Command:
    """What a command asks for besides a recipe.

    Attributes:
        told: Sentences about the choice of the recipe and the languages, to report first.
        asked: The keys of the recipe that the command sets; None: it asks for all of the recipe.
        exact, detail: As for `train`.
    """

    told: tuple[str, ...]
    asked: frozenset[str] | None
    exact: bool
    detail: Detail
