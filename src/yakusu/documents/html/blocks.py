"""The blocks of an HTML page: which pieces are the inline content of one block, and what is kept.

Open elements are tracked as in the HTML standard (13.2.6, Tree construction), but only where the
result depends on it: end tags that are left out, and end tags without a start.
"""

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from yakusu.documents.html.tokens import Attribute, HtmlToken, TokenKind


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


_VOID = _names("area base br col embed hr img input link meta param source track wbr")
_CLOSES_P = _names(
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext "
    "pre search section summary table ul xmp"
)
_BLOCKS = _CLOSES_P | _names(
    "audio body button canvas caption col colgroup datalist frame frameset head html label legend "
    "noframes noscript object optgroup option select tbody td template tfoot th thead title tr "
    "video"
)
_CELLS, _ROWS = _names("td th"), _names("td th tr")
_GROUPS = _ROWS | _names("caption colgroup tbody tfoot thead")
_ENDED_BY = {  # the elements that a start tag ends
    **dict.fromkeys(sorted(_CLOSES_P), _names("p")),
    **dict.fromkeys(("td", "th"), _CELLS),
    **dict.fromkeys(("tbody", "thead", "tfoot"), _GROUPS),
    "tr": _ROWS | _names("caption colgroup"),
    "li": _names("li p"),
    "dd": _names("dd dt p"),
    "dt": _names("dd dt p"),
    "option": _names("option"),
    "optgroup": _names("optgroup option"),
    "body": _names("head"),
}
_LISTS = _names("dir dl menu ol ul")
_SCOPES = _names("button caption html object table td template th")
_BARRIERS = _SCOPES | _LISTS  # a start tag ends no element around these
_KEPT = _names(
    "applet code iframe kbd listing math noembed noframes plaintext pre rp rt samp script style "
    "svg textarea var xmp"
)
_SPEAK = _names("code kbd math samp var")


class OpenElement(NamedTuple):
    """An open element.

    Attributes:
        name: Name of its tag.
        kept: Its content is not translated.
        speaks: If it is kept, whether it is a part of the sentence around it.
    """

    name: str
    kept: bool = False
    speaks: bool = False

    @property
    def is_block(self) -> bool:
        """Whether text before and after it belongs to other sentences."""
        return self.name in _BLOCKS


class Placed(NamedTuple):
    """A token and the element that it belongs to: for a tag, the element that begins or ends.

    Attributes:
        token: The token.
        element: None if an end tag has no start.
        is_void: A start tag without an end.
        in_kept: What follows the token belongs to an element that is not translated.
        attributes: Those of its attributes that may be translated.
    """

    token: HtmlToken
    element: OpenElement | None
    is_void: bool = False
    in_kept: bool = False
    attributes: Sequence[Attribute] = ()


def placed(tokens: Iterator[HtmlToken]) -> Iterator[Placed]:
    """Yield each token with its element."""
    stack = _Stack()
    for token in tokens:
        if token.kind is TokenKind.START:
            stack.end_by(token.name)
            element, attributes = _element(token, stack.top)
            is_void = token.name in _VOID
            if not is_void:
                stack.push(element)
            yield Placed(token, element, is_void, stack.top.kept, attributes)
        elif token.kind is TokenKind.END:
            ended = stack.end(token.name)
            yield Placed(token, ended, in_kept=stack.top.kept)
        else:
            yield Placed(token, stack.top, in_kept=stack.top.kept)


def is_block_name(name: str) -> bool:
    """Whether elements of this name separate sentences."""
    return name in _BLOCKS


def _element(token: HtmlToken, parent: OpenElement) -> tuple[OpenElement, Sequence[Attribute]]:
    """The element that a start tag begins, and the attributes that may be translated."""
    values = {each.name: each.value for each in reversed(token.attributes)}
    answer = values.get("translate", "?").strip().lower()
    if answer == "no" or (answer == "?" and "notranslate" in values.get("class", "").split()):
        return OpenElement(token.name, kept=True, speaks=True), ()
    if answer in ("yes", ""):
        return OpenElement(token.name), token.attributes
    if parent.kept:
        return OpenElement(token.name, kept=True, speaks=parent.speaks), ()
    return OpenElement(token.name, token.name in _KEPT, token.name in _SPEAK), token.attributes


class _Stack:
    """The open elements.

    The places of each name are kept, so that no tag makes a search through all open elements.
    """

    def __init__(self) -> None:
        self._elements = [OpenElement("")]
        self._places: dict[str, list[int]] = {}  # of the elements of each name
        self._blocks: list[int] = []  # places of blocks
        self._scopes: list[int] = []

    @property
    def top(self) -> OpenElement:
        """The innermost open element."""
        return self._elements[-1]

    def push(self, element: OpenElement) -> None:
        """Begin an element."""
        for places in self._places_for(element):
            places.append(len(self._elements))
        self._elements.append(element)

    def _cut(self, length: int) -> None:
        """End all elements but the first ones."""
        while len(self._elements) > length:
            for places in self._places_for(self._elements.pop()):
                places.pop()

    def _places_for(self, element: OpenElement) -> Iterator[list[int]]:
        """The lists of places to which an element belongs."""
        yield self._places.setdefault(element.name, [])
        if element.is_block:
            yield self._blocks
        if element.name in _SCOPES:
            yield self._scopes

    def _last(self, names: Iterable[str]) -> int:
        """The place of the innermost element of these names, or 0."""
        return max((self._places[name][-1] for name in names if self._places.get(name)), default=0)

    def end_by(self, name: str) -> None:
        """End the elements whose end tags may be left out before this start tag."""
        ended = _ENDED_BY.get(name, frozenset())
        if not self._last(ended):
            return
        barrier = self._last(_BARRIERS - ended)
        first = len(self._elements)
        for places in filter(None, map(self._places.get, ended)):
            first = min([first, *places[bisect(places, barrier) :][:1]])
        self._cut(first)

    def end(self, name: str) -> OpenElement | None:
        """End the element of an end tag, and all elements in it; None if it is not open."""
        place = self._last([name])
        inner_block = name not in _BLOCKS and self._blocks and self._blocks[-1] > place
        is_table = name in _GROUPS or name == "table"
        if not place or inner_block or (not is_table and self._scopes[-1:] > [place]):
            return None
        element = self._elements[place]
        self._cut(place)
        return element
