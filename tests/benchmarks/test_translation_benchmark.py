"""The benchmark of compressed translators: chosen sizes, intervals, model folders, and its page."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.translators import network_of
from yakusu.compress.config import CompressConfig
from yakusu.engine.config import EngineConfig
from yakusu.errors import DataError
from yakusu.metrics import score_translations
from yakusu.translator import Translator

bleu: Any = pytest.importorskip("benchmarks.bleu")
measured: Any = pytest.importorskip("benchmarks.compression.embedding_translation")
records: Any = pytest.importorskip("benchmarks.records")
translators: Any = pytest.importorskip("benchmarks.compression.translators")

MODEL = Path(__file__).parents[1] / "fixtures" / "format-1" / "transformer"


def points(**bleus: float) -> list[dict[str, Any]]:
    """Points with ratios x1, x2, ... in any order."""
    return [
        {"ratio": float(name[1:]), "dev": f"BLEU = {value} (nrefs:1)"}
        for name, value in bleus.items()
    ]


def test_a_ratio_is_chosen_only_if_every_smaller_one_loses_little() -> None:
    found = points(x16=29.8, x4=29.9, x12=29.2, x8=29.5)
    assert measured.largest(found, 30.0, 0.5)["ratio"] == 8  # x12 loses 0.8, and x16 only 0.2
    assert measured.largest(points(x4=29.4, x8=30.0), 30.0, 0.5) is None


def test_an_interval_contains_the_difference_of_both_scores() -> None:
    ref = [f"the dog number {i} sees a large red ball in the park today" for i in range(60)]
    good = [line.replace("large", "big") if i % 3 else line for i, line in enumerate(ref)]
    bad = [line.replace("park", "garden") if i % 2 else line for i, line in enumerate(good)]
    scorer = bleu.Scorer(ref, False, "en")
    value, low, high = scorer.difference(good, bad)
    one, two = (score_translations(texts, ref, metrics=("bleu",))[0].value for texts in (good, bad))
    assert value == pytest.approx(two - one) and low < value < high < 0
    assert scorer.difference(bad, good)[0] == pytest.approx(-value)
    assert scorer.difference(good, good) == (0, 0, 0)


def test_the_sizes_of_a_method_are_settings_of_compress() -> None:
    [(name, first), *others] = measured.settings("codes, 128 exact", "both", 128)
    assert name == "M = 128, K = 64" and len(others) == len(measured.SIZES) - 1
    assert first == CompressConfig(m=128, k=64, exact=128)
    name, config = list(measured.settings("integers", "decoder", 128))[2]
    assert name == "256 bits" and config.bits == 256 and config.stacks == ("decoder",)


def test_the_bytes_of_a_table_are_those_of_its_ratio(tmp_path: Path) -> None:
    config = CompressConfig(m=4, k=4, exact=0)
    made = translators.compressed(MODEL, tmp_path / "small", config)
    assert made.ratio > 1 and made.table_bytes[0] == pytest.approx(made.ratio * made.table_bytes[1])


@pytest.mark.parametrize("side", ["encoder", "decoder", "both"])
def test_the_baseline_changes_the_tables_of_its_side_only(side: str, tmp_path: Path) -> None:
    sizes = {"size": (2, 4), "steps": 3, "seed": 1}
    made = translators.compressed_by_shu(MODEL, tmp_path / "shu", side, **sizes)
    before, after = (
        network_of(Translator.load(folder, engine=EngineConfig(engine="torch")))
        for folder in (MODEL, made.folder)
    )
    changed = {
        name
        for name in ("src_table", "tgt_table", "output_table")
        if not torch.equal(getattr(before, name).weight, getattr(after, name).weight)
    }
    assert changed == set(translators._TABLES[side])


def test_sets_of_different_lengths_are_rejected(tmp_path: Path) -> None:
    src, ref = tmp_path / "a.en", tmp_path / "a.de"
    src.write_text("one\ntwo\n")
    ref.write_text("eins\n")
    with pytest.raises(DataError, match=r"\(2 and 1 lines\)"):
        bleu.ParallelLines.read(src, ref)


# ---- the page ------------------------------------------------------------------------------------

_COSTS = {
    "model_bytes": 5_000_000,
    "memory": 3 * 2**20,
    "dev": "BLEU = 30.10 (nrefs:1|version:2.6.0)",
    "tokens_per_second": 500.0,
    "times as fast": {"value": 1.1, "low": 1.0, "high": 1.2},
}
_POINT = {"side": "both", "method": "codes", "size": "M = 1, K = 2", "ratio": 8.0, "lost": 0.1}


_RECORD = {
    **{"commit": "a", "date": "2026-01-01T00:00:00+00:00", "torch": "2", "python": "3"},
    **{"machine": {"cpu": "x", "cores": 2, "threads": 2}, "seed": 1, "command": "python"},
    "name": "model",
}


def tables(**measurements: Any) -> list[Any]:
    return list(measured.tables([records.Record.model_validate(_RECORD | measurements)]))


def test_records_become_a_table_of_choices_and_one_of_sizes() -> None:
    reference = {**_COSTS, "tokens_per_second": 1000.0}
    choice = {**_POINT, "test": "BLEU = 29.60 (nrefs:1)"}
    choice["difference"] = {"value": -0.4, "low": -0.7, "high": 0.1}
    choices, sizes = tables(
        **{"precision": "auto", "loss": 0.5, "test": "BLEU = 30.00 (nrefs:1)"},
        references={"uncompressed, float32": _COSTS, "uncompressed, int8": reference},
        **{"points": [{**_POINT, **_COSTS}], "choices": [choice]},
        sentences={"dev": 20, "test": 10},
    )
    assert choices.rows[0] == [
        *("both", "codes", "M = 1, K = 2", "8.0", "30.00", "29.60", "-0.40", "-0.70 to +0.10")
    ]
    assert sizes.rows[0][-3:] == ["500", "0.50", "30.10"]  # half as fast as in int8
    assert sizes.rows[2][4:] == ["5.00", "3.0", "500", "1.10", "30.10"]
    for table in (choices, sizes):
        assert {len(row) for row in table.rows} == {len(table.head)}


def test_an_older_record_becomes_one_table() -> None:
    best = {"ratio": 8.59, "size": "M = 4, K = 8", "bleu": 39.2}
    found = {"encoder, whole numbers": {"ours": best}, "decoder, proposed": {"ours": None}}
    [table] = tables(score="BLEU = 39.66 (nrefs:1)", **{"table 3": found})
    assert table.rows == [
        ["encoder", "integers", "8.6", "M = 4, K = 8", "39.66", "39.20"],
        ["decoder", "proposed", "-", "-", "39.66", "-"],
    ]
