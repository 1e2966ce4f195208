"""Groups of options, each one argument of a verb, and options made from a configuration."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

import typer

if TYPE_CHECKING:
    from yakusu.config import Config, ConfigField


class Shown(NamedTuple):
    """How the help shows an option.

    Attributes:
        help: What the option does.
        metavar: What stands for its value; None: its type.
        panel: Its section in `--help-all`, if `--help` does not show it.
    """

    help: str
    metavar: str | None = None
    panel: str | None = None


def options_of(config: "type[Config]", shown: Mapping[str, Shown]) -> dict[str, Any]:
    """Options that set fields of a configuration, with the types and bounds of these fields.

    An option may be given several times if its field is a tuple or a mapping, whose items are texts
    such as name=3, and has no value if its field is a bool. Open bounds, such as gt, are left to
    the configuration.

    Args:
        config: The configuration.
        shown: Its fields, and how the help shows them.
    """
    return {name: _option(name, config.model_fields()[name], each) for name, each in shown.items()}


def flag(name: str, shown: Shown) -> Any:
    """An option without a value, such as "--fast"."""
    return _annotated(bool, shown, name)


def _option(name: str, field: "ConfigField", shown: Shown) -> Any:
    if field.kind is bool:
        return flag("--" + name.replace("_", "-"), shown)
    bounds = dict(field.rule.bounds if field.rule else ())
    if bounds.keys() & {"gt", "lt"}:
        bounds = {}
    kind: Any = field.kind
    if get_origin(kind) is tuple:
        kind = list[get_args(kind)[0]]  # type: ignore[misc]
    elif get_origin(kind) is Mapping:
        kind = list[str]
    return _annotated(kind | None, shown, min=bounds.get("ge"), max=bounds.get("le"))


def _annotated(kind: Any, shown: Shown, *names: str, **checks: Any) -> Any:
    """The annotation of an option."""
    option = typer.Option(
        *names,
        help=shown.help,
        metavar=shown.metavar,
        rich_help_panel=shown.panel,
        hidden=shown.panel is not None,
        **checks,
    )
    return Annotated[kind, option]


def grouped(
    into: str, options: Mapping[str, Any], build: Callable[[dict[str, Any]], Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds options to a verb, which gets them as one argument.

    Args:
        into: The name of the argument.
        options: The annotation of each option. An option that is not given is None; a flag is
            False.
        build: Makes the argument from the value of each option.
    """

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in signature(verb).parameters.values() if p.name != into]
        added = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=_default(kind), annotation=kind)
            for name, kind in options.items()
        ]
        parameters = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in (*own, *added)]

        @wraps(verb)
        def run(**values: Any) -> None:
            given = {name: values.pop(name) for name in options if name in values}
            verb(**values, **{into: build(given)})

        run.__signature__ = signature(verb).replace(  # type: ignore[attr-defined]
            parameters=parameters
        )
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _default(kind: Any) -> bool | None:
    return False if get_args(kind)[0] is bool else None
