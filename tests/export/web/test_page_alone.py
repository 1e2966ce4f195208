"""The page without a server: what it asks a service for is answered in the browser."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.export.web.conftest import Node, page_script
from tests.export.web.tmx import tmx
from tests.serve.browser import Browser, Page, chromium, expect, lines, scrolls_sideways, tinted
from yakusu import Translator, translate_document
from yakusu.data.lines.config import TextConfig
from yakusu.data.segments import MemorySegment
from yakusu.engine.config import EngineConfig
from yakusu.memory.importing import ImportOptions, add_files, segments_of_file
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.segments import normalised, renumbered
from yakusu.progress import Silent
from yakusu.translator.writing.objects import objects
from yakusu.view import attention_maps

FIRST, SECOND = "Der Hund schläft im Garten.", "Die Katze schläft nicht."
TEXT = f"{FIRST} {SECOND}"
ENGINE = EngineConfig(engine="native", threads=1)
Visit = Callable[..., Page]
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # of playwright's transport


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(exported: tuple[Path, Any]) -> Iterator[str]:
    """Where the folder of the page is served."""
    handler = partial(_Quiet, directory=str(exported[0]))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as own:
        yield own


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    """Opens the page in a browser that has stored nothing; errors of its scripts fail the test."""
    problems: list[str] = []
    with browser.new_context(locale="en-US", service_workers="block") as context:

        def opened(script: str = "") -> Page:
            page = context.new_page()
            page.set_default_timeout(60_000)
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("dialog", lambda dialog: problems.append(dialog.message))
            if script:
                page.add_init_script(script)
            page.goto(address)
            page.locator("#from option").first.wait_for(state="attached")
            return page

        yield opened
    assert not problems


@pytest.fixture(scope="module")
def translator(model_folder: Path) -> Translator:
    return Translator.load(model_folder, engine=ENGINE)


def typed(page: Page, text: str) -> None:
    """Put a text into its field; Chromium takes long to type many lines."""
    page.evaluate(
        "text => { const field = document.getElementById('text'); field.value = text;"
        " field.dispatchEvent(new Event('input')); }",
        text,
    )


def test_lines_are_translated_as_in_python(visit: Visit, translator: Translator) -> None:
    page = visit()
    text = f"{TEXT}\n\n- {FIRST}\nHallo {{name}}!"
    expected = translator.translate(text.split("\n"))
    typed(page, text)
    expect(page.locator("#translation .line")).to_have_text(expected)
    expect(page.locator(".top nav a")).to_be_hidden()
    page.locator("#translation .word").first.hover()
    assert tinted(page, "mirror")


def test_the_panel_shows_attention_the_beam_and_other_tokens(
    visit: Visit, translator: Translator
) -> None:
    page = visit()
    typed(page, FIRST)
    (expected,) = translator.translate([FIRST])
    expect(page.locator("#translation .line")).to_have_text(expected)
    page.locator("#translation .word").first.click()
    maps, panel = attention_maps(translator, FIRST, expected), page.locator("#tab-panel")
    for token in (*maps.source, *maps.target):
        expect(panel.locator("svg")).to_contain_text(token.text)
    page.click("#tab-beam")
    expect(panel).to_contain_text("Finished hypotheses by score")
    page.click("#tab-tokens")
    panel.locator(".chip").first.click()
    panel.locator(".choices button").first.click()
    expect(panel).to_contain_text("continues from the token you chose")
    assert lines(page) != [expected]
    page.set_viewport_size({"width": 400, "height": 800})
    assert not scrolls_sideways(page)


def test_attention_and_traces_are_those_of_python(
    exported: tuple[Path, Any], translator: Translator, node: Node
) -> None:
    show = """
    const own = await load(given.folder);
    const plain = (x) => x instanceof $.Dict
      ? Object.fromEntries([...x.items()].map(([name, value]) => [name, plain(value)]))
      : Array.isArray(x) || x?.next ? [...x].map(plain) : x;
    const [best] = own.stream([new Request(given.text)], 64, null, true, true);
    const maps = [attention_maps(own, given.text), attention_maps(own, given.text, given.target)];
    give([plain(objects(best)), ...maps.map((each) => plain(each.as_json()))]);
    """
    given = {"folder": exported[0].as_uri() + "/", "text": TEXT, "target": "The dog."}
    found = node(page_script(exported[0], show), given)
    (best,) = translator.stream([TEXT], details=True, trace=True)
    maps = attention_maps(translator, TEXT), attention_maps(translator, TEXT, "The dog.")
    expected = [objects(best), *(each.as_json() for each in maps)]
    assert nearly(found) == nearly(json.loads(json.dumps(expected)))


def nearly(value: Any) -> Any:
    """A value whose numbers are equal to those that differ by at most 1e-4."""
    if isinstance(value, dict):
        return {name: nearly(each) for name, each in value.items()}
    if isinstance(value, list):
        return [nearly(each) for each in value]
    return pytest.approx(value, abs=1.01e-4) if isinstance(value, float) else value


def test_a_correction_is_used_and_kept(visit: Visit, tmp_path: Path) -> None:
    page = visit()
    typed(page, FIRST)
    page.locator("#translation[aria-busy=false] .word").first.dblclick()
    page.fill(".editor textarea", "The dog sleeps.")
    page.keyboard.press("Enter")
    expect(page.locator("#translation .line")).to_contain_text("The dog sleeps.")
    page.reload()
    typed(page, f"Der  Hund schläft\u00a0im Garten. {SECOND}")
    expect(page.locator("#translation .line")).to_contain_text("The dog sleeps.")
    page.click("[data-side=terms]")
    with page.expect_download() as download:
        page.click("#memory button:first-of-type")
    memory = tmp_path / "memory.db"
    file = tmp_path / "page.tmx"
    download.value.save_as(file)
    add_files(memory, [file], ("de", "en"), ImportOptions(), Silent())
    with TranslationMemory.open(memory) as opened:
        (segment,) = (each.segment for each in opened)
    assert (segment.source, segment.target) == (FIRST, "The dog sleeps.")
    assert segment.origin == "correction"
    file.write_text(
        file.read_text(encoding="utf-8").replace("The dog sleeps.", "A dog &amp; <hi>b</hi>"),
        encoding="utf-8",
    )
    page.locator("#memory button").nth(1).click()
    page.set_input_files("#memory input", file)
    expect(page.locator("#translation .line")).to_contain_text("A dog & b")
    file.write_text("<html/>", encoding="utf-8")
    page.set_input_files("#memory input", file)
    expect(page.locator("#memory [role=status]")).to_contain_text("not valid TMX")


def test_inline_codes_of_tmx_are_kept(visit: Visit, tmp_path: Path) -> None:
    page, file, written = visit(), tmp_path / "codes.tmx", tmp_path / "page.tmx"
    file.write_text(tmx(), encoding="utf-8")
    page.click("[data-side=terms]")
    page.set_input_files("#memory input", file)
    expect(page.locator("#memory [role=status]")).not_to_be_empty()
    with page.expect_download() as download:
        page.click("#memory button:first-of-type")
    download.value.save_as(written)
    expected, found = (
        [
            (each.source, each.target)
            for each in segments_of_file(path, ("de", "en"), ImportOptions())
            if each.source
        ]
        for path in (file, written)
    )
    assert found == expected


def test_documents_are_translated_as_in_python(
    visit: Visit, model_folder: Path, tmp_path: Path
) -> None:
    page = visit()
    page.click("[data-side=document]")
    documents = {
        "a.txt": f"\ufeff{TEXT}\r\n\r\n  - {FIRST}\n```\nHund\n```\n{SECOND}",
        "b.srt": f"1\n00:00:01,000 --> 00:00:02,000\n- <i>{FIRST}</i>\n- {SECOND}\n",
        "c.json": f'{{"a": "{FIRST}", "n": "{{n, plural, one {{# Hund}} other {{# Hunde}}}}"}}',
        "d.po": f'msgid ""\nmsgstr ""\n\nmsgctxt "x"\nmsgid "{SECOND}"\nmsgstr ""\n',
    }
    for name, content in documents.items():
        path, out = tmp_path / name, tmp_path / f"out-{name}"
        path.write_bytes(content.encode())
        page.set_input_files("#side-document input", path)
        page.click("#side-document button")
        with page.expect_download() as download:
            page.click("#side-document a")
        assert download.value.suggested_filename == name
        translate_document(model_folder, path, out, engine=ENGINE)
        assert Path(download.value.path()).read_bytes() == out.read_bytes()
    bad = tmp_path / "e.json"
    bad.write_bytes(b"\xff{")
    page.set_input_files("#side-document input", bad)
    page.click("#side-document button")
    expect(page.locator("#side-document [role=alert]")).to_contain_text("save the file as UTF-8")


def test_a_long_text_is_translated_in_order_and_can_be_stopped(visit: Visit) -> None:
    page = visit()
    n = 1200
    typed(page, "\n".join(f"Der Hund {i} schläft." for i in range(n)))
    expect(page.locator("#status")).to_contain_text(f"of {n} lines")
    page.click("#stop")
    expect(page.locator("#status")).to_contain_text("Stopped")
    done = [line for line in lines(page) if line]
    assert 4 < len(done) < n
    typed(page, FIRST)
    expect(page.locator("#translation .line")).to_have_count(1)


def test_a_very_long_line_has_no_words_to_point_at(visit: Visit) -> None:
    page = visit()
    typed(page, f"{TEXT} " * 2000)
    page.focus("#text")
    page.keyboard.press("ArrowLeft")  # the word at the cursor
    expect(page.locator("#stop")).to_be_visible()
    assert page.locator("#mirror .word").count() == 0
    page.click("#stop")
    typed(page, FIRST)
    expect(page.locator("#mirror .word")).to_have_count(5)


def test_markup_is_text(visit: Visit, translator: Translator) -> None:
    page = visit()
    text = "<img src=x onerror=alert(1)>Hund</img> <script>alert(2)</script>\n</textarea><b>Hund"
    typed(page, text)
    expect(page.locator("#translation .line")).to_have_text(translator.translate(text.split("\n")))
    assert page.locator("#translation img, #translation script, #translation b").count() == 0


def test_without_storage_the_page_works_and_says_that_nothing_is_kept(visit: Visit) -> None:
    script = "for (const name of ['localStorage', 'indexedDB'])"
    script += " Object.defineProperty(window, name, { get() { throw new Error('blocked'); } });"
    page = visit(script)
    typed(page, FIRST)
    page.locator("#translation[aria-busy=false] .word").first.dblclick()
    page.fill(".editor textarea", "The dog sleeps.")
    page.keyboard.press("Enter")
    expect(page.locator("#translation .line")).to_contain_text("The dog sleeps.")
    page.click("[data-side=history]")
    expect(page.locator("#side-history")).to_contain_text("stores nothing for this page")


def test_a_full_storage_loses_no_correction_of_this_visit(visit: Visit) -> None:
    full = "throw new DOMException('full', 'QuotaExceededError')"
    page = visit(f"IDBObjectStore.prototype.put = () => {{ {full}; }};")
    made = {FIRST: "The dog sleeps.", SECOND: "The cat does not."}
    for text, correction in made.items():
        typed(page, text)
        expect(page.locator("#translation")).not_to_contain_text("The")  # of the text before
        page.locator("#translation[aria-busy=false] .word").first.dblclick()
        page.fill(".editor textarea", correction)
        page.keyboard.press("Enter")
        expect(page.locator("#translation .line")).to_contain_text(correction)
    typed(page, "\n".join(made))
    expect(page.locator("#translation .line")).to_contain_text([*made.values()])
    page.click("[data-side=terms]")
    expect(page.locator("#memory")).to_contain_text("stores nothing for this page")


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "utf-8"])
def test_tmx_is_read_in_its_encoding(visit: Visit, tmp_path: Path, encoding: str) -> None:
    page, path = visit(), tmp_path / "memory.tmx"
    sides = {"de-AT": FIRST, "EN": "The dög."}
    unit = "".join(f'<tuv xml:lang="{code}"><seg>{own}</seg></tuv>' for code, own in sides.items())
    head = f'<?xml version="1.0" encoding="{encoding}"?><tmx version="1.4"><header/>'
    path.write_text(f"{head}<body><tu>{unit}</tu></body></tmx>", encoding=encoding)
    typed(page, FIRST)
    page.click("[data-side=terms]")
    page.set_input_files("#memory input", path)
    expect(page.locator("#translation .line")).to_contain_text("The dög.")
    page.set_input_files("#memory input", [])  # nothing is chosen: no error


def test_segments_are_found_by_the_texts_of_python(exported: tuple[Path, Any], node: Node) -> None:
    texts = [
        "Der  Hund\u00a0schläft.\n",
        "e\u0301 \u1e9b\u0323 \ufb01 Å",
        " \x1c a \x85 b \u2028 c \u200b d \ufeff",
        "x \U000f0003y\U000f4003 z\U000f8007 \U000f0001",
        "",
        "𝐀 😀",
    ]
    show = 'give(given.map((text) => normalised(renumbered(text, "")[0])));'
    assert node(page_script(exported[0], show), texts) == [
        normalised(renumbered(text, "")[0]) for text in texts
    ]


SOURCES = (
    *("Save the file.", "Save this file", "Open the file", "Page 3 of 10", "Page 4 of 12 is new"),
    *(
        "東京は大きい都市です",
        "東京は小さい都市です",
        "한국어 문장",
        "It’s e\u0301t\u00e9",
        "…",
        "",
    ),
    "Press \U000f0000Start\U000f4000 now",
)


def test_similar_segments_are_those_of_python(exported: tuple[Path, Any], node: Node) -> None:
    languages = ("de", "en")
    with TranslationMemory.in_memory(languages) as memory:
        times = [f"2026-01-{1 + i % 3:02}T00:00:00Z" for i in range(len(SOURCES))]
        rows = [
            MemorySegment(text, f"<{text}>", origin="x", time=time)
            for text, time in zip(SOURCES, times, strict=True)
            if text
        ]
        memory.add(rows)
        texts = [
            *SOURCES,
            *("Save the files.", "open the FILE!", "Page 5 of 11", "東京は大きい町です"),
        ]
        expected = [
            [
                [each.number, each.similarity]
                for each in memory.similar(text, threshold=0.5, most=3, other_words=other)
            ]
            for text in texts
            for other in (False, True)
        ]
    show = """
    const memory = new PageMemory(["de", "en"]);
    memory.set(given.rows.map(([source, time], i) =>
      ({ id: i + 1, source, target: `<${source}>`, origin: "x", time })));
    give(given.texts.flatMap((text) => [false, true].map((other) =>
      memory.similar(text, 0.5, 3, other).map((each) => [each.number, each.similarity]))));
    """
    given = {"rows": [[each.source, each.time] for each in rows], "texts": texts}
    assert node(page_script(exported[0], show), given) == nearly(expected)


def test_terms_and_protected_texts_mean_what_they_do_in_python(
    visit: Visit, translator: Translator
) -> None:
    page = visit()
    protected, glossary = ["(ganz-neu/x)", "Hund"], [("Katze", "cat"), ("Garten", "yard")]
    page.evaluate(
        "([key, protect, glossary]) => { localStorage[`${key}protect`] = JSON.stringify(protect);"
        " localStorage[`${key}glossary`] = JSON.stringify(glossary); }",
        [storage_key(page), protected, glossary],
    )
    page.reload()
    text = f"{FIRST} Das ist (ganz-neu/x). {SECOND}"
    typed(page, text)
    own = translator.with_settings(
        text=TextConfig(protect=tuple(map(re.escape, protected))), terms=glossary
    )
    expect(page.locator("#translation .line")).to_have_text(own.translate([text]))


def storage_key(page: Page) -> str:
    """What the names begin with under which the page stores something."""
    names: list[str] = page.evaluate("Object.keys(localStorage)")
    return next(name for name in names if name.endswith("languages")).removesuffix("languages")
