"""Characters that a translation may contain; those without a piece are spelled with bytes.

B sentences, K hypotheses per sentence, V vocabulary.

Byte tokens may only spell characters of the training targets, so that a translation contains
neither invalid UTF-8 nor characters that the model has never learned.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Self

import torch
from torch import Tensor

from yakusu.data.tokenizer import Tokenizer

_LONGEST = 4  # bytes of a character
_REPLACEMENT = "\ufffd"  # what invalid UTF-8 is decoded to


Following = dict[bytes, set[int]]  # beginning of a character -> the bytes that may follow


def with_characters(following: Following, characters: Iterable[str]) -> Following:
    """Let further characters be spelled."""
    following = {beginning: {*more} for beginning, more in following.items()}
    for data in map(str.encode, characters):
        for i, byte in enumerate(data):
            following.setdefault(data[:i], set()).add(byte)
    return following


def may_be_generated(character: str) -> bool:
    """Whether a model may generate a character by itself."""
    return character.isprintable() and not character.isspace() and character != _REPLACEMENT


class Spellings:
    """How a vocabulary spells characters with byte tokens.

    Args:
        tokenizer: A tokenizer with byte fallback.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.bytes = tokenizer.target_bytes  # the token of each byte
        self.byte_of = torch.full((tokenizer.tgt_vocab_size,), -1)  # (V,)
        self.byte_of[self.bytes] = torch.arange(len(self.bytes))
        seen = tokenizer.coverage.target_characters if tokenizer.coverage else ""
        self.following = with_characters({}, filter(may_be_generated, seen))


class CharacterConstraint:
    """Excludes bytes that spell no character of the training targets.

    Args:
        spellings: The byte tokens of the vocabulary.
        more: For each sentence, text whose characters may be spelled as well.
        n_beams: K.
        device: Device of the search.
    """

    def __init__(
        self, spellings: Spellings, more: Sequence[str], *, n_beams: int, device: torch.device
    ) -> None:
        self.base = base = spellings.following
        self.bytes, self.byte_of = spellings.bytes, spellings.byte_of.to(device)
        self.byte_ids = torch.tensor(spellings.bytes, device=device)
        begin = base.get(b"", ())  # bytes that begin a character
        blocked = [token for byte, token in enumerate(spellings.bytes) if byte not in begin]
        self.blocked = torch.tensor(blocked, device=device)
        self.following = [with_characters(base, text) if text else base for text in more]
        self.begun = [[b""] * n_beams for _ in more]  # of each hypothesis: an incomplete character

    def restrict(self, logits: Tensor, left: Tensor) -> None:
        """Set the logits (B, K, V - 1) of tokens that may not follow to -inf, in place."""
        special = list(self._special(left.tolist()))
        kept = [logits[row, k, ids] for row, k, ids in special]
        logits[:, :, self.blocked] = -torch.inf
        for (row, k, ids), values in zip(special, kept, strict=True):
            logits[row, k, self.byte_ids] = -torch.inf
            if self.begun[row][k]:
                logits[row, k] = -torch.inf
            logits[row, k, ids] = values

    def _special(self, left: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, list[int]]]:
        """The hypotheses that need more than `blocked`: sentence, hypothesis, allowed bytes."""
        for row, (own, of_row) in enumerate(zip(self.following, self.begun, strict=True)):
            for k, (begun, n_left) in enumerate(zip(of_row, left[row], strict=True)):
                if begun:
                    yield row, k, [self.bytes[byte] for byte in own.get(begun, ())]
                elif n_left <= _LONGEST or own is not self.base:
                    yield row, k, self._first(row, n_left)

    def _first(self, row: int, n_left: int) -> list[int]:
        """The tokens that begin a character, if there is room for it and eos."""
        following = self.following[row].get(b"", ())
        return [self.bytes[byte] for byte in following if _n_bytes(byte) < n_left]

    def follow(self, beams: Tensor, ids: Tensor) -> None:
        """Let hypothesis k of sentence b be hypothesis beams[b, k], extended by ids[b, k]."""
        spelled = self.byte_of[ids]  # (B, K)
        if not (spelled >= 0).any() and not any(map(any, self.begun)):
            return
        for row, (order, own) in enumerate(zip(beams.tolist(), spelled.tolist(), strict=True)):
            begun = [self.begun[row][k] for k in order]
            self.begun[row] = [_extended(*pair) for pair in zip(begun, own, strict=True)]

    def keep(self, sentences: Tensor) -> Self:
        """The constraint of these sentences."""
        other, rows = copy.copy(self), sentences.tolist()
        other.following = [self.following[row] for row in rows]
        other.begun = [[*self.begun[row]] for row in rows]
        return other


def _n_bytes(first: int) -> int:
    """The length of a character in UTF-8, from its first byte."""
    return 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _extended(begun: bytes, byte: int) -> bytes:
    """The incomplete character after a token; a byte of -1 stands for a token of text."""
    if byte < 0:
        return b""
    data = begun + bytes([byte])
    return data if len(data) < _n_bytes(data[0]) else b""
