"""How good a parser is: labelled brackets as EVALB counts them with COLLINS.prm.

    precision = matched / made      recall = matched / true      F1 = 2 matched / (made + true)

A bracket is (label, first word, one past the last word). Words that the true tree tags as
punctuation are taken out first and the rest numbered anew; TOP is no bracket, nor is one that is
left without words; ADVP and PRT are one label; equal brackets count as often as they occur.

EVALB takes out punctuation by each tree's own tags, and refuses a sentence whose trees differ in
that. Here the true tree's tags hold for both, so that a wrong tag costs a parser nothing else.
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

DELETED = frozenset(("TOP", "-NONE-", ",", ":", "``", "''", "."))  # DELETE_LABEL, tag or not
_SAME = {"PRT": "ADVP"}  # EQ_LABEL
_SIGNATURE = "labelled|evalb:COLLINS|punctuation:by-true-tags"
Bracket = tuple[str, int, int]


@dataclass(frozen=True)
class Matches:
    """Brackets of one sentence or of many."""

    matched: int
    made: int
    true: int
    n_exact: int  # sentences of which all brackets match
    n_sentences: int  # those with a word that is no punctuation

    @property
    def precision(self) -> float:
        """Matched of those made, in per cent."""
        return _percent(self.matched, self.made)

    @property
    def recall(self) -> float:
        """Matched of the true ones, in per cent."""
        return _percent(self.matched, self.true)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, in per cent."""
        return _percent(2 * self.matched, self.made + self.true)

    @property
    def exact(self) -> float:
        """Sentences that match wholly, in per cent."""
        return _percent(self.n_exact, self.n_sentences)

    def scores(self) -> list[Score]:
        """F1, precision, recall and exact match, with how they were made."""
        signature = f"{_SIGNATURE}|sentences:{self.n_sentences}"
        values = (self.f1, self.precision, self.recall, self.exact)
        names = ("F1", "precision", "recall", "exact match")
        return [Score(name, value, signature) for name, value in zip(names, values, strict=True)]


def compare(made: Sequence["Tree"], true: Sequence["Tree"]) -> list[Matches]:
    """Compare trees with the true ones, sentence by sentence.

    Raises:
        DataError: There are more of the one, or a sentence has other words; its number is named.
    """
    if len(made) != len(true):
        raise DataError(
            f"there are {len(made)} trees and {len(true)} true ones: align them one by one"
        )
    return [_compare(*pair, number) for number, pair in enumerate(zip(made, true, strict=True), 1)]


def total(matches: Iterable[Matches]) -> Matches:
    """All sentences as one: brackets are summed, not percentages."""
    each = [(m.matched, m.made, m.true, m.n_exact, m.n_sentences) for m in matches]
    return Matches(*map(sum, zip(*each, strict=True))) if each else Matches(0, 0, 0, 0, 0)


def _compare(made: "Tree", true: "Tree", number: int) -> Matches:
    words, true_words = words_of(made), words_of(true)
    if words != true_words:
        pairs = zip([*words, "nothing"], [*true_words, "nothing"], strict=False)
        word, true_word = next(pair for pair in pairs if pair[0] != pair[1])
        raise DataError(
            f"tree {number} has '{word}' where the true one has '{true_word}': give trees over the "
            "same words"
        )
    kept = [tag not in DELETED for tag in tags_of(true)]
    ours, theirs = brackets(made, kept), brackets(true, kept)
    matched = (ours & theirs).total()
    exact = matched == ours.total() == theirs.total()
    counted = any(kept)
    return Matches(matched, ours.total(), theirs.total(), int(exact and counted), int(counted))


def brackets(tree: "Tree", kept: Sequence[bool]) -> Counter[Bracket]:
    """The brackets of a tree that count.

    Args:
        tree: With the part-of-speech tags as its lowest nodes.
        kept: For each word whether it counts.
    """
    found: Counter[Bracket] = Counter()
    flags = iter(kept)

    def walk(node: "Tree", begin: int) -> int:
        """Note the brackets of a node; return where it ends."""
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
