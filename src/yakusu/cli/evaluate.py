"""The verbs that check a model: `evaluate` and `verify`."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import yakusu
from yakusu.cli.console import ConsoleProgress
from yakusu.cli.engine_options import takes_engine_options
from yakusu.cli.options import Format, Lowercase, Model
from yakusu.data.files.text import language_of
from yakusu.data.files.tree_files import holds_trees
from yakusu.errors import DataError
from yakusu.shipped import is_shipped

if TYPE_CHECKING:
    from yakusu.engine.config import EngineConfig
    from yakusu.metrics import BootstrapResult, Score

System = Annotated[
    str,
    typer.Argument(
        metavar="SYSTEM",
        help="What to score: translations, trees, or a model folder, which translates --src or "
        "parses the words of REFERENCE.",
    ),
]
Reference = Annotated[
    str, typer.Argument(metavar="REFERENCE", help="Reference translations, or reference trees.")
]
_Src = Annotated[
    str | None,
    typer.Option(help="Source sentences, line by line, if SYSTEM or --baseline is a model folder."),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        help="Translations or model folder to compare SYSTEM with: paired bootstrap shows whether "
        "the difference is significant."
    ),
]
Trees = Annotated[
    bool | None,
    typer.Option(
        "--trees/--text",
        help="Whether REFERENCE contains trees (default: --trees if it is named *.mrg, is a folder "
        "with such files, or starts like a tree).",
    ),
]
Tokenize = Annotated[
    str | None, typer.Option(help="sacreBLEU tokenizer (default: depends on the language).")
]
Language = Annotated[
    str | None,
    typer.Option(
        help="Target language, such as de (default: the suffix of REFERENCE, as in test.de)."
    ),
]
Paper = Annotated[
    bool, typer.Option("--paper", help="Add BLEU as in the paper: tokenised, compounds split.")
]
Robust = Annotated[
    bool,
    typer.Option(
        "--robust",
        help="BLEU of the model for the same sentences in capitals, in title case, in lower case, "
        "without final punctuation, with typos and with emoji.",
    ),
]
_Format = Annotated[Format, typer.Option(help="text, or json.")]


def add_to(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    app.command("evaluate")(takes_engine_options(evaluate_verb))
    app.command("verify")(verify_verb)


def evaluate_verb(
    system: System,
    reference: Reference,
    src: _Src = None,
    baseline: Baseline = None,
    trees: Trees = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = None,
    language: Language = None,
    paper: Paper = False,
    robust: Robust = False,
    format: _Format = Format.TEXT,
    *,
    engine: "EngineConfig",
) -> None:
    """Score translations with BLEU, chrF and TER, or trees with labelled F1 as EVALB does.

    Example: `yakusu evaluate runs/en-de/model test.de --src test.en --language de`

    Example: `yakusu evaluate runs/en-de/model test.de --src test.en --robust`
    """
    if holds_trees(reference) if trees is None else trees:
        if src or baseline or lowercase or tokenize or language or paper or robust:
            raise DataError(
                f"{reference} contains trees, to which these options do not apply: omit the "
                "options, or add --text if it contains sentences"
            )
        _print(_tree_scores(system, reference, engine), format)
        return
    truth, progress = Path(reference), ConsoleProgress()
    options: Any = {"lowercase": lowercase, "tokenize": tokenize, "target_language": language}
    if robust:
        _refuse_with_robust(system, {"--baseline": baseline, "--paper": paper})
        lines = _sources(system, src)
        table = yakusu.evaluate_robustness(
            system, lines, truth, engine=engine, progress=progress, **options
        )
        print(table if format is Format.TEXT else _as_json(asdict(table)))
        return
    if _is_model(system):
        score = partial(yakusu.evaluate_model, system, _sources(system, src), engine=engine)
    else:
        _refuse_unused(system, baseline, src, engine)
        score = partial(yakusu.evaluate, Path(system))
    to = language or language_of(reference)
    other = None if baseline is None else _translations(baseline, src, to, engine)
    _print(score(truth, baseline=other, paper=paper, progress=progress, **options), format)


def _is_model(system: str) -> bool:
    return Path(system).is_dir() or is_shipped(system)


def _print(results: "Sequence[Score | BootstrapResult]", format: Format) -> None:
    """Print scores: a line each, or a list of objects."""
    if format is Format.TEXT:
        print("\n".join(map(str, results)))
    else:
        print(_as_json([asdict(result) for result in results]))


def _as_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _refuse_with_robust(system: str, options: dict[str, str | bool | None]) -> None:
    """Refuse what --robust does not score."""
    if not _is_model(system):
        raise DataError(
            f"--robust translates sentences, but {system} is not a model folder: give a model "
            "folder, or omit --robust"
        )
    if given := [name for name, value in options.items() if value]:
        raise DataError(f"--robust scores one model with BLEU: omit {', '.join(given)}")


def _refuse_unused(
    system: str, baseline: str | None, src: str | None, engine: "EngineConfig"
) -> None:
    """Refuse options of models where no model is scored."""
    compares_model = baseline is not None and _is_model(baseline)
    if Path(system).exists() and not compares_model:
        given = ["--src"] if src is not None else []
        _refuse(given + _given(engine), unless="SYSTEM or --baseline is a model folder")


def _given(engine: "EngineConfig") -> list[str]:
    return [f"--{name}" for name in sorted(engine.model_fields_set)]


def _refuse(options: list[str], *, unless: str) -> None:
    if options:
        verb, them = ("have", "them") if len(options) > 1 else ("has", "it")
        raise DataError(f"{', '.join(options)} {verb} no effect unless {unless}: omit {them}")


def _tree_scores(system: str, reference: str, engine: "EngineConfig") -> "list[Score]":
    if _is_model(system) and not holds_trees(system):
        progress = ConsoleProgress()
        return yakusu.evaluate_parser(system, reference, engine=engine, progress=progress)
    _refuse(_given(engine), unless="SYSTEM is a model folder")
    return yakusu.evaluate_trees(system, reference)


def _sources(model: str, src: str | None) -> Path:
    if src is None:
        raise DataError(
            f"{model} is a model folder: add --src FILE with the sentences to translate"
        )
    return Path(src)


def _translations(
    system: str, src: str | None, to: str, engine: "EngineConfig"
) -> Path | list[str]:
    """Return a file of translations, or the source sentences translated with a model folder."""
    if not _is_model(system):
        return Path(system)
    from yakusu.pipeline.evaluate import translate_to_score  # loads numpy

    return translate_to_score(
        system, _sources(system, src), to=to, engine=engine, progress=ConsoleProgress()
    )


def verify_verb(model: Model) -> None:
    """Check every file of a model against its recorded hash and print how the model was made.

    Example: `yakusu verify runs/en-de/model`
    """
    print("\n".join(yakusu.verify(model)))
