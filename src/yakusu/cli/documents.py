"""Documents of the verb `translate`."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from yakusu.cli.console import ConsoleProgress
from yakusu.cli.show import counted, report
from yakusu.errors import DataError, ModelError

if TYPE_CHECKING:
    from yakusu.translator import Translator

_log = logging.getLogger(__name__)
_LISTED = 10  # messages of a document that were left as they were


def refuse_document(source: str, *, is_text: bool) -> None:
    """Refuse a document that would be read as lines of text."""
    from yakusu.documents.registry import SUFFIXES

    if Path(source).is_dir():
        raise DataError(f"{source} is a folder: add --out FOLDER to translate its documents")
    if is_text and SUFFIXES.get(Path(source).suffix.lower(), "text") != "text":
        raise DataError(f"{source} is a document: add --out FILE to translate it")


def translate_documents(
    translator: "Translator", source: str, out: str, *, retranslate: bool, overwrite: bool
) -> None:
    """Translate documents and print what was done with each."""
    from yakusu.documents.document import DocumentOptions
    from yakusu.pipeline.documents import translate_files

    if translator.task.constrains:
        raise ModelError("a parser cannot translate documents: use a translator")
    options = DocumentOptions(translator.languages, retranslate)
    done = translate_files(
        translator.translate,
        source,
        out,
        options,
        overwrite=overwrite,
        progress=ConsoleProgress(),
    )
    for file in done.files:
        print(f"{file.out}: " + ("copied" if file.copied else counted(file.texts, "text")))
        for reason in file.skipped[:_LISTED]:
            _log.warning("%s: %s", file.source, reason)
        if more := file.skipped[_LISTED:]:
            _log.warning("%s: %s more are unchanged", file.source, counted(len(more), "message"))
    report(translator.tally)
