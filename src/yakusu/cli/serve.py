"""The verb `serve`: a translation service."""

import json
from pathlib import Path
from typing import Annotated

import typer

from yakusu.cli.console import say

Folders = Annotated[
    list[Path],
    typer.Argument(metavar="MODEL...", help="Model folders, or names of bundled models."),
]
Host = Annotated[
    str | None,
    typer.Option(help="Address to listen on (default: 127.0.0.1, this computer only)."),
]
Port = Annotated[int | None, typer.Option(help="Port to listen on (default: 5000).")]
RootPath = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Path prefix that a reverse proxy uses, such as /mt."),
]
_Memory = Annotated[
    list[Path] | None,
    typer.Option(
        "--memory", metavar="FILE", help="Translation memory; see docs/memory.md. Repeatable."
    ),
]
_MemoryWritable = Annotated[
    bool, typer.Option("--memory-writable", help="Let everybody add to the memories.")
]
_Settings = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="TOML file with settings.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Another setting, such as limits.characters=5000. Repeatable.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("serve", epilog="docs/serve.md lists all settings.")(serve_verb)


def serve_verb(
    models: Folders,
    host: Host = None,
    port: Port = None,
    root_path: RootPath = None,
    memory: _Memory = None,
    memory_writable: _MemoryWritable = False,
    config: _Settings = None,
    overrides: Overrides = None,
) -> None:
    """Serve translators: a web page, and the APIs of LibreTranslate, DeepL and ModernMT.

    Example: `yakusu serve runs/en-de/model`
    """
    from yakusu.serve.config import load_config
    from yakusu.serve.server import serve as run

    given = {"host": host, "port": port, "root_path": root_path}
    options = [f"{key}={value}" for key, value in given.items() if value is not None]
    if memory:
        options.append(f"memory={json.dumps([*map(str, memory)])}")
    if memory_writable:
        options.append("memory_writable=true")
    run(
        lambda: load_config(config, [*(overrides or ()), *options]),
        models,
        started=lambda address: say(f"serving on {address} (Ctrl-C to stop)"),
    )
