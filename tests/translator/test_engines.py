"""Every kind of search gives the same translations with both engines, in every batch."""

from collections.abc import Sequence
from itertools import cycle, product
from threading import Event
from typing import Any

import pytest

from tests.cases import THOROUGH, some
from tests.translators import ENGINES, Engine, same_translations, untrained
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.translator import Translation, Translator
from yakusu.translator.request import Request

LINES = [
    "Der Hund schläft.",
    "Wo ist {name}, und wo sind %s und der Koffer?",
    "",
    "- Die <b>alte</b> Frau\u2028- kauft `a b` und 猫です",
    "Das Kind liest ein Buch. Es regnet!",
    "Der Mann sieht einen Vogel und eine Katze, und die Lehrerin sieht ihn",
    "привет, Łódź",
]
PLAIN = [*filter(None, LINES[:2]), "Die Frau kauft {x}.", "Das Kind liest ein Buch und schläft"]
SEARCHES: dict[str, tuple[dict[str, Any], list[str | Request]]] = {
    "greedy": ({"beam": 1}, [*LINES]),
    "n best": ({"beam": 4, "n_best": 4}, [*LINES]),
    "margin": ({"beam": 3, "margin": 1.0}, [*LINES]),
    "no length penalty": ({"beam": 3, "alpha": 0.0}, [*LINES]),
    "repetitions": ({"beam": 3, "max_repeats": 0}, [*LINES]),
    "no repeated words": ({"beam": 3, "no_repeat_ngram": 1}, [*LINES]),
    "prefix": ({"n_best": 2}, [Request(line, "The old") for line in PLAIN]),
    "include": ({"n_best": 2}, [Request(line, include=("two dogs", "rain")) for line in PLAIN]),
    "exclude": ({"n_best": 2}, [Request(line, exclude=("the", "dog", "a")) for line in PLAIN]),
    "mixed": (
        {"n_best": 2, "exclude": ("the",)},
        [*LINES, *(Request(line, "A", include=("old",)) for line in PLAIN)],
    ),
    "samples": ({"n_best": 3, "sampling": SamplingConfig(seed=5)}, [*LINES]),
    "samples of few": ({"sampling": SamplingConfig(seed=5, top_k=4)}, [*LINES]),
    "samples with a prefix": (
        {"n_best": 2, "sampling": SamplingConfig(seed=6, top_p=0.9)},
        [Request(line, "The", exclude=("dog",)) for line in PLAIN],
    ),
}


def of(name: str, one: Translator) -> tuple[Translator, list[str | Request]]:
    """A translator with the settings of a search, and its sentences."""
    settings, sentences = SEARCHES[name]
    search = SearchConfig(max_extra=6).model_copy(update=settings)
    own = Translator(one.decoder, one.tokenizer, languages=one.languages, search=search)
    return own, sentences


# By default each search with one of the kinds of tokens.
CASES = [
    (kind, name)
    for number, name in enumerate(SEARCHES)
    for kind in ("bytes", "plain")
    if THOROUGH or (kind == "plain") == (number % 3 == 0)
]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_both_engines_find_the_same_translations(kind: str, name: str) -> None:
    own, other = (
        list(one.stream(sentences, details=True))
        for one, sentences in (
            of(name, untrained(kind, engine="native")),
            of(name, untrained(kind, engine="torch")),
        )
    )
    same_translations(own, other)
    same_details([best for every in own for best in every], [b for every in other for b in every])


def same_details(found: Sequence[Translation], expected: Sequence[Translation]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one.details is None) == (other.details is None)
        if one.details and other.details:
            assert one.details.tokens == other.details.tokens
            assert one.details.links == other.details.links
            assert one.details.token_log_probs == pytest.approx(
                other.details.token_log_probs, abs=1e-5
            )
            assert [[piece for piece, _ in best] for best in one.details.alternatives] == [
                [piece for piece, _ in best] for best in other.details.alternatives
            ]


@pytest.mark.parametrize(
    ("name", "threads"),
    [*product(SEARCHES, (1, 3))] if THOROUGH else [*zip(some([*SEARCHES]), cycle((3, 1)))],
)
def test_a_translation_of_the_native_engine_depends_on_nothing_but_its_sentence(
    name: str, threads: int
) -> None:
    alone, sentences = of(name, untrained("bytes", engine="native"))
    expected = [next(alone.stream([sentence], details=True)) for sentence in sentences]
    one, _ = of(name, untrained("bytes", engine="native", threads=threads))
    assert list(one.stream(sentences, details=True)) == expected
    assert list(one.stream(sentences, details=True, batch=2, window=3)) == expected
    assert list(one.stream(sentences[::-1], details=True, batch=3)) == expected[::-1]
    assert list(one.stream(sentences * 5, details=True, window=7)) == expected * 5


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cancelled_stream_ends(engine: Engine) -> None:
    one, cancelled = untrained("bytes", engine=engine), Event()
    expected = one.translate(PLAIN)
    stream = one.stream(PLAIN, window=1, cancelled=cancelled)
    assert next(stream)[0].text == expected[0]
    cancelled.set()
    assert list(stream) == []
    assert one.translate(PLAIN) == expected
