"""A page reads the inline codes of a TMX file as a memory does, and finds their segments."""

from pathlib import Path
from typing import Any

import pytest
from lxml import etree

import yakusu.export.web as export_web
from tests.export.web.conftest import Node, page_script
from tests.export.web.tmx import SIDES, tmx
from yakusu.data.segments import MemorySegment
from yakusu.memory.importing import ImportOptions, segments_of_file
from yakusu.memory.matches import find_matches
from yakusu.memory.memory import TranslationMemory

LANGUAGES = ("de", "en")
OPEN, CLOSE, EMPTY, BREAK = (chr(0xF0000 + kind * 2**14) for kind in range(4))
OPEN_7, CLOSE_7 = (chr(ord(mark) + 7) for mark in (OPEN, CLOSE))


def nodes(element: Any) -> list[Any]:
    """What tmx.js of the page makes of an element."""
    found: list[Any] = [element.text or ""]
    for child in element:
        made = {"name": child.tag, "attributes": dict(child.attrib), "nodes": nodes(child)}
        found += [made | {"content": "".join(child.itertext())}, child.tail or ""]
    return found


def side(text: str) -> list[Any]:
    return nodes(etree.fromstring(f"<seg>{text}</seg>", etree.XMLParser(remove_comments=True)))


@pytest.fixture(scope="module")
def segments(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """What a memory reads of the units."""
    path: Path = tmp_path_factory.mktemp("tmx") / "codes.tmx"
    path.write_text(tmx(), encoding="utf-8")
    found = segments_of_file(path, LANGUAGES, ImportOptions())
    return [{"source": each.source, "target": each.target} for each in found]


def test_units_have_the_marks_of_a_memory(
    exported: tuple[Path, Any], node: Node, segments: list[dict[str, str]]
) -> None:
    units = [{"source": side(source), "target": side(target)} for source, target in SIDES]
    found = node(page_script(exported[0], "give(given.map(segmentOfUnit));"), units)
    assert found == [each if each["source"] and each["target"] else None for each in segments]
    assert found[0] == {"source": f"{OPEN}Start{CLOSE} now", "target": f"jetzt {OPEN}Start{CLOSE}"}
    assert found[-1] is None
    assert any(BREAK in each["source"] for each in found[:-1])
    assert any(EMPTY in each["target"] for each in found[:-1])


def test_segments_are_shown_without_codes(node: Node) -> None:
    module = Path(export_web.__file__).with_name("page") / "tmx.js"
    script = """
    globalThis.Node = {};  // of a browser
    const module = await import("data:text/javascript," + encodeURIComponent(given.module));
    give(given.texts.map(module.withoutCodes));
    """
    texts = [f"{OPEN}One{CLOSE}{BREAK}two{EMPTY}{chr(ord(BREAK) + 2)}😀", "", "three"]
    given = {"module": module.read_text(encoding="utf-8"), "texts": texts}
    assert node(script, given) == ["One two 😀", "", "three"]


def test_segments_with_codes_are_found_as_in_a_memory(
    exported: tuple[Path, Any], node: Node, segments: list[dict[str, str]]
) -> None:

    stored = [each for each in segments if each["source"] and each["target"]]
    texts = [each["source"] for each in stored]
    texts += [
        f"{chr(ord(OPEN) + 7)}Start{chr(ord(CLOSE) + 7)} now",
        "Start now",
        f"{EMPTY}Start now",
    ]
    with TranslationMemory.in_memory(LANGUAGES) as memory:
        memory.add(MemorySegment(**each) for each in stored)
        expected = [
            [[each.match, each.target] for each in find_matches(memory, text)] for text in texts
        ]
    show = """
    const memory = new PageMemory(["de", "en"]);
    memory.set(given.stored.map((each, i) => ({ id: i + 1, origin: "", time: "", ...each })));
    give(given.texts.map((text) =>
      find_matches(memory, text).map(({ match, target }) => [match, target])));
    """
    assert node(page_script(exported[0], show), {"stored": stored, "texts": texts}) == expected
    assert expected[-3][0] == [100, f"jetzt {OPEN_7}Start{CLOSE_7}"]
    assert expected[-2][0][0] == 98
