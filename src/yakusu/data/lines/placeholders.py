"""Placeholder tokens: what a model reads and writes in place of a protected span.

    Call {name} at 9.   ->   Call SLOTS[0] at 9.

The vocabulary contains a token for each of SLOTS. The search makes a translation contain each of
them exactly as often as the source; they are then replaced by the spans. For a model to learn to
place them, some training pairs contain them: where both sides have the same protected spans, and in
a share of the other pairs,

    where a word occurs once on each side, as names and numbers do, in place of that word;
    elsewhere, in one of PER_INSERTION such pairs, at the beginning or the end of both sides.

The choice is a function of the text of the pair.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from yakusu import lazy
from yakusu.data.files.text import Pair
from yakusu.data.lines.private_use import IS_SLOT, SLOTS
from yakusu.data.lines.spans import Span, SpanFinder, merged, texts
from yakusu.data.lines.words import UNSPACED

PER_INSERTION = 4
_MAX_WORDS = 3  # words of a pair that become placeholders
# Numbers and names stand beside letters of scripts without spaces, and of Hangul: 部屋は432です。
_LETTER = rf"(?:(?![{UNSPACED}\p{{Hangul}}])[\p{{L}}\p{{N}}])"
_WORD = lazy.compile(rf"{_LETTER}+(?:[-'.]{_LETTER}+)*")
_END = lazy.compile(r"\P{P}(\p{P}*)$")


def shown_piece(piece: str) -> str:
    """A piece of a vocabulary as it is shown: a placeholder token by its number."""
    return f"<placeholder {SLOTS.index(piece) + 1}>" if IS_SLOT.fullmatch(piece) else piece


def mask_pair(
    pair: Pair, source: Sequence[Span], target: Sequence[Span], *, first: int = 0
) -> Pair:
    """Replace equal spans on both sides by the same slots; tags of pairs are removed.

    Args:
        pair: A source and its translation.
        source: The spans of the source, in order.
        target: The spans of the translation, in order; the same texts.
        first: The number of the first slot.
    """
    waiting: dict[str, list[str]] = {}
    whole = [span for span in source if span.kind == "whole"]
    for number, span in enumerate(whole, start=first):
        waiting.setdefault(span.text, []).append(SLOTS[number % len(SLOTS)])
    of_source = {text: [*slots] for text, slots in waiting.items()}
    return _masked(pair[0], source, of_source), _masked(pair[1], target, waiting)


def _masked(text: str, spans: Sequence[Span], slots: Mapping[str, list[str]]) -> str:
    """Replace each span by the next slot of its text."""
    pieces, end = [], 0
    for span in spans:
        slot = slots[span.text].pop(0) if span.kind == "whole" else ""
        pieces += [text[end : span.start], slot]
        end = span.end
    return "".join([*pieces, text[end:]])


@dataclass(frozen=True)
class Placeholders:
    """Puts placeholder tokens into training pairs.

    Args:
        share: Share of the pairs without protected spans that may get placeholders.
        ignore_case: Whether words are compared without case.
        symbols: Symbols such as "<BT>", which are not part of the text at the start of a source.
    """

    share: float
    ignore_case: bool
    symbols: tuple[str, ...] = ()
    _finder: SpanFinder = field(default_factory=SpanFinder, init=False, compare=False)

    def __call__(self, pair: Pair) -> Pair:
        """The pair with placeholders, or unchanged."""
        tag = next((f"{each} " for each in self.symbols if pair[0].startswith(f"{each} ")), "")
        source, target = self._masked((pair[0].removeprefix(tag), pair[1]))
        return tag + source, target

    def _masked(self, pair: Pair) -> Pair:
        pair = IS_SLOT.sub("", pair[0]), IS_SLOT.sub("", pair[1])
        source, target = (merged(self._finder.find(side), side) for side in pair)
        if source and texts(source) == texts(target):
            return mask_pair(pair, source, target, first=_digest(pair)[0])
        digest = _digest(pair)
        if int.from_bytes(digest[:8], "big") >= self.share * 2**64:
            return pair
        number, more = digest[8], digest[9]
        if words := self._shared_words(pair):
            n = min(len(words), 1 + (number % 3 == 0) + (number % 9 == 0), _MAX_WORDS)
            chosen = [words[(more + i) % len(words)] for i in range(n)]
            by_start = attrgetter("start")
            sides = (sorted((both[side] for both in chosen), key=by_start) for side in range(2))
            return mask_pair(pair, *sides, first=number)
        if number % PER_INSERTION:
            return pair
        insert = _before if more % 2 else _after
        slot = SLOTS[more // 2 % len(SLOTS)]
        return insert(pair[0], slot), insert(pair[1], slot)

    def _shared_words(self, pair: Pair) -> list[tuple[Span, Span]]:
        """The words that occur once on each side."""
        fold: Callable[[str], str] = str.casefold if self.ignore_case else str
        sides = [
            [Span(m.start(), m.end(), fold(m[0])) for m in _WORD.finditer(side)] for side in pair
        ]
        once = [
            {w for w, n in Counter(span.text for span in side).items() if n == 1} for side in sides
        ]
        shared = {word for word in once[0] & once[1] if len(word) > 2 or word.isdigit()}
        source, target = ({s.text: s for s in side if s.text in shared} for side in sides)
        return [(span, target[word]) for word, span in source.items()]


def _digest(pair: Pair) -> bytes:
    return hashlib.blake2b("\n".join(pair).encode(), digest_size=16).digest()


def _before(text: str, slot: str) -> str:
    return f"{slot} {text}"


def _after(text: str, slot: str) -> str:
    """Put a slot at the end of a sentence, before its punctuation."""
    end = found.start(1) if (found := _END.search(text)) else len(text)
    return f"{text[:end].rstrip()} {slot}{text[end:]}"
