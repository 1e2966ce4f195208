"""A line of text as the segments that a model translates.

    - Call <b>Anna</b> at {time}. Thanks!   ->   before "- ", segments "Call Anna at P." "Thanks!"

The plain text of a line (`plain.py`) has neither tags nor spans. The segments are sentences, or
parts of long sentences. A tag of a line or a block, such as <br> and </p>, ends a segment and stays
where it is.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import NamedTuple

import regex

from yakusu import lazy
from yakusu.data.files.long_lines import too_many_bytes
from yakusu.data.files.text import Pair
from yakusu.data.lines.casing import (
    in_capitals,
    may_be_recased,
    read_without_capitals,
    sentence_case,
    untitled,
)
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
    MAX_PLACES,
    RESERVED,
    firm_place,
)
from yakusu.data.lines.sentences import clauses, split
from yakusu.data.lines.spans import Span, breaks, merged, with_breaks
from yakusu.data.lines.terms import Glossary, Term
from yakusu.data.lines.unseen import with_unseen
from yakusu.errors import DataError
from yakusu.translator.reading.plain import PAIRED, PlainText, spaces_read

_INLINE = lazy.compile(f"[{FIRM_RANGE}{LOOSE_RANGE}]")
_ASCII = {**dict.fromkeys("‘’‛", "'"), **dict.fromkeys("“”„‟", '"'), **dict.fromkeys("‐‑–—", "-")}
_KEPT = rf"\s{LOOSE_RANGE}{BREAKS}"
_ENDS = lazy.compile(  # of a text with a letter
    rf"(?=\P{{L}}*+\p{{L}})([{_KEPT}]*+)(.*[^{_KEPT}])([{_KEPT}]*+)", regex.DOTALL
)
_NO_TERMS = Glossary(())


class Difference(NamedTuple):
    """How a translation differs from its segment.

    Attributes:
        lacks: The numbers and code-like tokens that only the segment has.
        adds: Those that only the translation has.
    """

    lacks: tuple[str, ...]
    adds: tuple[str, ...]


@dataclass(frozen=True)
class Segment:
    """A part of the plain text of a line.

    Attributes:
        before: White space and spans that stay in front of it.
        text: What is translated, as the model reads it; "": nothing.
        after: White space and spans that stay behind it.
        continues: The sentence continues in the next segment.
        terms: The terms of the glossary that the text contains.
        given: What is translated, as it was given, of the same length.
        capitals: It is in capitals, which the translation must be, too.
        checked: Its translation must have the same numbers and code-like tokens.
        difference: How every translation that was found differs in them, so that the segment is
            kept; None: it is not.
        doubted: Why every translation that was found is too bad, so that the segment is kept; "":
            it is not.
        known: Its translation, if it is not the model's; None: it is.
    """

    before: str
    text: str
    after: str
    continues: bool = False
    terms: tuple[Term, ...] = ()
    given: str = ""
    capitals: bool = False
    checked: bool = True
    difference: Difference | None = None
    doubted: str = ""
    known: str | None = None


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
        kept_because: Why the whole line is kept, although it has text; "": it is not.
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
    kept_because: str = ""

    @property
    def source(self) -> str:
        """The plain text as it was typed, in which tags are private-use characters, too."""
        plain, pieces, end = self.typed or self.given, list[str](), 0
        for (position, _), mark in zip(self.tags, self.marks, strict=True):
            pieces += [plain[end:position], mark]
            end = position
        return "".join([*pieces, plain[end:]])

    @property
    def kept(self) -> dict[str, str]:
        """The text of each private-use character, of spans and of tags."""
        texts = (tag.text for _, tag in self.tags)
        return {**self.spans, **dict(zip(self.marks, texts, strict=True))}

    @property
    def given_texts(self) -> dict[str, str]:
        """The text of each private-use character as it was given."""
        return {**self.spans, **self.terms}

    @property
    def texts(self) -> list[str]:
        """The texts to translate."""
        return [segment.text for segment in self.segments if segment.text]


def unchecked(passage: Passage) -> Passage:
    """The same line, whose translation is written as the model writes it."""
    segments = (replace(s, capitals=False, checked=False) for s in passage.segments)
    return replace(passage, segments=tuple(segments))


class PassageReader:
    """Divides text into passages.

    Args:
        config: What to copy and whether to divide lines.
        language: Code of the source language, "" if unknown.
        covers: Whether training has seen all characters of a text.
        fits: Whether a text is at most as long as the longest that training has seen.
        cost: How rare a word is; see `sentence_case`.
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
        cost: Callable[[str], float] | None = None,
        glossary: Glossary = _NO_TERMS,
    ) -> None:
        if "" in config.protect:
            raise DataError("a regular expression to protect is empty: remove --protect ''")
        self._finder = config.span_finder(RESERVED.pattern)
        self._divides, self._longest = not config.one_sentence_per_line, config.longest_line
        self._language, self._covers, self._fits = language, covers, fits
        self._recases, self._cost = config.capitals and config.version > 1, cost
        self._restores = config.version > 1
        self._glossary = glossary
        # Quotation marks and dashes that training has not seen are read as ASCII.
        unseen = {c: ascii_ for c, ascii_ in _ASCII.items() if not covers(c) and covers(ascii_)}
        self._punctuation = str.maketrans(unseen)

    def read(
        self,
        text: str,
        *,
        layout: Layout | None = None,
        whole: bool = False,
        recases: bool = True,
    ) -> list[Passage]:
        """The passages of a text, one for each line.

        Args:
            text: One or several lines.
            layout: State after the previous lines of a longer text; None: the text is complete.
            whole: Do not divide the lines into sentences.
            recases: Read capitals and title case as sentence case, if the configuration says so.
        """
        recases, divides = recases and self._recases, self._divides and not whole
        given = text.splitlines(keepends=True) or [""]
        kept = [self._too_long(line) for line in given]
        divide = (layout or Layout()).read if self._divides else _stripped
        lines = [
            (line, "", "") if reason else divide(line)
            for line, reason in zip(given, kept, strict=True)
        ]
        found = self._finder.find_in_lines(
            [
                "" if reason else body or before
                for (before, body, _), reason in zip(lines, kept, strict=True)
            ]
        )
        return [
            self._passage(line, spans, whole=not divides, recases=recases)
            if line[1]
            else Passage(line[0], (), line[2], kept_because=reason)
            for line, spans, reason in zip(lines, found, kept, strict=True)
        ]

    def _too_long(self, line: str) -> str:
        """Why a line is too long to be translated; "": it is not."""
        n_bytes = len(line.rstrip("\r\n").encode("utf-8", "replace"))
        return too_many_bytes(n_bytes, self._longest) if n_bytes > self._longest else ""

    def read_pair(self, pair: Pair) -> tuple[Pair, Mapping[str, str]]:
        """A source as a model reads it, and its translation as the model writes it.

        Spans are replaced by private-use characters on both sides; tags of pairs, bullets and the
        like are removed. The pair is unchanged if the translation lacks any of them.

        Returns:
            The pair, and the text of each private-use character.
        """
        source, target = pair
        passages = self.read(source, whole=True, recases=False)
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
        self, line: tuple[str, str, str], of_line: Sequence[Span], *, whole: bool, recases: bool
    ) -> Passage:
        (before, body, after), protected = _without_outer(line, of_line)
        known = body.translate(self._punctuation)
        recases = recases and not known.islower()
        cased = self._recased(known, protected, whole=whole) if recases else known
        is_ascii = body.isascii()
        covers = self._covers if is_ascii or not right_to_left(body) else self._covers_marks
        found = with_unseen(cased, protected, covers, glossary=self._glossary)
        n_terms = sum(span.kind == "term" for span in found) if found else 0
        counts = len(of_line), len({*found}.difference(protected)) - n_terms, n_terms
        spans_of = merged(found if whole else with_breaks(found, body), body)
        if len(spans_of) > MAX_PLACES:
            return Passage(before + body, (), after, {}, "", (), (), *counts)
        plain = PlainText(spans_of)
        spans, terms = dict[str, str](), dict[str, str]()
        for place, span in plain.places:
            spans[place] = body[span.start : span.end]
            if span.kind == "term":
                spans[place], terms[place] = span.text, spans[place]
        every, tags = list(map(plain.of, (known, cased, body))), plain.tags
        if n_hidden := 0 if is_ascii else n_invisible(every[0]):
            removed = removed_places(every[0])
            tags = [(place - bisect_left(removed, place), tag) for place, tag in tags]
            every = list(map(visible, every))
        given, _, typed = every
        parts = spaces_read(given, tags)
        known, cased, body = ("".join(text[part] for part in parts) for text in every)
        segments = tuple(self._segments(known, cased, body, spans, whole=whole))
        unused = (place for place in map(firm_place, count()) if place not in spans)
        marks = tuple(islice(unused, len(tags)))
        restored = typed if self._restores and typed != given else ""
        more = *counts, terms, n_hidden, restored
        return Passage(before, segments, after, spans, given, tuple(tags), marks, *more)

    def _covers_marks(self, text: str) -> bool:
        """As `_covers`, for text in which direction marks have a meaning and are copied."""
        return not DIRECTION_MARK.search(text) and self._covers(text)

    def _recased(self, text: str, protected: Sequence[Span], *, whole: bool) -> str:
        """A line with sentence case instead of capitals and title case; its spans are unchanged."""
        if not may_be_recased(text):
            return text
        spans = merged(protected if whole else with_breaks(protected, text), text)
        if len(spans) > MAX_PLACES:
            return text
        plain = PlainText(spans)
        own = plain.of(text)
        sentences = [own] if whole else split(own, self._language)
        all_are = in_capitals(own)  # also those that are a single short word, such as STOP
        cased = [
            sentence_case(each, self._language, self._cost)
            if in_capitals(each) or (all_are and each.isupper())
            else untitled(each, self._language, self._cost)
            for each in sentences
        ]
        return plain.restored("".join(cased), text)

    def _segments(
        self, known: str, cased: str, body: str, spans: Mapping[str, str], *, whole: bool
    ) -> Iterator[Segment]:
        """The parts of a plain text, without the ends that need no translation.

        Args:
            known: The text, with the punctuation that training has seen.
            cased: The same with sentence case instead of capitals and title case.
            body: The text as it was given.
            spans: The text of each private-use character.
            whole: Do not divide it.
        """
        for part, continues in self._parts(known, cased, spans, whole=whole):
            text, given = cased[part], body[part]
            if not (ends := _ENDS.fullmatch(text)):
                yield Segment(given, "", "")
                continue
            begin, last = ends.span(2)
            own, read = known[part][begin:last], text[begin:last]
            yield Segment(
                text[:begin],
                read,
                text[last:],
                continues,
                self._glossary.find(own) if self._glossary.terms else (),
                given[begin:last],
                capitals=own != read and read_without_capitals(own, read),
            )

    def _parts(
        self, plain: str, cased: str, spans: Mapping[str, str], *, whole: bool
    ) -> Iterator[tuple[slice, bool]]:
        """Where the sentences of a plain text are; long ones are divided at clauses.

        Args:
            plain: The text.
            cased: The text as the model reads it, of the same length.
            spans: The text of each private-use character.
            whole: Do not divide it.

        Yields:
            The place of each part, and whether the sentence continues after it.
        """
        if whole or not plain:
            yield slice(0, len(plain)), False
            return
        # Punctuation that training has not seen still ends sentences.
        readable = _INLINE.sub(lambda m: spans[m[0]] if len(spans[m[0]]) == 1 else m[0], plain)
        start = end = 0
        for sentence in split(readable, self._language):
            end += len(sentence)
            for part in clauses(cased[start:end], self._fits):
                place = slice(start, start + len(part))
                start = place.stop
                yield place, start < end


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
    return span.kind in PAIRED and span.partner < 0 and not breaks(span.text)
