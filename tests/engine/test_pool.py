"""Sentences of several callers in one pool: equal results, turns, cancellation, errors."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Event

import pytest

from tests.engine.test_decoder import Failing, FailingGoal
from tests.engine.test_search import RULES, make_model, native, sentence
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.pool import Pool
from yakusu.engine.workers import Threads
from yakusu.errors import DataError
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Query
from yakusu.search.restrictions import Restrictions

CONFIGS = [SearchConfig(beam=beam, max_extra=12) for beam in (1, 2, 4)]


@pytest.fixture
def decoders() -> Iterator[list[NativeDecoder]]:
    """Two models in one pool of two threads."""
    pool = Pool(2, batch=4)
    made = [native(make_model(Random(seed))) for seed in (1, 2)]
    for decoder in made:
        decoder.workers = pool
    yield made
    pool.close()


def queries(rng: Random, n: int) -> list[Query]:
    return [Query(sentence(rng)) for _ in range(n)]


def test_callers_get_the_results_that_each_would_get_alone(decoders: list[NativeDecoder]) -> None:
    def call(seed: int) -> bool:
        rng = Random(seed)
        decoder, config = rng.choice(decoders), rng.choice(CONFIGS)
        given = queries(rng, rng.randrange(9))
        alone = NativeDecoder(decoder.models, Threads(1))
        same = alone.search(given, config, RULES, batch=1)
        pairs = [(query.source, query.source) for query in given]
        found = decoder.search(given, config, RULES, batch=4)
        scores = [each.score(pairs, alternatives=3, batch=2) for each in (decoder, alone)]
        return found == same and scores[0] == scores[1]

    with ThreadPoolExecutor(12) as callers:
        assert all(callers.map(call, range(200)))


def test_a_short_call_does_not_wait_for_a_long_one(decoders: list[NativeDecoder]) -> None:
    decoder, ended = decoders[0], list[int]()

    def call(n: int) -> None:
        decoder.search(queries(Random(n), n), CONFIGS[1], RULES, batch=4)
        ended.append(n)

    with ThreadPoolExecutor(2) as callers:
        callers.submit(call, 3000)
        while not decoder.workers._queue._callers:  # type: ignore[attr-defined]
            time.sleep(0.001)
        callers.submit(call, 3)
    assert ended == [3, 3000]


def test_a_cancelled_sentence_gives_its_place_to_others(decoders: list[NativeDecoder]) -> None:
    decoder, cancelled = decoders[0], Event()
    cancelled.set()
    rng = Random(5)
    given = [Query(sentence(rng), cancelled=cancelled) for _ in range(50)]
    assert {best[0].tokens for best in decoder.search(given, CONFIGS[0], RULES, batch=4)} == {()}


def test_an_error_ends_the_call_that_it_belongs_to(decoders: list[NativeDecoder]) -> None:
    decoder = decoders[0]

    def unreadable() -> Iterator[Query]:
        yield from queries(Random(1), 5)
        raise DataError("sentence 6 cannot be read")

    with pytest.raises(DataError, match="sentence 6"):
        decoder.search(unreadable(), CONFIGS[0], RULES, batch=4)
    long = [*queries(Random(2), 3), Query([5] * 5000), *queries(Random(2), 3)]
    with pytest.raises(DataError, match="5,000 tokens"):
        decoder.search(long, CONFIGS[0], RULES, batch=4)
    failing = Query(sentence(Random(3)), (), Restrictions(RULES, [Failing("follow", 1)]))
    with pytest.raises(KeyboardInterrupt):
        decoder.search([failing], CONFIGS[0], RULES, batch=4)
    given = queries(Random(4), 20)
    alone = NativeDecoder(decoder.models).search(given, CONFIGS[0], RULES, batch=4)
    assert decoder.search(given, CONFIGS[0], RULES, batch=4) == alone


@pytest.mark.parametrize("method", ["allowed", "follow", "proposals", "progress"])
def test_an_error_in_a_constraint_does_not_end_other_calls(method: str) -> None:
    pool = Pool(1, batch=64)  # one session for all sentences
    decoder = NativeDecoder(native(make_model(Random(1))).models, pool)
    given = queries(Random(4), 20)
    alone = NativeDecoder(decoder.models).search(given, CONFIGS[1], RULES, batch=4)

    def call(step: int) -> BaseException | None:
        failing = Restrictions(RULES, [FailingGoal(method, step)])
        given_up = [*queries(Random(step), 3), Query(sentence(Random(step)), (), failing)]
        try:
            decoder.search(given_up, CONFIGS[1], RULES, batch=4)
        except BaseException as error:
            return error
        return None

    with ThreadPoolExecutor(12) as callers:
        failed = [callers.submit(call, step % 4) for step in range(40)]
        found = [
            callers.submit(decoder.search, given, CONFIGS[1], RULES, batch=4) for _ in range(20)
        ]
        assert all(each.result() == alone for each in found)
        assert all(isinstance(each.result(), KeyboardInterrupt) for each in failed)
    pool.close()
    assert not pool._queue._n_unfinished


class Interrupted:
    def set(self) -> None: ...

    def wait(self) -> None:
        raise KeyboardInterrupt


def test_an_interrupted_call_drops_its_waiting_sentences(decoders: list[NativeDecoder]) -> None:
    pool = Pool(1, batch=2, finished=Interrupted)
    decoder = NativeDecoder(decoders[0].models, pool)
    with pytest.raises(KeyboardInterrupt):
        decoder.search(queries(Random(1), 3000), CONFIGS[1], RULES, batch=4)
    assert not pool._queue._callers
    pool.close()
    assert not pool._queue._n_unfinished


def test_a_closed_pool_finishes_what_it_has(decoders: list[NativeDecoder]) -> None:
    pool = Pool(2)
    decoder = NativeDecoder(decoders[0].models, pool)
    with ThreadPoolExecutor(1) as callers:
        found = callers.submit(decoder.search, queries(Random(1), 40), CONFIGS[0], RULES, batch=4)
        time.sleep(0.05)
        pool.close()
        assert len(found.result()) == 40
    with pytest.raises(RuntimeError, match="closed"):
        decoder.search(queries(Random(1), 1), CONFIGS[0], RULES, batch=4)
