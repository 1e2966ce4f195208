"""Limits of requests, keys and addresses; clients that are slow, leave, or send nonsense."""

import io
import json
import socket
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any
from urllib.request import urlopen

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import examples
from tests.serve.conftest import Client, Running, StartClient, running
from yakusu.engine.session import Session
from yakusu.errors import RecipeError
from yakusu.serve.access import Access, read_keys
from yakusu.serve.config import ROUTES, ServeConfig, load_config
from yakusu.serve.errors import RefusedError
from yakusu.serve.files import Files

PAIR = {"source": "de", "target": "en"}


def error_of(client: Client, status: int, path: str = "/translate", **values: Any) -> str:
    answer = client.post(path, json={**PAIR, **values})
    assert answer.status_code == status, answer.text
    return str(answer.json()["error"])


# ---- sizes ---------------------------------------------------------------------------------------


def test_each_limit_has_a_message_of_its_own(start: StartClient) -> None:
    limits = {
        "characters": 100,
        "texts": 3,
        "lines": 5,
        "body": 2000,
        "depth": 3,
        "values": 60,
        "alternatives": 2,
        "traced": 20,
        "detailed": 40,
    }
    client = start("de-en", limits=limits)
    begin = "Invalid request: "
    over = "request ({0} {2}) exceeds text limit ({1} {2}) (limits.{2} = {1})".format
    assert error_of(client, 413, q="x" * 101) == begin + over(101, 100, "characters")
    assert error_of(client, 413, q=["a"] * 4) == begin + over(4, 3, "texts")
    assert error_of(client, 413, q=["a\nb\nc"] * 2) == begin + over(6, 5, "lines")
    assert error_of(client, 422, q="a", x=[[[[1]]]]) == (
        "Invalid JSON format: it has more than 3 levels (limits.depth = 3)"
    )
    assert error_of(client, 422, q="a", alternatives=3) == (
        begin + "alternatives parameter must be <= 2 (limits.alternatives = 2)"
    )
    assert error_of(client, 413, q="a", x=[{}] * 30) == (
        "Request Entity Too Large: the JSON has 69 or more values (limits.values = 60)"
    )
    large = "Request Entity Too Large: send at most 2000 bytes (limits.body = 2000)"
    assert error_of(client, 413, q="a", x="y" * 2000) == large
    assert error_of(client, 413, "/v1/translate", text="a" * 2000) == large
    assert error_of(client, 413, "/v1/translate", text="a" * 101).startswith(begin + "request (101")
    detailed = error_of(client, 422, "/v1/translate", text="a" * 21, n_best=2, details=True)
    assert "details of 42 characters" in detailed and "(limits.detailed = 40)" in detailed
    traced = error_of(client, 422, "/v1/translate", text="a" * 21, trace=True)
    assert traced == (
        begin + "text (21 characters) exceeds the limit for trace (20) (limits.traced = 20)"
    )
    form = client.post("/translate", data={**PAIR, "q": "a" * 2000})
    assert (form.status_code, form.json()) == (413, {"error": large})


def test_all_texts_of_a_request_count(start: StartClient) -> None:
    client = start("de-en", limits={"characters": 100})
    given: list[dict[str, Any]] = [
        {"prefix": "x" * 90},
        {"exclude": ["x" * 45, "y" * 45]},
        {"glossary": [["x" * 45, "y" * 45]]},
        {"protect": ["x" * 90]},
    ]
    for values in given:
        message = error_of(client, 413, "/v1/translate", text="Der Zug kommt", **values)
        assert "exceeds text limit (100 characters)" in message
    scored = {"text": "Zug", "translation": "x" * 100}
    assert "exceeds text limit" in error_of(client, 413, "/v1/score", **scored)


@pytest.mark.parametrize("name", ["q", "source", "target", "format", "api_key", "model"])
def test_half_of_a_surrogate_pair_is_not_text(start: StartClient, name: str) -> None:
    values = {**PAIR, "q": "Zug", name: "\ud800"}
    headers = {"Content-Type": "application/json"}
    answer = start("de-en").post("/translate", content=json.dumps(values), headers=headers)
    assert (answer.status_code, answer.json()) == (400, {"error": "Invalid JSON format"})


def test_a_body_of_unknown_length_is_cut_off(start: StartClient) -> None:
    client = start("de-en", limits={"body": 2000})
    sent = 0

    def endless() -> Any:
        nonlocal sent
        while sent < 1_000_000:
            sent += 1000
            yield b'"' + b"x" * 999

    headers = {"Content-Type": "application/json"}
    assert client.post("/translate", content=endless(), headers=headers).status_code == 413


def test_documents_have_a_limit_of_their_own(start: StartClient) -> None:
    client = start("de-en", limits={"body": 500, "file": 5000})

    def send(size: int) -> int:
        files = {"file": ("a.txt", b"Zug. " * (size // 5))}
        return client.post("/translate_file", files=files, data=PAIR).status_code

    assert [send(2000), send(6000)] == [200, 413]


def test_a_zip_bomb_is_refused_in_bounded_memory(start: StartClient) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("word/document.xml", "w", force_zip64=True) as part:
            for _ in range(400):
                part.write(b" " * 1_000_000)
    answer = start("de-en").post(
        "/translate_file", files={"file": ("a.docx", made.getvalue())}, data=PAIR
    )
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("Invalid request: a.docx")


# ---- clients -------------------------------------------------------------------------------------


def test_clients_get_their_requests_back_at_an_even_rate(tmp_path: Path) -> None:
    path, now = tmp_path / "keys.toml", [0.0]
    path.write_text('[[keys]]\nkey = "a secret key"\nper_minute = 6\n')
    config = ServeConfig.model_validate({"keys": str(path), "limits": {"per_minute": 2}})
    access = Access(config, clock=lambda: now[0])
    for _ in range(6):
        access.check("a secret key", "1.2.3.4")
    with pytest.raises(RefusedError, match=r"Slowdown: 6 per 1 minute: try again in 11 s") as error:
        access.check("a secret key", "1.2.3.4")
    assert error.value.headers == {"Retry-After": "11"}
    for _ in range(2):
        access.check("", "1.2.3.4")
        access.check("", "1.2.3.5")
    with pytest.raises(RefusedError, match="Slowdown: 2 per"):
        access.check("", "1.2.3.4")
    now[0] = 10.1
    access.check("a secret key", "")
    with pytest.raises(RefusedError, match="Slowdown"):
        access.check("a secret key", "")
    with pytest.raises(RefusedError, match="Invalid API key"):
        access.check("a wrong key", "")


def test_wrong_keys_and_addresses_of_one_subnet_count_together(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text('[[keys]]\nkey = "a secret key"\n')
    settings = {"keys": str(tmp_path / "keys"), "limits": {"per_minute": 2}}
    access = Access(ServeConfig.model_validate(settings), clock=lambda: 0.0)
    for n in (1, 2):
        with pytest.raises(RefusedError, match="Invalid API key"):
            access.check("a wrong key", f"2001:db8::{n}")
    with pytest.raises(RefusedError, match="Slowdown"):
        access.check("", "2001:db8::3")
    access.check("", "2001:db8:0:1::3")


def test_an_address_mapped_to_ipv6_is_that_address() -> None:
    config = ServeConfig.model_validate({"limits": {"per_minute": 1}})
    access = Access(config, clock=lambda: 0.0)
    for address in ("::ffff:192.0.2.1", "::ffff:192.0.2.2", "192.0.2.3"):
        access.check("", address)
    for address in ("192.0.2.1", "::ffff:c000:203"):
        with pytest.raises(RefusedError, match="Slowdown"):
            access.check("", address)


def test_keys_may_be_required(start: StartClient, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text('[[keys]]\nkey = "a secret key"\n')
    client = start("de-en", keys=str(tmp_path / "keys"), require_key=True)
    contact = "Please contact the server operator to get an API key"
    assert error_of(client, 403, q="Zug") == contact
    assert error_of(client, 403, "/v1/translate", text="Zug") == contact
    assert error_of(client, 403, q="Zug", api_key="no") == "Invalid API key"
    assert client.post(
        "/translate", json={**PAIR, "q": "Zug", "api_key": "a secret key"}
    ).is_success
    assert client.get("/health").is_success


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[keys]]\nkey = 'short'", "keys.0.key"),
        ("[[keys]]\nper_minute = 1", "keys.0.key"),
        ("x = 1", "keys"),
        ("= 1", "is not a TOML file"),
    ],
)
def test_invalid_files_of_keys_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "keys").write_text(text)
    with pytest.raises(RecipeError, match=message):
        read_keys(tmp_path / "keys")


def test_the_address_of_a_client_is_that_of_its_connection(folders: dict[str, Path]) -> None:
    def codes(**more: Any) -> list[int]:
        with running([folders["de-en"]], limits={"per_minute": 2}, **more) as service:
            found = []
            for n in range(3):
                head = {"X-Forwarded-For": f"10.0.0.{n}"}
                found.append(status_of(raw(service, head, json.dumps({**PAIR, "q": "Zug"}))))
            return found

    assert codes() == [200, 200, 429]
    assert codes(trusted_proxies=["127.0.0.1"]) == [200, 200, 200]


def raw(service: Running, headers: dict[str, str], body: str) -> bytes:
    """The answer to a request over a connection of its own."""
    return exchange(service, request_of(body, {"Connection": "close", **headers}))


def request_of(body: str, headers: Mapping[str, str] | None = None) -> bytes:
    """A request for a translation."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    return (
        f"POST /translate HTTP/1.1\r\nHost: x\r\n{lines}"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def exchange(service: Running, data: bytes, *, ends: bool = False) -> bytes:
    """Send bytes, and return the answer; `ends`: no further bytes will follow."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        try:
            connection.sendall(data)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            found = b""
            while part := connection.recv(65536):
                found += part
        except OSError:  # the service has closed the connection
            return b""
        return found


def status_of(answer: bytes) -> int:
    return int(answer.split()[1])


# ---- many requests -------------------------------------------------------------------------------


SIZES = pytest.mark.parametrize("text", ["Zug", "Zug. " * 300], ids=["on the loop", "in a thread"])


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Until it is set, the threads that decode wait."""
    found, search = Event(), Session.search

    def slow(*args: Any) -> None:
        assert found.wait(20)
        search(*args)

    monkeypatch.setattr(Session, "search", slow)
    yield found
    found.set()


@SIZES
def test_too_many_requests_are_refused_at_once(
    start: StartClient, release: Event, text: str
) -> None:
    client = start("de-en", limits={"waiting": 1})
    work = client.app.state.service.work  # type: ignore[attr-defined]
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(client.post, "/translate", json={**PAIR, "q": text})
        wait_until(lambda: work.n == 1)
        answer = client.post("/translate", json={**PAIR, "q": "Zug"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert client.get("/health").is_success
        release.set()
        assert first.result().is_success


@SIZES
def test_a_request_ends_at_its_time_limit(start: StartClient, release: Event, text: str) -> None:
    client = start("de-en", limits={"seconds": 0.2})
    message = error_of(client, 503, q=text)
    assert (
        message == "The translation took longer than 0.2 s: shorten the text (limits.seconds = 0.2)"
    )
    release.set()
    work = client.app.state.service.work  # type: ignore[attr-defined]
    wait_until(lambda: work.n == 0)
    wait_until(lambda: client.post("/translate", json={**PAIR, "q": "Zug"}).is_success)


@SIZES
def test_a_request_ends_when_its_client_leaves(
    folders: dict[str, Path], release: Event, text: str
) -> None:
    with running([folders["de-en"]], limits={"waiting": 1}) as service:
        work = service.service.work
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(request_of(json.dumps({**PAIR, "q": text})))
            wait_until(lambda: work.n == 1)
        if text == "Zug":  # a thread ends when the engine does
            wait_until(lambda: work.n == 0)
        release.set()
        wait_until(lambda: work.n == 0)


def test_a_translation_that_takes_too_long_is_given_up(start: StartClient) -> None:
    client = start("de-en", limits={"seconds": 0.2, "characters": 1_000_000})
    start_time = time.monotonic()
    texts = [f"Zug {n} kommt." for n in range(900)]
    message = error_of(client, 503, q=texts)
    assert (
        message == "The translation took longer than 0.2 s: shorten the text (limits.seconds = 0.2)"
    )
    assert time.monotonic() - start_time < 5
    assert client.post("/translate", json={**PAIR, "q": "Zug"}).is_success


def test_a_client_that_leaves_gives_its_place_to_others(folders: dict[str, Path]) -> None:
    with running([folders["de-en"]], limits={"waiting": 2}) as service:
        request = request_of(
            json.dumps({**PAIR, "q": [f"Zug {n} kommt. " * 5 for n in range(900)]})
        )
        work = service.service.work
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", service.port)) as connection:
                connection.sendall(request)
                wait_until(lambda: work.n == 1)
            wait_until(lambda: work.n == 0)


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_slow_and_silent_connections_are_closed(folders: dict[str, Path]) -> None:
    with running([folders["de-en"]], limits={"body_seconds": 0.5}) as service:
        address = ("127.0.0.1", service.port)
        slow = [socket.create_connection(address, timeout=20) for _ in range(50)]
        for n, connection in enumerate(slow):
            if n % 2:
                connection.sendall(b"POST /translate HTTP/1.1\r\nHost: x\r\nX-")
        with urlopen(f"{service.url}/health", timeout=5) as answer:
            assert answer.status == 200
        for connection in slow:
            assert connection.recv(1000) == b""
            connection.close()
        late = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        with socket.create_connection(address, timeout=20) as connection:
            connection.sendall(late + b"Content-Length: 100\r\n\r\n{")
            assert status_of(connection.recv(4096)) == 408


@settings(max_examples=examples(60), deadline=None)
@given(data=st.binary(max_size=300) | st.text(max_size=100).map(str.encode))
def test_any_bytes_leave_the_service_running(socket_service: Running, data: bytes) -> None:
    for head in (b"", b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"):
        answer = exchange(socket_service, head + data, ends=True)
        assert not answer or status_of(answer) in range(400, 500), answer
    assert b"Traceback" not in answer


HEADERS = [
    b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\n bad: folded\r\nX\x00: y\r\n\r\n",
    b"GET " + b"/" * 2_000_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 2_000_000 + b"\r\n\r\n",
]


@pytest.mark.parametrize("request_bytes", HEADERS)
def test_ambiguous_and_huge_headers_are_refused(
    socket_service: Running, request_bytes: bytes
) -> None:
    answer = exchange(socket_service, request_bytes, ends=True)
    assert not answer or status_of(answer) >= 400


def test_an_endless_trailer_is_refused_and_changes_no_header(socket_service: Running) -> None:
    head = b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    kind = b"Content-Type: application/x-www-form-urlencoded\r\n\r\n"
    assert status_of(exchange(socket_service, head + kind, ends=True)) == 400
    endless = b"".join(b"a%d: b\r\n" % n for n in range(100_000))
    answer = exchange(socket_service, head + endless)
    assert not answer or status_of(answer) == 400


def test_an_upgrade_is_ignored(socket_service: Running) -> None:
    """Java's client requests HTTP/2 in this way."""
    head = {"Connection": "close, Upgrade, HTTP2-Settings", "Upgrade": "h2c"}
    assert status_of(raw(socket_service, head, json.dumps({**PAIR, "q": "Zug"}))) == 200


def test_headers_have_a_maximum_size(socket_service: Running) -> None:
    answer = exchange(socket_service, b"GET /health HTTP/1.1\r\nX: " + b"a" * 300_000)
    assert not answer or status_of(answer) == 400


def test_connections_have_a_maximum_number(folders: dict[str, Path]) -> None:
    limits = {"connections": 2, "per_address": 0}
    with running([folders["de-en"]], limits=limits) as service:
        address = ("127.0.0.1", service.port)
        request = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        with ExitStack() as stack:
            opened = [stack.enter_context(socket.create_connection(address)) for _ in range(2)]
            for connection in opened:
                connection.sendall(request)
                assert status_of(connection.recv(4096)) == 200
            answer = exchange(service, b"")
            assert status_of(answer) == 503 and b"Too many connections" in answer
        wait_until(lambda: status_of(exchange(service, request, ends=True) or b"- 0") == 200)


def test_security_headers_are_on_every_answer(shared: Client) -> None:
    for answer in (shared.get("/health"), shared.get("/none"), shared.post("/translate")):
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


def test_other_origins_are_allowed_only_if_they_are_named(start: StartClient) -> None:
    client = start("de-en", allow_origins=["https://example.org"])
    for origin, allowed in (("https://example.org", True), ("https://example.com", False)):
        answer = client.post("/translate", json={**PAIR, "q": "Zug"}, headers={"Origin": origin})
        assert ("access-control-allow-origin" in answer.headers) == allowed


def test_a_page_of_another_origin_may_send_its_key_in_a_header(start: StartClient) -> None:
    client = start("de-en", allow_origins=["https://example.org"])
    headers = {
        "Origin": "https://example.org",
        "Access-Control-Request-Method": "PATCH",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    answer = client.options("/v3/glossaries/1", headers=headers)
    assert answer.status_code == 200
    assert "authorization" in answer.headers["access-control-allow-headers"].lower()


@pytest.mark.parametrize(
    ("proxies", "protocol", "expected"),
    [
        (["127.0.0.1"], ["https, http"], "https"),
        (["127.0.0.1"], ["http, https"], "http"),
        (["127.0.0.1"], ["https", "http"], "https"),
        ([], ["https, http"], "http"),  # nobody is trusted
    ],
)
def test_the_first_of_several_proxies_states_the_protocol(
    folders: dict[str, Path], proxies: list[str], protocol: list[str], expected: str
) -> None:
    with running([folders["de-en"]], trusted_proxies=proxies) as service:
        files = {"file": ("a.txt", b"Zug")}
        headers = [("X-Forwarded-Proto", value) for value in protocol]
        url = f"{service.url}/translate_file"
        answer = httpx.post(url, files=files, data=PAIR, headers=headers)
    assert answer.json()["translatedFileUrl"].startswith(f"{expected}://127.0.0.1")


def test_texts_are_logged_only_if_asked(
    start: StartClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="yakusu.serve")
    start("de-en").post("/translate", params={**PAIR, "q": "Geheim"})
    assert "POST /translate 200" in caplog.text and "Geheim" not in caplog.text
    start("de-en", log_text=True).post("/translate", params={**PAIR, "q": "Geheim"})
    assert "'Geheim'" in caplog.text


def test_a_failure_says_nothing_of_the_program(
    start: StartClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    detail = "secret detail"

    def fail(*_: Any, **__: Any) -> None:
        raise ValueError(detail)

    client = start("de-en")
    monkeypatch.setattr("yakusu.serve.api.kinds.along", fail)
    answer = client.post("/translate", json={**PAIR, "q": "Zug"})
    assert (answer.status_code, answer.json()) == (
        500,
        {"error": "The server failed: its log has the reason"},
    )
    assert "POST /translate failed" in caplog.text and "ValueError" in caplog.text
    assert detail not in caplog.text  # it may be a text
    assert answer.headers["x-frame-options"] == "DENY"


# ---- files and settings --------------------------------------------------------------------------


def test_the_oldest_documents_are_removed_beyond_a_number() -> None:
    files = Files(2)
    made = [files.new() for _ in range(3)]
    for name, folder in made:
        files.keep(name, folder / "a.txt")
    assert [folder.exists() for _, folder in made] == [False, True, True]
    files.close()


def test_documents_are_removed_after_their_time() -> None:
    now = [0.0]
    files = Files(100, seconds=10, clock=lambda: now[0])
    name, folder = files.new()
    (folder / "a.txt").write_text("a")
    files.keep(name, folder / "a.txt")
    assert files.find(name).read_text() == "a"
    now[0] = 11
    with pytest.raises(RefusedError, match="Invalid filename"):
        files.find(name)
    assert not folder.exists()
    files.close()
    assert not folder.parent.exists()


def test_settings_come_from_a_file_and_from_options(tmp_path: Path) -> None:
    path = tmp_path / "serve.toml"
    path.write_text('port = 80\n[limits]\ncharacters = 5\nalternatives = "x"\n')
    with pytest.raises(RecipeError, match=r"serve.toml, line 4: limits.alternatives = 'x'"):
        load_config(path)
    path.write_text("port = 80\n[limits]\ncharacter = 5\n")
    with pytest.raises(
        RecipeError,
        match=r"line 3: unknown key 'limits.character': did you mean 'limits.characters'",
    ):
        load_config(path)
    path.write_text("port = 80\n")
    assert load_config(path, ["limits.characters=5"]).limits.characters == 5
    with pytest.raises(RecipeError, match="root_path = '/translate' begins like a path"):
        load_config(None, ["root_path=/translate"])
    for prefix in ("mt", "/mt/", "/", "/m t", "/mt\n"):
        with pytest.raises(RecipeError) as error:
            load_config(None, [f"root_path={prefix!r}".replace("'", '"')])
        assert str(error.value).startswith(
            f"--set: root_path = '{prefix}': begin with a slash and do not end with one, as in /mt"
        )
    assert load_config(None, ["root_path=/a/b-c"]).root_path == "/a/b-c"
    with pytest.raises(RecipeError, match="require_key = true needs a file of keys"):
        Access(load_config(None, ["require_key=true"]))
    with pytest.raises(RecipeError, match="--set: port"):
        load_config(path, ["port=99999"])
    with pytest.raises(RecipeError, match=r"trusted_proxies.*'proxy'"):
        load_config(None, ['trusted_proxies=["proxy"]'])
    assert load_config(None, ['trusted_proxies=["10.0.0.0/8"]']).trusted_proxies


def test_no_path_prefix_is_a_path_of_the_service(shared: Client) -> None:
    paths = {path.split("/")[1] for path in shared.get("/spec").json()["paths"]}
    assert paths - {""} <= set(ROUTES)
    for name in ROUTES:
        with pytest.raises(RecipeError):
            load_config(None, [f"root_path=/{name}"])


def test_a_message_quotes_the_beginning_of_a_long_request(start: StartClient) -> None:
    client = start("de-en")
    message = error_of(client, 400, "/v1/translate", text="Zug", model="x" * 50_000)
    assert message.startswith("there is no model 'xxx") and len(message) < 1100
