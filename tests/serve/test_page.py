"""The web page of the service, in a browser."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from tests.serve.browser import (
    Page,
    Response,
    Route,
    chromium,
    expect,
    lines,
    save_models,
    scrolls_sideways,
    tinted,
    translate,
)
from tests.serve.conftest import Running, running
from yakusu.engine.config import EngineConfig
from yakusu.memory.memory import TranslationMemory
from yakusu.translator import Translator
from yakusu.translator.quality import LONG, SHORT, UNSURE
from yakusu.translator.request import Request
from yakusu.view import attention_maps

TEXT = "the red boat sails home"
MOST_BYTES = 150_000  # that the page loads
Open = Callable[..., Page]
Pages = Callable[..., Page]
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # of playwright's transport


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return save_models(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def translator(models: dict[str, Path]) -> Translator:
    """What the service translates English to German with."""
    return Translator.load(models["en-de"], engine=EngineConfig(engine="native", threads=1))


@pytest.fixture(scope="module")
def service(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service that has a memory of English to German, and none of the other pairs."""
    memory = tmp_path_factory.mktemp("memory") / "team.db"
    TranslationMemory.open(memory, ("en", "de"), writable=True).close()
    with running([*models.values()], threads=1, memory=[str(memory)]) as found:
        yield found


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    """Opens empty pages of a browser: pages(locale="de-DE"). They are used again."""
    with chromium() as browser:

        @cache
        def page_for(**settings: Any) -> Page:
            page = browser.new_context(**{"locale": "en-US", **settings}).new_page()
            page.set_default_timeout(40_000)
            return page

        yield page_for


@pytest.fixture
def visit(pages: Pages, service: Running) -> Iterator[Open]:
    """Opens a page: visit("docs", color_scheme="dark"). Errors of its scripts fail the test."""
    problems: list[str] = []

    def note_error(error: Any) -> None:
        problems.append(str(error))

    def note_fault(line: Any) -> None:
        if line.type == "error" and "Failed to load resource" not in line.text:
            problems.append(line.text)

    with ExitStack() as stack:

        def begin(path: str = "", **settings: Any) -> Page:
            page = pages(**settings)
            stack.callback(reset, page)
            page.on("pageerror", note_error)
            page.on("console", note_fault)
            stack.callback(page.remove_listener, "pageerror", note_error)
            stack.callback(page.remove_listener, "console", note_fault)
            page.goto(f"{service.url}/{path}")
            return page

        yield begin
    assert not problems


def reset(page: Page) -> None:
    """Forget what a test has changed."""
    page.unroute_all(behavior="wait")
    page.evaluate("localStorage.clear()")
    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(color_scheme="light")
    page.goto("about:blank")


@pytest.fixture
def page(visit: Open) -> Page:
    """The page with the translation of TEXT."""
    opened = visit()
    translate(opened, TEXT)
    return opened


def open_panel(page: Page, tab: str) -> None:
    """Open the panel about the first line, and wait until the page has scrolled to it."""
    page.locator("#translation .word").first.click()
    page.evaluate("new Promise((done) => setTimeout(done, 450))")  # longer than DOUBLE
    button = page.locator(f"#tab-{tab}")
    button.click()
    if button.get_attribute("aria-selected") != "true":  # the panel was drawn again meanwhile
        button.click()
    expect(page.locator("#tab-panel")).to_have_attribute("aria-labelledby", f"tab-{tab}")


# ---- translation ---------------------------------------------------------------------------------


def test_a_text_is_translated_while_it_is_typed(visit: Open, translator: Translator) -> None:
    page = visit()
    page.locator("#from option[value=en]").wait_for(state="attached")
    page.select_option("#from", "en")
    page.locator("#text").press_sequentially("the red boat\n\ntwo clouds")
    expected = translator.translate(["the red boat", "", "two clouds"])
    expect(page.locator("#translation .line")).to_have_text(expected)
    expect(page.locator("#count")).to_have_text("24 of 100,000 characters")
    page.fill("#text", "")
    expect(page.locator("#translation .line")).to_have_count(0)


def test_markup_in_a_text_is_text(visit: Open, translator: Translator) -> None:
    page = visit()
    text = "<img src=x onerror=alert(1)> the boat"
    translate(page, text)
    assert lines(page) == translator.translate([text])
    assert page.locator("#mirror").text_content() == text
    assert page.locator("main img").count() == 0


def test_the_language_of_a_text_is_detected(visit: Open) -> None:
    page = visit()
    page.locator("#from option[value=auto]").wait_for(state="attached")
    page.fill("#text", "The red boat sails home under two small clouds.")
    expect(page.locator("#detected")).to_contain_text("Detected: English (")


def test_a_pair_through_a_pivot_is_marked_and_has_no_attention(visit: Open) -> None:
    page = visit()
    page.locator("#from option[value=en]").wait_for(state="attached")
    page.select_option("#from", "en")
    assert page.locator("#to option").all_text_contents() == ["French (via German)", "German"]
    page.select_option("#to", "fr")
    translate(page, TEXT)
    open_panel(page, "matrix")
    message = "This pair is translated through German. Attention is available for single models"
    expect(page.locator("#tab-panel")).to_contain_text(message)


def test_a_busy_service_is_asked_once_more(visit: Open, translator: Translator) -> None:
    page = visit()
    refused = list[Route]()

    def refuse(route: Route) -> None:
        if refused:
            return route.continue_()
        refused.append(route)
        route.fulfill(status=503, headers={"Retry-After": "1"}, json={"error": "busy"})

    page.route("**/v1/stream", refuse)
    page.fill("#text", TEXT)
    expect(page.locator("#status")).to_have_text(
        "The service is busy. The page tries again in 1 s."
    )
    expect(page.locator("#translation .line")).to_have_text(translator.translate([TEXT]))


def test_an_error_says_what_to_do(visit: Open) -> None:
    page = visit()
    page.route("**/v1/stream", lambda route: route.abort())
    page.fill("#text", TEXT)
    expect(page.get_by_role("alert")).to_have_text(
        "The service cannot be reached: check the connection, then edit the text to try again."
    )


def test_a_key_is_asked_for_if_the_service_has_keys(visit: Open, service: Running) -> None:
    page = visit()
    expect(page.locator("#key")).to_be_hidden()
    settings = page.request.get(f"{service.url}/frontend/settings").json()
    changed = {**settings, "keyRequired": True}
    page.route("**/frontend/settings", lambda route: route.fulfill(json=changed))
    page.route("**/v1/stream", lambda route: route.fulfill(status=403, json={"error": "no"}))
    page.reload()
    page.get_by_label("API key").fill("secret key")
    with page.expect_request("**/v1/stream") as found:
        page.fill("#text", TEXT)
    body: Any = found.value.post_data_json
    assert body["api_key"] == "secret key"
    expect(page.locator("#alert")).to_contain_text("enter a valid API key")


def test_terms_and_protected_texts_are_sent_and_remembered(visit: Open) -> None:
    page = visit()
    translate(page, TEXT)
    page.get_by_role("button", name="Terms").click()
    page.click("[data-add=glossary]")
    page.get_by_label("Term", exact=True).fill("boat")
    page.get_by_label("Translation of the term").fill("clouds")
    page.click("[data-add=protect]")
    # The request with the term only, which begins some time after it was written, may come first.
    with page.expect_request(lambda each: '"protect"' in (each.post_data or "")) as found:
        page.locator("[data-group=protect] input").fill("red")
    body: Any = found.value.post_data_json
    assert (body["glossary"], body["protect"]) == ([["boat", "clouds"]], ["red"])
    expect(page.locator("#translation")).to_contain_text("red")
    page.reload()
    page.get_by_role("button", name="Terms").click()
    expect(page.get_by_label("Translation of the term")).to_have_value("clouds")


def test_history_can_be_used_cleared_and_disabled(visit: Open) -> None:
    page = visit()
    translate(page, TEXT)
    page.get_by_role("button", name="History").click()
    entry = page.locator(".entry")
    entry.wait_for()
    page.fill("#text", "")
    entry.click()
    expect(page.locator("#text")).to_have_value(TEXT)
    page.get_by_role("button", name="Clear").click()
    expect(entry).to_have_count(0)
    page.get_by_label("Keep translations in this browser").uncheck()
    page.fill("#text", "two clouds")
    page.wait_for_timeout(2500)  # it would be an entry after 1.5 s
    assert page.evaluate("localStorage.getItem('yakusu.history')") is None


def test_a_document_is_uploaded_and_downloaded(
    visit: Open, translator: Translator, tmp_path: Path
) -> None:
    page = visit()
    page.locator("#from option[value=en]").wait_for(state="attached")
    source = tmp_path / "boats.txt"
    source.write_text("the red boat\ntwo clouds\n")
    page.get_by_role("button", name="Document", exact=True).click()
    page.set_input_files("input[type=file]", source)
    expect(page.locator("#from")).to_have_value("auto")
    page.get_by_role("button", name="Translate the document").click()
    with page.expect_download() as found:
        page.get_by_role("link", name="Download boats.txt").click()
    expected = translator.translate(["the red boat", "two clouds"])
    assert found.value.path().read_text().splitlines() == expected


# ---- corrections ---------------------------------------------------------------------------------


def correct(page: Page, line: int, text: str) -> None:
    """Correct the first sentence of a line with the keyboard."""
    page.locator("#translation .line").nth(line).locator(".word").first.focus()
    page.keyboard.press("F2")
    expect(page.locator(":focus")).to_have_attribute("aria-label", re.compile("^Translation of "))
    page.keyboard.press("Control+A")
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def test_a_correction_is_used_at_once_and_can_be_undone(visit: Open, service: Running) -> None:
    page, text = visit(), "two clouds\nthe red boat\n two  clouds"
    translate(page, text)
    expect(page.locator("#translation .line")).to_have_count(3)
    before = lines(page)
    correct(page, 0, "zwei Wolken")
    after = ["zwei Wolken", before[1], " zwei Wolken"]
    expect(page.locator("#translation .line")).to_have_text(after, timeout=1000)
    expect(page.locator("#correction")).to_contain_text("Stored. The text is translated again")
    expect(page.locator(":focus")).to_have_text("zwei")
    badges = page.get_by_label("From the translation memory: 100%")
    expect(badges).to_have_count(2)
    given = {"q": "two clouds", "source": "en", "target": "de"}
    answer = page.request.post(f"{service.url}/translate", data=given)
    assert answer.json()["translatedText"] == "zwei Wolken"
    page.locator("#correction").get_by_role("button", name="Undo").click()
    expect(page.locator("#translation .line")).to_have_text(before)
    expect(badges).to_have_count(0)


def test_a_correction_of_an_earlier_visit_can_be_undone(visit: Open) -> None:
    page = visit()
    translate(page, "two clouds")
    before = lines(page)
    correct(page, 0, "zwei Wolken")
    expect(page.locator("#correction")).to_contain_text("Stored.")
    page.reload()
    translate(page, "two clouds")
    page.locator("#translation .word").first.dblclick()
    editor = page.locator(".editor")
    expect(editor).to_contain_text("The service stores your translation and uses it from now on.")
    editor.get_by_role("button", name="Undo").click()
    expect(page.locator("#translation .line")).to_have_text(before)
    expect(page.locator("#correction")).to_have_text("The correction was removed.")


def test_without_a_memory_the_browser_keeps_corrections(visit: Open) -> None:
    page = visit()
    text = "two clouds\nthe red boat"
    translate(page, text, source="de")
    expect(page.locator("#translation .line")).to_have_count(2)
    before = lines(page)
    page.get_by_role("button", name="Edit").click()
    editor = page.locator(".editor")
    expect(editor).to_contain_text("Stored in this browser only, and used on this page only.")
    editor.get_by_role("textbox").fill("deux nuages")
    editor.get_by_role("button", name="Use this").click()
    expect(page.locator("#translation .line")).to_have_text(["deux nuages", before[1]])
    page.reload()
    translate(page, text, source="de")
    expect(page.locator("#translation .line")).to_have_text(["deux nuages", before[1]])
    expect(page.get_by_label("Your correction, stored in this browser")).to_have_count(1)
    page.get_by_role("button", name="Terms").click()
    expect(page.locator("#corrections .entry")).to_have_text(["two cloudsdeux nuages"])
    page.locator("#corrections").get_by_role("button", name="Remove").click()
    expect(page.locator("#translation .line")).to_have_text(before)


def test_a_sentence_of_a_line_is_corrected(visit: Open) -> None:
    script = """async () => {
        const {sentencesOf, corrected} = await import("/assets/corrections.js");
        const known = {kept: new Map([["B c.", "b C!"]]), sent: new Map([["D.", "d."]])};
        const parts = [["A. ", "a. "], ["B  c. ", "x. "], ["D.", "d."]];
        const found = {text: "a. x. d.", sentences: parts};
        const texts = (of) => of.map(({text, match, isKept}) => [text, match ?? 0, isKept]);
        return [
            texts(sentencesOf(known, "A. B  c. D.", found)),
            texts(sentencesOf(known, "A. B  c. D.", {...found, match: 99})),
            texts(sentencesOf(known, " b c.", {text: " x."})),
            texts(sentencesOf(known, " B c. ", {text: " x. "})),
            texts([corrected({text: " x "}, "y", false)]),
            sentencesOf(known, "A. B  c. D.", {...found, doubt: "it is bad"})
                .map(({doubt}) => doubt),
            sentencesOf(known, "- A.", {...found, sentences: [["- ", "- "], ["A.", "a."]],
                                        doubt: "it is bad"}).map(({doubt}) => doubt),
        ];
    }"""
    assert visit().evaluate(script) == [
        [["a. ", 0, False], ["b C! ", 100, True], ["d.", 100, False]],
        [["a. x. d.", 99, False]],
        [[" x.", 0, False]],
        [[" b C! ", 100, True]],
        [[" y ", 100, False]],
        ["it is bad", "", ""],
        ["", "it is bad"],
    ]


def test_a_correction_that_is_refused_stays_in_its_field(visit: Open) -> None:
    page = visit()
    translate(page, "two clouds")
    page.evaluate("document.getElementById('key').value = 'secret key'")
    page.route("**/v1/memory", lambda route: route.fulfill(status=403, json={"error": "no"}))
    with page.expect_request("**/v1/memory") as found:
        correct(page, 0, "zwei Wolken")
    assert found.value.post_data_json == {
        "action": "add",
        "source": "en",
        "target": "de",
        "text": "two clouds",
        "translation": "zwei Wolken",
        "api_key": "secret key",
    }
    expect(page.locator(".editor [role=alert]")).to_contain_text("enter a valid API key")
    expect(page.locator(".editor textarea")).to_have_value("zwei Wolken")
    page.keyboard.press("Escape")
    expect(page.locator(".editor")).to_have_count(0)
    expect(page.locator(":focus")).to_have_class("word pointed")
    expect(page.locator("#translation .line")).not_to_have_text("zwei Wolken")


# ---- quality -------------------------------------------------------------------------------------


def test_a_bad_translation_is_underlined_until_it_is_corrected(visit: Open) -> None:
    page = visit()
    translate(page, "two clouds\nunder two small clouds")
    doubtful = page.locator("#translation").get_by_role("group")
    before = lines(page)
    expect(doubtful).to_have_text([before[1]])
    reason = "Probably a bad translation, at least in part: the model is unsure of its words."
    expect(doubtful).to_have_accessible_description(reason)
    expect(doubtful).to_have_css("text-decoration-style", "wavy")
    doubtful.locator(".word").first.focus()
    expect(page.locator("#doubt")).to_have_text(reason)
    page.select_option("#interface", "de")
    expect(doubtful).to_have_accessible_description(re.compile("^Wahrscheinlich eine schlechte"))
    page.select_option("#interface", "en")
    correct(page, 1, "unter zwei Wolken")
    expect(page.locator("#translation .line").nth(1)).to_have_text("unter zwei Wolken")
    expect(doubtful).to_have_count(0)
    page.locator("#correction").get_by_role("button", name="Undo").click()
    expect(doubtful).to_have_text([before[1]])


def test_each_doubt_is_explained_in_each_language(visit: Open) -> None:
    script = """async (doubts) => {
        const {setInterface} = await import("/assets/strings.js");
        const {shown} = await import("/assets/corrections.js");
        return ["en", "de", "ja", "ko"].flatMap((code) => {
            setInterface(code);
            return doubts.map((doubt) => shown({text: "x", doubt}).doubt);
        });
    }"""
    found = visit().evaluate(script, [UNSURE, SHORT, LONG])
    assert len({*found}) == 12
    assert found[1].endswith(": shorter than usual, so parts of the text may be missing.")


# ---- attention -----------------------------------------------------------------------------------


def test_pointing_at_a_word_tints_its_counterparts(page: Page, translator: Translator) -> None:
    ((best,),) = translator.stream([TEXT], details=True)
    assert best.details
    links = [tuple(map(int, pair.split("-"))) for pair in best.details.pharaoh.split()]
    for i in range(len(best.text.split())):
        page.locator("#translation .word").nth(i).hover()
        assert tinted(page, "mirror") == sorted({s for s, t in links if t == i})
    boxes = [word.bounding_box() for word in page.locator("#mirror .word").all()]
    for i, box in enumerate(boxes):
        assert box
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert tinted(page, "translation") == sorted({t for s, t in links if s == i})


def test_an_open_panel_links_words_by_the_chosen_head(page: Page, translator: Translator) -> None:
    open_panel(page, "matrix")
    expect(page.locator("#tab-panel")).to_contain_text("Recomputed for this line")
    page.locator("[data-control=layer]").fill("1")
    page.locator("[data-control=head]").fill("2")
    (target,) = lines(page)
    maps = attention_maps(translator, TEXT, target)
    weights = maps.weights["cross"][0, 1]
    source_words = np.cumsum([token.spaced for token in maps.source[:-1]]) - 1
    first_word = int(np.argmax([token.spaced for token in maps.target[1:]]) + 1)
    sums: dict[int, float] = defaultdict(float)
    for word, weight in zip(source_words, weights[:first_word].mean(0)[:-1], strict=True):
        sums[int(word)] += float(weight)
    page.locator("#translation .word").first.hover()
    assert tinted(page, "mirror") == [i for i, weight in sorted(sums.items()) if weight >= 0.05]


def test_a_click_on_either_side_opens_the_panel_for_its_line(visit: Open) -> None:
    page = visit()
    translate(page, "the red boat\ntwo clouds")
    title = page.locator("#panel h2")
    page.locator("#translation .line").nth(1).locator(".word").first.click()
    expect(title).to_have_text("Line 2: two clouds")
    expect(page.locator("#panel")).to_contain_text("Recomputed for this line")  # moves the text
    word = page.locator("#mirror .word").first
    box, before = word.bounding_box(), None
    while box != before or page.evaluate("scrollY"):  # the page scrolls to the panel, maybe late
        page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
        page.wait_for_timeout(600)
        box, before = word.bounding_box(), box
    assert box
    page.mouse.click(box["x"] + 3, box["y"] + 3)
    expect(title).to_have_text("Line 1: the red boat")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+Enter")
    expect(title).to_have_text("Line 2: two clouds")
    page.keyboard.press("Escape")
    expect(page.locator("#text")).to_be_focused()


def test_the_entropy_of_each_head_is_shown(page: Page, translator: Translator) -> None:
    open_panel(page, "arcs")
    (target,) = lines(page)
    weights = attention_maps(translator, TEXT, target).weights["cross"][-1].astype(np.float64)
    entropies = -(weights * np.log(weights)).sum(-1).mean(-1)
    expect(page.locator(".heads button")).to_have_text(
        [f"{i + 1}: {entropy:.2f}" for i, entropy in enumerate(entropies)]
    )


def test_an_alternative_continues_the_translation(page: Page, translator: Translator) -> None:
    open_panel(page, "tokens")
    page.locator(".chip").nth(1).click()
    ((best,),) = translator.stream([TEXT], details=True)
    assert best.details
    first, second = best.details.tokens[:2]
    other = next(t for t, _ in best.details.alternatives[1] if t not in (second, "</s>"))
    prefix = (first + other).replace("▁", " ").strip()
    page.locator(".choices button").first.click()
    ((expected,),) = translator.stream([Request(TEXT, prefix)])
    expect(page.locator("#translation .line")).to_have_text([expected.text])
    page.get_by_role("button", name="Back to the model's translation").click()
    expect(page.locator("#translation .line")).to_have_text([best.text])


def test_the_tree_has_all_hypotheses_of_the_search(page: Page, translator: Translator) -> None:
    open_panel(page, "beam")
    ((best,),) = translator.stream([TEXT], trace=True)
    (trace,) = best.traces
    every = [[*step.open, *step.finished, *step.dropped] for step in trace]
    expect(page.locator(".node")).to_have_count(sum(map(len, every)))
    finished = [each.score for step in trace for each in step.finished if each.score is not None]
    scores = sorted(finished, reverse=True)
    expect(page.locator(".results b")).to_have_text([f"{score:.3f}" for score in scores])
    expect(page.locator(".results bdi").first).to_have_text(best.text)
    expect(page.locator(".node.best.finished")).to_have_count(1)


def test_words_of_scripts_without_spaces_are_found(page: Page) -> None:
    script = """async () => {
        const {units} = await import("/assets/text.js");
        const found = (text, language) => units(text, language).map(
            ({start, end, word}) => [text.slice(start, end), word]);
        return [found("two  boats", "en"), found("犬が好き Linux", "ja")];
    }"""
    english, japanese = page.evaluate(script)
    assert english == [["two", 0], ["boats", 1]]
    assert japanese == [["犬", 0], ["が", 0], ["好き", 0], ["Linux", 1]]


def test_words_of_scripts_without_spaces_are_linked_by_attention(visit: Open) -> None:
    page = visit()
    route = {"source": "en", "target": "ja", "models": ["en-ja"], "pivot": None, "detected": None}
    line = {"line": 0, "translations": [{"text": "犬が好き", "alignment": "0-0 1-0 2-0"}]}
    events: list[tuple[str, Any]] = [("languages", route), ("line", line), ("end", {})]
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    page.route("**/v1/stream", lambda each: each.fulfill(body=body))
    cross = {
        "rows": {"what": "predicted", "tokens": as_tokens("犬が", "好", "き", "</s>")},
        "columns": {"what": "source", "tokens": as_tokens("I", "like", "dogs", "</s>")},
        "weights": [[np.eye(4)[[2, 1, 1, 3]].tolist()]],
    }
    page.route("**/v1/attention", lambda each: each.fulfill(json={"roles": {"cross": cross}}))
    page.fill("#text", "I like dogs")
    words = page.locator("#translation .word")
    expect(words).to_have_text(["犬", "が", "好き"])
    words.nth(2).hover()
    expect(page.locator("#counterparts")).to_have_text("\u2068好き\u2069 — \u2068like\u2069")
    words.nth(0).hover()
    assert tinted(page, "mirror") == [2]


def as_tokens(*texts: str) -> list[dict[str, Any]]:
    return [{"text": text, "spaced": False, "special": text == "</s>"} for text in texts]


# ---- for everyone --------------------------------------------------------------------------------


def test_everything_works_with_the_keyboard(visit: Open) -> None:
    page = visit()
    page.locator("#from option[value=en]").wait_for(state="attached")
    focused = page.locator(":focus")

    def tab_to(selector: str) -> None:
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.locator(f"{selector}:focus").count():
                return
        raise AssertionError(f"Tab does not lead to {selector}")

    tab_to("#from")
    page.keyboard.press("ArrowDown")
    tab_to("#text")
    page.keyboard.type(TEXT)
    page.locator("#translation[aria-busy=false] .word").first.wait_for()
    tab_to("#translation .word")
    page.keyboard.press("ArrowRight")
    expect(focused).to_have_attribute("data-unit", "1")
    assert tinted(page, "mirror")
    page.keyboard.press("Enter")
    expect(focused).to_have_id("tab-matrix")
    page.locator("#tab-panel svg").wait_for()
    tab_to("#tab-panel svg")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".readout")).to_contain_text("attends to")
    page.locator("#tab-matrix").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.locator(".chip").first.wait_for()
    tab_to(".chip")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    tab_to(".choices button")
    before = lines(page)
    page.keyboard.press("Enter")
    expect(page.locator("#translation .line")).not_to_have_text(before)
    expect(focused).to_have_class("chip spaced")
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()


def test_a_narrow_window_has_no_horizontal_scrolling(visit: Open, service: Running) -> None:
    page = visit()
    page.set_viewport_size({"width": 400, "height": 800})
    translate(page, " ".join([TEXT] * 5))
    page.get_by_role("button", name="Edit").click()
    assert not scrolls_sideways(page)
    page.keyboard.press("Escape")
    for side in ("document", "terms", "history"):
        page.click(f"[data-side={side}]")
        assert not scrolls_sideways(page)
    for tab in ("matrix", "arcs", "beam", "tokens"):
        open_panel(page, tab)
        page.locator("#tab-panel :is(svg, .chip)").first.wait_for()
        assert not scrolls_sideways(page)
    page.goto(f"{service.url}/docs")
    page.locator("summary").first.click()
    assert not scrolls_sideways(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    visit: Open, service: Running, scheme: Literal["light", "dark"]
) -> None:
    if find_spec("axe_playwright_python") is None:
        pytest.skip("axe-playwright-python, which contains axe-core, is not installed")
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text()
    page = visit()
    page.emulate_media(color_scheme=scheme)
    translate(page, TEXT)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(250, 250, 248)", "dark": "rgb(19, 21, 25)"}[scheme]

    rules = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}[scheme]  # the rest is the same

    def check(found: Page) -> None:
        found.evaluate(axe)
        violations = found.evaluate(
            "(rules) => axe.run(rules).then((results) => results.violations)", rules
        )
        assert [v for v in violations if v["impact"] in ("serious", "critical")] == []

    page.get_by_role("button", name="Terms").click()
    page.click("[data-add=glossary]")
    for tab in ("matrix", "tokens"):
        open_panel(page, tab)
        page.locator("#tab-panel :is(svg, .chip)").first.wait_for()
        page.locator("#translation .word").first.hover()
        if tab == "tokens":
            page.get_by_role("button", name="Edit").click()
        check(page)
    page.goto(f"{service.url}/docs")
    page.locator("summary").nth(1).click()
    check(page)


def test_the_page_speaks_the_language_of_its_user(visit: Open) -> None:
    page = visit(locale="ja-JP")
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    expect(page.locator("#from option[value=en]")).to_have_text("英語")
    page.select_option("#interface", "de")
    expect(page.locator("#from option[value=en]")).to_have_text("Englisch")
    page.reload()
    expect(page.locator("#copy")).to_have_text("Kopieren")
    script = """async () => Object.fromEntries(await Promise.all(["en", "de", "ja", "ko"].map(
        async (code) => [code, Object.entries((await import(`/assets/strings-${code}.js`)).default)
            .map(([key, text]) => [key, text.match(/{\\w+}/g)?.sort() ?? []])])))"""
    tables = page.evaluate(script)
    for code in ("de", "ja", "ko"):
        assert dict(tables[code]) == dict(tables["en"])


# ---- the server ----------------------------------------------------------------------------------


def test_all_requests_go_to_the_service_and_are_small(visit: Open, service: Running) -> None:
    page, responses = visit("health"), list[Response]()
    page.on("response", lambda each: responses.append(each))
    page.goto(f"{service.url}/")
    translate(page, TEXT)
    open_panel(page, "beam")
    page.locator(".node").first.wait_for()
    assert all(each.url.startswith((f"{service.url}/", "data:")) for each in responses)
    page_files = [each for each in responses if "/assets/" in each.url or each.url[-1] == "/"]
    assert len(page_files) > 10
    assert sum(len(each.body()) for each in page_files) < MOST_BYTES


def test_the_page_works_below_a_path(visit: Open, service: Running, translator: Translator) -> None:
    page = visit("health")
    prefix = f"{service.url}/tools/mt"

    def proxy(route: Route) -> None:
        """Publish the service below a path, as a reverse proxy does."""
        url = route.request.url.replace(prefix, service.url)
        route.fulfill(response=route.fetch(url=url))

    page.route(f"{prefix}/**", proxy)
    page.goto(f"{prefix}/")
    translate(page, TEXT)
    assert lines(page) == translator.translate([TEXT])
    page.get_by_role("link", name="API").click()
    expect(page.locator("summary code").first).to_have_text("/languages")
    page.get_by_role("link", name="Translate").click()
    page.locator("#from option[value=en]").wait_for(state="attached")


def test_the_reference_lists_every_route(visit: Open, service: Running) -> None:
    page = visit("docs")
    page.locator("summary").first.wait_for()
    paths = page.evaluate("fetch('spec').then((spec) => spec.json())")["paths"]
    expect(page.locator("summary code")).to_have_text([path for path in paths for _ in paths[path]])
    stream = page.locator("details", has=page.locator("summary", has_text="/v1/stream"))
    stream.locator("summary").click()
    expect(stream.locator("tr", has_text="n_best")).to_contain_text("≥ 1; default 1")


def test_pages_are_sent_once_until_they_change(page: Page, service: Running) -> None:
    for path, kind in {
        "": "text/html",
        "docs": "text/html",
        "assets/dom.js": "text/javascript",
    }.items():
        first = page.request.get(f"{service.url}/{path}")
        assert first.headers["content-type"] == f"{kind}; charset=utf-8"
        assert first.headers["cache-control"] == "no-cache"
        assert "script-src 'self'" in first.headers["content-security-policy"]
        known = {"If-None-Match": first.headers["etag"]}
        assert page.request.get(f"{service.url}/{path}", headers=known).status == 304
    assert page.request.get(f"{service.url}/assets/../service.html").status == 404
