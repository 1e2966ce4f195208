"""Trees as target tokens: the paper's example, round trips and invalid trees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.brackets import begins_as_tree, delinearise, flat_tree, linearise, tree_words
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


def test_linearisation_of_the_example_of_vinyals_et_al() -> None:
    # Figure 2 of Grammar as a Foreign Language: "John has a dog ."
    tree = "(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))"
    tokens = ["(S", "(NP", "NNP", ")NP", "(VP", "VBZ", "(NP", "DT", "NN", ")NP", ")VP", ".", ")S"]
    assert linearise(tree) == tokens
    assert delinearise(tokens, ["John", "has", "a", "dog", "."]) == tree


@given(TREES)
def test_delinearise_inverts_linearise(tree: str) -> None:
    tokens = linearise(tree)
    assert delinearise(tokens, ["w"] * tokens.count("XX")) == tree


@pytest.mark.parametrize(
    "tokens",
    [
        "",
        "XX XX",
        "(S XX XX",  # no end
        "(S XX XX )NP",  # different label
        "(S XX )S",  # one word too few
        "(S XX XX XX )S",  # one word too many
        "(S (NP )NP XX XX )S",  # an empty constituent
        "(S XX XX )S )S",
        "(S XX )S (S XX )S",  # two trees
    ],
)
def test_tokens_that_are_not_a_tree_are_rejected(tokens: str) -> None:
    with pytest.raises(DataError, match="is not a tree over 2 words"):
        delinearise(tokens.split(), ["a", "b"])


def test_a_flat_tree_contains_all_words() -> None:
    assert flat_tree(["a", "b"]) == "(TOP (XX a) (XX b))"
    assert flat_tree([]) == ""


def test_brackets_in_words_are_escaped_as_in_trees() -> None:
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
        "(NN x)",  # a single tag
        "(S )",
    ],
)
def test_a_line_that_is_not_a_tree_is_rejected(line: str) -> None:
    with pytest.raises(DataError, match="is not a tree: close each bracket once"):
        linearise(line)


@pytest.mark.parametrize(
    "tree", ["(S (NP (DT The) (NN cat)))", "( (S (NP-SBJ-1 (DT the)", "(X (. .))"]
)
def test_trees_are_recognised_by_their_beginning(tree: str) -> None:
    assert begins_as_tree(tree)


@pytest.mark.parametrize(
    "words", ["((see below) he said", "((MUSIC PLAYING))", "(A (big cat) sat)"]
)
def test_sentences_in_brackets_are_not_trees(words: str) -> None:
    assert not begins_as_tree(words)
