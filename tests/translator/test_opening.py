"""Which engine runs a model folder."""

from pathlib import Path
from typing import Any

import pytest

from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.errors import ModelError
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
    without_torch: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(opening, "is_installed", lambda: False)
    with pytest.raises(ModelError) as refused:
        opened("transformer")
    assert str(refused.value) == (
        "the native engine was not compiled when yakusu was installed, and torch is not installed: "
        "install yakusu with its extra 'train', as in pip install '.[train]'"
    )
    assert not caplog.records
