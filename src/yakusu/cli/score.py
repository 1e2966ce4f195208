"""The verb `score`: the log-probability of given translations, or of an n-best list."""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from yakusu.cli.console import ConsoleProgress, say
from yakusu.cli.engine_options import takes_engine_options
from yakusu.cli.options import Format, Model
from yakusu.cli.text_options import takes_reading_options
from yakusu.data.files.long_lines import byte_lines
from yakusu.data.files.text import count_lines, decode_lines
from yakusu.data.files.tree_files import holds_trees
from yakusu.errors import DataError

if TYPE_CHECKING:
    from yakusu.data.lines.config import TextConfig
    from yakusu.engine.config import EngineConfig
    from yakusu.translator.scoring import Scored


_Src = Annotated[
    str, typer.Argument(metavar="SRC", help="Source sentences, or - for standard input.")
]
_Tgt = Annotated[
    str,
    typer.Argument(
        metavar="TGT", help="Their translations, line by line, or - for standard input."
    ),
]
_NBest = Annotated[
    bool,
    typer.Option(
        "--n-best",
        help="TGT is an n-best list, as translate --n-best prints it; print it with the scores of "
        "this model.",
    ),
]
_OutputFormat = Annotated[
    Format,
    typer.Option(
        "--format",
        help="text: the three columns; json: an object per line, with the log-probability of each "
        "token.",
    ),
]
_Alternatives = Annotated[
    int,
    typer.Option(
        min=0,
        max=256,
        help="With --format json: number of most probable tokens to add per position.",
    ),
]
_Ensemble = Annotated[
    list[str] | None,
    typer.Option(metavar="MODEL", help="Additional model; probabilities are averaged. Repeatable."),
]
_Batch = Annotated[int, typer.Option(min=1, help="Maximum number of pairs scored together.")]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("score")(takes_engine_options(takes_reading_options(score_verb)))


def score_verb(
    model: Model,
    src: _Src,
    tgt: _Tgt,
    n_best: _NBest = False,
    format: _OutputFormat = Format.TEXT,
    alternatives: _Alternatives = 0,
    ensemble: _Ensemble = None,
    batch: _Batch = 64,
    *,
    engine: "EngineConfig",
    text: "TextConfig",
) -> None:
    """Print the log-probability that a model assigns to given translations.

    Prints a line per pair with three columns, separated by tabs: the log-probability
    log P(TGT | SRC), a natural logarithm; the score, which is the log-probability divided by the
    length penalty, as in translate --n-best; and the number of tokens, including the
    end-of-sentence token. The perplexity per token and the time go to standard error.

    Example: `yakusu score runs/en-de/model news.en news.de`
    """
    _refuse_conflicts(src, tgt, format, alternatives, n_best)
    from yakusu.pipeline.score import rescore  # loads numpy
    from yakusu.pipeline.score import score as score_pairs

    sides, total = (_lines(src), _lines(tgt)), _total(tgt)
    if n_best:
        rescored = rescore(
            model, *sides, ensemble=ensemble or (), text=text, batch=batch, engine=engine
        )
        _print_all(((scored, entry.line(scored)) for entry, scored in rescored), total)
        return
    found = score_pairs(
        model,
        *sides,
        ensemble=ensemble or (),
        text=text,
        alternatives=alternatives,
        batch=batch,
        engine=engine,
    )
    line = _json if format is Format.JSON else _columns
    _print_all(((scored, line(scored)) for scored in found), total)


def _refuse_conflicts(src: str, tgt: str, format: Format, alternatives: int, n_best: bool) -> None:
    if src == tgt == "-":
        raise DataError("SRC and TGT are both standard input: specify a file for one of them")
    if n_best and format is Format.JSON:
        raise DataError("--n-best prints a list, not JSON: omit --n-best or --format json")
    if alternatives and format is Format.TEXT:
        raise DataError("--alternatives has no column in text: add --format json")


def _lines(place: str) -> Path | Iterator[str]:
    """The path of a file, or the lines of standard input."""
    if place != "-":
        return Path(place)
    if sys.stdin is None:
        raise DataError("standard input is closed: specify a file, or redirect it, as in < FILE")
    return decode_lines(
        byte_lines(getattr(sys.stdin.buffer, "raw", sys.stdin.buffer).read), "standard input"
    )


def _total(tgt: str) -> int | None:
    """The number of lines to score; None: unknown, because a pipe can be read only once."""
    return count_lines(tgt) if Path(tgt).is_file() and not holds_trees(tgt) else None


def _columns(scored: "Scored") -> str:
    return f"{scored.log_prob:.4f}\t{scored.score:.4f}\t{scored.n_tokens}"


def _json(scored: "Scored") -> str:
    fields = asdict(scored)
    if not any(scored.alternatives):
        del fields["alternatives"]
    return json.dumps(fields, ensure_ascii=False)


def _print_all(lines: "Iterable[tuple[Scored, str]]", total: int | None) -> None:
    """Print each pair as soon as it is scored, then the perplexity and the time."""
    from yakusu.pipeline.score import Perplexity

    start, perplexity = time.monotonic(), Perplexity()
    progress = ConsoleProgress(bars=not sys.stdout.isatty())
    with progress.track("scoring", "pairs", total) as tracker:
        for scored, line in lines:
            print(line, flush=True)
            perplexity.add(scored)
            tracker.advance()
    n_pairs, seconds = perplexity.n_pairs, time.monotonic() - start
    say(
        f"{n_pairs:,} pair{'s' * (n_pairs != 1)}, {perplexity.n_tokens:,} target tokens"
        + (f": perplexity {perplexity.value:.2f} per token, in {seconds:.1f} s" if n_pairs else "")
    )
