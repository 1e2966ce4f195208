"""The options that choose what runs a model; a verb gets one `EngineConfig`."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from yakusu.cli.option_groups import grouped

if TYPE_CHECKING:
    from yakusu.engine.config import EngineConfig


def _options(*, hidden: bool) -> dict[str, Any]:
    """The options; all but --device can be hidden, for verbs with --help-all."""
    place: dict[str, Any] = {
        "rich_help_panel": "Models and speed" if hidden else None,
        "hidden": hidden,
    }
    return {
        "device": Annotated[
            str | None, typer.Option(help="cpu (default), cuda, or auto: a GPU if there is one.")
        ],
        "engine": Annotated[
            Literal["native", "torch"] | None,
            typer.Option(
                help="native: the compiled CPU engine, the default if it supports the model; "
                "torch: every model, on any device.",
                **place,
            ),
        ],
        "threads": Annotated[
            int | None,
            typer.Option(
                metavar="N",
                min=1,
                help="Number of threads (default: one per core; with torch, its own default).",
                **place,
            ),
        ],
        "precision": Annotated[
            Literal["auto", "int8", "float32"] | None,
            typer.Option(
                help="Precision of the native engine: int8 is faster, float32 is more exact. auto "
                "(default): int8 for models with d_model of at least 256. torch computes in "
                "float32.",
                **place,
            ),
        ],
    }


def _engine_config(values: dict[str, Any]) -> "EngineConfig":
    from yakusu.engine.config import EngineConfig  # loads pydantic

    return EngineConfig(**{name: value for name, value in values.items() if value is not None})


takes_engine_options = grouped("engine", _options(hidden=False), _engine_config)
takes_hidden_engine_options = grouped("engine", _options(hidden=True), _engine_config)
