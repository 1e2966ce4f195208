"""The verb `view`: pictures of the attention in one sentence, or statistics over a corpus."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

import yakusu
from yakusu.cli.console import ConsoleProgress
from yakusu.cli.engine_options import takes_engine_options
from yakusu.cli.options import Model, To
from yakusu.data.files.tree_files import holds_trees
from yakusu.errors import DataError

if TYPE_CHECKING:
    from yakusu.data.corpus import Corpus
    from yakusu.engine.config import EngineConfig
    from yakusu.translator import Translator
    from yakusu.view import AttentionMaps, HeadStatistics

_STATISTICS = ("entropy", "maximum", "distance", "previous", "itself", "eos", "start")

_Src = Annotated[str | None, typer.Option(help="Source sentence for the pictures.")]
_Tgt = Annotated[
    str | None,
    typer.Option(help="Target sentence for the pictures (default: the model's own translation)."),
]
SrcFile = Annotated[
    str | None,
    typer.Option(
        help="Source sentences (for a parser: trees) for statistics of all heads, instead of "
        "pictures."
    ),
]
TgtFile = Annotated[str | None, typer.Option(help="Translations of --src-file, line by line.")]
_Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for attention.svg and attention.html (default: the current folder), or one "
        ".svg or .html file."
    ),
]
Json = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Also write the weights or statistics as JSON."),
]
SvgRole = Annotated[
    Literal["encoder", "decoder", "cross"] | None,
    typer.Option(help="Attention to draw in the SVG (default: cross, if the model has it)."),
]
SvgLayer = Annotated[
    int | None, typer.Option(min=1, help="Layer to draw in the SVG, from 1 (default: the last).")
]
SvgHeads = Annotated[
    str | None,
    typer.Option(help="Heads to draw in the SVG, from 1, such as 1,4 (default: all)."),
]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("view")(takes_engine_options(view_verb))


def view_verb(
    model: Model,
    src: _Src = None,
    tgt: _Tgt = None,
    src_file: SrcFile = None,
    tgt_file: TgtFile = None,
    out: _Out = None,
    json_: Json = None,
    role: SvgRole = None,
    layer: SvgLayer = None,
    heads: SvgHeads = None,
    to: To = None,
    *,
    engine: "EngineConfig",
) -> None:
    """Show the attention of a model: pictures of one sentence, or statistics over a corpus.

    Example: `yakusu view runs/en-de/model --src "My room number is 957."`

    Example: `yakusu view runs/en-de/model --src-file test.en --tgt-file test.de`
    """
    if src is not None and not (src_file or tgt_file):
        if os.path.isfile(src):  # noqa: PTH113 - Path.is_file raises an error for a long sentence
            raise DataError(f"--src {src} is a file: pass a sentence, or the file as --src-file")
        pictures = _picture_files(out)
        _check_outputs([*pictures, json_] if json_ else pictures)
        maps = yakusu.view.attention_maps(_open(model, engine, to), src, tgt)
        svg = yakusu.view.picture(maps, role, layer=layer, heads=_head_numbers(heads))
        _write_pictures(maps, svg, pictures, json_)
    elif src_file and src is tgt is None:
        _reject({"--out": out, "--role": role, "--layer": layer, "--heads": heads})
        inputs = [Path(file) for file in (src_file, tgt_file) if file]
        _check_outputs([json_] if json_ else [], inputs)
        _print_statistics(_open(model, engine, to), src_file, tgt_file, json_)
    else:
        raise DataError(
            "view needs one sentence or a corpus: use --src SENTENCE, --src-file with --tgt-file, "
            "or --src-file with trees"
        )


def _open(model: str, engine: "EngineConfig", to: str | None) -> "Translator":
    from yakusu.data.lines.config import TextConfig

    return yakusu.Translator.load(model, engine=engine, text=TextConfig(to=to or ""))


def _reject(options: dict[str, object]) -> None:
    """Reject the options that apply to pictures only."""
    if given := ", ".join(name for name, value in options.items() if value is not None):
        raise DataError(
            f"statistics over a corpus do not use {given}: omit {given}, or use --src to draw one "
            "sentence"
        )


def _picture_files(out: Path | None) -> list[Path]:
    """Return the files that --out names."""
    out = out or Path()
    if out.is_dir() or not out.suffix:
        return [out / "attention.svg", out / "attention.html"]
    if out.suffix.lower() not in (".svg", ".html"):
        raise DataError(
            f"--out {out} does not end in .svg or .html: choose such a name, or an existing folder"
        )
    return [out]


def _check_outputs(outputs: Sequence[Path], inputs: Sequence[Path] = ()) -> None:
    """Reject file names that cannot be written, before any work is done."""
    used = [file.resolve() for file in inputs]
    for file in outputs:
        if file.resolve() in used:
            raise DataError(f"{file} is used twice: choose a different name for each file")
        used.append(file.resolve())
        folder = next(parent for parent in file.absolute().parents if parent.exists())
        if file.is_dir() or not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise DataError(f"{file} cannot be written: choose a file in a writable folder")


def _write_pictures(
    maps: "AttentionMaps", svg: str, pictures: Sequence[Path], json_: Path | None
) -> None:
    """Write the files; print the translation and the name of each file."""
    texts = {
        file: svg if file.suffix.lower() == ".svg" else yakusu.view.page(maps) for file in pictures
    }
    if json_:
        texts[json_] = json.dumps(maps.as_json(), ensure_ascii=False) + "\n"
    for file, text in texts.items():
        _write(file, text)
    print("\n".join([maps.tgt, *map(str, texts)]))


def _write(file: Path, text: str) -> None:
    from yakusu.folder import write_text

    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, text)


def _head_numbers(heads: str | None) -> list[int] | None:
    try:
        return None if heads is None else [int(head) for head in heads.split(",")]
    except ValueError as error:
        raise DataError(
            f"--heads {heads} is not a list of numbers: separate them by commas, such as 1,4"
        ) from error


def _print_statistics(
    translator: "Translator", src: str, tgt: str | None, json_: Path | None
) -> None:
    from yakusu.data.corpus import read_pairs
    from yakusu.folder import json_text

    pairs = read_pairs(_corpus(translator, src, tgt))
    statistics = yakusu.view.head_statistics(translator, pairs, progress=ConsoleProgress())
    table = Table("role", "layer", "head", *_STATISTICS, box=None, padding=(0, 1, 0, 0))
    for head in statistics.heads:
        table.add_row(head.role, str(head.layer), str(head.head), *_cells(head))
    Console().print(table)
    print(
        "Means over all tokens. Entropy is in nats; distance is in tokens or, for cross-attention, "
        "a fraction of the sentence; the other columns are attention weights.\n"
        f"{statistics.n_pairs:,} pairs; {statistics.n_left_out:,} left out (empty or too long)"
    )
    if json_:
        _write(json_, json_text(asdict(statistics)))
        print(json_)


def _corpus(translator: "Translator", src: str, tgt: str | None) -> "Corpus":
    """Return the trees of a parser's corpus, or the two files of a translator's."""
    from yakusu.data.corpus import Corpus

    trees = holds_trees(src)
    if translator.task_name == "parsing":
        if tgt or not trees:
            raise DataError(
                "the statistics of a parser need trees, which include their words: pass them as "
                "--src-file, without --tgt-file"
            )
        return Corpus(trees=src)
    if trees:
        raise DataError(
            f"--src-file {src} contains trees: pass sentences, or use a parser as the model"
        )
    if not tgt:
        raise DataError(f"--src-file {src} has no translations: add --tgt-file")
    return Corpus(src=src, tgt=tgt)


def _cells(head: "HeadStatistics") -> list[str]:
    values = (getattr(head, name) for name in _STATISTICS)
    return ["-" if value is None else f"{value:.3f}" for value in values]
