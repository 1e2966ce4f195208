"""The verbs, each imported when it is first used: `translate` starts without those that train."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

_MODULES = {  # verb -> its module in yakusu.cli, in the order of the help text
    "check": "check",
    **dict.fromkeys(("prepare", "train", "average", "demo"), "train"),
    **dict.fromkeys(("distil", "backtranslate"), "distil"),
    "translate": "translate",
    "score": "score",
    **dict.fromkeys(("evaluate", "verify"), "evaluate"),
    "card": "card",
    "compress": "compress",
    **dict.fromkeys(("import", "export"), "interop"),
    "vectors": "vectors",
    "view": "view",
    "serve": "serve",
}
MARKUP: Any = "markdown"  # of docstrings and help texts


class _Loaded(Mapping[str, Any]):
    """Typer's command of each verb."""

    def __getitem__(self, verb: str) -> Any:
        """Import the module of a verb and build the verb's command.

        Raises:
            KeyError: The verb does not exist.
        """
        verbs = typer.Typer(rich_markup_mode=MARKUP)
        import_module(f"yakusu.cli.{_MODULES[verb]}").add_to(verbs)
        return typer.main.get_group(verbs).commands[verb]

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


class Verbs(TyperGroup):
    """The verbs."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**(attrs | {"commands": _Loaded()}))

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # of pydantic
            raise
