"""Pictures and pages show the weights of the maps, for any characters in the tokens."""

import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from yakusu.errors import DataError
from yakusu.view import AttentionMaps, Token, page, picture

SVG = "{http://www.w3.org/2000/svg}"
NASTY = ("</script>", "<!--", "&amp;", "\"'", "{{maps}}", "%%", "\u2028", "שלום", "電車")


def maps_of(texts: tuple[str, ...] = ("a", "b", "c"), *, n_heads: int = 2) -> AttentionMaps:
    """Return cross-attention maps of two layers with random weights."""
    rng = np.random.default_rng(0)
    tokens = tuple(Token(text, spaced=True) for text in texts)
    target = (*tokens[1:], Token("</s>", special=True))
    weights = rng.dirichlet(np.ones(len(tokens)), (2, n_heads, len(target)))
    return AttentionMaps(
        src=" ".join(texts),
        tgt=" ".join(texts[1:]),
        source=tokens,
        target=target,
        weights={"cross": weights.astype(np.float32)},
    )


def lines(svg: str) -> list[dict[str, str]]:
    return [dict(line.attrib) for line in ElementTree.fromstring(svg).iter(f"{SVG}line")]


def text_labels(svg: str) -> list[str]:
    return [str(text.text) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("layer", [1, 2])
def test_the_opacity_of_a_line_is_its_weight(layer: int) -> None:
    maps = maps_of()
    drawn = [float(line["opacity"]) for line in lines(picture(maps, layer=layer))]
    weights = maps.weights["cross"][layer - 1].ravel()
    np.testing.assert_allclose(drawn, weights[weights >= 0.02], atol=0.00501)


def test_lines_connect_the_row_and_the_column_of_each_weight() -> None:
    maps = maps_of(n_heads=1)
    maps.weights["cross"] = np.zeros((1, 1, 3, 3), np.float32)
    maps.weights["cross"][0, 0, 0, 2] = maps.weights["cross"][0, 0, 2, 1] = 1
    svg = picture(maps)
    first, second = lines(svg)
    height = {
        (t.get("text-anchor"), t.text): float(str(t.get("y"))) - 13 * 0.35
        for t in ElementTree.fromstring(svg).iter(f"{SVG}text")
    }
    ends = [(float(line["y1"]), float(line["y2"])) for line in (first, second)]
    assert ends[0] == pytest.approx((height["end", "b"], height["start", "c"]), abs=0.1)
    assert ends[1] == pytest.approx((height["end", "</s>"], height["start", "b"]), abs=0.1)


def test_each_head_has_its_own_colour_and_can_be_selected() -> None:
    maps = maps_of(n_heads=16)
    groups = [g.get("stroke") for g in ElementTree.fromstring(picture(maps)).iter(f"{SVG}g")]
    assert len(set(groups)) == 16
    two = picture(maps, heads=[3, 1, 3])
    assert [g.get("stroke") for g in ElementTree.fromstring(two).iter(f"{SVG}g")] == [
        groups[0],
        groups[2],
    ]
    assert text_labels(two)[-2:] == ["1", "3"]


@pytest.mark.parametrize("head", [0, 3])
def test_an_invalid_head_number_is_rejected(head: int) -> None:
    with pytest.raises(DataError, match=f"there is no head {head}: choose from 1 to 2"):
        picture(maps_of(), heads=[head])


def test_a_picture_names_its_layer_and_both_axes() -> None:
    texts = text_labels(picture(maps_of(), layer=1))
    assert texts[0] == "cross-attention, layer 1 of 2"
    assert {"predicted", "source"} <= set(texts)


def test_a_picture_contains_every_token_unchanged() -> None:
    texts = text_labels(picture(maps_of(NASTY)))
    assert [text for text in texts if text in NASTY] == [*NASTY[1:], *NASTY]


def test_the_same_maps_give_identical_pictures() -> None:
    assert picture(maps_of(NASTY)) == picture(maps_of(NASTY))


class Reader(HTMLParser):
    """Collects the tags of a page and the text of each element."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = [("", {})]
        self.texts: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1]
        name = attributes.get("id", tag)
        self.texts[name] = self.texts.get(name, "") + data


def test_a_page_contains_the_maps_for_any_characters_in_the_tokens() -> None:
    maps, reader = maps_of(NASTY), Reader()
    reader.feed(page(maps))
    assert json.loads(reader.texts["maps"]) == json.loads(json.dumps(maps.as_json()))
    assert reader.texts["title"].strip() == f"Attention: {maps.src}"
    assert [tag for tag, _ in reader.tags].count("script") == 3  # settings, maps, program


@pytest.mark.parametrize(("element", "file"), [("style", "page.css"), ("script", "page.js")])
def test_a_page_embeds_its_stylesheet_and_its_program(element: str, file: str) -> None:
    reader = Reader()
    reader.feed(page(maps_of(NASTY)))
    asset = files("yakusu.view") / "page" / file
    assert reader.texts[element].strip() == asset.read_text(encoding="utf-8").strip()


def test_a_page_needs_no_network_and_no_other_file() -> None:
    text, reader = page(maps_of()), Reader()
    reader.feed(text)
    assert not re.search(r"https?:|//[a-z]+\.|url\(|@import|fetch\(|import\(", text)
    assert not [a for _, a in reader.tags if "src" in a or "href" in a]
