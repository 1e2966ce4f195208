"""The interfaces of constraints: what a search may, must or must not generate.

B sentences, K hypotheses per sentence, V vocabulary.
"""

from typing import Protocol, Self, runtime_checkable

from torch import Tensor


class Constraint(Protocol):
    """Restricts the tokens that may follow. Like a `DecoderState`, it tracks the hypotheses."""

    def restrict(self, logits: Tensor, left: Tensor) -> None:
        """Set the logits of tokens that may not follow to -inf, in place.

        Args:
            logits: (B, K, V - 1). The probabilities of the other tokens do not change.
            left: The number of tokens that may still follow each hypothesis, including eos: (B, K).
        """

    def follow(self, beams: Tensor, ids: Tensor) -> None:
        """Let hypothesis k of sentence b be hypothesis beams[b, k], extended by ids[b, k].

        Args:
            beams: (B, K), values from 0 to K - 1.
            ids: (B, K).
        """

    def keep(self, sentences: Tensor) -> Self:
        """The constraint of these sentences (B',); a sentence may occur more than once."""


@runtime_checkable
class Goal(Constraint, Protocol):
    """A constraint that requires tokens that the model alone might never generate.

    The search keeps hypotheses at every stage of progress towards the goal, because hypotheses at
    later stages are usually less probable (dynamic beam allocation, Post & Vilar 2018).
    """

    def proposals(self) -> Tensor:
        """Tokens that advance each hypothesis towards the goal: (B, K, n), -1 for none."""

    def progress(self, ids: Tensor) -> Tensor:
        """The progress that each hypothesis would have made after a token.

        Args:
            ids: Tokens that may follow each hypothesis (B, K, n).

        Returns:
            Integers (B, K, n): how many of the tokens that the goal requires have been generated.
        """
