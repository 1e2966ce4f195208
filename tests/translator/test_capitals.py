"""Sentences in capitals and texts without a hypothesis, through a translator."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.translators import ENGINES, Engine, untrained
from yakusu.data.lines.config import TextConfig
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.hypothesis import NOTHING, Hypothesis
from yakusu.translator import Translation, Translator
from yakusu.translator.request import Request
from yakusu.translator.writing.objects import objects

FORMAT_1 = Path(__file__).parents[1] / "fixtures" / "format-1" / "transformer"


@pytest.fixture(scope="module")
def english_german() -> Translator:
    return Translator.load(FORMAT_1)


# ---- capitals ------------------------------------------------------------------------------------


def sources() -> list[str]:
    return (FORMAT_1.parent / "test.en").read_text().splitlines()


def test_a_text_in_capitals_has_the_translation_of_the_text_in_capitals(
    english_german: Translator,
) -> None:
    plain = english_german.translate(sources())
    found = english_german.translate(source.upper() for source in sources())
    assert found == [text.upper() for text in plain]
    assert len({*plain}) > 1


def test_a_text_in_title_case_has_the_translation_of_the_text_as_it_is_usually_written(
    english_german: Translator,
) -> None:
    words = [source.split() for source in sources()]
    titled = [" ".join([first, *map(str.capitalize, rest)]) for first, *rest in words]
    assert english_german.translate(titled) == english_german.translate(sources())
    as_given = english_german.with_settings(text=TextConfig(capitals=False))
    assert as_given.translate(titled) != english_german.translate(sources())


def test_the_setting_turns_capitals_off_and_changes_no_other_sentence(
    english_german: Translator,
) -> None:
    as_given = english_german.with_settings(text=TextConfig(capitals=False))
    assert as_given.translate(sources()) == english_german.translate(sources())
    text = sources()[0].upper()  # no training source has capitals
    assert as_given.translate([text]) == [text] != english_german.translate([text])


def test_version_1_reads_capitals_as_they_are(english_german: Translator) -> None:
    before = english_german.with_settings(text=TextConfig(version=1))
    assert before.translate(sources()) == english_german.translate(sources())
    text = sources()[0].upper()
    assert before.translate([text]) == [text] != english_german.translate([text])


def test_version_1_copies_words_with_invisible_characters(english_german: Translator) -> None:
    before = english_german.with_settings(text=TextConfig(version=1))
    (plain,), text = english_german.translate(sources()[:1]), sources()[0]
    first, _, rest = text.partition(" ")
    hidden = f"{first[0]}\u00ad{first[1:]} {rest}"
    assert english_german.translate([hidden]) == [plain]
    assert hidden.split()[0] in before.translate([hidden])[0]


def test_spans_and_tags_of_a_text_in_capitals_keep_their_case(english_german: Translator) -> None:
    source = "THE <b>SMALL</b> DOG SEES {name} AND <i>https://a.org/B</i>."
    (text,) = english_german.translate([source])
    for part in ("{name}", "https://a.org/B", "<b>", "</b>", "<i>", "</i>"):
        assert text.count(part) == 1
        text = text.replace(part, "")
    assert text.isupper()


def test_word_links_of_a_text_in_capitals_are_those_of_the_text(english_german: Translator) -> None:
    source = sources()[0]
    texts = [source, source.upper()]
    (plain,), (found,) = english_german.stream(texts, details=True)
    assert plain.details and found.details
    assert found.details.links == plain.details.links
    assert (found.score, found.details.tokens) == (plain.score, plain.details.tokens)


def test_the_translation_of_a_request_with_a_prefix_or_phrases_is_not_in_capitals(
    english_german: Translator,
) -> None:
    source = sources()[0].upper()
    for phrases in ({"prefix": "der"}, {"include": ("Baum",)}, {"exclude": ("HUND",)}):
        plain, found = english_german.translate(
            Request(text, **phrases) for text in (sources()[0], source)
        )
        assert found == plain


# ---- texts without a hypothesis ------------------------------------------------------------------


class _Searches:
    """Searches whose results are given, by the number of the sentence."""

    def __init__(self, results: Sequence[Sequence[Hypothesis]]) -> None:
        self._results, self._n = results, 0

    def __enter__(self) -> "_Searches":
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing runs."""

    def submit(self, query: object) -> None:
        self._n += 1

    def results(self) -> list[Sequence[Hypothesis]]:
        return [self._results[i % len(self._results)] for i in range(self._n)]


EMPTY = Hypothesis((), -0.5, -0.5)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sequence[Sequence[Hypothesis]]]:
    """What the searches of the translator find."""
    results: list[list[Hypothesis]] = []
    monkeypatch.setattr(Translator, "_searches", lambda *_: _Searches(results))
    yield results


def translated(text: str, **settings: object) -> list[Translation]:
    search = SearchConfig.model_validate({"beam": 4, **settings})
    (best,) = untrained("bytes").with_settings(search=search).stream([text])
    return best


def word(text: str) -> Hypothesis:
    ids, _ = untrained("bytes").tokenizer.encode_target([text])[0], 0
    return Hypothesis(tuple(ids[:-1]), -1.0, -2.0)


@pytest.mark.parametrize("nothing", [EMPTY, NOTHING])
@pytest.mark.parametrize(
    "text",
    [
        "Ein Hund.",
        "  - Das <b>ist</b> {name}.  Und “das” auch?\n\n> Noch ein Satz.\n",
        "EIN HUND IST HIER.",
        "Ein Żółw – 東京.",
    ],
)
def test_a_text_without_a_hypothesis_is_copied(
    found: list[list[Hypothesis]], nothing: Hypothesis, text: str
) -> None:
    found.append([nothing])
    (only,) = translated(text)
    assert (only.text, only.copied) == (text, True)
    assert only.score == only.log_prob == -math.inf
    (row,) = objects([only])["translations"]
    assert (row["copied"], row["score"], row["log_prob"]) == (True, None, None)


def test_a_text_is_copied_only_if_all_of_its_sentences_are(found: list[list[Hypothesis]]) -> None:
    found += [[EMPTY], [word("dog")]]
    (only,) = translated("Ein Hund. Eine Katze.")
    assert only.text == "Ein Hund. dog"
    assert (only.copied, only.score) == (False, -math.inf)


@pytest.mark.parametrize("text", ["", "  ", "12 + 5", "<br>"])
def test_a_text_without_anything_to_translate_is_not_copied(text: str) -> None:
    (only,) = translated(text)
    assert (only.text, only.copied, only.score) == (text, False, 0.0)


def test_the_best_translation_does_not_depend_on_the_number_of_translations(
    found: list[list[Hypothesis]],
) -> None:
    found.append([EMPTY, word("dog"), word("cat")])
    assert [own.copied for own in translated("Ein Hund.", n_best=3)] == [True]
    found[0] = [word("dog"), EMPTY, word("cat")]
    best = translated("Ein Hund.", n_best=3)
    assert [own.text for own in best] == ["dog", "cat"]
    assert not any(own.copied for own in best)


def test_each_empty_sample_is_copied(found: list[list[Hypothesis]]) -> None:
    found.append([word("dog"), EMPTY, word("cat")])
    best = translated("Ein Hund.", n_best=3, sampling=SamplingConfig(seed=1))
    assert [own.text for own in best] == ["dog", "Ein Hund.", "cat"]
    assert [own.copied for own in best] == [False, True, False]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_phrase_for_which_there_is_no_room_leaves_no_hypothesis(engine: Engine) -> None:
    translator = untrained("bytes", engine=engine)
    search = translator.search.model_copy(update={"max_length": 1})
    ((best,),) = translator.with_settings(search=search).stream(["Ein Hund."])
    assert best.copied == (best.text == "Ein Hund.")
    assert (best.score == -math.inf) == best.copied
