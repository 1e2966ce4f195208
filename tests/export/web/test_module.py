"""An exported translator translates as `Translator` does."""

import hashlib
import re
import shutil
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.cases import THOROUGH
from tests.export.web.conftest import Node
from yakusu import Translator, export_web
from yakusu.data.lines.config import TextConfig
from yakusu.engine.config import EngineConfig
from yakusu.engine.packing import sinusoids
from yakusu.errors import DataError
from yakusu.search.config import SearchConfig
from yakusu.translator.request import Request

LINES = Path("benchmarks/reliability/hard_lines.txt")
SCRIPT = """
const { load } = await import(given.module);
const translator = await load(undefined, { engine: given.engine });
const made = [];
for (const [text, options] of given.texts) {
  try { made.push(await translator.translate(text, options)); }
  catch (error) { made.push(error.message); }
}
give([translator.source, translator.target, made]);
"""
TEXTS = [
    "",
    " ",
    "\u3000Das ist\u00a0ein Test. Und noch einer!\n\n- Eine Liste\n- 2. Zeile",
    "Der Zug fährt um 7:30 Uhr, kostet 1.234,50 € und hat 12 Wagen 🚂🚂 𝐀.",
    "GROSSE BUCHSTABEN UND {name} mit <b>Tags</b> & https://example.org/?a=1",
    "e\u0301 \ufb01 ﷺ ＡＢＣ \u200b\u200d \U0001f468\u200d\U0001f469\u200d\U0001f467 \U00013000 ．",
]
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("Der Hund schläft im Garten.", {"nBest": 3}),
    ("Der Hund schläft im Garten.", {"nBest": 4, "beam": 5}),
    ("Der Hund schläft im Garten.", {"prefix": "The dog"}),
    ("Der Hund schläft im Garten.", {"include": ["garden", "the cat"]}),
    ("Der Hund schläft im Garten.", {"include": ["grün"], "nBest": 2}),
    ("Der Hund schläft im Garten.", {"exclude": ["the", "a"]}),
    ("Der Hund schläft im Garten.", {"include": ["the"], "exclude": ["the"]}),
    ("Der Hund hat 3 Katzen.", {"terms": [["Hund", "hound"], ["Katze", "feline"]]}),
    ("Das Haus von {name}.", {"terms": [["Haus", "house"]], "include": ["my"]}),
    ("Der Zug fährt um 7:30 Uhr, kostet 1.234,50 € und hat 12 Wagen.", {"check": False}),
]


@pytest.fixture(scope="module")
def translator(model_folder: Path) -> Translator:
    return Translator.load(model_folder, engine=EngineConfig(engine="native", threads=1))


def lines() -> list[str]:
    rows = LINES.read_text(encoding="utf-8").splitlines()
    return [row.split("\t")[1] for row in rows]


def in_node(
    node: Node, module: Path, texts: Sequence[tuple[str, Any]], engine: str = "simd"
) -> Any:
    given = {"module": (module / "yakusu.js").as_uri(), "engine": engine, "texts": texts}
    return node(SCRIPT, given)


def in_python(translator: Translator, text: str, options: dict[str, Any]) -> Any:
    n_best = options.get("nBest", 1)
    beam = max(options.get("beam", translator.search.beam), n_best)
    own = translator.with_settings(
        search=SearchConfig(**{**translator.search.model_dump(), "n_best": n_best, "beam": beam}),
        text=TextConfig(check=options["check"]) if "check" in options else None,
        terms=[tuple(term) for term in options["terms"]] if "terms" in options else None,
    )
    request = Request(
        text,
        options.get("prefix", ""),
        tuple(options.get("include", ())),
        tuple(options.get("exclude", ())),
    )
    try:
        return next(iter(own.stream([request])))
    except DataError as error:
        return str(error)


def differences(found: Sequence[Any], expected: Sequence[Any]) -> list[tuple[Any, Any]]:
    """What is not the same; numbers are if they differ by at most 1e-9."""
    return [pair for pair in zip(found, expected, strict=True) if not _same(*pair)]


def _same(found: Any, expected: Any) -> bool:
    if isinstance(found, str) or isinstance(expected, str):
        return bool(found == expected)
    texts = [each["text"] for each in found] == [each.text for each in expected]
    return texts and all(
        own["score"] == pytest.approx(other.score, abs=1e-9)
        and (own["logProb"] or 0) == pytest.approx(max(other.log_prob, -1e9), abs=1e-9)
        and own["quality"] == other.quality
        for own, other in zip(found, expected, strict=True)
        if other.log_prob > -1e9
    )


@pytest.mark.parametrize("engine", ["simd", "scalar"])
def test_a_module_translates_as_python_does(
    exported: tuple[Path, Any], translator: Translator, node: Node, engine: str
) -> None:
    some = lines() if THOROUGH else lines()[:: 2 if engine == "simd" else 8]
    texts: list[tuple[str, Any]] = [(text, {}) for text in (*some, *TEXTS)] + OPTIONS
    source, target, found = in_node(node, exported[0], texts, engine)
    assert (source, target) == translator.languages
    expected = [in_python(translator, text, options) for text, options in texts]
    assert differences(found, expected) == []


def test_a_calibrated_model_has_the_quality_that_python_estimates(
    tmp_path: Path, node: Node
) -> None:
    export_web("de-en", tmp_path / "page")
    texts = [("Der Hund schläft im Garten.", {}), ("Quittungsbeleg xylophonierender Zwölf.", {})]
    _, _, found = in_node(node, tmp_path / "page", texts)
    translator = Translator.load("de-en", engine=EngineConfig(engine="native", threads=1))
    expected = [in_python(translator, *each) for each in texts]
    assert differences(found, expected) == []
    assert all(each.quality is not None for best in expected for each in best)


def test_what_is_no_text_is_refused_in_a_sentence(exported: tuple[Path, Any], node: Node) -> None:
    text, phrases = "the text and the prefix must be strings", "include and exclude must be arrays"
    terms, option = "terms must be an array of pairs of strings", "there is no option nbest: choose"
    wrong: list[tuple[Any, Any, str]] = [
        *((value, {}, text) for value in (None, 3, ["a"], {"a": 1})),
        ("a", {"prefix": 3}, text),
        *(("a", {"include": value}, phrases) for value in ([None], "Hund", None)),
        *(("a", {"terms": value}, terms) for value in ([["a", 1]], [["a"]], ["ab"], {"a": "b"})),
        ("a", {"nbest": 3}, option),
        ("a", {"check": 1}, "check must be true or false"),
    ]
    _, _, found = in_node(node, exported[0], [each[:2] for each in wrong])
    assert [answer[: len(start)] for answer, (*_, start) in zip(found, wrong, strict=True)] == [
        start for *_, start in wrong
    ]
    sizes = [("a", {"nBest": n}) for n in (0, -1, 1.5, 257, "2")] + [("a", {"beam": 0})]
    _, _, found = in_node(node, exported[0], sizes)
    assert found == ["nBest and beam must be whole numbers from 1 to 256"] * len(sizes)


def test_half_a_character_is_replaced(exported: tuple[Path, Any], node: Node) -> None:
    script = SCRIPT.replace("given.texts", r'[["Hund \ud83d.", {}], ["Hund \ufffd.", {}]]')
    _, _, (found, expected) = node(script, {"module": (exported[0] / "yakusu.js").as_uri()})
    assert found == expected
    assert found[0]["text"]


@pytest.mark.parametrize("damage", [lambda data: data[:-100], lambda data: b"a" + data[1:]])
def test_a_damaged_model_is_reported_in_a_sentence(
    exported: tuple[Path, Any], tmp_path: Path, node: Node, damage: Callable[[bytes], bytes]
) -> None:
    folder = tmp_path / "module"
    shutil.copytree(exported[0], folder)
    (folder / "de-en.bin").write_bytes(damage((folder / "de-en.bin").read_bytes()))
    script = "const { load } = await import(given); await load().catch((e) => give(e.message));"
    found = node(script, (folder / "yakusu.js").as_uri())
    assert found == "the model is damaged or incomplete: copy it again"


@pytest.mark.parametrize("name", ["engine.wasm", "kernels-scalar.wasm"])
def test_a_damaged_engine_is_reported_in_a_sentence(
    exported: tuple[Path, Any], tmp_path: Path, node: Node, name: str
) -> None:
    folder = tmp_path / "module"
    shutil.copytree(exported[0], folder)
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    script = """const { load } = await import(given);
    await load(".", { engine: "scalar" }).catch((e) => give(e.message));"""
    found = node(script, (folder / "yakusu.js").as_uri())
    assert found == "the engine is damaged or incomplete: copy it again"


def test_what_load_does_not_know_is_refused_in_a_sentence(
    exported: tuple[Path, Any], node: Node
) -> None:
    script = """const { load } = await import(given), said = [];
    for (const given of [[".", { nBest: "x" }], [".", null], ["missing"]]) {
      await load(...given).catch((e) => said.push(e.message));
    }
    give(said);"""
    unknown, null, missing = node(script, (exported[0] / "yakusu.js").as_uri())
    assert unknown == "there is no option nBest: choose from model, engine"
    assert null == "options must be an object"
    files = r"(engine\.wasm|kernels-\w+\.wasm|de-en\.bin)"  # all are read at once
    assert re.search(rf"/missing/{files} cannot be read \(ENOENT\): check the folder$", missing)


def test_an_engine_that_the_host_does_not_run_is_refused(
    exported: tuple[Path, Any], node: Node
) -> None:
    script = """
    const { load, engineHere } = await import(given);
    const opened = load(undefined, { engine: "relaxed" }).then(() => "", (e) => e.message);
    give([engineHere(), await opened]);"""
    here, refused = node(script, (exported[0] / "yakusu.js").as_uri())
    reason = "this host does not compute relaxed SIMD: leave out engine"
    assert refused == ("" if here == "relaxed" else reason)


def test_a_folder_is_opened_with_and_without_its_last_slash(
    exported: tuple[Path, Any], node: Node
) -> None:
    script = """
    const { load } = await import(`${given}/yakusu.js`);
    give(await Promise.all([given, `${given}/`].map(async (url) => (await load(url)).source)));
    """
    assert node(script, exported[0].as_uri()) == ["de", "de"]


def test_a_folder_that_is_missing_is_one_error(exported: tuple[Path, Any], node: Node) -> None:
    script = """
    const others = [], { load } = await import(given);
    process.on("unhandledRejection", (error) => others.push(error.message));
    const message = await load("nothing").catch((error) => error.message);
    await new Promise((resolve) => setTimeout(resolve, 50));
    give([message, others]);
    """
    message, others = node(script, (exported[0] / "yakusu.js").as_uri())
    assert "nothing/" in message
    assert others == []


def test_memory_does_not_grow(exported: tuple[Path, Any], node: Node) -> None:
    script = """
    const sizes = [], { instantiate } = WebAssembly;
    let memory;
    WebAssembly.instantiate = async (...all) => {
      const made = await instantiate(...all);
      if (made.instance?.exports.yk_model) memory = made.instance.exports.memory;
      return made;
    };
    const { load } = await import(given.module), translator = await load();
    for (let round = 0; round < 6; round++) {
      for (const [text, options] of given.texts) {
        await translator.translate(text, options).catch(() => null);
      }
      sizes.push(memory.buffer.byteLength);
    }
    give(sizes);
    """
    texts: list[tuple[str, Any]] = [(text, {}) for text in lines()[:15]] + OPTIONS
    first, *others = node(script, {"module": (exported[0] / "yakusu.js").as_uri(), "texts": texts})
    assert others == [first] * len(others)


def test_sinusoids_are_those_of_the_engine(node: Node) -> None:
    source = (files("yakusu.export.web") / "engine.js").read_text(encoding="utf-8")
    script = source.replace("return { Engine,", "return { sinusoids, Engine,").replace(
        "const { Engine,", "const { sinusoids, Engine,"
    )
    show = """
    const { createHash } = await import("node:crypto");
    give(given.map(([n, width, divisor]) =>
      createHash("sha256").update(sinusoids(n, width, divisor)).digest("hex")));
    """
    cases = [
        (2048, width, divisor) for width in (64, 192, 256, 512) for divisor in (width, width - 2)
    ]
    found = node(script + show, cases)
    for case, own in zip(cases, found, strict=True):
        assert own == hashlib.sha256(sinusoids(*case).tobytes()).hexdigest(), case
