"""Everything that restricts the search for one sentence.

K open hypotheses, V vocabulary.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Flags, Longs
from yakusu.search.characters import LONGEST, CharacterConstraint
from yakusu.search.constraint import Constraint, Goal
from yakusu.search.ranking import alternate
from yakusu.search.slots import SlotGoal
from yakusu.search.tokens import TokenRules


class Restrictions:
    """What the translation of a sentence may, must and must not contain.

    Forced prefixes, the maximum length and the limits on repetition are left to the search. The
    object tracks the hypotheses of one search, and cannot be used for another. At first, K = 1: the
    empty hypothesis.

    Args:
        rules: What the vocabulary may generate.
        constraints: Further constraints. If one of them is a `Goal`, it takes precedence over the
            limits on repetition.
        required: Placeholder tokens that must occur, with repetitions; UNK for each of them if the
            vocabulary has none.
        more_characters: Text whose characters may be spelled with bytes as well.

    Attributes:
        required: The placeholder tokens that must occur, in the order of `rules.slot_kinds`.
        characters: The characters that byte tokens may spell; None without byte fallback.
        has_goal: Whether certain tokens must be generated.
        is_plain: Whether the sentence needs nothing beyond `rules`.
        has_constraints: Whether it has further constraints, which the CPU engine leaves to Python.
    """

    def __init__(
        self,
        rules: TokenRules,
        constraints: Sequence[Constraint] = (),
        required: Sequence[int] = (),
        more_characters: str = "",
    ) -> None:
        self.rules = rules
        table = rules.characters.extended(more_characters) if rules.characters else None
        self.characters = table
        self._characters = CharacterConstraint(table) if table else None
        self._slots = SlotGoal(required, rules.slot_kinds, n_tokens=rules.n_tokens)
        self._constraints = [*([self._characters] if self._characters else ()), *constraints]
        self._goals = [constraint for constraint in constraints if isinstance(constraint, Goal)]
        self.required = self._slots.required
        if self.required:
            self._goals.append(self._slots)
        self.has_goal, self.has_constraints = bool(self._goals), bool(constraints)
        self.is_plain = not (constraints or self.required) and table is rules.characters

    def allowed(self, left: int) -> Flags:
        """Whether each token may follow each hypothesis.

        Args:
            left: The number of tokens that may still follow, including eos.

        Returns:
            (K, V - 1); or `rules.allowed` itself, (V - 1,), if nothing else applies.
        """
        if self._is_default(left):
            return self.rules.allowed
        if not self.required:
            return self._by_constraints(self.rules.no_slots[None], np.array([left]))
        flags = self._slots.allowed(np.array([left]))
        of_slots = flags[:, self._slots.kinds]
        flags = self._by_constraints(flags, left - self._slots.n_missing)
        stuck = ~flags.any(axis=1, keepdims=True)  # only placeholder tokens may follow
        flags[:, self._slots.kinds] |= of_slots & stuck
        return flags

    def _by_constraints(self, flags: Flags, left: Longs) -> Flags:
        """The flags without those that the constraints clear."""
        for constraint in self._constraints:
            flags = flags & constraint.allowed(left)
        return flags

    def _is_default(self, left: int) -> bool:
        spelled = self._characters
        return self.is_plain and (not spelled or (left > LONGEST and not spelled.nodes.any()))

    def proposals(self) -> Longs:
        """Tokens that advance each hypothesis towards the goals: (K, m), -1 for none."""
        return np.concatenate([goal.proposals() for goal in self._goals], axis=1)

    def order(self, log_probs: NDArray[np.float64], beams: Longs, ids: Longs) -> Longs:
        """The order of candidates that keeps hypotheses at every stage of progress.

        Args:
            log_probs: Of each candidate (n,).
            beams: The hypothesis that it extends (n,).
            ids: Its last token (n,).

        Returns:
            Indices (n,), the best candidate first.
        """
        progress = np.zeros(len(ids), dtype=np.int64)
        for goal in self._goals:
            progress += goal.progress(beams, ids)
        return alternate(log_probs, progress)

    def follow(self, beams: Longs, ids: Longs) -> None:
        """Let the hypotheses be hypothesis beams[k], extended by ids[k]: (K',) each."""
        for constraint in self._constraints:
            constraint.follow(beams, ids)
        if self.required:
            self._slots.follow(beams, ids)
