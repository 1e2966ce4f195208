"""A line of text as the segments that a model translates.

    - Call <b>Anna</b> at {time}. Thanks!   ->   before "- ", segments "Call Anna at P." "Thanks!"

The plain text of a line has neither tags nor spans: a pair of tags is removed and its place is
remembered, and every other span becomes a private-use character, P. Of the white space on both
sides of tags, only the first is read: "You have <0></0> three" is "You have three". The segments
are sentences, or parts of long sentences. A tag of a line or a block, such as <br> and </p>, ends a
segment and stays where it is.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice, pairwise, starmap

import regex

from yakusu.data.files.text import Pair
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.invisible import (
    DIRECTION_MARK,
    n_invisible,
    removed_places,
    right_to_left,
    visible,
)
from yakusu.data.lines.layout import Layout
from yakusu.data.lines.private_use import (
    BREAKS,
    FIRM_RANGE,
    LOOSE_RANGE,
    MARK_RANGE,
    MAX_PLACES,
    RESERVED,
    break_place,
    firm_place,
    loose_place,
)
from yakusu.data.lines.sentences import clauses, split
from yakusu.data.lines.spans import Span, breaks, merged, with_breaks
from yakusu.data.lines.terms import Glossary, Term
from yakusu.data.lines.unseen import with_unseen
from yakusu.data.lines.words import has_letter
from yakusu.errors import DataError

_PAIRED = ("opening", "closing")
_INLINE = regex.compile(f"[{FIRM_RANGE}{LOOSE_RANGE}]")
_ASCII = {**dict.fromkeys("‘’‛", "'"), **dict.fromkeys("“”„‟", '"'), **dict.fromkeys("‐‑–—", "-")}
# Pictures, line breaks and similar spans stay at the ends of a sentence; placeholders, also {},
# belong to it.
_IS_LOOSE = regex.compile(rf"<.*|(?!.*\{{\}})[^\p{{L}}\p{{N}}{MARK_RANGE}]+", regex.DOTALL)
_KEPT = rf"\s{LOOSE_RANGE}{BREAKS}"
_ENDS = regex.compile(rf"([{_KEPT}]*+)(.*[^{_KEPT}])([{_KEPT}]*+)", regex.DOTALL)
_SPACES = regex.compile(r"\s+")
_AFTER_ATTACHED = regex.compile(r"[.,;:!?…\p{Pe}\p{Pf}]+(?:\s|$)|[、。，．！？：；」』）]")
_NO_TERMS = Glossary(())


@dataclass(frozen=True)
class Segment:
    """A part of the plain text of a line.

    Attributes:
        before: White space and spans that stay in front of it.
        text: What is translated; "": nothing.
        after: White space and spans that stay behind it.
        continues: The sentence continues in the next segment.
        terms: The terms of the glossary that the text contains.
    """

    before: str
    text: str
    after: str
    continues: bool = False
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Passage:
    """A line, or a part of a line, with the same layout in every language.

    Attributes:
        before: What precedes the plain text, such as a bullet.
        segments: The plain text.
        after: What follows, such as the line break.
        spans: The text of each private-use character; of a term, its translation.
        given: The plain text with all white space around tags.
        tags: The tags of pairs, with their positions in `given`.
        marks: A private-use character for each tag.
        n_spans: Number of protected spans, including tags.
        n_unseen: Number of words and characters that training has not seen.
        n_terms: Number of terms that training has not seen; their spans are the translations.
        terms: The text of each private-use character of a term, as given.
        n_invisible: Number of characters that a reader does not see, which are not translated.
        typed: The plain text with its own quotation marks and dashes, if some of them are read as
            ASCII because training has not seen them; otherwise "".
    """

    before: str
    segments: tuple[Segment, ...] = ()
    after: str = ""
    spans: Mapping[str, str] = field(default_factory=dict)
    given: str = ""
    tags: tuple[tuple[int, Span], ...] = ()
    marks: tuple[str, ...] = ()
    n_spans: int = 0
    n_unseen: int = 0
    n_terms: int = 0
    terms: Mapping[str, str] = field(default_factory=dict)
    n_invisible: int = 0
    typed: str = ""

    @property
    def plain(self) -> str:
        """The plain text."""
        return "".join(part.before + part.text + part.after for part in self.segments)

    @property
    def kept(self) -> dict[str, str]:
        """The text of each private-use character, of spans and of tags."""
        texts = (tag.text for _, tag in self.tags)
        return {**self.spans, **dict(zip(self.marks, texts, strict=True))}

    @property
    def texts(self) -> list[str]:
        """The texts to translate."""
        return [segment.text for segment in self.segments if segment.text]


class PassageReader:
    """Divides text into passages.

    Args:
        config: What to copy and whether to divide lines.
        language: Code of the source language, "" if unknown.
        covers: Whether training has seen all characters of a text.
        fits: Whether a text is at most as long as the longest that training has seen.
        glossary: The terms that are translated even if training has not seen them.

    Raises:
        DataError: A regular expression is not valid or empty.
    """

    def __init__(
        self,
        config: TextConfig,
        *,
        language: str,
        covers: Callable[[str], bool],
        fits: Callable[[str], bool],
        glossary: Glossary = _NO_TERMS,
    ) -> None:
        if "" in config.protect:
            raise DataError("a regular expression to protect is empty: remove --protect ''")
        self._finder = config.span_finder(RESERVED.pattern)
        self._divides = not config.one_sentence_per_line
        self._language, self._covers, self._fits = language, covers, fits
        self._glossary = glossary
        # Quotation marks and dashes that training has not seen are read as ASCII.
        unseen = {c: ascii_ for c, ascii_ in _ASCII.items() if not covers(c) and covers(ascii_)}
        self._punctuation = str.maketrans(unseen)

    def read(
        self, text: str, *, layout: Layout | None = None, whole: bool = False
    ) -> list[Passage]:
        """The passages of a text, one for each line.

        Args:
            text: One or several lines.
            layout: State after the previous lines of a longer text; None: the text is complete.
            whole: Do not divide the lines into sentences.
        """
        divide = (layout or Layout()).read if self._divides else _stripped
        lines = list(map(divide, text.splitlines(keepends=True) or [""]))
        found = self._finder.find_in_lines([body or before for before, body, _ in lines])
        return [
            self._passage(line, spans, whole=whole or not self._divides)
            if line[1]
            else Passage(line[0], (), line[2])
            for line, spans in zip(lines, found, strict=True)
        ]

    def read_pair(self, pair: Pair) -> tuple[Pair, Mapping[str, str]]:
        """A source as a model reads it, and its translation as the model writes it.

        Spans are replaced by private-use characters on both sides; tags of pairs, bullets and the
        like are removed. The pair is unchanged if the translation lacks any of them.

        Returns:
            The pair, and the text of each private-use character.
        """
        source, target = pair
        passages = self.read(source, whole=True)
        if len(passages) != 1 or not passages[0].texts:
            return pair, {}
        passage, segment = passages[0], passages[0].segments[0]
        replaced = [(tag.text, "") for _, tag in passage.tags]
        replaced += [(span, place) for place, span in passage.spans.items()]
        for old, new in replaced:
            if old not in target:
                return pair, {}
            target = target.replace(old, new, 1)
        before, after = passage.before + segment.before, segment.after + passage.after
        if not (target.startswith(before) and target.endswith(after)):
            return pair, {}
        return (segment.text, target[len(before) : len(target) - len(after)]), passage.spans

    def _passage(
        self, line: tuple[str, str, str], of_line: Sequence[Span], *, whole: bool
    ) -> Passage:
        (before, body, after), protected = _without_outer(line, of_line)
        plain, typed, end, tags = "", "", 0, list[tuple[int, Span]]()
        spans, terms = dict[str, str](), dict[str, str]()
        known = body.translate(self._punctuation)
        covers = self._covers_marks if right_to_left(body) else self._covers
        found = with_unseen(known, protected, covers, glossary=self._glossary)
        n_terms = sum(span.kind == "term" for span in found)
        counts = len(of_line), len(found) - len(protected) - n_terms, n_terms
        spans_of = merged(found if whole else with_breaks(found, body), body)
        if len(spans_of) > MAX_PLACES:
            return Passage(before + body, (), after, {}, "", (), (), *counts)
        for span in spans_of:
            plain, typed = plain + known[end : span.start], typed + body[end : span.start]
            if span.kind in _PAIRED:
                tags.append((len(plain), span))
            else:
                place = _place(span, len(spans))
                plain, typed = plain + place, typed + place
                spans[place] = body[span.start : span.end]
                if span.kind == "term":
                    spans[place], terms[place] = span.text, spans[place]
            end = span.end
        plain, typed = plain + known[end:], typed + body[end:]
        if n_hidden := n_invisible(plain):
            removed = removed_places(plain)
            tags = [(place - bisect_left(removed, place), tag) for place, tag in tags]
            plain, typed = visible(plain), visible(typed)
        read = _without_spaces(plain, tags) if tags else plain
        segments = tuple(starmap(self._segment, self._parts(read, spans, whole=whole)))
        unused = (place for place in map(firm_place, count()) if place not in spans)
        marks = tuple(islice(unused, len(tags)))
        more = *counts, terms, n_hidden, typed if typed != plain else ""
        return Passage(before, segments, after, spans, plain, tuple(tags), marks, *more)

    def _covers_marks(self, text: str) -> bool:
        """As `_covers`, for text in which direction marks have a meaning and are copied."""
        return not DIRECTION_MARK.search(text) and self._covers(text)

    def _segment(self, text: str, continues: bool) -> Segment:
        """A part of a plain text, without the ends that need no translation."""
        if not has_letter(text):
            return Segment(text, "", "")
        before, own, after = _ENDS.fullmatch(text).groups()
        terms = self._glossary.find(own) if self._glossary.terms else ()
        return Segment(before, own, after, continues, terms)

    def _parts(
        self, plain: str, spans: Mapping[str, str], *, whole: bool
    ) -> list[tuple[str, bool]]:
        """The sentences of a plain text; long ones are divided at clauses.

        Returns:
            The parts, and whether the sentence continues after each.
        """
        if whole or not plain:
            return [(plain, False)]
        # Punctuation that training has not seen still ends sentences.
        readable = _INLINE.sub(lambda m: spans[m[0]] if len(spans[m[0]]) == 1 else m[0], plain)
        parts, end = list[tuple[str, bool]](), 0
        for sentence in split(readable, self._language):
            *others, last = clauses(plain[end : end + len(sentence)], self._fits)
            parts += [*((clause, True) for clause in others), (last, False)]
            end += len(sentence)
        return parts


def _stripped(line: str) -> tuple[str, str, str]:
    """A line whose layout is not kept: nothing, what is translated, and the line break."""
    (content,) = line.splitlines() or [""]
    return "", content.strip(), line[len(content) :]


def _without_outer(
    line: tuple[str, str, str], spans: Sequence[Span]
) -> tuple[tuple[str, str, str], list[Span]]:
    """Make the tags at both ends of a line whose partners are on other lines part of its layout."""
    before, body, after = line
    outer, start, end = deque(spans), 0, len(body)
    while outer and _crosses(outer[0]) and not body[start : outer[0].start].strip():
        start = outer.popleft().end
    while outer and _crosses(outer[-1]) and not body[outer[-1].end : end].strip():
        end = outer.pop().start
    inner = body[start:end]
    start += len(inner) - len(inner.lstrip())
    end = start + len(inner.strip())
    kept = [replace(span, start=span.start - start, end=span.end - start) for span in outer]
    return (before + body[:start], body[start:end], body[end:] + after), kept


def _crosses(span: Span) -> bool:
    """Whether a span is a tag whose partner is on another line."""
    return span.kind in _PAIRED and span.partner < 0 and not breaks(span.text)


def _without_spaces(text: str, tags: Sequence[tuple[int, Span]]) -> str:
    """A text in which tags leave no white space but the first on both sides of them.

    None is left before punctuation, and after an opening bracket, to which a pair that encloses
    nothing is attached.

    Args:
        text: The text without tags.
        tags: The tags, with their positions.
    """
    positions = [position for position, _ in tags]
    pieces, end = list[str](), 0
    for run in _SPACES.finditer(text):
        first, last = bisect_left(positions, run.start()), bisect_right(positions, run.end())
        if first < last:
            cuts = [run.start(), *positions[first:last], run.end()]
            spaces = [text[a:b] for a, b in pairwise(cuts)]
            kinds = [tag.kind for _, tag in tags[first:last]]
            is_attached = any(pair == _PAIRED for pair in pairwise(kinds)) and (
                (not spaces[-1] and run.start() > 0 and _AFTER_ATTACHED.match(text, run.end()))
                or (not spaces[0] and run.end() < len(text) and text[run.start() - 1] in "([{")
            )
            kept = "" if is_attached else next(filter(None, spaces))
            pieces += [text[end : run.start()], kept]
            end = run.end()
    return "".join([*pieces, text[end:]])


def _place(span: Span, number: int) -> str:
    """The character for a span."""
    if span.kind == "break":
        return break_place(number)
    return (loose_place if _IS_LOOSE.fullmatch(span.text) else firm_place)(number)
