"""The text of a target vocabulary, and how it spells phrases.

V vocabulary.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, product

import numpy as np

from yakusu.data.tokenizer import EOS, UNK, Tokenizer
from yakusu.data.words import is_joined
from yakusu.errors import DataError
from yakusu.search.automaton import MAX_INCLUDE, Automaton, Pieces
from yakusu.search.trie import occurs

_SPACE = "▁"  # in pieces
_UNKNOWN = "⁇"


class PhraseVocabulary:
    """The text of the pieces of a target vocabulary.

    Args:
        tokenizer: The tokenizer of the model.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        pieces = tokenizer.target_pieces(range(tokenizer.tgt_vocab_size - 1))
        texts = [re.sub(rf"\s|{_SPACE}", " ", piece) for piece in pieces]
        texts[EOS], texts[UNK] = "", _UNKNOWN
        self.pieces = Pieces(texts)
        self.ends_in_space = np.array([text.endswith(" ") for text in texts])  # (V - 1,)
        self._automaton = lru_cache(maxsize=128)(self._new_automaton)

    def spell(self, phrase: str) -> list[int]:
        """The ids of a phrase at the beginning of a word.

        Raises:
            DataError: The phrase is empty, or has characters that the vocabulary lacks.
        """
        ids = self._encode(phrase)
        if not self._text(ids):
            raise DataError(f"the phrase '{phrase}' is empty: remove it")
        if UNK in ids:
            surfaces = self._tokenizer.target_surfaces(" ".join(phrase.split()))
            unknown = "".join(s for s, i in zip(surfaces, ids, strict=False) if i == UNK)
            characters = ", ".join(f"'{c}'" for c in dict.fromkeys(unknown))
            noun = "characters" if ", " in characters else "character"
            verb = "are" if ", " in characters else "is"
            raise DataError(
                f"the phrase '{phrase}' cannot be spelled with this vocabulary: the {noun} "
                f"{characters} {verb} unknown"
            )
        return ids

    def _encode(self, phrase: str) -> list[int]:
        return self._tokenizer.encode_target([" ".join(phrase.split())])[0][:-1]

    def _text(self, ids: Sequence[int]) -> str:
        return " ".join("".join(self.pieces.texts[i] for i in ids).split())

    def included(self, phrases: Sequence[str]) -> tuple[str, ...]:
        """The normalised text of phrases to include, without duplicates."""
        return tuple(dict.fromkeys(self._text(self.spell(p)) for p in phrases))

    def excluded(self, phrases: Sequence[str]) -> tuple[str, ...]:
        """The normalised text of phrases to exclude; a phrase that cannot occur is left out."""
        texts = []
        for phrase in phrases:
            ids = self._encode(phrase)
            if UNK not in ids:
                texts.append(self._text(self.spell(phrase)))
        return tuple(dict.fromkeys(texts))

    def automaton(self, include: Sequence[str], exclude: Sequence[str]) -> Automaton:
        """The automaton of the phrases to include and to exclude; recent ones are kept.

        Raises:
            DataError: A phrase is empty or cannot be spelled, or the phrases contradict each other.
        """
        return self._automaton(tuple(include), tuple(exclude))

    def _new_automaton(self, include: tuple[str, ...], exclude: tuple[str, ...]) -> Automaton:
        required, forbidden = self.included(include), self.excluded(exclude)
        for text, phrase in product(required, forbidden):
            if occurs(phrase, text):
                raise DataError(
                    f"the phrase '{text}' must occur and the phrase '{phrase}' must not: remove "
                    "one of them"
                )
        if len(required) > MAX_INCLUDE:
            raise DataError(
                f"{len(required)} phrases must occur in a sentence, more than {MAX_INCLUDE}: "
                "remove some"
            )
        return Automaton(self.pieces, required, forbidden)

    def spelling(self, text: str) -> "Spelling":
        """How to spell a normalised phrase from any of its characters."""
        return Spelling(text, self._encode(text), self.pieces)

    def tokens_needed(
        self, include: Sequence[str], exclude: Sequence[str], *, prefix: Sequence[int] = ()
    ) -> int:
        """How many tokens must at least follow a prefix so that all phrases occur, without eos.

        With more than six missing phrases, this is an upper bound.

        Args:
            include: Phrases that must occur.
            exclude: Phrases that must not occur.
            prefix: The ids that the translation begins with.

        Raises:
            DataError: A phrase is empty or cannot be spelled, or the phrases contradict each other.
        """
        automaton = self.automaton(include, exclude)
        node, unmet = automaton.start, automaton.all_met
        for token in prefix:
            node, events = automaton.step(node, token)
            unmet &= ~events
        need = automaton.need(unmet)[node]
        if np.isinf(need):
            phrases = ", ".join(f"'{phrase}'" for phrase in include)
            raise DataError(
                f"no translation has the phrases {phrases} without those to exclude: exclude fewer"
            )
        return int(need) - 1


class Spelling:
    """How to continue a phrase from any place in its text, which begins with a space.

    Args:
        phrase: The normalised text.
        ids: The ids that the tokenizer spells it with.
        pieces: The vocabulary.

    Attributes:
        tokens: The next token at each place; -1: none.
        left: The number of tokens from each place to the end; inf: it cannot be spelled from there.
        n_tokens: The number of tokens of the phrase.
        begins_anywhere: Whether it needs no word boundary before it.
    """

    def __init__(self, phrase: str, ids: Sequence[int], pieces: Pieces) -> None:
        text, lengths = " " + phrase, [len(pieces.texts[i]) for i in ids]
        self.n_tokens = len(ids)
        self.begins_anywhere = not is_joined(phrase[0])
        starts = accumulate(lengths, initial=len(text) - sum(lengths))
        preferred = dict(zip(starts, ids, strict=False))
        self.left = np.full(len(text) + 1, np.inf)
        self.left[-1] = 0
        self.tokens = np.full(len(text), -1)
        for place in reversed(range(len(text))):
            parts = [text[place:end] for end in range(len(text), place, -1)]
            found = [pieces.ids[part] for part in parts if part in pieces.ids]
            if place in preferred:
                found = [preferred[place]]
            if found:
                ends = [place + len(pieces.texts[token]) for token in found]
                best = min(range(len(found)), key=lambda i: self.left[ends[i]])
                self.tokens[place], self.left[place] = found[best], 1 + self.left[ends[best]]
