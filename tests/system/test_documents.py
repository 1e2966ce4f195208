"""Documents of each format, from file to file, with a tiny untrained model.

What the model writes has no meaning, so everything that is not text must come from the documents.
The results are read by the parsers of other projects.
"""

import io
import itertools
import json
import re
import zipfile
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import docx
import polib
import pysubs2
import pytest
import torch
from lxml import etree
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

import yakusu
from yakusu.data.coverage import Coverage
from yakusu.data.markup import is_mark
from yakusu.data.spans import SpanFinder, texts
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig
from yakusu.documents.document import DocumentOptions
from yakusu.documents.registry import read_document
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.pipeline.documents import TranslatedDocuments
from yakusu.search.config import SearchConfig
from yakusu.translator import Translator
from yakusu.translator.folder import save_translator

FILES = Path(__file__).parents[1] / "fixtures" / "documents"
NAMES = sorted([*(path.name for path in FILES.iterdir()), "letter.docx"])
WORDS = ("the", "red", "Boat", "sails", "home", "slowly", "under", "two", "small", "clouds")
SEEN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz .,!?"
XLIFF = {
    "app-1.xlf": "{urn:oasis:names:tc:xliff:document:1.2}",
    "app-2.xlf": "{urn:oasis:names:tc:xliff:document:2.0}",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model with random weights, with bytes and placeholder tokens."""
    corpus = [" ".join(words) + "." for words in itertools.permutations(WORDS, 3)]
    tokenizer = Tokenizer.train(corpus, corpus, TokenizerConfig(vocab_size=330), seed=1)
    tokenizer.coverage = Coverage(source_characters=SEEN, target_characters=SEEN, longest_source=40)
    torch.manual_seed(1)
    config = TransformerConfig(n_layers=1, d_model=16, d_ff=32, n_heads=2)
    one = Translator(
        Transformer(config, **tokenizer.vocab_sizes),
        tokenizer,
        languages=("en", "de"),
        search=SearchConfig(beam=2, max_extra=3),
    )
    assert isinstance(one.model, Transformer)
    folder = tmp_path_factory.mktemp("documents") / "model"
    save_translator(folder, one.model.weights(), tokenizer, one.config())
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the documents."""
    folder = tmp_path_factory.mktemp("source")
    for path in FILES.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    letter().save(str(folder / "letter.docx"))
    return folder


@pytest.fixture(scope="module")
def done(model: Path, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The result of translating the folder."""
    return yakusu.translate_document(model, source, tmp_path_factory.mktemp("out") / "out")


@pytest.fixture(scope="module")
def out(done: TranslatedDocuments) -> Path:
    """The folder with the translations."""
    return done.files[0].out.parent


def letter() -> Any:
    """A Word document with formatting, a list, a table, a header and a line break."""
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "Letter of the week"
    document.add_heading("The old bridge", level=1)
    paragraph = document.add_paragraph("We crossed the ")
    paragraph.add_run("old").bold = True
    paragraph.add_run(" bridge at ")
    paragraph.add_run("{time}").italic = True
    paragraph.add_run(".").add_break()
    document.add_paragraph("Bring a lamp", style="List Bullet")
    document.add_paragraph("Bring 2 ropes", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ("Day", "Miles", "Monday", "12"), strict=True):
        cell.text = text
    document.core_properties.title = "Bridge"
    return document


# ---- every format --------------------------------------------------------------------------------


def test_every_document_is_translated(done: TranslatedDocuments) -> None:
    assert [file.out.name for file in done.files] == NAMES
    assert [file.out.name for file in done.files if file.copied] == []
    (skipped,) = [file for file in done.files if file.skipped]  # "spoon" and an address
    assert skipped.out.name == "strings.json" and len(skipped.skipped) == 2
    assert [file.out.name for file in done.files if file.unchanged > file.texts / 4] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_translation_has_as_many_texts_with_the_same_spans(
    name: str, source: Path, out: Path
) -> None:
    options, finder = DocumentOptions(("en", "de"), retranslate=True), SpanFinder()
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
    options = DocumentOptions(("de", "en"), retranslate=True)
    written = "".join(read_document(out / name, options).texts)
    assert re.findall("[\u2047\ufffd\ue000-\ue0ff\U00100000-\U0010ffff]", written) == []


def test_the_result_does_not_depend_on_the_folder(
    model: Path, source: Path, out: Path, tmp_path: Path
) -> None:
    yakusu.translate_document(model, source / "readme.md", tmp_path / "a.md")
    assert (tmp_path / "a.md").read_bytes() == (out / "readme.md").read_bytes()


# ---- pages and mail ------------------------------------------------------------------------------

TRANSLATED = {"title", "alt", "placeholder", "content"}
KEPT = {"script", "style", "pre", "code"}
INLINE = {"a", "b", "em", "font", "i", "span", "br", "code"}


class Skeleton(HTMLParser):
    """Everything in a page that is not text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=False)
        self.blocks: list[object] = []  # in order
        self.inline = Counter[object]()
        self.n_attributes = Counter[str]()
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def _add(self, tag: str, item: object) -> None:
        if tag in INLINE:
            self.inline[item] += 1
        else:
            self.blocks.append(item)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        self.n_attributes.update(names)
        kept = [(name, value) for name, value in attrs if name not in TRANSLATED]
        self._add(tag, (tag, *names, *kept))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._add(tag, f"/{tag}")
        if tag in self._open:
            del self._open[len(self._open) - 1 - self._open[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if KEPT & set(self._open):
            self._add(self._open[-1], data)

    def handle_comment(self, data: str) -> None:
        self.blocks.append(data)

    def handle_decl(self, decl: str) -> None:
        self.blocks.append(decl)


@pytest.mark.parametrize("name", ["page.html", "newsletter.html"])
def test_a_page_keeps_its_elements_comments_and_code(name: str, source: Path, out: Path) -> None:
    before, after = (
        Skeleton((folder / name).read_text(encoding="latin-1")) for folder in (source, out)
    )
    assert after.blocks == before.blocks
    assert after.inline == before.inline
    assert after.n_attributes == before.n_attributes


def test_a_page_keeps_what_must_not_be_translated(out: Path) -> None:
    page = (out / "page.html").read_text(encoding="utf-8")
    assert '<p translate="no">Little Hill Pool Ltd.</p>' in page
    assert "ticket --print" in page and "swimming" not in page


def test_a_newsletter_keeps_its_template(source: Path, out: Path) -> None:
    pattern = r"\{\{.*?\}\}|\{%.*?%\}|&\w+;"
    before, after = (
        Counter(re.findall(pattern, (folder / "newsletter.html").read_text(encoding="latin-1")))
        for folder in (source, out)
    )
    for template, n in before.items():
        if template.startswith("{"):
            assert after[template] == n
    assert after["&amp;"] >= 2


def test_a_mail_keeps_its_lines_quotations_addresses_and_signature(source: Path, out: Path) -> None:
    before, after = (
        (folder / "mail.txt").read_bytes().decode().split("\r\n") for folder in (source, out)
    )
    layouts = [[re.findall(r"^[\s>*]*", line) for line in lines] for lines in (before, after)]
    assert layouts[0] == layouts[1]
    line = next(line for line in after if "@" in line)
    assert line.count("tom@example.org") == line.count("https://example.org/up?x=1") == 1
    assert (after[-3], after[-1]) == ("-- ", "+49 30 1234567")
    assert sum(line.count("🙂") for line in after) == 1


# ---- documents -----------------------------------------------------------------------------------


def test_a_readme_keeps_its_structure(source: Path, out: Path) -> None:
    parser = MarkdownIt("commonmark").enable("table").use(footnote_plugin)

    def structure(folder: Path) -> tuple[list[Any], Counter[Any], str]:
        text = (folder / "readme.md").read_text(encoding="utf-8")
        head = text[: text.index("\n# ")]
        tokens = parser.parse(text.removeprefix(head))
        blocks = [
            (token.type, token.level, token.info, token.content if token.type == "fence" else "")
            for token in tokens
        ]
        inline = Counter(
            (inline_type(child), child.attrGet("href"), child.attrGet("src"))
            for token in tokens
            for child in token.children or ()
            if child.type not in ("text", "softbreak")
        )
        return blocks, inline, head

    assert structure(out) == structure(source)
    written = (out / "readme.md").read_text(encoding="utf-8")
    assert "- [x] " in written and "- [ ] " in written
    assert written.count("[^night]") == 2 and "`pip install birdwatch`" in written


def inline_type(token: Any) -> str:
    """What a token means: emphasis of few letters is written as an HTML tag."""
    tags = {"<em>": "em_open", "</em>": "em_close"}
    tags |= {"<strong>": "strong_open", "</strong>": "strong_close"}
    return str(tags.get(token.content, token.type))


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
    parts = [_members(folder / "letter.docx") for folder in (source, out)]
    assert list(parts[0]) == list(parts[1])
    assert {name for name in parts[0] if parts[0][name] != parts[1][name]} == changed


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


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


# ---- messages ------------------------------------------------------------------------------------


def test_messages_are_marked_fuzzy_unless_they_had_a_translation(source: Path, out: Path) -> None:
    before, after = (polib.pofile(str(folder / "shop.po")) for folder in (source, out))
    assert after.metadata == before.metadata
    for old, new in zip(before, after, strict=True):
        assert (new.msgid, new.msgctxt, new.comment) == (old.msgid, old.msgctxt, old.comment)
        assert (new.occurrences, new.obsolete) == (old.occurrences, old.obsolete)
        if old.msgstr:
            assert (new.msgstr, new.flags) == (old.msgstr, old.flags)
            continue
        assert new.fuzzy and set(new.flags) == {*old.flags, "fuzzy"}
        if not new.msgid_plural:
            pattern = r"%[sd]|</?b>|\n$"
            assert sorted(re.findall(pattern, new.msgstr)) == sorted(re.findall(pattern, new.msgid))
        for made in new.msgstr_plural.values():
            assert made.count("%d") == 1
    assert all(entry.msgstr or entry.msgstr_plural for entry in after)


@pytest.mark.parametrize("name", XLIFF)
def test_units_keep_their_sources_and_older_targets(name: str, source: Path, out: Path) -> None:
    q = XLIFF[name]
    before, after = (etree.parse(str(folder / name)).getroot() for folder in (source, out))
    for tag in ("source", "note"):
        old, new = (
            [etree.tostring(e, with_tail=False) for e in root.iter(q + tag)]
            for root in (before, after)
        )
        assert old == new and old
    unit, new_states = ("trans-unit", 3) if q.endswith("1.2}") else ("segment", 2)
    marked = 0
    for old, new in zip(before.iter(q + unit), after.iter(q + unit), strict=True):
        target, older = new.find(q + "target"), old.find(q + "target")
        if old.get("translate") == "no" or old.getparent().get("translate") == "no":
            assert target is None
        elif older is not None and older.text != old.find(q + "source").text:
            assert etree.tostring(target) == etree.tostring(older)
            assert dict(new.attrib) == dict(old.attrib)
        else:
            assert _inline(target) == _inline(old.find(q + "source"))
            state = new.get("subState") or target.get("state-qualifier")
            marked += state in ("yakusu:mt", "leveraged-mt")
    assert marked == new_states


def _inline(element: Any) -> list[Any]:
    return sorted((child.tag, *sorted(child.attrib.items())) for child in element.iterdescendants())


def test_a_placeholder_of_a_unit_is_copied(out: Path) -> None:
    root = etree.parse(str(out / "app-1.xlf")).getroot()
    target = root.find(f".//{XLIFF['app-1.xlf']}trans-unit[@id='water']")[-1]
    assert "".join(target.itertext()).count("%d") == 1


@pytest.mark.parametrize("name", ["strings.json", "app.arb"])
def test_strings_keep_keys_values_and_placeholders(name: str, source: Path, out: Path) -> None:
    before, after = (
        dict(_leaves(json.loads((folder / name).read_text(encoding="utf-8"))))
        for folder in (source, out)
    )
    assert list(before) == list(after)
    changed = {key for key in before if before[key] != after[key]}
    kept = ("menu.icon", "link", "empty", "@@locale", "@")
    assert [key for key in changed if key.startswith(kept)] == []
    assert all(isinstance(before[key], str) for key in changed) and len(changed) >= 3
    pattern = r"\{\{?(?:name|count|n|place|minutes)\b|, plural,|</?b>|=0|\bone\b|\bother\b|#"
    for key in changed:
        assert Counter(re.findall(pattern, before[key])) == Counter(re.findall(pattern, after[key]))


def _leaves(value: Any, key: str = "") -> Any:
    """The values of a JSON file that are not objects or lists, with their paths."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, own in items:
            yield from _leaves(own, f"{key}.{name}" if key else str(name))
    else:
        yield key, value


# ---- a second run --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["shop.po", *XLIFF])
def test_what_was_translated_is_not_translated_again(
    name: str, model: Path, out: Path, tmp_path: Path
) -> None:
    again = tmp_path / name
    (found,) = yakusu.translate_document(model, out / name, again).files
    assert found.texts == 0 and again.read_bytes() == (out / name).read_bytes()
