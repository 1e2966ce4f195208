"""Trees as sentences of brackets: the paper's example, round trips, and what is no tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.brackets import bracketed, flat, linearised, tree_words
from yakusu.errors import DataError

# A tree over the words "w", as a line of text.
TREES = st.recursive(
    st.just("(XX w)"),
    lambda trees: st.builds(
        lambda label, children: f"({label} {' '.join(children)})",
        st.sampled_from(["S", "NP", "ADVP", "WHNP", "-LRB-X"]),
        st.lists(trees, min_size=1, max_size=3),
    ),
    max_leaves=12,
).filter(lambda text: text != "(XX w)")


def test_the_example_of_vinyals_et_al_with_its_tags() -> None:
    # Figure 2 of Grammar as a Foreign Language: "John has a dog ."
    tree = "(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))"
    tokens = ["(S", "(NP", "NNP", ")NP", "(VP", "VBZ", "(NP", "DT", "NN", ")NP", ")VP", ".", ")S"]
    assert linearised(tree) == tokens
    assert bracketed(tokens, ["John", "has", "a", "dog", "."]) == tree


@given(TREES)
def test_a_tree_comes_back_from_its_tokens(tree: str) -> None:
    tokens = linearised(tree)
    assert bracketed(tokens, ["w"] * tokens.count("XX")) == tree


@pytest.mark.parametrize(
    "tokens",
    [
        "",
        "XX XX",
        "(S XX XX",  # without its end
        "(S XX XX )NP",  # another label
        "(S XX )S",  # a word too few
        "(S XX XX XX )S",  # a word too many
        "(S (NP )NP XX XX )S",  # an empty constituent
        "(S XX XX )S )S",
        "(S XX )S (S XX )S",  # two trees
    ],
)
def test_tokens_that_are_no_tree_are_refused(tokens: str) -> None:
    with pytest.raises(DataError, match="is no tree over 2 words"):
        bracketed(tokens.split(), ["a", "b"])


def test_a_flat_tree_holds_all_words() -> None:
    assert flat(["a", "b"]) == "(TOP (XX a) (XX b))"
    assert flat([]) == ""


def test_brackets_in_words_are_written_as_in_trees() -> None:
    assert tree_words("  all (or  none) ") == ["all", "-LRB-or", "none-RRB-"]


@pytest.mark.parametrize(
    "line",
    [
        "(S (NP (NN x)",
        "(S (NN x)) )",
        "( (S (NN x)))",
        "Die Katze",
        "",
        "(S (NN x) bar)",  # a word without a tag
        "(S (NP (NN a) b) (VP (VB c)))",
        "foo (S (NN x))",
        "(S (NN x)) bar",
        "(S (NN x)) (S (NN y))",
        "(NN x)",  # a tag alone
        "(S )",
    ],
)
def test_a_line_that_is_no_tree_is_refused(line: str) -> None:
    with pytest.raises(DataError, match="is no tree: close each bracket once"):
        linearised(line)
