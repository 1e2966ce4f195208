"""Statistics equal a brute-force computation, sentence by sentence without padding."""

import math
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.translators import network_of
from yakusu.errors import DataError
from yakusu.translator import Translator
from yakusu.view import HeadStatistics, attention_maps, head_statistics
from yakusu.view.maps import MAX_TOKENS

SENTENCES = ["the", "red boat", "small clouds sails home", "two", "under the slowly red boat home"]
PAIRS = list(zip(SENTENCES, SENTENCES[::-1], strict=True)) * 4  # more than one batch
STATISTICS = ("entropy", "maximum", "distance", "previous", "itself", "eos", "start")


def brute_force(translator: Translator) -> list[HeadStatistics]:
    """Compute the statistics row by row in plain Python."""
    rows: dict[tuple[str, int, int], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for src, tgt in PAIRS:
        for role, weights in attention_maps(translator, src, tgt).weights.items():
            for layer, head, i in np.ndindex(weights.shape[:3]):
                row = weights[layer, head, i].tolist()
                values = rows[role, layer + 1, head + 1]
                values["entropy"].append(-sum(w * math.log(w) for w in row if w))
                values["maximum"].append(max(row))
                if role == "cross":
                    n, k = weights.shape[2], len(row)
                    distances = [abs((i + 0.5) / n - (j + 0.5) / k) for j in range(k)]
                else:
                    distances = [abs(i - j) for j in range(len(row))]
                    values["itself"].append(row[i])
                    values["previous"] += row[i - 1 : i] if i else []
                values["distance"].append(sum(w * d for w, d in zip(row, distances, strict=True)))
                values["start" if role == "decoder" else "eos"].append(
                    row[0] if role == "decoder" else row[-1]
                )
    return [
        HeadStatistics(*place, **{name: float(np.mean(values[name])) for name in values})
        for place, values in rows.items()
    ]


def test_statistics_equal_brute_force_on_single_sentences(translator: Translator) -> None:
    found, expected = head_statistics(translator, PAIRS), brute_force(translator)
    assert (found.n_pairs, found.n_left_out) == (20, 0)
    assert len(found.heads) == len(expected) == 3 * 2 * 4
    for one, other in zip(found.heads, expected, strict=True):
        assert (one.role, one.layer, one.head) == (other.role, other.layer, other.head)
        for name in STATISTICS:
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-5), name


def test_uniform_attention_has_the_known_statistics(torch_translator: Translator) -> None:
    translator = torch_translator
    with torch.no_grad():
        for layers in network_of(translator).attention_layers().values():
            for layer in layers:
                layer.w_qkv.zero_()
    src, tgt = "red boat", "two small clouds"
    maps = attention_maps(translator, src, tgt)
    n_src, n_tgt = len(maps.source), len(maps.target)
    uniform = 1 / np.arange(1, n_tgt + 1)  # decoder row t attends to t + 1 tokens
    for head in head_statistics(translator, [(src, tgt)]).heads:
        if head.role == "decoder":
            assert head.entropy == pytest.approx(-np.log(uniform).mean(), abs=1e-6)
            assert head.maximum == head.itself == head.start == pytest.approx(uniform.mean())
            assert head.previous == pytest.approx(uniform[1:].mean())
            assert head.distance == pytest.approx(np.arange(n_tgt).mean() / 2)
            assert head.eos is None
        else:
            assert head.entropy == pytest.approx(math.log(n_src))
            assert head.maximum == head.eos == pytest.approx(1 / n_src)
            assert head.start is None


def test_empty_and_long_pairs_are_left_out_and_counted(translator: Translator) -> None:
    bad = [("", "boat"), ("boat", ""), ("boat " * MAX_TOKENS, "boat")]
    found = head_statistics(translator, [*PAIRS, *bad])
    assert (found.n_pairs, found.n_left_out) == (20, 3)
    for one, other in zip(found.heads, head_statistics(translator, PAIRS).heads, strict=True):
        assert one.entropy == pytest.approx(other.entropy, abs=1e-6)


def test_a_corpus_without_usable_pairs_is_rejected(
    make_translator: Callable[..., Translator],
) -> None:
    short = make_translator(positions="learned", max_positions=9)
    with pytest.raises(DataError, match=r"none of the 2 pairs .* 9 source and 9 target tokens"):
        head_statistics(short, [("", ""), ("boat " * 9, "boat")])
