"""The parts of words between which tags stand, and their links.

    source         un<em>believ</em>able         parts "un", "believ", "able"
    unchanged      unbelievable                  the same parts
    changed        unglaublich                   parts "un", "glaublich"; the latter is linked to
                                                 "believ", so that <em> encloses it
    without a      incredible                    one part, linked to "believ"
    common part

Of a changed word, the parts of the source at its beginning and at its end are found without regard
to case, and so is a part of digits inside it. What remains is linked to the pairs that enclose what
remains of the source; several pairs divide it among them. If nothing remained for a pair, the whole
word is linked in this way. No part ends inside a character of several code points.
"""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, count, pairwise

import regex

from yakusu.data.lines.private_use import PLACE

_EXACT = regex.compile(rf"\d|{PLACE.pattern}")  # how a number or a place begins
_SEPARATORS = regex.compile(r"(?<=\d)[^\p{L}\p{N}]+(?=\d)")
Extent = tuple[int, int]  # where a unit or a part of one begins, and where it ends
_Stretch = tuple[int, int, int]  # a unit of the translation; its first character, and the end
_Linked = tuple[_Stretch, int]  # a stretch, and the part of the word to which it is linked


@dataclass
class Parts:
    """The parts of a line and of its translation.

    Attributes:
        sources: Where each part of the source begins and ends.
        targets: The same of the translation.
        origins: The part of the source to which each part of the translation is linked.
    """

    sources: list[Extent]
    targets: list[Extent]
    origins: dict[int, int]


def divided(
    source: str,
    text: str,
    places: tuple[Sequence[Extent], Sequence[Extent]],
    origins: Mapping[int, int],
    tags: Sequence[Extent],
) -> Parts:
    """Divide the words of a line and of its translation at the tags inside them.

    Args:
        source: The line without tags.
        text: Its translation.
        places: Where each unit of both begins and ends.
        origins: The unit of the source to which each unit of the translation is linked.
        tags: Where each pair of tags begins and ends in the source, the outer before the inner.
    """
    of_source, of_text = places
    cuts = _cuts(of_source, sorted({*chain.from_iterable(tags)}))
    linked = _with_equal(
        [source[slice(*place)] for place in of_source],
        [text[slice(*place)] for place in of_text],
        origins,
        cuts,
    )
    if not cuts:
        return Parts([*of_source], [*of_text], linked)
    sources, first = list[Extent](), list[int]()  # the first part of each unit
    for i, (start, end) in enumerate(of_source):
        first.append(len(sources))
        sources += pairwise([start, *cuts.get(i, ()), end])
    words = dict[int, _Word]()
    for i, inner in cuts.items():
        own = sources[first[i] : first[i] + len(inner) + 1]
        words[i] = _Word(first[i], [s for s, _ in own], [source[s:e] for s, e in own])
    for begin, end in tags:
        for i in {_last_before(of_source, begin + 1), _last_before(of_source, end)}:
            if i in words and begin < end:
                words[i].enclose(begin, end)
    pieces: dict[int, list[tuple[Extent, int]]] = {}  # of the units that are linked to cut words
    targets_of = defaultdict[int, list[int]](list)
    for j, i in sorted(linked.items()):
        if i in words:
            targets_of[i].append(j)
    for i, linked_to in targets_of.items():
        pieces |= words[i].pieces({j: (of_text[j][0], text[slice(*of_text[j])]) for j in linked_to})
    made = Parts(sources, [], {})
    for j, place in enumerate(of_text):
        if j in linked:
            pieces.setdefault(j, [(place, first[linked[j]])])
        for piece, origin in pieces.get(j, [(place, -1)]):
            if origin >= 0:
                made.origins[len(made.targets)] = origin
            made.targets.append(piece)
    return made


def _cuts(places: Sequence[Extent], positions: Sequence[int]) -> dict[int, list[int]]:
    """The positions inside each unit, of those that have any."""
    cuts: dict[int, list[int]] = {}
    for position in positions:
        i = _last_before(places, position)
        if i >= 0 and position < places[i][1]:
            cuts.setdefault(i, []).append(position)
    return cuts


def _last_before(places: Sequence[Extent], position: int) -> int:
    """The last unit that begins before a position; -1: none."""
    return bisect_left(places, (position, 0)) - 1


def _with_equal(
    sources: Sequence[str],
    targets: Sequence[str],
    origins: Mapping[int, int],
    cuts: Collection[int],
) -> dict[int, int]:
    """Link equal units if they are cut words, numbers or punctuation.

    A unit of the translation that is already linked to an equal one keeps its link. To a number or
    a place that has an equal unit, no other unit is linked: the words around it are not its
    translation.
    """
    found = dict(origins)
    sources, targets = ([*map(_compared, side)] for side in (sources, targets))
    kept = {i for j, i in origins.items() if sources[i] == targets[j]}
    wanted = [
        i
        for i, own in enumerate(sources)
        if i not in kept and (i in cuts or not any(map(str.isalpha, own)))
    ]
    texts = {sources[i] for i in wanted}
    free = defaultdict[str, deque[int]](deque)
    for j, own in enumerate(targets):
        if own in texts and not (j in origins and sources[origins[j]] == own):
            free[own].append(j)
    for i in wanted:
        if free[sources[i]]:
            found[free[sources[i]].popleft()] = i
    exact = {i for j, i in found.items() if sources[i] == targets[j] and _EXACT.match(targets[j])}
    return {j: i for j, i in found.items() if i not in exact or sources[i] == targets[j]}


def _compared(unit: str) -> str:
    """A unit as it is compared: of a number, the digits."""
    return _SEPARATORS.sub("", unit) if unit[:1].isdecimal() else unit


# ---- words ---------------------------------------------------------------------------------------


@dataclass
class _Word:
    """A word of the source with tags inside.

    Attributes:
        first: Its first part.
        starts: Where each of its parts begins in the line.
        texts: The text of each part.
        pairs: The parts that each pair of tags encloses, if it encloses some of them only.
    """

    first: int
    starts: list[int]
    texts: list[str]
    pairs: list[Extent] = field(default_factory=list)

    def enclose(self, begin: int, end: int) -> None:
        """Add a pair of tags at two positions of the line."""
        first, last = bisect_left(self.starts, begin), bisect_left(self.starts, end)
        if 0 < last - first < len(self.starts):
            self.pairs.append((first, last))

    def pieces(self, units: Mapping[int, tuple[int, str]]) -> dict[int, list[tuple[Extent, int]]]:
        """The parts of the units of the translation that are linked to the word.

        Args:
            units: The position and the text of each unit.

        Returns:
            Of each unit, where its parts begin and end, and the part of the source of each.
        """
        whole, lengths = "".join(self.texts), list(map(len, self.texts))
        equal = [j for j, (_, own) in units.items() if own == whole]
        clusters = {j: regex.findall(r"\X", own) for j, (_, own) in units.items()}
        if equal:
            found = [((j, 0, len(own)), self._bare(0, len(lengths))) for j, own in clusters.items()]
        else:
            found = self._similar(clusters) or self._every(clusters)
        made = defaultdict[int, list[tuple[Extent, int]]](list)
        for (j, first, last), part in sorted(found):
            begin = units[j][0] + len("".join(clusters[j][:first]))
            place = begin, begin + len("".join(clusters[j][first:last]))
            made[j].append((place, self.first + part))
        for j in equal:
            places = pairwise(accumulate(lengths, initial=units[j][0]))
            made[j] = list(zip(places, count(self.first), strict=False))
        return made

    def _every(self, clusters: Mapping[int, list[str]]) -> list[_Linked]:
        """All of the units, divided among the pairs."""
        every = [(j, 0, len(own)) for j, own in clusters.items()]
        return list(_shares(0, len(self.texts), every, self.pairs))

    def _similar(self, clusters: Mapping[int, list[str]]) -> list[_Linked]:
        """The parts that the units have in common with the word, and what remains of the units.

        Returns:
            Nothing if a pair would enclose nothing.
        """
        parts = [[c.casefold() for c in regex.findall(r"\X", text)] for text in self.texts]
        found, rest = list[_Linked](), list[tuple[Extent, _Stretch]]()
        for j, own in clusters.items():
            folded = [cluster.casefold() for cluster in own]
            for place, (first, last), is_equal in _matches(parts, folded, (0, len(parts))):
                if is_equal:
                    found.append(((j, first, last), place[0]))
                elif first < last:
                    rest.append((place, (j, first, last)))
        common = {part for _, part in found}
        waiting = [(a, b) for a, b in self.pairs if common.isdisjoint(range(a, b))]
        served = set[Extent]()
        for (low, high), stretch in rest:
            own_pairs = [(a, b) for a, b in waiting if a < high and low < b]
            served.update(own_pairs)
            if own_pairs:
                inside = [(max(a, low), min(b, high)) for a, b in own_pairs]
                found += _shares(low, high, [stretch], inside)
            else:
                found.append((stretch, self._bare(low, high)))
        return found if served.issuperset(waiting) else []

    def _bare(self, low: int, high: int) -> int:
        """A part from low to high - 1 that no pair encloses, if there is one."""
        inside = {part for a, b in self.pairs for part in range(a, b)}
        bare = (part for part in range(low, high) if part not in inside)
        return next(bare, low if low < high else max(0, low - 1))


def _matches(
    parts: Sequence[list[str]], own: list[str], place: Extent
) -> Iterator[tuple[Extent, Extent, bool]]:
    """Match parts of a word with the characters of a unit.

    Args:
        parts: The characters of each part of the word.
        own: The characters of the unit.
        place: The first part to match, and the one after the last.

    Yields:
        Parts of the word, characters of the unit, and whether they are equal.
    """
    low, high = place
    first, last = 0, len(own)
    while low < high and first + len(parts[low]) <= last:
        end = first + len(parts[low])
        if own[first:end] != parts[low]:
            break
        yield (low, low + 1), (first, end), True
        low, first = low + 1, end
    while low < high and last - len(parts[high - 1]) >= first:
        begin = last - len(parts[high - 1])
        if own[begin:last] != parts[high - 1]:
            break
        yield (high - 1, high), (begin, last), True
        high, last = high - 1, begin
    digits = [m.span() for m in regex.finditer(r"\d+", _one_each(own[first:last]))]
    for i in range(low, high):
        same = [(first + a, first + b) for a, b in digits if own[first + a : first + b] == parts[i]]
        if len(same) == 1:
            (begin, end), *_ = same
            yield (low, i), (first, begin), False
            yield (i, i + 1), (begin, end), True
            yield (i + 1, high), (end, last), False
            return
    yield (low, high), (first, last), False


def _one_each(clusters: Sequence[str]) -> str:
    """The first code point of each character."""
    return "".join(cluster[:1] for cluster in clusters)


def _shares(
    low: int, high: int, stretches: Sequence[_Stretch], pairs: Sequence[Extent]
) -> Iterator[_Linked]:
    """Divide stretches of a translation among the pairs within the parts low to high - 1."""
    outer, end = list[Extent](), low
    for a, b in sorted({*pairs} - {(low, high)}, key=lambda pair: (pair[0], -pair[1])):
        if low <= a and end <= a and b <= high:
            outer.append((a, b))
            end = b
    if not outer:
        yield from ((stretch, low) for stretch in stretches)
        return
    atoms = [*stretches]
    if len(atoms) < len(outer):
        atoms = [(j, k, k + 1) for j, first, last in stretches for k in range(first, last)]
    outer = outer[: len(atoms)]
    for n, (a, b) in enumerate(outer):
        share = atoms[n * len(atoms) // len(outer) : (n + 1) * len(atoms) // len(outer)]
        yield from _shares(a, b, _joined(share), pairs)


def _joined(stretches: Sequence[_Stretch]) -> list[_Stretch]:
    """Make adjacent stretches one."""
    joined = list[_Stretch]()
    for j, first, last in stretches:
        if joined and joined[-1][0] == j and joined[-1][2] == first:
            joined[-1] = (j, joined[-1][1], last)
        else:
            joined.append((j, first, last))
    return joined
