"""The benchmarks: what they compute, their options, and the pages made from their records."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from yakusu.errors import DataError, RunError, SignalError, YakusuError

common: Any = pytest.importorskip("benchmarks.common", reason="only a checkout has benchmarks")
alignment: Any = pytest.importorskip("benchmarks.paper.alignment")
layers: Any = pytest.importorskip("benchmarks.paper.layers")
pages: Any = pytest.importorskip("benchmarks.pages")
records: Any = pytest.importorskip("benchmarks.records")
runs: Any = pytest.importorskip("benchmarks.runs")
tables: Any = pytest.importorskip("benchmarks.tables")
table1: Any = pytest.importorskip("benchmarks.paper.table1")
workers: Any = pytest.importorskip("benchmarks.workers")

ROOT = Path(common.__file__).parents[1]
SCRIPTS = [
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    for folder in ("", *pages.FOLDERS)
    for path in sorted((ROOT / "benchmarks" / folder).glob("*.py"))
    if "\n    benchmark.run(main)" in path.read_text()
]


# ---- measurements --------------------------------------------------------------------------------


def test_an_exponent_is_the_slope_of_the_largest_sizes() -> None:
    points = [{"n": n, "seconds": 3 * n**2 if n > 4 else 999} for n in (2, 4, 8, 16, 32)]
    assert table1.exponent(points, "seconds", "n") == pytest.approx(2)


@pytest.mark.parametrize(
    ("kind", "n_layers"),
    [
        ("self-attention", 1),
        ("recurrent", 1),
        ("convolution", 8),  # k = 3, looking back: two positions per layer
        ("convolution, dilated", 3),  # 2 (1 + 3 + 9) positions
        ("convolution, separable", 16),  # k = 3, to both sides: one
        ("self-attention, restricted", 8),  # r = 5, to both sides: two
    ],
)
def test_the_kernel_decides_how_many_layers_connect_the_ends(kind: str, n_layers: int) -> None:
    assert table1.dependence(layers.LAYERS[kind], n=17)["layers"] == n_layers


def test_only_the_chain_of_a_recurrent_layer_grows_with_n() -> None:
    chains = {
        kind: [table1.dependence(layers.LAYERS[kind], n=n)["chain"] for n in (8, 16)]
        for kind in ("recurrent", "self-attention")
    }
    assert chains["recurrent"][1] - chains["recurrent"][0] >= 8
    assert chains["self-attention"][0] == chains["self-attention"][1]


def test_a_speedup_compares_medians_and_rounds() -> None:
    gain = workers.speedup([4.0, 6.0, 10.0], [2.0, 2.0, 4.0])
    assert (gain.value, gain.low, gain.high) == (3.0, 2.0, 3.0)


def test_eflomal_reads_words_without_case_and_the_punctuation_around_them() -> None:
    assert alignment.plain("„Don't – 'go'!“") == "don't – go"


def test_the_diagonal_links_words_at_the_same_relative_position() -> None:
    assert alignment.diagonal("a b c d", "A B") == [(0, 0), (2, 1)]
    assert alignment.diagonal("a b", "A B C D") == [(0, 0), (0, 1), (1, 2), (1, 3)]


def test_each_head_each_layer_and_each_mean_of_layers_is_tried() -> None:
    assert len(list(alignment.parts(4, 8))) == 4 * (8 + 1) + 3
    assert len(list(alignment.parts(5, 1))) == 5 + 4
    assert len(list(alignment.parts(1, 1))) == 1


def test_names_of_folders_have_only_letters_digits_and_hyphens() -> None:
    assert runs.slug("A, h = 1") == "a-h-1"
    assert runs.slug("multi30k 2e+13 1") == "multi30k-2e13-1"


def test_joined_captions_are_translated_as_one_sentence() -> None:
    model = ROOT / "tests" / "fixtures" / "format-1" / "transformer"
    translator = runs.open_translator(model, threads=1)
    translator.translate(["Two dogs are playing. The men are running. A girl is reading."])
    assert translator.tally.segments == 1  # 3, if the line is divided into sentences


# ---- scripts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_script_gives_an_example_of_its_command(name: str) -> None:
    assert f"python -m {name}" in importlib.import_module(name).benchmark.parser.epilog


@pytest.fixture
def benchmark_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A benchmark that writes its records to an empty folder."""
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    monkeypatch.setattr(common.pages, "write", lambda script: None)
    monkeypatch.setenv("YAKUSU_DATA", "")
    return lambda **more: common.Benchmark("made", "", example="", **more)


def test_nothing_is_recorded_without_record(benchmark_of: Any, tmp_path: Path) -> None:
    benchmark = benchmark_of()
    benchmark.arguments(tmp_path, [])
    assert not benchmark.record({"name": "a"}) and records.read("made") == []


def test_records_keep_what_they_depend_on(benchmark_of: Any, tmp_path: Path) -> None:
    benchmark = benchmark_of()
    benchmark.arguments(tmp_path, ["--record"])
    for value in (1, 2):
        assert benchmark.record({"name": "a", "value": value}, seed=7)
    (record,) = records.read("made")  # the newest of its name
    assert (record["value"], record.seed, record.machine.threads) == (2, 7, 1)
    for facts in ({"trial": True}, {"test_set": "test2016"}, {"test_set": "test2017"}):
        benchmark.record({"name": "a", **facts}, seed=7)
    assert len(records.read("made")) == 4


@pytest.mark.parametrize(
    ("needs", "words", "message"),
    [
        ([], ["--quick", "--record"], "leave out --quick or --record"),
        (["data"], [], "--data is missing: .* set YAKUSU_DATA"),
        (["model"], [], "--model is missing: give the model folder"),
    ],
)
def test_missing_inputs_are_refused_with_one_sentence(
    needs: list[str], words: list[str], message: str, benchmark_of: Any, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        benchmark_of(needs=needs).arguments(tmp_path, words)


def test_quick_generates_its_inputs(benchmark_of: Any, tmp_path: Path) -> None:
    benchmark = benchmark_of(needs=["data", "vectors"], quick={"rounds": 1})
    benchmark.option("--rounds", type=int, default=5)
    args = benchmark.arguments(tmp_path, ["--quick"])
    assert args.rounds == 1 and args.vectors.is_file()
    sources, references = (
        (args.data / "multi30k" / f"test2016.{side}").read_text().splitlines()
        for side in ("en", "de")
    )
    assert references[0] == " ".join(sources[0].split()[::-1])


def test_a_missing_peer_is_left_out_but_never_recorded(
    benchmark_of: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peers = {"torch": "torch", "Absent": "no_such_module"}
    benchmark = benchmark_of()
    benchmark.arguments(tmp_path, [])
    assert benchmark.installed(peers) == ["torch"]
    assert capsys.readouterr().err.startswith("Absent is left out: not installed (pip install")
    benchmark.arguments(tmp_path, ["--record"])
    with pytest.raises(DataError, match="Absent: not installed"):
        benchmark.installed(peers)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (RunError("x is empty: give another"), 2, "error: x is empty: give another\n"),
        (SignalError("SIGTERM: stopped", 15), 143, "SIGTERM: stopped\n"),
    ],
)
def test_an_error_ends_a_script_with_one_sentence(
    error: YakusuError,
    code: int,
    message: str,
    benchmark_of: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(args: object) -> None:
        raise error

    monkeypatch.setattr("sys.argv", ["script"])
    with pytest.raises(SystemExit) as exited:
        benchmark_of().run(fail)
    assert exited.value.code == code and capsys.readouterr().err == message


# ---- pages ---------------------------------------------------------------------------------------


def page(folder: str) -> str:
    text: str = (ROOT / "benchmarks" / folder / "README.md").read_text(encoding="utf-8")
    return text


def sections() -> dict[str, str]:
    """The text of each section with tables, by the script that declares them."""
    parts = [part for folder in pages.FOLDERS for part in page(folder).split("\n## ")]
    found = [(pages.BLOCK.findall(part), part) for part in parts]
    return {script: part for blocks, part in found for _, script, _ in blocks}


def test_each_script_and_each_file_of_records_is_in_one_section() -> None:
    blocks = [each for folder in pages.FOLDERS for each in pages.BLOCK.findall(page(folder))]
    assert sorted(script for _, script, _ in blocks) == sorted(SCRIPTS)
    recorded = {path.stem for path in (ROOT / "benchmarks" / "results").glob("*.json")}
    assert recorded == {importlib.import_module(name).benchmark.name for name in SCRIPTS}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_section_has_its_tables_its_command_and_its_records(name: str) -> None:
    section = sections()[name]
    assert pages.renewed(section) == section, "run python -m benchmarks.pages"
    results = importlib.import_module(name).benchmark.name
    written = " ".join(section.split())
    assert f"`python -m {name}" in written and f"(../results/{results}.json)" in written


@pytest.mark.parametrize("name", SCRIPTS)
def test_conclusions_quote_only_numbers_of_their_section(name: str) -> None:
    before, _, rest = sections()[name].partition(f"<!-- {name} -->")
    conclusion = [line for line in before.splitlines()[1:] if not line.startswith("![")]
    quoted = re.findall(r"\d[\d,.]*\d", "\n".join(conclusion))
    assert quoted and [number for number in quoted if number not in rest] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_cells_hold_no_dictionaries_and_no_signatures(name: str) -> None:
    for table in pages.tables(name):
        assert table.rows and {len(row) for row in table.rows} == {len(table.head)}
        cells = [cell for row in table.rows for cell in row]
        assert [cell for cell in cells if re.search(r"[{}|]|version:", cell)] == []


def test_only_the_tables_of_one_script_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "markdown", lambda script: f"tables of {script}")
    text = "".join(f"<!-- benchmarks.{name} -->\nold\n<!-- end -->\n" for name in ("a", "b"))
    changed, kept = pages.renewed(text, "benchmarks.a").split("<!-- end -->\n")[:2]
    assert changed == "<!-- benchmarks.a -->\n\ntables of benchmarks.a\n\n"
    assert kept == "<!-- benchmarks.b -->\nold\n"


def test_a_cell_lacks_what_the_row_lacks() -> None:
    row = {"ratio": {"value": 1234.5, "low": None}, "score": "BLEU = 39.66 (a:b)"}
    cells = ("{ratio.value:,.1f} at most", "{ratio.low}", "{other.value:.1f}")
    assert [tables.text(cell, row) for cell in cells] == ["1,234.5 at most", "-", "-"]
    scores = (tables.score_of("score"), tables.score_of("other"), tables.times("ratio.value", 0.1))
    assert [tables.text(cell, row) for cell in scores] == ["39.66", "-", "123"]


def test_conditions_are_stated_once_for_tables_of_the_same_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = [tables.FilledTable(["a"], [["1"]], [name]) for name in ("x", "x", "y")]
    monkeypatch.setattr(pages, "tables", lambda script: made)
    monkeypatch.setattr(pages, "circumstances", lambda records: f"({records[0]})")
    rows = "| a |\n| --- |\n| 1 |"
    assert pages.markdown("made").split("\n\n") == [rows, rows, "(x)", rows, "(y)"]
    made.clear()
    assert pages.markdown("made") == "No records yet."


def test_the_index_links_every_page_and_is_short() -> None:
    index = (ROOT / "benchmarks" / "README.md").read_text()
    assert all(f"({folder}/README.md)" in index for folder in pages.FOLDERS)
    assert len(index.splitlines()) <= 40


def test_every_file_named_in_the_paper_map_exists() -> None:
    named = re.findall(r"`([\w/.-]+\.(?:py|toml|json))`", (ROOT / "docs/paper-map.md").read_text())
    assert len(named) > 40
    places = (ROOT, ROOT / "src" / "yakusu")
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("/data/tatoeba/dev.en", "$YAKUSU_DATA/tatoeba/dev.en"),
        ("/runs/multi30k/model", "model"),
        ("multi30k=/runs/multi30k/model", "multi30k=model"),
        ("runs/multi30k", "runs/multi30k"),
        ("--beam=4", "--beam=4"),
    ],
)
def test_recorded_commands_name_no_path_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, word: str, expected: str
) -> None:
    monkeypatch.setenv("YAKUSU_DATA", "/data")
    assert records._portable(word) == expected
