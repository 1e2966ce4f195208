"""Phrasebooks of 1,000 pairs, generated once in each process."""

from functools import cache

from yakusu.pipeline.demo.phrasebook import Phrasebook, phrasebook


@cache
def phrases(target: str) -> Phrasebook:
    """The smallest phrasebook of a target language; it must not be changed."""
    return phrasebook(target, n_pairs=1000)
