"""The items of a paragraph: text with its formatting, pieces that stay, and pairs around items."""

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from yakusu.data.lines.private_use import MARKS, is_mark

LINE_BREAK = "line break"  # role of a piece


@dataclass(frozen=True, eq=False)
class Run:
    """How a stretch of text is written.

    Attributes:
        key: Equal for runs of equal formatting.
        before: Markup before its contents.
        after: Markup after its contents.
        prefix: Prefix of the names of elements in its contents.
    """

    key: Hashable
    before: bytes = b""
    after: bytes = b""
    prefix: str = ""


@dataclass(frozen=True)
class Text:
    """Text in a run."""

    text: str
    run: Run


@dataclass(frozen=True)
class Raw:
    """A piece of the source, from index `start` to `end`, that is kept.

    Attributes:
        run: The run that contains it, None if no run does.
        role: "start" or "end" of a range such as a bookmark, LINE_BREAK, or a role that its format
            defines.
        value: The identifier of the range, equal for its start and its end.
    """

    start: int
    end: int
    run: Run | None = None
    role: str = ""
    value: str = ""


@dataclass(frozen=True)
class Group:
    """Items that stay together and are not translated."""

    items: tuple["Item", ...]


@dataclass(frozen=True, eq=False)
class Pair:
    """What stands before and after the items that a pair encloses."""

    before: tuple["Item", ...]
    after: tuple["Item", ...]


@dataclass(frozen=True)
class Open:
    """The beginning of a pair."""

    pair: Pair


@dataclass(frozen=True)
class Close:
    """The end of a pair."""

    pair: Pair


Item: TypeAlias = Text | Raw | Group | Open | Close
Written: TypeAlias = Text | Raw


def write(
    items: Sequence[Written],
    copy: Callable[[int, int], bytes],
    encode: Callable[[str, Run], bytes],
) -> bytes:
    """Write items; adjacent items of one run share its markup.

    Args:
        items: The items of a paragraph.
        copy: Returns the bytes for a piece of the source.
        encode: Returns the bytes for a text in a run.
    """
    out = bytearray()
    current: Run | None = None
    text = ""
    for i, item in enumerate(items):
        if item.run is not current:
            out += b"" if current is None else current.after
            out += b"" if item.run is None else item.run.before
            current = item.run
        if isinstance(item, Raw):
            out += copy(item.start, item.end)
            continue
        text += item.text
        following = items[i + 1] if i + 1 < len(items) else None
        if not (isinstance(following, Text) and following.run is item.run):
            out += encode(text, item.run)
            text = ""
    return bytes(out + (b"" if current is None else current.after))


def without_marks(items: Sequence[Item]) -> Iterator[Item]:
    """Make pieces of characters that happen to be marks."""
    for item in items:
        if isinstance(item, Text) and re.search(MARKS, item.text):
            for part in filter(None, re.split(f"({MARKS})", item.text)):
                text = Text(part, item.run)
                yield Group((text,)) if is_mark(part[0]) else text
        elif not isinstance(item, Text) or item.text:
            yield item


def with_ranges(items: list[Item]) -> list[Item]:
    """Make pairs of the starts and ends of ranges, where they nest with the other pairs."""
    ends = {item.value for item in items if isinstance(item, Raw) and item.role == "end"}
    inside: list[tuple[Pair | str, int]] = []  # open pairs and ranges with their indexes
    for i, item in enumerate(items):
        if isinstance(item, Open):
            inside.append((item.pair, i))
        elif isinstance(item, Close):
            while inside.pop()[0] is not item.pair:
                pass
        elif isinstance(item, Raw) and item.role == "start" and item.value in ends:
            inside.append((item.value, i))
        elif isinstance(item, Raw) and item.role == "end":
            if inside and inside[-1][0] == item.value:
                start = inside.pop()[1]
                pair = Pair((items[start],), (item,))
                items[start], items[i] = Open(pair), Close(pair)
            else:
                inside = [entry for entry in inside if entry[0] != item.value]
    return items


def without_empty_pairs(items: Sequence[Item]) -> list[Item]:
    """Make one piece of each pair without text."""
    out: list[Item] = []
    starts: list[tuple[int, int]] = []  # of open pairs: index, and number of texts before
    n_texts = 0
    for item in items:
        out.append(item)
        n_texts += isinstance(item, Text)
        if isinstance(item, Open):
            starts.append((len(out) - 1, n_texts))
        elif isinstance(item, Close):
            start, n_before = starts.pop()
            if n_before == n_texts:
                out[start:] = [Group(tuple(out[start:]))]
    return out


def trimmed(items: Sequence[Item]) -> tuple[list[Item], list[Item], list[Item]]:
    """Split items into those before the text, those of the text, and those after it."""
    low, high = 0, len(items)
    while True:
        while _is_blank(items[low]):
            low += 1
        while _is_blank(items[high - 1]):
            high -= 1
        first, last = items[low], items[high - 1]
        if not (isinstance(first, Open) and isinstance(last, Close) and first.pair is last.pair):
            break
        low, high = low + 1, high - 1
    lead, core, tail = [*items[:low]], [*items[low:high]], [*items[high:]]
    if isinstance(first, Text):
        start = Text(first.text.lstrip(), first.run)
        lead.append(Text(first.text.removesuffix(start.text), first.run))
        core[0] = start
    last = core[-1]
    if isinstance(last, Text):
        end = Text(last.text.rstrip(), last.run)
        tail.insert(0, Text(last.text.removeprefix(end.text), last.run))
        core[-1] = end
    return lead, core, tail


def _is_blank(item: Item) -> bool:
    return isinstance(item, Raw | Group) or (isinstance(item, Text) and not item.text.strip())


def bases(items: Sequence[Item], default: Run) -> dict[Pair | None, Run]:
    """The first run of the most common formatting directly in each pair (None: in none)."""
    inside: list[Pair | None] = [None]
    counts: dict[Pair | None, dict[Hashable, int]] = {None: {}}
    runs: dict[tuple[Pair | None, Hashable], Run] = {}
    for item in items:
        if isinstance(item, Open):
            inside.append(item.pair)
            counts[item.pair] = {}
        elif isinstance(item, Close):
            inside.pop()
        elif isinstance(item, Text):
            key, count = item.run.key, counts[inside[-1]]
            count[key] = count.get(key, 0) + len("".join(item.text.split()))
            runs.setdefault((inside[-1], key), item.run)
    return {
        pair: runs[pair, max(count, key=lambda key: count[key])] if count else default
        for pair, count in counts.items()
    }


def flat(items: Sequence[Item]) -> Iterator[Written]:
    """The text and pieces in items; empty text is left out."""
    for item in items:
        if isinstance(item, Text | Raw):
            if not isinstance(item, Text) or item.text:
                yield item
        elif isinstance(item, Group):
            yield from flat(item.items)
        else:
            yield from flat(item.pair.before if isinstance(item, Open) else item.pair.after)
