"""Which engine runs a model folder."""

import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from yakusu.engine import library
from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.errors import ModelError
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import opening
from yakusu.translator.opening import open_decoder

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
}
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the messages are those of Linux")


@pytest.fixture(params=CORRUPT)
def reason(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Corrupts the library; why it cannot be used."""
    corrupt, expected = CORRUPT[request.param]
    path = tmp_path / library.PATH.name
    path.write_bytes(corrupt(library.PATH.read_bytes()))
    monkeypatch.setattr(library, "PATH", path)
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
    monkeypatch.setattr(library, "_INTERFACE", (*library._INTERFACE[:-1], 999))
    library._loaded.cache_clear()
    reason = library.why_unavailable()
    library._loaded.cache_clear()
    assert reason == f"was compiled from other sources ({library.PATH})"
