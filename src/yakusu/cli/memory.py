"""The verbs for translation memories."""

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from yakusu.cli.console import ConsoleProgress, say
from yakusu.cli.option_groups import grouped
from yakusu.cli.show import counted
from yakusu.data.lines.private_use import MARKS, is_closing, is_opening, number_of
from yakusu.errors import DataError, RecipeError

if TYPE_CHECKING:
    from yakusu.data.segments import MemorySegment
    from yakusu.memory.choice import SegmentChoice
    from yakusu.memory.exporting import MemoryFormat
    from yakusu.memory.importing import Imported
    from yakusu.memory.memory import TranslationMemory

memory_verbs = typer.Typer(
    name="memory",
    help="Create, search, export and merge translation memories.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
_MARK = re.compile(MARKS)
_SHOWN = 20  # origins, authors and files of `info`
_Path = Annotated[Path, typer.Argument(metavar="MEMORY", help="Translation memory.")]
_Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE...",
        help="TMX, XLIFF, PO, TSV, CSV, JSON lines, xlsx, ods or docx, or text files named after "
        "their languages (guide.en guide.de), compressed or not.",
    ),
]
_Source = Annotated[
    str | None, typer.Option(metavar="CODE", help="Source language, to create the memory.")
]
_Target = Annotated[
    str | None, typer.Option(metavar="CODE", help="Target language, to create the memory.")
]
_Who = Annotated[
    str, typer.Option(metavar="NAME", help="Who confirmed the segments, if a file does not say.")
]
_Origin = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Where the segments come from (default: the name of the file)."
    ),
]
_Columns = Annotated[
    str | None,
    typer.Option(
        metavar="SRC,TGT",
        help="Source and target in tables and JSON lines: names or numbers of columns (default: as "
        "the header says, or 1,2).",
    ),
]
_Errors = Annotated[
    Literal["strict", "skip", "replace"],
    typer.Option(
        help="What to do with lines that are not UTF-8: refuse the file, leave them out, or read "
        "each invalid byte as U+FFFD.",
    ),
]
_Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Encoding of text files that are not UTF-8, such as cp949 (default: detected).",
    ),
]
_Corrected = Annotated[
    Path | None,
    typer.Option(
        "--corrected",
        metavar="FILE",
        help="A translated document that a person has corrected, in any format of `translate`.",
    ),
]
_From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="The document that was translated; for PO and XLIFF, or its machine translation.",
    ),
]
_Translated = Annotated[
    Path | None,
    typer.Option(
        "--translated",
        metavar="FILE",
        help="The translation before correction: only changed texts are added.",
    ),
]
_Learner = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Compute what this model needs to learn from the segments, now instead of when it "
        "translates.",
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _option(name: str, metavar: str, help: str) -> Any:
    return Annotated[str | None, typer.Option(name, metavar=metavar, help=help)]


_CHOICE: dict[str, Any] = {
    "numbers": Annotated[
        list[int] | None,
        typer.Option(
            "--id",
            metavar="N",
            min=1,
            max=2**63 - 1,
            help="A segment, by the id that `search --json` prints. Repeatable.",
        ),
    ],
    "file": _option("--file", "NAME", "Segments of this document."),
    "key": _option("--key", "NAME", "Segments with this key."),
    "origin": _option("--origin", "NAME", "Segments from this origin, as `info` lists it."),
    "who": _option("--who", "NAME", "Segments that this person confirmed."),
    "pattern": _option(
        "--pattern",
        "TEXT",
        "Segments whose whole source or target is TEXT, in this case; * stands for any text.",
    ),
}


def _choice(values: dict[str, Any]) -> "SegmentChoice":
    from yakusu.memory.choice import SegmentChoice

    for name, value in values.items():
        if isinstance(value, str):
            _check_utf8(f"--{name}", value)
    return SegmentChoice(**{**values, "numbers": tuple(values["numbers"] or ())})


takes_choice = grouped("choice", _CHOICE, _choice)


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.add_typer(memory_verbs)


@memory_verbs.command("add")
def memory_add_verb(
    memory: _Path,
    files: _Files = None,
    source: _Source = None,
    target: _Target = None,
    origin: _Origin = None,
    who: _Who = "",
    columns: _Columns = None,
    errors: _Errors = "strict",
    encoding: _Encoding = None,
    corrected: _Corrected = None,
    from_: _From = None,
    translated: _Translated = None,
    model: _Learner = None,
) -> None:
    """Add the segments of files to a memory, and create the memory if it does not exist.

    What the memory already has is not added again: after an interruption, repeat the command.

    Example: `yakusu memory add team.db team.tmx ui.po --source en --target de`

    Example: `yakusu memory add team.db --corrected guide.de.docx --from guide.docx`
    """
    from yakusu.data.corpus import checked_encoding, parse_columns
    from yakusu.memory.importing import ImportOptions, add_files

    if (source is None) != (target is None):
        raise RecipeError("--source and --target belong together: give both or none")
    languages = (source, target) if source is not None and target is not None else None
    options = ImportOptions(
        origin,
        who,
        parse_columns(columns) if columns else None,
        errors,
        checked_encoding(encoding or ""),
    )
    if corrected or from_ or translated:
        from yakusu.pipeline.corrections import add_corrected

        if not (corrected and from_) or files or columns:
            raise RecipeError("--corrected and --from name documents: give both, and no other file")
        _print_added(
            memory, add_corrected(memory, corrected, from_, translated, languages, options)
        )
    elif files or not memory.exists():
        _refuse_documents(files or [])
        _print_added(memory, add_files(memory, files or [], languages, options, ConsoleProgress()))
    elif model is None:
        raise RecipeError("there is nothing to add: name a file, such as team.tmx")
    if model is not None:
        from yakusu.pipeline.learning import add_states

        n = add_states(memory, model, progress=ConsoleProgress())
        print(f"{model}: states of {counted(n, 'segment')} added")


def _refuse_documents(files: Sequence[Path]) -> None:
    """Refuse documents, which have one language, except spreadsheets, which may be tables.

    Raises:
        DataError: There is one.
    """
    from yakusu.data.files.formats import format_by_name
    from yakusu.documents.suffixes import SUFFIXES

    for path in files:
        module = SUFFIXES.get(path.suffix.lower(), "")
        is_table = format_by_name(path) in ("xlsx", "ods")
        is_text = re.match(r"(epub|html|markdown|messages\.apps|office|pdf)\.|subtitles", module)
        if is_text and not is_table:
            raise DataError(
                f"{path} is a document in one language: give a translation memory or a table, or "
                "name a corrected translation with --corrected and its original with --from"
            )


def _print_added(path: Path, found: "Imported") -> None:
    known = f", {found.added.known:,} already there or repeated" if found.added.known else ""
    print(f"{path}: {counted(found.added.new, 'segment')} added{known}")
    if left_out := +found.left_out:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in sorted(left_out.items()))
        print(f"left out: {reasons}")


@memory_verbs.command("search")
def memory_search_verb(
    memory: _Path,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A text in the source language.")],
    threshold: Annotated[
        int, typer.Option(min=1, max=100, metavar="PERCENT", help="Lowest match rate.")
    ] = 75,
    n: Annotated[int, typer.Option("-n", min=1, help="Maximum number of matches.")] = 10,
    as_json: _Json = False,
) -> None:
    """Print the matches of a text: match rate, translation, source and origin.

    100% is the text itself; 99% has other numbers, which are filled in.

    Example: `yakusu memory search team.db "Save the file"`
    """
    from yakusu.memory.matches import find_matches
    from yakusu.memory.memory import TranslationMemory

    _check_utf8("the text", text)
    with TranslationMemory.open(memory) as opened, opened.snapshot():
        found = find_matches(opened, text, threshold=threshold / 100, most=n)
    if as_json:
        matches = [
            {"match": each.match, "translation": each.target, "id": each.number}
            | _stated(each.segment)
            for each in found
        ]
        print(json.dumps(matches, indent=2, ensure_ascii=False))
        return
    for each in found:
        texts = _shown(each.target), _shown(each.segment.source), _shown(each.segment.origin)
        print(f"{each.match}%", *texts, sep="\t")
    if not found:
        say(f"no matches of {threshold}% or more: lower it with --threshold")


def _check_utf8(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{name} is not UTF-8: set the locale of the terminal to UTF-8") from error


def _stated(segment: "MemorySegment") -> dict[str, str]:
    return {name: value for name, value in asdict(segment).items() if value}


def _shown(text: str) -> str:
    """A text in one line; inline markup is <0>, </0> or <0/>."""

    def tag(found: re.Match[str]) -> str:
        mark, number = found[0], number_of(found[0])
        if is_opening(mark):
            return f"<{number}>"
        return f"</{number}>" if is_closing(mark) else f"<{number}/>"

    return " ".join(_MARK.sub(tag, text).split())


@memory_verbs.command("export")
@takes_choice
def memory_export_verb(
    memory: _Path,
    out: Annotated[
        Path | None,
        typer.Argument(
            metavar="OUT",
            help="The file to write; it must not exist (default: standard output).",
        ),
    ] = None,
    to: Annotated[
        Literal["tmx", "tsv", "jsonl"] | None,
        typer.Option("--to", help="Format (default: that of the name of OUT)."),
    ] = None,
    *,
    choice: "SegmentChoice",
) -> None:
    """Write all or some segments of a memory as TMX, TSV or JSON lines.

    `memory add` reads these files with all fields.

    Example: `yakusu memory export team.db team.tmx`
    """
    from yakusu.folder import write_file
    from yakusu.memory.exporting import exported
    from yakusu.memory.memory import TranslationMemory

    form = to or _format_of(out)
    if out and (out.exists() or out.is_symlink()):
        raise DataError(f"{out} exists: choose another name, or remove it")
    left_out = list[None]()
    with TranslationMemory.open(memory) as opened, opened.snapshot():
        segments = (each.segment for each in opened.chosen(choice))
        parts = exported(segments, form, opened.languages, lambda: left_out.append(None))
        if out:
            write_file(out, lambda file: file.writelines(part.encode() for part in parts))
        else:
            sys.stdout.writelines(parts)
    if n := len(left_out):
        say(
            f"{counted(n, 'segment')} with control characters, which XML cannot hold, left out: "
            "export with --to jsonl"
        )


def _format_of(out: Path | None) -> "MemoryFormat":
    """The format that the name of a file states."""
    from yakusu.data.files.compressed import plain_name
    from yakusu.data.files.formats import format_by_name

    if out and plain_name(out) != str(out):
        raise RecipeError(f"{out} would not be compressed: choose another name")
    form = format_by_name(out) if out else None
    if form not in ("tmx", "tsv", "jsonl"):
        missing = f"{out} has no suffix of a format" if out else "the format is missing"
        raise RecipeError(f"{missing}: add --to tmx, --to tsv or --to jsonl")
    return form


@memory_verbs.command("merge")
def memory_merge_verb(
    memory: _Path,
    others: Annotated[
        list[Path], typer.Argument(metavar="OTHER...", help="Memories of the same languages.")
    ],
) -> None:
    """Add all segments of other memories to a memory, which is created if it does not exist.

    Example: `yakusu memory merge team.db anna.db ben.db`
    """
    from yakusu.memory.importing import merge_memories

    _print_added(memory, merge_memories(memory, others))


@memory_verbs.command("info")
def memory_info_verb(memory: _Path, as_json: _Json = False) -> None:
    """Print languages, size and revision of a memory, and its segments by person and origin.

    Example: `yakusu memory info team.db`
    """
    from yakusu.memory.memory import TranslationMemory

    with TranslationMemory.open(memory) as opened, opened.snapshot() as revision:
        facts = {
            "languages": opened.languages,
            "segments": len(opened),
            "bytes": memory.stat().st_size,
            "revision": revision,
            "who": opened.counts("who"),
            "origin": opened.counts("origin"),
            "file": opened.counts("file"),
        }
    if as_json:
        print(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    _print_facts(memory, facts)


def _print_facts(path: Path, facts: dict[str, Any]) -> None:
    from rich.filesize import decimal

    print(
        f"{path}: {'-'.join(facts['languages'])}, {counted(facts['segments'], 'segment')}, "
        f"{decimal(facts['bytes'])}, revision {facts['revision']:,}"
    )
    for name, title in (("who", "confirmed by"), ("origin", "origin"), ("file", "document")):
        counts = facts[name]
        if not counts.keys() - {""}:
            continue
        print(f"{title}:")
        for value, n in [*counts.items()][:_SHOWN]:
            print(f"  {n:>10,}  {_shown(value) or '(not stated)'}")
        if len(counts) > _SHOWN:
            print(f"  {len(counts) - _SHOWN:>10,}  more: --json lists all")


@memory_verbs.command("remove")
@takes_choice
def memory_remove_verb(
    memory: _Path,
    yes: Annotated[bool, typer.Option("--yes", help="Remove them without asking.")] = False,
    *,
    choice: "SegmentChoice",
) -> None:
    """Remove the segments that match all given options; print their number first, and ask.

    Example: `yakusu memory remove team.db --origin old.tmx --pattern '*Windows 95*'`
    """
    from yakusu.memory.memory import TranslationMemory

    if not choice:
        raise RecipeError(
            "nothing says which segments to remove: give --id, --file, --key, --origin, --who or "
            "--pattern"
        )
    with TranslationMemory.open(memory, writable=True) as opened:
        numbers = [each.number for each in opened.chosen(choice)]
        n = counted(len(numbers), "segment")
        if numbers and not (yes or _agrees(opened, n)):
            return
        say(f"removing {n} of {len(opened):,}")
        opened.remove(numbers)
    print(f"{memory}: {n} removed")


def _agrees(memory: "TranslationMemory", n: str) -> bool:
    """Ask on a terminal.

    Raises:
        RecipeError: There is none.
    """
    if not sys.stdin.isatty():
        raise RecipeError(
            f"{n} of {len(memory):,} would be removed from {memory.path}: add --yes to remove them"
        )
    return typer.confirm(f"Remove {n} of {len(memory):,} from {memory.path}?")
