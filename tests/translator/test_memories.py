"""Translations of memories, and predictions from their segments."""

import re
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import yakusu
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.private_use import closing as closing_mark
from yakusu.data.lines.private_use import opening
from yakusu.data.segments import MemorySegment, SegmentContext
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.isolated.limits import DocumentLimits, LimitSettings
from yakusu.documents.isolated.readers import Readers
from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.errors import DataError, ModelError
from yakusu.memory.memory import TranslationMemory
from yakusu.pipeline.document_plan import plan
from yakusu.pipeline.documents import in_this_process, translate_with
from yakusu.pipeline.learning import add_states
from yakusu.search.config import SamplingConfig
from yakusu.translator import Translator
from yakusu.translator.request import Request
from yakusu.translator.writing.objects import objects

MODEL = Path(__file__).parents[1] / "fixtures" / "format-1" / "transformer"
SEGMENTS = (
    ("Save", "Speichern"),
    ("Save as...", "Speichern unter ..."),
    ("Delete {name}?", "{name} löschen?"),
    ("Page 3 of 10", "Seite 3 von 10"),
    ("<b>Open</b> it", "<b>Öffnen</b>"),
    ("Close {name}", "Schließen"),
    ("the dog finds {name}.", "{name} ist gefunden."),
    ("the dog sees a cat.", "Der Hund sieht eine Katze."),
)
LINES = ("I live in Berlin.", "She lives in a house.", "He has a dog and a cat.", "Save it.")
LEARNT = (
    ("I live in Paris.", "Ich wohne in Paris."),
    ("She lives in Rome.", "Sie wohnt in Rom."),
    ("He has a dog.", "Er hat einen Hund."),
    ("A cat and a dog live here.", "Hier leben eine Katze und ein Hund."),
)


def memory_of(path: Path, pairs: Sequence[tuple[str, str]]) -> str:
    with TranslationMemory.open(path, ("en", "de"), writable=True) as memory:
        memory.add(MemorySegment(*pair) for pair in pairs)
    return str(path)


@pytest.fixture
def team(tmp_path: Path) -> str:
    return memory_of(tmp_path / "team.db", SEGMENTS)


@pytest.fixture(scope="module")
def learner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a codebook."""
    folder = tmp_path_factory.mktemp("learner")
    shutil.copytree(MODEL, folder / "model")
    memory_of(folder / "memory.db", LEARNT)
    assert add_states(folder / "memory.db", folder / "model") == len(LEARNT)
    return folder / "model"


def translator(memory: str, model: Path = MODEL, threads: int = 1, **text: object) -> Translator:
    config = TextConfig(memory=memory, learning=model != MODEL).model_copy(update=text)
    return Translator.load(model, engine=EngineConfig(threads=threads), text=config)


@pytest.mark.parametrize(
    ("source", "target", "match"),
    [
        ("Save", "Speichern", 100),
        ("  Save  as...", "  Speichern unter ...", 100),
        ("Delete {name}?", "{name} löschen?", 100),
        ("Page 4 of 12", "Seite 4 von 12", 99),
        ("<b>Open</b> it", "<b>Öffnen</b>", 100),
    ],
)
def test_a_text_that_the_memory_has_gets_its_translation(
    team: str, source: str, target: str, match: int
) -> None:
    ((best,),) = translator(team).stream([source])
    assert (best.text, best.match, best.copied) == (target, match, False)


@pytest.mark.parametrize("source", ["Delete {user}?", "Save this", "Close {name}"])
def test_other_matches_are_offered_only(team: str, source: str) -> None:
    """The placeholder is missing in the translation of the last one."""
    ((best,),) = translator(team, threshold=50).stream([source])
    assert best.match is None
    assert best.matches


def test_a_match_with_other_tags_is_offered_only(tmp_path: Path) -> None:
    """Also if it has them in an order that no document can have, and if nothing else is checked."""
    text, targets = (
        f"{opening(0)}Open{closing_mark(0)} it",
        (
            "Öffnen",
            f"{closing_mark(0)}Öffnen{opening(0)}",
        ),
    )
    path = memory_of(tmp_path / "tags.db", [(text, target) for target in targets])
    for check in (False, True):
        ((best,),) = translator(path, check=check).stream([text])
        assert best.match is None
        assert {each.target for each in best.matches} == {*targets}


def test_text_that_is_not_valid_is_refused(team: str) -> None:
    with pytest.raises(DataError, match="sentence 1: character 1 is a lone surrogate"):
        [*translator(team).stream(["\ud800"])]


def test_exact_matches_can_be_offered_only(team: str) -> None:
    ((best,),) = translator(team, exact=False).stream(["Save"])
    assert (best.match, best.matches[0].target) == (None, "Speichern")


def test_a_match_without_the_term_of_the_glossary_is_offered_only(
    team: str, tmp_path: Path
) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("save\tsichern\n")
    ((best,),) = translator(team, glossary=(str(glossary),)).stream(["Save"])
    assert (best.match, best.matches[0].target) == (None, "Speichern")


def test_a_request_with_a_phrase_is_translated_by_the_model(team: str) -> None:
    own = translator(team)
    ((best,),) = own.stream([Request("Save", exclude=("Sichern",))])
    assert best.match is None
    search = own.search.model_copy(update={"exclude": ("Sichern",)})
    ((best,),) = own.with_settings(search=search).stream(["Save"])
    assert best.match is None


def test_blocks_of_code_stay(team: str) -> None:
    ((best,),) = translator(team).stream(["```\nSave\n```"])
    assert best.text == "```\nSave\n```"


@pytest.mark.parametrize(
    ("source", "begins", "ends"),
    [
        ("- Save\n", "- Speichern\n", ""),
        ("the good man finds a tree. the dog finds {name}.", "", " {name} ist gefunden."),
        ("the dog sees a cat. the man sees a tree.", "Der Hund sieht eine Katze. ", ""),
        ("<b>the dog sees a cat.</b> a tree.", "<b>Der Hund sieht eine Katze.</b> ", ""),
    ],
)
def test_a_sentence_that_the_memory_has_gets_its_translation(
    team: str, source: str, begins: str, ends: str
) -> None:
    opened = translator(team)
    ((best,),) = opened.stream([source])
    assert best.text.startswith(begins)
    assert best.text.endswith(ends)
    assert opened.tally.matched == 1
    assert best.match == (100 if source == "- Save\n" else None)


def test_a_sentence_with_tags_inside_is_translated_by_the_model(team: str) -> None:
    """In another text than that of the memory, it is not known where the tags belong."""
    opened = translator(team)
    ((best,),) = opened.stream(["the dog finds <i>{name}</i>. the man sees a tree."])
    assert opened.tally.matched == 0
    assert "<i>" in best.text


def test_a_sentence_gets_no_line_break_from_the_memory(tmp_path: Path) -> None:
    memory = memory_of(tmp_path / "lines.db", [("the dog sees a cat.", "Der Hund\nsieht.")])
    ((best,),) = translator(memory).stream(["the dog sees a cat. the man sees a tree."])
    assert "\n" not in best.text


def test_a_line_gets_no_line_break_from_two_lines_of_the_memory(tmp_path: Path) -> None:
    memory = memory_of(tmp_path / "lines.db", [("a cat\na dog", "Katze\nHund")])
    found = translator(memory).stream(["a cat\na dog", "a cat a dog"])
    assert [best.match for (best,) in found] == [100, None]


def test_words_are_counted_by_class_of_match(team: str) -> None:
    opened = translator(team)
    texts = [
        *("Save", "Save", "Page 4 of 12"),  # 1 + 1 words of 100%, 4 words of 99%
        "the old man sees a tree.",  # 6 new words
        "the old man sees a tree. the dog sees a cat.",  # 6 repeated words, 5 of 100%
        "the dog sees a tree.",  # 4 of 5 words: 5 words of 80%
    ]
    [*opened.stream(texts)]
    tally = opened.tally
    assert tally.segments == 3  # that the model has translated
    found = (tally.words_100, tally.words_repeated, tally.words_95, tally.words_75, tally.words_new)
    assert found == (1 + 1 + 5, 6, 4, 5, 6)


def test_a_penalty_lowers_the_matches_of_an_origin(team: str) -> None:
    with TranslationMemory.open(Path(team), writable=True) as memory:
        memory.add([MemorySegment("Save", "Sichern", origin="mt.tmx", time="2099")])
    ((latest,),) = translator(team).stream(["Save"])
    ((other,),) = translator(team, penalties={"mt*": 5}).stream(["Save"])
    assert (latest.text, other.text) == ("Sichern", "Speichern")
    assert [each.match for each in other.matches] == [100, 95]


def test_the_context_decides_among_translations(team: str) -> None:
    with TranslationMemory.open(Path(team), writable=True) as memory:
        memory.add(
            [
                MemorySegment("Open", "Öffnen", before="File", key="menu.open", time="2001"),
                MemorySegment("Open", "Offen", key="door.state", time="2002"),
            ]
        )
    contexts = [
        SegmentContext(),
        SegmentContext(key="menu.open"),
        SegmentContext(before=" File ", after="Close"),
        SegmentContext(before="File", key="door.state"),
    ]
    items = [Request("Open", context=each) for each in contexts]
    texts = [best.text for (best,) in translator(team).stream(items)]
    assert texts == ["Offen", "Öffnen", "Öffnen", "Offen"]


def test_the_revision_is_named(team: str) -> None:
    ((best,),) = translator(team).stream(["The dog sleeps."])
    assert best.revisions == (1,)
    assert objects([best])["revisions"] == (1,)


def test_a_model_names_its_memory(team: str, tmp_path: Path) -> None:
    shutil.copytree(MODEL, tmp_path / "model")
    yakusu.card(tmp_path / "model", memory=team)
    text = TextConfig(learning=False)

    def best(text: TextConfig) -> str:
        ((only,),) = yakusu.translate(tmp_path / "model", ["Save"], text=text)
        return only.text

    assert best(text) == "Speichern"
    assert best(text.model_copy(update={"own_memory": False})) != "Speichern"
    assert yakusu.verify(tmp_path / "model")


def test_a_model_names_no_memory_of_other_languages(tmp_path: Path) -> None:
    shutil.copytree(MODEL, tmp_path / "model")
    with TranslationMemory.open(tmp_path / "fr.db", ("en", "fr"), writable=True):
        pass
    with pytest.raises(DataError, match="memory of en-fr, not of en-de"):
        yakusu.card(tmp_path / "model", memory=tmp_path / "fr.db")
    assert not (tmp_path / "model" / "memory.json").exists()


def test_a_job_reads_one_revision(team: str) -> None:
    job = translator(team).stream(["Save"] * 2, window=1)
    assert next(job)[0].text == "Speichern"
    with TranslationMemory.open(Path(team), writable=True) as memory:
        memory.add([MemorySegment("Save", "Sichern", time="2099")])
    assert next(job)[0].text == "Speichern"
    assert next(translator(team).stream(["Save"]))[0].text == "Sichern"


def test_all_documents_are_translated_with_one_revision(team: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in "ab":
        (tmp_path / "in" / f"{name}.html").write_text("<p>Save")

    @contextmanager
    def confirmed(path: Path, options: DocumentOptions) -> Iterator[Document]:
        with in_this_process(path, options) as document:
            yield document
        with TranslationMemory.open(Path(team), writable=True) as memory:
            memory.confirm(MemorySegment("Save", "Sichern", time="2099"))

    planned = plan(tmp_path / "in", tmp_path / "out", overwrite=False)
    translate_with(translator(team), planned, read=confirmed)
    written = [(tmp_path / "out" / f"{name}.html").read_text() for name in "ab"]
    assert written == ["<p>Speichern"] * 2


# ---- learning --------------------------------------------------------------------------------


def test_related_segments_change_predictions(learner: Path, tmp_path: Path) -> None:
    plain = Translator.load(learner, engine=EngineConfig(threads=1)).translate(LINES)
    path = memory_of(tmp_path / "memory.db", LEARNT)
    assert translator(path, learner).translate(LINES) != plain
    unrelated = memory_of(tmp_path / "unrelated.db", [("Xylophone", "Xylophon")])
    assert translator(unrelated, learner).translate(LINES) == plain


def test_predictions_depend_on_contents_only(learner: Path, tmp_path: Path) -> None:
    """Neither on the order of adding, nor on what was removed, the batch or the threads."""
    one = memory_of(tmp_path / "one.db", LEARNT)
    other = memory_of(tmp_path / "other.db", [("A dog lives here.", "Hier lebt ein Hund.")])
    translator(other, learner).translate(LINES)
    with TranslationMemory.open(Path(other), writable=True) as memory:
        memory.remove([1])
    memory_of(Path(other), LEARNT[::-1])
    expected = translator(one, learner).translate(LINES)
    found = translator(other, learner, threads=2).stream(LINES, batch=1, window=1)
    assert [best[0].text for best in found] == expected


def test_a_memory_that_cannot_be_written_is_learnt_from_too(learner: Path, tmp_path: Path) -> None:
    one = memory_of(tmp_path / "one.db", LEARNT)
    other = memory_of(tmp_path / "other.db", LEARNT)
    writer = sqlite3.connect(other, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    found = translator(other, learner).translate(LINES)
    assert found == translator(one, learner).translate(LINES)
    writer.execute("ROLLBACK")
    assert writer.execute("SELECT count(*) FROM state").fetchone() == (0,)
    writer.close()


def test_stored_states_are_read_from_a_memory_that_is_being_written(
    learner: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = memory_of(tmp_path / "memory.db", LEARNT)
    expected = translator(path, learner).translate(LINES)
    monkeypatch.setattr(NativeDecoder, "codes", None)  # nothing is computed
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert translator(path, learner).translate(LINES) == expected


def test_a_job_learns_from_segments_that_are_removed_meanwhile(
    learner: Path, tmp_path: Path
) -> None:
    path = memory_of(tmp_path / "memory.db", LEARNT)
    expected = translator(path, learner).translate(LINES)
    for is_known in (True, False):
        path = memory_of(tmp_path / f"{is_known}.db", LEARNT)
        if is_known:
            add_states(path, learner)
        job = translator(path, learner).stream(LINES, window=1)
        found = [next(job)[0].text]
        with TranslationMemory.open(Path(path), writable=True) as memory:
            memory.remove(range(1, 5))
        assert [*found, *(best[0].text for best in job)] == expected


def test_states_of_segments_that_are_added_meanwhile_are_not_computed(
    learner: Path, tmp_path: Path
) -> None:
    path = memory_of(tmp_path / "memory.db", LEARNT)
    memories = translator(path, learner).memories
    assert memories
    with memories.reading() as reader:
        memory_of(Path(path), [("a", "b")])
        numbers: list[int] = []
        reader.related[0].compute(numbers.append)
    assert numbers == [len(LEARNT)]


@pytest.mark.parametrize("tokens", ["x'000000'", "zeroblob(length(tokens) - 1) || x'7f'"])
def test_damaged_states_are_refused(learner: Path, tmp_path: Path, tokens: str) -> None:
    path = memory_of(tmp_path / "memory.db", LEARNT)
    add_states(path, learner)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"UPDATE state SET tokens = CAST({tokens} AS BLOB)")
    with pytest.raises(DataError, match="is damaged \\(its states"):
        translator(path, learner).translate(LINES)


def test_the_states_of_a_removed_segment_are_removed(learner: Path, tmp_path: Path) -> None:
    path = memory_of(tmp_path / "memory.db", LEARNT)
    add_states(path, learner)
    with TranslationMemory.open(Path(path), writable=True) as memory:
        memory.remove([2])
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT number FROM state ORDER BY number").fetchall() == [
            (1,),
            (3,),
            (4,),
        ]


def test_what_cannot_learn_is_refused(learner: Path, tmp_path: Path) -> None:
    config = TextConfig(memory=memory_of(tmp_path / "memory.db", LEARNT))
    with pytest.raises(ModelError, match="torch does not learn from a memory: add --no-learning"):
        Translator.load(learner, engine="torch", text=config)
    with pytest.raises(ModelError, match="an ensemble does not learn"):
        Translator.load(learner, ensemble=[learner], text=config)
    own = Translator.load(learner, engine=EngineConfig(threads=1), text=config)
    sampled = own.search.model_copy(update={"sampling": SamplingConfig(seed=1)})
    with pytest.raises(ModelError, match="sampling does not learn"):
        own.with_settings(search=sampled).translate(LINES)


CHOICES = (
    MemorySegment("Open", "Öffnen", before="File", key="menu.open", time="2001"),
    MemorySegment("Open", "Offen", before="Door", key="door.state", time="2002"),
)
MESSAGES = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n' + "\n\n".join(
    f'msgctxt "{key}"\nmsgid "Open"\nmsgstr ""' for key in ("menu.open", "door.state")
)
UNITS = "".join(
    f'<trans-unit id="{n}" resname="{key}"><source>Open</source></trans-unit>'
    for n, key in enumerate(("menu.open", "door.state"))
)
XLIFF = (
    '<xliff version="1.2"><file original="a" source-language="en" target-language="de" '
    f'datatype="plaintext"><body>{UNITS}</body></file></xliff>'
)


@pytest.mark.parametrize(
    ("name", "content", "pattern"),
    [
        ("a.po", MESSAGES, r'msgstr "(.+)"'),
        ("a.xlf", XLIFF, "<target state[^>]*>(.*?)</target>"),
        ("a.html", "<p>File<p>Open<p>Door<p>Open", "<p>(Öffnen|Offen)"),
    ],
)
@pytest.mark.parametrize("isolated", [False, True])
def test_texts_of_a_document_have_a_context(
    team: str, tmp_path: Path, name: str, content: str, pattern: str, isolated: bool
) -> None:
    """The key of a message and the text before a paragraph decide."""
    with TranslationMemory.open(Path(team), writable=True) as memory:
        memory.add(CHOICES)
    (tmp_path / name).write_text(content)
    planned = plan(tmp_path / name, tmp_path / f"out-{name}", overwrite=False)
    with closing(Readers(DocumentLimits(), LimitSettings("", "", ""))) as readers:
        read = readers.read if isolated else None
        translate_with(translator(team), planned, read=read)
    written = (tmp_path / f"out-{name}").read_text()
    assert re.findall(pattern, written) == ["Öffnen", "Offen"]
