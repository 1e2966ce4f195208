"""A finite automaton over text that finds phrases, and what each piece of a vocabulary does to it.

N nodes, C classes of characters, V vocabulary, M some of its pieces.

The automaton is that of Aho and Corasick (1975). It does not read characters but symbols: a
character, or the mark of a word boundary, which is inserted wherever the text does not continue a
word. A phrase is a pattern with a mark at each end, so that it matches whole words only:

    text     "der Hundehof"      phrase    "der"
    symbols  |der| |Hundehof|    pattern   |der|
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from yakusu.data.tokenizer import EOS, UNK

Array: TypeAlias = NDArray[Any]

# The beginnings of the Unicode names of characters of scripts that are written without spaces.
_UNSPACED = re.compile(
    "CJK|IDEOGRAPHIC|HIRAGANA|(HALFWIDTH )?KATAKANA|BOPOMOFO|YI |THAI|LAO|KHMER|MYANMAR|TIBETAN|"
    "JAVANESE|BALINESE|TAI "
)
_MARK, _LETTER, _OTHER, _FIRST = range(4)  # symbols: boundary, characters of no phrase, of phrases
_N_DETOURS = 32  # pieces outside the phrases that `need` takes into account, of two kinds
_N_EXACT = 4  # phrases; `need` is an upper bound if more are missing
EXCLUDED = 1  # the event of an excluded phrase; phrase i to include is event 2 << i
MAX_INCLUDE = 62


@lru_cache(maxsize=1 << 16)
def is_joined(character: str) -> bool:
    """Whether a character is part of a word that spaces or punctuation separate from others.

    Letters, digits, combining marks and the underscore are, except in scripts without spaces.
    """
    if not (character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"):
        return False
    return not _UNSPACED.match(unicodedata.name(character, ""))


def occurs(phrase: str, text: str) -> bool:
    """Whether a phrase occurs in a text as whole words."""

    def bounded(place: int) -> bool:
        return not (0 < place < len(text) and all(map(is_joined, text[place - 1 : place + 1])))

    starts = (i for i in range(len(text)) if text.startswith(phrase, i))
    return any(bounded(i) and bounded(i + len(phrase)) for i in starts)


@dataclass(frozen=True)
class PieceTable:
    """The characters of pieces, sorted by decreasing length.

    Attributes:
        ids: (M,).
        columns: For each position, the code of that character of the pieces that have so many.
    """

    ids: Array
    columns: tuple[Array, ...]

    @classmethod
    def of(cls, texts: Sequence[str], ids: Sequence[int], codes: dict[str, int]) -> "PieceTable":
        """The table of some pieces.

        Args:
            texts: The text of each id.
            ids: The pieces.
            codes: The number of each character.
        """
        ordered = sorted(ids, key=lambda i: (-len(texts[i]), i == EOS))  # eos is last
        columns = []
        for place in range(len(texts[ordered[0]])):
            longer = [texts[i][place] for i in ordered if len(texts[i]) > place]
            columns.append(np.array([codes[character] for character in longer]))
        return cls(np.array(ordered), tuple(columns))


class Automaton:
    """Finds the phrases of a sentence in the text of a hypothesis.

    A state is a node, and which phrases have occurred. The last node, `end`, follows eos.

    Args:
        texts: The text of each id, (V - 1,); empty for eos.
        pieces: The table of all ids.
        codes: The number of each character of the vocabulary.
        include: Phrases that must occur, at most MAX_INCLUDE.
        exclude: Phrases that must not occur.
    """

    def __init__(
        self,
        texts: Sequence[str],
        pieces: PieceTable,
        codes: dict[str, int],
        *,
        include: Sequence[str],
        exclude: Sequence[str],
    ) -> None:
        self.all_met = sum(2 << i for i in range(len(include)))
        trie = _Trie(include, exclude)
        self.start, self.end = trie.start, len(trie.symbols)
        self.at_boundary = np.append(trie.at_boundary(), False)  # (N + 1,)
        self.places = [*trie.all_places(), []]
        self._next, self._events, self._end_events = trie.transitions()  # (N, C), (N, C), (N,)
        of_phrases = trie.alphabet
        self._classes = np.array(
            [of_phrases.get(c, _LETTER if is_joined(c) else _OTHER) for c in codes]
        )
        self._texts, self._codes, self._pieces = texts, codes, pieces
        self._columns = [self._classes[column] for column in pieces.columns]
        self._steps: dict[tuple[int, int], tuple[int, int]] = {}
        self._needs: dict[int, Array] = {}
        self._move_nodes, self._move_events = self._moves(_useful(texts, include))

    def step(self, node: int, token: int) -> tuple[int, int]:
        """The node that a token leads to, and the events on the way."""
        key = (node, token)
        if key not in self._steps:
            events = 0
            if node != self.end:
                for character in self._texts[token]:
                    symbol = self._classes[self._codes[character]]
                    events |= int(self._events[node, symbol])
                    node = int(self._next[node, symbol])
                if token == EOS:
                    node, events = self.end, int(self._end_events[node])
            self._steps[key] = node, events
        return self._steps[key]

    def excluded(self, node: int, met: int, left: float) -> Array:
        """The ids that may not follow.

        Args:
            node: The node of a hypothesis.
            met: The phrases that have occurred, as events.
            left: Number of tokens that may follow, including eos.
        """
        if node == self.end:
            return np.empty(0, dtype=np.int64)
        nodes = np.full(len(self._texts), node)
        events = self._read(nodes, self._columns)  # both in the order of the table
        nodes[-1], events[-1] = self.end, self._end_events[node]  # eos
        unmet = self.all_met & ~met
        need = self.need(unmet)[nodes]  # (V - 1,)
        after = unmet & ~events
        for fewer in np.unique(after[after != unmet]).tolist():
            need = np.where(after == fewer, self.need(fewer)[nodes], need)
        found: Array = self._pieces.ids[(need > left - 1) | (events & EXCLUDED != 0)]
        return found

    def most_needed(self, met: int) -> float:
        """With at least so many tokens left, `excluded` does not depend on their number."""
        return 1 + _largest(self.need(self.all_met & ~met))

    def _read(self, nodes: Array, columns: Sequence[Array]) -> Array:
        """Read pieces from nodes (..., M), which are overwritten; return the events (..., M)."""
        events = np.zeros(nodes.shape, dtype=np.int64)
        for column in columns:
            here = nodes[..., : len(column)]
            events[..., : len(column)] |= self._events[here, column]
            here[...] = self._next[here, column]
        return events

    def _moves(self, ids: Sequence[int]) -> tuple[Array, Array]:
        """The nodes that some tokens lead to from every node, and the events: (N, M) each."""
        table = PieceTable.of(self._texts, ids, self._codes)
        nodes = np.arange(self.end)[:, None].repeat(len(ids), axis=1)
        events = self._read(nodes, [self._classes[column] for column in table.columns])
        nodes[:, table.ids == EOS] = self.end
        events[:, table.ids == EOS] = self._end_events[:, None]
        return nodes, events

    def need(self, unmet: int) -> Array:
        """How many tokens must follow each node (N + 1,), including eos; inf: impossible.

        So many tokens always suffice. With at most _N_EXACT missing phrases, it is the smallest
        number for the tokens that `_useful` selects.

        Args:
            unmet: The events that must still occur.
        """
        if unmet not in self._needs:
            bits = [1 << i for i in range(unmet.bit_length()) if unmet >> i & 1]
            exact = len(bits) <= _N_EXACT
            self._needs[unmet] = self._shortest(unmet) if exact else self._one_by_one(bits)
        return self._needs[unmet]

    def _shortest(self, unmet: int, *, until_end: bool = True) -> Array:
        """Lengths of the shortest paths to the end, or to the events (Bellman and Ford)."""
        after = unmet & ~self._move_events  # (N, M)
        known = np.zeros(after.shape)  # what follows a move that makes an event
        if until_end:
            for fewer in np.unique(after[after != unmet]).tolist():
                chosen = after == fewer
                known[chosen] = self.need(fewer)[self._move_nodes[chosen]]
        known[self._move_events & EXCLUDED != 0] = np.inf
        open_moves = (after == unmet) & (self._move_events & EXCLUDED == 0)
        need = np.full(self.end + 1, np.inf)
        need[self.end] = 0 if until_end and not unmet else np.inf
        while True:
            following = np.where(open_moves, need[self._move_nodes], known)
            shorter = np.append(1 + following.min(axis=1), need[self.end])
            if np.array_equal(shorter, need):
                return need
            need = shorter

    def _one_by_one(self, bits: Sequence[int]) -> Array:
        """The length of a path that generates one missing phrase after the other."""
        each = [self._shortest(bit, until_end=False) for bit in bits]
        largest = [_largest(need) for need in each]
        total = sum(largest) + _largest(self.need(0))
        lengths = [need + total - most for need, most in zip(each, largest, strict=True)]
        shortest: Array = np.min(lengths, axis=0)
        return shortest


def _largest(need: Array) -> float:
    return float(need[np.isfinite(need)].max(initial=0.0))


def _useful(texts: Sequence[str], include: Sequence[str]) -> list[int]:
    """Eos, the pieces that occur in the phrases to include, and the first others."""
    spaced = "\n".join(f" {phrase} " for phrase in include)
    usable = [i for i, text in enumerate(texts) if text and i != UNK]
    inside = [i for i in usable if texts[i] in spaced]
    others = [i for i in usable if texts[i] not in spaced]
    to_continue = [i for i in others if is_joined(texts[i][0])]  # a word
    to_begin = [i for i in others if not is_joined(texts[i][0])]
    return [EOS, *inside, *to_continue[:_N_DETOURS], *to_begin[:_N_DETOURS]]


class _Trie:
    """The patterns of phrases as a tree of symbols; node 0 is the root."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        characters = sorted({" ", *"".join(include), *"".join(exclude)})
        self.alphabet = {c: i for i, c in enumerate(characters, start=_FIRST)}
        self.children: list[dict[int, int]] = [{}]
        self.symbols, self.parents = [_LETTER], [0]  # the last symbol of each node
        self.own_places: list[list[tuple[int, int]]] = [[]]
        self.own_events = [0]
        self.start = self._child(0, _MARK)
        for i, phrase in enumerate(include):
            self._add(phrase, 2 << i, i)
        for phrase in exclude:
            self._add(phrase, EXCLUDED, None)
        self._link()

    def _child(self, node: int, symbol: int) -> int:
        if symbol not in self.children[node]:
            self.children[node][symbol] = len(self.children)
            self.children.append({})
            self.symbols.append(symbol)
            self.parents.append(node)
            self.own_places.append([])
            self.own_events.append(0)
        return self.children[node][symbol]

    def _add(self, phrase: str, event: int, number: int | None) -> None:
        """Add the pattern of a phrase; `number`: record the places in it."""
        node = self.start
        for place, character in enumerate(phrase, start=1):
            if not is_joined(character) and self.symbols[node] != _MARK:
                node = self._child(node, _MARK)
            node = self._child(node, self.alphabet[character])
            if not is_joined(character):
                node = self._child(node, _MARK)
            if number is not None:
                self.own_places[node].append((number, place))
        if self.symbols[node] != _MARK:
            node = self._child(node, _MARK)
        self.own_events[node] |= event

    def _link(self) -> None:
        """Find the next node for every symbol, and the longest proper suffix of every node."""
        n_symbols = _FIRST + len(self.alphabet)
        self.next = np.zeros((len(self.symbols), n_symbols), dtype=np.int32)
        self.suffix, queue = [0] * len(self.symbols), [0]
        for node in queue:  # breadth first, so that suffixes come before longer nodes
            if node:
                self.next[node] = self.next[self.suffix[node]]
            for symbol, child in self.children[node].items():
                self.suffix[child] = int(self.next[node, symbol])
                self.next[node, symbol] = child
                queue.append(child)
        self.order = queue

    def at_boundary(self) -> Array:
        """Whether a phrase may begin at each node (N,)."""
        found: Array = np.array(self.symbols) == _MARK
        return found

    def all_places(self) -> list[list[tuple[int, int]]]:
        """For each node, the phrases to include that are in progress.

        Returns:
            Pairs of a phrase and how many of its characters have been read, those with most first.
        """
        places = [list(own) for own in self.own_places]
        for node in self.order[1:]:
            places[node] += places[self.suffix[node]]
        return places

    def transitions(self) -> tuple[Array, Array, Array]:
        """The next node and the events for each class of characters, and the events at the end.

        Returns:
            (N, C), (N, C) and (N,).
        """
        n = len(self.symbols)
        events = np.array(self.own_events, dtype=np.int64)
        for node in self.order[1:]:
            events[node] |= events[self.suffix[node]]
        at_boundary, space = self.at_boundary(), self.alphabet[" "]
        marked = np.where(at_boundary, np.arange(n), self.next[:, _MARK])  # (N,)
        at_end = np.where(at_boundary, 0, events[marked])
        joined = np.zeros(self.next.shape[1], dtype=bool)
        joined[_LETTER] = True
        joined[[i for c, i in self.alphabet.items() if is_joined(c)]] = True
        after = self.next[self.next[marked], _MARK]  # (N, C), of characters that are not joined
        table = np.where(joined, self.next, after)
        found = np.where(joined, events[self.next], at_end[:, None] | events[after])
        # Several spaces count as one.
        parent_symbols = np.array(self.symbols)[self.parents]
        spaced = at_boundary & (parent_symbols == space)
        table[spaced, space], found[spaced, space] = np.flatnonzero(spaced), 0
        return table, found, at_end
