"""A decoder keeps working after errors, and keeps only the sessions that it needs."""

import math
import os
import signal
from collections.abc import Iterator
from random import Random
from threading import Event, Thread

import numpy as np
import pytest

from tests.engine.test_search import RULES, V, make_model, native, sentence
from yakusu.arrays import Flags, Longs
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.session import Session
from yakusu.engine.workers import Threads, _Waiting
from yakusu.errors import ModelError
from yakusu.native.library import instruction_sets
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.decoder import Query
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.restrictions import Restrictions
from yakusu.search.torch_decoder import TorchDecoder


class Failing:
    """Allows every token; raises an error in one of its methods, at a step."""

    def __init__(self, method: str, step: int) -> None:
        self.method, self.left = method, step

    def _count(self, method: str) -> None:
        self.left -= method == self.method
        if self.left < 0:
            raise KeyboardInterrupt

    def allowed(self, left: Longs) -> Flags:
        self._count("allowed")
        return np.ones((1, RULES.n_tokens), dtype=np.bool_)

    def follow(self, beams: Longs, ids: Longs) -> None:
        self._count("follow")


class FailingGoal(Failing):
    """A goal that proposes eos."""

    def proposals(self) -> Longs:
        self._count("proposals")
        return np.zeros((1, 1), dtype=np.int64)

    def progress(self, beams: Longs, ids: Longs) -> Longs:
        self._count("progress")
        return np.zeros(len(ids), dtype=np.int64)


@pytest.fixture
def decoder() -> NativeDecoder:
    return native(make_model(Random(3)))


IDS = [sentence(Random(seed), 20) for seed in range(12)]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("method", ["allowed", "follow", "proposals", "progress"])
def test_an_error_in_a_constraint_is_raised_and_the_next_search_is_not_affected(
    decoder: NativeDecoder, method: str, threads: int
) -> None:
    decoder.workers = Threads(threads)
    config, plain = SearchConfig(), list(map(Query, IDS))
    expected = decoder.search(plain, config, RULES, batch=4)
    for step in (0, 1, 5):
        queries = list(map(Query, IDS))
        queries[5] = Query(IDS[5], (), Restrictions(RULES, [FailingGoal(method, step)]))
        with pytest.raises(KeyboardInterrupt):
            decoder.search(queries, config, RULES, batch=4)
        assert decoder.search(plain, config, RULES, batch=4) == expected


def test_an_error_while_samples_are_drawn_is_raised(decoder: NativeDecoder) -> None:
    config = SearchConfig(n_best=3, sampling=SamplingConfig())
    queries = [Query(ids, (), Restrictions(RULES, [Failing("follow", 1)])) for ids in IDS]
    with pytest.raises(KeyboardInterrupt):
        decoder.search(queries, config, RULES, batch=4)


def test_sessions_do_not_pile_up(decoder: NativeDecoder) -> None:
    decoder.workers = Threads(2)
    pairs = [(ids, ids) for ids in IDS]
    for n in range(1, 6):
        decoder.score(pairs, alternatives=2, batch=4)
        decoder.attentions(pairs, ["cross"])
        decoder.search(list(map(Query, IDS)), SearchConfig(beam=n), RULES, batch=n)
        assert len(decoder._idle) <= 2


def test_models_of_an_ensemble_have_equal_vocabularies_and_are_not_too_many() -> None:
    model = native(make_model(Random(3))).models[0]
    other = native(make_model(Random(4))).models[0]
    other.tgt_vocab_size = V + 1
    with pytest.raises(ModelError, match="2 different sizes"):
        NativeDecoder([model, other])
    with pytest.raises(ModelError, match="17 models, more than 16"):
        NativeDecoder([model] * 17)


def test_limits_without_an_end_are_no_limits(decoder: NativeDecoder) -> None:
    huge = SearchConfig(max_repeats=2**40, no_repeat_ngram=2**33)
    none = SearchConfig(max_repeats=0, no_repeat_ngram=0)
    queries = list(map(Query, IDS))
    found = decoder.search(queries, huge, RULES, batch=4)
    assert found == decoder.search(queries, none, RULES, batch=4)


def test_a_target_longer_than_the_sources_decoded_together_is_scored(
    decoder: NativeDecoder,
) -> None:
    long = [*(4 + i % 9 for i in range(1500)), 0]
    (score,) = decoder.score([(IDS[0], long)], alternatives=1, batch=1)
    assert len(score.token_log_probs) == len(long)
    assert np.isfinite(score.token_log_probs).all()


# ---- sentences that are being prepared -----------------------------------------------------------


class Begun:
    """Allows every token; remembers that the search has begun."""

    def __init__(self) -> None:
        self.begun = Event()

    def allowed(self, left: Longs) -> Flags:
        self.begun.set()
        return np.ones((1, RULES.n_tokens), dtype=np.bool_)

    def follow(self, beams: Longs, ids: Longs) -> None:
        pass


def test_sentences_are_decoded_while_the_others_are_prepared(decoder: NativeDecoder) -> None:
    decoder.workers, constraint = Threads(2), Begun()
    expected = decoder.search(list(map(Query, IDS)), SearchConfig(), RULES, batch=4)

    def prepared() -> Iterator[Query]:
        yield Query(IDS[0], (), Restrictions(RULES, [constraint]))
        yield Query(IDS[1])
        assert constraint.begun.wait(60)
        yield from map(Query, IDS[2:])

    found = decoder.search(prepared(), SearchConfig(), RULES, batch=4)
    assert found[1:] == expected[1:]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_while_sentences_are_prepared_is_raised(
    decoder: NativeDecoder, threads: int
) -> None:
    decoder.workers = Threads(threads)

    def prepared() -> Iterator[Query]:
        yield from map(Query, IDS)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        decoder.search(prepared(), SearchConfig(), RULES, batch=4)
    assert decoder.search(iter(()), SearchConfig(), RULES, batch=4) == []


def test_threads_share_few_sentences_equally() -> None:
    waiting: _Waiting[int] = _Waiting(n_threads=3, batch=64)
    for number in range(8):
        waiting.add(number)
    waiting.close()
    taken = [[number for _, number in waiting.take(0)] for _ in range(4)]
    assert taken == [[0, 1, 2], [3, 4, 5], [6, 7], []]


def test_no_sentences_are_prepared_after_a_thread_has_failed(decoder: NativeDecoder) -> None:
    decoder.workers, n = Threads(2), 0

    def prepared() -> Iterator[Query]:
        nonlocal n
        yield Query(IDS[0], (), Restrictions(RULES, [Failing("allowed", 0)]))
        for n in range(1_000_000):  # noqa: B007
            yield Query(IDS[1])

    with pytest.raises(KeyboardInterrupt):
        decoder.search(prepared(), SearchConfig(), RULES, batch=4)
    assert n < 999_999


# ---- cancelled searches --------------------------------------------------------------------------

NOTHING = [Hypothesis((), -math.inf, -math.inf)]


class Cancelling:
    """Allows every token; cancels a search at its third step."""

    def __init__(self, cancelled: Event) -> None:
        self.cancelled, self.n_steps = cancelled, 0

    def allowed(self, left: Longs) -> Flags:
        return np.ones((1, RULES.n_tokens), dtype=np.bool_)

    def follow(self, beams: Longs, ids: Longs) -> None:
        self.n_steps += 1
        if self.n_steps == 3:
            self.cancelled.set()


@pytest.mark.parametrize("batch", [1, 4, 64])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_cancelled_search_finds_nothing_and_the_others_are_not_affected(
    decoder: NativeDecoder, batch: int, threads: int
) -> None:
    decoder.workers = Threads(threads)
    config, plain = SearchConfig(max_extra=40), list(map(Query, IDS))
    expected = decoder.search(plain, config, RULES, batch=batch)
    before, during = Event(), Event()
    before.set()
    constraint, longest = Cancelling(during), max(range(12), key=lambda row: len(IDS[row]))
    queries = list(map(Query, IDS))
    queries[0] = Query(IDS[0], cancelled=before)
    queries[longest] = Query(
        IDS[longest], (), Restrictions(RULES, [constraint]), trace=[], cancelled=during
    )
    queries[1] = Query(IDS[1], cancelled=Event())  # never set
    expected[0] = expected[longest] = NOTHING
    assert decoder.search(queries, config, RULES, batch=batch) == expected
    assert constraint.n_steps >= 3
    assert queries[longest].trace == []
    assert all(not session.n_unfinished for session in decoder._idle)
    assert decoder.search(plain[:1], config, RULES, batch=batch) != [NOTHING]


def test_torch_does_not_begin_a_search_that_is_cancelled() -> None:
    model, cancelled = make_model(Random(3)), Event()
    cancelled.set()
    queries = [Query(ids, cancelled=cancelled if row % 2 else None) for row, ids in enumerate(IDS)]
    found = TorchDecoder(model).search(queries, SearchConfig(), RULES, batch=4)
    expected = TorchDecoder(model).search(list(map(Query, IDS)), SearchConfig(), RULES, batch=4)
    expected[1::2] = [NOTHING] * 6
    assert found == expected


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # see interrupt()
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_a_search_of_long_sentences(threads: int) -> None:
    decoder = native(make_model(Random(3)), threads=threads)
    rng = Random(5)
    long = [[*(rng.randrange(4, V - 1) for _ in range(300)), 0] for _ in range(100)]
    queries = [Query(source) for source in long * 200]
    ended = Event()

    def interrupted(*_: object) -> None:
        if not ended.is_set():
            raise KeyboardInterrupt

    def interrupt() -> None:
        while not ended.wait(0.5):  # again: it is ignored in the callback of a weak reference
            os.kill(os.getpid(), signal.SIGINT)

    handler, thread = signal.signal(signal.SIGINT, interrupted), Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            decoder.search(queries, SearchConfig(max_repeats=0), RULES, batch=64)
    finally:
        ended.set()
        thread.join()
        signal.signal(signal.SIGINT, handler)
    assert not decoder._idle


def test_the_library_decodes_one_position_if_it_has_no_time(decoder: NativeDecoder) -> None:
    session, query = Session(decoder.models, RULES), Query(IDS[0])
    session.search(0, query, decoder._settings(query, SearchConfig()), None)
    advance = session._library.yk_advance
    assert advance(session._handle, 0.0) == 1
    assert advance(session._handle, math.inf) == 0


def test_an_environment_variable_selects_the_instruction_set(
    decoder: NativeDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert decoder.kernels == instruction_sets()[0]
    monkeypatch.setenv("YAKUSU_INSTRUCTION_SET", "generic")
    other = NativeDecoder(decoder.models)
    assert other.kernels == "generic"
    queries = list(map(Query, IDS))
    results = [each.search(queries, SearchConfig(), RULES, batch=4) for each in (decoder, other)]
    assert results[0] == results[1]


def test_an_instruction_set_that_the_processor_does_not_support_is_an_error(
    decoder: NativeDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAKUSU_INSTRUCTION_SET", "mmx")
    with pytest.raises(ModelError, match=r"does not support: set it to .*generic"):
        NativeDecoder(decoder.models)
