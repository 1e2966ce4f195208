"""Bracketed trees -> clean constituency trees, as the parsing literature trains and scores them.

    ( (S (NP-SBJ-1 (DT The) (NN cat)) (VP (VBD sat) (NP (-NONE- *-1))) (. .)) )
    (S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .))

Traces (-NONE-) go, with the constituents that they leave empty; so do function labels, indices, and
the outer pair of brackets: without a label, or labelled TOP or ROOT.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from yakusu.data.brackets import MAX_DEPTH
from yakusu.data.text import raw_lines
from yakusu.errors import DataError, RunError

try:
    from nltk.tree import Tree
except ModuleNotFoundError as error:
    raise RunError(f"trees need {error.name}: pip install 'yakusu[parse]'") from error

TRACE = "-NONE-"
OUTER = ("", "TOP", "ROOT")
_TEXT = r"[^\s()]+"  # a label, a tag, a word; nltk's own pattern takes "\)" for a part of one


def read_trees(files: Iterable[Path]) -> Iterator[Tree]:
    """The clean trees of files, one a line or each over several lines (.gz too).

    A sentence of nothing but traces is left out.

    Raises:
        DataError: A tree is broken (its file and line are named), or a file cannot be read.
    """
    for path in files:
        for place, text in _split(raw_lines(path), path):
            if (tree := clean(_parse(text, place))) is not None:
                yield tree


def clean(tree: Tree) -> Tree | None:
    """A tree without traces, function labels and outer brackets; None if no word is left.

    Several constituents, or a word that stands in none, keep an outer pair, labelled TOP.
    """
    bare = _without_traces(tree)
    while bare is not None and bare.label() in OUTER and len(bare) == 1 and _inner(bare[0]):
        bare = bare[0]
    if bare is None or (_inner(bare) and bare.label() not in OUTER):
        return bare
    return Tree("TOP", list(bare) if _inner(bare) else [bare])


def tree_of(line: str) -> Tree:
    """The tree that `one_line` wrote."""
    return Tree.fromstring(line, node_pattern=_TEXT, leaf_pattern=_TEXT)


def tree_over(words: Sequence[str], text: str) -> Tree:
    """The clean tree of a text, which is one over these words.

    Raises:
        DataError: It is not.
    """
    trees = [clean(_parse(found, "the tree")) for _, found in _split([text], "the tree")]
    if len(trees) != 1 or trees[0] is None or words_of(trees[0]) != list(words):
        raise DataError(f"'{text.strip()}' is no tree over '{' '.join(words)}'")
    return trees[0]


def words_of(tree: Tree) -> list[str]:
    """The words of a tree, in order."""
    return [str(word) for word in tree.leaves()]


def tags_of(tree: Tree) -> list[str]:
    """The part-of-speech tag of each word."""
    return [str(tag) for _, tag in tree.pos()]


def one_line(tree: Tree) -> str:
    """A tree as a line of text, "(S (NP (DT The) (NN cat)) (VP (VBD sat)))"."""
    return str(tree.pformat(margin=2**31))


def bare_label(label: str) -> str:
    """A label without function and index: NP-SBJ-1 and NP=2 are NP; -LRB-, =2 and ADVP|PRT stay."""
    return re.split("[-=]", label, maxsplit=1)[0] or label


def _inner(node: Tree | str) -> bool:
    """Whether a node is a constituent: neither a word nor a tag with its word."""
    return isinstance(node, Tree) and isinstance(node[0], Tree)


def _without_traces(tree: Tree) -> Tree | None:
    if not _inner(tree):
        return None if tree.label() == TRACE else tree
    children = [kept for child in tree if (kept := _without_traces(child)) is not None]
    return Tree(bare_label(tree.label()), children) if children else None


def _split(lines: Iterable[str], path: Path | str) -> Iterator[tuple[str, str]]:
    """Each tree's text with the file and line where it begins."""
    depth, begun, parts = 0, 0, list[str]()
    for number, line in enumerate(lines, start=1):
        last = 0
        for bracket in re.finditer("[()]", line):
            if not depth:
                _refuse_stray(line[last : bracket.start()], path, number)
                begun, last = number, bracket.start()
            depth += 1 if bracket[0] == "(" else -1
            if depth < 0 or depth > MAX_DEPTH:
                fault = "a closing bracket too many" if depth < 0 else f"{depth} brackets deep"
                raise DataError(f"{path}, line {number}: {fault}: mend the tree or remove it")
            if not depth:
                yield f"{path}, line {begun}", "".join([*parts, line[last : bracket.end()]])
                parts, last = [], bracket.end()
        if depth:
            parts.append(f"{line[last:]} ")
        else:
            _refuse_stray(line[last:], path, number)
    if depth:
        raise DataError(
            f"{path}, line {begun}: the tree that begins here does not end: close its brackets"
        )


def _refuse_stray(text: str, path: Path | str, line: int) -> None:
    if text.strip():
        shown = text.strip()[:20]
        raise DataError(f"{path}, line {line}: '{shown}' stands outside a tree: write (S ...)")


def _parse(text: str, place: str) -> Tree:
    """Read one tree whose brackets are balanced.

    Raises:
        DataError: A bracket holds nothing, or words beside brackets, or has no label.
    """
    tree = tree_of(text)
    for node in tree.subtrees():
        words = [child for child in node if isinstance(child, str)]
        if not len(node) or (words and len(node) > 1) or (words and not node.label()):
            fault = "is neither (LABEL TREE ...) nor (TAG word): mend it"
        elif not node.label() and node is not tree:
            fault = "has no label: only the outer brackets may lack it"
        else:
            continue
        shown = " ".join(one_line(node).split())[:40]
        raise DataError(f"{place}: '{shown}' {fault}")
    return tree
