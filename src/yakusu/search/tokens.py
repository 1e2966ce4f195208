"""What a vocabulary may generate by default.

V vocabulary.
"""

from collections.abc import Sequence

import numpy as np

from yakusu.arrays import Flags
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK
from yakusu.search.characters import CharacterTable


class TokenRules:
    """The tokens that may be generated in a sentence without requirements of its own.

    Args:
        n_tokens: V - 1, the number of tokens without pad.
        slot_kinds: Tokens that are generated only if a sentence requires them: placeholder tokens,
            and UNK, which stands for them in vocabularies without placeholder tokens.
        characters: The characters that byte tokens may spell; None without byte fallback.

    Attributes:
        no_slots: Whether each token is none of `slot_kinds`: (V - 1,).
        allowed: Whether each token may be generated where no character is incomplete and
            `characters.LONGEST` more tokens fit besides eos: (V - 1,).
    """

    def __init__(
        self,
        n_tokens: int,
        *,
        slot_kinds: Sequence[int] = (UNK,),
        characters: CharacterTable | None = None,
    ) -> None:
        self.n_tokens, self.slot_kinds, self.characters = n_tokens, tuple(slot_kinds), characters
        self.no_slots: Flags = np.ones(n_tokens, dtype=np.bool_)
        self.no_slots[list(slot_kinds)] = False
        self.allowed: Flags = self.no_slots & characters.default if characters else self.no_slots

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "TokenRules":
        """The rules of the target vocabulary of a translator."""
        return cls(
            tokenizer.tgt_vocab_size - 1,
            slot_kinds=(UNK, *tokenizer.target_slots.values()),
            characters=CharacterTable.of(tokenizer),
        )
