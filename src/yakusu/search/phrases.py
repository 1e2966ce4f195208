"""Phrases that must, or must not, occur in a translation.

K hypotheses of a sentence, V vocabulary.

Phrases are found in the text of a hypothesis, whatever pieces spell it. A phrase matches whole
words only: at each of its ends, a letter or digit must not be followed by another one, except in
scripts that are written without spaces. Several spaces count as one.

A token is allowed only if the hypothesis can still be completed after it: with all phrases to
include, without the phrases to exclude, and within the maximum length.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from yakusu.arrays import Flags, Longs
from yakusu.search.spelling import Phrase, PhraseVocabulary


def phrase_constraint(
    vocabulary: PhraseVocabulary, include: Sequence[str | Phrase], exclude: Sequence[str]
) -> "PhraseConstraint":
    """The constraint for a sentence; a `Goal` if a phrase must occur in it.

    Args:
        vocabulary: The target vocabulary.
        include: The phrases that must occur.
        exclude: The phrases that must not occur.

    Raises:
        DataError: A phrase is empty or cannot be spelled, or the phrases contradict each other.
    """
    return (PhraseGoal if include else PhraseConstraint)(vocabulary, include, exclude)


class PhraseConstraint:
    """Excludes tokens after which the phrases of a sentence could no longer be respected.

    The arguments are those of `phrase_constraint`.
    """

    def __init__(
        self,
        vocabulary: PhraseVocabulary,
        include: Sequence[str | Phrase],
        exclude: Sequence[str],
    ) -> None:
        self.vocabulary = vocabulary
        self.rules = _Rules(vocabulary, include, exclude)
        self.nodes = np.array([self.rules.automaton.start], dtype=np.int64)  # (K,)
        self.met = np.zeros(1, dtype=np.int64)  # (K,), phrases that have occurred, as events
        self.after_space = np.zeros(1, dtype=np.bool_)  # (K,)

    def allowed(self, left: Longs) -> Flags:
        """Whether each token may follow each hypothesis: (K, V - 1)."""
        left = np.broadcast_to(left, self.nodes.shape)
        states = zip(self.nodes.tolist(), self.met.tolist(), left.tolist(), strict=True)
        return np.stack([self.rules.allowed(*state) for state in states])

    def follow(self, beams: Longs, ids: Longs) -> None:
        """Let the hypotheses be hypothesis beams[k], extended by ids[k]."""
        step = self.rules.automaton.step
        states = [
            step(*pair) for pair in zip(self.nodes[beams].tolist(), ids.tolist(), strict=True)
        ]
        nodes, events = np.array(states, dtype=np.int64).reshape(-1, 2).T
        self.nodes, self.met = nodes, self.met[beams] | events
        self.after_space = self.vocabulary.ends_in_space[ids]


class PhraseGoal(PhraseConstraint):
    """A `PhraseConstraint` that proposes the tokens of missing phrases."""

    def proposals(self) -> Longs:
        """Tokens that begin or continue a missing phrase: (K, m), -1 for none."""
        states = zip(self.nodes.tolist(), self.met.tolist(), self.after_space.tolist(), strict=True)
        found = [self.rules.proposals(*state) for state in states]
        proposals = np.full((len(found), max(map(len, found), default=0)), -1, dtype=np.int64)
        for row, tokens in zip(proposals, found, strict=True):
            row[: len(tokens)] = tokens
        return proposals

    def progress(self, beams: Longs, ids: Longs) -> Longs:
        """The number of tokens of phrases that have occurred, or are in progress: (n,)."""
        states = zip(
            self.nodes[beams].tolist(), self.met[beams].tolist(), ids.tolist(), strict=True
        )
        stages = [self.rules.stage_after(*state) for state in states]
        return np.array(stages, dtype=np.int64)


class _Rules:
    """What the phrases of a sentence mean for a hypothesis; recent results are kept.

    A hypothesis is described by its node in the automaton and the events that have occurred.

    Args:
        vocabulary: The target vocabulary.
        include: Phrases that must occur.
        exclude: Phrases that must not occur.
    """

    def __init__(
        self,
        vocabulary: PhraseVocabulary,
        include: Sequence[str | Phrase],
        exclude: Sequence[str],
    ) -> None:
        self.automaton = vocabulary.automaton(include, exclude)
        self.forms = [  # of all phrases: the number of the phrase, and how to spell the form
            (number, vocabulary.spelling(form))
            for number, forms in enumerate(self.automaton.include)
            for form in forms
        ]
        self.n_tokens = [  # of each phrase as it is given
            next(spelling.n_tokens for i, spelling in self.forms if i == number)
            for number in range(len(self.automaton.include))
        ]
        self._most_needed = lru_cache(maxsize=64)(self.automaton.most_needed)
        self._allowed = lru_cache(maxsize=32)(self._allowed_flags)
        self._stage = lru_cache(maxsize=1024)(self._stage_of)

    def allowed(self, node: int, met: int, left: int) -> Flags:
        """Whether each id may follow if `left` tokens may follow: (V - 1,)."""
        return self._allowed(node, met, min(left, self._most_needed(met)))

    def _allowed_flags(self, node: int, met: int, left: float) -> Flags:
        flags: Flags = ~self.automaton.excluded(node, met, left)
        return flags

    def proposals(self, node: int, met: int, after_space: bool) -> list[int]:
        """The tokens that begin or continue a missing phrase."""
        tokens: list[int] = []
        for form, (number, spelling) in enumerate(self.forms):
            if met >> number + 1 & 1:
                continue
            begun = [read + 1 for i, read in self.automaton.places[node] if i == form]
            tokens += [int(spelling.tokens[i]) for i in begun if i < len(spelling.tokens)]
            if not after_space:
                tokens.append(int(spelling.tokens[0]))
            if after_space or spelling.begins_anywhere or self.automaton.at_boundary[node]:
                tokens.append(int(spelling.tokens[1]))
        return [token for token in dict.fromkeys(tokens) if token >= 0]

    def stage_after(self, node: int, met: int, token: int) -> int:
        """The tokens of phrases that have occurred, or are in progress, after a token."""
        node, events = self.automaton.step(node, token)
        return self._stage(node, met | events)

    def _stage_of(self, node: int, met: int) -> int:
        in_progress = 0.0
        for form, (number, spelling) in enumerate(self.forms):
            if not met >> number + 1 & 1:
                reads = [read + 1 for i, read in self.automaton.places[node] if i == form]
                left = min((spelling.left[i] for i in reads), default=np.inf)
                in_progress = max(in_progress, self.n_tokens[number] - left)
        done = sum(n for number, n in enumerate(self.n_tokens) if met >> number + 1 & 1)
        return done + int(in_progress)
