"""Documents in worker processes: equal bytes, limits, and processes that end."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Timer

import pytest

from tests.documents import hostile
from yakusu.documents.document import Document, DocumentOptions, Known, Offer, StatesOrigin
from yakusu.documents.isolated import template, worker
from yakusu.documents.isolated.connection import Connection
from yakusu.documents.isolated.limits import DocumentLimitError, DocumentLimits, LimitSettings
from yakusu.documents.isolated.readers import Readers, Room, StoppedError
from yakusu.documents.messages import xliff
from yakusu.documents.registry import read_document
from yakusu.errors import DataError, RunError, YakusuError

SETTINGS = LimitSettings("memory = 50 MB", "cpu = 1", "seconds = 0.3")
UNIT = '<trans-unit id="1"><source>one <x id="1"/> two</source></trans-unit>'
SAMPLES = {
    "a.html": "<p>one <b>two</b></p><script>x</script><p>three &amp; four</p>",
    "a.md": "# One\n\nTwo *three* `four`.\n",
    "a.txt": "one\n\ntwo\n",
    "a.srt": "1\n00:01 --> 00:02\none <i>two</i>\n",
    "a.json": '{"a": "one <b>two</b> of {them}", "b": ["three"]}',
    "a.po": 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "one %s"\nmsgstr ""\n',
    "a.properties": "a=one {0}\nb=it\u00e9s two\n",
    "a.strings": '"a" = "one %@";',
    "a.stringsdict": "<plist><dict><key>other</key><string>one</string></dict></plist>",
    "a.xcstrings": '{"strings": {"one %@": {}}}',
    "a.xml": "<resources><string name='a'>one <b>two</b></string></resources>",
    "a.xlf": f'<xliff version="1.2"><file><body>{UNIT}</body></file></xliff>',
}


@pytest.fixture(scope="module")
def readers() -> Iterator[Readers]:
    """Readers without hostile formats."""
    found = Readers(DocumentLimits(), SETTINGS)
    yield found
    found.close()


class StartReaders:
    """Starts readers with the hostile format.

    Args:
        shared: Their template.
    """

    def __init__(self, shared: template.Template) -> None:
        self._shared, self.started = shared, list[Readers]()

    def __call__(self, room: Room | None = None, **limits: float) -> Readers:
        self.started.append(Readers(DocumentLimits.model_validate(limits), SETTINGS, room))
        self.started[-1]._template = self._shared
        return self.started[-1]


@pytest.fixture(scope="module")
def shared_template() -> Iterator[template.Template]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template, "_CODE", hostile.TEMPLATE)
        found = template.Template()
    yield found
    found.close()


@pytest.fixture
def start(shared_template: template.Template) -> Iterator[StartReaders]:
    begin = StartReaders(shared_template)
    yield begin
    for each in begin.started:
        each._template = None  # others use it
        each.close()


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[Readers]:
    """Readers with the hostile format and a template of their own."""
    monkeypatch.setattr(template, "_CODE", hostile.MEASURED)
    found = Readers(DocumentLimits(memory=50_000_000), SETTINGS)
    yield found
    found.close()


def reading(
    readers: Readers, act: str, cancelled: Event | None = None, name: str = "a.vtt"
) -> bytes:
    """What a document with one text is written as."""
    data = io.BytesIO(act.encode())
    with readers.open(name, data, DocumentOptions(), cancelled=cancelled) as document:
        return document.render(["done"])


def refusal(readers: Readers, act: str, cancelled: Event | None = None) -> YakusuError:
    """The error of a document, after which the next one is read."""
    with pytest.raises(YakusuError) as error:
        reading(readers, act, cancelled)
    return error.value


def workers_of(readers: Readers) -> list[int]:
    return [worker.process for worker in readers._workers]


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2]
    except OSError:
        return False
    return not state.startswith("Z")


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds; a minute is more than a busy machine needs."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


# ---- what is read and written --------------------------------------------------------------------


def shouted(document: Document) -> bytes:
    return document.render([text.upper() for text in document.texts])


@pytest.mark.parametrize("name", [*SAMPLES])
def test_a_worker_reads_and_writes_what_this_process_does(
    readers: Readers, tmp_path: Path, name: str
) -> None:
    path, options = tmp_path / name, DocumentOptions(("en", "de"))
    path.write_text(SAMPLES[name])
    here = read_document(path, options)
    with readers.read(path, options) as there:
        for attribute in ("texts", "lines", "skipped"):
            assert list(getattr(there, attribute)) == list(getattr(here, attribute))
        assert there.reports_blank == here.reports_blank
        assert shouted(there) == shouted(here)
        assert shouted(there) == shouted(here)  # again
        assert list(there.skipped) == list(here.skipped)


def test_workers_state_what_memories_know(readers: Readers) -> None:
    data = SAMPLES["a.xlf"].encode()
    known = {0: Known(None, [Offer(80, "one", "eins", "team")], 20, "why")}
    with readers.open("a.xlf", io.BytesIO(data), DocumentOptions()) as there:
        here = xliff.read(data, DocumentOptions())
        here.tell(known)
        assert isinstance(there, StatesOrigin)
        there.tell(known)
        written = there.render(there.texts)
        assert written == here.render(there.texts)
        assert b"alt-trans" in written
        assert b'mtConfidence="0.20"' in written


def test_many_and_long_texts_arrive(readers: Readers) -> None:
    texts = [f"line {number} 訳𝄞" for number in range(25_000)]
    strings, long = json.dumps(texts), "訳 and \ud800" * 500_000
    with readers.open("a.json", io.BytesIO(strings.encode()), DocumentOptions()) as document:
        assert list(document.texts) == texts
        assert json.loads(shouted(document)) == json.loads(strings.upper().replace("\\U", "\\u"))
    ours, theirs = map(Connection, socket.socketpair())
    with ThreadPoolExecutor(1) as threads:
        threads.submit(ours.send_texts, [long, "", long])
        assert theirs.receive_texts() == [long, "", long]
    ours.close()
    theirs.close()


def test_the_first_texts_decide_the_options(readers: Readers) -> None:
    seen: list[list[str]] = []

    def identify(texts: list[str]) -> DocumentOptions:
        seen.append(texts)
        return DocumentOptions(("en", "de"))

    with readers.open("a.po", io.BytesIO(SAMPLES["a.po"].encode()), identify) as document:
        assert list(document.texts) == seen[0]
    french = io.BytesIO(SAMPLES["a.po"].replace(": de", ": fr").encode())
    message = r"a\.po: line 2: the target language of the file is 'fr'"
    with pytest.raises(DataError, match=message), readers.open("a.po", french, identify):
        pass


def test_of_long_texts_the_beginning_decides_the_options(readers: Readers) -> None:
    seen: list[list[str]] = []

    def identify(texts: list[str]) -> DocumentOptions:
        seen.append(texts)
        return DocumentOptions(("en", "de"))

    texts = ["a word." * 300, "A word." * 10_000, "z z"]
    with readers.open("a.json", io.BytesIO(json.dumps(texts).encode()), identify) as document:
        assert list(document.texts) == texts
    assert seen == [[texts[0], texts[1][:2899]]]


def test_errors_are_those_of_this_process(readers: Readers, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "a.xyz").write_text("x")
    (tmp_path / "a.docx").write_text("x")
    (tmp_path / "a.md").mkdir()
    for name in ("a.json", "a.xyz", "a.docx", "a.md", "missing.md"):
        with pytest.raises(DataError) as here:
            read_document(tmp_path / name)
        with (
            pytest.raises(DataError) as there,
            readers.read(tmp_path / name, DocumentOptions()),
        ):
            pass
        assert str(there.value) == str(here.value)


def test_several_threads_read_at_a_time(readers: Readers) -> None:
    def one(number: int) -> bytes:
        return reading(readers, f"text {number}", name="a.md")

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(one, range(16))) == [b"done"] * 16
    assert not readers._workers


# ---- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["", "render "])
def test_a_document_that_takes_too_much_memory_is_refused(start: StartReaders, when: str) -> None:
    readers = start(memory=50_000_000)
    error = refusal(readers, f"{when}memory 60")
    assert isinstance(error, DocumentLimitError)
    assert str(error) == (
        "a.vtt: reading or writing it takes more memory than memory = 50 MB: split it, or raise "
        "the limit"
    )
    assert reading(readers, "") == b"done"
    assert readers.ended == {"memory": 1}


def test_the_memory_is_measured_where_the_system_does_not_limit_it(
    own: Readers,
) -> None:
    assert "takes more memory than memory = 50 MB" in str(refusal(own, "memory 60"))
    assert reading(own, "") == b"done"


def test_a_document_that_takes_too_much_processor_time_is_refused(start: StartReaders) -> None:
    readers = start(cpu_seconds=1)
    assert "takes more processor time than cpu = 1" in str(refusal(readers, "cpu"))
    assert reading(readers, "") == b"done"


def test_a_document_that_takes_too_long_is_refused(start: StartReaders) -> None:
    readers = start(seconds=0.3)
    assert "takes longer than seconds = 0.3" in str(refusal(readers, "wait"))
    with readers.open("a.vtt", io.BytesIO(b""), DocumentOptions()) as document:
        time.sleep(0.5)  # the translation does not count
        assert document.render(["done"]) == b"done"


def test_a_lower_limit_of_the_system_is_named(
    own: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template, "_CODE", hostile.LIMITED)
    message = "a.vtt: reading or writing it takes more {} than the limit of the system (ulimit -{})"
    for act, what, option in (("memory 45", "memory", "v"), ("cpu", "processor time", "t")):
        error = refusal(own, act)
        assert isinstance(error, DocumentLimitError)
        assert str(error).startswith(message.format(what, option))
    assert own.ended == {"memory": 1, "cpu_seconds": 1}


def test_the_status_of_a_worker_says_why_it_ended(start: StartReaders) -> None:
    readers = start(memory=50_000_000)
    for act, message in (("render memory 60", "takes more memory"), ("render exit", "status 7")):
        with readers.open("a.vtt", io.BytesIO(act.encode()), DocumentOptions()) as document:
            (worker,) = readers._workers
            worker.connection.send_texts(["done"])
            eventually(lambda: not is_alive(worker.process))  # noqa: B023
            worker.end("cancelled")  # too late
            with pytest.raises(DataError, match=message):
                document.render(["done"])


def test_limits_can_be_lifted(start: StartReaders) -> None:
    readers, cancelled = start(memory=0, cpu_seconds=0, seconds=0), Event()
    Timer(0.4, cancelled.set).start()
    error = refusal(readers, "memory 600", cancelled)
    assert isinstance(error, StoppedError)


def test_limits_beyond_those_of_the_system_are_none(start: StartReaders) -> None:
    assert reading(start(memory=10**30, cpu_seconds=10**20, seconds=1e21), "") == b"done"


@pytest.mark.parametrize(
    ("act", "message"),
    [
        ("deep", "a.vtt: it is nested too deeply: simplify it"),
        ("bug", r"a.vtt: its reader failed (KeyError in hostile.py, line "),
        ("crash", "a.vtt: the process that read it failed (status -6): report it with the file"),
        ("exit", "a.vtt: the process that read it failed (status 7): report it with the file"),
        ("render bug", r"a.vtt: its reader failed (KeyError in hostile.py, line "),
    ],
)
def test_failures_of_a_reader_are_sentences(start: StartReaders, act: str, message: str) -> None:
    readers = start()
    error = refusal(readers, act)
    assert isinstance(error, DataError)
    assert str(error).startswith(message) and "secret" not in str(error)
    assert reading(readers, "") == b"done"


def test_a_library_that_is_missing_is_named(start: StartReaders) -> None:
    with pytest.raises(ModuleNotFoundError) as error:
        reading(start(), "missing")
    assert error.value.name == "no_such_library"


def test_a_worker_that_the_system_cannot_start_is_an_error(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)
    with socket.socket() as control:
        assert worker._start(control, socket.socket().detach()) == 0
    monkeypatch.setattr(template.Template, "_ask", lambda *arguments: 0)
    with pytest.raises(RunError, match="the system cannot start a process"):
        reading(readers, "")


# ---- documents that are not needed ---------------------------------------------------------------


@pytest.mark.parametrize("act", ["cpu", "wait", "render cpu"])
def test_a_document_that_is_cancelled_ends_within_a_second(start: StartReaders, act: str) -> None:
    readers, cancelled = start(), Event()
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(refusal, readers, act, cancelled)
        eventually(lambda: bool(readers._workers and readers._workers[0].since))
        (process,) = workers_of(readers)
        cancelled.set()
        eventually(found.done)
        assert isinstance(found.result(), StoppedError)
        assert not is_alive(process)


def test_closing_ends_all_processes_at_once(own: Readers) -> None:
    readers = own
    with ThreadPoolExecutor(3) as threads:
        found = [threads.submit(refusal, readers, act) for act in ("cpu", "wait", "render cpu")]
        eventually(lambda: len(readers._workers) == 3)
        processes = workers_of(readers)
        readers.close()
        eventually(lambda: all(each.done() for each in found))
        assert {type(each.result()) for each in found} == {StoppedError}
        eventually(lambda: not any(map(is_alive, processes)))
    assert isinstance(refusal(readers, ""), StoppedError)


def test_a_template_that_was_killed_is_started_again(own: Readers) -> None:
    readers = own
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(refusal, readers, "wait")
        eventually(lambda: bool(readers._workers and readers._workers[0].since))
        (process,) = workers_of(readers)
        assert readers._template
        os.kill(readers._template._process.pid, signal.SIGKILL)
        assert "the system ended the process that read it" in str(found.result(60))
        eventually(lambda: not is_alive(process))
    assert reading(readers, "") == b"done"


PARENT = """
import io, sys, threading
from tests.documents import hostile
from yakusu.documents.document import DocumentOptions
from yakusu.documents.isolated import template, worker
from yakusu.documents.isolated.connection import Connection
from yakusu.documents.isolated.limits import DocumentLimits, LimitSettings
from yakusu.documents.isolated.readers import Readers
template._CODE = hostile.TEMPLATE
readers = Readers(DocumentLimits(), LimitSettings("", "", ""))
def read():
    with readers.open("a.vtt", io.BytesIO(b"cpu"), DocumentOptions()): pass
threading.Thread(target=read, daemon=True).start()
while not (readers._workers and readers._workers[0].since): pass
print(readers._template._process.pid, readers._workers[0].process, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("ended", [signal.SIGKILL, None])
def test_workers_end_with_their_parent(ended: signal.Signals | None) -> None:
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout and parent.stdin
        processes = [int(each) for each in parent.stdout.readline().split()]
        assert all(map(is_alive, processes))
        for each in processes:
            os.kill(each, signal.SIGTERM)  # as systemd does with a whole service
            os.kill(each, signal.SIGINT)
        time.sleep(0.05)
        assert all(map(is_alive, processes))
        if ended:
            parent.send_signal(ended)
        parent.stdin.close()
        eventually(lambda: not any(map(is_alive, processes)))


# ---- the memory of all documents -----------------------------------------------------------------


class SmallRoom:
    """Room for some bytes."""

    def __init__(self, most: int) -> None:
        self.most, self.used = most, 0

    def has(self, n_bytes: int) -> bool:
        return self.used + n_bytes <= self.most

    def measure(self, n_bytes: int) -> int:
        self.used = n_bytes
        return max(0, n_bytes - self.most)

    def refusal(self) -> YakusuError:
        return YakusuError("no room")


def test_the_largest_document_is_refused_when_there_is_no_room(start: StartReaders) -> None:
    readers = start(SmallRoom(50_000_000))
    with ThreadPoolExecutor(2) as threads:
        small = threads.submit(reading, readers, "render wait")
        eventually(lambda: len(readers._workers) == 1)
        assert str(refusal(readers, "memory 100")) == "no room"
        assert not small.done()
        assert readers.ended == {"room": 1}
        readers._workers[0].end("cancelled")
        assert isinstance(small.exception(5), StoppedError)


@contextmanager
def opened(readers: Readers, size: int, cancelled: Event | None = None) -> Iterator[None]:
    data, options = io.BytesIO(b""), DocumentOptions()
    with readers.open("a.vtt", data, options, size=size, cancelled=cancelled):
        yield


def test_documents_wait_for_room_in_the_order_in_which_they_arrive(start: StartReaders) -> None:
    readers, cancelled, large = start(SmallRoom(100_000_000)), Event(), 3_000_000

    def read(size: int, cancelled: Event | None = None) -> None:
        with opened(readers, size, cancelled):
            pass

    with ThreadPoolExecutor(3) as threads:
        with opened(readers, large):
            left = threads.submit(read, large, cancelled)
            eventually(lambda: len(readers._waiting) == 1)
            waiting = threads.submit(read, large)
            eventually(lambda: len(readers._waiting) == 2)
            small = threads.submit(read, 100)
            eventually(lambda: len(readers._waiting) == 3)
            cancelled.set()
            assert isinstance(left.exception(1), StoppedError)
            assert not waiting.done() and not small.done()
        waiting.result(60)
        small.result(60)


def test_documents_whose_workers_are_being_started_take_room(
    start: StartReaders, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers, go, begin = start(SmallRoom(100_000_000)), Event(), template.Template.start
    monkeypatch.setattr(template.Template, "start", lambda self: (go.wait(5), begin(self))[1])
    running: list[int] = []

    def read() -> None:
        with opened(readers, 3_000_000):
            running.append(len(readers._workers))

    with ThreadPoolExecutor(2) as threads:
        found = [threads.submit(read) for _ in range(2)]
        eventually(lambda: readers._starting > 0 and len(readers._waiting) == 1)
        go.set()
        for each in found:
            each.result(60)
    assert running == [1, 1] and readers._starting == 0


def test_a_worker_that_starts_slowly_delays_no_other(
    start: StartReaders, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers, cancelled, go, begin = start(), Event(), Event(), template.Template.start
    with ThreadPoolExecutor(2) as threads:
        busy = threads.submit(refusal, readers, "cpu", cancelled)
        eventually(lambda: bool(readers._workers and readers._workers[0].since))
        monkeypatch.setattr(template.Template, "start", lambda self: (go.wait(5), begin(self))[1])
        slow = threads.submit(reading, readers, "")
        eventually(lambda: readers._starting > 0)
        cancelled.set()
        assert isinstance(busy.result(60), StoppedError)
        go.set()
        assert slow.result(60) == b"done"


def test_short_texts_count_with_what_python_needs_for_them(readers: Readers) -> None:
    data = json.dumps([f"a {number}" for number in range(20_000)]).encode()
    with readers.open("a.json", io.BytesIO(data), DocumentOptions()):
        (worker,) = readers._workers
        worker.measure()
        assert worker.growth > 20_000 * 200


def test_a_document_that_is_alone_needs_no_room(start: StartReaders) -> None:
    assert reading(start(SmallRoom(50_000_000)), "") == b"done"
