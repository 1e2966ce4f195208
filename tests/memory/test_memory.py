"""The memory: exact and similar segments, numbers, snapshots, bad files, several processes."""

import random
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.lines.private_use import closing, opening
from yakusu.data.segments import MemorySegment
from yakusu.errors import DataError
from yakusu.memory.filling import filled
from yakusu.memory.matches import find_matches
from yakusu.memory.memory import Added, TranslationMemory, batches
from yakusu.memory.words import encoded, similarity

PAIR = ("en", "de")
SAVE = MemorySegment("Save", "Speichern", time="2026-01-01T00:00:00Z")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[TranslationMemory]:
    with TranslationMemory.open(tmp_path / "team.db", PAIR, writable=True) as opened:
        yield opened


def targets(found: object) -> list[str]:
    return [each.segment.target for each in found]  # type: ignore[attr-defined]


def test_an_exact_source_is_found_in_another_spelling_of_its_characters(
    memory: TranslationMemory,
) -> None:
    memory.add([MemorySegment("Café  open", "Café offen")])
    assert targets(memory.exact("Cafe\u0301 open")) == ["Café offen"]
    assert memory.exact("café open") == []


def test_the_latest_translation_is_the_first(memory: TranslationMemory) -> None:
    memory.add([SAVE, MemorySegment("Save", "Sichern", time="2026-02-01T00:00:00Z")])
    assert targets(memory.exact("Save")) == ["Sichern", "Speichern"]


def test_a_source_is_found_with_other_numbers(memory: TranslationMemory) -> None:
    memory.add([MemorySegment("Page 3 of 10", "Seite 3 von 10")])
    assert memory.exact("Page 4 of 12") == []
    assert targets(memory.with_other_numbers("Page 4 of 12")) == ["Seite 3 von 10"]


def test_a_full_disk_changes_nothing(memory: TranslationMemory) -> None:
    memory.add([SAVE])
    (n_pages,) = memory._db.execute("PRAGMA page_count").fetchone()
    memory._db.execute(f"PRAGMA max_page_count = {n_pages + 2}")
    with pytest.raises(DataError, match="free some space"):
        memory.add(MemorySegment(f"word {n} x{n}", "x" * 50) for n in range(1000))
    assert len(memory) == 1


def test_what_is_added_twice_is_stored_once(memory: TranslationMemory) -> None:
    assert memory.add([SAVE, SAVE]) == Added(1, 1)
    revision = memory.revision
    assert memory.add([MemorySegment("Save", "Speichern", time="2027", who="Anna")]) == Added(0, 1)
    assert (len(memory), memory.revision) == (1, revision)
    others = [MemorySegment(text, text) for text in ("Open", "Close")]
    assert memory.add([others[0], SAVE, SAVE, others[1]]) == Added(2, 2)


def test_a_transaction_has_fewer_segments_if_they_are_long() -> None:
    long = MemorySegment("x" * 10_000, "x" * 10_000)
    assert [*map(len, batches([long] * 300))] == [250, 50]
    assert [*map(len, batches([SAVE] * 20_001))] == [20_000, 1]


def test_a_removed_segment_is_found_no_more(memory: TranslationMemory) -> None:
    memory.add([SAVE, MemorySegment("Save all", "Alles speichern")])
    (found,) = memory.exact("Save")
    assert memory.remove([found.number]) == 1
    assert memory.exact("Save") == []
    assert targets(memory.similar("Save it", threshold=0.5)) == ["Alles speichern"]
    assert memory.remove([found.number]) == 0


def test_marks_are_numbered_in_the_order_of_the_source(memory: TranslationMemory) -> None:
    source = f"Press {opening(7)}Start{closing(7)}"
    memory.add([MemorySegment(source, f"{opening(7)}Start{closing(7)} drücken")])
    wanted = f"Press {opening(0)}Start{closing(0)}"
    for text in (wanted, source):
        assert targets(memory.exact(text)) == [f"{opening(0)}Start{closing(0)} drücken"]


WORDS = (*"abcdefgh保存저", "1", "22")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14)


@given(st.lists(TEXTS, min_size=1, max_size=40), TEXTS, st.sampled_from([0.5, 0.75, 0.9]))
def test_no_similar_segment_is_missed(
    stored: list[list[str]], wanted: list[str], threshold: float
) -> None:
    texts, text = {" ".join(each) for each in stored}, " ".join(wanted)
    with TranslationMemory.in_memory(PAIR) as memory:
        memory.add(MemorySegment(each, "x") for each in sorted(texts))
        found = {each.segment.source for each in memory.similar(text, threshold=threshold, most=99)}
    near = {t for t in texts if similarity(encoded(t), encoded(text)) >= threshold - 1e-9}
    assert found == near


def test_the_most_similar_segments_come_first(memory: TranslationMemory) -> None:
    rng, common = random.Random(1), ["the", "of", "to", "and", "a", "in", "is", "it", "you", "that"]
    lines = [" ".join(rng.choices(common, k=rng.randint(1, 12))) for _ in range(3000)]
    memory.add(MemorySegment(line, str(n)) for n, line in enumerate(lines))
    text = "the of to and a in is it"
    found = [each.similarity for each in memory.similar(text, threshold=0.3)]
    every = (similarity(encoded(text), encoded(line)) for line in {*lines})
    assert found == pytest.approx(sorted(every, reverse=True)[: len(found)])
    assert len(found) == 10


def test_a_very_long_text_is_similar_to_nothing_or_to_one_as_long(
    memory: TranslationMemory,
) -> None:
    text = " ".join(f"word{n}x" for n in range(20_000))
    memory.add([SAVE, MemorySegment(text, "long")])
    assert targets(memory.similar(f"{text} more")) == ["long"]
    assert memory.similar(text.replace("x", "y")) == []
    assert memory.similar("") == []


@pytest.mark.parametrize(("n", "more"), [(17, 4), (100, 20), (254, 2), (255, 60), (300, 0)])
def test_a_text_that_repeats_a_word_is_found(n: int, more: int, memory: TranslationMemory) -> None:
    memory.add([MemorySegment("ha " * n, "x"), MemorySegment("ha ho " * n, "y")])
    assert targets(memory.similar("ha " * (n + more))) == ["x"]


def test_a_snapshot_does_not_see_what_others_add(memory: TranslationMemory, tmp_path: Path) -> None:
    memory.add([SAVE])
    with (
        TranslationMemory.open(tmp_path / "team.db", PAIR) as reader,
        reader.snapshot() as revision,
    ):
        memory.add([MemorySegment("Open", "Öffnen")])
        assert reader.exact("Open") == []
        assert reader.revision == revision < memory.revision
    with TranslationMemory.open(tmp_path / "team.db") as reader:
        assert targets(reader.exact("Open")) == ["Öffnen"]


def test_one_file_is_left_after_closing(tmp_path: Path) -> None:
    with TranslationMemory.open(tmp_path / "team.db", PAIR, writable=True) as memory:
        memory.add([SAVE])
    assert [path.name for path in tmp_path.iterdir()] == ["team.db"]


def test_a_read_only_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    with TranslationMemory.open(path, PAIR, writable=True) as memory:
        memory.add([SAVE])
    path.chmod(stat.S_IRUSR)
    with TranslationMemory.open(path) as memory:
        assert targets(memory.exact("Save")) == ["Speichern"]
        with pytest.raises(DataError, match="cannot be written: check that it"):
            memory.add([SAVE])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not a database at all, but text\n" * 200, "is not a memory, or is damaged"),
        (None, "does not exist: check the path"),
    ],
)
def test_a_file_that_is_no_memory_is_refused(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "notes.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        TranslationMemory.open(path)
    assert (path.read_bytes() if content else None) == content


def test_an_sqlite_file_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t (x)")
    db.close()
    with pytest.raises(DataError, match="an SQLite file, but not a memory"):
        TranslationMemory.open(path, PAIR, writable=True)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    with TranslationMemory.open(path, PAIR, writable=True) as memory:
        memory.add(MemorySegment(f"text {n}", f"Text {n}") for n in range(500))
    data = bytearray(path.read_bytes())
    data[len(data) // 4 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 4)
    path.write_bytes(data)
    with pytest.raises(DataError, match="damaged"), TranslationMemory.open(path) as memory:
        for _ in memory:
            pass
        memory.similar("text 7")


def test_a_memory_of_other_languages_is_refused(tmp_path: Path) -> None:
    TranslationMemory.open(tmp_path / "team.db", PAIR, writable=True).close()
    with pytest.raises(DataError, match="a memory of en-de, not of en-fr"):
        TranslationMemory.open(tmp_path / "team.db", ("en", "fr"))
    TranslationMemory.open(tmp_path / "team.db", ("eng", "deu")).close()


_ADD = """
import sys
from pathlib import Path
from yakusu.memory.memory import TranslationMemory
from yakusu.data.segments import MemorySegment

path, name, n = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with TranslationMemory.open(path, ("en", "de"), writable=True) as memory:
    print("open", flush=True)
    for i in range(n):
        memory.add([MemorySegment(f"{name} {i}", f"{name} {i}")])
        print(i, flush=True)
"""


def test_two_processes_may_add_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    commands = [[sys.executable, "-c", _ADD, str(path), name, "40"] for name in ("one", "two")]
    processes = [subprocess.Popen(each, stdout=subprocess.DEVNULL) for each in commands]
    assert [process.wait(60) for process in processes] == [0, 0]
    with TranslationMemory.open(path) as memory:
        assert len(memory) == 80
        assert len(memory.similar("one 7", most=99)) == 40


def test_a_kill_loses_no_confirmed_segment(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    command = [sys.executable, "-c", _ADD, str(path), "one", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            if line.strip() == "25":
                process.kill()
                break
        last = [25, *(int(line) for line in process.stdout if line.strip().isdecimal())][-1]
    with TranslationMemory.open(path, PAIR, writable=True) as memory:
        assert len(memory) >= last + 1
        assert len(memory.similar("one 0", most=10**6)) == len(memory)


@pytest.mark.parametrize(
    ("pair", "text", "languages", "expected"),
    [
        (("Page 3 of 10", "Seite 3 von 10"), "Page 4 of 12", ("en", "de"), "Seite 4 von 12"),
        (("Row 3, page 10", "S. 10, Z. 3"), "Row 4, page 12", ("en", "de"), "S. 12, Z. 4"),
        (("1 file", "1 Datei"), "5 file", ("en", "de"), None),
        (("2 Seiten", "2 strony"), "5 Seiten", ("de", "pl"), None),
        (("2 Seiten", "2 strony"), "3 Seiten", ("de", "pl"), "3 strony"),
        (("1,000 users", "1.000 Nutzer"), "12,500 users", ("en", "de"), "12.500 Nutzer"),
        (("3 users", "3 Nutzer"), "12,500 users", ("en", "de"), "12.500 Nutzer"),
        (("2.5 km", "2,5 km"), "13.75 km", ("en", "de"), "13,75 km"),
        (("at 3 pm", "um 15 Uhr"), "at 4 pm", ("en", "de"), None),
        (("6 March", "3月6日"), "7 March", ("en", "ja"), None),
        (("Room 5", "5号室"), "Room 12", ("en", "ja"), "12号室"),
        (("3 of 3", "3 von 3"), "2 of 3", ("en", "de"), None),
        (("3 of 3", "3 von 3"), "2 of 2", ("en", "de"), "2 von 2"),
        (("Go to 3", "3으로 가세요"), "Go to 4", ("en", "ko"), None),
        (("3 pages", "3페이지를"), "4 pages", ("en", "ko"), "4페이지를"),
        (("COVID-19", "COVID-19"), "COVID-20", ("en", "de"), None),
        (("5 GB große Datei", "a 5 GB file"), "8 GB große Datei", ("de", "en"), None),
        (("Three of 4", "3 von 4"), "Three of 5", ("en", "de"), None),
        (("Version 2.0.1", "Version 2.0.1"), "Version 2.1.0", ("en", "de"), None),
        (("3 xyz", "3 abc"), "4 xyz", ("tlh", "de"), None),  # plurals are unknown
        (("1.5 and 1,5", "1,5 und 1,5"), "2.5 and 3,5", ("en", "de"), None),
        (("1.500 kg", "1,500 kg"), "2.750 kg", ("de", "en"), "2,750 kg"),
        (("1.500 kg", "1,500 kg"), "2.75 kg", ("de", "en"), None),
        (("Due on 9 May", "Entro il 9 maggio"), "Due on 8 May", ("en", "it"), None),
        (("Page 5", "Az 5 oldal"), "Page 4", ("en", "hu"), None),
        (("2 to 5", "de 2 a 5"), "3 to 6", ("en", "es"), "de 3 a 6"),
        (("Chapter 5", "5:e kapitlet"), "Chapter 2", ("en", "sv"), None),
        (("7 " * 101, "7 " * 101), "8 " * 101, ("en", "de"), None),  # too many
    ],
)
def test_a_translation_is_filled_with_other_numbers_only_if_nothing_depends_on_them(
    pair: tuple[str, str], text: str, languages: tuple[str, str], expected: str | None
) -> None:
    assert filled(*pair, text, languages) == expected


def test_a_translation_is_offered_once(memory: TranslationMemory) -> None:
    """However many segments differ in their numbers, or in their keys, only."""
    memory.add(MemorySegment(f"Page {n}", f"Seite {n}") for n in range(2, 300))
    memory.add(MemorySegment("Save", "Speichern", key=str(n)) for n in range(300))
    memory.add([MemorySegment("Page", "Seite"), MemorySegment("save", "speichere")])
    offered = {
        text: [(each.match, each.target) for each in find_matches(memory, text, threshold=0.5)]
        for text in ("Page 1000", "Page 299", "Save")
    }
    assert offered == {
        "Page 1000": [(99, "Seite 1000"), (50, "Seite")],
        "Page 299": [(100, "Seite 299"), (50, "Seite")],
        "Save": [(100, "Speichern"), (98, "speichere")],
    }


def test_a_penalty_does_not_hide_the_same_translation_of_another_origin(
    memory: TranslationMemory,
) -> None:
    memory.add([SAVE, MemorySegment("Save", "Speichern", origin="mt", time="2027")])
    found = find_matches(memory, "Save", penalty=lambda origin: 10 * (origin == "mt"))
    assert [(each.match, each.segment.origin) for each in found] == [(100, "")]


def test_related_segments_share_rare_words(memory: TranslationMemory) -> None:
    pairs = [("the red door", "1"), ("the gate of the garden", "2"), ("a garden gate", "3")]
    memory.add(
        MemorySegment(*pair) for pair in [*pairs, *((f"the word {n}", "4") for n in range(9))]
    )
    found = memory.related("close the garden gate", most=2)
    assert {memory[number].segment.target for number in found} == {"2", "3"}
    assert memory.related("quite unknown", most=2) == {}


def test_related_segments_do_not_depend_on_the_order_or_on_what_was_removed(
    tmp_path: Path,
) -> None:
    segments = [MemorySegment(f"open the {n % 7} door of room {n}", str(n % 5)) for n in range(40)]
    found = []
    for number, order in enumerate((segments, segments[::-1])):
        with TranslationMemory.in_memory(("en", "de")) as memory:
            memory.add(order[:20])
            memory.add(MemorySegment(f"open the door {n}", "x") for n in range(30 * number))
            memory.add(order[20:])
            memory.remove(each.number for each in memory if each.segment.target == "x")
            related = memory.related("open the door of room 3", most=16)
            found.append({(memory[number].segment, degree) for number, degree in related.items()})
    assert found[0] == found[1]
