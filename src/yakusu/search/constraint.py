"""The interfaces of constraints: what a search may, must or must not generate.

A constraint belongs to one sentence. K open hypotheses, V vocabulary. At first, K = 1: the empty
hypothesis.
"""

from typing import Protocol, runtime_checkable

from yakusu.arrays import Flags, Longs


class Constraint(Protocol):
    """Restricts the tokens that may follow the open hypotheses of a sentence, which it tracks."""

    def allowed(self, left: Longs) -> Flags:
        """Whether each token may follow each hypothesis: (K, V - 1), or (1, V - 1) for all.

        The flags may be shared: they are not changed.

        Args:
            left: The number of tokens that may still follow each hypothesis, including eos: (K,),
                or (1,) for all hypotheses.
        """

    def follow(self, beams: Longs, ids: Longs) -> None:
        """Let the hypotheses be hypothesis beams[k], extended by ids[k].

        Args:
            beams: (K',), values from 0 to K - 1.
            ids: (K',). Tokens that are not allowed may occur: a search may keep hypotheses with a
                probability of zero, and a prefix is not restricted.
        """


@runtime_checkable
class Goal(Constraint, Protocol):
    """A constraint that requires tokens that the model alone might never generate.

    The search keeps hypotheses at every stage of progress towards the goal, because hypotheses at
    later stages are usually less probable (dynamic beam allocation, Post & Vilar 2018).
    """

    def proposals(self) -> Longs:
        """Tokens that advance each hypothesis towards the goal: (K, m), -1 for none."""

    def progress(self, beams: Longs, ids: Longs) -> Longs:
        """The progress that hypotheses would have made after a token.

        Args:
            beams: Hypotheses (n,).
            ids: A token that may follow each of them (n,).

        Returns:
            Integers (n,): how many of the tokens that the goal requires have been generated.
        """
