"""Files are added to a memory, and a memory is exported; nothing is lost, repeated or half done."""

import logging
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pair_files import pair_file
from yakusu.data.inline_marks import codes_of, marked_texts
from yakusu.data.lines.private_use import closing, empty, line_break, opening
from yakusu.data.segment_files import read_segments
from yakusu.data.segments import MemorySegment
from yakusu.errors import DataError
from yakusu.memory import importing
from yakusu.memory.choice import SegmentChoice
from yakusu.memory.exporting import MemoryFormat, exported
from yakusu.memory.importing import Imported, ImportOptions, add_files
from yakusu.memory.matches import find_matches
from yakusu.memory.memory import Added, TranslationMemory
from yakusu.progress import Silent

PAIR = ("en", "de")
HEADER = 'msgid ""\nmsgstr ""\n"Language: {}\\n"\n\n'


def add(
    path: Path,
    *files: Path,
    languages: tuple[str, str] | None = PAIR,
    options: ImportOptions = ImportOptions(),  # noqa: B008 - frozen
) -> Imported:
    return add_files(path, files, languages, options, Silent())


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def rows(n: int, name: str = "text") -> str:
    return "".join(f"{name} {i}\tText {i}\n" for i in range(n))


def pairs(path: Path) -> list[tuple[str, str]]:
    with TranslationMemory.open(path) as memory:
        return [(each.segment.source, each.segment.target) for each in memory]


# ---- adding


def test_a_segment_gets_the_name_and_date_of_its_file_unless_it_says_more(tmp_path: Path) -> None:
    file = written(
        tmp_path / "a.tsv", "source\ttarget\torigin\ttime\twho\na\tA\nb\tB\tc\t2026\tMia\n"
    )
    written(file, "source\ttarget\torigin\ttime\twho\na\tA\t\t\t\nb\tB\tc\t2026-01-01\tMia\n")
    os.utime(file, (0, 0))
    add(tmp_path / "team.db", file, options=ImportOptions(who="Ben"))
    with TranslationMemory.open(tmp_path / "team.db") as memory:
        assert [each.segment for each in memory] == [
            MemorySegment("a", "A", origin="a.tsv", time="1970-01-01T00:00:00Z", who="Ben"),
            MemorySegment("b", "B", origin="c", time="2026-01-01T00:00:00Z", who="Mia"),
        ]


def test_an_import_is_repeated_without_effect(tmp_path: Path) -> None:
    file = written(tmp_path / "a.tsv", rows(5))
    assert add(tmp_path / "team.db", file).added == Added(5, 0)
    os.utime(file, (0, 0))
    of_texts = ImportOptions(encoding="cp949,utf-8")  # not of tables
    assert add(tmp_path / "team.db", file, languages=None, options=of_texts).added == Added(0, 5)


def test_what_is_left_out_is_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    long = "x" * (importing.LONGEST + 1)
    table = written(tmp_path / "a.tsv", f"a\tA\n\t\nb\t \n{long}\tX\nc\tC\td\n")
    messages = written(tmp_path / "a.po", HEADER.format("de") + '#, fuzzy\nmsgid "e"\nmsgstr "E"\n')
    tmx = written(
        tmp_path / "a.tmx",
        '<tmx version="1.4"><header/><body>'
        '<tu><tuv xml:lang="en"><seg>f</seg></tuv><tuv xml:lang="de"><seg>F</seg></tuv></tu>'
        '<tu><tuv xml:lang="en"><seg>g</seg></tuv><tuv xml:lang="fr"><seg>G</seg></tuv></tu>'
        "</body></tmx>",
    )
    with caplog.at_level(logging.WARNING):
        found = add(tmp_path / "team.db", table, messages, tmx)
    assert found == Imported(Added(2, 0), importing.Counter({"empty": 2, "too long": 1}))
    assert [record.message.replace(f"{tmp_path}/", "") for record in caplog.records] == [
        "a.tsv: 1 row was left out because of more cells than the table has columns (line 5): "
        "remove the tabs inside sentences",
        "a.po: messages left out: 1 fuzzy",
        "a.tmx: 1 unit without de was left out",
    ]


def test_two_text_files_are_lines_and_their_translations(tmp_path: Path) -> None:
    target = written(tmp_path / "guide.deu", "Eins\nZwei\n")
    source = written(tmp_path / "guide.en-US", "One\nTwo\n")
    add(tmp_path / "team.db", target, source)
    assert pairs(tmp_path / "team.db") == [("One", "Eins"), ("Two", "Zwei")]
    with pytest.raises(DataError, match=r"guide.en-US has one language only: add its transl.*\.de"):
        add(tmp_path / "team.db", source)
    with pytest.raises(DataError, match="is in fr, and the memory in en and de"):
        add(tmp_path / "team.db", written(tmp_path / "guide.fr", "Un\n"))


def test_files_of_other_languages_are_refused(tmp_path: Path) -> None:
    tmx = '<tmx version="1.4"><header/><body><tu>{}{}</tu></body></tmx>'
    side = '<tuv xml:lang="{}"><seg>a</seg></tuv>'
    for name, text, message in (
        ("a.tmx", tmx.format(side.format("en"), side.format("fr")), "has no language de: add it"),
        ("a.tmx", tmx.format("<tuv><seg>a</seg></tuv>", ""), "has no text with a language"),
        ("a.po", HEADER.format("fr") + 'msgid "a"\nmsgstr "A"\n', "into fr, not into de: add it"),
        ("a.tsv", "en\tfr\nA long text\tUn texte\n", "columns of en, fr, not of en and de"),
        ("a.jsonl", '{"en": "a", "fr": "b"}\n', "texts in en, fr, not in en and de: add it"),
    ):
        with pytest.raises(DataError, match=message):
            add(tmp_path / "team.db", written(tmp_path / name, text))
    assert not (tmp_path / "team.db").exists()


def test_spellings_of_the_languages_are_the_same(tmp_path: Path) -> None:
    tmx = (
        '<tmx version="1.4"><header/><body><tu><tuv xml:lang="ENG_us"><seg>a</seg></tuv>'
        '<tuv xml:lang="jpn"><seg>い</seg></tuv></tu></body></tmx>'
    )
    add(tmp_path / "team.db", written(tmp_path / "a.tmx", tmx), languages=("en", "jpn"))
    assert pairs(tmp_path / "team.db") == [("a", "い")]
    with TranslationMemory.open(tmp_path / "team.db", ("eng", "ja-JP")) as memory:
        assert memory.languages == ("en", "ja")


@pytest.mark.parametrize("batch", [7, 100])
def test_a_malformed_file_changes_nothing(
    batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yakusu.memory.memory.BATCH", batch)
    memory, bad = tmp_path / "team.db", written(tmp_path / "b.jsonl", '["x", "X"]\n' * 3 + "{\n")
    good = written(tmp_path / "a.tsv", rows(20))
    with pytest.raises(DataError, match="line 4 is not JSON"):
        add(memory, good, bad)
    assert not memory.exists() if batch == 100 else pairs(memory) == []
    add(memory, written(tmp_path / "c.tsv", rows(5)))
    with pytest.raises(DataError, match="line 4 is not JSON"):
        add(memory, good, bad)
    assert len(pairs(memory)) == 5


def test_removed_segments_are_removed_from_the_index(tmp_path: Path) -> None:
    add(tmp_path / "team.db", written(tmp_path / "a.tsv", rows(300)))
    with TranslationMemory.open(tmp_path / "team.db", writable=True) as memory:
        memory.remove(range(2, 300))
        assert memory._db.execute("SELECT sum(n) FROM posting").fetchone() == (4,)
        assert [each.number for each in memory.similar("text 7")] == [300, 1]


_ADD = """
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
import yakusu.memory.memory as store
from yakusu.memory.importing import ImportOptions, add_files
from yakusu.progress import Silent
from contextlib import nullcontext

store.BATCH = int(sys.argv[3])

class Counted:
    n = 0
    def advance(self, n=1, note="", total=None):
        self.n += 1
        if self.n % 100 == 0:
            print(self.n, flush=True)

class Shown(Silent):
    def track(self, what, unit, total):
        return nullcontext(Counted())

add_files(Path(sys.argv[1]), [Path(sys.argv[2])], ("en", "de"), ImportOptions(), Shown())
"""


def test_two_imports_at_the_same_time_add_everything_once(tmp_path: Path) -> None:
    memory, texts = tmp_path / "team.db", (rows(300, "a") + rows(50, "b"), rows(300, "b"))
    files = [written(tmp_path / f"{n}.tsv", text) for n, text in enumerate(texts)]
    commands = [[sys.executable, "-c", _ADD, str(memory), str(each), "20"] for each in files]
    running = [subprocess.Popen(each, stdout=subprocess.DEVNULL) for each in commands]
    assert [each.wait(60) for each in running] == [0, 0]
    assert [path.name for path in tmp_path.glob("team*")] == ["team.db"]
    assert len(pairs(memory)) == 650  # of b 0 to 49, both files have one
    with TranslationMemory.open(memory) as opened:
        assert opened.counts("origin") == {"0.tsv": 350, "1.tsv": 300}


def test_a_killed_import_loses_its_last_batch_and_is_completed(tmp_path: Path) -> None:
    memory, file = tmp_path / "team.db", written(tmp_path / "a.tsv", rows(4000))
    command = [sys.executable, "-c", _ADD, str(memory), str(file), "100"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        while not memory.exists() or len(process.stdout.readline()) < 5:  # 1,000 or more
            assert process.poll() is None
        process.kill()
    n = len(pairs(memory))
    assert 0 < n < 4000 and n % 100 == 0
    assert add(memory, file).added == Added(4000 - n, n)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peak = """
import resource, sys
from pathlib import Path
from tempfile import TemporaryDirectory
import yakusu.memory.memory as store
from yakusu.memory.importing import ImportOptions, add_files
from yakusu.progress import Silent
store.BATCH = 500
for name in sys.argv[2:]:
    add_files(Path(sys.argv[1]), [Path(name)], ("en", "de"), ImportOptions(), Silent())
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    small = written(tmp_path / "a.tsv", rows(1000))
    large = written(tmp_path / "b.tsv", rows(10_000))
    command = [sys.executable, "-c", peak, str(tmp_path / "team.db"), str(small), str(large)]
    first, second = map(int, subprocess.check_output(command).split())
    assert second < first + 5_000  # KB; a list of the segments would take 7,000


# ---- a file that cannot be written


def test_a_locked_memory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yakusu.sqlite._PATIENCE", 0.05)
    path, file = tmp_path / "team.db", written(tmp_path / "a.tsv", rows(1))
    add(path, file)
    with TranslationMemory.open(path, writable=True) as other:
        other._db.execute("BEGIN IMMEDIATE")
        with pytest.raises(DataError, match="is being written by another process: try again"):
            add(path, written(tmp_path / "b.tsv", rows(2)))
        with TranslationMemory.open(path) as reader:
            assert len(reader) == 1


@pytest.mark.skipif(not hasattr(os, "fork") or os.getuid() != 0, reason="only root changes users")
@pytest.mark.parametrize("in_wal_mode", [False, True])
def test_a_memory_in_a_folder_that_cannot_be_written_is_read(
    in_wal_mode: bool,
) -> None:
    with TemporaryDirectory() as folder:  # in a folder that all users may enter
        path = Path(folder, "team.db")
        with TranslationMemory.open(path, PAIR, writable=True) as memory:
            memory.add([MemorySegment("Save", "Speichern")])
        if in_wal_mode:
            import sqlite3

            db = sqlite3.connect(path)
            db.execute("PRAGMA journal_mode = WAL")
            db.close()
        path.parent.chmod(0o755)
        status = 3
        if (child := os.fork()) == 0:
            try:
                status = _as_another_user(path)
            finally:
                os._exit(status)
        ended = os.waitpid(child, 0)[1]
    assert os.waitstatus_to_exitcode(ended) == 0


def _as_another_user(path: Path) -> int:
    """0 if a memory can be read, and says that it cannot be written."""
    os.setgid(65534)
    os.setuid(65534)
    try:
        with TranslationMemory.open(path) as memory:
            read = memory.exact("Save")[0].segment.target == "Speichern"
        with TranslationMemory.open(path, writable=True) as memory:
            memory.add([MemorySegment("a", "b")])
    except DataError as error:
        return 0 if read and "check that it and its folder" in str(error) else 1
    return 2


def test_a_foreign_file_keeps_its_bytes(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "other.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t (x)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(DataError, match="an SQLite file, but not a memory"):
        add(path, written(tmp_path / "a.tsv", rows(1)))
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.tsv", "other.db"]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM meta WHERE name = 'target'", "its languages are missing"),
        ("UPDATE meta SET value = 9 WHERE name = 'format'", "has format 9 of memories"),
        ("DROP TABLE posting", "no such table"),
        ("UPDATE posting SET lengths = x'00'", "the index of its words is incomplete"),
        ("UPDATE segment SET source = CAST(x'ff' AS TEXT)", "damaged"),
        ("DELETE FROM segment WHERE number = 1", "has other segments"),
    ],
)
def test_a_memory_with_wrong_content_is_refused(
    statement: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "team.db"
    add(path, written(tmp_path / "a.tsv", rows(3)))
    with TranslationMemory.open(path, writable=True) as memory:
        memory._db.execute(statement)
    with pytest.raises(DataError, match=message), TranslationMemory.open(path) as memory:
        memory.similar("text 1", threshold=0.1)
        memory.indexed(memory.related("text 1", most=2))


# ---- exporting

TEXT = st.text(
    st.one_of(
        st.sampled_from([*"ab \t\n\r\"'<>&\\\u2028\x85\u00a0保", opening(0), closing(0), empty(1)]),
        st.sampled_from([line_break(2), opening(3), closing(3)]),
    ),
    min_size=1,
    max_size=12,
).filter(str.strip)
ABOUT = st.text("ab <>&\"'\t\n\\é保", max_size=5).map(str.strip)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exported")


@given(fields=st.lists(st.tuples(TEXT, TEXT, ABOUT, ABOUT, ABOUT, ABOUT), max_size=4))
@pytest.mark.parametrize("form", ["tmx", "tsv", "jsonl"])
def test_what_is_exported_is_added_again(
    form: MemoryFormat, fields: list[tuple[str, ...]], folder: Path
) -> None:
    wanted = []
    for source, target, *about in fields:
        texts = marked_texts(codes_of(source.strip()), codes_of(target.strip()))
        assert texts
        named = MemorySegment(*texts, *about, origin="o", time="2026-01-02T03:04:05Z", who="A & B")
        wanted.append(named)
    path = folder / f"a.{form}"
    path.write_bytes("".join(exported(wanted, form, PAIR, lambda: None)).encode())
    file = pair_file(path, *(PAIR if form == "tmx" else (1, 2)))
    assert [*read_segments(file._replace(languages=PAIR))] == wanted


def test_control_characters_are_not_exported_as_xml_and_counted() -> None:
    left_out: list[int] = []
    segments = [MemorySegment("a\x01b", "c"), MemorySegment("a", "c")]
    text = "".join(exported(segments, "tmx", PAIR, lambda: left_out.append(1)))
    assert (len(left_out), text.count("<tu>")) == (1, 1)


def test_a_choice_is_a_conjunction() -> None:
    all_ = [
        MemorySegment("Save file", "Datei speichern", file="a", key="k", origin="x", who="Anna"),
        MemorySegment("Save all", "Alles speichern", file="b", origin="x", who="Ben"),
        MemorySegment("Open", "Öffnen", file="b", origin="y"),
    ]
    with TranslationMemory.in_memory(PAIR) as memory:
        memory.add(all_)

        def chosen(**choice: object) -> list[int]:
            found = memory.chosen(SegmentChoice(**choice))  # type: ignore[arg-type]
            return [each.number for each in found]

        assert chosen() == [1, 2, 3]
        assert chosen(pattern="Save*") == [1, 2]
        assert chosen(pattern="*speichern", origin="x", who="Ben") == [2]
        assert chosen(who="") == [3]
        assert chosen(numbers=(3, 1), file="b") == [3]
        assert chosen(key="k") == [1]
        assert not SegmentChoice() and SegmentChoice(who="")
        assert memory.counts("who") == {"": 1, "Anna": 1, "Ben": 1}


def test_a_pair_of_several_documents_is_listed_once() -> None:
    rng = random.Random(1)
    same = MemorySegment("Save the file", "Datei speichern")
    with TranslationMemory.in_memory(PAIR) as memory:
        memory.add(replace(same, file=f"{rng.random()}") for _ in range(30))
        memory.add([MemorySegment("Save the files", "Dateien speichern")])
        found = memory.similar("Save the file", threshold=0.5, most=5)
        matches = find_matches(memory, "Save the file", threshold=0.5)
    assert [each.match for each in matches] == [100, 66]
    assert [each.segment.target for each in found] == ["Datei speichern", "Dateien speichern"]


def test_closing_a_memory_that_others_use_does_not_wait(tmp_path: Path) -> None:
    with TranslationMemory.open(tmp_path / "team.db", PAIR, writable=True):
        start = time.monotonic()
        TranslationMemory.open(tmp_path / "team.db", writable=True).close()
        assert time.monotonic() - start < 1
