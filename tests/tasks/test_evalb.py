"""Scores of trees equal those that EVALB computes with COLLINS.prm."""

import pytest
from nltk.tree import Tree

from yakusu.data.brackets import delinearise, linearise
from yakusu.data.trees import tree_line, words_of
from yakusu.errors import DataError
from yakusu.tasks.evalb import Matches, compare_trees, total

# True tree, predicted tree and EVALB's counts: matched, true and predicted brackets.
CASES = [
    (
        "(S (NP (DT The) (NN baker)) (VP (VBD sold) (NP (DT the) (NN bread))) (. .))",
        "(S (NP (DT The) (NN baker)) (VP (VBD sold) (NP (DT the) (NN bread))) (. .))",
        (4, 4, 4),
    ),
    (  # PRT equals ADVP, and the full stop is not counted
        "(S (NP (PRP She)) (VP (VBD put) (NP (PRP it)) (ADVP (RB down))) (. .))",
        "(S (NP (PRP She)) (VP (VBD put) (NP (PRP it)) (PRT (RB down)) (. .)))",
        (5, 5, 5),
    ),
    (  # quotes and commas are removed inside constituents
        "(S (`` ``) (NP (NNP Ann)) (, ,) ('' '') (VP (VBZ is) (ADJP (RB very) (JJ glad))) (. .))",
        "(S (NP (`` ``) (NNP Ann) (, ,) ('' '')) (VP (VBZ is) (ADVP (RB very)) (ADJP (JJ glad)))"
        " (. .))",
        (3, 4, 5),
    ),
    (
        "(NP (NP (NP (NN rain)) (CC and) (NP (NN wind))) (PP (IN in) (NP (NNP May))))",
        "(NP (NP (NN rain)) (CC and) (NP (NP (NN wind)) (PP (IN in) (NP (NNP May)))))",
        (5, 6, 6),
    ),
    (  # equal brackets count as often as they occur
        "(S (NP (NP (NNS boats))) (VP (VBP sail) (PP (IN to) (NP (NNP Malta))) (PP (IN in)"
        " (NP (NN spring)))) (: ;))",
        "(S (NP (NNS boats)) (VP (VBP sail) (PP (IN to) (NP (NP (NNP Malta)) (PP (IN in)"
        " (NP (NN spring)))))) (: ;))",
        (6, 8, 8),
    ),
    ("(FRAG (. !))", "(FRAG (. !))", (0, 0, 0)),  # only punctuation: not counted
    (  # -LRB- is not punctuation
        "(S (PRN (-LRB- -LRB-) (NP (CD two)) (-RRB- -RRB-)) (NP (NNS doors)) (VP (VBD shut)))",
        "(S (S (S (NP (-LRB- -LRB-) (CD two) (-RRB- -RRB-)) (NP (NNS doors)) (VP (VBD shut)))))",
        (3, 5, 6),
    ),
]


def trees(column: int) -> list[Tree]:
    return [Tree.fromstring(str(row[column])) for row in CASES]


def test_counts_of_each_sentence_equal_those_of_evalb() -> None:
    found = [(m.matched, m.true, m.predicted) for m in compare_trees(trees(1), trees(0))]
    assert found == [row[2] for row in CASES]


def test_scores_of_the_corpus_equal_those_of_evalb() -> None:
    whole = total(compare_trees(trees(1), trees(0)))
    assert whole == Matches(matched=26, predicted=34, true=32, n_exact=2, n_sentences=6)
    assert [f"{score.name} {score.value:.2f}" for score in whole.scores()] == [
        "F1 78.79",
        "precision 76.47",
        "recall 81.25",
        "exact match 33.33",
    ]
    assert "sentences:6" in str(whole.scores()[0])


def test_tags_of_the_true_tree_apply_to_both_trees() -> None:
    made = [
        Tree.fromstring(delinearise(linearise(tree_line(tree)), words_of(tree)))
        for tree in trees(1)
    ]
    assert compare_trees(made, trees(0)) == compare_trees(trees(1), trees(0))


def test_top_is_not_counted() -> None:
    bare, topped = Tree.fromstring("(S (VP (VB Go)))"), Tree.fromstring("(TOP (S (VP (VB Go))))")
    assert compare_trees([topped], [bare]) == [Matches(2, 2, 2, 1, 1)]


def test_the_score_of_no_sentences_is_zero() -> None:
    assert total([]).scores()[0].value == 0.0


def test_trees_over_different_words_are_reported_with_their_number() -> None:
    go, stop = Tree.fromstring("(S (VP (VB Go)))"), Tree.fromstring("(S (VP (VB Stop)))")
    long = Tree.fromstring("(S (VP (VB Go)) (. .))")
    with pytest.raises(DataError, match="tree 2 has 'Go' where the reference tree has 'Stop'"):
        compare_trees([go, go], [go, stop])
    with pytest.raises(DataError, match=r"tree 1 has '\.' where the reference tree has 'nothing'"):
        compare_trees([long], [go])
    with pytest.raises(DataError, match=r"tree 1 has 'nothing' where the reference tree has '\.'"):
        compare_trees([go], [long])
    with pytest.raises(DataError, match="there are 1 predicted trees and 2 reference trees"):
        compare_trees([go], [go, go])
