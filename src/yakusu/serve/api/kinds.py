"""Translates the texts of a request according to their kind: plain text, or HTML."""

from collections.abc import Callable, Sequence
from io import BytesIO
from threading import Event

from yakusu.documents.document import DocumentOptions
from yakusu.documents.html import html
from yakusu.serve.api.texts import BestTexts, TranslateNBest, along, html_bytes, translate_html
from yakusu.serve.api.workers import opened
from yakusu.serve.catalog import Route
from yakusu.serve.errors import RefusedError
from yakusu.serve.service import Service

_LITTLE_HTML = 4000  # bytes that are parsed in this process


def translation(
    service: Service, kind: str, route: Route, texts: Sequence[str], n: int
) -> Callable[[Event], list[BestTexts]]:
    """A function that returns the best translations of each text.

    Args:
        service: The service.
        kind: "text" or "html".
        route: The models.
        texts: The texts.
        n: Number of translations of each text.

    Raises:
        RefusedError: The kind is another one.
    """
    if kind == "text":
        return lambda cancelled: along(route, cancelled, n=n)(texts)
    if kind != "html":
        raise RefusedError(400, f"{kind} format is not supported: choose text or html")

    def pages(cancelled: Event) -> list[BestTexts]:
        translate_all = along(route, cancelled, n=n)
        return [_page(service, text, translate_all, cancelled) for text in texts]

    return pages


def _page(
    service: Service, text: str, translate_all: TranslateNBest, cancelled: Event
) -> BestTexts:
    """The best translations of HTML, which is parsed in a worker process if that takes long."""
    data = html_bytes(text)
    if len(data) <= _LITTLE_HTML:
        return translate_html(html.read(data, DocumentOptions()), translate_all)
    with opened(
        *(service, "text.html", BytesIO(data), DocumentOptions()),
        size=len(data),
        cancelled=cancelled,
    ) as document:
        return translate_html(document, translate_all)
