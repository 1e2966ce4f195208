"""The lexicon from which shortlists are made."""

from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

from yakusu.data.vocabulary import EOS
from yakusu.search.decoder import Query
from yakusu.search.shortlist import N_BEST, Shortlists, TokenLexicon

N = 40  # words of a language; word x means x + N
TOKENIZER: Any = SimpleNamespace(
    src_vocab_size=N + 11, tgt_vocab_size=2 * N + 11, target_bytes=[], joint=False
)


def test_translations_come_first_and_increasing_ids_are_returned() -> None:
    rng = Random(1)
    src = [[*rng.choices(range(10, 10 + N), k=6), EOS] for _ in range(2000)]
    tgt = [[*(x + N for x in reversed(line[:-1])), EOS] for line in src]
    lexicon = TokenLexicon.learned(src, tgt, TOKENIZER)
    assert len(lexicon.starts) == TOKENIZER.src_vocab_size + 1
    best = {x: int(lexicon.targets[lexicon.starts[x]]) for x in range(10, 10 + N)}
    assert best == {x: x + N for x in best}
    assert lexicon.frequent[0] == EOS
    assert np.diff(lexicon.starts).max() <= N_BEST
    found = Shortlists(lexicon, TOKENIZER).of(Query([12, 13, EOS]))
    assert found is not None
    assert {12 + N, 13 + N, EOS} <= {*found.tolist()}
    assert found.tolist() == sorted({*found.tolist()})


def test_a_corpus_without_words_has_an_empty_lexicon() -> None:
    lexicon = TokenLexicon.learned([[EOS]], [[EOS]], TOKENIZER)
    assert lexicon.targets.tolist() in ([], [EOS])
