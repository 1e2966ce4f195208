"""What is written is read: lists, corpora, messages and settings with hostile text."""

import json
import logging
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.cases import examples
from yakusu.cli.show import as_json, as_text
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.files.formats import read_file
from yakusu.data.files.long_lines import LongLines
from yakusu.data.files.po import PoReader
from yakusu.data.files.text import InvalidLines, PairFile, decode_lines
from yakusu.documents import subtitles
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.messages import json_strings, po, xliff
from yakusu.documents.messages.po_file import PoFile
from yakusu.pipeline.score import _entries
from yakusu.pipeline.shards.parts import as_line, from_line
from yakusu.pipeline.synthetic.corpus import _write_pairs
from yakusu.recipe import load_recipe, save_recipe
from yakusu.serve.suggestions import Suggestions
from yakusu.translator import Translation

TRAPS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\ufeff\u00a0\t\"'\\,;|#{}<>&%=[]: \u200bé東😀"
CHARACTERS = st.one_of(st.sampled_from(TRAPS), st.characters(exclude_categories=("Cs", "Cc", "Co")))
HOSTILE = st.text(CHARACTERS)  # of one line
WORDED = HOSTILE.map(lambda text: f"a{text}b")  # white space at the ends may be removed
TEXTS = st.lists(HOSTILE, min_size=1, max_size=4)


def translations(texts: list[str]) -> list[Translation]:
    return [Translation(text, -float(i), -2.0 * i, 1) for i, text in enumerate(texts)]


def as_bytes(lines: list[str]) -> list[bytes]:
    return [line + b"\n" for line in "\n".join(lines).encode().split(b"\n")]


@given(st.lists(TEXTS, max_size=3))
def test_n_best_lists(every: list[list[str]]) -> None:
    show, printed = as_text(4), list[str]()
    for number, texts in enumerate(every, start=1):
        printed += show(number, translations(texts))
    lines = decode_lines(iter(as_bytes(printed) if printed else []), "list")
    entries = [entry for _, entry in _entries(lines, [""] * len(every), ("a", "list"))]
    expected = [(n, text) for n, texts in enumerate(every, start=1) for text in texts]
    assert [(entry.number, entry.text) for entry in entries] == expected
    assert all(entry.has_log_prob for entry in entries)


@given(TEXTS)
def test_json_lines(texts: list[str]) -> None:
    (line,) = as_json(3, translations(texts))
    assert "\n" not in line
    assert [each["text"] for each in json.loads(line)["translations"]] == texts
    assert from_line(as_line(texts, 4), 4) == texts


@given(st.lists(HOSTILE, min_size=1))
def test_suggestions(texts: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "suggestions.jsonl"
        suggestions = Suggestions(path, 10**6)
        for text in texts:
            suggestions.add({"q": text})
        lines = path.read_bytes().decode().split("\n")
    assert [json.loads(line)["q"] for line in lines[:-1]] == texts


@given(st.lists(st.tuples(WORDED, WORDED), min_size=1))
def test_corpora(pairs: list[tuple[str, str]]) -> None:
    with TemporaryDirectory() as folder:
        assert _write_pairs(Path(folder), "train", pairs) == len(pairs)
        src, tgt = (f"{folder}/train.{side}" for side in ("src", "tgt"))
        assert list(read_pairs(Corpus(src=src, tgt=tgt))) == pairs


def translated(document: Document, text: str) -> bytes:
    return document.render([text] * len(document.texts))


def pairs_in(data: bytes, name: str) -> list[tuple[str, str]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        remark = list[str]().append
        return list(read_file(PairFile(str(path), (1, 2), InvalidLines(), LongLines(), remark)))


PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'


@given(st.text() | st.text(st.sampled_from(TRAPS + "\n\a\b")))
def test_strings_of_po_files(value: str) -> None:
    lines = PoFile(PO.encode()).write("msgstr", value)
    (_, entry) = PoReader("UTF-8").entries([*PO.split("\n"), 'msgid "a"', *lines])
    assert entry.forms[0].value == value


@given(note=HOSTILE, text=WORDED)
def test_po_files_with_notes(note: str, text: str) -> None:
    source = f'{PO}#. {note}\n#: {note}\n# {note}\nmsgid "One dog"\nmsgstr ""\n'
    made = translated(po.read(source.encode(), DocumentOptions()), text)
    assert made.startswith(f"{PO}#. {note}\n#: {note}\n# {note}\n".encode())
    final = made.replace(b"#, fuzzy\n", b"")
    assert pairs_in(final, "a.po") == [("One dog", text)]


def is_xml(text: str) -> bool:
    return all(c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff") for c in text)


@given(note=HOSTILE.filter(is_xml), text=WORDED.filter(is_xml))
def test_xliff_files_with_notes(note: str, text: str) -> None:
    source = (
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file '
        'source-language="en" target-language="de"><body><trans-unit id="1"><source>One dog'
        f"</source><note>{escape(note)}</note></trans-unit></body></file></xliff>"
    )
    made = translated(xliff.read(source.encode(), DocumentOptions()), text)
    assert f"<note>{escape(note)}</note>".encode() in made
    (target,) = etree.fromstring(made).iter("{*}target")
    assert target.text == text
    reviewed = re.sub(rb"<target [^>]*>", b"<target>", made)
    assert pairs_in(reviewed, "a.xlf") == [("One dog", text)]


@given(note=HOSTILE, text=WORDED)
def test_json_files(note: str, text: str) -> None:
    source = json.dumps({"note": "One dog", "b": [note]}, ensure_ascii=False)
    made = json.loads(translated(json_strings.read(source.encode(), DocumentOptions()), text))
    assert made["note"] == text


@given(HOSTILE)
def test_comments_of_subtitles(note: str) -> None:
    source = f"WEBVTT\n\nNOTE {note}\n\n00:01.000 --> 00:02.000\nOne dog\n".encode()
    document = subtitles.read(source, DocumentOptions())
    assert "One dog" in document.texts
    assert document.render(document.texts) == source


@given(HOSTILE)
@settings(max_examples=examples(20))
def test_recipes(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "recipe.toml"
        recipe = load_recipe("tiny").model_copy(update={"run": f"a{text}"})
        save_recipe(recipe, path)
        assert load_recipe(str(path)).run == f"a{text}"


def test_a_list_with_equal_texts_says_so(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    lines = [f"{n}\t-1\t-1\t{text}" for n, text in ((1, "a"), (1, "b"), (1, "a"), (2, "a"))]
    with caplog.at_level(logging.WARNING):
        entries = list(_entries(lines, ["x", "y"], ("a", "list")))
    assert len(entries) == 4
    assert caplog.messages == [
        "list: 1 line has the text of an earlier line of the same sentence, and thus its scores: "
        "the search has found the text as other tokens"
    ]
