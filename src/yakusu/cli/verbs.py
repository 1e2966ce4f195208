"""The Typer application; a verb is imported when it is first used."""

from collections import Counter
from collections.abc import Iterator, Mapping
from copy import copy
from functools import cache, partial
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from yakusu.cli.causes import described
from yakusu.cli.overview import HELP, OPTIONS, VERBS, print_overview
from yakusu.errors import DataError, RecipeError
from yakusu.version import __version__

MARKUP: Any = "markdown"  # of docstrings and help texts


class _Loaded(Mapping[str, Any]):
    """Typer's command of each verb."""

    def __getitem__(self, verb: str) -> Any:
        """Import the module of a verb and build the verb's command.

        Raises:
            KeyError: The verb does not exist.
        """
        verbs = typer.Typer(rich_markup_mode=MARKUP)
        import_module(f"yakusu.cli.{VERBS[verb].module}").add_to(verbs)
        command = typer.main.get_group(verbs).commands[verb]
        _refuse_repeated(command)
        _convert_few(command)
        return _with_debug(command)

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


class Verbs(TyperGroup):
    """The verbs."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.params.append(_debug_option(hidden=False))
        _convert_few(self)
        self.commands = _Loaded()  # type: ignore[assignment]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        print_overview()

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # of pydantic
            raise
        except EOFError as error:  # for Typer, the end of what a user types
            raise DataError(
                f"a file is truncated ({described(error)}): find it with --debug, and copy it again"
            ) from error


def _with_debug(command: Any) -> Any:
    """Let a verb, and its verbs, have the option that `yakusu --help` shows."""
    command.params.append(_debug_option(hidden=True))
    for each in getattr(command, "commands", {}).values():
        _with_debug(each)
    return command


def _refuse_repeated(command: Any) -> None:
    """Let a verb, and its verbs, refuse a second value of an option that has one.

    Click uses the last value, so that the others would be lost without a word.
    """
    make_parser = command.make_parser

    def make_checking_parser(context: Any) -> Any:
        parser = make_parser(context)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            values, rest, order = parse(args)
            for option, n in Counter(order).items():
                if n > 1 and option.param_type_name == "option" and not option.multiple:
                    raise RecipeError(f"{option.opts[0]} is given {n} times: give it once")
            return values, rest, order

        parser.parse_args = parse_args
        return parser

    command.make_parser = make_checking_parser
    for each in getattr(command, "commands", {}).values():
        _refuse_repeated(each)


def _convert_few(command: Any) -> None:
    """Let a verb, and its verbs, convert neither texts nor the values of options not given.

    Typer would load pydantic, and build a validator for each option.
    """
    get_params = command.get_params

    def get_quick_params(context: Any) -> Any:
        params = get_params(context)
        for param in params:
            param.process_value = partial(_process_value, param)
        return params

    command.get_params = get_quick_params
    for each in getattr(command, "commands", {}).values():
        _convert_few(each)


def _process_value(param: Any, context: Any, value: Any) -> Any:
    kind, is_repeated = param.type_descriptor.annotation, param.multiple or param.nargs == -1
    if value is None and not param.required:
        value = () if is_repeated else None
    elif value and kind == list[str]:
        value = list(value)
    elif value is None or (kind is not str and value != param.default):
        return type(param).process_value(param, context, value)
    return param.callback(context, param, value) if param.callback else value


def _debug_option(*, hidden: bool) -> Any:
    option = copy(_visible_debug_option())
    option.hidden = hidden
    return option


@cache
def _visible_debug_option() -> Any:
    """Let Typer build the option."""
    verbs = typer.Typer(add_completion=False)
    option = typer.Option(
        "--debug",
        callback=_set_debug,
        expose_value=False,
        help=OPTIONS["--debug"],
    )

    @verbs.command()
    def verb(debug: Annotated[bool, option] = False) -> None:
        pass

    return typer.main.get_command(verbs).params[0]


def _set_debug(context: typer.Context, value: bool) -> None:
    if value:
        context.find_root().obj.debug = True


app = typer.Typer(
    name="yakusu",
    help=HELP,
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help=OPTIONS["--version"])] = False,
) -> None:
    if show:
        print(f"yakusu {__version__}")
