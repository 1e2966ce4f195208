"""What other programs rely on: public names, options of verbs, HTTP schema, configuration keys.

`python -m tests.interface > tests/golden/interface.json` renews the listing after an intended
change.
"""

import io
import json
import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin
from unittest.mock import patch

import typer.main

import yakusu
from yakusu import cli
from yakusu.cli.verbs import app
from yakusu.compress.config import CompressConfig
from yakusu.config import Config, ConfigField
from yakusu.serve.api.deepl.schemas import DEEPL_COMPONENTS
from yakusu.serve.api.routes import openapi
from yakusu.serve.app import create_app
from yakusu.serve.config import ServeConfig
from yakusu.serve.service import Service
from yakusu.translator.folder.folder import TranslatorConfig
from yakusu.typed import REQUIRED, Rule

LISTING = Path(__file__).parent / "golden" / "interface.json"
_COMMANDS = (
    *(["--version"], ["--help"], [], ["translat"], ["translate"]),
    *(["translate", "no-model", "a.txt"], ["translate", "no-model", "--beam", "x"]),
    *(["train", "tyni"], ["verify", "no-model"], ["check", "no-file", "no-file"]),
)
MODEL = Path(__file__).parent / "fixtures" / "format-1" / "transformer"


def interface() -> dict[str, Any]:
    """The interface, as JSON values."""
    configs = (
        *(yakusu.Recipe, ServeConfig, TranslatorConfig, CompressConfig),
        *(yakusu.DistilConfig, yakusu.BacktranslateConfig),
    )
    service = Service(ServeConfig(), [MODEL])
    try:
        http = openapi(create_app(service).routes, DEEPL_COMPONENTS)
    finally:
        service.close()
    found = {
        "names": yakusu.__all__,
        "verbs": dict(_verbs(typer.main.get_command(app), "yakusu")),
        "http": http,
        "exit codes": {" ".join(command): _exit_code(command) for command in _COMMANDS},
        "configurations": dict(_keys(configs)),
    }
    listed: dict[str, Any] = json.loads(json.dumps(found, default=str), object_hook=_without_prose)
    return listed


def _keys(configs: Iterable[type[Config]]) -> Iterator[tuple[str, Any]]:
    """The keys of configurations and of those that they contain: their types and defaults."""
    waiting, found = list(configs), set[type[Config]]()
    while waiting:
        config = waiting.pop(0)
        if config not in found:
            found.add(config)
            fields = config.model_fields().items()
            yield config.__name__, {name: _field(field, waiting) for name, field in fields}


def _field(field: ConfigField, configs: list[type[Config]]) -> dict[str, Any]:
    default = "required" if field.default is REQUIRED else repr(field.default)
    bounds = _bounds(field.rule) if field.rule else ""
    return {"type": f"{_type(field.kind, configs)}{bounds}", "default": default}


def _type(kind: Any, configs: list[type[Config]]) -> str:
    """How a type is written; adds the configurations in it to `configs`."""
    first, *rest = get_args(kind) or (kind,)
    if get_origin(kind) is Annotated:
        return f"{_type(first, configs)}{_bounds(rest[0])}"
    if get_origin(kind) is Literal or isinstance(kind, types.EllipsisType):
        return str(kind).removeprefix("typing.")
    if not rest and first is kind:
        if issubclass(kind, Config):
            configs.append(kind)
        return str(kind.__name__)
    inner = ", ".join(_type(each, configs) for each in (first, *rest))
    return f"{getattr(get_origin(kind), '__name__', 'Union')}[{inner}]"


def _bounds(rule: Rule) -> str:
    return "".join(f" {name} {bound}" for name, bound in rule.bounds)


def _without_prose(value: dict[str, Any]) -> dict[str, Any]:
    """Descriptions, which are the docstrings of classes and functions, may be edited."""
    return {
        key: each
        for key, each in value.items()
        if key != "description" or not isinstance(each, str)
    }


def _exit_code(arguments: list[str]) -> int:
    """The exit code of a command without input; what it says is not read."""
    given, said = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    with (
        patch.multiple(sys, argv=["yakusu", *arguments], stdin=given),
        redirect_stdout(said),
        redirect_stderr(said),
    ):
        try:
            cli.main()
        except SystemExit as done:
            return int(done.code or 0)
    return 0


def _verbs(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The parameters of a command and of its subcommands."""
    context = command.context_class(command)
    yield name, [_parameter(parameter) for parameter in command.get_params(context)]
    for verb in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from _verbs(command.get_command(context, verb), f"{name} {verb}")


def _parameter(parameter: Any) -> dict[str, Any]:
    names = ("opts", "secondary_opts", "required", "nargs", "multiple", "is_flag", "min", "max")
    names += ("default", "hidden", "metavar", "help", "envvar", "rich_help_panel")
    found = {name: getattr(parameter, name, None) for name in names}
    return {**found, "type": parameter.type_descriptor.annotation}


if __name__ == "__main__":
    json.dump(interface(), sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")
