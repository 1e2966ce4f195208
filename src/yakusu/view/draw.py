"""Attention as pictures: one layer as SVG, in the style of the paper's Figures 3 to 5, or all
layers as an HTML page.

A line connects each row of a map with the columns that it attends to. Its colour identifies the
head, its opacity is the weight. A gap between tokens stands for a space in the sentence.
"""

import colorsys
import json
import re
import unicodedata
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from itertools import accumulate
from xml.etree import ElementTree

from yakusu.arrays import Floats
from yakusu.errors import DataError
from yakusu.model.config import Role
from yakusu.view.maps import AttentionMaps, Axis

# All lengths are in pixels.
_FONT_SIZE, _ROW_HEIGHT, _SPACE_HEIGHT, _MARGIN = 13, 20, 6, 16
_LINES_WIDTH = 200  # horizontal distance between the rows and the columns
_TOKENS_TOP = 64  # top of the tokens, below the titles
_LEGEND_STEP = 34  # width of one legend entry
_MIN_WEIGHT = 0.02  # lines with smaller weights would be invisible and are not drawn
TITLES: dict[Role, str] = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}
# JSON inside a <script> element must not contain these characters literally.
_SCRIPT_ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def picture(
    maps: AttentionMaps,
    role: Role | None = None,
    *,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
) -> str:
    """Draw one layer as an SVG document.

    Args:
        maps: Attention weights of one sentence.
        role: Kind of attention. None: cross-attention if the model has it, otherwise the first.
        layer: Layer number, from 1. None: the last layer.
        heads: Head numbers, from 1. None: all heads.

    Raises:
        DataError: The model does not have this role, layer or head.
    """
    role, layer, weights = maps.select_layer(role, layer=layer)  # (H, rows, columns)
    rows, columns = maps.axes(role)
    selected = _select_heads(heads, len(weights))
    tokens_height = max(_height(rows), _height(columns))
    row_ys, column_ys = _token_ys(rows, tokens_height), _token_ys(columns, tokens_height)
    left, right = (_MARGIN + _width(axis) for axis in (rows, columns))
    right = max(right, _LEGEND_STEP * len(selected) + 76 - left - _LINES_WIDTH)
    width, height = left + _LINES_WIDTH + right, _TOKENS_TOP + tokens_height + 48
    svg = _canvas(width, height, f"{TITLES[role]}, layer {layer} of {len(maps.weights[role])}")
    _draw_tokens(svg, rows, row_ys, left - 8, anchor="end")
    _draw_tokens(svg, columns, column_ys, left + _LINES_WIDTH + 8, anchor="start")
    for head in selected:
        # Shift the lines of each head a little, so that they do not cover each other.
        shift = (head - (len(weights) + 1) / 2) * min(2.0, (_ROW_HEIGHT - 8) / len(weights))
        group = _add(svg, "g", stroke=_colour(head, len(weights)), stroke_width=2)
        _draw_lines(group, weights[head - 1], row_ys, column_ys, left, shift)
    _draw_legend(svg, selected, len(weights), height - 20)
    ElementTree.indent(svg)
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


def page(maps: AttentionMaps) -> str:
    """Return a self-contained HTML page with all layers and heads; it works offline."""
    assets = files(__package__) / "page"
    maps_json = json.dumps(maps.as_json(), ensure_ascii=False, separators=(",", ":"))
    parts = {
        "title": escape(maps.src),
        "style": (assets / "page.css").read_text(encoding="utf-8"),
        "script": (assets / "page.js").read_text(encoding="utf-8"),
        "settings": json.dumps({"titles": TITLES, "minWeight": _MIN_WEIGHT}),
        "maps": maps_json.translate(_SCRIPT_ESCAPES),
    }
    template = (assets / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def _select_heads(heads: Sequence[int] | None, n_heads: int) -> list[int]:
    if heads is None:
        return list(range(1, n_heads + 1))
    for head in heads:
        if not 1 <= head <= n_heads:
            raise DataError(f"there is no head {head}: choose from 1 to {n_heads}")
    return sorted(set(heads))


def _offsets(axis: Axis) -> list[int]:
    """Return the distance of each token from the first one."""
    steps = [_ROW_HEIGHT + _SPACE_HEIGHT * token.spaced for token in axis.tokens[1:]]
    return [0, *accumulate(steps)]


def _height(axis: Axis) -> int:
    return _offsets(axis)[-1] + _ROW_HEIGHT


def _token_ys(axis: Axis, height: int) -> list[float]:
    """Return the y coordinate of each token's middle; the shorter axis is centred vertically."""
    first = _TOKENS_TOP + (height - _height(axis)) / 2 + _ROW_HEIGHT / 2
    return [first + offset for offset in _offsets(axis)]


def _width(axis: Axis) -> int:
    """Return an upper bound on the width of the widest label in any usual font."""
    widths = [
        sum(1.05 if unicodedata.east_asian_width(c) in "WF" else 0.65 for c in label)
        for label in (axis.what, *(token.text for token in axis.tokens))
    ]
    return round(_FONT_SIZE * max(widths)) + 12


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
    svg.set("font-size", str(_FONT_SIZE))
    _add(svg, "title").text = title
    _add(svg, "rect", width=width, height=height, fill="#fff")
    _add_text(svg, title, _MARGIN, 24, fill="#111", anchor="start")
    return svg


def _draw_tokens(
    svg: ElementTree.Element, axis: Axis, ys: Sequence[float], x: float, *, anchor: str
) -> None:
    _add_text(svg, axis.what, x, _TOKENS_TOP - 18, fill="#666", anchor=anchor)
    for token, y in zip(axis.tokens, ys, strict=True):
        fill = "#888" if token.special else "#111"
        _add_text(svg, token.text, x, y + _FONT_SIZE * 0.35, fill=fill, anchor=anchor)


def _draw_lines(
    group: ElementTree.Element,
    weights: Floats,
    row_ys: Sequence[float],
    column_ys: Sequence[float],
    x: int,
    shift: float,
) -> None:
    for row, y1 in enumerate(row_ys):
        for column, y2 in enumerate(column_ys):
            if (weight := float(weights[row, column])) >= _MIN_WEIGHT:
                _add(
                    group,
                    "line",
                    x1=x,
                    y1=round(y1 + shift, 1),
                    x2=x + _LINES_WIDTH,
                    y2=round(y2 + shift, 1),
                    opacity=round(weight, 2),
                )


def _draw_legend(svg: ElementTree.Element, heads: Sequence[int], n_heads: int, y: int) -> None:
    _add_text(svg, "heads", _MARGIN, y, fill="#666", anchor="start")
    for i, head in enumerate(heads):
        x = _MARGIN + 44 + _LEGEND_STEP * i
        _add(svg, "rect", x=x, y=y - 9, width=10, height=10, fill=_colour(head, n_heads))
        _add_text(svg, str(head), x + 13, y, fill="#111", anchor="start")


def _add_text(
    svg: ElementTree.Element, text: str, x: float, y: float, *, fill: str, anchor: str
) -> None:
    _add(svg, "text", x=x, y=round(y, 1), fill=fill, text_anchor=anchor).text = text


def _add(parent: ElementTree.Element, tag: str, **attributes: object) -> ElementTree.Element:
    """Add a child element; `_` in an attribute name stands for `-`."""
    named = {name.replace("_", "-"): str(value) for name, value in attributes.items()}
    return ElementTree.SubElement(parent, tag, named)
