"""Honest documents of 20 MB are translated within 512 MB of memory and 60 s of CPU time."""

import io
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.cases import THOROUGH
from tests.documents.packages import workbook
from tests.documents.shared import with_members
from tests.documents.test_docx import MAIN, document_xml, docx_of

SIZE = 20 << 20
MEMORY = 512 << 20
SECONDS = 60
RENDER = """
import resource, sys, time
from importlib import import_module
from pathlib import Path
from yakusu.documents.document import DocumentOptions
module = import_module(f"yakusu.documents.{sys.argv[1]}")
data = Path(sys.argv[2]).read_bytes()
module.read(Path(sys.argv[3]).read_bytes(), DocumentOptions())
memory, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
document = module.read(data, DocumentOptions())
written = document.render([text.replace("e", "é") for text in document.texts])
assert written != data
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory)
"""


def sentences(n_characters: int) -> Iterator[str]:
    """Sentences of invented words, which compress like those of a language."""
    rng = random.Random(1)
    letters = "etaoinshrdlucmfwyp"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 10))) for _ in range(20_000)]
    while n_characters > 0:
        sentence = " ".join(rng.choices(words, k=rng.randint(8, 40)))
        n_characters -= len(sentence)
        yield sentence


def word_document(n_characters: int) -> bytes:
    """A document with a bold word in each paragraph."""
    body = io.StringIO()
    for sentence in sentences(n_characters):
        first, bold, rest = sentence.split(" ", 2)
        body.write(
            f'<w:p w:rsidR="00A77427"><w:pPr><w:pStyle w:val="BodyText"/></w:pPr><w:r><w:t '
            f'xml:space="preserve">{first} </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>{bold}'
            f'</w:t></w:r><w:r><w:t xml:space="preserve"> {rest}.</w:t></w:r></w:p>'
        )
    return with_members(docx_of(""), {MAIN: document_xml(body.getvalue()).encode()})


def xliff(n_characters: int) -> bytes:
    """A file of units without translations."""
    units = "".join(
        f'<trans-unit id="{number}">\n  <source>{sentence}</source>\n</trans-unit>\n'
        for number, sentence in enumerate(sentences(n_characters))
    )
    name = "urn:oasis:names:tc:xliff:document:1.2"
    return (
        f'<xliff version="1.2" xmlns="{name}"><file original="a" source-language="en" '
        f'datatype="plaintext"><body>{units}</body></file></xliff>'
    ).encode()


def page(n_characters: int) -> bytes:
    """Paragraphs with a link in each."""
    body = io.StringIO()
    for number, sentence in enumerate(sentences(n_characters)):
        first, linked, rest = sentence.split(" ", 2)
        body.write(f'<p class="text">{first} <a href="#{number}">{linked}</a> {rest}.</p>\n')
    return f"<!DOCTYPE html><html><body>{body.getvalue()}</body></html>".encode()


def catalogue(n_characters: int) -> bytes:
    """Entries without translations, with the places of the texts."""
    entries = "".join(
        f'#: src/menu.c:{number}\nmsgid "{sentence}"\nmsgstr ""\n\n'
        for number, sentence in enumerate(sentences(n_characters))
    )
    return f'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n{entries}'.encode()


def resources(n_characters: int) -> bytes:
    """Strings of an Android app."""
    strings = "".join(
        f'    <string name="key_{number}">{sentence}</string>\n'
        for number, sentence in enumerate(sentences(n_characters))
    )
    return f"<resources>\n{strings}</resources>\n".encode()


def properties(n_characters: int) -> bytes:
    """Messages of a Java program."""
    return "".join(
        f"key.{number} = {sentence}\n" for number, sentence in enumerate(sentences(n_characters))
    ).encode()


def _by_four(cells: Sequence[str]) -> Iterator[Sequence[str]]:
    return (cells[at : at + 4] for at in range(0, len(cells), 4))


def sheet(n_cells: int) -> bytes:
    """A workbook with texts in its cells, four in each row."""
    cells = [
        f'<c r="{"ABCD"[n % 4]}{n // 4 + 1}" t="inlineStr"><is><t>A text with e {n}</t></is></c>'
        for n in range(n_cells)
    ]
    rows = (f'<row r="{n}">{"".join(row)}</row>' for n, row in enumerate(_by_four(cells), 1))
    return workbook("", "".join(rows))


def used(module: str, make: Callable[[int], bytes], size: int, folder: Path) -> tuple[float, float]:
    """Processor seconds and bytes of memory to read and write a document."""
    large, small = folder / "large", folder / "small"
    large.write_bytes(make(size))
    small.write_bytes(make(1000))
    arguments = [sys.executable, "-c", RENDER, module, str(large), str(small)]
    shown = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
    seconds, memory = map(float, shown.split())
    return seconds, 1024 * memory


@pytest.mark.skipif(not THOROUGH, reason="takes half a minute")
@pytest.mark.parametrize(
    ("module", "make", "size"),
    [("office.docx", word_document, 200 * 3000), ("office.xlsx", sheet, 100_000)],
)
def test_200_pages_and_100_000_cells_take_5_seconds_and_300_mb(
    module: str, make: Callable[[int], bytes], size: int, tmp_path: Path
) -> None:
    seconds, memory = used(module, make, size, tmp_path)
    assert seconds < 5
    assert memory < 300e6


@pytest.mark.skipif(not THOROUGH, reason="takes minutes")
@pytest.mark.parametrize(
    ("module", "make", "n_characters"),
    [
        ("office.docx", word_document, 1.65 * SIZE),
        ("messages.xliff", xliff, 0.76 * SIZE),
        ("html.html", page, 0.82 * SIZE),
        ("messages.po", catalogue, 0.84 * SIZE),
        ("messages.apps.android", resources, 0.82 * SIZE),
        ("messages.apps.properties", properties, 0.94 * SIZE),
    ],
)
def test_an_honest_file_of_20_mb_stays_within_the_limits(
    module: str, make: Callable[[int], bytes], n_characters: float, tmp_path: Path
) -> None:
    assert SIZE < len(make(int(n_characters))) < 1.1 * SIZE
    seconds, memory = used(module, make, int(n_characters), tmp_path)
    assert memory < MEMORY
    assert seconds < SECONDS
