"""Vectors of sentences in one language, from their words and parts of words.

    v = sum over features f of the sentence of sign(f) (1 + log n_f) log(N / N_f) at column(f)

A feature is a word, or three characters of one; n_f is how often the sentence has it, and N_f how
many of the N sentences have it. Column and sign are those of its checksum, so that vectors need no
vocabulary and the same text has the same one everywhere.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np

from yakusu.arrays import Floats

N_COLUMNS = 1024
_WORD = re.compile(r"\w+")


def lexical_vectors(texts: Sequence[str]) -> Floats:
    """The vectors of sentences, (n, 1024), of length 1; zeros for a sentence without words."""
    counts = [Counter(_features(text)) for text in texts]
    n_with = Counter(feature for own in counts for feature in own)
    weights = {feature: math.log(len(texts) / n) for feature, n in n_with.items()}
    vectors = np.zeros((len(texts), N_COLUMNS), np.float32)
    for row, own in enumerate(counts):
        for feature, n in own.items():
            place = crc32(feature.encode())
            sign = 1 if place & N_COLUMNS else -1
            vectors[row, place % N_COLUMNS] += sign * (1 + math.log(n)) * weights[feature]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths > 0, lengths, 1)
    return vectors


def _features(text: str) -> Iterator[str]:
    for word in _WORD.findall(text.casefold()):
        yield word
        marked = f"<{word}>"
        yield from (marked[i : i + 3] for i in range(len(marked) - 2))
