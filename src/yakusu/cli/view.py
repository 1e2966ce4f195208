"""The verb `view`: pictures of one sentence, or what each head does over a corpus."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

import yakusu
from yakusu.cli.shown import Shown
from yakusu.errors import DataError
from yakusu.folder import json_text, write_text

if TYPE_CHECKING:
    from yakusu.translator import Translator
    from yakusu.view import AttentionMaps, HeadStatistics

_MEASURES = ("entropy", "maximum", "distance", "previous", "itself", "eos", "start")


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(view)


def view(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder.")],
    src: Annotated[str | None, typer.Option(help="A sentence, for pictures.")] = None,
    tgt: Annotated[
        str | None, typer.Option(help="Its translation; else the model translates.")
    ] = None,
    src_file: Annotated[
        str | None, typer.Option(help="Sentences, for a table of all heads instead.")
    ] = None,
    tgt_file: Annotated[str | None, typer.Option(help="Their translations, line by line.")] = None,
    out: Annotated[
        str, typer.Option(help="A folder, for attention.svg and attention.html; or one such file.")
    ] = ".",
    json_: Annotated[
        str, typer.Option("--json", metavar="FILE", help="Also the numbers, as JSON.")
    ] = "",
    role: Annotated[
        Literal["encoder", "decoder", "cross"] | None,
        typer.Option(help="Of the SVG; else cross, or what the model has."),
    ] = None,
    layer: Annotated[int, typer.Option(min=0, help="Of the SVG, from 1; 0: the last.")] = 0,
    heads: Annotated[str, typer.Option(help="Of the SVG, as 1,4; else all.")] = "",
    device: Annotated[
        str, typer.Option(help="cpu, cuda, or auto: a GPU where there is one.")
    ] = "cpu",
) -> None:
    """Show how a model attends: a sentence as SVG and as a web page, or its heads over a corpus.

    Example: `yakusu view runs/en-de/model --src "My room number is 957."`

    Example: `yakusu view runs/en-de/model --src-file test.en --tgt-file test.de`
    """
    of_corpus = bool(src_file and tgt_file and src is tgt is None)
    if not of_corpus and (src is None or src_file or tgt_file):
        raise DataError(
            "view shows one sentence or a corpus: give --src SENTENCE, or --src-file and --tgt-file"
        )
    translator = yakusu.Translator.load(model, device=device)
    if src_file and tgt_file:
        _statistics(translator, src_file, tgt_file, json_)
    elif src is not None:
        maps = yakusu.view.attention_maps(translator, src, tgt)
        picture = yakusu.view.picture(maps, role, layer=layer, heads=_numbers(heads))
        print("\n".join([maps.tgt, *_write(maps, picture, Path(out), json_)]))


def _write(maps: "AttentionMaps", picture: str, out: Path, numbers: str) -> list[str]:
    """Write what was asked for; return the names of the files."""
    alone = out.suffix in (".svg", ".html")
    files = [out] if alone else [out / "attention.svg", out / "attention.html"]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, picture if file.suffix == ".svg" else yakusu.view.page(maps))
    if numbers:
        files.append(Path(numbers))
        write_text(Path(numbers), json.dumps(maps.as_json(), ensure_ascii=False) + "\n")
    return [str(file) for file in files]


def _numbers(heads: str) -> list[int]:
    try:
        return [int(head) for head in heads.split(",") if head]
    except ValueError as error:
        raise DataError(f"--heads {heads}: give numbers with commas between, as 1,4") from error


def _statistics(translator: "Translator", src: str, tgt: str, out: str) -> None:
    from yakusu.corpus import Corpus, read_pairs

    pairs = read_pairs(Corpus(src=src, tgt=tgt))
    found = yakusu.view.head_statistics(translator, pairs, progress=Shown())
    table = Table("role", "layer", "head", *_MEASURES, box=None, padding=(0, 1, 0, 0))
    for head in found.heads:
        table.add_row(head.role, str(head.layer), str(head.head), *_cells(head))
    Console().print(table)
    print(
        "means over all tokens; entropy in nats; distance in tokens, of cross-attention as a share "
        f"of the sentence; the rest are weights\n{found.n_pairs:,} pairs; {found.n_left_out:,} "
        "left out, empty or too long"
    )
    if out:
        write_text(Path(out), json_text(asdict(found)))
        print(out)


def _cells(head: "HeadStatistics") -> list[str]:
    values = (getattr(head, name) for name in _MEASURES)
    return ["-" if value is None else f"{value:.3f}" for value in values]
