"""Searches with shortlists equal those of models that give the other tokens no probability."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.engine.test_search import RULES, SLOTS, TOKENIZER, V, native
from yakusu.data.vocabulary import EOS, UNK
from yakusu.engine.library import MatrixFormat
from yakusu.model.architectures import build
from yakusu.model.config import TransformerConfig
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Query
from yakusu.search.restrictions import Restrictions
from yakusu.search.shortlist import Shortlists, TokenLexicon, warn_once
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.weights import from_int8, to_int8

CONFIG = TransformerConfig(
    n_layers=1, d_model=16, d_ff=32, n_heads=2, dropout=0.0, tied="none", output_bias=True
)
SEARCH = SearchConfig(beam=3, n_best=3, shortlist=True, max_extra=6)
WORDS = range(4, 4 + 11)  # tokens that are no slots


def model(only: Any = None, *, seed: int = 1, rounded: bool = False) -> Any:
    """A model that generates only certain tokens, or all; its weights may have 8 bits."""
    torch.manual_seed(seed)
    made = build(CONFIG, src_vocab_size=V, tgt_vocab_size=V)
    if rounded:
        made.load_weights(from_int8(to_int8(made.weights())))
    with torch.no_grad():
        made.output_weight.mul_(6.0)
        if only is not None:
            excluded = np.setdiff1d(np.arange(V - 1), only)
            made.weights()["output_bias"][torch.from_numpy(excluded)] = -1e30
    return made.eval()


@pytest.fixture
def shortlists() -> Shortlists:
    """Each source token has two translations, and one token is frequent."""
    targets = np.array([[WORDS[x % 11], WORDS[x * 5 % 11]] for x in range(V)], np.int32)
    starts = np.arange(0, 2 * V + 1, 2, dtype=np.int32)
    lexicon = TokenLexicon(np.array([5], np.int32), starts, targets.ravel())
    tokenizer: Any = SimpleNamespace(
        target_bytes=TOKENIZER.target_bytes, joint=False, tgt_vocab_size=V
    )
    return Shortlists(lexicon, tokenizer)


QUERIES = [
    Query([4, 6, EOS]),
    Query([7, 9, 4, EOS], prefix=[14]),
    Query([8, EOS], restrictions=Restrictions(RULES, required=[SLOTS[0]])),
    Query([6, 6, 5, EOS], prefix=[TOKENIZER.target_bytes[ord("a")]]),
]


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("matrices", MatrixFormat)
def test_other_tokens_have_no_probability(
    shortlists: Shortlists, matrices: MatrixFormat, rounded: bool
) -> None:
    decoder = native(model(rounded=rounded), matrices=matrices)
    decoder.shortlists = shortlists
    together = decoder.search(QUERIES, SEARCH, RULES, batch=4)
    for query, found in zip(QUERIES, together, strict=True):
        only = shortlists.of(query)
        assert only is not None
        masked = native(model(only, rounded=rounded), matrices=matrices)
        (expected,) = masked.search([query], SEARCH, RULES, batch=1)
        assert [each.tokens for each in found] == [each.tokens for each in expected]
        for own, other in zip(found, expected, strict=True):
            assert own.log_prob == pytest.approx(other.log_prob, abs=1e-5)
            assert {*own.tokens} <= {*only.tolist()}


def test_results_do_not_depend_on_other_sentences(shortlists: Shortlists) -> None:
    decoder = native(model())
    decoder.shortlists = shortlists
    together = decoder.search(QUERIES, SEARCH, RULES, batch=4)
    alone = [decoder.search([query], SEARCH, RULES, batch=1)[0] for query in QUERIES]
    assert together == alone
    shortlists.lexicon.targets[: 2 * V] = np.arange(2 * V) % (V - 2) + 1  # much longer ones
    assert decoder.search(QUERIES, SEARCH, RULES, batch=4) != together


def test_bytes_are_included_where_they_may_be_needed(shortlists: Shortlists) -> None:
    all_bytes = {*TOKENIZER.target_bytes}
    sizes = [len({*np.asarray(shortlists.of(query)).tolist()} & all_bytes) for query in QUERIES]
    assert sizes == [0, 0, 0, 256]
    characters = Restrictions(RULES, more_characters="ł")
    found = shortlists.of(Query([4, EOS], restrictions=characters))
    assert found is not None
    assert all_bytes | {EOS, UNK, 5} <= {*found.tolist()}
    assert found.tolist() == sorted({*found.tolist()})


def test_a_model_without_shortlists_says_so(caplog: pytest.LogCaptureFixture) -> None:
    warn_once.cache_clear()
    decoder = native(model())
    (found,) = decoder.search(QUERIES[:1], SEARCH, RULES, batch=1)
    assert [each.message for each in caplog.records] == [
        "the model has no lexicon for shortlists: all tokens are computed ('yakusu card MODEL "
        "--src FILE --tgt FILE' adds one)"
    ]
    TorchDecoder(model()).search(QUERIES[:1], SEARCH, RULES, batch=1)
    assert caplog.records[-1].message.startswith("torch computes all tokens")
    plain = SEARCH.model_copy(update={"shortlist": False})
    assert [found] == decoder.search(QUERIES[:1], plain, RULES, batch=1)
