"""Two texts that translate each other word by word, in two invented languages."""

import random
from collections.abc import Sequence


def bitext(n: int, seed: int = 1) -> tuple[list[str], list[str]]:
    """Return n sentences of 3 to 14 words, and their translations, whose order of words differs."""
    rng = random.Random(seed)
    words = [f"{_syllables(rng, 'bdgl')}" for _ in range(300)]
    others = [f"{_syllables(rng, 'kmst')}" for _ in range(300)]
    weights = [1 / (rank + 3) for rank in range(300)]
    src, tgt = [], []
    for _ in range(n):
        chosen = rng.choices(range(300), weights, k=rng.randint(3, 14))
        src.append(" ".join(words[i] for i in chosen).capitalize() + ".")
        tgt.append(" ".join(others[i] for i in sorted(chosen)).capitalize() + ".")
    return src, tgt


def _syllables(rng: random.Random, consonants: Sequence[str]) -> str:
    return "".join(rng.choice(consonants) + rng.choice("aeiou") for _ in range(rng.randint(1, 4)))
