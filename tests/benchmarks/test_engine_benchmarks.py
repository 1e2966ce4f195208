"""The benchmarks of the CPU engine: services, rounds, models in a neutral form, and timers."""

import argparse
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.export.marians import segmenter
from yakusu.engine.library import why_unavailable
from yakusu.engine.shapes import shapes
from yakusu.errors import DataError, ModelError, RunError
from yakusu.export.ctranslate2.file import Variables
from yakusu.export.foreign import own_model
from yakusu.export.npz.reader import read_npz
from yakusu.native.compile import system_compiler
from yakusu.translator.folder.folder import ModelFolder

services: Any = pytest.importorskip("benchmarks.services", reason="only a checkout has benchmarks")
breakdown: Any = pytest.importorskip("benchmarks.speed.breakdown")
engine: Any = pytest.importorskip("benchmarks.speed.engine")
engine_side: Any = pytest.importorskip("benchmarks.speed.engine_side")
latency: Any = pytest.importorskip("benchmarks.speed.latency")
plain: Any = pytest.importorskip("benchmarks.speed.plain")
precision: Any = pytest.importorskip("benchmarks.speed.precision")
profiled: Any = pytest.importorskip("benchmarks.speed.profiled")
scaling: Any = pytest.importorskip("benchmarks.speed.scaling")
systems: Any = pytest.importorskip("benchmarks.speed.systems")
evaluation_sets: Any = pytest.importorskip("benchmarks.speed.evaluation_sets")
records: Any = pytest.importorskip("benchmarks.records")

MODEL = Path(__file__).parents[1] / "fixtures" / "format-1" / "transformer"
SERVED = """
from benchmarks.services import serve
def fail(): raise ValueError("no")
serve({"double": lambda x: (print("to standard error"), 2 * x)[1], "fail": fail, "die": exit})
"""
needs_engine = pytest.mark.skipif(
    why_unavailable() is not None, reason="the engine is not compiled"
)


# ---- CTranslate2 ---------------------------------------------------------------------------------


def test_tokens_that_are_never_generated_have_no_probability_in_ctranslate2(
    tmp_path: Path,
) -> None:
    pytest.importorskip("ctranslate2")
    convert: Any = importlib.import_module("benchmarks.peers.ctranslate2_convert")
    plain.write_random(plain.SHAPES["small"], tmp_path / "plain", seed=1)
    convert.convert(str(tmp_path / "plain"), str(tmp_path / "out"))
    bias = Variables(tmp_path / "out" / "model.bin")["decoder/projection/bias"]
    assert bias.tolist() == [plain.UNLIKELY, convert.NEVER, *[0.0] * 197, convert.NEVER]


def test_a_model_converted_for_marian_is_imported_with_the_same_weights(tmp_path: Path) -> None:
    convert: Any = importlib.import_module("benchmarks.peers.marian_convert")
    plain.write_random(plain.SHAPES["small"], tmp_path / "plain", seed=1)
    info_path = tmp_path / "plain" / "plain.json"
    info = json.loads(info_path.read_text())
    info["model"]["norm"] = "post"
    weights = load_file(tmp_path / "plain" / "model.safetensors")
    weights = {name: tensor for name, tensor in weights.items() if "coder_norm" not in name}
    save_file(weights, tmp_path / "plain" / "model.safetensors")
    with pytest.raises(ModelError, match="pre-norm"):
        convert.convert(tmp_path / "plain", tmp_path / "out")
    info_path.write_text(json.dumps(info))
    convert.convert(tmp_path / "plain", tmp_path / "out")
    options = (tmp_path / "out" / "decoder.yml", "vocabs: [source.vocab.yml, target.vocab.yml]\n")
    options[0].write_text(options[1])
    for name in ("source.spm", "target.spm"):
        (tmp_path / "out" / name).write_bytes(segmenter(0))
    config, found, _ = own_model(read_npz(tmp_path / "out"))
    assert config.norm == "post"
    for name, tensor in weights.items():
        if name not in ("output_bias", "tgt_table.weight", "src_table.weight"):
            np.testing.assert_array_equal(found[name], tensor, err_msg=name)
    assert found["output_bias"].tolist() == [
        plain.UNLIKELY,
        convert.NEVER,
        *[0.0] * 197,
        convert.NEVER,
    ]


# ---- services ------------------------------------------------------------------------------------


@pytest.fixture
def service() -> Iterator[Any]:
    with services.Service([sys.executable, "-c", SERVED]) as started:
        yield started


def test_a_service_returns_results_and_may_print(service: Any) -> None:
    assert service("double", x=21) == 42 and service("double", x="訳") == "訳訳"


def test_a_service_survives_an_error(service: Any) -> None:
    with pytest.raises(RunError, match=r"failed: ValueError: no$"):
        service("fail")
    assert service("double", x=1) == 2


def test_the_death_of_a_service_is_reported(service: Any) -> None:
    with pytest.raises(RunError, match="ended with exit code 0"):
        service("die")


# ---- systems and rounds --------------------------------------------------------------------------


def test_the_name_of_a_system_gives_its_settings() -> None:
    pruned = systems.System("native int8, margin 2")
    assert pruned.margin == 2 and pruned.load == {"engine": "native", "precision": "int8"}
    peer = systems.System("CTranslate2 float32", (1, 2))
    assert str(peer) == "CTranslate2 float32, 1/2" and peer.margin is None and not peer.is_ours
    assert peer.load == {"precision": "float32", "inter": 1, "intra": 2}


def test_the_peer_is_taken_at_its_best_setting() -> None:
    speeds = {
        "native int8": systems.summary([10.0, 12.0, 20.0]),
        "CTranslate2 int8, 1/1": systems.summary([4.0, 4.0, 4.0]),
        "CTranslate2 int8, 2/1": systems.summary([3.0, 6.0, 5.0]),
    }
    assert systems.compared(speeds) == {
        "best": "CTranslate2 int8, 2/1",
        "native int8": {"value": 2.4, "worst": 2.0},  # 12 / 5; 10 / 4, 12 / 6 and 20 / 5
    }
    assert systems.compared({"native int8": speeds["native int8"]}) == {}


def test_systems_take_turns_and_the_first_round_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(systems, "SETTLED", 0)
    calls = []

    def ask(system: Any, service: Any) -> dict[str, Any]:
        calls.append(service)
        return {"number": len(calls)}

    both = {systems.System("native int8"): "a", systems.System("torch float32"): "b"}
    found = systems.in_turns(both, 2, ask)
    assert calls == ["a", "b"] * 3
    assert found == {
        "native int8": [{"number": 3}, {"number": 5}],
        "torch float32": [{"number": 4}, {"number": 6}],
    }


def test_a_translation_of_another_length_is_refused() -> None:
    systems.check_lengths({"a": [{"lengths": [5, 5]}]}, 5)
    with pytest.raises(RunError, match=r"b: translations have \{4\} tokens instead of 5"):
        systems.check_lengths({"b": [{"lengths": [5, 4]}]}, 5)


def test_a_peer_without_an_environment_is_left_out_but_never_recorded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ["native int8", "CTranslate2 int8"]
    args = argparse.Namespace(systems=names, peer_python=None, record=False)
    assert list(map(str, systems.chosen(args))) == ["native int8"]
    assert capsys.readouterr().err == "CTranslate2 int8 is left out: give --peer-python\n"
    args.record = True
    with pytest.raises(DataError, match="has no environment: give --peer-python"):
        systems.chosen(args)


def test_each_number_of_threads_is_a_system() -> None:
    names = ["native int8", "CTranslate2 int8"]
    args = argparse.Namespace(
        systems=names, peer_python="python", record=False, peer_threads=[(1, 1)], counts=[1, 2]
    )
    assert list(map(str, scaling.with_threads(args))) == [
        *("native int8, 1/1", "native int8, 2/1", "CTranslate2 int8, 1/1"),
        *("CTranslate2 int8, 2/1", "CTranslate2 int8, 1/2"),
    ]


def test_the_reference_of_precision_comes_first_and_threads_do_not_matter() -> None:
    found = precision.one_setting(
        [
            systems.System("native int8"),
            systems.System("torch float32"),
            *(systems.System("CTranslate2 int8", (n, 1)) for n in (1, 2)),
        ]
    )
    groups = [system.group for system in found]
    assert groups == ["torch float32", "native int8", "CTranslate2 int8"]
    with pytest.raises(DataError, match="--systems lacks torch float32"):
        precision.one_setting([systems.System("native int8")])


def test_instruction_sets_are_read_from_the_processor_s_flags(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor: 0\nflags\t\t: fpu sse4_2 avx2 ht fma avx512_vnni\n")
    assert systems.cpu_flags(info) == ["sse4_2", "avx2", "fma", "avx512_vnni"]
    info.write_text("Features\t: fp asimd asimddp\n")
    assert systems.cpu_flags(info) == ["asimd", "asimddp"]
    assert systems.cpu_flags(tmp_path / "none") == []


# ---- models and test sets ------------------------------------------------------------------------


def test_a_trained_model_keeps_its_weights_and_vocabulary(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    plain.write_trained(MODEL, tmp_path / "plain")
    folder = ModelFolder.open(MODEL)
    info = json.loads((tmp_path / "plain" / "plain.json").read_text())
    assert len(info["source"]) == len(info["target"]) == folder.config.src_vocab_size - 1
    assert info["model"] == folder.config.model.model_dump(mode="json")
    written = load_file(tmp_path / "plain" / "model.safetensors")
    expected = shapes(folder.config.model, (), **folder.config.vocab_sizes)
    assert {name: array.shape for name, array in written.items()} == expected


def test_random_sources_have_the_given_lengths_and_end_with_eos() -> None:
    found = plain.random_sources(50, plain.SHAPES["small"], lengths=(3, 5), seed=1)
    assert {len(ids) for ids in found} == {3, 4, 5}
    assert all(ids[-1] == 0 and min(ids[:-1]) >= 2 and max(ids) < 199 for ids in found)


@needs_engine
@pytest.mark.parametrize("name", ["native", "torch"])
def test_random_models_translate_to_a_fixed_length(name: str, tmp_path: Path) -> None:
    plain.write_random(plain.SHAPES["small"], tmp_path / "plain", seed=1)
    engine_side.load_plain(str(tmp_path / "plain"), name, "float32", threads=1)
    ids = plain.random_sources(6, plain.SHAPES["small"], lengths=(2, 9), seed=1)
    for beam in (1, 3):
        assert engine_side.search(ids, 4, beam, 7)["lengths"] == [7] * 6


@needs_engine
def test_lines_are_translated_from_text_to_text() -> None:
    engine_side.load(str(MODEL), "native", "int8", threads=1)
    found = engine_side.translate(["the red boat", "a boat"], 2, {"beam": 2, "margin": 1.0})
    assert len(found["texts"]) == 2 and all(found["texts"]) and found["tokens"] > 2


def test_a_test_set_without_references_is_refused(tmp_path: Path) -> None:
    source, reference = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("a\nb\n")
    reference.write_text("a\n")
    args = argparse.Namespace(sources={"a": source}, references={})
    with pytest.raises(DataError, match="--references has no a: add a=PATH"):
        evaluation_sets.read_sets(args, {"a": MODEL})
    args.references = {"a": reference}
    with pytest.raises(DataError, match=r"a.en has 2 lines and .*a.de 1: align them"):
        evaluation_sets.read_sets(args, {"a": MODEL})
    reference.write_text("a\nc\n")
    found = evaluation_sets.read_sets(args, {"a": MODEL})["a"].first(1)
    assert (found.sources, found.references) == (["a"], ["a"])
    assert found.search(4, systems.System("native int8, margin 1"))["margin"] == 1
    assert "margin" not in found.search(4, systems.System("CTranslate2 int8", (1, 1)))


# ---- latency -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "expected"), [(0.5, 2), (0.99, 4), (0.25, 1), (0.26, 2)])
def test_a_quantile_is_one_of_the_values(share: float, expected: int) -> None:
    assert latency.quantile([4, 1, 3, 2], share) == expected


def test_a_program_answers_line_by_line() -> None:
    echo = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
    found = latency.run([sys.executable, "-c", echo], ["a", "b", "c"])
    assert found.first > 0 and len(found.later) == 2 and 1 < found.peak_mib < 100


def test_a_program_that_ends_early_is_reported() -> None:
    with pytest.raises(RunError, match="failed: out of order"):
        latency.run([sys.executable, "-c", "exit('out of order')"], ["a"])


# ---- where the time goes -------------------------------------------------------------------------


def test_the_weights_of_the_stages_are_those_of_all_matrices() -> None:
    folder = ModelFolder.open(MODEL)
    config, vocab_size = folder.config.model, folder.config.tgt_vocab_size
    found = shapes(config, (), src_vocab_size=vocab_size, tgt_vocab_size=vocab_size)
    matrices = {k: s[0] * s[1] for k, s in found.items() if len(s) == 2 and "table" not in k}
    stages = breakdown.weights(config, vocab_size)
    assert stages["encoder"] + stages["decoder"] == sum(matrices.values())
    assert stages["output layer"] == vocab_size * config.d_model


def test_the_parts_add_up_to_the_whole() -> None:
    stages = {
        name: profiled.Stage(dict.fromkeys(profiled.KINDS, 0.5), 3.0, calls=1, rows=4)
        for name in profiled.STAGES
    }
    found = breakdown._parts(12.0, 10.0, stages)
    assert found["search"] == 1 and found["Python"] == 2 and found["decoder, other"] == 1.5
    assert sum(found.values()) == 12


@needs_engine
@pytest.mark.skipif(not system_compiler(), reason="there is no C compiler")
def test_the_timers_count_the_rows_and_change_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiled, "FLAGS", ("-O0", *profiled.FLAGS[1:]))  # compiles sooner
    timers = profiled.Profiled(tmp_path)
    plain.write_random(plain.SHAPES["small"], tmp_path / "plain", seed=1)
    engine_side.load_plain(str(tmp_path / "plain"), "native", "int8", threads=1)
    ids = plain.random_sources(6, plain.SHAPES["small"], lengths=(2, 9), seed=1)
    with timers.timers(), profiled.timed_calls() as calls:
        found = engine_side.search(ids, 4, 1, 7, timed=True)
    stages = timers.take()
    assert found["lengths"] == [7] * 6 and calls
    assert stages["encoder"].rows == sum(map(len, ids))
    assert stages["decoder"].rows == stages["output layer"].rows == 6 * 7
    assert engine_side.search(ids, 4, 1, 7)["lengths"] == [7] * 6  # without timers
    assert timers.take()["decoder"].rows == 0


# ---- pages ---------------------------------------------------------------------------------------

_SPREAD = {"median": 2.0, "low": 1.0, "high": 3.0, "rounds": [1.0, 2.0, 3.0]}
_RATIOS = {"best": "CTranslate2 int8, 2/1", "native int8": {"value": 2.0, "worst": 1.5}}
_BOTH = {"native int8": _SPREAD, "CTranslate2 int8, 2/1": _SPREAD}
_BLEU = "BLEU = 36.10 (nrefs:1|version:2.6.0)"
_BOUND = {"GOP/s": 1.0, "GB/s": 2.0, "bound / time": 0.5}


@pytest.mark.parametrize(
    ("table", "measured", "cells"),
    [
        (
            engine.tables,
            {
                "unit": "sentences",
                "cells": {
                    "1x4": {
                        "speeds": _BOTH,
                        "ratios": _RATIOS,
                        "bleu": dict.fromkeys(_BOTH, _BLEU),
                    }
                },
            },
            ["1x4", "native int8", "2 (1 to 3)", "2.00", "1.50", "36.10"],
        ),
        (
            precision.tables,
            {
                "systems": {
                    "native int8": {
                        **{"bleu": _BLEU, "chrf": "chrF2 = 60.5 (x:1)"},
                        **{"identical": 0.9, "better": 3, "worse": 2},
                    }
                }
            },
            ["native int8", "36.10", "60.50", "90.0%", "3", "2"],
        ),
        (
            latency.tables,
            {"systems": {"a": dict.fromkeys(("first", "p50", "p99", "peak_mib"), _SPREAD)}},
            ["a", *["2.0 (1.0 to 3.0)"] * 4],
        ),
        (
            latency.tables,
            {"sizes": {"a": {"mib": 90.2, "packages": ["b==1", "c==2"]}}},
            ["a", "90", "2"],
        ),
        (
            scaling.tables,
            {"speeds": _BOTH, "speed-up": dict.fromkeys(_BOTH, 1.5)},
            ["native int8", "2 (1 to 3)", "1.50"],
        ),
        (
            scaling.tables,
            {"lengths": {"10": {"milliseconds": _BOTH}}},
            ["10", "2.0 (1.0 to 3.0)", "2.0 (1.0 to 3.0)"],
        ),
        (
            breakdown.tables,
            {
                "instruction set": "avx2",
                "cells": {
                    "1x1": {
                        "microseconds": {"Python": 3.0},
                        "whole": 3.0,
                        "timers": 1.0,
                        "bounds": {"decoder": _BOUND},
                    }
                },
            },
            ["Python", "3.0"],
        ),
    ],
)
def test_records_become_rows(table: Any, measured: dict[str, Any], cells: list[str]) -> None:
    machine = {"cpu": "x", "cores": 2, "threads": 2}
    stated = {"commit": "a", "date": "2026-01-01T00:00:00+00:00", "machine": machine}
    stated |= {"torch": "2", "python": "3", "seed": 1, "command": "python"}
    record = records.Record.model_validate({**stated, "name": "base", **measured})
    found = list(table([record]))
    assert found[0].rows[0] == cells
    assert all(len(row) == len(each.head) for each in found for row in each.rows)
    assert list(table([])) == []
