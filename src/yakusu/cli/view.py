"""The verb `view`: pictures of one sentence, or what each head does over a corpus."""

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
from yakusu.cli.options import Device, Model
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.treefiles import holds_trees
from yakusu.errors import DataError
from yakusu.folder import json_text, write_text

if TYPE_CHECKING:
    from yakusu.translator import Translator
    from yakusu.view import AttentionMaps, HeadStatistics

_PICTURES = (".svg", ".html")
_MEASURES = ("entropy", "maximum", "distance", "previous", "itself", "eos", "start")

Src = Annotated[str | None, typer.Option(help="A sentence, for pictures.")]
Tgt = Annotated[str | None, typer.Option(help="Its translation; else the model translates.")]
SrcFile = Annotated[
    str | None, typer.Option(help="Sentences, or trees alone, for a table of all heads instead.")
]
TgtFile = Annotated[str | None, typer.Option(help="Their translations, line by line.")]
Out = Annotated[
    str,
    typer.Option(
        help="A folder, for attention.svg and attention.html, or one such file; else here."
    ),
]
Json = Annotated[str, typer.Option("--json", metavar="FILE", help="Also the numbers, as JSON.")]
OfRole = Annotated[
    Literal["encoder", "decoder", "cross"] | None,
    typer.Option(help="Of the SVG; else cross, or what the model has."),
]
Layer = Annotated[int, typer.Option(min=0, help="Of the SVG, from 1; 0: the last.")]
Heads = Annotated[str, typer.Option(help="Of the SVG, as 1,4; else all.")]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(view)


def view(
    model: Model,
    src: Src = None,
    tgt: Tgt = None,
    src_file: SrcFile = None,
    tgt_file: TgtFile = None,
    out: Out = "",
    json_: Json = "",
    role: OfRole = None,
    layer: Layer = 0,
    heads: Heads = "",
    device: Device = "cpu",
) -> None:
    """Show how a model attends: a sentence as SVG and as a web page, or its heads over a corpus.

    Example: `yakusu view runs/en-de/model --src "My room number is 957."`

    Example: `yakusu view runs/en-de/model --src-file test.en --tgt-file test.de`
    """
    numbers = [Path(json_)] if json_ else []
    if src is not None and not (src_file or tgt_file):
        if os.path.isfile(src):  # noqa: PTH113 - a long sentence is no path, and no error
            raise DataError(f"--src {src} is a file: give a sentence, or the file by --src-file")
        pictures = _pictures(out)
        _check([*pictures, *numbers])
        maps = yakusu.view.attention_maps(yakusu.Translator.load(model, device=device), src, tgt)
        picture = yakusu.view.picture(maps, role, layer=layer, heads=_numbers(heads))
        print("\n".join([maps.tgt, *_write(maps, picture, pictures, numbers)]))
    elif src_file and src is tgt is None:
        _refuse({"--out": out, "--role": role, "--layer": layer, "--heads": heads})
        _check(numbers, [Path(file) for file in (src_file, tgt_file) if file])
        _statistics(yakusu.Translator.load(model, device=device), src_file, tgt_file, numbers)
    else:
        raise DataError(
            "view shows one sentence or a corpus: give --src SENTENCE, or --src-file and "
            "--tgt-file, or trees alone as --src-file"
        )


def _refuse(options: dict[str, object]) -> None:
    """Refuse what a corpus has no use for."""
    if given := [name for name, value in options.items() if value]:
        raise DataError(
            f"only pictures of one sentence take {', '.join(given)}: leave that out, or give --src "
            "in place of --src-file and --tgt-file"
        )


def _pictures(out: str) -> list[Path]:
    """The files that --out names."""
    place = Path(out)
    if place.is_dir() or not place.suffix:
        return [place / "attention.svg", place / "attention.html"]
    if place.suffix.lower() not in _PICTURES:
        raise DataError(
            f"--out {out} is neither .svg nor .html: name such a file, or a folder that is there"
        )
    return [place]


def _check(written: Sequence[Path], read: Sequence[Path] = ()) -> None:
    """Refuse names of files before any work is done."""
    taken = [file.resolve() for file in read]
    for file in written:
        if file.resolve() in taken:
            raise DataError(f"{file} is named twice: give what is written a name of its own")
        taken.append(file.resolve())
        place = next(parent for parent in file.absolute().parents if parent.exists())
        if file.is_dir() or not (place.is_dir() and os.access(place, os.W_OK)):
            raise DataError(f"{file} cannot be written: name a file in a folder of your own")


def _write(
    maps: "AttentionMaps", picture: str, pictures: Sequence[Path], numbers: Sequence[Path]
) -> list[str]:
    """Write what was asked for; return the names of the files."""
    texts = {
        file: picture if file.suffix.lower() == ".svg" else yakusu.view.page(maps)
        for file in pictures
    }
    for file in numbers:
        texts[file] = json.dumps(maps.as_json(), ensure_ascii=False) + "\n"
    for file, text in texts.items():
        _save(file, text)
    return [str(file) for file in texts]


def _save(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, text)


def _numbers(heads: str) -> list[int]:
    try:
        return [int(head) for head in heads.split(",") if head]
    except ValueError as error:
        raise DataError(f"--heads {heads}: give numbers with commas between, as 1,4") from error


def _statistics(
    translator: "Translator", src: str, tgt: str | None, numbers: Sequence[Path]
) -> None:
    pairs = read_pairs(_corpus(translator, src, tgt))
    found = yakusu.view.head_statistics(translator, pairs, progress=ConsoleProgress())
    table = Table("role", "layer", "head", *_MEASURES, box=None, padding=(0, 1, 0, 0))
    for head in found.heads:
        table.add_row(head.role, str(head.layer), str(head.head), *_cells(head))
    Console().print(table)
    print(
        "means over all tokens; entropy in nats; distance in tokens, of cross-attention as a share "
        f"of the sentence; the rest are weights\n{found.n_pairs:,} pairs; {found.n_left_out:,} "
        "left out, empty or too long"
    )
    for file in numbers:
        _save(file, json_text(asdict(found)))
        print(file)


def _corpus(translator: "Translator", src: str, tgt: str | None) -> Corpus:
    """Trees for a parser, for a translator two files."""
    trees = holds_trees(src)
    if translator.task_name == "parsing":
        if tgt or not trees:
            raise DataError(
                "a parser is looked at over trees, which have their words: give them alone, as "
                "--src-file"
            )
        return Corpus(trees=src)
    if trees:
        raise DataError(f"--src-file {src} is trees: give sentences, or a parser as the model")
    if not tgt:
        raise DataError(f"--src-file {src} has no translations: add --tgt-file")
    return Corpus(src=src, tgt=tgt)


def _cells(head: "HeadStatistics") -> list[str]:
    values = (getattr(head, name) for name in _MEASURES)
    return ["-" if value is None else f"{value:.3f}" for value in values]
