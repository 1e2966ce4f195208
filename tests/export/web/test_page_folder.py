"""The page of an exported folder installs, and works without a network."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.serve.browser import Page, chromium, expect
from yakusu import Translator
from yakusu.export.web.web_page import ENGINES

LINES = Path("benchmarks/reliability/hard_lines.txt")
SENTENCE = "Der Hund schläft im Garten."
KEPT = """async () => {
  await navigator.serviceWorker.ready;
  for (;;) {
    for (const name of await caches.keys()) {
      const urls = (await (await caches.open(name)).keys()).map(({url}) => new URL(url).pathname);
      if (urls.some((each) => each.endsWith(".bin"))) return urls.sort();
    }
    await new Promise((done) => setTimeout(done, 50));
  }
}"""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as browser:
        own = browser.new_page(locale="en-GB")
        own.set_default_timeout(60_000)
        yield own


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *given: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    handler = partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def expect_translation(page: Page, expected: list[str]) -> None:
    """Type the sentence; until it is translated, the page may show that of an earlier text."""
    page.fill("#text", SENTENCE)
    expect(page.locator("#translation .line")).to_have_text(expected)


def test_a_folder_works_offline_after_the_first_visit(
    exported: tuple[Path, Any], model_folder: Path, page: Page
) -> None:
    expected = Translator.load(model_folder).translate([SENTENCE])
    with served(exported[0]) as address:
        page.goto(address)
        expect_translation(page, expected)
        kept = {*page.evaluate(KEPT)}
        assert {"/index.html", "/page.js", "/worker.js", "/de-en.bin"} <= kept
        assert {f"/{name}" for name in ENGINES} <= kept
    page.goto("about:blank")
    page.goto(f"{address}?text=Guten+Tag.&url=https%3A%2F%2Fexample.org%2F")
    expect(page.locator("#text")).to_have_value("Guten Tag.\nhttps://example.org/")
    expect_translation(page, expected)


def test_all_engines_compute_the_same(exported: tuple[Path, Any], page: Page) -> None:
    script = """async (texts) => {
      const { load, engineHere } = await import("./yakusu.js"), found = [];
      for (const engine of ["relaxed", "simd", "scalar"]) {
        if (engine === "relaxed" && engineHere() !== engine) continue;
        const translator = await load(undefined, { engine }), all = [];
        for (const text of texts) all.push(await translator.translate(text, { nBest: 3 }));
        found.push(JSON.stringify(all));
      }
      return found;
    }"""
    texts = LINES.read_text(encoding="utf-8").splitlines()[::10]
    with served(exported[0]) as address:
        page.goto(address)
        first, *others = page.evaluate(script, [line.split("\t")[1] for line in texts])
    assert others == [first] * len(others)
    assert others


def test_a_folder_names_what_installing_needs(exported: tuple[Path, Any]) -> None:
    manifest = json.loads((exported[0] / "manifest.webmanifest").read_text(encoding="utf-8"))
    assert manifest["name"] == "yakusu de-en"
    assert all((exported[0] / icon["src"]).exists() for icon in manifest["icons"])
    package = json.loads((exported[0] / "package.json").read_text(encoding="utf-8"))
    assert "*.bin" in package["files"]
    assert "index.html" not in package["files"]
