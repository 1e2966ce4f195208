"""Minimum Bayes risk: the sample that is most like the others."""

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
TEXTS = ["the cat sat", "the cat sits", "a dog", "the cat sat", "a", "ab c", "x y z"]


def test_similarities_are_chrf_as_sacrebleu_computes_it() -> None:
    metric = CHRF()
    expected = [[metric.sentence_score(a, [b]).score / 100 for b in TEXTS] for a in TEXTS]
    np.testing.assert_allclose(similarities(TEXTS), expected, atol=1e-12)


def candidates(*texts: str) -> list[tuple[Hypothesis, str]]:
    return [(Hypothesis((i,), 0.0, 0.0), text) for i, text in enumerate(texts)]


def test_the_sample_that_is_most_like_all_of_them_is_chosen() -> None:
    found = agreed(candidates("a dog ran", "the cat sits", "the cat sat", "", "the cat sat"), 2)
    assert [text for _, text in found] == ["the cat sat", "the cat sits"]
    assert found[0][0].tokens == (2,)
        ((2,), "the cat sat"),
        ((1,), "the cat sits"),
    ]
    assert agreed(candidates("", ""), 1) == []


@pytest.fixture(scope="module")
def translator() -> yakusu.Translator:
    return yakusu.Translator.load(FILES / "transformer")


def test_the_choice_depends_on_neither_the_batch_nor_other_texts(
    translator: yakusu.Translator,
) -> None:
    lines = (FILES / "test.en").read_text().splitlines()
    search = SearchConfig(sampling=SamplingConfig(mbr=6, seed=3))
    chosen = translator.with_settings(search=search)
    together = [best[0].text for best in chosen.stream(lines, batch=4)]
    assert together == [next(chosen.stream([line], batch=1))[0].text for line in lines]
    samples = translator.with_settings(
        search=search.model_copy(update={"n_best": 6, "sampling": SamplingConfig(seed=3)})
    )
    for line, text in zip(lines, together, strict=True):
        drawn = [each.text for each in next(samples.stream([line]))]
        assert text in drawn


def test_more_translations_than_samples_are_refused() -> None:
    with pytest.raises(ValidationError, match="n_best = 3 exceeds mbr = 2"):
        SearchConfig(n_best=3, sampling=SamplingConfig(mbr=2))
