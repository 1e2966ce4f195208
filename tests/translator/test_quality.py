"""The estimated quality of translations."""

import math
from dataclasses import replace

import pytest

from tests.translator.saying import asked, saying
from tests.translators import ENGINES, Engine, untrained
from yakusu.data.lines.config import TextConfig
from yakusu.errors import ModelError
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.translator import Translation, Translator
from yakusu.translator.quality import (
    LONG,
    SHORT,
    UNSURE,
    Calibration,
    Evidence,
    Quality,
    QualityTerm,
)
from yakusu.translator.writing.objects import objects

# quality = 50 + 10 z(certainty) + 4 z(neighbours) + 8 tent(z(length)), of which log(n / m) has a
# mean of 0 and a standard deviation of log 2: a translation that is twice as long has a z of 1.
CALIBRATION = Calibration(
    n_sentences=100,
    correlation=0.7,
    certainty=QualityTerm(mean=0.7, scale=0.1, weight=10.0),
    neighbours=QualityTerm(mean=0.5, scale=0.2, weight=4.0),
    length=QualityTerm(mean=0.0, scale=math.log(2), weight=8.0),
    source=QualityTerm(mean=2.0, scale=1.0, weight=0.0),
    intercept=50.0,
    doubtful=30.0,
)
# For an untrained model, whose probabilities are about 1 / V.
FLAT = CALIBRATION.model_copy(
    update={
        "certainty": QualityTerm(mean=0.01, scale=0.01, weight=10.0),
        "neighbours": QualityTerm(mean=0.01, scale=0.01, weight=4.0),
    }
)
SHORT_SEARCH = SearchConfig(max_extra=5)
SENTENCES = ["der Hund rennt", "die Katze schläft in dem Haus", "der alte Mann", "Tee"]


def logs(*probs: float) -> list[float]:
    return [math.log(prob) for prob in probs]


def test_evidence_is_the_means_of_probabilities_and_the_logarithms_of_lengths() -> None:
    evidence = Evidence.of(logs(0.8, 0.2, 0.6, 0.4), n_source=2)
    assert evidence == pytest.approx((0.5, (0.2 + 0.2 + 0.4) / 3, math.log(2), math.log(2)))
    assert Evidence.of(logs(0.5), n_source=1) == pytest.approx((0.5, 0.5, 0, 0))


@pytest.mark.parametrize(
    ("certainty", "neighbours", "ratio", "quality"),
    [
        (0.7, 0.5, 1, Quality(50, "")),
        (0.8, 0.7, 1, Quality(64, "")),
        (0.7, 0.5, 4, Quality(54, "")),  # tent(2) = 1/2
        (0.7, 0.5, 0.5, Quality(42, "")),  # z = -1
        (0.4, 0.5, 1, Quality(20, UNSURE)),
        (0.7, 0.5, 0.125, Quality(26, SHORT)),  # z = -3
        (0.7, 0.5, 128, Quality(26, LONG)),  # tent(7) = -3
        (0.1, 0.1, 1, Quality(0, UNSURE)),
        (0.99, 0.99, 1, Quality(89, "")),
    ],
)
def test_the_quality_is_that_of_the_formula(
    certainty: float, neighbours: float, ratio: float, quality: Quality
) -> None:
    assert CALIBRATION.quality(Evidence(certainty, neighbours, math.log(ratio), 2.0)) == quality


# ---- translations --------------------------------------------------------------------------------


def estimated(
    engine: Engine, batch: int = 64, threads: int = 1, search: SearchConfig | None = None
) -> list[list[Translation]]:
    own = untrained("bytes", beam=4, engine=engine, threads=threads)
    translator = with_calibration(own).with_settings(search=search or SHORT_SEARCH)
    return list(translator.stream(SENTENCES, batch=batch))


def with_calibration(own: Translator, text: TextConfig | None = None) -> Translator:
    return Translator(
        own.decoder,
        own.tokenizer,
        languages=own.languages,
        search=own.search,
        text=text,
        calibration=FLAT,
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sampling", [None, SamplingConfig()])
def test_the_path_of_a_search_has_the_probabilities_of_scoring(
    engine: Engine, sampling: SamplingConfig | None
) -> None:
    search = SearchConfig(n_best=3, sampling=sampling, max_extra=5)
    translator = untrained("bytes", beam=4, engine=engine).with_settings(search=search)
    sources = translator.tokenizer.encode_source(SENTENCES)
    every = translator.hypotheses(zip(SENTENCES, sources, strict=True))
    for source, found in zip(sources, every, strict=True):
        for hypothesis in found:
            target = (*hypothesis.tokens, 0)
            (scored,) = translator.decoder.score([(source, target)], alternatives=0, batch=1)
            assert hypothesis.path[-1] == hypothesis.log_prob
            assert hypothesis.token_log_probs == pytest.approx(scored.token_log_probs, abs=1e-4)


def test_the_quality_depends_neither_on_the_batch_nor_on_the_threads() -> None:
    alone = estimated("native", batch=1)
    assert all(best[0].quality is not None for best in alone)
    assert alone == estimated("native") == estimated("native", threads=2)


def test_an_estimate_does_not_change_translations() -> None:
    own = untrained("bytes", beam=4, engine="native").with_settings(search=SHORT_SEARCH)
    plain = own.stream(SENTENCES)
    found = [[replace(t, quality=None, doubt="") for t in best] for best in estimated("native")]
    assert found == list(plain)


def test_both_engines_estimate_the_same_quality() -> None:
    one, other = ([best[0] for best in estimated(engine)] for engine in ENGINES)
    for mine, yours in zip(one, other, strict=True):
        if mine.text == yours.text:
            assert mine.quality == pytest.approx(yours.quality, abs=1)
            assert mine.doubt == yours.doubt


DOGS = {"Der Hund rennt.": ["the dog runs."], "Die Katze ist alt.": ["the cat is old."]}
DOG, _ = DOGS


def saying_dogs(*sure: float, text: TextConfig | None = None, n_best: int = 1) -> Translator:
    probabilities = dict(zip(DOGS, sure, strict=True))
    return saying(DOGS, sure=probabilities, calibration=CALIBRATION, text=text, n_best=n_best)


def best_of(translator: Translator, text: str) -> Translation:
    ((best, *_),) = translator.stream([text])
    return best


def test_a_text_has_the_quality_of_its_worst_sentence() -> None:
    sentences = [best_of(saying_dogs(0.9, 0.3), sentence) for sentence in DOGS]
    whole = best_of(saying_dogs(0.9, 0.3), " ".join(DOGS))
    assert [bool(each.doubt) for each in sentences] == [False, True]
    assert (whole.quality, whole.doubt) == (sentences[1].quality, sentences[1].doubt)
    assert sentences[0].quality and whole.quality is not None
    assert sentences[0].quality > 60 > 30 > whole.quality


def test_json_has_the_quality_of_a_calibrated_model_only() -> None:
    (found,) = objects([best_of(saying_dogs(0.3, 0.3), DOG)])["translations"]
    assert found["doubt"] == UNSURE
    assert found["quality"] < 30
    (plain,) = objects([best_of(saying(DOGS), DOG)])["translations"]
    assert plain.keys() == found.keys() - {"quality", "doubt"}


# ---- the lowest quality --------------------------------------------------------------------------


def test_a_sentence_whose_translation_is_too_bad_is_kept() -> None:
    translator = saying_dogs(0.9, 0.3, text=TextConfig(min_quality=40))
    best = best_of(translator, " ".join(DOGS))
    assert best.text == "the dog runs. Die Katze ist alt."
    assert not best.copied
    assert best.quality is not None and best.quality > 60
    (reason,) = best.differences
    assert reason.startswith("the translation of 'Die Katze ist alt.' has an estimated quality of ")
    assert reason.endswith(", less than 40")
    assert (translator.tally.doubted, translator.tally.untranslated) == (1, 0)


def test_a_text_of_which_nothing_is_good_enough_is_copied() -> None:
    best = best_of(saying_dogs(0.3, 0.3, text=TextConfig(min_quality=40)), DOG)
    assert (best.text, best.copied, best.quality, best.score) == (DOG, True, None, -math.inf)


def test_the_lowest_quality_itself_is_good_enough() -> None:
    quality = best_of(saying_dogs(0.6, 0.6), DOG).quality
    assert quality
    for least, copied in ((quality, False), (quality + 1, True)):
        best = best_of(saying_dogs(0.6, 0.6, text=TextConfig(min_quality=least)), DOG)
        assert best.copied == copied


def test_of_several_translations_those_that_are_too_bad_are_left_out() -> None:
    own = untrained("bytes", beam=4, engine="native")
    search = SearchConfig(n_best=4, max_extra=5)
    every = with_calibration(own).with_settings(search=search).stream(SENTENCES)
    values = [[t.quality or 0 for t in best] for best in every]
    least = max(map(max, values))
    assert sum(value < least for found in values for value in found) > 3
    chosen = with_calibration(own, TextConfig(min_quality=least)).with_settings(search=search)
    for before, after in zip(values, chosen.stream(SENTENCES), strict=True):
        good = [value for value in before if value >= least]
        assert [t.quality for t in after] == (good or [None])


def test_a_request_cannot_lower_the_quality_of_a_translator() -> None:
    translator = saying_dogs(0.3, 0.3, text=TextConfig(min_quality=40))
    again = translator.with_settings(text=TextConfig(protect=("x+",)))
    assert best_of(again, DOG).copied
    assert asked(again)


def test_a_model_without_a_calibration_takes_no_lowest_quality() -> None:
    with pytest.raises(ModelError, match="calibrate the model"):
        saying(DOGS, text=TextConfig(min_quality=40))
