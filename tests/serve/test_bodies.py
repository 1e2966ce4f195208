"""Bodies of requests: what they cost, where they are stored, and that they are read as before."""

import errno
import gzip
import http.client
import json
import os
import resource
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qsl, urlencode

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import UploadFile
from starlette.testclient import TestClient

from tests.serve.conftest import Client, Running, StartClient
from tests.serve.test_limits import PAIR, wait_until
from yakusu.serve.app import create_app
from yakusu.serve.config import Limits, ServeConfig
from yakusu.serve.errors import RefusedError
from yakusu.serve.files import Files
from yakusu.serve.http.fields import parse_json
from yakusu.serve.http.forms import check_charset, multipart, pairs
from yakusu.serve.service import Service
from yakusu.serve.suggestions import Suggestions

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
TWO_MB = 1_999_000
CRAFTED = {  # bodies that cost most, by the content type
    "percent signs": ("/translate", FORM, b"q=" + b"%" * TWO_MB),
    "escapes": ("/translate", FORM, b"q=" + b"%C3%A9" * (TWO_MB // 6)),
    "lists": ("/translate", JSON, b"[" + b"[]," * (TWO_MB // 3) + b"[]]"),
    "keys": ("/translate", JSON, b'{%s"q":1}' % b"".join(b'"%d":1,' % i for i in range(4900))),
    "terms": ("/v1/translate", JSON, b'{"text":"a","glossary":[%s1]}' % (b"1," * 9000)),
    "unknown": ("/v1/score", JSON, b'{%s"q":1}' % b"".join(b'"%d":1,' % i for i in range(4900))),
}


# ---- time ----------------------------------------------------------------------------------------


def test_large_bodies_do_not_stop_the_event_loop(socket_service: Running) -> None:
    delays, done = list[float](), Event()

    def watch() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", socket_service.port, timeout=20)
        while not done.is_set():
            start = time.perf_counter()
            connection.request("GET", "/health")
            assert connection.getresponse().read() == b'{"status":"ok"}'
            delays.append(time.perf_counter() - start)
            time.sleep(0.005)
        connection.close()

    watching = Thread(target=watch)
    watching.start()
    with ThreadPoolExecutor(4) as threads:

        def send(name: str) -> int:
            path, kind, body = CRAFTED[name]
            url = f"{socket_service.url}{path}"
            return httpx.post(url, content=body, headers={"Content-Type": kind}).status_code

        statuses = [*threads.map(send, CRAFTED)]
    done.set()
    watching.join()
    assert set(statuses) <= {400, 413, 422}
    assert sorted(delays)[len(delays) * 9 // 10] < 0.25  # of a machine with other work


@given(
    st.recursive(
        st.none() | st.integers() | st.text(alphabet='\\\\"[]{},:aé', max_size=9),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.text(alphabet='\\\\"[{,:', max_size=3), inner, max_size=4)
        ),
        max_leaves=12,
    ),
    st.booleans(),
)
def test_the_values_of_json_are_counted_without_those_in_texts(value: Any, spaced: bool) -> None:
    def n_of(each: Any) -> int:
        if isinstance(each, list):
            return 1 + sum(map(n_of, each))
        if isinstance(each, dict):
            return 1 + sum(1 + n_of(inner) for inner in each.values())
        return 1

    body = json.dumps(value, indent=1 if spaced else None, ensure_ascii=False).encode()
    n_empty = body.count(b"[]") + body.count(b"{}")  # each counts as two
    most = Limits(values=n_of(value) + n_empty, depth=99)
    assert parse_json(body, most) == value
    if n_of(value) > 1:
        with pytest.raises(RefusedError, match="or more values"):
            parse_json(body, Limits(values=n_of(value) - 1, depth=99))


# ---- forms ---------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_encoded_fields_are_read(fields: list[tuple[str, str]]) -> None:
    assert pairs(urlencode(fields).encode(), "utf-8", Limits()) == fields


@given(st.text(alphabet="%0aFfGz=+;&é", max_size=40))
def test_what_is_not_escaped_is_read_as_by_the_standard_library(text: str) -> None:
    expected = parse_qsl(
        text.encode().decode("latin-1"), keep_blank_values=True, encoding="latin-1"
    )
    assert pairs(text.encode(), "latin-1", Limits()) == expected


@pytest.mark.parametrize("name", ["utf-8", "UTF8", "Shift_JIS", "iso-8859-1", "latin1", "euc-kr"])
def test_known_charsets_are_accepted(name: str) -> None:
    assert check_charset(name) == name


@pytest.mark.parametrize(
    "name", ["punycode", "idna", "unicode_escape", "zip", "UTF-7", "u7", "x" * 99, ""]
)
def test_other_charsets_are_refused(shared: Client, name: str) -> None:
    for kind in (FORM, "multipart/form-data; boundary=x"):
        headers = {"Content-Type": f"{kind}; charset={name}"}
        answer = shared.post("/translate", content=b"q=a", headers=headers)
        assert answer.status_code == 400 and "error" in answer.json()


def form(
    *parts: tuple[str, bytes], boundary: bytes = b"x", end: bytes = b"--\r\n"
) -> list[tuple[str, Any]]:
    """What is read of a form with these heads and contents."""
    body = b"".join(
        b"--%s\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n"
        % (boundary, head.encode(), text)
        for head, text in parts
    )
    file, options = BytesIO(body + b"--" + boundary + end), {b"boundary": boundary}
    return [
        (name, (value.filename, value.file.read()) if isinstance(value, UploadFile) else value)
        for name, value in multipart(file, options, Limits())
    ]


@given(st.binary(max_size=300) | st.just(b"\r\n--x") | st.just(b"\r\n" * 3000))
def test_files_keep_their_bytes(content: bytes) -> None:
    boundary = b"0123456789" * 7
    named = ('name="file"; filename="ü.txt"', content), ('name="q"', "é".encode())
    if boundary not in content:
        assert form(*named, boundary=boundary) == [("file", ("ü.txt", content)), ("q", "é")]


@pytest.mark.parametrize("size", [0, 1, 4093, 4094, 4095, 4096, 4097, 12285, 999_999, 2_500_000])
def test_a_boundary_is_found_wherever_it_is(size: int) -> None:
    content = os.urandom(size).replace(b"--", b"..")
    assert form(('name="file"; filename="a"', content)) == [("file", ("a", content))]


def test_forms_that_are_not_valid_are_refused() -> None:
    file = ('name="file"; filename="a"', b"")
    for parts, more in (
        ([('name="q"', b"")], {"end": b""}),
        ([("", b"")], {}),
        ([file, file], {}),
        ([('name="q"', b"")] * 1011, {}),
        ([(f'name="{"a" * 3000}"', b"")], {}),
        ([], {"boundary": b""}),
        ([], {"boundary": b"x" * 71}),
        ([('name="q"', b"\xff")], {}),
        ([('name="q"', b"a" * 2_000_001)], {}),
    ):
        with pytest.raises(RefusedError):
            form(*parts, **more)


@pytest.mark.parametrize("path", ["/translate", "/v1/translate", "/v2/translate", "/v2/document"])
def test_a_compressed_body_is_refused(shared: Client, path: str) -> None:
    kind = "multipart/form-data; boundary=a" if path == "/v2/document" else "application/json"
    headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
    answer = shared.post(path, content=gzip.compress(b"{}"), headers=headers)
    assert answer.status_code == 400 and "send the body uncompressed" in answer.text
    plain = {"q": "Hallo", "source": "de", "target": "en"}
    answer = shared.post("/translate", json=plain, headers={"Content-Encoding": "identity"})
    assert answer.status_code == 200


def test_a_long_content_type_is_refused(shared: Client) -> None:
    headers = {"Content-Type": f'multipart/form-data; a="{";" * 2000}'}
    answer = shared.post("/translate", content=b"", headers=headers)
    assert answer.status_code == 400 and "Content-Type" in answer.json()["error"]


# ---- memory and files ----------------------------------------------------------------------------


def test_requests_share_a_memory_budget(start: StartClient) -> None:
    client = start("de-en", limits={"memory": 100_000})
    service = client.app.state.service  # type: ignore[attr-defined]
    assert client.post("/translate", json={**PAIR, "q": "Zug"}).is_success
    service.budget.reserve(90_000)
    answer = client.post("/translate", json={**PAIR, "q": "Zug", "x": "x" * 8000})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "limits.memory = 100000" in answer.json()["error"]
    service.budget.release(90_000)
    assert client.post("/translate", json={**PAIR, "q": "Zug", "x": "x" * 8000}).is_success
    assert service.budget.used == 0
    refused = 'yakusu_refusals_total{reason="limits.memory"} 1.0'
    assert refused in client.get("/metrics").text


class FullFile(BytesIO):
    """A file on a full disk."""

    def write(self, data: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class SlowFile(BytesIO):
    """A file on a disk that hangs until an event is set."""

    release = Event()

    def write(self, data: Any) -> int:
        assert self.release.wait(20)
        return super().write(data)


LARGE = {"file": ("a.html", b"<p>Zug</p><!--" + b"x" * 1_200_000 + b"-->")}


def test_a_full_disk_is_a_refusal(
    start: StartClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    client = start("de-en", suggestions=str(tmp_path / "suggestions"))
    message = {"error": "The server cannot store files now: try again later"}

    def refused(path: str, **more: Any) -> None:
        answer = client.post(path, **more)
        assert (answer.status_code, answer.json()) == (503, message)
        assert answer.headers["retry-after"] == "10"

    with monkeypatch.context() as patch:
        patch.setattr("yakusu.serve.http.fields.TemporaryFile", lambda dir: FullFile())
        refused("/translate_file", files=LARGE, data=PAIR)
    with monkeypatch.context() as patch:
        patch.setattr(client.app.state.service.files, "folder", tmp_path / "none")  # type: ignore[attr-defined]
        refused("/translate_file", files={"file": ("a.txt", b"Zug")}, data=PAIR)
    with monkeypatch.context() as patch:
        patch.setattr(
            "yakusu.serve.api.documents.write_file", lambda path, write: write(FullFile())
        )
        refused("/translate_file", files={"file": ("a.txt", b"Zug")}, data=PAIR)
    (tmp_path / "suggestions").unlink()
    (tmp_path / "suggestions").symlink_to("/dev/full")
    refused("/suggest", json={**PAIR, "q": "Zug", "s": "train"})
    assert 'yakusu_refusals_total{reason="disk"} 4.0' in client.get("/metrics").text
    assert client.post("/translate_file", files=LARGE, data=PAIR).is_success


def test_a_line_that_does_not_fit_on_the_disk_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "suggestions"
    path.write_bytes(b"{}\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    suggestions = Suggestions(path, 1000)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))  # as a disk with 10 bytes
        with pytest.raises(RefusedError, match="cannot store files now"):
            suggestions.add({"q": "Zug", "s": "train"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_bytes() == b"{}\n"


def test_a_slow_disk_delays_no_other_request(
    start: StartClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = start("de-en")
    monkeypatch.setattr("yakusu.serve.http.fields.TemporaryFile", lambda dir: SlowFile())
    long = {**PAIR, "q": "Zug", "x": "x" * 20_000}  # is not parsed on the event loop
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(client.post, "/translate_file", files=LARGE, data=PAIR)
        wait_until(lambda: client.app.state.service.budget.used > 1_000_000)  # type: ignore[attr-defined]
        assert client.post("/translate", json=long).is_success
        assert not slow.done()
        SlowFile.release.set()
        assert slow.result().is_success


def test_too_many_parameters_name_their_limit(start: StartClient) -> None:
    client = start("de-en", limits={"texts": 2})
    message = "Request Entity Too Large: the request has more than 12 parameters (limits.texts = 2)"
    many = [("q", "Zug")] * 13
    answer = client.post("/translate?" + urlencode(many))
    assert (answer.status_code, answer.json()) == (413, {"error": message})
    answer = client.post("/translate", files=[(name, (None, text)) for name, text in many])
    assert (answer.status_code, answer.json()) == (413, {"error": message})


def test_temporary_files_are_private_and_large_uploads_have_no_name(
    start: StartClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = os.umask(0)
    try:
        client = start("de-en")
        large, found = b"Zug.\n" * 250_000, list[list[Path]]()

        def refuse(*_: Any) -> None:
            every = tmp_path.rglob("*.*")
            found.append(
                [path for path in every if path.suffix != ".db"]
            )  # while the upload is stored
            raise RefusedError(400, "stop")

        with monkeypatch.context() as patch:
            patch.setattr("yakusu.serve.service.Service.languages", refuse)
            client.post("/translate_file", files={"file": ("a.txt", large)}, data=PAIR)
        assert found == [[]]
        answer = client.post("/translate_file", files={"file": ("a.txt", b"Zug")}, data=PAIR)
        assert client.get(answer.json()["translatedFileUrl"]).is_success
    finally:
        os.umask(before)
    (root,) = tmp_path.iterdir()
    for path in (root, *root.rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def stored(root: Path) -> list[str]:
    """What the folders of services hold."""
    return sorted(path.name for path in root.glob("yakusu-serve-*"))


def test_the_folders_of_killed_processes_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    running = Files(1)
    dead, other = tmp_path / "yakusu-serve-dead", tmp_path / "yakusu-serve-other"
    for folder in (dead, other):
        (folder / "abc").mkdir(parents=True)
        (folder / "abc" / "a.txt").write_text("a document")
    (dead / "lock").touch()
    (tmp_path / "yakusu-serve-link").symlink_to(running.folder)
    new = Files(1)
    assert stored(tmp_path) == sorted(
        [new.folder.name, running.folder.name, "yakusu-serve-link", "yakusu-serve-other"]
    )
    running.close()
    new.close()
    assert stored(tmp_path) == ["yakusu-serve-link", "yakusu-serve-other"]


# ---- origins -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def suggestions(
    folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[TestClient, Path]]:
    """A service with an allowed origin, and the file where it stores suggestions."""
    path = tmp_path_factory.mktemp("origins") / "suggestions"
    config = ServeConfig(
        suggestions=str(path), allow_origins=["https://example.org"], host="0.0.0.0"
    )
    app = create_app(Service(config, [folders["de-en"]]))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client, path


@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        (None, "testserver", True),
        ("http://testserver", "testserver", True),
        ("http://testserver:80", "testserver", True),
        ("HTTP://TestServer", "testserver", True),
        ("https://testserver", "testserver", True),  # through a proxy
        ("http://localhost:5000", "localhost:5000", True),
        ("http://[::1]:5000", "[::1]:5000", True),
        ("https://example.org", "testserver", True),
        ("https://example.org:443", "testserver", True),
        ("http://example.org", "testserver", False),
        ("https://example.org.evil.example", "testserver", False),
        ("https://example.org@evil.example", "testserver", False),
        ("http://testserver:8080", "testserver", False),
        ("http://localhost:5001", "localhost:5000", False),
        ("null", "testserver", False),
        ("", "testserver", False),
        ("http://", "", False),
        ("x", "", False),
    ],
)
def test_only_pages_of_known_origins_store_something(
    suggestions: tuple[TestClient, Path], origin: str | None, host: str, allowed: bool
) -> None:
    client, path = suggestions
    size = path.stat().st_size
    headers = {"Host": host} | ({} if origin is None else {"Origin": origin})
    data = {**PAIR, "q": "a", "s": "b"}
    answer = client.post("/suggest", data=data, headers=headers)
    assert answer.status_code == (200 if allowed else 403), answer.text
    assert (path.stat().st_size > size) == allowed
    assert client.post("/translate", data=data, headers=headers).is_success


def test_a_name_that_leads_to_this_computer_is_not_the_services_own(
    start: StartClient, tmp_path: Path
) -> None:
    given = {"suggestions": str(tmp_path / "a"), "host": "127.0.0.1"}
    local, data = start("de-en", **given), {**PAIR, "q": "a", "s": "b"}
    for name, status in ("evil.example", 403), ("localhost:5000", 200), ("[::1]:5000", 200):
        headers = {"Host": name, "Origin": f"http://{name}"}
        assert local.post("/suggest", data=data, headers=headers).status_code == status
    behind_proxy = start("de-en", **given, trusted_proxies=["127.0.0.1"])
    headers = {"Host": "example.org", "Origin": "https://example.org"}
    assert behind_proxy.post("/suggest", data=data, headers=headers).is_success


def test_an_asterisk_allows_all_origins(start: StartClient, tmp_path: Path) -> None:
    client = start("de-en", suggestions=str(tmp_path / "a"), allow_origins=["*"])
    data, headers = {**PAIR, "q": "a", "s": "b"}, {"Origin": "https://evil.example"}
    assert client.post("/suggest", data=data, headers=headers).is_success
