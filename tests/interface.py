"""What other programs rely on: public names, options of verbs, HTTP schema, configuration keys.

`python -m tests.interface > tests/golden/interface.json` renews the listing after an intended
change.
"""

import io
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer.main

import yakusu
from yakusu import cli
from yakusu.cli.verbs import app
from yakusu.compress.config import CompressConfig
from yakusu.serve.api.routes import openapi
from yakusu.serve.app import create_app
from yakusu.serve.config import ServeConfig
from yakusu.serve.service import Service
from yakusu.translator.folder.folder import TranslatorConfig

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
        http = openapi(create_app(service).routes)
    finally:
        service.close()
    found = {
        "names": yakusu.__all__,
        "verbs": dict(_verbs(typer.main.get_command(app), "yakusu")),
        "http": http,
        "exit codes": {" ".join(command): _exit_code(command) for command in _COMMANDS},
        "configurations": {config.__name__: config.model_json_schema() for config in configs},
    }
    listed: dict[str, Any] = json.loads(json.dumps(found, default=str), object_hook=_without_prose)
    return listed


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
