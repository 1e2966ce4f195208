"""What each piece of a vocabulary does to the phrases of a sentence.

N nodes, C classes of characters, V vocabulary, M some of its pieces.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from yakusu.arrays import Array
from yakusu.data.lines.words import is_joined
from yakusu.data.vocabulary import EOS, UNK
from yakusu.search.trie import EXCLUDED, Trie, kind_of

_N_DETOURS = 32  # pieces outside the phrases that lead around excluded phrases, of two kinds
_N_EXACT = 6  # missing phrases; the time that `need` takes doubles with each
MAX_INCLUDE = 62


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
        return cls(np.array(ordered, dtype=np.int32), tuple(columns))


class PieceTexts:
    """The text of the pieces of a vocabulary.

    Args:
        texts: The text of each id, (V - 1,); empty for eos.
        special: Ids that are used only where a phrase needs them, such as bytes.
    """

    def __init__(self, texts: Sequence[str], special: Collection[int] = ()) -> None:
        self.texts = texts
        ordered = sorted(range(len(texts)), key=lambda i: (i not in special, -i))
        self.ids = {texts[i]: i for i in ordered if i != UNK}
        self.codes = {c: i for i, c in enumerate(sorted(set("".join(texts))))}
        self.classes = np.array(list(map(kind_of, self.codes)), np.int32)
        self.table = PieceTable.of(texts, range(len(texts)), self.codes)
        usable = [i for i, text in enumerate(texts) if text and i != UNK and i not in special]
        to_continue = [i for i in usable if is_joined(texts[i][0])]  # a word
        to_begin = [i for i in usable if not is_joined(texts[i][0])]
        self.first = [*to_continue[:_N_DETOURS], *to_begin[:_N_DETOURS]]

    def inside(self, phrase: str) -> set[int]:
        """The pieces that occur in a phrase, with a space before and after it."""
        text = f" {phrase} "
        parts = (text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1))
        return {self.ids[part] for part in parts if part in self.ids}


class Automaton:
    """Finds the phrases of a sentence in the text of a hypothesis.

    A state is a node, and which phrases have occurred. The last node, `end`, follows eos.

    Args:
        pieces: The vocabulary.
        include: The forms of each phrase that must occur; at most MAX_INCLUDE phrases.
        exclude: Phrases that must not occur.
    """

    def __init__(
        self, pieces: PieceTexts, include: Sequence[Sequence[str]], exclude: Sequence[str]
    ) -> None:
        self.pieces, self.include = pieces, include
        self.all_met = sum(2 << i for i in range(len(include)))
        trie = Trie(include, exclude)
        self.start, self.end = trie.start, len(trie.symbols)
        self.at_boundary = np.append(trie.at_boundary(), False)  # (N + 1,)
        self.places = [*trie.all_places(), []]
        self._next, self._events, self._end_events = trie.transitions()  # (N, C), (N, C), (N,)
        self._n_classes = self._next.shape[1]
        self._classes = pieces.classes.copy()
        for character in trie.alphabet.keys() & pieces.codes.keys():
            self._classes[pieces.codes[character]] = trie.alphabet[character]
        self._columns = [self._classes[column] for column in pieces.table.columns]
        self._needs: dict[int, Array] = {}
        self._lengths: dict[int, Array] = {}  # of the shortest paths to one event
        useful = {EOS, *pieces.first}.union(*map(pieces.inside, chain.from_iterable(include)))
        self._move_nodes, self._move_events = self._moves(sorted(useful))
        self.step = lru_cache(maxsize=1 << 12)(self._step)

    def _step(self, node: int, token: int) -> tuple[int, int]:
        """The node that a token leads to, and the events on the way."""
        if node == self.end:
            return node, 0
        if token == EOS:
            return self.end, int(self._end_events[node])
        events = 0
        for character in self.pieces.texts[token]:
            symbol = self._classes[self.pieces.codes[character]]
            events |= int(self._events[node, symbol])
            node = int(self._next[node, symbol])
        return node, events

    def excluded(self, node: int, met: int, left: float) -> Array:
        """Whether each id may not follow (V - 1,).

        Args:
            node: The node of a hypothesis.
            met: The phrases that have occurred, as events.
            left: Number of tokens that may follow, including eos.
        """
        if node == self.end:
            return np.zeros(len(self.pieces.texts), dtype=bool)
        nodes = np.full(len(self.pieces.texts), node, dtype=np.int32)
        events = self._read(nodes, self._columns)  # both in the order of the table
        nodes[-1], events[-1] = self.end, self._end_events[node]  # eos
        unmet = self.all_met & ~met
        need = self.need(unmet)[nodes]  # (V - 1,)
        after = unmet & ~events
        for fewer in np.unique(after[after != unmet]).tolist():
            need = np.where(after == fewer, self.need(fewer)[nodes], need)
        found = np.empty(len(nodes), dtype=bool)
        found[self.pieces.table.ids] = (need > left - 1) | (events & EXCLUDED != 0)
        return found

    def most_needed(self, met: int) -> float:
        """With at least so many tokens left, `excluded` does not depend on their number."""
        return 1 + _largest(self.need(self.all_met & ~met))

    def _read(self, nodes: Array, columns: Sequence[Array]) -> Array:
        """Read pieces from nodes (..., M), which are overwritten; return the events (..., M)."""
        events = np.zeros(nodes.shape, dtype=np.int64)
        for column in columns:
            n = len(column)
            keys = nodes[..., :n] * self._n_classes + column
            nodes[..., :n] = self._next.ravel().take(keys)
            found = self._events.ravel().take(keys)
            if found.any():
                events[..., :n] |= found
        return events

    def _moves(self, ids: Sequence[int]) -> tuple[Array, Array]:
        """The nodes that some tokens lead to from every node, and the events: (N, M) each."""
        table = PieceTable.of(self.pieces.texts, ids, self.pieces.codes)
        nodes = np.arange(self.end, dtype=np.int32)[:, None].repeat(len(ids), axis=1)
        events = self._read(nodes, [self._classes[column] for column in table.columns])
        nodes[:, table.ids == EOS] = self.end
        events[:, table.ids == EOS] = self._end_events[:, None]
        return nodes, events

    def need(self, unmet: int) -> Array:
        """How many tokens must follow each node (N + 1,), including eos; inf: impossible.

        So many tokens always suffice. With at most _N_EXACT missing phrases, it is the smallest
        number for tokens that occur in these phrases, and the first _N_DETOURS that continue and
        that begin a word.

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
        each = [self._lengths_to(bit) for bit in bits]
        largest = [_largest(need) for need in each]
        total = sum(largest) + _largest(self.need(0))
        lengths = [need + total - most for need, most in zip(each, largest, strict=True)]
        shortest: Array = np.min(lengths, axis=0)
        return shortest

    def _lengths_to(self, event: int) -> Array:
        if event not in self._lengths:
            self._lengths[event] = self._shortest(event, until_end=False)
        return self._lengths[event]


def _largest(need: Array) -> float:
    return float(need[np.isfinite(need)].max(initial=0.0))
