"""Translates the texts of a request: plain text or HTML, directly or through a pivot language."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from threading import Event
from typing import TypeVar

from yakusu.data.lines.config import TextConfig
from yakusu.data.segments import UNKNOWN_CONTEXT, SegmentContext
from yakusu.documents.document import Document, Known, usable
from yakusu.pipeline.documents import TranslatedText
from yakusu.search.config import SearchConfig
from yakusu.serve.catalog import Route
from yakusu.serve.work import AbandonedError
from yakusu.translator import Translator
from yakusu.translator.request import Request as TextRequest

_BYTE_ORDER_MARK = "\ufeff"  # the text is UTF-8, whatever charset it declares
_LITTLE, _LITTLE_LINES = 1000, 8  # characters; lines
T = TypeVar("T")


@dataclass(frozen=True)
class BestTexts:
    """The best translations of a text, or of a page.

    Attributes:
        texts: The translations, the best first.
        copied: Whether the text, or a part of it, is kept, as no translation can be used.
        differences: A sentence for each part that is kept because every translation differs from
            it, as in `Translation`.
        context: Where the text stands.
        known: What memories know of it; None: nothing, or it is translated through a pivot, of
            which they know.
    """

    texts: Sequence[str]
    copied: bool = False
    differences: tuple[str, ...] = ()
    context: SegmentContext = UNKNOWN_CONTEXT
    known: Known | None = None


TranslateNBest = Callable[[Iterable[str | TextRequest]], list[BestTexts]]


def is_little(route: Route, texts: Sequence[str], n: int = 1) -> bool:
    """Whether the `n` best translations of texts take only some milliseconds besides decoding.

    Reading a memory may take longer, or wait for a disk.
    """
    if any(step.translator.memories for step in route):
        return False
    n_lines = sum(text.count("\n") + 1 for text in texts)
    return n * n_lines <= _LITTLE_LINES and n * sum(map(len, texts)) <= _LITTLE


def n_best(search: SearchConfig, n: int) -> SearchConfig:
    """Settings of a search for the `n` best translations."""
    if search.n_best == n <= search.beam:
        return search  # copying takes some time
    return search.model_copy(update={"n_best": n, "beam": max(search.beam, n)})


def complete(found: Iterator[T], cancelled: Event) -> Iterator[T]:
    """What `Translator.stream` yields.

    Raises:
        AbandonedError: It ends early, because the result is no longer needed.
    """
    yield from found
    if cancelled.is_set():
        raise AbandonedError


def best_texts(
    route: Route, texts: Iterable[str | TextRequest], cancelled: Event
) -> list[BestTexts]:
    """Translate texts with one translator after the other; without any, they are unchanged."""
    every = [
        BestTexts([text]) if isinstance(text, str) else BestTexts([text.text], context=text.context)
        for text in texts
    ]
    for step in route:
        every = _translated(step.translator.with_settings(), every, cancelled)
    return every


def _translated(
    translator: Translator, every: Sequence[BestTexts], cancelled: Event
) -> list[BestTexts]:
    """Translate the best of the texts, and remember what was kept before."""
    items = [TextRequest(each.texts[0], context=each.context) for each in every]
    found = translator.stream(items, cancelled=cancelled)
    return [
        BestTexts(
            [own.text for own in best],
            before.copied or best[0].copied or bool(best[0].differences),
            before.differences + best[0].differences,
            before.context,
            TranslatedText.of(best[0]).known,
        )
        for before, best in zip(every, complete(found, cancelled), strict=True)
    ]


def along(
    route: Route,
    cancelled: Event,
    *,
    n: int = 1,
    text: TextConfig | None = None,
    terms: Sequence[tuple[str, str]] = (),
) -> TranslateNBest:
    """A function that returns the `n` best translations of each text.

    Args:
        route: The translators; each passes its best translation on to the next one. Without
            any, texts are unchanged.
        cancelled: Set when the result is no longer needed.
        n: Number of translations of each text; there may be fewer.
        text: How the last translator reads texts; None: with its own settings.
        terms: A glossary for the last translator.
    """
    if not route:
        return lambda texts: best_texts((), texts, cancelled)
    *others, last = route
    final = last.translator.with_settings(
        search=n_best(last.translator.search, n), text=text, terms=terms or None
    )

    def translate(texts: Iterable[str | TextRequest]) -> list[BestTexts]:
        every = _translated(final, best_texts(others, texts, cancelled), cancelled)
        return [replace(each, known=None) for each in every] if others else every

    return translate


def html_bytes(source: str) -> bytes:
    """A page or a fragment as a document, which has its charset."""
    return (_BYTE_ORDER_MARK + source).encode()


def translate_html(document: Document, translate: TranslateNBest) -> BestTexts:
    """Translate a page or a fragment, and keep its tags.

    Args:
        document: The document of `html_bytes`.
        translate: Returns the best translations of each text.

    Returns:
        The page with the best translations, then with the second best ones, and so on.
    """
    return _with_best(document, translate(document.texts))


def translate_fragments(
    documents: Sequence[Document], translate: TranslateNBest
) -> list[BestTexts]:
    """Translate fragments together; see `translate_html`."""
    every = iter(translate([text for document in documents for text in document.texts]))
    return [_with_best(each, [*islice(every, len(each.texts))]) for each in documents]


def _with_best(document: Document, every: Sequence[BestTexts]) -> BestTexts:
    """A document with the best translations of its texts."""
    n = max((len(each.texts) for each in every), default=1)
    pages = []
    for rank in range(n):
        chosen = [each.texts[min(rank, len(each.texts) - 1)] for each in every]
        kept, _ = usable(document, chosen)
        pages.append(document.render(kept).decode("utf-8-sig"))
    return BestTexts(list(dict.fromkeys(pages)), any(each.copied for each in every))
