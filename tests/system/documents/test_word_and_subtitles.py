"""Word documents and subtitles keep everything but their texts."""

import re
from pathlib import Path

import docx
import pysubs2
import pytest

from tests.documents.shared import members


def test_a_word_document_keeps_its_styles_formatting_and_parts(source: Path, out: Path) -> None:
    before, after = (docx.Document(str(folder / "letter.docx")) for folder in (source, out))
    assert [p.style.name for p in after.paragraphs] == [p.style.name for p in before.paragraphs]
    formats = [
        sorted({(run.bold, run.italic) for run in document.paragraphs[1].runs}, key=str)
        for document in (before, after)
    ]
    assert formats[0] == formats[1]
    assert after.paragraphs[1].text.count("{time}") == 1
    assert after.paragraphs[1].text.count("\n") == 1
    assert after.tables[0].cell(1, 1).text == "12"
    assert after.sections[0].header.paragraphs[0].text != "Letter of the week"
    assert after.core_properties.title == "Bridge"
    changed = {"word/document.xml", "word/header1.xml"}
    parts = [members((folder / "letter.docx").read_bytes()) for folder in (source, out)]
    assert list(parts[0]) == list(parts[1])
    assert {name for name in parts[0] if parts[0][name] != parts[1][name]} == changed


@pytest.mark.parametrize("name", ["film.srt", "lesson.vtt"])
def test_subtitles_keep_their_times_and_tags(name: str, source: Path, out: Path) -> None:
    old, new = (pysubs2.load(str(folder / name), keep_html_tags=True) for folder in (source, out))
    assert [(cue.start, cue.end) for cue in new] == [(cue.start, cue.end) for cue in old]
    tag = r"<[^>]+>|\{\\an\d\}|^- "
    assert [sorted(re.findall(tag, cue.plaintext, re.M)) for cue in new] == [
        sorted(re.findall(tag, cue.plaintext, re.M)) for cue in old
    ]
    kept = ("NOTE Recorded in the kitchen.", "::cue(.loud) { color: red }", "line:90% align:start")
    written = (out / name).read_text(encoding="utf-8")
    assert name != "lesson.vtt" or all(part in written for part in kept)
