"""Translates the texts of a request according to their kind: plain text, or HTML."""

from collections.abc import Callable, Sequence
from threading import Event

from yakusu.serve.api.documents import translate_page
from yakusu.serve.api.texts import BestTexts, along
from yakusu.serve.catalog import Route
from yakusu.serve.errors import RefusedError
from yakusu.serve.service import Service


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
        return [translate_page(service, text, translate_all, cancelled) for text in texts]

    return pages
