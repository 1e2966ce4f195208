"""Translates the texts of a request: plain text or HTML, directly or through a pivot language."""

from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import TypeVar

from yakusu.documents.document import Document
from yakusu.pipeline.documents import usable
from yakusu.search.config import SearchConfig
from yakusu.serve.catalog import Route
from yakusu.serve.work import AbandonedError

_BYTE_ORDER_MARK = "\ufeff"  # the text is UTF-8, whatever charset it declares
_LITTLE, _LITTLE_LINES = 1000, 8  # characters; lines
T = TypeVar("T")
TranslateNBest = Callable[[Sequence[str]], list[list[str]]]


def is_little(texts: Sequence[str], n: int = 1) -> bool:
    """Whether the `n` best translations of texts take only some milliseconds besides decoding."""
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


def best_texts(route: Route, texts: Sequence[str], cancelled: Event) -> Sequence[str]:
    """Translate texts with one translator after the other; without any, they are unchanged."""
    for step in route:
        found = step.translator.with_settings().stream(texts, cancelled=cancelled)
        texts = [best[0].text for best in complete(found, cancelled)]
    return texts


def along(route: Route, cancelled: Event, *, n: int = 1) -> TranslateNBest:
    """A function that returns the `n` best translations of each text.

    Args:
        route: The translators; each passes its best translation on to the next one. Without
            any, texts are unchanged.
        cancelled: Set when the result is no longer needed.
        n: Number of translations of each text; there may be fewer.
    """
    if not route:
        return lambda texts: [[text] for text in texts]
    *others, last = route
    final = last.translator.with_settings(search=n_best(last.translator.search, n))

    def translate(texts: Sequence[str]) -> list[list[str]]:
        texts = best_texts(others, texts, cancelled)
        found = final.stream(texts, cancelled=cancelled)
        return [[each.text for each in best] for best in complete(found, cancelled)]

    return translate


def html_bytes(source: str) -> bytes:
    """A page or a fragment as a document, which has its charset."""
    return (_BYTE_ORDER_MARK + source).encode()


def translate_html(document: Document, translate: TranslateNBest) -> list[str]:
    """Translate a page or a fragment, and keep its tags.

    Args:
        document: The document of `html_bytes`.
        translate: Returns the best translations of each text.

    Returns:
        The page with the best translations, then with the second best ones, and so on.
    """
    every = translate(document.texts)
    n = max(map(len, every), default=1)
    pages = []
    for rank in range(n):
        chosen = [best[min(rank, len(best) - 1)] for best in every]
        kept, _ = usable(document, chosen)
        pages.append(document.render(kept).decode("utf-8-sig"))
    return list(dict.fromkeys(pages))
