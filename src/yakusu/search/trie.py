"""The patterns of phrases: what a phrase is, and a tree of all phrases of a sentence.

N nodes, C classes of characters.

Text is read as symbols: a character, or the mark of a word boundary, which stands wherever the text
does not continue a word. A pattern has a mark at each end, so that a phrase matches whole words:

    text     "der Hundehof"      phrase    "der"
    symbols  |der| |Hundehof|    pattern   |der|

A byte of a character that is spelled with several tokens may or may not belong to a word. A
doubtful mark follows it, and also precedes it unless there is a boundary. Such a mark ends a phrase
to exclude, but not one to include, which is therefore a whole word whatever the bytes spell:

    text     "der" C5 91 "s"     to include   |der|
    symbols  |der?C5?91?s|       to exclude   |der| |der? ?der| ?der?

The tree is the automaton of Aho and Corasick (1975).
"""

from collections.abc import Sequence

import numpy as np

from yakusu.arrays import Array
from yakusu.data.lines.words import is_joined

EXCLUDED = 1  # the event of an excluded phrase; that of phrase i to include is 2 << i
# Symbols: boundary, doubtful boundary, and characters: of no phrase, of phrases.
MARK, DOUBT, LETTER, OTHER, BYTE, FIRST = range(6)


def kind_of(character: str) -> int:
    """Whether a character is part of a word (LETTER), is not (OTHER), or is a byte (BYTE).

    Bytes are surrogates; see `PhraseVocabulary`.
    """
    if "\udc80" <= character <= "\udcff":
        return BYTE
    return LETTER if is_joined(character) else OTHER


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
        self._child(0, DOUBT)
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
        """Add the patterns of a phrase or form; `number`: record the places in it."""
        readable = phrase.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        firsts, lasts = (
            (MARK, DOUBT)
            if kind_of(phrase[end]) != OTHER and (event == EXCLUDED or not is_joined(readable[end]))
            else (MARK,)
            for end in (0, -1)
        )
        for first in firsts:
            node = self._child(0, first)
            for place, character in enumerate(phrase, start=1):
                node = self._after(node, self.alphabet[character], kind_of(character))
                if number is not None:
                    self.own_places[node].append((number, place))
            for last in lasts:
                end = node if self.symbols[node] == last else self._child(node, last)
                self.own_events[end] |= event

    def _after(self, node: int, symbol: int, kind: int) -> int:
        """The child of a node for a character, with the marks before and after it."""
        mark = {OTHER: MARK, BYTE: DOUBT}.get(kind)
        if mark is None:
            return self._child(node, symbol)
        if self.symbols[node] not in (MARK, mark):
            node = self._child(node, mark)
        return self._child(self._child(node, symbol), mark)

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
        events = np.array(self.own_events, dtype=np.int64)
        for node in self.order[1:]:
            events[node] |= events[self.suffix[node]]
        kinds = np.full(self.next.shape[1], OTHER)
        kinds[[LETTER, BYTE]] = LETTER, BYTE
        kinds[list(self.alphabet.values())] = [kind_of(c) for c in self.alphabet]
        table, found = self.next.copy(), events[self.next]
        last = np.array(self.symbols)
        for kind, mark in ((OTHER, MARK), (BYTE, DOUBT)):
            before, own = self._marked(events, mark)
            after = self.next[self.next[before], mark]  # (N, C)
            table[:, kinds == kind] = after[:, kinds == kind]
            found[:, kinds == kind] = (own[:, None] | events[after])[:, kinds == kind]
        # Several spaces count as one.
        at_boundary, space = last == MARK, self.alphabet[" "]
        spaced = at_boundary & (last[self.parents] == space)
        table[spaced, space], found[spaced, space] = np.flatnonzero(spaced), 0
        return table, found, self._marked(events, MARK)[1]

    def _marked(self, events: Array, mark: int) -> tuple[Array, Array]:
        """The node after a mark that follows each node, unless there is one, and its events."""
        last = np.array(self.symbols)
        has_mark = (last == MARK) | (last == mark)
        marked = np.where(has_mark, np.arange(len(last)), self.next[:, mark])
        return marked, np.where(has_mark, 0, events[marked])
