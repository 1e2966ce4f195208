"""Constituency trees: read bracketed files and clean them for training and scoring.

    ( (S (NP-SBJ-1 (DT The) (NN cat)) (VP (VBD sat) (NP (-NONE- *-1))) (. .)) )
    (S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .))

Cleaning removes traces (-NONE-), constituents that become empty, function labels and indices, and
the outer pair of brackets, which has no label or the label TOP or ROOT.

This module needs nltk (extra 'parse'); `brackets` and `tree_files` work without it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from yakusu.data.brackets import MAX_DEPTH
from yakusu.data.files.text import raw_lines
from yakusu.errors import DataError, RunError

try:
    from nltk.tree import Tree
except ModuleNotFoundError as error:
    raise RunError(
        f"trees need {error.name}: install yakusu with its extra 'parse', as in "
        "pip install '.[parse]'"
    ) from error

TRACE = "-NONE-"
OUTER = ("", "TOP", "ROOT")
_TEXT = r"[^\s()]+"  # a label, a tag or a word; nltk's default pattern includes "\)"


def read_trees(files: Iterable[Path]) -> Iterator[Tree]:
    """Read and clean the trees of files (.gz too); a tree may span several lines.

    A tree that consists of traces only is skipped.

    Raises:
        DataError: A tree is malformed (the message names the file and line), or a file cannot be
            read.
    """
    for path in files:
        for place, text in _split(raw_lines(path), path):
            if (tree := clean(_parse(text, place))) is not None:
                yield tree


def clean(tree: Tree) -> Tree | None:
    """Remove traces, function labels and outer brackets; return None if no word remains.

    Outer brackets around several constituents or a single tagged word are kept and labelled TOP.
    """
    bare = _without_traces(tree)
    while bare is not None and bare.label() in OUTER and len(bare) == 1 and _is_inner(bare[0]):
        bare = bare[0]
    if bare is None or (_is_inner(bare) and bare.label() not in OUTER):
        return bare
    return Tree("TOP", list(bare) if _is_inner(bare) else [bare])


def _without_traces(tree: Tree) -> Tree | None:
    if not _is_inner(tree):
        return None if tree.label() == TRACE else tree
    children = [kept for child in tree if (kept := _without_traces(child)) is not None]
    return Tree(bare_label(tree.label()), children) if children else None


def _is_inner(node: Tree | str) -> bool:
    """Whether a node is a constituent, rather than a word or a tag with its word."""
    return isinstance(node, Tree) and isinstance(node[0], Tree)


def constituents(tree: Tree) -> Iterator[Tree]:
    """Yield the constituents of a tree that have at least two words, but not all of them.

    Of several constituents with the same words, only the highest is yielded.
    """
    for node in tree.subtrees(_is_inner):
        if len(node) > 1:
            yield from (each for each in node if _is_inner(each) and len(each.leaves()) > 1)


def bare_label(label: str) -> str:
    """Remove function and index: NP-SBJ-1 and NP=2 -> NP; -LRB-, =2 and ADVP|PRT are unchanged."""
    return re.split("[-=]", label, maxsplit=1)[0] or label


def words_of(tree: Tree) -> list[str]:
    """Return the words of a tree, in order."""
    return [str(word) for word in tree.leaves()]


def tags_of(tree: Tree) -> list[str]:
    """Return the part-of-speech tag of each word."""
    return [str(tag) for _, tag in tree.pos()]


def tree_line(tree: Tree) -> str:
    """Format a tree as a line of text: "(S (NP (DT The) (NN cat)) (VP (VBD sat)))"."""
    return str(tree.pformat(margin=2**31))


def tree_of(line: str) -> Tree:
    """Parse a line written by `tree_line`."""
    return Tree.fromstring(line, node_pattern=_TEXT, leaf_pattern=_TEXT)


def tree_over(words: Sequence[str], text: str) -> Tree:
    """Parse and clean the text of one tree, and check that its words are `words`.

    Raises:
        DataError: The text is malformed, or is not one tree over these words.
    """
    trees = [clean(_parse(found, "the tree")) for _, found in _split([text], "the tree")]
    if len(trees) != 1 or trees[0] is None or words_of(trees[0]) != list(words):
        raise DataError(
            f"'{text.strip()}' is not a tree over '{' '.join(words)}': use the same words, in order"
        )
    return trees[0]


def _split(lines: Iterable[str], path: Path | str) -> Iterator[tuple[str, str]]:
    """Yield the file and line where each tree begins, and its text."""
    depth, first_line, parts = 0, 0, list[str]()
    for number, line in enumerate(lines, start=1):
        last = 0
        for bracket in re.finditer("[()]", line):
            if not depth:
                _check_blank(line[last : bracket.start()], path, number)
                first_line, last = number, bracket.start()
            depth += 1 if bracket[0] == "(" else -1
            if depth < 0 or depth > MAX_DEPTH:
                fault = "unmatched closing bracket" if depth < 0 else f"{depth} nested brackets"
                raise DataError(f"{path}, line {number}: {fault}: correct or remove the tree")
            if not depth:
                yield f"{path}, line {first_line}", "".join([*parts, line[last : bracket.end()]])
                parts, last = [], bracket.end()
        if depth:
            parts.append(f"{line[last:]} ")
        else:
            _check_blank(line[last:], path, number)
    if depth:
        raise DataError(
            f"{path}, line {first_line}: the tree that begins here has no end: close its brackets"
        )


def _check_blank(text: str, path: Path | str, line: int) -> None:
    if text.strip():
        shown = text.strip()[:20]
        raise DataError(f"{path}, line {line}: '{shown}' is outside a tree: write (S ...)")


def _parse(text: str, place: str) -> Tree:
    """Parse one tree with balanced brackets.

    Raises:
        DataError: A bracket is empty, mixes words and brackets, or has no label.
    """
    tree = tree_of(text)
    for node in tree.subtrees():
        words = [child for child in node if isinstance(child, str)]
        if not len(node) or (words and len(node) > 1) or (words and not node.label()):
            fault = "is neither (LABEL TREE ...) nor (TAG word): correct it"
        elif not node.label() and node is not tree:
            fault = "has no label: only the outer brackets may lack one"
        else:
            continue
        shown = " ".join(tree_line(node).split())[:40]
        raise DataError(f"{place}: '{shown}' {fault}")
    return tree
