"""Labelled bracket scores of a parser, as EVALB computes them with COLLINS.prm (section 6.3).

    precision = matched / predicted
    recall    = matched / true
    F1        = 2 matched / (predicted + true)

A bracket is (label, index of the first word, index after the last word). Words that the true tree
tags as punctuation are removed before words are numbered. TOP and brackets without words are not
counted; ADVP and PRT are the same label; equal brackets count as often as they occur.

A departure from EVALB: EVALB removes punctuation from each tree according to the tags of that tree,
and skips a sentence if the two trees disagree. Here the tags of the true tree apply to both trees,
so that a wrong tag does not exclude the sentence.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from yakusu.data.trees import bare_label, tags_of, words_of
from yakusu.errors import DataError
from yakusu.metrics import Score

if TYPE_CHECKING:
    from nltk.tree import Tree

DELETED = frozenset(("TOP", "-NONE-", ",", ":", "``", "''", "."))  # DELETE_LABEL, tags included
_SAME = {"PRT": "ADVP"}  # EQ_LABEL
_SIGNATURE = "labelled|evalb:COLLINS|punctuation:by-true-tags"
Bracket = tuple[str, int, int]


@dataclass(frozen=True)
class Matches:
    """Bracket counts of one or several sentences."""

    matched: int
    predicted: int
    true: int
    n_exact: int  # sentences where all brackets match
    n_sentences: int  # sentences with a word other than punctuation

    @property
    def precision(self) -> float:
        """Share of predicted brackets that match, in percent."""
        return _percent(self.matched, self.predicted)

    @property
    def recall(self) -> float:
        """Share of true brackets that match, in percent."""
        return _percent(self.matched, self.true)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in percent."""
        return _percent(2 * self.matched, self.predicted + self.true)

    @property
    def exact(self) -> float:
        """Share of sentences where all brackets match, in percent."""
        return _percent(self.n_exact, self.n_sentences)

    def scores(self) -> list[Score]:
        """Return F1, precision, recall and exact match with their signature."""
        signature = f"{_SIGNATURE}|sentences:{self.n_sentences}"
        values = (self.f1, self.precision, self.recall, self.exact)
        names = ("F1", "precision", "recall", "exact match")
        return [Score(name, value, signature) for name, value in zip(names, values, strict=True)]


def compare_trees(predicted: Sequence["Tree"], true: Sequence["Tree"]) -> list[Matches]:
    """Compare predicted with true trees, sentence by sentence.

    Raises:
        DataError: The numbers of trees differ, or two trees have different words (the message
            gives the number of the sentence).
    """
    if len(predicted) != len(true):
        raise DataError(
            f"there are {len(predicted)} predicted trees and {len(true)} reference trees: provide "
            "one prediction per reference, in the same order"
        )
    pairs = zip(predicted, true, strict=True)
    return [_compare(*pair, number) for number, pair in enumerate(pairs, start=1)]


def total(matches: Iterable[Matches]) -> Matches:
    """Sum the counts of sentences."""
    each = [(m.matched, m.predicted, m.true, m.n_exact, m.n_sentences) for m in matches]
    return Matches(*map(sum, zip(*each, strict=True))) if each else Matches(0, 0, 0, 0, 0)


def _compare(predicted: "Tree", true: "Tree", number: int) -> Matches:
    words, true_words = words_of(predicted), words_of(true)
    if words != true_words:
        pairs = zip([*words, "nothing"], [*true_words, "nothing"], strict=False)
        word, true_word = next(pair for pair in pairs if pair[0] != pair[1])
        raise DataError(
            f"tree {number} has '{word}' where the reference tree has '{true_word}': provide trees "
            "over the same words"
        )
    kept = [tag not in DELETED for tag in tags_of(true)]
    found, expected = brackets(predicted, kept), brackets(true, kept)
    matched = (found & expected).total()
    exact = matched == found.total() == expected.total()
    counted = any(kept)
    return Matches(matched, found.total(), expected.total(), int(exact and counted), int(counted))


def brackets(tree: "Tree", kept: Sequence[bool]) -> Counter[Bracket]:
    """Count the brackets of a tree.

    Args:
        tree: A tree whose lowest nodes are part-of-speech tags.
        kept: For each word, whether it is counted (False: punctuation).
    """
    found: Counter[Bracket] = Counter()
    flags = iter(kept)

    def walk(node: "Tree", begin: int) -> int:
        """Count the brackets of a node that starts at word `begin`; return its end."""
        if isinstance(node[0], str):
            return begin + next(flags)
        end = begin
        for child in node:
            end = walk(child, end)
        label = bare_label(node.label())
        if end > begin and label not in DELETED:
            found[_SAME.get(label, label), begin, end] += 1
        return end

    walk(tree, 0)
    return found


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
