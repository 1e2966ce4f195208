"""Who may store something here: pages by their origin, and programs of this computer.

A browser sends the origin of the page that makes a request.
"""

from urllib.parse import urlsplit

from starlette.requests import Request

from yakusu.serve.config import is_loopback
from yakusu.serve.errors import RefusedError

_PORTS = {"http": 80, "https": 443}
_SHOWN = 100  # characters
_OWN_SITES = ("same-origin", "none")  # values of Sec-Fetch-Site
_OF_PROXIES = ("forwarded", "via", "x-real-ip")  # headers, besides x-forwarded-...


def check_origin(request: Request, *, any_page: bool = True) -> None:
    """Refuse requests of pages that are neither the service's own nor allowed.

    Neither `Origin` nor `Sec-Fetch-Site`: not a page of a browser. A page that was loaded through
    https is also the service's own if the proxy in front of it does not tell that it uses https.
    Without a proxy, pages of a service on the loopback interface have a loopback address: a page of
    the network whose name leads to this computer ("DNS rebinding") is foreign.

    Args:
        request: The request.
        any_page: Whether "*" in `allow_origins` allows all pages.

    Raises:
        RefusedError: The page is of another origin (403).
    """
    config = request.app.state.service.config
    if any_page and "*" in config.allow_origins:
        return
    own = _parsed(f"{request.url.scheme}://{request.headers.get('host', '')}")
    if own and config.is_local and not is_loopback(own[1]):
        own = None
    allowed = {*map(_parsed, config.allow_origins), own, _through_https(own)} - {None}
    given = request.headers.getlist("origin")
    foreign = [each for each in given if _parsed(each) not in allowed]
    if not given and request.headers.get("sec-fetch-site", "none") not in _OWN_SITES:
        foreign = ["other origins"]
    if foreign:
        raise RefusedError(
            403,
            f"Pages of {foreign[0][:_SHOWN]} cannot store data here: the operator can add their "
            "origin to allow_origins",
            reason="origin",
        )


def is_direct(request: Request) -> bool:
    """Whether a request to a service on the loopback interface is of this computer.

    A proxy is on this computer, too, but its clients need not be: it adds a header, or passes on
    the name by which they know it.
    """
    if not request.app.state.service.config.is_local:
        return False
    names = request.headers.keys()
    if any(name in _OF_PROXIES or name.startswith("x-forwarded-") for name in names):
        return False
    host = _parsed(f"http://{request.headers.get('host', '')}")
    return host is not None and is_loopback(host[1])


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
