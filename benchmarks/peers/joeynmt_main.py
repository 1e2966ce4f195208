"""Run JoeyNMT 2.3.0 with newer versions of its dependencies.

Usage: `python joeynmt_main.py train CONFIG`.

JoeyNMT passes `verbose`, which has no effect on the result, to a scheduler of torch that no longer
accepts it; the argument is dropped. JoeyNMT also restricts SentencePiece to its vocabulary by a
method that no longer exists; a method that does nothing replaces it, because the vocabulary here
contains all pieces. JoeyNMT sets its seed only after it has initialised the weights, so a seed is
set here first. JoeyNMT continues with the epoch number that a checkpoint stores, and so would
repeat that epoch. Here, training continues only from finished epochs, so the number is increased by
one.
"""

from typing import Any

import sentencepiece
import torch
from joeynmt import builders
from joeynmt.__main__ import main
from joeynmt.training import TrainManager
from torch.optim.lr_scheduler import ReduceLROnPlateau


def _plateau(*args: Any, verbose: bool = False, **settings: Any) -> ReduceLROnPlateau:
    return ReduceLROnPlateau(*args, **settings)


class _Statistics(TrainManager.TrainStatistics):
    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.epochs += 1


if __name__ == "__main__":
    TrainManager.TrainStatistics = _Statistics
    builders.ReduceLROnPlateau = _plateau
    sentencepiece.SentencePieceProcessor.SetVocabulary = lambda model, pieces: None
    torch.manual_seed(42)
    main()
