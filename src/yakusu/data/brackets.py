"""A tree as a sentence of brackets, and back: the language that a parser translates into.

    (S (NP (DT The) (NN cat)) (VP (VBD sat)))       a tree as a line of text
    The cat sat                                     the source
    (S (NP DT NN )NP (VP VBD )VP )S                 the target, one token each

As tensor2tensor has it, where the paper's own parser was made: closing brackets carry the label,
and a word is its part-of-speech tag. Vinyals et al. 2015, section 2.2, write XX for every tag,
which gains a little with 40,000 trees; with some thousands tags teach which word is meant.
"""

import re
from collections.abc import Sequence

from yakusu.errors import DataError

UNTAGGED = "XX"
MAX_DEPTH = 200  # brackets; far above any sentence, far below Python's limit on recursion
_NODE = re.compile(r"\s*(?:\(([^\s()]+)\s+(?=\()|\(([^\s()]+)\s+[^\s()]+\)|\))")


def linearised(tree: str) -> list[str]:
    """The tokens of a tree in a line of text, as `one_line` writes it.

    Raises:
        DataError: The line is no such tree, or more than one.
    """
    tokens, open_labels, place = list[str](), list[str](), 0
    while node := _NODE.match(tree, place):
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
        place = node.end()
    if open_labels or not tokens or tree[place:].strip():
        raise DataError(
            f"'{tree}' is no tree: close each bracket once, label each constituent, tag each word"
        )
    return tokens


def bracketed(tokens: Sequence[str], words: Sequence[str]) -> str:
    """The tree of tokens over words, as a line of text.

    Raises:
        DataError: The tokens are no tree, or not one over as many words.
    """
    text, open_labels, left, before = "", list[str](), list(reversed(words)), ""
    for token in tokens:
        inside, empty = bool(open_labels), before.startswith("(")
        if token.startswith("(") and (inside or not before):
            open_labels.append(token[1:])
            text += f" {token}"
        elif is_tag(token) and inside and left:
            text += f" ({token} {left.pop()})"
        elif inside and not empty and token == f"){open_labels[-1]}":
            open_labels.pop()
            text += ")"
        else:
            raise DataError(_no_tree(tokens, words))
        before = token
    if open_labels or left or not text:
        raise DataError(_no_tree(tokens, words))
    return text[1:]


def is_tag(token: str) -> bool:
    """Whether a token stands for a word, and not for a bracket."""
    return not token.startswith(("(", ")"))


def flat(words: Sequence[str]) -> str:
    """The tree that says nothing: all words in one constituent; of no words, nothing."""
    return bracketed(["(TOP", *[UNTAGGED] * len(words), ")TOP"], words) if words else ""


def tree_words(sentence: str) -> list[str]:
    """The words of a sentence, cut at blanks; brackets in them are -LRB- and -RRB-, as in trees."""
    return [word.replace("(", "-LRB-").replace(")", "-RRB-") for word in sentence.split()]


def _no_tree(tokens: Sequence[str], words: Sequence[str]) -> str:
    return f"'{' '.join(tokens)}' is no tree over {len(words)} words: close each bracket once"
