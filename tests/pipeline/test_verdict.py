"""The verdict at the end of training: each sentence with its numbers."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from yakusu.pipeline.training.verdict import (
    MEASURED,
    NAME,
    DevTranslation,
    Verdict,
    save_translations,
    saved_verdict,
    share,
    verdict_of,
)


def verdict(*errors: float, unit: str = "words") -> Verdict:
    return Verdict(
        tuple(
            DevTranslation(f"source {i}", "right", "right" if not error else "wrong", error)
            for i, error in enumerate(errors)
        ),
        unit,
    )


def test_the_first_sentence_counts_exact_translations_and_states_the_median() -> None:
    said = next(verdict(*[0.0] * 31, *[0.3] * 50, *[0.35] * 40, *[0.6] * 79).statements())
    assert said == (
        "Of 200 unseen sentences, 31 came out exactly as in the reference; a typical translation "
        "has a third of its words wrong."
    )
    said = next(verdict(*[0.0] * 3, 0.5, 0.6, unit="characters").statements())
    assert said == (
        "Of 5 unseen sentences, 3 came out exactly as in the reference; a typical translation has "
        "none of its characters wrong."
    )


def test_the_second_sentence_states_what_a_quarter_of_the_sentences_reach() -> None:
    _, said, _ = verdict(0.1, 0.1, 0.2, 0.5, 0.6, 0.7, 0.75, 0.8).statements()
    assert said == "In the worst quarter, three quarters of them or more are wrong."
    assert len([*verdict(0.5, 0.5, 0.5, 0.5).statements()]) == 2  # no quarter is worse
    said = "In the worst quarter, all of them are wrong."
    assert said in verdict(0.5, 0.5, 0.5, 1.2).statements()


def test_empty_and_untranslated_sentences_are_counted() -> None:
    empty = DevTranslation("source", "right", " ", 1.0)
    copied = DevTranslation("source", "right", "source", 1.0)
    name = DevTranslation("Goethe", "Goethe", "Goethe", 0.0)
    made = [*Verdict((*verdict(0.1, 0.2).sentences, empty, copied, name), "words").statements()]
    assert made[2:4] == ["1 came out in the source language, unchanged.", "1 came out empty."]


@pytest.mark.parametrize(
    ("median", "said"),
    [
        (0.0, "Read each translation before you use it; at least half need little or no"),
        (0.2, "Read each translation before you use it; at least half need little or no"),
        (0.21, "Use the model for drafts that a person corrects sentence by sentence."),
        (0.5, "Use the model for drafts that a person corrects sentence by sentence."),
        (0.51, "Use the model to see what a text is about; do not publish its translations."),
        (0.81, "The model is not usable yet: a person would have to rewrite most sentences."),
    ],
)
def test_the_advice_follows_from_the_median(median: float, said: str) -> None:
    assert [*verdict(median).statements()][-1].startswith(said)


def test_more_text_is_advised_up_to_the_measured_number_of_pairs() -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "results" / "corpora.json"
    records = {each["name"]: each for each in json.loads(path.read_text(encoding="utf-8"))}
    measured = [records[name] for name in ("Bible, en-de, every sixth pair", "Bible, en-de")]
    assert [(each["pairs"], float(each["score"].split()[2])) for each in measured] == [*MEASURED]
    (few, low), (many, high) = MEASURED
    assert [*replace(verdict(0.3), n_pairs=many - 1).statements()][-1] == (
        "More text of your own would help most: on the Bible, English to German, BLEU rose from "
        f"{low:.1f} with {few:,} pairs to {high:.1f} with {many:,}."
    )
    early = replace(verdict(0.3), n_pairs=few, improving=True)
    assert str(early).endswith("still improving when training ended: train further first.")
    for error, n_pairs in ((0.2, 100), (0.3, many), (0.3, None)):
        assert "More text" not in str(replace(verdict(error), n_pairs=n_pairs))


def test_a_share_is_the_nearest_simple_fraction() -> None:
    shares = {0: "none", 0.01: "a tenth", 0.34: "a third", 0.52: "half", 0.95: "nine tenths"}
    assert {error: share(error) for error in shares} == shares
    assert share(0.96) == share(1.4) == "all"


def test_the_best_and_the_worst_ten_are_shown_and_never_the_same() -> None:
    made = [*verdict(*[i / 100 for i in range(40)]).examples()]
    assert made[0] == "The best 10:" and made[1] == "  source:      source 0"
    assert made.index("The worst 10:") + 1 == made.index("  source:      source 39")
    assert sum(line.startswith("  source:") for line in made) == 20
    few = [*verdict(0.1, 0.2, 0.3).examples()]
    assert few.count("  source:      source 1") == 1


@pytest.mark.parametrize(
    ("references", "made", "unit", "errors"),
    [
        (["the old boat", "a boat"], ["the new boat", "a boat"], "words", [1 / 3, 0]),
        (["古い船です"], ["古い舟です"], "characters", [1 / 5]),
    ],
)
def test_errors_count_words_or_the_characters_of_a_text_without_spaces(
    references: Sequence[str], made: Sequence[str], unit: str, errors: list[float]
) -> None:
    found = verdict_of(references, references, made)
    assert found.unit == unit
    many = verdict_of(*[[*references] * 550] * 3)
    assert len(many.sentences) == {"words": 367, "characters": 92}[unit]
    assert [each.error for each in found.sentences] == pytest.approx(errors)


def test_saved_translations_give_the_same_verdict(tmp_path: Path) -> None:
    texts = (["a\tb\rc", 'say "no"'], ["ä b", "ja"], ["ä c", ""])
    save_translations(tmp_path, *texts)
    assert (tmp_path / NAME).read_text().splitlines()[1] == "a b c\tä b\tä c"
    found = saved_verdict(tmp_path)
    assert found is not None and found.empty == 1 and found.sentences[1].source == 'say "no"'
    (tmp_path / NAME).write_text("cut")
    assert saved_verdict(tmp_path) is None
