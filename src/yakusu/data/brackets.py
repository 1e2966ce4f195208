"""Trees as token sequences: the target language of a parser (section 6.3).

    (S (NP (DT The) (NN cat)) (VP (VBD sat)))       a tree as a line of text
    The cat sat                                     the source
    (S (NP DT NN )NP (VP VBD )VP )S                 the target, separated by spaces

As in tensor2tensor, where the parser of the paper was trained, closing brackets carry their label
and a word is replaced by its part-of-speech tag. Vinyals et al. 2015, section 2.2, replace every
tag with XX, which helps slightly with 40,000 trees; with a few thousand trees, tags help to align
output tokens with words.
"""

import re
from collections.abc import Sequence

from yakusu.errors import DataError

UNTAGGED = "XX"
MAX_DEPTH = 200  # nested brackets; far more than in any sentence, far below the recursion limit
_NODE = re.compile(r"\s*(?:\(([^\s()]+)\s+(?=\()|\(([^\s()]+)\s+[^\s()]+\)|\))")
# "(S (NP (DT The)" and "( (S (DT The)" begin trees: uppercase labels around a tagged word.
# "((see above)" and "((ALL RIGHT))" do not.
_TREE_START = re.compile(r"\s*\((?:\s*\()?(?:[^\sa-z()]+\s*\()+[^\sa-z()]+\s+[^\s()]+\s*\)")


def linearise(tree: str) -> list[str]:
    """Convert a tree, as written by `trees.tree_line`, to target tokens.

    Raises:
        DataError: The line is not exactly one tree.
    """
    tokens, open_labels, position = list[str](), list[str](), 0
    while node := _NODE.match(tree, position):
        label, tag = node.groups()
        if label and (open_labels or not tokens):
            open_labels.append(label)
            tokens.append(f"({label}")
        elif tag and open_labels:
            tokens.append(tag)
        elif open_labels:
            tokens.append(f"){open_labels.pop()}")
        else:
            break
        position = node.end()
    if open_labels or not tokens or tree[position:].strip():
        raise DataError(
            f"'{tree}' is not a tree: close each bracket once, label each constituent and tag each "
            "word"
        )
    return tokens


def delinearise(tokens: Sequence[str], words: Sequence[str]) -> str:
    """Convert target tokens back to a tree over `words`, as a line of text.

    Raises:
        DataError: The tokens are not exactly one tree, or have a different number of words.
    """
    text, open_labels, remaining, previous = "", list[str](), list(reversed(words)), ""
    for token in tokens:
        inside, empty = bool(open_labels), previous.startswith("(")
        if token.startswith("(") and (inside or not previous):
            open_labels.append(token[1:])
            text += f" {token}"
        elif is_tag(token) and inside and remaining:
            text += f" ({token} {remaining.pop()})"
        elif inside and not empty and token == f"){open_labels[-1]}":
            open_labels.pop()
            text += ")"
        else:
            raise DataError(_not_a_tree(tokens, words))
        previous = token
    if open_labels or remaining or not text:
        raise DataError(_not_a_tree(tokens, words))
    return text[1:]


def _not_a_tree(tokens: Sequence[str], words: Sequence[str]) -> str:
    return f"'{' '.join(tokens)}' is not a tree over {len(words)} words: close each bracket once"


def is_tag(token: str) -> bool:
    """Whether a target token represents a word rather than a bracket."""
    return not token.startswith(("(", ")"))


def flat_tree(words: Sequence[str]) -> str:
    """Return the tree with all words in one constituent, as a line of text ("" without words)."""
    return delinearise(["(TOP", *[UNTAGGED] * len(words), ")TOP"], words) if words else ""


def tree_words(sentence: str) -> list[str]:
    """Split a sentence at white space; brackets in words become -LRB- and -RRB-, as in trees."""
    return [word.replace("(", "-LRB-").replace(")", "-RRB-") for word in sentence.split()]


def begins_as_tree(text: str) -> bool:
    """Whether a text begins like a bracketed tree."""
    return bool(_TREE_START.match(text))
