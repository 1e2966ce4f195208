"""A service with small models, and a browser that opens its page."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from tests.translators import decoder_of, save, sharpened, small_tokenizer
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.search.config import SearchConfig
from yakusu.translator import Translator
from yakusu.translator.folder.folder import QUALITY
from yakusu.translator.quality import Calibration, QualityTerm

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, Response, Route, expect, sync_playwright

__all__ = ["Browser", "Page", "Response", "Route", "expect"]

expect.set_options(timeout=30_000)  # milliseconds; machines that test are busy
CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu"]
WORDS = ("the", "red", "boat", "sails", "home", "slowly", "under", "two", "small", "clouds")
PAIRS = {"en-de": ("en", "de"), "de-fr": ("de", "fr")}
NOTHING = QualityTerm(mean=0.0, scale=1.0, weight=0.0)
# Translations of sources of more than e ** 2 tokens are probably bad.
CALIBRATION = Calibration(
    n_sentences=100,
    correlation=0.5,
    certainty=NOTHING,
    neighbours=NOTHING,
    length=NOTHING,
    source=QualityTerm(mean=2.0, scale=1.0, weight=-10.0),
    intercept=30.0,
    doubtful=30.0,
)


def save_models(root: Path) -> dict[str, Path]:
    """Untrained models of English to German and of German to French."""
    tokenizer = small_tokenizer(WORDS)
    torch.manual_seed(79)  # which translates the sentences of the tests to several words
    config = TransformerConfig(n_layers=2, d_model=32, d_ff=64, n_heads=4, tied="none")
    model = Transformer(config, **tokenizer.vocab_sizes)
    with torch.no_grad():  # sharper attention, so that the heads differ
        for layers in model.attention_layers().values():
            for layer in layers:
                layer.get_parameter("w_qkv").mul_(3.0)
    search = SearchConfig(beam=3, max_extra=2)
    made = Translator(decoder_of(sharpened(model)), tokenizer, languages=("", ""), search=search)
    documents = {QUALITY: json.dumps(CALIBRATION.model_dump())}
    return {
        name: save(
            root / name,
            made,
            documents=documents,
            source_language=source,
            target_language=target,
        )
        for name, (source, target) in PAIRS.items()
    }


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def translate(page: Page, text: str, *, source: str = "en") -> None:
    """Choose the source language, type a text, and wait for its translation."""
    page.locator(f"#from option[value={source}]").wait_for(state="attached")
    page.select_option("#from", source)
    with page.expect_response("**/v1/stream"):
        page.fill("#text", text)
    page.locator("#translation[aria-busy=false] .word").first.wait_for()


def lines(page: Page) -> list[str]:
    """The lines of the translation."""
    return page.locator("#translation .line").all_text_contents()


def tinted(page: Page, side: str) -> list[int]:
    """The numbers of the tinted words of a text of one line: "mirror" or "translation"."""
    words = page.locator(f"#{side} .word")
    backgrounds: list[str] = words.evaluate_all("all => all.map((each) => each.style.background)")
    return [i for i, background in enumerate(backgrounds) if background]


def scrolls_sideways(page: Page) -> bool:
    """Whether the page is wider than its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))
