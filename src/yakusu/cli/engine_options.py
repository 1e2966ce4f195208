"""The options that choose what runs a model; a verb gets one `EngineConfig`."""

from typing import Any

from yakusu.cli.option_groups import Shown, grouped, options_of
from yakusu.engine.config import EngineConfig


def _options(panel: str | None) -> dict[str, Any]:
    """The options.

    Args:
        panel: Section of `--help-all` for all but --device; None: `--help` shows them, too.
    """
    shown = {
        "device": Shown("cpu (default), cuda, or auto: a GPU if there is one."),
        "engine": Shown(
            "native: the compiled CPU engine, the default if it supports the model; torch: every "
            "model, on any device.",
            panel=panel,
        ),
        "threads": Shown(
            "Number of threads (default: one per core; with torch, its own default).", "N", panel
        ),
        "precision": Shown(
            "Numbers of the native engine: int8 is the fastest, float32 the most exact. auto "
            "(default): int16 if d_model is below 256, otherwise int8. torch computes in float32.",
            panel=panel,
        ),
    }
    return options_of(EngineConfig, shown)


def _engine_config(values: dict[str, Any]) -> EngineConfig:
    return EngineConfig(**{name: value for name, value in values.items() if value is not None})


takes_engine_options = grouped("engine", _options(None), _engine_config)
takes_hidden_engine_options = grouped("engine", _options("Models and speed"), _engine_config)
