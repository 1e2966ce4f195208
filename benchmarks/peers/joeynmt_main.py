"""Start JoeyNMT 2.3.0 with newer versions of its libraries: `python joeynmt_main.py train CONFIG`.

It passes `verbose`, which has no effect on the result, to a scheduler of torch that no longer has
this argument, and limits SentencePiece to its vocabulary, which here has all pieces, by a method
that no longer exists. JoeyNMT sets its seed only after the weights have been initialised, so a seed
is set before.
"""

from typing import Any

import sentencepiece
import torch
from joeynmt import builders
from joeynmt.__main__ import main
from torch.optim.lr_scheduler import ReduceLROnPlateau


def _plateau(*args: Any, verbose: bool = False, **settings: Any) -> ReduceLROnPlateau:
    return ReduceLROnPlateau(*args, **settings)


if __name__ == "__main__":
    builders.ReduceLROnPlateau = _plateau
    sentencepiece.SentencePieceProcessor.SetVocabulary = lambda model, pieces: None
    torch.manual_seed(42)
    main()
