"""Sentences to verify an export with, if the user gives none."""

from random import Random

from yakusu.data.tokenizer import Tokenizer

_LENGTH, _LONG = 30, 300  # pieces: at most, and of the last sentence


def random_sentences(tokenizer: Tokenizer, n: int) -> list[str]:
    """Return sentences of random pieces of the source vocabulary, the last of which is long."""
    random, pieces = Random(1), range(2, len(tokenizer.src))
    lengths = [*(random.randint(1, _LENGTH) for _ in range(n - 1)), _LONG]
    return [tokenizer.src.decode(random.choices(pieces, k=length)) for length in lengths]
