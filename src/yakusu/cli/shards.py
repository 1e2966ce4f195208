"""The options of the verb `translate` for shards of a corpus, and what it prints about them."""

import re
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from yakusu.cli.console import ConsoleProgress, say
from yakusu.cli.option_groups import grouped
from yakusu.cli.show import counted, print_speed, report
from yakusu.errors import DataError

if TYPE_CHECKING:
    from yakusu.engine.config import EngineConfig
    from yakusu.pipeline.shards.parts import ShardConfig
    from yakusu.translator import Translator

_PANEL = "Ray"
_LOCAL = "local"
_ADDRESS = re.compile(r"local|auto|ray://\S+|(?:[\w.-]+|\[[\da-fA-F:]+\]):\d+")
_OPTIONS: dict[str, Any] = {
    "ray": Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="[ADDRESS]",
            help="Translate text and Parquet files to the folder --out on the Ray cluster at "
            "HOST:PORT; auto: the one that this machine is part of; no address: start one.",
            rich_help_panel=_PANEL,
            hidden=True,
        ),
    ],
    "column": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of Parquet files that contains the texts (default: the only column of "
            "strings, or text).",
            rich_help_panel=_PANEL,
            hidden=True,
        ),
    ],
}


class RayOptions(NamedTuple):
    """Where shards are translated.

    Attributes:
        address: Address of the cluster; None: no shards are translated.
        column: Column of Parquet files.
    """

    address: str | None
    column: str | None

    def check(self) -> None:
        """Refuse --column where no shards are translated."""
        if self.column is not None:
            raise DataError("--column applies to Parquet files: add --ray, or remove --column")


takes_ray_options = grouped(
    "ray", _OPTIONS, lambda given: RayOptions(given["ray"], given["column"])
)


class RayCommand(TyperCommand):
    """A verb whose option --ray may be followed by an address."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Add the default address, which Typer's options cannot have."""
        end = args.index("--") if "--" in args else len(args)
        given = [
            f"--ray={_LOCAL}" if word == "--ray" and not _ADDRESS.fullmatch(following) else word
            for word, following in zip(args[:end], [*args[1:end], ""], strict=False)
        ]
        return super().parse_args(ctx, [*given, *args[end:]])


class ShardOutput(NamedTuple):
    """Which shards are translated, where, and to which folder.

    Attributes:
        address: Address of the cluster.
        out: A folder.
        sources: Files and folders.
    """

    address: str
    out: str | None
    sources: Sequence[str]

    def checked(self, refused: Iterable[str], engine: "EngineConfig") -> "EngineConfig":
        """Refuse missing arguments and the options in `refused`; return what runs the model."""
        if self.out is None:
            raise DataError("--ray writes a file for each input: add --out FOLDER")
        if not self.sources:
            raise DataError("--ray translates files, not standard input: name files or folders")
        if not _ADDRESS.fullmatch(self.address):
            raise DataError(
                f"--ray '{self.address}' is not an address: write HOST:PORT, auto or local"
            )
        if self.address.startswith("ray://"):
            raise DataError(
                f"--ray {self.address} is the address of a Ray client: run yakusu on a machine of "
                "the cluster, with --ray HOST:PORT or --ray auto"
            )
        for name in refused:
            raise DataError(f"{name} does not apply to --ray: remove one of them")
        if engine.device not in ("cpu", "cuda"):
            raise DataError(
                f"--device {engine.device} may differ between machines: use cpu or cuda with --ray"
            )
        return engine.model_copy(update={"threads": engine.threads or 1})

    def translate(self, translator: "Translator", config: "ShardConfig") -> None:
        """Translate shards and print what was done with each."""
        from yakusu.pipeline.shards.cluster import Cluster
        from yakusu.pipeline.shards.shards import translate_shards

        start = monotonic()
        done = translate_shards(
            translator,
            config,
            self.sources,
            self.out or "",
            Cluster(self.address),
            progress=ConsoleProgress(),
        )
        if done.texts:
            print_speed(done.texts, done.n_tokens, monotonic() - start)
        report(done.tally)
        counts = [
            (done.translated, "shard", "translated"),
            (done.skipped, "shard", "skipped (translated before)"),
            (done.invalid, "line", "not UTF-8"),
        ]
        if said := [f"{counted(n, noun)} {what}" for n, noun, what in counts if n]:
            say("; ".join(said))
        if failed := done.failed:
            raise DataError(f"{counted(len(failed), 'shard')} not translated: {failed[0]}")
