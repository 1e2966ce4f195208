"""What holds for the translations of documents of every format."""

import json
import re
from pathlib import Path

import pytest

import yakusu
from tests.system.documents.files import NAMES, XLIFF
from yakusu.data.lines.private_use import is_mark
from yakusu.data.lines.spans import SpanFinder, texts
from yakusu.documents.document import DocumentOptions
from yakusu.documents.registry import read_document


def test_every_document_is_translated(work: Path) -> None:
    done = json.loads((work / "done.json").read_text())
    assert list(done) == NAMES
    assert [name for name, file in done.items() if file["copied"]] == []
    assert {name: file["skipped"] for name, file in done.items() if file["skipped"]} == {
        "strings.json": 2  # "spoon" and an address
    }
    assert [name for name, file in done.items() if file["unchanged"] > file["texts"] / 4] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_translation_has_as_many_texts_with_the_same_spans(
    name: str, source: Path, out: Path
) -> None:
    # The words of an untrained model may look like names of programs.
    finder = SpanFinder(unprotect=("identifier", "part_number"))
    options = DocumentOptions(("en", "de"), retranslate=True)
    before, after = (read_document(folder / name, options).texts for folder in (source, out))
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        spans = [
            [span for span in texts(finder.find(text)) if not is_mark(span[0][0])]
            for text in (old, new)
        ]
        assert spans[0] == spans[1], (old, new)


@pytest.mark.parametrize("name", NAMES)
def test_a_translation_has_no_invalid_and_no_private_characters(name: str, out: Path) -> None:
    options = DocumentOptions(("en", "de"), retranslate=True)
    written = "".join(read_document(out / name, options).texts)
    assert re.findall("[\u2047\ufffd\ue000-\ue0ff\U00100000-\U0010ffff]", written) == []


def test_the_result_does_not_depend_on_the_folder(
    model: Path, source: Path, out: Path, tmp_path: Path
) -> None:
    text = yakusu.TextConfig(check=False)
    yakusu.translate_document(model, source / "readme.md", tmp_path / "a.md", text=text)
    assert (tmp_path / "a.md").read_bytes() == (out / "readme.md").read_bytes()


@pytest.mark.parametrize("name", ["shop.po", "shop.ts", *XLIFF])
def test_what_was_translated_is_not_translated_again(
    name: str, model: Path, out: Path, tmp_path: Path
) -> None:
    again = tmp_path / name
    (found,) = yakusu.translate_document(model, out / name, again).files
    assert found.texts == 0 and again.read_bytes() == (out / name).read_bytes()
