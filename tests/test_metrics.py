"""Scores equal sacreBLEU's and manual calculations; the bootstrap is reproducible."""

import os
import sys

import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU

from yakusu import metrics
from yakusu.errors import DataError, RecipeError
from yakusu.metrics import (
    METRICS,
    Score,
    paired_bootstrap,
    score_translations,
    sentence_scorer,
    tokenized_compound_bleu,
)

REFERENCES = [
    "The ferry leaves the harbour at seven o'clock.",
    "My sister paints small boats, and sells them in summer.",
    "Nobody had expected so much snow in April!",
    "Please close the window before you go to bed.",
    "The baker on our street knows every child by name.",
    "We walked along the river until it became dark.",
]
GOOD = [
    "The ferry leaves the harbour at seven.",
    "My sister paints small boats and sells them in summer.",
    "Nobody expected so much snow in April!",
    "Please close the window before you go to sleep.",
    "The baker in our street knows every child by name.",
    "We walked along the river until it got dark.",
]
BAD = [
    "A ship goes from the port at 7.",
    "The sister of me makes pictures of boats, they are sold.",
    "Such snow in April was a surprise!",
    "You close a window, then you sleep.",
    "Every child is known to a baker in the street.",
    "Along a river we went, and dark it became.",
]
JAPANESE = ["船は七時に港を出ます。", "姉は夏に小さな絵を売ります。"]
JAPANESE_REFERENCES = ["船は朝七時に港を出る。", "姉は夏に小さな絵を売っています。"]


@pytest.fixture
def no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)


def test_scores_equal_those_of_sacrebleu() -> None:
    bleu, chrf, ter = score_translations(GOOD, REFERENCES)
    assert bleu.value == sacrebleu.corpus_bleu(GOOD, [REFERENCES]).score
    assert chrf.value == sacrebleu.corpus_chrf(GOOD, [REFERENCES]).score
    assert ter.value == sacrebleu.corpus_ter(GOOD, [REFERENCES]).score
    assert 0 < bleu.value < 100 and 0 < chrf.value < 100 and 0 < ter.value < 100


def test_signatures_describe_how_scores_were_computed() -> None:
    version = sacrebleu.__version__
    assert [(s.name, s.signature) for s in score_translations(GOOD, REFERENCES)] == [
        ("BLEU", f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}"),
        ("chrF2", f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}"),
        ("TER", f"nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:{version}"),
    ]


def test_a_score_is_printed_with_its_signature() -> None:
    assert str(Score("BLEU", 34.5178, "nrefs:1|tok:13a")) == "BLEU = 34.52 (nrefs:1|tok:13a)"


def test_perfect_translations_have_100_bleu_and_0_ter() -> None:
    values = [s.value for s in score_translations(REFERENCES, REFERENCES)]
    assert values == pytest.approx([100, 100, 0])


def test_scores_are_in_the_requested_order() -> None:
    assert [s.name for s in score_translations(GOOD, REFERENCES, metrics=["ter", "bleu"])] == [
        "TER",
        "BLEU",
    ]
    assert list(METRICS) == ["bleu", "chrf", "ter"]


def test_lowercase_ignores_case_and_ter_always_does() -> None:
    shouted = [line.upper() for line in REFERENCES]
    bleu, chrf, ter = score_translations(shouted, REFERENCES)
    assert bleu.value < 50 and chrf.value < 50 and ter.value == 0
    folded = score_translations(shouted, REFERENCES, lowercase=True)
    assert [s.value for s in folded] == pytest.approx([100, 100, 0])
    assert all("case:lc" in s.signature for s in folded)


@pytest.mark.parametrize(
    ("language", "tokenizer"),
    [
        *(("ja", "ja-mecab"), ("jpn", "ja-mecab"), ("ja_JP", "ja-mecab"), ("jpn_Jpan", "ja-mecab")),
        *(("ko", "ko-mecab"), ("kor_Hang", "ko-mecab"), ("pt-BR", "13a"), ("x-y", "13a")),
        *(("zh", "zh"), ("zh_CN", "zh"), ("zho_Hant", "zh"), ("cmn", "zh"), ("yue", "zh")),
    ],
)
def test_the_target_language_selects_the_tokenizer(language: str, tokenizer: str) -> None:
    [bleu] = score_translations(
        JAPANESE, JAPANESE_REFERENCES, metrics=["bleu"], target_language=language
    )
    oracle = sacrebleu.corpus_bleu(JAPANESE, [JAPANESE_REFERENCES], tokenize=tokenizer)
    assert bleu.value == oracle.score
    assert f"|tok:{tokenizer}" in bleu.signature


@pytest.mark.parametrize(
    ("options", "library"),
    [
        ({"target_language": "ja"}, "MeCab"),
        ({"target_language": "ko-KR"}, "mecab_ko"),
        ({"tokenize": "ja-mecab"}, "MeCab"),
    ],
)
def test_a_tokenizer_without_its_library_is_a_missing_module(
    options: dict[str, str], library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError) as caught:
        score_translations(GOOD, REFERENCES, **options)
    assert caught.value.name == library
    score_translations(GOOD, REFERENCES, tokenize="char", target_language="ja")


def test_mecab_finds_words_that_13a_does_not() -> None:
    def bleu(language: str | None) -> float:
        return score_translations(
            JAPANESE, JAPANESE_REFERENCES, metrics=["bleu"], target_language=language
        )[0].value

    assert bleu("ja") > 30 > bleu(None)


def test_an_explicit_tokenizer_overrides_that_of_the_language() -> None:
    bleu, *_ = score_translations(
        JAPANESE, JAPANESE_REFERENCES, tokenize="char", target_language="ja"
    )
    oracle = sacrebleu.corpus_bleu(JAPANESE, [JAPANESE_REFERENCES], tokenize="char")
    assert bleu.value == oracle.score and "|tok:char|" in bleu.signature


def test_bleu_of_split_compounds_equals_a_manual_calculation() -> None:
    hypothesis = ["wir lesen den kurzen Online-Text heute"]
    reference = ["wir lesen den kurzen Online-Brief heute"]
    # Unsplit, 6 tokens with 1 wrong: 5/6 * 3/5 * 2/4 * 1/3 = 1/12.
    unsplit = BLEU(tokenize="none", smooth_method="none").corpus_score(hypothesis, [reference])
    assert unsplit.score == pytest.approx(100 * (1 / 12) ** (1 / 4))
    # Split into "Online ##AT##-##AT## Text", 8 tokens with 1 wrong: 7/8 * 5/7 * 4/6 * 3/5 = 1/4.
    split = tokenized_compound_bleu(hypothesis, reference, "de")
    assert split.value == pytest.approx(100 * (1 / 4) ** (1 / 4))


def test_compound_bleu_uses_moses_tokens() -> None:
    attached, detached = ["Das Wasser ist klar."], ["Das Wasser ist klar ."]
    assert tokenized_compound_bleu(attached, detached, "de").value == pytest.approx(100)
    # In French the apostrophe belongs to the article, "l' eau": 6 tokens with the last one wrong,
    # 5/6 * 4/5 * 3/4 * 2/3 = 1/3. In German it is a token, "l ' eau", and 6 of 7 are right:
    # 6/7 * 5/6 * 4/5 * 3/4 = 3/7.
    hypothesis, reference = ["ici nous buvons toujours l'eau"], ["ici nous buvons toujours l'air"]
    french = tokenized_compound_bleu(hypothesis, reference, "fr")
    assert french.value == pytest.approx(100 * (1 / 3) ** (1 / 4))
    german = tokenized_compound_bleu(hypothesis, reference, "de")
    assert german.value == pytest.approx(100 * (3 / 7) ** (1 / 4))


def test_compound_bleu_is_not_smoothed() -> None:
    # No 4-gram matches; with sacreBLEU's default smoothing the score would be positive.
    hypothesis, reference = ["wir lesen den Brief"], ["wir lesen den Text"]
    assert tokenized_compound_bleu(hypothesis, reference, "de").value == pytest.approx(0)
    assert score_translations(hypothesis, reference, metrics=["bleu"])[0].value > 50


def test_compound_bleu_has_its_own_name_and_signature() -> None:
    import sacremoses

    result = tokenized_compound_bleu(GOOD, REFERENCES, "en")
    assert result.name == "BLEU (tokenised, compound-split)"
    assert result.signature == (
        "nrefs:1|case:mixed|eff:no|tok:moses-en+compound-split|smooth:none"
        f"|sacremoses:{sacremoses.__version__}|version:{sacrebleu.__version__}"
    )


@pytest.mark.parametrize("language", ["ja", "zh", "german"])
def test_compound_bleu_rejects_languages_unknown_to_moses(language: str) -> None:
    with pytest.raises(DataError, match=f"'{language}'.*omit --paper"):
        tokenized_compound_bleu(JAPANESE, JAPANESE_REFERENCES, language)


def test_a_system_does_not_differ_significantly_from_itself() -> None:
    result = paired_bootstrap(GOOD, GOOD, REFERENCES)
    assert result.p_value == 1.0
    assert result.baseline == result.system


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_a_much_better_system_differs_significantly(metric: str) -> None:
    result = paired_bootstrap(BAD, GOOD, REFERENCES, metric=metric)
    assert result.p_value < 0.05
    [bad], [good] = (
        score_translations(lines, REFERENCES, metrics=[metric]) for lines in (BAD, GOOD)
    )
    assert (result.baseline.score.value, result.system.score.value) == (bad.value, good.value)
    assert result.system.score.name == good.name


def test_one_better_line_of_six_is_not_significant() -> None:
    nearly = [*BAD[:-1], GOOD[-1]]
    assert paired_bootstrap(BAD, nearly, REFERENCES).p_value > 0.05


@pytest.mark.usefixtures("no_seed")
def test_confidence_intervals_equal_those_of_sacrebleu() -> None:
    result = paired_bootstrap(BAD, GOOD, REFERENCES, n_samples=300, seed=12345)
    for estimate, lines in ((result.baseline, BAD), (result.system, GOOD)):
        oracle = BLEU().corpus_score(lines, [REFERENCES], n_bootstrap=300)
        assert estimate.mean == pytest.approx(oracle._mean)
        assert estimate.half_width == pytest.approx(oracle._ci)


def test_the_interval_of_a_difference_is_that_of_its_resamples() -> None:
    assert paired_bootstrap(GOOD, GOOD, REFERENCES).interval == (0, 0)
    wrong = ["x"] * len(REFERENCES)  # 0 in each resample
    result = paired_bootstrap(wrong, GOOD, REFERENCES)
    low, high = result.interval
    assert (high - low) / 2 == pytest.approx(result.system.half_width)
    assert low < result.difference == result.system.score.value < high


def test_bootstrap_depends_only_on_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    first = paired_bootstrap(BAD, GOOD, REFERENCES, seed=7)
    monkeypatch.setenv("SACREBLEU_SEED", "99")
    assert paired_bootstrap(BAD, GOOD, REFERENCES, seed=7) == first
    other = paired_bootstrap(BAD, GOOD, REFERENCES, seed=8)
    assert other.system.mean != first.system.mean
    assert other.system.score.value == first.system.score.value
    assert os.environ["SACREBLEU_SEED"] == "99"


@pytest.mark.usefixtures("no_seed")
def test_bootstrap_restores_the_environment_even_on_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = dict(os.environ)
    paired_bootstrap(BAD, GOOD, REFERENCES)
    assert dict(os.environ) == before

    def fail(*_: object) -> None:
        assert os.environ["SACREBLEU_SEED"] == "5"
        raise MemoryError

    monkeypatch.setattr(metrics, "PairedTest", fail)
    with pytest.raises(MemoryError):
        paired_bootstrap(BAD, GOOD, REFERENCES, seed=5)
    assert dict(os.environ) == before


def test_bootstrap_prints_both_systems_and_the_signature() -> None:
    result = paired_bootstrap(GOOD, GOOD, REFERENCES, n_samples=50, seed=3)
    value, mean, half = result.system.score.value, result.system.mean, result.system.half_width
    system = f"BLEU = {value:.2f} (95% confidence interval {mean:.2f} ± {half:.2f})"
    signature = f"case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
    assert str(result).splitlines() == [
        f"baseline: {system}",
        f"system:   {system}",
        f"paired bootstrap: p-value = 1.0000 (nrefs:1|bs:50|seed:3|{signature})",
    ]


def test_bootstrap_passes_its_options_to_the_metric() -> None:
    result = paired_bootstrap(
        JAPANESE, JAPANESE_REFERENCES, JAPANESE_REFERENCES, target_language="ja", lowercase=True
    )
    assert "case:lc" in result.system.score.signature
    assert "tok:ja-mecab" in result.system.score.signature


def test_texts_of_unequal_length_are_rejected_with_their_lengths() -> None:
    message = r"the hypotheses and the references differ in length \(5 and 6 lines\): align them"
    with pytest.raises(DataError, match=message):
        score_translations(GOOD[:5], REFERENCES)
    with pytest.raises(DataError, match=message):
        tokenized_compound_bleu(GOOD[:5], REFERENCES, "en")
    with pytest.raises(
        DataError, match="the baseline's translations and the references differ in length"
    ):
        paired_bootstrap(BAD[:5], GOOD, REFERENCES)
    with pytest.raises(
        DataError, match="the system's translations and the references differ in length"
    ):
        paired_bootstrap(BAD, GOOD[:5], REFERENCES)


def test_empty_texts_are_rejected() -> None:
    with pytest.raises(DataError, match="are empty: provide at least one line of each"):
        score_translations([], [])


def test_unknown_names_are_reported_with_the_nearest_name() -> None:
    with pytest.raises(RecipeError, match="no metric 'belu': did you mean 'bleu'"):
        score_translations(GOOD, REFERENCES, metrics=["belu"])
    with pytest.raises(RecipeError, match="no BLEU tokenizer 'ja-meca': did you mean 'ja-mecab'"):
        score_translations(GOOD, REFERENCES, tokenize="ja-meca")


def test_a_bootstrap_without_enough_lines_or_samples_is_rejected() -> None:
    with pytest.raises(DataError, match="has 1 line to resample: provide two or more"):
        paired_bootstrap(BAD[:1], GOOD[:1], REFERENCES[:1])
    with pytest.raises(RecipeError, match="n_samples is 0"):
        paired_bootstrap(BAD, GOOD, REFERENCES, n_samples=0)
    with pytest.raises(RecipeError, match="seed of the bootstrap is 0: set it to 1 or more"):
        paired_bootstrap(BAD, GOOD, REFERENCES, seed=0)


def test_scores_of_single_sentences_equal_those_of_sacrebleu() -> None:
    bleu, chrf = sentence_scorer("bleu", "en"), sentence_scorer("chrf")
    for good, reference in zip(GOOD, REFERENCES, strict=True):
        expected = BLEU(effective_order=True).sentence_score(good, [reference]).score
        assert bleu(good, reference) == expected
        assert chrf(good, reference) == sacrebleu.sentence_chrf(good, [reference]).score


def test_a_short_sentence_that_equals_its_reference_has_the_highest_bleu() -> None:
    assert sentence_scorer("bleu", "en")("Yes.", "Yes.") == pytest.approx(100)
