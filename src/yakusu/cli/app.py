"""The verbs of the main road, each a thin shell over the function of the same name."""

import json
import logging
import os
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from signal import SIGPIPE
from typing import TYPE_CHECKING, Annotated

import typer

import yakusu
from yakusu.cli import compress as compression
from yakusu.cli import vectors, view
from yakusu.cli.console import Remarks, Shown, command, err, escape
from yakusu.cli.options import Device, Model
from yakusu.data.corpus import holds_trees
from yakusu.data.text import ReadAhead, count_lines, decode_lines
from yakusu.errors import DataError, RunError, SignalError, YakusuError
from yakusu.recipes import recipe_names

if TYPE_CHECKING:
    from yakusu.translator import Translation

app = typer.Typer(
    name="yakusu",
    help="Train, average, run and score attention-only translators.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)

compression.add_to(app)
vectors.add_to(app)
view.add_to(app)

RecipeName = Annotated[
    str, typer.Argument(metavar="RECIPE", help=f"A TOML file, or {', '.join(recipe_names())}.")
]
Run = Annotated[str, typer.Option("--run", help="Folder of the run: all that is made goes there.")]
Src = Annotated[str, typer.Option("--src", help="Source sentences, one a line (.gz too).")]
Tgt = Annotated[str, typer.Option("--tgt", help="Their translations, line by line.")]
DevSrc = Annotated[str, typer.Option("--dev-src", help="Source of the dev set; else held out.")]
Trees = Annotated[
    str, typer.Option("--trees", help="Bracketed trees, for a parser: a file, folder or pattern.")
]
DevTrees = Annotated[str, typer.Option("--dev-trees", help="Trees of the dev set; else held out.")]
DevTgt = Annotated[str, typer.Option("--dev-tgt", help="Target of the dev set.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="A.B=C", help="Override a key of the recipe.")
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Ignore case.")]
Ensemble = Annotated[
    list[str] | None,
    typer.Option(metavar="MODEL", help="One more model to decide together; repeat it."),
]
Beam = Annotated[int, typer.Option(min=0, max=256, help="Width of the beam; 0: as the model says.")]
Alpha = Annotated[float | None, typer.Option(min=0, help="Length penalty; else as the model says.")]


# Set before torch is loaded, where the user has not. Threads that wait by spinning are a few per
# cent faster on idle cores and ten times slower on shared ones; what torch says in C++ of its own
# workings helps no user.
_ENVIRONMENT = {"OMP_WAIT_POLICY": "PASSIVE", "TORCH_CPP_LOG_LEVEL": "ERROR"}


def main() -> None:
    """Run the command line; errors meant for users are one sentence and exit code 2."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    logging.basicConfig(
        level=logging.WARNING,
        format="%(levelname)s: %(message)s",
        handlers=[Remarks()],
    )
    try:
        if sys.stdout is None:
            raise RunError("standard output is closed: open it, as by > file")
        _run()
    except SignalError as error:
        try:
            err.print(escape(str(error)))
        finally:  # where standard error is the closed pipe too
            sys.exit(128 + error.signal)
    except YakusuError as error:
        err.print(f"[bold red]error:[/] {escape(str(error))}")
        sys.exit(2)
    except ModuleNotFoundError as error:
        if error.name not in compression.LIBRARIES:
            raise
        remedy = escape("pip install 'yakusu[compress]'")
        err.print(f"[bold red]error:[/] this needs {error.name}: {remedy}")
        sys.exit(2)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        err.print(f"[bold red]error:[/] {escape(place + (error.strerror or str(error)))}")
        sys.exit(2)


def _run() -> None:
    """Run the verb; that nobody reads what it prints is told as a signal, for Click hides it."""
    try:
        try:
            app(standalone_mode=True)
        finally:
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as done:
        if not any(isinstance(each, BrokenPipeError) for each in (done, done.__context__)):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for Python's last flush
        raise SignalError("stopped: nobody reads the output any more", SIGPIPE) from done


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Train, average, run and score attention-only translators."""
    if show:
        print(f"yakusu {yakusu.__version__}")


@app.command()
def prepare(
    recipe: RecipeName,
    run: Run = "",
    src: Src = "",
    tgt: Tgt = "",
    dev_src: DevSrc = "",
    dev_tgt: DevTgt = "",
    trees: Trees = "",
    dev_trees: DevTrees = "",
    set_: Set = None,
    workers: Annotated[
        int, typer.Option(min=-1, help="Processes that tokenise; -1: all cores.")
    ] = -1,
) -> None:
    """Filter a corpus, learn its tokenizer and binarise it.

    Example: `yakusu prepare tiny --src train.en --tgt train.de --run runs/en-de`
    """
    overrides = _overrides(
        set_,
        run=run,
        src=src,
        tgt=tgt,
        trees=trees,
        dev_src=dev_src,
        dev_tgt=dev_tgt,
        dev_trees=dev_trees,
    )
    made = yakusu.prepare(yakusu.load_recipe(recipe, overrides), progress=Shown(), workers=workers)
    print(("already prepared: " if made.existed else "") + str(made))


@app.command()
def train(
    recipe: RecipeName,
    run: Run = "",
    src: Src = "",
    tgt: Tgt = "",
    dev_src: DevSrc = "",
    dev_tgt: DevTgt = "",
    trees: Trees = "",
    dev_trees: DevTrees = "",
    set_: Set = None,
) -> None:
    """Train a translator; the same command again goes on where it stopped.

    Example: `yakusu train tiny --src train.en --tgt train.de --run runs/en-de`
    """
    overrides = _overrides(
        set_,
        run=run,
        src=src,
        tgt=tgt,
        trees=trees,
        dev_src=dev_src,
        dev_tgt=dev_tgt,
        dev_trees=dev_trees,
    )
    made = yakusu.train(yakusu.load_recipe(recipe, overrides), progress=Shown())
    if made.rank:
        return  # rank 0 says it for all
    print(
        f"stopped at step {made.steps:,} after {made.seconds / 60:.1f} minutes: {made.reason}\n"
        f"dev {made.dev_score}\n"
        f"the model: {made.model}\n"
        f"next: echo '{made.example}' | {command()} translate {made.model}"
    )


@app.command()
def average(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run.")],
    out: Annotated[str, typer.Option(help="Model folder to write; RUN/model by default.")] = "",
    last: Annotated[
        int, typer.Option(min=0, help="How many checkpoints; 0: as the recipe says.")
    ] = 0,
    best: Annotated[bool, typer.Option("--best", help="The best checkpoint alone.")] = False,
) -> None:
    """Average the last checkpoints of a run into a model folder.

    Example: `yakusu average runs/en-de --last 5`
    """
    print(yakusu.average(run, out=out or None, last=last, best=best, progress=Shown()))


@app.command()
def translate(
    model: Model,
    source: Annotated[str, typer.Argument(help="A text file; - is standard input.")] = "-",
    ensemble: Ensemble = None,
    beam: Beam = 0,
    alpha: Alpha = None,
    n_best: Annotated[int, typer.Option(min=1, help="Print this many, with scores, by tabs.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Sentences translated together.")] = 64,
    window: Annotated[int, typer.Option(min=0, help="Sentences read ahead; 0: 32 batches.")] = 0,
    device: Device = "cpu",
) -> None:
    """Translate a file or standard input, in order; speed is told on stderr.

    Example: `yakusu translate runs/en-de/model news.en > news.de`
    """
    arriving = ReadAhead(decode_lines(_stdin(), "standard input"))
    found = yakusu.translate(
        model,
        arriving if source == "-" else Path(source),
        ensemble=ensemble or (),
        beam=beam,
        alpha=alpha,
        n_best=n_best,
        batch=batch,
        window=window,
        device=device,
    )
    began, n_sentences, n_tokens = time.monotonic(), 0, 0  # the model is there
    known = Path(source).is_file() and not holds_trees(source)  # a pipe can be read once
    total = count_lines(source) if known else None
    shown = Shown(bars=not sys.stdout.isatty())
    with shown.track("translating", "sentences", total) as tracker:
        for number, best in enumerate(found, start=1):
            n_sentences, n_tokens = number, n_tokens + best[0].n_tokens
            _print_best(number, best, alone=n_best == 1)
            tracker.advance()
    _tell_speed(n_sentences, n_tokens, time.monotonic() - began)


def _tell_speed(n_sentences: int, n_tokens: int, seconds: float) -> None:
    err.print(
        f"{n_sentences:,} sentence{'s' * (n_sentences != 1)} in {seconds:.1f} s: "
        f"{n_sentences / seconds:.1f} sentences/s, {n_tokens / seconds:,.0f} target tokens/s"
    )


def _print_best(number: int, best: "list[Translation]", *, alone: bool) -> None:
    lines = [t.text if alone else f"{number}\t{t.score:.4f}\t{t.text}" for t in best]
    print("\n".join(lines), flush=True)


@app.command()
def evaluate(
    system: Annotated[
        str, typer.Argument(help="Translations, one a line; trees; or a model folder.")
    ],
    reference: Annotated[
        str, typer.Argument(help="Reference translations; or true trees, as *.mrg.")
    ],
    src: Annotated[str, typer.Option(help="Source sentences, if SYSTEM is a model.")] = "",
    baseline: Annotated[str, typer.Option(help="Another system: paired bootstrap.")] = "",
    lowercase: Lowercase = False,
    tokenize: Annotated[str, typer.Option(help="sacreBLEU's tokenizer.")] = "",
    language: Annotated[
        str, typer.Option(help="Target language; else as REFERENCE is named, .de.")
    ] = "",
    paper: Annotated[
        bool, typer.Option("--paper", help="Also the paper's tokenised, compound-split BLEU.")
    ] = False,
) -> None:
    """BLEU, chrF and TER with their signatures; of a parser labelled F1 as EVALB counts it.

    Example: `yakusu evaluate runs/en-de/model test.de --src test.en --language de`
    """
    for result in yakusu.evaluate(
        Path(system),
        Path(reference),
        src=Path(src) if src else None,
        baseline=Path(baseline) if baseline else None,
        lowercase=lowercase,
        tokenize=tokenize or None,
        target_language=language or None,
        paper=paper,
        progress=Shown(),
    ):
        print(result)


@app.command()
def verify(
    model: Model,
) -> None:
    """Check every file of a model against its hash and say what made it.

    Example: `yakusu verify runs/en-de/model`
    """
    print("\n".join(yakusu.verify(model)))


@app.command()
def demo(
    target: Annotated[str, typer.Option(help="ja, de, fr or ko; the source is English.")] = "ja",
    folder: Annotated[str, typer.Option(help="Where the run goes.")] = "runs",
) -> None:
    """Train on a phrasebook made here and translate sentences that were held out.

    Example: `yakusu demo --target de`
    """
    made = yakusu.demo(target, folder=folder, progress=Shown())
    for source, translation, reference in made.samples:
        print(f"source:      {source}\ntranslation: {translation}\nreference:   {reference}\n")
    good = [source for source, translation, truth in made.samples if translation == truth]
    example = min(good or [made.samples[0][0]], key=len)
    print(
        f"{made.bleu} on 200 held-out sentences; trained in {made.seconds / 60:.1f} minutes\n"
        f"the translator is the folder {made.model}\n"
        f"next: echo {shlex.quote(example)} | {command()} translate {made.model}"
    )


def _stdin() -> Iterator[bytes]:
    """The lines of standard input, past its buffer, whose lock a reader in a thread would keep."""
    if sys.stdin is None:
        raise DataError("standard input is closed: name a file, or open it")
    raw, rest = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer), b""
    while chunk := raw.read(2**16):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in lines)
    if rest:
        yield rest


def _overrides(
    set_: list[str] | None,
    *,
    run: str,
    src: str,
    tgt: str,
    trees: str,
    dev_src: str,
    dev_tgt: str,
    dev_trees: str,
) -> list[str]:
    """The options as overrides of a recipe; --set comes last and wins."""
    shortcuts = {
        "run": run,
        "data.train.src": src,
        "data.train.tgt": tgt,
        "data.train.trees": trees,
        "data.dev.src": dev_src,
        "data.dev.tgt": dev_tgt,
        "data.dev.trees": dev_trees,
    }
    return [
        f"{key}={json.dumps(value, ensure_ascii=False)}"
        for key, value in shortcuts.items()
        if value
    ] + (set_ or [])
