"""What a translation changes although nothing is translated: the differences that a copier makes.

A copier is a translator whose hypothesis is its source: both sides have one vocabulary, and each
token is linked to itself. What differs in its output was changed by the code that reads and writes
text, not by a model. Each file is translated twice: with a vocabulary that was learned from other
text, so that words with unseen characters are copied, and with one that knows all its characters.

Files of text are translated line by line, and documents of all formats text by text. For each file,
the number of texts that changed is printed, and each of them as it was (-) and as it became (+);
<0>, </0> and <0/> stand for the markup of a document. Without files, the texts in
messages/texts.txt are translated as lines and in documents, and so are the other files there.

With --reverse, the words of each sentence are written in reverse order, and the texts are printed
whose code-like tokens are not those of the source.
"""

import argparse
import html
import json
import re
import string
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Self

import numpy as np

from benchmarks.common import Benchmark
from benchmarks.tables import Table
from yakusu.arrays import Floats
from yakusu.data.coverage import Coverage
from yakusu.data.lines.layout import Layout
from yakusu.data.lines.private_use import (
    MARKS,
    is_closing,
    is_mark,
    is_opening,
    number_of,
)
from yakusu.data.lines.spans import SpanFinder
from yakusu.data.lines.spans import texts as protected
from yakusu.data.pieces import SPACE
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig
from yakusu.documents.document import DocumentOptions
from yakusu.documents.registry import is_supported, read_document
from yakusu.errors import DataError
from yakusu.model.config import Role
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Decoder, IdPair, Query, TargetScore
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.tokens import TokenRules
from yakusu.translator import Translator

MESSAGES = Path(__file__).parent / "messages"
TEXTS = MESSAGES / "texts.txt"
LONGEST = 1024  # tokens of a sentence
VOCABULARIES = {"other text": False, "the file": True}  # what it is learned from: with the file?
_PUNCTUATION = string.punctuation + "‘’“”„«»–—…¿¡§©®°·×÷±€£¥¢µ¶†‡•"
_LATIN = "äöüßéèêëàâçîïôùûÿœæñáíóúãõåøÄÖÜÉÈÀÇÑÁÍÓÚÅØ"

benchmark = Benchmark(
    "copier",
    __doc__,
    example="python -m benchmarks.reliability.copier docs/*.md strings/en.json notes.txt",
    quick={"texts": 6},
)
benchmark.option("files", nargs="*", type=Path, metavar="FILE", help="files to translate")
benchmark.option("--language", default="en", help="code of their language (%(default)s)")
benchmark.option("--reverse", action="store_true", help="write words in reverse order")
benchmark.option("--texts", type=int, help="without files: only the first texts of each language")

tables = Table(
    (
        ("Format", "{format}"),
        ("Vocabulary learned from", "{vocabulary}"),
        ("Texts", "{texts:,.0f}"),
        ("Changed", "{changed:,.0f}"),
    )
)


# ---- the copier ----------------------------------------------------------------------------------


class CopyingSearches:
    """Searches whose only hypothesis has the tokens of the source.

    Args:
        order: The positions of source tokens in the order of the hypothesis.
    """

    def __init__(self, order: Callable[[Sequence[int]], Sequence[int]]) -> None:
        self._order = order
        self._queries: list[Query] = []

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """End."""

    def submit(self, query: Query) -> None:
        """Add a sentence."""
        self._queries.append(query)

    def results(self) -> list[list[Hypothesis]]:
        """The hypothesis of each sentence."""
        sources = [query.source[:-1] for query in self._queries]
        tokens = (tuple(source[i] for i in self._order(source)) for source in sources)
        return [[Hypothesis(each, -1.0, -1.0)] for each in tokens]


class Copier(Decoder):
    """A model whose translation has the tokens of the source; each attends to itself.

    Args:
        starts: The tokens that begin words, to put the words in reverse order; (): all words keep
            their places.
    """

    max_length = LONGEST
    roles: Collection[Role] = ("cross",)
    n_members = 1

    def __init__(self, starts: Collection[int] = ()) -> None:
        self._starts = starts

    def order(self, source: Sequence[int]) -> list[int]:
        """The positions of source tokens, without eos, in the order of the translation."""
        words: list[list[int]] = []
        for position, token in enumerate(source):
            if not words or token in self._starts:
                words.append([])
            words[-1].append(position)
        return [position for word in reversed(words) for position in word]

    def searches(self, config: SearchConfig, rules: TokenRules, *, batch: int) -> CopyingSearches:
        """Begin searches."""
        del config, rules, batch
        return CopyingSearches(self.order)

    def score(self, pairs: Sequence[IdPair], *, alternatives: int, batch: int) -> list[TargetScore]:
        """Probability 1 for all tokens."""
        del alternatives, batch
        return [TargetScore((0.0,) * len(target), ((),) * len(target)) for _, target in pairs]

    def attentions(
        self, pairs: Sequence[IdPair], roles: Collection[Role]
    ) -> list[list[dict[Role, Floats]]]:
        """One weight of 1 for each token."""
        found = []
        for source, target in pairs:
            order = [*self.order(source[:-1]), len(source) - 1]
            weights = np.eye(len(source), dtype=np.float32)[order[: len(target)]]
            found.append([dict.fromkeys(roles, weights[None, None])])
        return found


def copier(language: str, known: Sequence[str] = (), *, reverses: bool = False) -> Translator:
    """A translator whose output is its input.

    Args:
        language: Code of the language.
        known: Texts whose characters the vocabulary contains, besides those of other text.
        reverses: The output has the words of each sentence in reverse order.
    """
    seen = {*"".join(_corpus()), *string.whitespace}
    more = "".join(c for c in sorted({*"".join(known)}) if c not in seen and not is_mark(c))
    tokenizer, search = _tokenizer(more), SearchConfig(max_repeats=0)
    pieces = enumerate(tokenizer.target_pieces(range(len(tokenizer.tgt)))) if reverses else ()
    starts = frozenset(i for i, piece in pieces if piece.startswith(SPACE))
    return Translator(Copier(starts), tokenizer, languages=(language, language), search=search)


@cache
def _tokenizer(more: str) -> Tokenizer:
    """A vocabulary with the characters of the corpus and some more."""
    lines = [*_corpus(), *([more] * 20 if more else ())]
    config = TokenizerConfig(vocab_size=900 + len(more))
    tokenizer = Tokenizer.train(lines, lines, config, seed=1)
    characters = "".join(sorted({*"".join(lines)}))
    tokenizer.coverage = Coverage(
        source_characters=characters, target_characters=characters, longest_source=200
    )
    return tokenizer


def _corpus() -> Iterator[str]:
    """The lines from which vocabularies are learned."""
    for i in range(160, 460):
        yield (
            f"Room {i} costs {i},{i % 10}00 or {i % 24}:{i % 60:02d}, the {i % 7}th. "
            "A train leaves from here, and people wait for it: they read, eat and talk a lot."
        )
    for _ in range(20):
        yield f"{string.ascii_letters} {string.digits} {_PUNCTUATION} {_LATIN}"


# ---- files ---------------------------------------------------------------------------------------


class Copied(NamedTuple):
    """What a copier made of a file.

    Attributes:
        n_texts: Number of its texts, or lines.
        changed: Each text that changed, and what it became.
        skipped: What the format leaves as it is, each with a reason.
        same_bytes: Of a document in which no text changed: whether it was written as it was.
    """

    n_texts: int
    changed: list[tuple[str, str]]
    skipped: Sequence[str] = ()
    same_bytes: bool = True


def copy_file(path: Path, language: str, *, known: bool, reverses: bool = False) -> Copied:
    """Translate a file with a copier.

    Args:
        path: The file.
        language: Code of its language.
        known: Whether the vocabulary contains its characters.
        reverses: The words are written in reverse order, and a text has changed if its code-like
            tokens have.
    """
    different = _with_other_tokens if reverses else _different
    if path.suffix.lower() in (".txt", ".text") or not is_supported(path):
        lines = path.read_text(encoding="utf-8").split("\n")
        translator = copier(language, lines if known else (), reverses=reverses)
        outputs = [best[0].text for best in translator.stream(lines, layout=Layout())]
        return Copied(len(lines), different(lines, outputs))
    document = read_document(path, DocumentOptions(retranslate=True))
    translator = copier(language, document.texts if known else (), reverses=reverses)
    outputs = translator.translate(document.texts)
    changed = different(document.texts, outputs)
    data = document.render(outputs)
    is_bilingual = path.suffix.lower() in (".po", ".pot", ".xlf", ".xliff")
    same_bytes = is_bilingual or outputs != list(document.texts) or data == path.read_bytes()
    return Copied(len(document.texts), changed, document.skipped, same_bytes)


def _different(texts: Sequence[str], outputs: Sequence[str]) -> list[tuple[str, str]]:
    return [pair for pair in zip(texts, outputs, strict=True) if pair[0] != pair[1]]


def _with_other_tokens(texts: Sequence[str], outputs: Sequence[str]) -> list[tuple[str, str]]:
    finder = SpanFinder()
    pairs = zip(texts, outputs, strict=True)
    return [pair for pair in pairs if len({tuple(protected(finder.find(t))) for t in pair}) > 1]


def shown(text: str) -> str:
    """A text of a document with tags in place of its marks, on one line."""

    def tag(found: re.Match[str]) -> str:
        mark, number = found[0], number_of(found[0])
        if is_opening(mark):
            return f"<{number}>"
        return f"</{number}>" if is_closing(mark) else f"<{number}/>"

    return re.sub(MARKS, tag, text).replace("\n", "\\n")


# ---- texts of its own ----------------------------------------------------------------------------


def texts_of(path: Path = TEXTS, most: int | None = None) -> dict[str, list[str]]:
    """The texts of each language; at most `most` of each."""
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        language, text = line.split("\t", 1)
        found.setdefault(language, []).append(text)
    return {language: texts[:most] for language, texts in found.items()}


def write_documents(folder: Path, texts: Sequence[str]) -> list[Path]:
    """Write a file of each format with these texts."""
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in texts]
    units = [
        f'<trans-unit id="{i}"><source>{html.escape(text)}</source></trans-unit>'
        for i, text in enumerate(texts)
    ]
    contents = {
        "txt": "\n".join(texts),
        "md": "\n\n".join(texts) + "\n",
        "html": "".join(f"<p>{text}</p>\n" for text in texts),
        "json": json.dumps({f"key {i}": text for i, text in enumerate(texts)}, ensure_ascii=False),
        "po": _PO_HEADER + "\n".join(f'\nmsgid "{text}"\nmsgstr ""' for text in quoted) + "\n",
        "xlf": _XLIFF.format("".join(units)),
        "srt": "\n".join(
            f"{i}\n00:00:{i:02},000 --> 00:00:{i:02},900\n{t}\n" for i, t in enumerate(texts)
        ),
    }
    paths = []
    for suffix, content in contents.items():
        paths.append(folder / f"texts.{suffix}")
        paths[-1].write_text(content, encoding="utf-8")
    for suffix, (members, paragraph) in _ARCHIVES.items():
        paths.append(folder / f"texts.{suffix}")
        body = "".join(paragraph.format(html.escape(text)) for text in texts)
        with zipfile.ZipFile(paths[-1], "w") as archive:
            for name, member in members.items():
                archive.writestr(name, member.replace("BODY", body))
    return paths


_PO_HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
_XLIFF = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<xliff version="1.2"><file original="texts" '
    'datatype="plaintext" source-language="en"><body>{}</body></file></xliff>\n'
)


_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_OPEN = "urn:oasis:names:tc:opendocument:xmlns"
_ARCHIVES = {  # the members of a file, and a paragraph
    "docx": (
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
            f'content-types"><Override PartName="/document.xml" ContentType="{_WORD}"/></Types>',
            "document.xml": '<w:document xmlns:w="http://schemas.openxmlformats.org/'
            'wordprocessingml/2006/main"><w:body>BODY</w:body></w:document>',
        },
        "<w:p><w:r><w:t>{}</w:t></w:r></w:p>",
    ),
    "odt": (
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f'<office:document-content xmlns:office="{_OPEN}:office:1.0" '
            f'xmlns:text="{_OPEN}:text:1.0"><office:body><office:text>BODY</office:text>'
            "</office:body></office:document-content>",
        },
        "<text:p>{}</text:p>",
    ),
}


# ---- the measurement -----------------------------------------------------------------------------


def report(name: str, copied: Copied) -> None:
    """Print what was changed."""
    changed = f"{len(copied.changed):,} changed" if copied.changed else "none changed"
    print(f"{name}: {copied.n_texts:,} texts, {changed}")
    for text, output in copied.changed:
        print(f"  - {shown(text)}\n  + {shown(output)}")
    for reason in copied.skipped:
        print(f"  {reason}")
    if not copied.same_bytes:
        print("  the file was not written as it was")


def measure(args: argparse.Namespace) -> None:
    """Translate the files in the folder messages, and record the numbers for each format.

    Raises:
        DataError: The words are written in reverse order, and the numbers should be recorded.
    """
    if args.reverse and args.record:
        raise DataError("only texts that are not reversed are recorded: leave out --reverse")
    totals: dict[tuple[str, str], Counter[str]] = {}
    with TemporaryDirectory() as scratch:
        for language, path in _samples(Path(scratch), args.texts):
            for vocabulary, known in VOCABULARIES.items():
                copied = copy_file(path, language, known=known, reverses=args.reverse)
                report(f"{language}, {path.name}, vocabulary of {vocabulary}", copied)
                total = totals.setdefault((path.suffix[1:], vocabulary), Counter())
                total.update(texts=copied.n_texts, changed=len(copied.changed))
    for (name, vocabulary), total in totals.items():
        print(f"{name}, vocabulary of {vocabulary}: {total['changed']} of {total['texts']} changed")
        counts = {"texts": total["texts"], "changed": total["changed"]}
        found = {"name": f"{name}, {vocabulary}", "format": name, "vocabulary": vocabulary}
        benchmark.record(found | counts)


def _samples(scratch: Path, most: int | None) -> Iterator[tuple[str, Path]]:
    """The files in the folder messages, and documents with its texts; each with its language."""
    for language, texts in texts_of(most=most).items():
        (scratch / language).mkdir()
        for path in write_documents(scratch / language, texts):
            yield language, path
    for path in sorted(MESSAGES.iterdir()):
        if path != TEXTS:
            yield "de", path


def main(args: argparse.Namespace) -> None:
    """Translate files, or those in the folder messages."""
    if not args.files:
        measure(args)
    for path in args.files:
        for vocabulary, known in VOCABULARIES.items():
            copied = copy_file(path, args.language, known=known, reverses=args.reverse)
            report(f"{path}, vocabulary of {vocabulary}", copied)


if __name__ == "__main__":
    benchmark.run(main)
