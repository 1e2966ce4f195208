"""Pages of which origins may store something here: a browser sends the origin of its page."""

from typing import Any
from urllib.parse import urlsplit

from fastapi import Depends, Request

from yakusu.serve.config import is_loopback
from yakusu.serve.errors import RefusedError

_PORTS = {"http": 80, "https": 443}
_SHOWN = 100  # characters


async def check_origin(request: Request) -> None:
    """Refuse requests of pages that are neither the service's own nor allowed.

    No `Origin`: not a page of a browser, or one that only reads. A page that was loaded through
    https is also the service's own if the proxy in front of it does not tell that it uses https.
    Without a proxy, pages of a service on the loopback interface have a loopback address: a page of
    the network whose name leads to this computer ("DNS rebinding") is foreign.

    Raises:
        RefusedError: The page is of another origin (403).
    """
    config = request.app.state.service.config
    own = _parsed(f"{request.url.scheme}://{request.headers.get('host', '')}")
    if own and config.is_local and not is_loopback(own[1]):
        own = None
    allowed = {*map(_parsed, config.allow_origins), own, _through_https(own)} - {None}
    for given in request.headers.getlist("origin"):
        if "*" not in config.allow_origins and _parsed(given) not in allowed:
            raise RefusedError(
                403,
                f"Pages of {given[:_SHOWN]} cannot store data here: the operator can add this "
                "origin to allow_origins",
                reason="origin",
            )


STORES: list[Any] = [Depends(check_origin)]  # of the routes that store something


def _parsed(origin: str) -> tuple[str, str, int] | None:
    """Scheme, host and port; None: not an origin."""
    try:
        found = urlsplit(origin.strip().lower())
        port = found.port or _PORTS[found.scheme]
    except (ValueError, KeyError):
        return None
    has_more = found.path or found.query or found.fragment or "@" in found.netloc
    return None if has_more or not found.hostname else (found.scheme, found.hostname, port)


def _through_https(own: tuple[str, str, int] | None) -> tuple[str, str, int] | None:
    if own is None or own[0] == "https":
        return own
    return "https", own[1], _PORTS["https"] if own[2] == _PORTS["http"] else own[2]
