"""Corrected documents: which pairs a memory gets, in every document format."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.documents.test_docx import docx_of
from tests.documents.test_docx import p as docx_p
from tests.documents.test_docx import run as docx_run
from tests.documents.test_odt import odt_of
from tests.documents.test_odt import p as odt_p
from yakusu.data.lines.private_use import closing, empty, opening
from yakusu.data.segments import MemorySegment
from yakusu.documents.registry import read_document
from yakusu.errors import DataError, RecipeError
from yakusu.memory.importing import Imported, ImportOptions
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.pairs import unmarked_line
from yakusu.pipeline.corrections import add_corrected

DOCUMENTS = Path(__file__).parents[1] / "fixtures" / "documents"
TEXTS = [
    "Opening hours",
    "The office is open from 8:30 to 17:00.",
    "Please buy your ticket on board.",
    "Children under 6 travel free of charge.",
    "Thank you!",
]
GERMAN = [
    "Öffnungszeiten",
    "Das Büro ist von 8:30 bis 17:00 Uhr geöffnet.",
    "Bitte kaufen Sie Ihre Karte an Bord.",
    "Kinder unter 6 fahren kostenlos.",
    "Danke!",
]


def html(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(f"<p>{text}</p>\n" for text in texts), "utf-8")
    return path


def added(
    folder: Path, corrected: Path, source: Path, translated: Path | None = None
) -> tuple[dict[str, str], Imported]:
    """The pairs of a memory after a document was added, and what was said."""
    path = folder / "team.db"
    made = add_corrected(path, corrected, source, translated, ("en", "de"), ImportOptions())
    with TranslationMemory.open(path) as memory:
        segments = [each.segment for each in memory]
    return {each.source: each.target for each in segments}, made


def test_each_text_of_a_corrected_document_is_confirmed(tmp_path: Path) -> None:
    source, edited = html(tmp_path / "a.html", TEXTS), html(tmp_path / "a.de.html", GERMAN)
    pairs, made = added(tmp_path, edited, source)
    assert pairs == dict(zip(TEXTS, GERMAN, strict=True))
    assert made.added.new == 5 and not +made.left_out
    with TranslationMemory.open(tmp_path / "team.db") as memory:
        (found,) = memory.exact(TEXTS[2])
    assert found.segment == MemorySegment(
        *(TEXTS[2], GERMAN[2], TEXTS[1], TEXTS[3], "a.html"),
        origin="a.de.html",
        time=found.segment.time,
    )
    assert added(tmp_path, edited, source)[1].added.known == 5


def test_with_the_translation_only_changed_texts_are_confirmed(tmp_path: Path) -> None:
    source, made = html(tmp_path / "a.html", TEXTS), html(tmp_path / "a.de.html", GERMAN)
    changed = "Kinder unter 6 reisen kostenlos."
    texts = [*GERMAN[:2], "Dieser Absatz ist neu.", GERMAN[2], changed, GERMAN[4]]
    pairs, found = added(tmp_path, html(tmp_path / "edited.html", texts), source, made)
    assert pairs == {TEXTS[3]: changed}
    assert +found.left_out == {"unchanged": 4, "of uncertain source": 1}


def test_texts_that_were_not_translated_are_left_out(tmp_path: Path) -> None:
    source = html(tmp_path / "a.html", TEXTS)
    edited = html(tmp_path / "edited.html", [*GERMAN[:4], TEXTS[4]])
    pairs, found = added(tmp_path, edited, source)
    assert pairs == dict(zip(TEXTS[:4], GERMAN[:4], strict=True))
    assert +found.left_out == {"not translated": 1}


def test_marks_that_certainly_correspond_are_kept(tmp_path: Path) -> None:
    bold, picture = "Press <b>Start</b> at <img src='a.png'> now.", "See <b>a</b> and <i>b</i>."
    texts = ["Bei <img src='a.png'> jetzt <b>Start</b> drücken.", "Siehe <i>b</i> und <b>a</b>."]
    source = html(tmp_path / "a.html", [*TEXTS, bold, picture])
    pairs, _ = added(tmp_path, html(tmp_path / "edited.html", [*GERMAN, *texts]), source)
    pair = f"{opening(0)}Start{closing(0)}"
    assert pairs[f"Press {pair} at {empty(1)} now."] == f"Bei {empty(1)} jetzt {pair} drücken."
    assert pairs["See a and b."] == "Siehe b und a."


def _docx(texts: list[str]) -> bytes:
    return docx_of("".join(docx_p(docx_run(text)) for text in texts))


def _odt(texts: list[str]) -> bytes:
    return odt_of("".join(map(odt_p, texts)))


@pytest.mark.parametrize(("suffix", "write"), [(".docx", _docx), (".odt", _odt)])
def test_documents_of_word_processors_are_read(
    suffix: str, write: Callable[[list[str]], bytes], tmp_path: Path
) -> None:
    paths = [tmp_path / f"{name}{suffix}" for name in ("source", "edited")]
    for path, texts in zip(paths, (TEXTS, GERMAN), strict=True):
        path.write_bytes(write(texts))
    pairs, _ = added(tmp_path, paths[1], paths[0])
    assert pairs == dict(zip(TEXTS, GERMAN, strict=True))


def _backwards(text: str) -> str:
    """Another text, with the marks, numbers and punctuation of this one."""

    def other(word: re.Match[str]) -> str:
        turned = word[0].lower()[::-1] + "e"
        return turned.capitalize() if word[0].istitle() else turned

    return re.sub(r"(?<![%{$\w])[^\W\d_]{2,}(?![}\w])", other, text)


@pytest.mark.parametrize(
    "name", ["newsletter.html", "readme.md", "film.srt", "lesson.vtt", "strings.json", "app.arb"]
)
def test_every_document_format_is_read(name: str, tmp_path: Path) -> None:
    source = DOCUMENTS / name
    document = read_document(source)
    edited = tmp_path / name
    edited.write_bytes(document.render([*map(_backwards, document.texts)]))
    pairs, made = added(tmp_path, edited, source)
    assert {unmarked_line(text): unmarked_line(other) for text, other in pairs.items()}.items() <= {
        unmarked_line(text): unmarked_line(_backwards(text)) for text in document.texts
    }.items()
    n = len({*document.texts})
    assert len(pairs) + made.left_out["not translated"] >= 0.9 * n > 3


@pytest.mark.parametrize("with_translation", [False, True])
def test_plurals_with_more_forms_are_paired_by_category(
    with_translation: bool, tmp_path: Path
) -> None:
    plural = '<plurals name="{}">{}</plurals>'
    item = '<item quantity="{}">{}</item>'
    forms = {
        "source": {"one": "%d old lamp", "other": "%d old lamps"},
        "translation": {"one": "x %d", "other": "y %d", "few": "y %d", "many": "y %d"},
        "edited": {
            "one": "%d stara lampa",
            "other": "%d starych",
            "few": "%d stare",
            "many": "%d l",
        },
    }
    paths = [tmp_path / f"{name}.xml" for name in forms]
    for path, each in zip(paths, forms.values(), strict=True):
        items = "".join(item.format(*pair) for pair in each.items())
        path.write_text(f"<resources>{plural.format('lamps', items)}</resources>")
    source, translation, edited = paths
    pairs, made = added(tmp_path, edited, source, translation if with_translation else None)
    assert pairs == {"%d old lamp": "%d stara lampa", "%d old lamps": "%d starych"}
    assert made.left_out["of uncertain source"] == 2


def test_the_lines_of_a_text_file_are_segments(tmp_path: Path) -> None:
    for name, texts in (("a.txt", TEXTS), ("edited.txt", GERMAN)):
        (tmp_path / name).write_text("\n\n".join(texts), "utf-8")
    pairs, _ = added(tmp_path, tmp_path / "edited.txt", tmp_path / "a.txt")
    assert pairs == dict(zip(TEXTS, GERMAN, strict=True))


PO = """msgid ""
msgstr "Language: de\\n"

{}msgid "Save"
msgstr "{}"

msgid "Open"
msgstr "Öffnen"
"""
XLIFF = """<xliff version="1.2"><file original="a" source-language="en" target-language="de"
datatype="plaintext"><body><trans-unit id="1"><source>Save</source><target state="{}">{}</target>
</trans-unit><trans-unit id="2"><source>Open</source><target state="final">Öffnen</target>
</trans-unit></body></file></xliff>"""


@pytest.mark.parametrize(
    ("suffix", "before", "after"),
    [
        (".po", PO.format("#, fuzzy\n", "Sparen"), PO.format("", "Speichern")),
        (".po", PO.format("#, fuzzy\n", "Speichern"), PO.format("", "Speichern")),
        (".po", PO.format("", ""), PO.format("", "Speichern")),
        (
            ".xlf",
            XLIFF.format("needs-review-translation", "Sparen"),
            XLIFF.format("translated", "Speichern"),
        ),
    ],
)
def test_files_with_both_sides_have_their_sources(
    suffix: str, before: str, after: str, tmp_path: Path
) -> None:
    source, edited = tmp_path / f"out{suffix}", tmp_path / f"out.edited{suffix}"
    source.write_text(before, "utf-8")
    edited.write_text(after, "utf-8")
    pairs, made = added(tmp_path, edited, source)
    assert pairs == {"Save": "Speichern"}
    assert +made.left_out == {"unchanged": 1}
    with pytest.raises(RecipeError, match="has both sides: omit --translated"):
        added(tmp_path, edited, source, source)


def test_documents_that_do_not_correspond_are_refused(tmp_path: Path) -> None:
    source, edited = html(tmp_path / "a.html", TEXTS), html(tmp_path / "edited.html", GERMAN)
    german = html(tmp_path / "a.de.html", [*GERMAN[:4], "Vielen Dank!"])
    other = html(tmp_path / "b.html", [f"<b>{i}</b> entirely {i} other" for i in range(9)])
    markdown, blank = tmp_path / "a.md", html(tmp_path / "blank.html", ["1"])
    markdown.write_text("Text", "utf-8")
    for arguments, message in (
        ((edited, german), r"a\.de\.html seems to be in the language of .*edited\.html"),
        ((edited, german, edited), "is given twice"),
        ((edited, source, other), "does not correspond to"),
        ((edited, markdown), r"a\.md has another format than .*edited\.html"),
        ((edited, edited), "is given twice"),
        ((edited, tmp_path / "no.html"), r"no\.html does not exist"),
        ((edited, blank), "has no texts"),
    ):
        with pytest.raises(DataError, match=message):
            added(tmp_path, *arguments)
    assert not (tmp_path / "team.db").exists()
