"""The text of a target vocabulary, and how it spells phrases.

V vocabulary.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, product

import numpy as np

from yakusu.data.lines.private_use import SLOTS
from yakusu.data.lines.words import is_joined
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, UNK
from yakusu.errors import DataError
from yakusu.search.automaton import MAX_INCLUDE, Automaton, PieceTexts
from yakusu.search.trie import occurs

_SPACE = "▁"  # in pieces
_UNKNOWN = "⁇"


@dataclass(frozen=True)
class Phrase:
    """A phrase to include, and the forms in which it may occur.

    Attributes:
        text: The phrase.
        capitals: Whether its first letter, the first letters of its words, or all letters may also
            be capital letters.
    """

    text: str
    capitals: bool = False

    @property
    def forms(self) -> tuple[str, ...]:
        """The phrase in all of its forms, as given first."""
        if not self.capitals:
            return (self.text,)
        words = self.text.split()
        titled = " ".join(map(_capitalised, words))
        first = " ".join([*map(_capitalised, words[:1]), *words[1:]])
        return tuple(dict.fromkeys((self.text, first, titled, self.text.upper())))


def _capitalised(word: str) -> str:
    return word[:1].upper() + word[1:]


class PhraseVocabulary:
    """The text of the pieces of a target vocabulary.

    A byte that is not a character by itself appears as a surrogate, which no text contains; it is
    not part of a word (`str.decode`, error handler "surrogateescape").

    Args:
        tokenizer: The tokenizer of the model.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        pieces = tokenizer.target_pieces(range(tokenizer.tgt_vocab_size - 1))
        of_bytes = tokenizer.target_bytes
        for byte, i in enumerate(of_bytes):
            pieces[i] = bytes([byte]).decode("utf-8", "surrogateescape")
        texts = [re.sub(rf"\s|{_SPACE}", " ", piece) for piece in pieces]
        texts[EOS], texts[UNK] = "", _UNKNOWN
        slots = [i for i, piece in enumerate(pieces) if piece in SLOTS]
        self.pieces = PieceTexts(texts, special={*of_bytes, *slots})
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

    def included(self, phrases: Sequence[str | Phrase]) -> tuple[tuple[str, ...], ...]:
        """The normalised forms of phrases to include, without duplicates.

        A form that cannot be spelled is left out, but not the phrase as it is given.
        """
        return tuple(dict.fromkeys(map(self._forms, phrases)))

    def _forms(self, phrase: str | Phrase) -> tuple[str, ...]:
        if isinstance(phrase, str):
            return (self._text(self.spell(phrase)),)
        others = [ids for ids in map(self._encode, phrase.forms[1:]) if UNK not in ids]
        return tuple(dict.fromkeys(map(self._text, (self.spell(phrase.text), *others))))

    def excluded(self, phrases: Sequence[str]) -> tuple[str, ...]:
        """The normalised text of phrases to exclude; a phrase that cannot occur is left out."""
        texts = []
        for phrase in phrases:
            ids = self._encode(phrase)
            if UNK not in ids:
                texts.append(self._text(self.spell(phrase)))
        return tuple(dict.fromkeys(texts))

    def automaton(self, include: Sequence[str | Phrase], exclude: Sequence[str]) -> Automaton:
        """The automaton of the phrases to include and to exclude; recent ones are kept.

        Raises:
            DataError: A phrase is empty or cannot be spelled, or the phrases contradict each other.
        """
        return self._automaton(tuple(include), tuple(exclude))

    def _new_automaton(
        self, include: tuple[str | Phrase, ...], exclude: tuple[str, ...]
    ) -> Automaton:
        required, forbidden = self.included(include), self.excluded(exclude)
        for (text, *_), phrase in product(required, forbidden):
            if occurs(phrase, text):
                raise DataError(
                    f"the phrase '{_readable(text)}' must occur and the phrase "
                    f"'{_readable(phrase)}' must not: remove one of them"
                )
        if len(required) > MAX_INCLUDE:
            raise DataError(
                f"{len(required)} phrases must occur in a sentence, more than {MAX_INCLUDE}: "
                "remove some"
            )
        possible = [
            [form for form in forms if not any(occurs(phrase, form) for phrase in forbidden)]
            for forms in required
        ]
        return Automaton(self.pieces, possible, forbidden)

    def spelling(self, text: str) -> "Spelling":
        """How to spell a normalised phrase from any of its characters."""
        return Spelling(text, self._encode(_readable(text)), self.pieces)

    def tokens_needed(
        self,
        include: Sequence[str | Phrase],
        exclude: Sequence[str],
        *,
        prefix: Sequence[int] = (),
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
            phrases = ", ".join(f"'{_readable(forms[0])}'" for forms in automaton.include)
            raise DataError(
                f"no translation has the phrases {phrases} without those to exclude: exclude fewer"
            )
        return int(need) - 1


def _readable(text: str) -> str:
    """A normalised phrase with the characters that its bytes stand for."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


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

    def __init__(self, phrase: str, ids: Sequence[int], pieces: PieceTexts) -> None:
        text, lengths = " " + phrase, [len(pieces.texts[i]) for i in ids]
        self.n_tokens = len(ids)
        self.begins_anywhere = not is_joined(_readable(phrase)[0])
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
