"""An exponential moving average of the weights, which is what validation and averaging use.

average = decay_n average + (1 - decay_n) weights        after the n-th update of the weights
decay_n = min(decay, (1 + n) / (10 + n))                 so that random weights soon vanish
"""

import torch
from torch import Tensor

from yakusu.model.base import Seq2Seq


class MovingAverage:
    """The moving average of the weights of a model, sharded as they are.

    Args:
        model: The model, which starts the average.
        decay: The highest decay.
    """

    def __init__(self, model: Seq2Seq, decay: float) -> None:
        self.model, self.decay = model, decay
        self.weights = {name: tensor.detach().clone() for name, tensor in model.weights().items()}

    def update(self, n: int) -> None:
        """Add the weights to the average after the n-th update, counted from 1."""
        share = 1 - min(self.decay, (1 + n) / (10 + n))
        with torch.no_grad():
            for name, tensor in self.model.weights().items():
                self.weights[name].lerp_(tensor, share)  # equal weights stay the same

    def load(self, weights: dict[str, Tensor]) -> None:
        """Continue from a saved average."""
        for name, tensor in weights.items():
            self.weights[name].copy_(tensor)
