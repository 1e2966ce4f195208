"""Which engine runs a model folder."""

import os
import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from tests.translator.test_sizes import changed
from yakusu.engine import library as engine_library
from yakusu.engine.config import Engine, EngineConfig, Precision
from yakusu.engine.decoder import NativeDecoder
from yakusu.errors import ModelError, RecipeError
from yakusu.native import library
from yakusu.pipeline.translate import open_translator, translate
from yakusu.search.config import SearchConfig
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import Translator
from yakusu.translator.folder import opening
from yakusu.translator.folder.opening import open_decoder

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda name: None)


def opened(name: str, **config: Any) -> object:
    return open_decoder([FILES / name], EngineConfig(**config))[2]


def test_without_torch_the_device_auto_is_the_cpu(without_torch: None) -> None:
    assert isinstance(opened("transformer", device="auto"), NativeDecoder)


def test_an_engine_that_was_not_compiled_needs_torch(
    without_torch: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(library, "PATH", tmp_path / "libyakusu.so")
    with pytest.raises(ModelError) as refused:
        opened("transformer")
    assert str(refused.value) == (
        "the native engine was not compiled when yakusu was installed, and torch is not installed: "
        "install yakusu with its extra 'train', as in pip install '.[train]', or install yakusu "
        "again with a C compiler or the package ziglang"
    )
    assert not caplog.records


@pytest.mark.parametrize("name", ["transformer", "codes", "integers"])
def test_narrow_models_compute_in_int16_by_default(name: str) -> None:
    for given in get_args(Precision):
        decoder = opened(name, precision=given)
        assert isinstance(decoder, NativeDecoder)
        assert decoder.precision == ("int16" if given == "auto" else given)


@pytest.mark.parametrize(
    ("config", "cause"),
    [({"engine": "torch"}, "engine 'torch'"), ({"device": "cuda"}, "device 'cuda'")],
)
def test_without_torch_a_requested_engine_or_device_is_an_error_with_the_fix(
    config: dict[str, Any], cause: str, without_torch: None
) -> None:
    with pytest.raises(ModelError) as refused:
        opened("transformer", **config)
    assert str(refused.value) == (
        f"the {cause} needs torch, which is not installed: install yakusu with its extra 'train', "
        "as in pip install '.[train]'"
    )


@pytest.mark.parametrize(
    ("name", "kind"), [("native", NativeDecoder), ("torch", TorchDecoder), (None, NativeDecoder)]
)
def test_the_name_of_an_engine_stands_for_its_configuration(
    name: Engine | None, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("YAKUSU_ENGINE", raising=False)
    model = FILES / "transformer"
    assert isinstance(Translator.load(model, engine=name).decoder, kind)
    texts, options = ["ein Haus"], SearchConfig(beam=2)
    expected = list(translate(model, texts, options, engine=EngineConfig(engine=name)))
    assert list(translate(model, texts, options, engine=name)) == expected


@pytest.mark.parametrize("name", ["torhc", "", 3, {"engine": "torch"}])
def test_another_engine_is_refused_with_the_choices(name: Any) -> None:
    with pytest.raises(RecipeError) as refused:
        Translator.load(FILES / "transformer", engine=name)
    assert str(refused.value) == (
        f"there is no engine {name!r}: pass 'native', 'torch' or an EngineConfig"
    )


def test_a_model_whose_search_has_a_coverage_penalty_is_run_by_torch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = changed(tmp_path / "model", "transformer", search={"coverage": 0.2})
    assert isinstance(open_decoder([folder], EngineConfig())[2], TorchDecoder)
    assert "the native engine does not support search.coverage: torch" in caplog.text


# ---- threads and precision -----------------------------------------------------------------------

IN_FLOAT32 = "torch computes in float32: precision int8 applies to the native engine only"
RUN_BY_TORCH: dict[str, tuple[list[str], dict[str, Any]]] = {
    "on request": (["transformer"], {"engine": "torch"}),
    "LSTM": (["recurrent"], {}),
    "convolutions": (["convolutional"], {}),
    "ensemble": (["recurrent", "recurrent"], {}),
}


@pytest.mark.parametrize("case", RUN_BY_TORCH)
def test_torch_uses_the_requested_number_of_threads_but_not_more_than_cores(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, config = RUN_BY_TORCH[case]
    paths = [FILES / name for name in names]
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    for threads, used in ((2, 2), (1, 1), (99_999, 3)):
        open_decoder(paths, EngineConfig(threads=threads, **config))
        assert torch.get_num_threads() == used
    torch.set_num_threads(2)
    open_decoder(paths, EngineConfig(**config))
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("case", RUN_BY_TORCH)
def test_a_precision_that_torch_does_not_have_is_a_warning(
    case: str, caplog: pytest.LogCaptureFixture
) -> None:
    names, config = RUN_BY_TORCH[case]
    paths = [FILES / name for name in names]
    for given in ({"precision": "float32"}, {}):
        open_decoder(paths, EngineConfig(**given, **config))
        assert IN_FLOAT32 not in caplog.messages
    assert isinstance(
        open_decoder(paths, EngineConfig(precision="int8", **config))[2], TorchDecoder
    )
    assert caplog.messages.count(IN_FLOAT32) == 1


# ---- libraries that cannot be loaded -------------------------------------------------------------


def truncated(library: bytes) -> bytes:
    return library[: len(library) // 2]


def of_another_machine(library: bytes) -> bytes:
    return library[:18] + struct.pack("<H", 0xF3) + library[20:]  # RISC-V


def without_a_function(library: bytes) -> bytes:
    return library.replace(b"yk_cancel", b"yk_cancer")


CORRUPT = {
    "empty": (lambda library: b"", "cannot be loaded (PATH: file too short)"),
    "text": (lambda library: b"no library " * 99, "cannot be loaded (PATH: invalid ELF header)"),
    "header only": (lambda library: library[:64], "cannot be loaded (PATH is truncated)"),
    "half": (truncated, "cannot be loaded (PATH is truncated)"),
    "without the end": (lambda library: library[:-1], "cannot be loaded (PATH is truncated)"),
    "of another machine": (of_another_machine, "cannot be loaded (PATH: "),
    "without a function": (without_a_function, "was compiled from other sources (PATH)"),
    "of another version": (lambda library: library, "was compiled from other sources (PATH)"),
}
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the messages are those of Linux")


@pytest.fixture(params=CORRUPT)
def reason(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Corrupts the library; why it cannot be used."""
    corrupt, expected = CORRUPT[request.param]
    path = tmp_path / library.PATH.name
    path.write_bytes(corrupt(library.PATH.read_bytes()))
    monkeypatch.setattr(library, "PATH", path)
    if request.param == "of another version":
        monkeypatch.setattr(library, "VERSION", 0)
    return expected.replace("PATH", str(path))


@on_linux
def test_torch_replaces_a_library_that_cannot_be_loaded_with_one_warning(
    reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert isinstance(opened("transformer"), TorchDecoder)
    (warning,) = caplog.messages
    assert warning.startswith(f"the native engine {reason}")
    assert warning.endswith(": torch runs this model, which is slower")


@on_linux
def test_without_torch_a_library_that_cannot_be_loaded_is_an_error(
    reason: str, without_torch: None
) -> None:
    with pytest.raises(ModelError) as refused:
        opened("transformer")
    assert str(refused.value).startswith(f"the native engine {reason}")
    assert ", and torch is not installed: install yakusu with its extra 'train'" in str(
        refused.value
    )


@on_linux
def test_a_requested_library_that_cannot_be_loaded_is_an_error_with_the_fix(reason: str) -> None:
    with pytest.raises(ModelError) as refused:
        opened("transformer", engine="native")
    assert str(refused.value).startswith(f"the native engine {reason}")
    assert str(refused.value).endswith(
        ": install yakusu again with a C compiler or the package ziglang, or use --engine torch"
    )


def test_a_library_of_other_structures_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = engine_library._FUNCTIONS
    other = replace(functions, numbers=(*functions.numbers[:-1], 999))
    monkeypatch.setattr(engine_library, "_FUNCTIONS", other)
    assert engine_library.why_unavailable() == f"was compiled from other sources ({library.PATH})"


def test_of_an_ensemble_the_first_model_decides_whether_there_is_a_coverage_penalty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("YAKUSU_ENGINE", raising=False)
    covered = changed(tmp_path / "model", "transformer", search={"coverage": 0.2})
    both = [FILES / "transformer", covered]
    assert isinstance(open_decoder(both, EngineConfig())[2], NativeDecoder)
    assert isinstance(open_decoder(both[::-1], EngineConfig())[2], TorchDecoder)


def test_torch_runs_a_search_for_which_a_coverage_penalty_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("YAKUSU_ENGINE", raising=False)
    model, options = FILES / "transformer", SearchConfig(coverage=0.2)
    assert isinstance(open_translator(model, options).decoder, TorchDecoder)
    assert isinstance(open_translator(model, options, engine="native").decoder, NativeDecoder)
