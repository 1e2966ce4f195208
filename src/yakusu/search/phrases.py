"""Phrases that must, or must not, occur in a translation.

B sentences, K hypotheses per sentence, V vocabulary.

Phrases are found in the text of a hypothesis, whatever pieces spell it. A phrase matches whole
words only: at each of its ends, a letter or digit must not be followed by another one, except in
scripts that are written without spaces. Several spaces count as one.

A token is allowed only if the hypothesis can still be completed after it: with all phrases to
include, without the phrases to exclude, and within the maximum length.
"""

import copy
from collections.abc import Sequence
from functools import lru_cache
from typing import Self

import numpy as np
import torch
from torch import Tensor

from yakusu.search.spelling import Phrase, PhraseVocabulary


def phrase_constraint(
    vocabulary: PhraseVocabulary,
    include: Sequence[Sequence[str | Phrase]],
    exclude: Sequence[Sequence[str]],
    *,
    n_beams: int,
    device: torch.device,
) -> "PhraseConstraint":
    """The constraint for a batch of sentences; a `Goal` if a phrase must occur in any of them.

    Args:
        vocabulary: The target vocabulary.
        include: For each sentence, the phrases that must occur.
        exclude: For each sentence, the phrases that must not occur.
        n_beams: K.
        device: Device of the search.

    Raises:
        DataError: A phrase is empty or cannot be spelled, or the phrases of a sentence contradict
            each other.
    """
    kind = PhraseGoal if any(include) else PhraseConstraint
    return kind(vocabulary, include, exclude, n_beams=n_beams, device=device)


class PhraseConstraint:
    """Excludes tokens after which the phrases of a sentence could no longer be respected.

    The arguments are those of `phrase_constraint`.
    """

    def __init__(
        self,
        vocabulary: PhraseVocabulary,
        include: Sequence[Sequence[str | Phrase]],
        exclude: Sequence[Sequence[str]],
        *,
        n_beams: int,
        device: torch.device,
    ) -> None:
        self.vocabulary, self.device = vocabulary, device
        self.rules = [
            _Rules(vocabulary, required, forbidden, device=device)
            for required, forbidden in zip(include, exclude, strict=True)
        ]
        starts = np.array([rules.automaton.start for rules in self.rules], dtype=np.int64)
        self.nodes = starts[:, None].repeat(n_beams, axis=1)  # (B, K)
        self.met = np.zeros_like(self.nodes)  # (B, K), phrases that have occurred, as events
        self.after_space = np.zeros(self.nodes.shape, dtype=bool)  # (B, K)

    def restrict(self, logits: Tensor, left: Tensor) -> None:
        """Set the logits (B, K, V - 1) of tokens that may not follow to -inf, in place."""
        for row, tokens_left in enumerate(left.tolist()):
            states = zip(self.nodes[row].tolist(), self.met[row].tolist(), tokens_left, strict=True)
            for k, (node, met, n_left) in enumerate(states):
                excluded = self.rules[row].excluded(node, met, n_left)
                logits[row, k].masked_fill_(excluded, -torch.inf)

    def follow(self, beams: Tensor, ids: Tensor) -> None:
        """Let hypothesis k of sentence b be hypothesis beams[b, k], extended by ids[b, k]."""
        order, tokens = beams.cpu().numpy(), ids.cpu().numpy()
        nodes = np.take_along_axis(self.nodes, order, axis=1)
        self.met = np.take_along_axis(self.met, order, axis=1)
        for row, k in np.ndindex(nodes.shape):
            step = self.rules[row].automaton.step
            nodes[row, k], events = step(int(nodes[row, k]), int(tokens[row, k]))
            self.met[row, k] |= events
        self.nodes, self.after_space = nodes, self.vocabulary.ends_in_space[tokens]

    def keep(self, sentences: Tensor) -> Self:
        """The constraint of these sentences."""
        other, rows = copy.copy(self), sentences.tolist()
        other.rules = [self.rules[row] for row in rows]
        other.nodes, other.met = self.nodes[rows], self.met[rows]
        other.after_space = self.after_space[rows]
        return other


class PhraseGoal(PhraseConstraint):
    """A `PhraseConstraint` that proposes the tokens of missing phrases."""

    def proposals(self) -> Tensor:
        """Tokens that begin or continue a missing phrase: (B, K, n), -1 for none."""
        found = [
            [
                rules.proposals(node, met, after_space)
                for node, met, after_space in zip(*states, strict=True)
            ]
            for rules, *states in zip(
                self.rules,
                self.nodes.tolist(),
                self.met.tolist(),
                self.after_space.tolist(),
                strict=True,
            )
        ]
        n = max(len(tokens) for row in found for tokens in row)
        rows = [[[*tokens, *[-1] * (n - len(tokens))] for tokens in row] for row in found]
        return torch.tensor(rows, dtype=torch.long, device=self.device)

    def progress(self, ids: Tensor) -> Tensor:
        """The number of tokens of phrases that have occurred, or are in progress: (B, K, n)."""
        tokens = ids.cpu().numpy()
        stages = np.zeros_like(tokens)
        for row, k in np.ndindex(self.nodes.shape):
            node, met = int(self.nodes[row, k]), int(self.met[row, k])
            rules = self.rules[row]
            stages[row, k] = [
                rules.stage_after(node, met, token) for token in tokens[row, k].tolist()
            ]
        return torch.from_numpy(stages).to(self.device)


class _Rules:
    """What the phrases of a sentence mean for a hypothesis; recent results are kept.

    A hypothesis is described by its node in the automaton and the events that have occurred.

    Args:
        vocabulary: The target vocabulary.
        include: Phrases that must occur.
        exclude: Phrases that must not occur.
        device: Device of the search.
    """

    def __init__(
        self,
        vocabulary: PhraseVocabulary,
        include: Sequence[str | Phrase],
        exclude: Sequence[str],
        *,
        device: torch.device,
    ) -> None:
        self.device = device
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
        self._excluded = lru_cache(maxsize=32)(self._excluded_mask)
        self._stage = lru_cache(maxsize=1024)(self._stage_of)

    def excluded(self, node: int, met: int, left: int) -> Tensor:
        """Whether each id may not follow if `left` tokens may follow: (V - 1,)."""
        return self._excluded(node, met, min(left, self._most_needed(met)))

    def _excluded_mask(self, node: int, met: int, left: float) -> Tensor:
        return torch.from_numpy(self.automaton.excluded(node, met, left)).to(self.device)

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
