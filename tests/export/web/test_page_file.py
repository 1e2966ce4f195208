"""Translators in one HTML file, in a browser."""

import http.server
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.export.web.conftest import small_model
from tests.serve.browser import Browser, Page, chromium, expect, lines
from yakusu import Translator, export_web
from yakusu.errors import RunError

START = "#start"
INCOMPLETE = "This file is incomplete. Copy or download it again."
DAMAGED = "This file is damaged. Copy or download it again."
SENTENCE = "Der Hund schläft im Garten."


@pytest.fixture(scope="module")
def other_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("web") / "other", source="fr", target="en")


@pytest.fixture(scope="module")
def file(model_folder: Path, other_folder: Path) -> Path:
    out = other_folder.parent / "page.html"
    export_web([model_folder, other_folder], out)
    return out


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as own:
        yield own


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that reports what it requests, and what its policy refuses, in `heard`."""
    with browser.new_context(locale="en-GB") as context:
        own = context.new_page()
        own.set_default_timeout(60_000)
        yield own


def translated(page: Page, source: str, target: str, text: str) -> list[str]:
    page.select_option("#from", source)
    page.select_option("#to", target)
    page.fill("#text", text)
    page.locator("#translation[aria-busy=false] .word").first.wait_for()
    return lines(page)


def test_a_file_translates_with_each_model_and_requests_nothing(
    page: Page, file: Path, model_folder: Path, other_folder: Path
) -> None:
    requested, said = [], []
    page.on("request", lambda request: requested.append(request.url.split(":")[0]))
    page.on("console", lambda message: said.append(message.text))
    page.goto(file.as_uri())
    expect(page.locator(START)).to_be_empty()
    for source, target, folder in ("de", "en", model_folder), ("fr", "en", other_folder):
        (expected,) = Translator.load(folder).translate([SENTENCE])
        assert translated(page, source, target, SENTENCE) == [expected]
    assert set(requested) == {"file", "blob"}
    assert not [text for text in said if "Policy" in text]


@pytest.mark.parametrize("kept", [0.4, 0.999])
def test_a_file_without_its_end_says_so(
    page: Page, file: Path, tmp_path: Path, kept: float
) -> None:
    data = file.read_bytes()
    half = tmp_path / "half.html"
    half.write_bytes(data[: int(kept * len(data)) // 2 * 2])
    page.goto(half.as_uri())
    expect(page.locator(START)).to_have_text(INCOMPLETE)
    expect(page.locator("#text")).to_be_hidden()


def test_a_file_that_ends_before_its_first_script_says_so(
    page: Page, file: Path, tmp_path: Path
) -> None:
    data, script = file.read_bytes(), "<script>".encode("utf-16-le")
    half = tmp_path / "half.html"
    half.write_bytes(data[: data.index(script) + 1000])
    page.goto(half.as_uri())
    expect(page.locator(START)).to_contain_text("the file is incomplete")


def test_a_file_that_ends_in_its_style_sheet_says_so(
    page: Page, file: Path, tmp_path: Path
) -> None:
    data, style = file.read_bytes(), "<style>".encode("utf-16-le")
    half = tmp_path / "half.html"
    half.write_bytes(data[: data.index(style) + 2000])
    page.goto(half.as_uri())
    expect(page.locator(START)).to_have_text(INCOMPLETE)


@pytest.mark.parametrize(("name", "place"), [("page.js", START), ("worker.js", "#alert")])
def test_a_damaged_file_says_so(
    page: Page, file: Path, tmp_path: Path, name: str, place: str
) -> None:
    data, part = bytearray(file.read_bytes()), f'id="{name}">'.encode("utf-16-le")
    start = data.index(part) + len(part) + 2000
    data[start : start + 4] = b"A\0B\0"
    damaged = tmp_path / "damaged.html"
    damaged.write_bytes(data)
    page.goto(damaged.as_uri())
    if name != "page.js":
        page.select_option("#from", "de")
        page.fill("#text", SENTENCE)
    expect(page.locator(place)).to_have_text(DAMAGED)


def test_a_browser_without_webassembly_says_so(page: Page, file: Path) -> None:
    page.add_init_script("delete window.WebAssembly")
    page.goto(file.as_uri())
    expect(page.locator(START)).to_contain_text("This browser cannot run the page")
    expect(page.locator("#text")).to_be_hidden()


def test_a_browser_without_simd_translates_and_says_so(
    page: Page, file: Path, model_folder: Path
) -> None:
    page.add_init_script("WebAssembly.validate = () => false")
    page.goto(file.as_uri())
    (expected,) = Translator.load(model_folder).translate([SENTENCE])
    assert translated(page, "de", "en", SENTENCE) == [expected]
    expect(page.locator(START)).to_contain_text("no SIMD instructions")


def test_the_encoding_that_a_server_says_changes_nothing(page: Page, file: Path) -> None:
    class Handler(http.server.SimpleHTTPRequestHandler):
        def guess_type(self, path: object) -> str:
            return "text/html; charset=utf-8"

        def log_message(self, *given: object) -> None:
            pass

    handler = partial(Handler, directory=str(file.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{server.server_port}/{file.name}")
        assert page.evaluate("document.characterSet") == "UTF-16LE"
        expect(page.locator(START)).to_be_empty()
        expect(page.locator("#text")).to_be_visible()
        server.shutdown()


def test_the_policy_refuses_other_scripts_and_requests(page: Page, file: Path) -> None:
    page.goto(file.as_uri())
    expect(page.locator("#text")).to_be_visible()
    refused = page.evaluate(
        """async () => {
          const refused = [];
          const note = ({effectiveDirective}) => refused.push(effectiveDirective);
          addEventListener("securitypolicyviolation", note);
          const add = (tag, given) =>
            document.body.append(Object.assign(document.createElement(tag), given));
          add("script", {textContent: "window.ran = 1"});
          add("img", {src: "http://127.0.0.1:9/"});
          await fetch("http://127.0.0.1:9/").catch(() => {});
          await new Promise((done) => setTimeout(done, 100));
          return [...refused.sort(), typeof window.ran];
        }"""
    )
    assert refused == ["connect-src", "img-src", "script-src-elem", "undefined"]


def test_models_and_test_sets_that_do_not_fit_are_refused(
    model_folder: Path, other_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    with pytest.raises(RunError, match="is named twice"):
        export_web([model_folder, model_folder], out)
    with pytest.raises(RunError, match="a test set belongs to one model"):
        export_web([model_folder, other_folder], out, test_src=["a"], test_tgt=["b"])
    out.write_text("")
    with pytest.raises(RunError, match="exists: choose another file"):
        export_web(model_folder, out)
