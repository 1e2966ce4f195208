"""Placeholder tokens are placed in the library, exactly as `SlotGoal` places them in Python."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.engine import probes
from tests.engine.test_search import (
    PHRASES,
    RULES,
    SLOTS,
    TOKENIZER,
    V,
    compare,
    make_config,
    make_model,
    native,
    sentence,
)
from yakusu.data.vocabulary import UNK
from yakusu.engine import decoder
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.guide import Guided, Guides
from yakusu.native.library import instruction_sets
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.decoder import Query
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.phrases import phrase_constraint
from yakusu.search.ranking import alternate
from yakusu.search.restrictions import Restrictions
from yakusu.search.tokens import TokenRules
from yakusu.search.torch_decoder import TorchDecoder

Cases = Callable[[], list[Query]]
N_SENTENCES = 12
KINDS = {
    "bytes": RULES,
    "no bytes": TokenRules(V - 1, slot_kinds=(UNK, *SLOTS)),
    "no placeholder tokens": TokenRules(V - 1, characters=RULES.characters),
    "many kinds": TokenRules(V - 1, slot_kinds=(UNK, 9, *SLOTS, 6), characters=RULES.characters),
}


def prefix(rng: Random, kinds: Sequence[int]) -> list[int]:
    """Tokens, placeholder tokens and bytes, of which the last may begin a character."""
    spelled = [TOKENIZER.target_bytes[byte] for byte in rng.choice("éß語ø").encode()]
    spelled = spelled[: rng.randint(1, len(spelled))]
    parts = [[rng.choice(kinds)], [rng.choice(kinds)], sentence(rng, 3)[:-1], spelled]
    return [token for part in rng.sample(parts, rng.randint(1, 3)) for token in part]


def cases(rng: Random, rules: TokenRules, most: int = 4) -> Cases:
    """A factory of sentences whose restrictions are placeholder tokens and characters.

    Restrictions change during a search in Python, so they are made for each search.
    """
    kinds = rules.slot_kinds
    made: list[tuple[Any, ...]] = [
        (
            sentence(rng),
            prefix(rng, kinds) if rng.random() < 0.3 else (),
            [rng.choice(kinds) for _ in range(rng.choice([0, *range(1, most + 1)]))],
            rng.choice(["", "", "ø", "ø鳥é"]),
        )
        for _ in range(N_SENTENCES)
    ]
    return lambda: [
        Query(ids, given, Restrictions(rules, (), required, more), trace=[])
        for ids, given, required, more in made
    ]


def config_of(rng: Random) -> SearchConfig:
    beam = rng.choice([1, *range(1, 9)])
    changes = {"beam": beam, "n_best": rng.randint(1, beam)}
    changes["max_length"] = rng.choice([None, None, *range(1, 8)])
    return make_config(rng).model_copy(update=changes)


def in_python(query: Query, *_: object) -> Guided | None:
    """The guide that places all placeholder tokens and further characters in Python."""
    restrictions = query.restrictions
    return None if restrictions is None or restrictions.is_plain else Guided(restrictions)


@pytest.fixture
def search_both(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[list[Hypothesis]]]:
    """Searches in the library and in Python; all hypotheses and traces have the same bits."""

    def search(
        native: NativeDecoder, cases: Cases, config: SearchConfig, rules: TokenRules
    ) -> list[list[Hypothesis]]:
        ours, theirs = cases(), cases()
        found = native.search(ours, config, rules, batch=5)
        with monkeypatch.context() as patched:
            patched.setattr(decoder, "_guided", in_python)
            expected = native.search(theirs, config, rules, batch=5)
        assert found == expected
        assert [query.trace for query in ours] == [query.trace for query in theirs]
        return found

    return search


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_the_library_places_placeholder_tokens_as_python_does(
    kinds: str, seed: int, search_both: Callable[..., list[list[Hypothesis]]], thorough: bool
) -> None:
    rng, rules = Random(f"{kinds} {seed}"), KINDS[kinds]
    models = [make_model(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    one = native(*models)
    for _ in range(80 if thorough else 4):
        of_all, config = cases(rng, rules), config_of(rng)
        for query, best in zip(of_all(), search_both(one, of_all, config, rules), strict=True):
            assert query.restrictions
            required = Counter(query.restrictions.required)
            required |= Counter(token for token in query.prefix if token in rules.slot_kinds)
            for hypothesis in best:
                placed = Counter(token for token in hypothesis.tokens if token in rules.slot_kinds)
                assert not hypothesis.tokens or placed == required


@pytest.mark.parametrize("kernels", instruction_sets())
def test_every_instruction_set_places_them_alike(
    kernels: str, search_both: Callable[..., list[list[Hypothesis]]]
) -> None:
    rng = Random(5)
    one, of_all = native(make_model(rng)), cases(rng, RULES)
    config = SearchConfig(n_best=4, max_extra=8)
    expected = one.search(of_all(), config, RULES, batch=64)
    assert (
        search_both(NativeDecoder(one.models, kernels=kernels), of_all, config, RULES) == expected
    )


def test_a_wide_beam_places_many_placeholder_tokens(
    search_both: Callable[..., list[list[Hypothesis]]],
) -> None:
    rng = Random(6)
    one, of_all = native(make_model(rng)), cases(rng, RULES, most=12)
    config = SearchConfig(beam=64, n_best=64, max_extra=3)
    assert search_both(one, of_all, config, RULES)


@pytest.mark.parametrize("seed", range(12))
def test_the_library_places_placeholder_tokens_as_torch_does(seed: int) -> None:
    rng = Random(7000 + seed)
    rules = KINDS[rng.choice(list(KINDS))]
    model, config = make_model(rng), config_of(rng)
    plain = [replace(query, prefix=()) if seed % 2 else query for query in cases(rng, rules)()]
    own = [query.restrictions for query in plain if query.restrictions]

    def queries() -> list[Query]:
        return [
            replace(query, restrictions=Restrictions(rules, (), each.required), trace=None)
            for query, each in zip(plain, own, strict=True)
        ]

    assert compare(native(model), TorchDecoder(model), queries, config, rules) <= 1


def test_the_library_orders_equal_impossible_and_invalid_candidates_as_python_does() -> None:
    rng = Random(10)
    for _ in range(500):
        n, n_required = rng.randint(1, 60), rng.randint(1, 4)
        values = [rng.uniform(-30, 0), -3.0, -9.0, -math.inf, math.nan, rng.uniform(-2, 0)]
        log_probs = np.array([rng.choice(values) for _ in range(n)])
        progress = np.array([rng.randint(0, n_required) for _ in range(n)])
        expected = alternate(log_probs, progress).tolist()
        assert probes.alternate(log_probs, progress, n_required) == expected


# ---- calls into Python ---------------------------------------------------------------------------


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The functions in Python that sessions have called."""
    found: list[str] = []
    kept = Guides._kept

    def counted(guides: Guides, function: Callable[..., None]) -> Callable[..., None]:
        called = kept(guides, function)

        def count(*args: int) -> None:
            found.append(function.__name__)
            called(*args)

        return count

    monkeypatch.setattr(Guides, "_kept", counted)
    yield found


def test_placeholder_tokens_and_characters_call_no_function_in_python(calls: list[str]) -> None:
    rng = Random(8)
    one = native(make_model(rng))
    for rules in KINDS.values():
        for _ in range(3):
            one.search(cases(rng, rules)(), config_of(rng), rules, batch=5)
    assert not calls


def test_phrases_call_functions_in_python_and_samples_do_not(calls: list[str]) -> None:
    rng = Random(9)
    one, source = native(make_model(rng)), sentence(rng)

    def called(include: Sequence[str], config: SearchConfig) -> set[str]:
        calls.clear()
        constraints = [phrase_constraint(PHRASES, include, ["abab"])]
        one.search([Query(source, (), Restrictions(RULES, constraints))], config, RULES, batch=1)
        return set(calls)

    assert called(["b"], SearchConfig()) == {"_restrict", "_order", "_follow"}
    assert called([], SearchConfig()) == {"_restrict", "_follow"}
    sampled = SearchConfig(sampling=SamplingConfig())
    assert called([], sampled) == {"_restrict", "_follow"}  # those of the phrase to exclude
    calls.clear()
    one.search([Query(source)], sampled, RULES, batch=1)
    assert not calls
