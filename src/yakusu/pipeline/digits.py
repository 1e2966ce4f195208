"""The digits of translations, compared with those of their references."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Digits:
    """Sentences whose reference or translation contains digits.

    Attributes:
        n_right: Number of translations with the digits of the reference, in the same order.
        n_sentences: Number of sentences.
    """

    n_right: int
    n_sentences: int

    @classmethod
    def of(cls, translations: Sequence[str], references: Sequence[str]) -> "Digits":
        """Compare translations with their references."""
        found = [[re.findall(r"\d+", text) for text in side] for side in (translations, references)]
        right = [own == given for own, given in zip(*found, strict=True) if own or given]
        return cls(sum(right), len(right))

    def __str__(self) -> str:
        return f"all digits right in {self.n_right} of {self.n_sentences} sentences with digits"
