"""Attention as pictures: one layer as SVG, after the paper's Figures 3 to 5; all of it as a page.

A line goes from each row of a map to the columns that it attends to. Its colour is the head, its
opacity the weight. A gap between tokens is a space of the text.
"""

import colorsys
import json
import re
import unicodedata
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from itertools import accumulate
from typing import Any
from xml.etree import ElementTree

from yakusu.errors import DataError
from yakusu.model.base import Role
from yakusu.view.maps import AttentionMaps, Axis, Weights

_FONT, _PITCH, _SPACE, _MARGIN, _BETWEEN = 13, 20, 6, 16, 200  # pixels
_TOP = 64  # where tokens begin, below the titles
_SWATCH = 34  # of the legend
_FAINTEST = 0.02  # weights below are not drawn: nobody could see them
TITLES: dict[Role, str] = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}
_SCRIPT = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def picture(
    maps: AttentionMaps, role: Role | None = None, *, layer: int = 0, heads: Sequence[int] = ()
) -> str:
    """One layer as an SVG document.

    Args:
        maps: Of a sentence.
        role: None: cross-attention, or else the first that there is.
        layer: From 1; 0 is the last.
        heads: From 1; none given: all.

    Raises:
        DataError: The model has no such role, layer or head.
    """
    role, layer, weights = maps.one(role, layer=layer)  # (H, rows, columns)
    rows, columns = maps.axes(role)
    chosen = _choose(heads, len(weights))
    places = [_places(axis, max(_height(rows), _height(columns))) for axis in (rows, columns)]
    left, right = (_MARGIN + _width(axis) for axis in (rows, columns))
    right = max(right, _SWATCH * len(chosen) + 76 - left - _BETWEEN)
    width, height = left + _BETWEEN + right, _TOP + max(_height(rows), _height(columns)) + 48
    svg = _canvas(width, height, f"{TITLES[role]}, layer {layer} of {len(maps.weights[role])}")
    for axis, ys, anchor, x in (
        (rows, places[0], "end", left - 8),
        (columns, places[1], "start", left + _BETWEEN + 8),
    ):
        _text(svg, axis.what, x, _TOP - 18, fill="#666", anchor=anchor)
        for token, y in zip(axis.tokens, ys, strict=True):
            fill = "#888" if token.special else "#111"
            _text(svg, token.text, x, y + _FONT * 0.35, fill=fill, anchor=anchor)
    for head in chosen:
        shift = (head - (len(weights) + 1) / 2) * min(2.0, (_PITCH - 8) / len(weights))
        group = _put(svg, "g", stroke=_colour(head, len(weights)), stroke_width=2)
        _lines(group, weights[head - 1], places, (left, left + _BETWEEN), shift)
    _legend(svg, chosen, len(weights), height - 20)
    ElementTree.indent(svg)
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


def page(maps: AttentionMaps) -> str:
    """Every layer and head as one HTML page that needs no other file and no network."""
    data = json.dumps(maps.as_json(), ensure_ascii=False, separators=(",", ":"))
    parts = {
        "title": escape(maps.src),
        "maps": data.translate(_SCRIPT),
        "titles": json.dumps(TITLES),
        "faintest": str(_FAINTEST),
    }
    template = (files(__package__) / "page" / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _choose(heads: Sequence[int], n_heads: int) -> list[int]:
    for head in heads:
        if not 1 <= head <= n_heads:
            raise DataError(f"there is no head {head}: choose from 1 to {n_heads}")
    return sorted(set(heads)) or list(range(1, n_heads + 1))


def _steps(axis: Axis) -> list[int]:
    """Where each token stands below the first one."""
    gaps = [_PITCH + _SPACE * token.spaced for token in axis.tokens[1:]]
    return [0, *accumulate(gaps)]


def _height(axis: Axis) -> int:
    return _steps(axis)[-1] + _PITCH


def _places(axis: Axis, room: int) -> list[float]:
    """The middle of each token, from the top; the shorter side stands halfway down the longer."""
    top = _TOP + (room - _height(axis)) / 2 + _PITCH / 2
    return [top + step for step in _steps(axis)]


def _width(axis: Axis) -> int:
    """Room for the longest token in any usual font."""
    widths = [
        sum(1.05 if unicodedata.east_asian_width(c) in "WF" else 0.65 for c in word)
        for word in (axis.what, *(token.text for token in axis.tokens))
    ]
    return round(_FONT * max(widths)) + 12


def _colour(head: int, n_heads: int) -> str:
    red, green, blue = colorsys.hls_to_rgb((head - 1) / n_heads, 0.42, 0.75)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def _canvas(width: int, height: int, title: str) -> ElementTree.Element:
    svg = ElementTree.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
        role="img",
    )
    svg.set("font-family", "system-ui, sans-serif")
    svg.set("font-size", str(_FONT))
    _put(svg, "title").text = title
    _put(svg, "rect", width=width, height=height, fill="#fff")
    _text(svg, title, _MARGIN, 24, fill="#111", anchor="start")
    return svg


def _lines(
    group: ElementTree.Element,
    weights: Weights,
    places: Sequence[Sequence[float]],
    ends: tuple[int, int],
    shift: float,
) -> None:
    for row, y1 in enumerate(places[0]):
        for column, y2 in enumerate(places[1]):
            if (weight := float(weights[row, column])) >= _FAINTEST:
                _put(
                    group,
                    "line",
                    x1=ends[0],
                    y1=round(y1 + shift, 1),
                    x2=ends[1],
                    y2=round(y2 + shift, 1),
                    opacity=round(weight, 2),
                )


def _legend(svg: ElementTree.Element, heads: Sequence[int], n_heads: int, y: int) -> None:
    _text(svg, "heads", _MARGIN, y, fill="#666", anchor="start")
    for i, head in enumerate(heads):
        x = _MARGIN + 44 + _SWATCH * i
        _put(svg, "rect", x=x, y=y - 9, width=10, height=10, fill=_colour(head, n_heads))
        _text(svg, str(head), x + 13, y, fill="#111", anchor="start")


def _text(
    svg: ElementTree.Element, text: str, x: float, y: float, *, fill: str, anchor: str
) -> None:
    _put(svg, "text", x=x, y=round(y, 1), fill=fill, text_anchor=anchor).text = text


def _put(parent: ElementTree.Element, tag: str, **attributes: Any) -> ElementTree.Element:
    """A child with attributes, whose names are written with `_` for `-`."""
    named = {name.replace("_", "-"): str(value) for name, value in attributes.items()}
    return ElementTree.SubElement(parent, tag, named)
