"""Statistics of heads are what brute force finds sentence by sentence, without any padding."""

import math
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest
import torch

from yakusu.errors import DataError
from yakusu.translator import Translator
from yakusu.view import HeadStatistics, attention_maps, head_statistics
from yakusu.view.maps import MAX_TOKENS

SENTENCES = ["the", "red boat", "small clouds sails home", "two", "under the slowly red boat home"]
PAIRS = list(zip(SENTENCES, SENTENCES[::-1], strict=True)) * 4  # more than one batch
MEASURES = ("entropy", "maximum", "distance", "previous", "itself", "eos", "start")


def by_hand(translator: Translator) -> list[HeadStatistics]:
    """The same, row by row in plain Python."""
    rows: dict[tuple[str, int, int], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for src, tgt in PAIRS:
        for role, weights in attention_maps(translator, src, tgt).weights.items():
            for layer, head, i in np.ndindex(weights.shape[:3]):
                row = weights[layer, head, i].tolist()
                seen = rows[role, layer + 1, head + 1]
                seen["entropy"].append(-sum(w * math.log(w) for w in row if w))
                seen["maximum"].append(max(row))
                if role == "cross":
                    n, k = weights.shape[2], len(row)
                    far = [abs((i + 0.5) / n - (j + 0.5) / k) for j in range(k)]
                else:
                    far = [abs(i - j) for j in range(len(row))]
                    seen["itself"].append(row[i])
                    seen["previous"] += row[i - 1 : i] if i else []
                seen["distance"].append(sum(w * d for w, d in zip(row, far, strict=True)))
                seen["start" if role == "decoder" else "eos"].append(
                    row[0] if role == "decoder" else row[-1]
                )
    return [
        HeadStatistics(*place, **{name: float(np.mean(seen[name])) for name in seen})
        for place, seen in rows.items()
    ]


def test_statistics_equal_brute_force_on_single_sentences(translator: Translator) -> None:
    found, expected = head_statistics(translator, PAIRS), by_hand(translator)
    assert (found.n_pairs, found.n_left_out) == (20, 0)
    assert len(found.heads) == len(expected) == 3 * 2 * 4
    for one, other in zip(found.heads, expected, strict=True):
        assert (one.role, one.layer, one.head) == (other.role, other.layer, other.head)
        for name in MEASURES:
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-5), name


def test_heads_that_attend_to_all_alike_have_the_numbers_of_uniform_weights(
    translator: Translator,
) -> None:
    with torch.no_grad():
        for layers in translator.model.attention_layers().values():
            for layer in layers:
                layer.w_qkv.zero_()
    src, tgt = "red boat", "two small clouds"
    maps = attention_maps(translator, src, tgt)
    n_src, n_tgt = len(maps.source), len(maps.target)
    seen = 1 / np.arange(1, n_tgt + 1)  # decoder row t sees t + 1 tokens
    for head in head_statistics(translator, [(src, tgt)]).heads:
        if head.role == "decoder":
            assert head.entropy == pytest.approx(-np.log(seen).mean(), abs=1e-6)
            assert head.maximum == head.itself == head.start == pytest.approx(seen.mean())
            assert head.previous == pytest.approx(seen[1:].mean())
            assert head.distance == pytest.approx(np.arange(n_tgt).mean() / 2)
            assert head.eos is None
        else:
            assert head.entropy == pytest.approx(math.log(n_src))
            assert head.maximum == head.eos == pytest.approx(1 / n_src)
            assert head.start is None


def test_pairs_that_cannot_be_looked_at_are_counted_and_left_out(translator: Translator) -> None:
    bad = [("", "boat"), ("boat", ""), ("boat " * MAX_TOKENS, "boat")]
    found = head_statistics(translator, [*PAIRS, *bad])
    assert (found.n_pairs, found.n_left_out) == (20, 3)
    for one, other in zip(found.heads, head_statistics(translator, PAIRS).heads, strict=True):
        assert one.entropy == pytest.approx(other.entropy, abs=1e-6)


def test_a_corpus_with_nothing_to_look_at_is_refused(
    make_translator: Callable[..., Translator],
) -> None:
    short = make_translator(positions="learned", max_positions=9)
    with pytest.raises(DataError, match=r"none of 2 pairs can be looked at: .* at most 9 tokens"):
        head_statistics(short, [("", ""), ("boat " * 9, "boat")])
