"""What the benchmarks of the tables compute, against answers known beforehand."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yakusu.data.trees import tree_of
from yakusu.errors import DataError, SignalError

common: Any = pytest.importorskip("common", reason="benchmarks are in a checkout alone")
layers: Any = pytest.importorskip("layers")
parsing_f1: Any = pytest.importorskip("parsing_f1")
runs: Any = pytest.importorskip("runs")
table1: Any = pytest.importorskip("table1")
table3: Any = pytest.importorskip("table3")


def test_an_exponent_is_the_slope_of_the_largest_sizes() -> None:
    points = [{"n": n, "seconds": 3 * n**2 if n > 4 else 999} for n in (2, 4, 8, 16, 32)]
    assert table1.exponent(points, "seconds", "n") == pytest.approx(2)


@pytest.mark.parametrize(
    ("kind", "n_layers"),
    [
        ("self-attention", 1),
        ("recurrent", 1),
        ("convolution", 8),  # k = 3, looking back: two positions a layer
        ("convolution, dilated", 3),  # 2 (1 + 3 + 9) positions
        ("convolution, separable", 16),  # k = 3, to both sides: one
        ("self-attention, restricted", 8),  # r = 5, to both sides: two
    ],
)
def test_ends_are_related_after_as_many_layers_as_the_kernel_says(kind: str, n_layers: int) -> None:
    assert table1.dependence(layers.LAYERS[kind], n=17)["layers"] == n_layers


def test_a_recurrent_layer_has_the_longest_chain_and_it_grows_with_n() -> None:
    chains = {
        kind: [table1.dependence(layers.LAYERS[kind], n=n)["chain"] for n in (8, 16)]
        for kind in ("recurrent", "self-attention")
    }
    assert chains["recurrent"][1] - chains["recurrent"][0] >= 8
    assert chains["self-attention"][0] == chains["self-attention"][1]


@pytest.mark.parametrize(
    ("row", "value", "told"),
    [
        ("C, N = 2", 12.0, "as the paper"),  # its perplexity is higher there too
        ("C, N = 2", 10.6, "within the noise"),
        ("big", 12.0, "the other way"),
        ("E, learned positions", 10.4, "no effect, as the paper"),
        ("E, learned positions", 9.0, "an effect, the paper has none"),
    ],
)
def test_an_effect_within_the_spread_of_seeds_is_none(row: str, value: float, told: str) -> None:
    seeds = {"base": {"perplexity": 10.4}, "base, seed 2": {"perplexity": 10.6}}
    base = table3.Base.of(seeds, "perplexity")
    assert (base.mean, base.noise) == (pytest.approx(10.5), pytest.approx(0.2))
    assert table3.verdict(row, "perplexity", value, base) == told


def test_right_branching_trees_open_at_each_word_but_the_last_and_at_no_punctuation() -> None:
    tree = tree_of("(S (NP (DT the) (NN cat)) (, ,) (VP (VBZ sees) (NP (PRP it))) (. .))")
    assert parsing_f1.right_branching(tree, "VP") == (
        "(S (XX the) (VP (XX cat) (XX ,) (VP (XX sees) (XX it) (XX .))))"
    )


def test_folders_are_named_after_what_is_in_them() -> None:
    assert runs.slug("A, h = 1") == "a-h-1"
    assert runs.slug("multi30k 2e+13 1") == "multi30k-2e13-1"


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (DataError("x is empty: give another"), 2, "error: x is empty: give another\n"),
        (SignalError("SIGTERM: stopped", 15), 143, "SIGTERM: stopped\n"),
    ],
)
def test_a_script_says_an_error_in_a_sentence(
    error: Exception, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    start: Callable[[Callable[[], None]], None] = common.start
    with pytest.raises(SystemExit) as exited:
        start(fail)
    assert exited.value.code == code and capsys.readouterr().err == told


def test_every_file_that_the_paper_map_names_is_there() -> None:
    root = Path(common.__file__).parents[1]
    named = re.findall(r"`([\w/.-]+\.(?:py|toml|json))`", (root / "docs/paper-map.md").read_text())
    assert len(named) > 40
    places = (root, root / "src" / "yakusu")
    assert [name for name in named if not any((place / name).exists() for place in places)] == []
