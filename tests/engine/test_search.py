"""The engine's search equals that of torch: thousands of random cases."""

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from tests.cases import THOROUGH, some
from tests.search.test_phrases import ToyTokenizer
from yakusu.data.vocabulary import UNK
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.library import MatrixFormat
from yakusu.engine.model import NativeModel
from yakusu.engine.workers import Threads
from yakusu.model.architectures import build
from yakusu.model.base import Seq2Seq
from yakusu.model.config import TransformerConfig
from yakusu.model.ensemble import Ensemble
from yakusu.native.library import instruction_sets
from yakusu.search.characters import CharacterTable
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.decoder import Decoder, Query
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.phrases import phrase_constraint
from yakusu.search.restrictions import Restrictions
from yakusu.search.spelling import PhraseVocabulary
from yakusu.search.tokens import TokenRules
from yakusu.search.torch_decoder import TorchDecoder

SLOTS = 2, 3
PIECES = ["<1>", "<2>", "▁", "▁a", "a", "▁ab", "b", "▁b", "▁c", "c", "▁abc", "é", "ab"]
BYTES = 256
V = 2 + len(PIECES) + BYTES + 1
N_SENTENCES = 8


class Bytes(ToyTokenizer):
    """A vocabulary with placeholder tokens, a few pieces, and bytes."""

    target_bytes: list[int] = list(range(V - 1 - BYTES, V - 1))  # noqa: RUF012


TOKENIZER = Bytes([*PIECES, *(f"<0x{byte:02X}>" for byte in range(BYTES))])
PHRASES = PhraseVocabulary(TOKENIZER)


def make_rules() -> TokenRules:
    """Bytes may spell é (which also has a piece), ß and a character of three bytes."""
    byte_of = np.full(V, -1, np.int16)
    byte_of[TOKENIZER.target_bytes] = range(BYTES)
    table = CharacterTable(
        np.full((1, 256), -1, np.int16), np.array(TOKENIZER.target_bytes, np.int32), byte_of
    )
    return TokenRules(V - 1, slot_kinds=(UNK, *SLOTS), characters=table.extended("éßé語"))


RULES = make_rules()


def make_model(rng: Random) -> Seq2Seq:
    """A model with clear preferences, in which bytes are not rare."""
    config = TransformerConfig(
        n_layers=rng.choice([1, 2]),
        d_model=rng.choice([8, 16, 26]),
        d_ff=rng.choice([16, 30]),
        n_heads=2,
        d_k=rng.choice([4, 16]),
        d_v=rng.choice([5, 8]),
        dropout=0.0,
        norm=rng.choice(["post", "pre"]),
        tied=rng.choice(["three-way", "none"]),
    )
    torch.manual_seed(rng.randrange(2**31))
    model = build(config, src_vocab_size=V, tgt_vocab_size=V)
    with torch.no_grad():
        model.output_weight.mul_(rng.choice([1.0, 4.0, 12.0]))
    return model.eval()


def native(
    *models: Seq2Seq, threads: int = 1, matrices: MatrixFormat = MatrixFormat.FLOAT32
) -> NativeDecoder:
    return NativeDecoder(
        [
            NativeModel(
                model.config,
                {name: weight.detach().numpy() for name, weight in model.weights().items()},
                src_vocab_size=V,
                tgt_vocab_size=V,
                matrices=matrices,
            )
            for model in models
        ],
        Threads(threads),
    )


def make_config(rng: Random) -> SearchConfig:
    beam = rng.choice([1, 1, 2, 4, 7])
    return SearchConfig(
        beam=beam,
        n_best=rng.randint(1, beam),
        alpha=rng.choice([0.0, 0.6, 1.5]),
        max_extra=rng.choice([0, 3, 12]),
        max_length=rng.choice([None, None, 2, 6]),
        margin=rng.choice([None, None, 1.0, 0.1]),
        max_repeats=rng.choice([0, 1, 2, 4]),
        no_repeat_ngram=rng.choice([0, 0, 1, 3]),
    )


def sentence(rng: Random, longest: int = 12) -> list[int]:
    few = rng.choice([2, V - 5])  # of few different tokens, so that some repeat
    return [*(4 + rng.randrange(few) for _ in range(rng.randint(1, longest))), 0]


def phrases(rng: Random, most: int) -> list[str]:
    """Phrases of the letters a and b to include, which contain none of those to exclude."""
    return [rng.choice(["a", "ab", "b", "a b", "abab"]) for _ in range(rng.randint(0, most))]


def restrictions(rng: Random, seed: int) -> Restrictions:
    """The same restrictions for the same seed; they are used up by a search."""
    rng = Random(seed)
    include = phrases(rng, 2) if rng.random() < 0.4 else []
    exclude = [rng.choice(["c", "abc", "é"])] if rng.random() < 0.4 else []
    required = [rng.choice(SLOTS) for _ in range(rng.randint(0, 3))] if rng.random() < 0.4 else []
    constraints = [phrase_constraint(PHRASES, include, exclude)] if include or exclude else []
    return Restrictions(RULES, constraints, required, rng.choice(["", "", "ø語"]))


def close(one: Hypothesis, other: Hypothesis) -> bool:
    """Whether two hypotheses are equal, or equally good up to rounding."""
    if one.log_prob == -math.inf:
        return other.log_prob == -math.inf
    return math.isclose(one.score, other.score, abs_tol=1e-4)


Extension = tuple[int, int, float, float]  # parent, token, log-probability, score


def extensions(query: Query) -> list[list[Extension]]:
    """What became open, finished or dropped at each step of a search."""
    assert query.trace is not None
    return [
        [(e.parent, e.token, e.log_prob, e.score or 0.0) for e in each]
        for step in query.trace
        for each in (step.open, step.finished, step.dropped)
    ]


def without_order(trace: list[list[Extension]]) -> list[list[Extension]]:
    """A trace in which the order of samples does not matter.

    Equal samples have equal log-probabilities up to rounding, which in torch may depend on the row,
    so that their order is arbitrary.
    """
    return [sorted((0, *extension[1:]) for extension in each) for each in trace]


def compare_traces(ours: Sequence[Query], theirs: Sequence[Query], *, ordered: bool) -> int:
    """The number of different traces; in the others, log-probabilities and scores are close."""
    n_different = 0
    for traces in zip(map(extensions, ours), map(extensions, theirs), strict=True):
        own, other = traces if ordered else map(without_order, traces)
        moves = [[[e[:2] for e in each] for each in trace] for trace in (own, other)]
        if moves[0] != moves[1]:
            n_different += 1
            continue
        for one, two in zip(own, other, strict=True):
            for mine, expected in zip(one, two, strict=True):
                assert mine[2:] == pytest.approx(expected[2:], rel=1e-5, abs=1e-4)
    return n_different


def compare(
    ours: Decoder, theirs: Decoder, make_queries: Any, config: SearchConfig, rules: TokenRules
) -> int:
    """The number of different hypotheses; their scores must be close."""
    n_different = 0
    queries, same = ([replace(query, trace=[]) for query in make_queries()] for _ in range(2))
    found = ours.search(queries, config, rules, batch=3)
    expected = theirs.search(same, config, rules, batch=100)
    assert compare_traces(queries, same, ordered=config.sampling is None) <= 1
    for own, other in zip(found, expected, strict=True):
        assert len(own) == len(other)
        for one, two in zip(own, other, strict=True):
            assert close(one, two), (one, two)
            n_different += one.tokens != two.tokens
    return n_different


def sources(rng: Random) -> list[list[int]]:
    return [sentence(rng) for _ in range(N_SENTENCES)]


@pytest.mark.parametrize("seed", some(range(150)))
def test_plain_search_equals_that_of_torch(seed: int) -> None:
    rng = Random(seed)
    model, config, ids = make_model(rng), make_config(rng), sources(rng)
    prefixes: list[Sequence[int]] = [
        sentence(rng, 5)[:-1] if rng.random() < 0.3 else () for _ in ids
    ]

    def queries() -> list[Query]:
        return [Query(*pair) for pair in zip(ids, prefixes, strict=True)]

    assert compare(native(model), TorchDecoder(model), queries, config, RULES) <= 1


@pytest.mark.parametrize("seed", range(0, 150, 1 if THOROUGH else 6))
def test_restricted_search_equals_that_of_torch(seed: int) -> None:
    rng = Random(1000 + seed)
    model, config, ids = make_model(rng), make_config(rng), sources(rng)
    config = config.model_copy(update={"max_length": None})
    seeds = [rng.randrange(2**31) for _ in ids]

    def queries() -> list[Query]:
        return [
            Query(own, (), restrictions(rng, seed)) for own, seed in zip(ids, seeds, strict=True)
        ]

    assert compare(native(model), TorchDecoder(model), queries, config, RULES) <= 1


@pytest.mark.parametrize("seed", some(range(40)))
def test_samples_equal_those_of_torch(seed: int) -> None:
    rng = Random(2000 + seed)
    model, ids = make_model(rng), sources(rng)
    seeds = [rng.randrange(2**31) for _ in ids]
    config = SearchConfig(
        n_best=rng.choice([1, 3]),
        max_extra=5,
        max_repeats=rng.choice([0, 2]),
        sampling=SamplingConfig(
            temperature=rng.choice([0.5, 1.0, 2.0]),
            top_k=rng.choice([None, 1, 5]),
            top_p=rng.choice([1.0, 0.7]),
            seed=seed,
        ),
    )

    def queries() -> list[Query]:
        return [
            Query(own, (), restrictions(rng, seed)) for own, seed in zip(ids, seeds, strict=True)
        ]

    assert compare(native(model), TorchDecoder(model), queries, config, RULES) <= 1


@pytest.mark.parametrize("seed", some(range(20)))
def test_an_ensemble_equals_that_of_torch(seed: int) -> None:
    rng = Random(3000 + seed)
    models = [make_model(rng) for _ in range(rng.choice([2, 3]))]
    config, ids = make_config(rng), sources(rng)

    def queries() -> list[Query]:
        return list(map(Query, ids))

    theirs = TorchDecoder(Ensemble(models))
    assert compare(native(*models), theirs, queries, config, RULES) <= 1


@pytest.mark.parametrize("seed", some(range(20)))
def test_target_scores_and_attention_equal_those_of_torch(seed: int) -> None:
    rng = Random(4000 + seed)
    models = [make_model(rng) for _ in range(rng.choice([1, 2]))]
    theirs = TorchDecoder(Ensemble(models) if len(models) > 1 else models[0])
    ours = native(*models)
    pairs = [(sentence(rng), sentence(rng)) for _ in range(N_SENTENCES)]
    found = ours.score(pairs, alternatives=4, batch=3)
    for one, other in zip(found, theirs.score(pairs, alternatives=4, batch=64), strict=True):
        assert one.token_log_probs == pytest.approx(other.token_log_probs, rel=1e-4, abs=1e-4)
        for best, expected in zip(one.alternatives, other.alternatives, strict=True):
            probabilities = [p for _, p in expected]
            assert [p for _, p in best] == pytest.approx(probabilities, rel=1e-4, abs=1e-4)
    roles = ["encoder", "decoder", "cross"]
    for one, other in zip(
        ours.attentions(pairs, roles), theirs.attentions(pairs, roles), strict=True
    ):
        for maps, expected_maps in zip(one, other, strict=True):
            for role in roles:
                assert maps[role] == pytest.approx(expected_maps[role], abs=1e-4)


def test_the_best_token_of_an_ensemble_can_be_the_best_of_no_member() -> None:
    models = [make_model(Random(seed)) for seed in range(3)]
    best = torch.tensor([10, 11, 12])
    with torch.no_grad():
        for i, model in enumerate(models):
            config = model.config.model_copy(update={"output_bias": True, "tied": "none"})
            models[i] = build(config, src_vocab_size=V, tgt_vocab_size=V).eval()
            models[i].output_weight.zero_()
            models[i].output_bias.zero_()
            models[i].output_bias[best[i]] = 7.0  # in one member each
            models[i].output_bias[13] = 6.9  # in all
    config = SearchConfig(beam=1, max_length=1)
    [[found]] = native(*models).search([Query([4, 0])], config, RULES, batch=1)
    assert found.tokens[0] == 13


@pytest.mark.parametrize(
    ("matrices", "n_models"), [*((each, 1) for each in MatrixFormat), (MatrixFormat.INT16, 3)]
)
def test_translations_have_the_same_bits_in_every_batch_and_with_every_instruction_set(
    matrices: MatrixFormat, n_models: int
) -> None:
    rng = Random(7)
    models = [make_model(rng) for _ in range(n_models)]
    ids = [sentence(rng, 60) for _ in range(40 // n_models)]
    ours = native(*models, matrices=matrices)
    config, queries = SearchConfig(n_best=4), list(map(Query, ids))
    expected = ours.search(queries, config, RULES, batch=64)
    for batch in (1, 3, 17):
        assert ours.search(queries, config, RULES, batch=batch) == expected
    assert ours.search(queries[::-1], config, RULES, batch=5) == expected[::-1]
    threads = NativeDecoder(ours.models, Threads(3))
    assert threads.search(queries, config, RULES, batch=4) == expected
    for kernels in instruction_sets():
        other = NativeDecoder(ours.models, kernels=kernels)
        assert other.search(queries, config, RULES, batch=9) == expected
