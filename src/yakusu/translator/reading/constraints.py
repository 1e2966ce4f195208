"""What a translation must and must not contain, for the search."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from yakusu.arrays import Flags
from yakusu.data.lines.terms import Term
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError
from yakusu.search.tokens import TokenRules
from yakusu.tasks.task import Task

if TYPE_CHECKING:
    from yakusu.search.constraint import Constraint
    from yakusu.search.restrictions import Restrictions
    from yakusu.search.spelling import Phrase, PhraseVocabulary


class Constraints:
    """The constraints of sentences.

    Args:
        tokenizer: The tokenizer of the model.
        task: The task of the model.
    """

    def __init__(self, tokenizer: Tokenizer, task: Task) -> None:
        self._tokenizer, self._task = tokenizer, task

    @cached_property
    def rules(self) -> TokenRules:
        """What the target vocabulary may generate by default."""
        if self._task.constrains:
            return TokenRules(self._tokenizer.tgt_vocab_size - 1)
        return TokenRules.of(self._tokenizer)

    @cached_property
    def _phrases(self) -> "PhraseVocabulary":
        from yakusu.search.spelling import PhraseVocabulary

        return PhraseVocabulary(self._tokenizer)

    @cached_property
    def _no_digits(self) -> Flags:
        """Whether each target token has no digit: (V - 1,)."""
        texts = self._phrases.pieces.texts
        return np.array([not _has_digit(text) for text in texts], dtype=np.bool_)

    def check_terms(self, terms: Sequence[Term], path: str) -> None:
        """Refuse translations of terms that the vocabulary cannot spell.

        Args:
            terms: The terms of a glossary.
            path: The file that they are from.
        """
        for term in terms:
            try:
                self._phrases.spell(term.target)
            except DataError as error:
                raise DataError(f"{path}: {error}: remove the term '{term.source}'") from error

    def tree(self, text: str) -> "Restrictions | None":
        """The restrictions of the task on the outputs for a text; None: the rules only."""
        tree = self._task.constraint(self._tokenizer, text)
        if tree is None:
            return None
        from yakusu.search.restrictions import Restrictions

        return Restrictions(self.rules, [tree])

    def of(
        self,
        include: "Sequence[str | Phrase]",
        exclude: Sequence[str],
        *,
        slots: Sequence[int],
        prefix: Sequence[int],
        room: int,
        digits: bool = True,
    ) -> "Restrictions | None":
        """The restrictions of a sentence, for one search; None: the rules only.

        Args:
            include: Phrases that the translation must contain.
            exclude: Phrases that it must not contain.
            slots: Placeholder tokens of the target, in the order of the source.
            prefix: The ids that the translation begins with.
            room: Maximum number of tokens after the prefix, without eos.
            digits: Whether the translation may contain digits, unless a phrase has them.

        Raises:
            DataError: A phrase cannot be spelled with the vocabulary, phrases contradict each
                other, or those to include do not fit.
        """
        if digits and not (include or exclude or slots or prefix):
            return None
        from yakusu.search.phrases import phrase_constraint
        from yakusu.search.restrictions import Restrictions
        from yakusu.search.without import Without

        phrases: list[Constraint] = []
        if include or exclude:
            self._check_room(include, exclude, prefix, room)
            phrases.append(phrase_constraint(self._phrases, include, exclude))
        if not digits and not any(map(_has_digit, include)):
            phrases.append(Without(self._no_digits))
        return Restrictions(self.rules, phrases, slots, self._given(include, prefix))

    def _check_room(
        self,
        include: "Sequence[str | Phrase]",
        exclude: Sequence[str],
        prefix: Sequence[int],
        room: int,
    ) -> None:
        needed = self._phrases.tokens_needed(include, exclude, prefix=prefix)
        if include and needed > room:
            raise DataError(
                f"the phrases to include need at least {needed} more tokens, but the maximum "
                f"length leaves room for {room}: increase max_length or max_extra, or remove "
                "phrases"
            )

    def _given(self, include: "Sequence[str | Phrase]", prefix: Sequence[int]) -> str:
        """A prefix and phrases, whose characters the translation may contain."""
        if not (self.rules.characters and (prefix or include)):
            return ""
        from yakusu.search.spelling import Phrase

        begin = self._tokenizer.decode_target([prefix])[0] if prefix else ""
        phrases = [phrase if isinstance(phrase, Phrase) else Phrase(phrase) for phrase in include]
        forms = [form for phrase in phrases for form in phrase.forms]
        normalised = self._tokenizer.decode_target(self._tokenizer.encode_target(forms))
        # Spaces are never spelled with bytes.
        return "".join((begin, *forms, *normalised)).replace(" ", "")


def _has_digit(phrase: "str | Phrase") -> bool:
    text = phrase if isinstance(phrase, str) else phrase.text
    return any(map(str.isdecimal, text))
