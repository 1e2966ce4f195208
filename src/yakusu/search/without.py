"""A constraint that clears the same tokens at every step."""

from yakusu.arrays import Flags, Longs
from yakusu.search.constraint import Constraint


class Without(Constraint):
    """Keeps tokens out of the translation of a sentence.

    Args:
        allowed: Whether each token may be generated: (V - 1,).
    """

    def __init__(self, allowed: Flags) -> None:
        self._allowed = allowed[None]

    def allowed(self, left: Longs) -> Flags:
        """See `Constraint`."""
        return self._allowed

    def follow(self, beams: Longs, ids: Longs) -> None:
        """See `Constraint`: it has no state."""
