"""The verbs, and what `yakusu --help` prints about them, without Typer."""

import sys
from pathlib import Path
from typing import NamedTuple

HELP = "Train, run, score and compress translators and parsers."


class Verb(NamedTuple):
    """A verb of the command line.

    Attributes:
        module: Its module in `yakusu.cli`, which is imported when the verb runs.
        help: The first sentence of its help text.
    """

    module: str
    help: str


VERBS = {
    "check": Verb(
        "check", "Report the contents of a corpus and what training would drop, without training."
    ),
    "align": Verb("align", "Pair the sentences of a text with those of its translation."),
    "mine": Verb(
        "align", "Find the sentences of two texts that translate each other, in any order."
    ),
    "prepare": Verb("train", "Filter a corpus, learn its vocabulary and convert it to token ids."),
    "train": Verb("train", "Prepare a corpus and train a translator or a parser."),
    "average": Verb("train", "Average the last checkpoints of a run into a model folder."),
    "demo": Verb(
        "train",
        "Train a small translator on a generated phrasebook and translate unseen sentences.",
    ),
    "improve": Verb(
        "improve",
        "Train a model further on the pairs of translation memories, and compare both models.",
    ),
    "distil": Verb(
        "distil", "Train a small student on the translations of one or several teachers."
    ),
    "backtranslate": Verb(
        "distil", "Make pairs with a synthetic source from text in the target language."
    ),
    "translate": Verb(
        "translate",
        "Translate standard input, a text file, a document or a folder of documents.",
    ),
    "models": Verb(
        "models", "List the bundled translators, whose names can be used in place of model folders."
    ),
    "memory": Verb("memory", "Create, search, export and merge translation memories."),
    "score": Verb("score", "Print the log-probability that a model assigns to given translations."),
    "evaluate": Verb(
        "evaluate",
        "Score translations with BLEU, chrF and TER, or trees with labelled F1 as EVALB does.",
    ),
    "verify": Verb(
        "evaluate",
        "Check every file of a model against its recorded hash and print how the model was made.",
    ),
    "card": Verb(
        "card",
        "Store language codes, a memory or a lexicon in a model folder, and renew its hashes.",
    ),
    "compress": Verb("compress", "Compress the embeddings of a translator, without training."),
    "import": Verb(
        "interop",
        "Make a translator from a model of Marian, such as Opus-MT, CTranslate2 or Argos "
        "Translate.",
    ),
    "export": Verb(
        "interop", "Write a translator as a web page, or for another library, and verify it there."
    ),
    "vectors": Verb("vectors", "Compress, inspect, score and search vectors."),
    "view": Verb(
        "view",
        "Show the attention of a model: pictures of one sentence, or statistics over a corpus.",
    ),
    "serve": Verb(
        "serve",
        "Serve translators: a web page, and the APIs of LibreTranslate, DeepL and ModernMT.",
    ),
}
OPTIONS = {
    "--version": "Print the version and exit.",
    "--debug": "Print the traceback of an error; also after the verb.",
    "--install-completion": "Install completion for the current shell.",
    "--show-completion": "Show completion for the current shell, to copy it or customize the "
    "installation.",
    "--help": "Show this message and exit.",
}


def print_overview() -> None:
    """Print the options and the verbs, in the layout in which Typer prints those of a verb."""
    from rich.console import Console  # the verbs do not need Rich
    from rich.padding import Padding
    from rich.panel import Panel
    from rich.table import Table

    console = Console(highlight=False)
    usage = f"[yellow]Usage:[/] {_program()} \\[OPTIONS] COMMAND \\[ARGS]..."
    console.print(Padding(usage, 1), style="bold")
    console.print(Padding(HELP, (0, 1, 1, 1)))
    kind = "[dim]<[/][bold yellow]bool[/][dim]>[/]"
    options = [(name, *("", "", ""), kind, text) for name, text in OPTIONS.items()]
    verbs = [(name, verb.help) for name, verb in VERBS.items()]
    for title, rows in (("Options", options), ("Commands", verbs)):
        table = Table(box=None, expand=True, pad_edge=False, show_header=False)
        table.add_column(style="bold cyan", width=max(len(row[0]) for row in rows))
        for row in rows:
            table.add_row(*row)
        table.columns[-1].ratio = 1
        console.print(Panel(table, border_style="dim", title=title, title_align="left"))


def _program() -> str:
    """The command, as Click names it."""
    name = Path(sys.argv[0]).name
    return "python -m yakusu" if name == "__main__.py" else name
