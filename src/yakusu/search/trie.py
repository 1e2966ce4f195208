"""The patterns of phrases: what a phrase is, and a tree of all phrases of a sentence.

N nodes, C classes of characters.

Text is read as symbols: a character, or the mark of a word boundary, which stands wherever the text
does not continue a word. A pattern has a mark at each end, so that a phrase matches whole words:

    text     "der Hundehof"      phrase    "der"
    symbols  |der| |Hundehof|    pattern   |der|

The tree is the automaton of Aho and Corasick (1975).
"""

from collections.abc import Sequence

import numpy as np

from yakusu.arrays import Array
from yakusu.data.lines.words import is_joined

EXCLUDED = 1  # the event of an excluded phrase; that of phrase i to include is 2 << i
MARK, LETTER, OTHER, FIRST = range(4)  # symbols: boundary, characters of no phrase, of phrases


def occurs(phrase: str, text: str) -> bool:
    """Whether a phrase occurs in a text as whole words."""

    def bounded(place: int) -> bool:
        return not (0 < place < len(text) and all(map(is_joined, text[place - 1 : place + 1])))

    starts = (i for i in range(len(text)) if text.startswith(phrase, i))
    return any(bounded(i) and bounded(i + len(phrase)) for i in starts)


class Trie:
    """The patterns of phrases as a tree of symbols; node 0 is the root.

    Args:
        include: The forms of each phrase to include; one of them must occur.
        exclude: Phrases to exclude.
    """

    def __init__(self, include: Sequence[Sequence[str]], exclude: Sequence[str]) -> None:
        forms = [(event, form) for event, phrase in enumerate(include) for form in phrase]
        characters = sorted({" ", *"".join(form for _, form in forms), *"".join(exclude)})
        self.alphabet = {c: i for i, c in enumerate(characters, start=FIRST)}
        self.children: list[dict[int, int]] = [{}]
        self.symbols, self.parents = [LETTER], [0]  # the last symbol of each node
        self.own_places: list[list[tuple[int, int]]] = [[]]
        self.own_events = [0]
        self.start = self._child(0, MARK)
        for number, (i, form) in enumerate(forms):
            self._add(form, 2 << i, number)
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
        """Add the pattern of a phrase or form; `number`: record the places in it."""
        node = self.start
        for place, character in enumerate(phrase, start=1):
            if not is_joined(character) and self.symbols[node] != MARK:
                node = self._child(node, MARK)
            node = self._child(node, self.alphabet[character])
            if not is_joined(character):
                node = self._child(node, MARK)
            if number is not None:
                self.own_places[node].append((number, place))
        if self.symbols[node] != MARK:
            node = self._child(node, MARK)
        self.own_events[node] |= event

    def _link(self) -> None:
        """Find the next node for every symbol, and the longest proper suffix of every node."""
        n_symbols = FIRST + len(self.alphabet)
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
        found: Array = np.array(self.symbols) == MARK
        return found

    def all_places(self) -> list[list[tuple[int, int]]]:
        """For each node, the forms of phrases to include that are in progress.

        Returns:
            Pairs of a form, numbered over all phrases, and how many of its characters have been
            read, those with most first.
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
        marked = np.where(at_boundary, np.arange(n), self.next[:, MARK])  # (N,)
        at_end = np.where(at_boundary, 0, events[marked])
        joined = np.zeros(self.next.shape[1], dtype=bool)
        joined[LETTER] = True
        joined[[i for c, i in self.alphabet.items() if is_joined(c)]] = True
        after = self.next[self.next[marked], MARK]  # (N, C), of characters that are not joined
        table = np.where(joined, self.next, after)
        found = np.where(joined, events[self.next], at_end[:, None] | events[after])
        # Several spaces count as one.
        parent_symbols = np.array(self.symbols)[self.parents]
        spaced = at_boundary & (parent_symbols == space)
        table[spaced, space], found[spaced, space] = np.flatnonzero(spaced), 0
        return table, found, at_end
