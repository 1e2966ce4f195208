"""Overlap: sentences of a held-out set that also occur in the training corpus or another set.

Case, punctuation and white space are ignored. The held-out set is held in memory, 200 bytes a pair;
what it is compared with is streamed.
"""

from collections import Counter
from collections.abc import Iterable

from yakusu.data.files.shortened import shorten
from yakusu.data.files.text import Pair
from yakusu.data.noise import words_only
from yakusu.pipeline.check.report import Example, Finding, Overlap

_KINDS = ("sources", "targets", "pairs", "exchanged pairs")
_PAIRS = _KINDS.index("pairs")
_EXAMPLES = 3


class HeldOut:
    """A held-out set, and what was found of it elsewhere.

    Args:
        name: "dev" or "test".
        numbered: The pairs of the set with their lines.
    """

    def __init__(self, name: str, numbered: Iterable[tuple[int, Pair]]) -> None:
        self.name, self.n_pairs = name, 0
        # For each kind: key -> its first line here, and how often it occurs here.
        self._first: list[dict[int, int]] = [{} for _ in _KINDS]
        self._counts: list[Counter[int]] = [Counter() for _ in _KINDS]
        for line, pair in numbered:
            self.n_pairs += 1
            for first, counts, key in zip(self._first, self._counts, _own_keys(pair), strict=True):
                if key is not None:
                    first.setdefault(key, line)
                    counts[key] += 1

    @property
    def n_texts(self) -> int:
        """Number of pairs with words on both sides."""
        return self._counts[_PAIRS].total()

    def search(self, within: str) -> "HeldOutSearch":
        """Start a search for the sentences of this set."""
        return HeldOutSearch(self, within)

    def counts(self, kind: int) -> Counter[int]:
        """How often each key of a kind occurs in this set."""
        return self._counts[kind]

    def line(self, kind: int, key: int) -> int:
        """The first line of this set that has a key."""
        return self._first[kind][key]


class HeldOutSearch:
    """A search for the sentences of a held-out set in a stream of pairs.

    Args:
        held_out: The held-out set.
        within: Name of what is searched, such as "train".
    """

    def __init__(self, held_out: HeldOut, within: str) -> None:
        self.held_out, self._within = held_out, within
        self._found: list[set[int]] = [set() for _ in _KINDS]
        self._examples: list[list[Example]] = [[] for _ in _KINDS]

    def add(self, line: int, pair: Pair, keys: tuple[int | None, ...]) -> None:
        """Look up the next pair.

        Args:
            line: Its line.
            pair: Source and target.
            keys: `keys_of` the pair.
        """
        # The sides of the pair are the exchanged sides of a pair of the set.
        for kind, key in enumerate((*keys, keys[_PAIRS])):
            if key is None or key not in self.held_out.counts(kind) or key in self._found[kind]:
                continue
            self._found[kind].add(key)
            if len(self._examples[kind]) < _EXAMPLES:
                src, tgt = map(shorten, pair)
                note = f"line {self.held_out.line(kind, key):,} of {self.held_out.name}"
                example = Example(line=line, src=src, tgt=tgt, note=note)
                self._examples[kind].append(example)

    def result(self) -> Overlap:
        """What was found."""
        findings = {
            name: Finding(
                name=name,
                n=sum(self.held_out.counts(kind)[key] for key in self._found[kind]),
                examples=tuple(self._examples[kind]),
            )
            for kind, name in enumerate(_KINDS)
        }
        return Overlap(
            held_out=self.held_out.name,
            within=self._within,
            n_pairs=self.held_out.n_pairs,
            sources=findings["sources"],
            targets=findings["targets"],
            pairs=findings["pairs"],
            exchanged=findings["exchanged pairs"],
        )


def _own_keys(pair: Pair) -> tuple[int | None, ...]:
    """Return a key for each kind; a pair of equal sides is not an exchanged pair."""
    keys, exchanged = keys_of(pair), keys_of(pair[::-1])[_PAIRS]
    return *keys, None if exchanged == keys[_PAIRS] else exchanged


def keys_of(pair: Pair) -> tuple[int | None, int | None, int | None]:
    """Return a number for the words of the source, the target and both; None: there are none."""
    src, tgt = map(words_only, pair)
    both = hash((src, tgt)) if src and tgt else None
    return hash(src) if src else None, hash(tgt) if tgt else None, both
