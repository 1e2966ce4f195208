"""Characters that a translation may contain; those without a piece are spelled with bytes.

K hypotheses of a sentence, V vocabulary.

Byte tokens may only spell characters of the training targets, so that a translation contains
neither invalid UTF-8 nor characters that the model has never learned.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Flags, Longs
from yakusu.data.tokenizer import Tokenizer

LONGEST = 4  # bytes of a character
_REPLACEMENT = "\ufffd"  # what invalid UTF-8 is decoded to
# The length of a character in UTF-8, from its first byte: (256,)
_LENGTHS = 1 + sum((np.arange(256) >= first).astype(np.int64) for first in (0x80, 0xE0, 0xF0))


def may_be_generated(character: str) -> bool:
    """Whether a model may generate a character by itself."""
    return character.isprintable() and not character.isspace() and character != _REPLACEMENT


@dataclass(frozen=True, eq=False)
class CharacterTable:
    """The characters that byte tokens may spell, as a tree of their bytes.

    The CPU engine reads the arrays as they are (`Spelling` in native/session.h).

    Attributes:
        next: (nodes, 256). The node after a byte, 0 if it completes a character, -1 if it may not
            follow. A node is an incomplete character; node 0 is none.
        tokens: (256,). The token of each byte.
        byte_of: (V,). The byte of each token, -1 for other tokens.
    """

    next: NDArray[np.int16]
    tokens: NDArray[np.int32]
    byte_of: NDArray[np.int16]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "CharacterTable | None":
        """The characters of the training targets; None without byte fallback."""
        if not tokenizer.target_bytes:
            return None
        tokens = np.array(tokenizer.target_bytes, dtype=np.int32)
        byte_of = np.full(tokenizer.tgt_vocab_size, -1, dtype=np.int16)
        byte_of[tokens] = np.arange(len(tokens))
        empty = cls(np.full((1, 256), -1, dtype=np.int16), tokens, byte_of)
        seen = tokenizer.coverage.target_characters if tokenizer.coverage else ""
        return empty.extended(filter(may_be_generated, seen))

    @cached_property
    def default(self) -> Flags:
        """Whether each token may follow where no character is incomplete: (V - 1,).

        At least LONGEST tokens and eos must fit.
        """
        flags: Flags = np.ones(len(self.byte_of) - 1, dtype=np.bool_)
        flags[self.tokens] = self.next[0] >= 0
        return flags

    def spells(self, character: str) -> bool:
        """Whether a character may be spelled."""
        node = 0
        for byte in character.encode():
            node = int(self.next[node, byte])
            if node < 0:
                return False
        return True

    def extended(self, characters: Iterable[str]) -> "CharacterTable":
        """The table that has further characters; this one if it has them already."""
        new = sorted({character for character in characters if not self.spells(character)})
        if not new:
            return self
        nodes = list(self.next.copy())
        for *beginning, last in map(str.encode, new):
            node = nodes[0]
            for byte in beginning:
                if node[byte] < 0:
                    node[byte] = len(nodes)
                    nodes.append(np.full(256, -1, dtype=np.int16))
                node = nodes[node[byte]]
            node[last] = 0
        return replace(self, next=np.array(nodes))


class CharacterConstraint:
    """Excludes bytes that spell no character of a table, or for which there is no room.

    Args:
        table: The characters.
    """

    def __init__(self, table: CharacterTable) -> None:
        self.table = table
        self.nodes = np.zeros(1, dtype=np.int64)  # (K,), incomplete characters

    def allowed(self, left: Longs) -> Flags:
        """Whether each token may follow each hypothesis: (K, V - 1), or (1, V - 1) for all."""
        if not self.nodes.any() and left.min() > LONGEST:
            return self.table.default[None]
        nodes, left = np.broadcast_arrays(self.nodes, left)
        begun = nodes[:, None] > 0
        flags: Flags = np.repeat(~begun, len(self.table.byte_of) - 1, axis=1)
        fits = begun | (left[:, None] > _LENGTHS)  # together with eos (K, 256)
        flags[:, self.table.tokens] = fits & (self.table.next[nodes] >= 0)
        return flags

    def follow(self, beams: Longs, ids: Longs) -> None:
        """Let the hypotheses be hypothesis beams[k], extended by ids[k]."""
        spelled = self.table.byte_of[ids]  # (K',)
        if spelled.max(initial=-1) < 0:
            self.nodes = np.zeros(len(ids), dtype=np.int64)
            return
        nodes = self.table.next[self.nodes[beams], spelled].astype(np.int64)
        self.nodes = np.where(spelled < 0, 0, nodes.clip(min=0))
