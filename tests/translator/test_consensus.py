"""Minimum Bayes risk: the sample that is most like all of them."""

from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.chrf import CHRF

import yakusu
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.hypothesis import Hypothesis
from yakusu.translator.consensus import agreed, similarities
from yakusu.typed import ValidationError

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"
TEXTS = [
    *("the cat sat", "the cat sits", "a dog", "the cat sat", "a", "ab c", "aaaaaaab aaaab"),
    *("x y z", " ", "日本語 です", "日本"),
]


def test_similarities_are_chrf_as_sacrebleu_computes_it() -> None:
    metric = CHRF()
    expected = [[metric.sentence_score(a, [b]).score / 100 for b in TEXTS] for a in TEXTS]
    np.testing.assert_allclose(similarities(TEXTS), expected, atol=1e-12)


def test_a_similarity_is_that_of_the_formula() -> None:
    """2 of 3 characters, 1 of 2 bigrams and no trigram are equal; P = R = (2/3 + 1/2) / 3."""
    (_, found), (other, _) = similarities(["x yz", "xy w"])
    assert found == pytest.approx(7 / 18) == other


def candidates(*texts: str) -> list[tuple[Hypothesis, str]]:
    return [(Hypothesis((i,), 0.0, 0.0), text) for i, text in enumerate(texts)]


def test_the_samples_that_are_most_like_all_of_them_are_chosen() -> None:
    found = agreed(candidates("a dog ran", "the cat sits", "the cat sat", "", "the cat sat"), 2)
    assert [(h.tokens, text) for h, text in found] == [
        ((2,), "the cat sat"),
        ((1,), "the cat sits"),
    ]
    assert [text for _, text in agreed(candidates("a", "b", "b", "a"), 3)] == ["a", "b"]
    assert agreed(candidates("", ""), 1) == [] == agreed([], 1)


@pytest.fixture(scope="module")
def translator() -> yakusu.Translator:
    return yakusu.Translator.load(FILES / "transformer")


def sampled(n_best: int = 1, **settings: float) -> SearchConfig:
    return SearchConfig(n_best=n_best, sampling=SamplingConfig(seed=3, temperature=2, **settings))


def test_the_choice_is_that_among_the_samples_whatever_the_batch(
    translator: yakusu.Translator,
) -> None:
    lines = [*(FILES / "test.en").read_text().splitlines()[:6], "", "the {name} sees 12 cats ."]
    chosen, samples = (
        translator.with_settings(search=search) for search in (sampled(mbr=6), sampled(6))
    )
    together = [best[0] for best in chosen.stream(lines, batch=4)]
    alone = [next(chosen.stream([line], batch=1))[0] for line in reversed(lines)]
    assert together == alone[::-1]
    for best, drawn in zip(together, samples.stream(lines), strict=True):
        if best.text and not best.copied:
            made = [(Hypothesis((), 0.0, 0.0), own.text) for own in drawn if not own.copied]
            assert best.text == agreed(made, 1)[0][1]
    assert len({best.text for best in together}) > 3 and "{name}" in together[-1].text


def test_prefixes_phrases_and_several_translations_work_with_it(
    translator: yakusu.Translator,
) -> None:
    search = sampled(3, mbr=8).model_copy(update={"exclude": ("der",)})
    (best,) = translator.with_settings(search=search).stream(
        [yakusu.Request("the dog sees the cat .", prefix="die")]
    )
    texts = [own.text for own in best]
    assert len(set(texts)) == len(texts) == 3
    assert all(text.startswith("die") and "der" not in text.split() for text in texts)
    ids = translator.tokenizer.encode_source(["the dog sees the cat ."])[0]
    (found,) = translator.with_settings(search=sampled(2, mbr=8)).hypotheses([("", ids)])
    assert len({h.tokens for h in found}) == 2


def test_more_translations_than_samples_are_refused() -> None:
    with pytest.raises(ValidationError, match="mbr = 2 is less than n_best = 3"):
        SearchConfig(n_best=3, sampling=SamplingConfig(mbr=2))
