"""`yakusu serve` as a process: address, signals, errors, no torch."""

import fcntl
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from tests.cases import some


@contextmanager
def process(
    *arguments: object, program: str = "", **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of `yakusu serve ARGUMENTS --port 0`, after a program, and its address."""
    code = f"{program}\nfrom yakusu.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", *map(str, arguments), "--port", "0"]
    env = {**os.environ, **environment}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env
    ) as running:
        assert running.stderr
        try:
            found = re.match(r"serving on (http://127\.0\.0\.1:\d+.*/) ", running.stderr.readline())
            assert found
            yield running, found[1]
        finally:
            running.kill()


def post(url: str, **values: Any) -> Any:
    """The answer to JSON."""
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(url, json.dumps(values).encode(), headers)) as answer:
        return json.load(answer)


def has_work(url: str) -> bool:
    with urlopen(f"{url}metrics") as answer:
        return b"yakusu_waiting_requests 1.0" in answer.read()


def refuses(url: str) -> bool:
    """Whether connections are refused; those not yet accepted when the socket closes are reset."""
    try:
        with urlopen(f"{url}health", timeout=5):
            return False
    except ConnectionResetError:
        return False
    except URLError as error:
        return isinstance(error.reason, ConnectionRefusedError)


# Decodes when a file exists.
PAUSED = """
import time
from pathlib import Path
from yakusu.engine.session import Session
search = Session.search
def wait(*args, **named):
    while not Path({go!r}).exists():
        time.sleep(0.01)
    return search(*args, **named)
Session.search = wait
"""


def test_a_signal_ends_the_service_after_its_requests(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    texts, go = [f"Zug {n} kommt heute." for n in range(300)], tmp_path / "go"
    paused = PAUSED.format(go=str(go))
    with (
        process(folders["de-en"], program=paused) as (running, url),
        ThreadPoolExecutor(1) as threads,
    ):
        answer = threads.submit(post, f"{url}translate", q=texts, source="de", target="en")
        while not has_work(url):
            assert not answer.done()
        running.send_signal(signal.SIGTERM)
        latest = time.monotonic() + 30  # an answer that is not sent is cancelled before
        while not refuses(url):
            assert not answer.done() and time.monotonic() < latest
        go.touch()
        assert len(answer.result()["translatedText"]) == 300
        assert running.wait(20) in (0, -signal.SIGTERM)
        assert running.stderr and "Traceback" not in running.stderr.read()


# What never ends: the threads that decode and those of requests; the event loop.
STUCK = {
    "threads": """
from yakusu.engine.session import Session
from yakusu.serve.service import Service
Session.search = Service.detect = wait
""",
    "loop": """
from yakusu.serve.service import Service
Service.check_texts = wait
""",
}
WAIT = "import ctypes\ndef wait(*_, **__): ctypes.CDLL(None).sleep(60)\n"


@pytest.mark.parametrize(("state", "n_signals"), [("threads", 1), ("loop", 1), ("loop", 2)])
def test_the_service_ends_in_time_in_every_state(
    folders: dict[str, Path], tmp_path: Path, state: str, n_signals: int
) -> None:
    program = WAIT + STUCK[state]
    settings = ["--set", f"shutdown_seconds={0.5 if n_signals == 1 else 50}"]
    with (
        process(folders["de-en"], *settings, program=program, TMPDIR=str(tmp_path)) as found,
        ThreadPoolExecutor(1) as threads,
    ):
        running, url = found
        texts = [f"Zug {n} kommt heute. " * 8 for n in range(300)]
        answer = threads.submit(post, f"{url}translate", q=texts, source="de", target="en")
        time.sleep(0.4)
        assert not answer.done() and len([*tmp_path.iterdir()]) == 1
        start = time.monotonic()
        for _ in range(n_signals):
            running.send_signal(signal.SIGTERM)
            time.sleep(0.05)
        assert running.wait(20) == -signal.SIGTERM
        assert time.monotonic() - start < (1.5 if n_signals == 1 else 0.6)
        assert not [*tmp_path.iterdir()]
        assert answer.exception()


def test_a_killed_service_has_stored_what_a_key_has_translated(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    keys, data = tmp_path / "keys.toml", tmp_path / "data"
    keys.write_text('[[keys]]\nkey = "the key of Anna"\n')
    settings = [f"keys={keys}", f"data={data}", "reload_seconds=0"]
    options = [word for setting in settings for word in ("--set", setting)]
    with process(folders["de-en"], *options) as (running, url):
        values = {"source": "de", "target": "en", "api_key": "the key of Anna"}
        post(f"{url}translate", q="Hallo", **values)
        latest = time.monotonic() + 30  # the counts are stored every second
        while not characters_in(data) and time.monotonic() < latest:
            time.sleep(0.05)
        running.kill()
        running.wait()
    assert characters_in(data) == len("Hallo")


def characters_in(data: Path) -> int:
    """The characters that all keys have translated in this month."""
    with closing(sqlite3.connect(data / "service.db")) as db:
        (found,) = db.execute("SELECT sum(characters) FROM usage").fetchone()
    return found or 0


def test_a_hangup_reads_keys_and_settings_again_and_drops_no_request(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    keys, settings = tmp_path / "keys.toml", tmp_path / "serve.toml"
    keys.write_text('[[keys]]\nkey = "the old key"\n')
    settings.write_text(f'keys = "{keys}"\n')
    pair = {"source": "de", "target": "en"}

    def status(url: str, key: str) -> int:
        try:
            return len(post(f"{url}translate", q="Zug", api_key=key, **pair)) and 200
        except HTTPError as error:
            return error.code

    with (
        process(folders["de-en"], "--config", settings) as (running, url),
        ThreadPoolExecutor(1) as threads,
    ):
        texts = [f"Zug {n} kommt heute." for n in range(200)]
        answer = threads.submit(post, f"{url}translate", q=texts, **pair)
        while not (has_work(url) or answer.done()):
            pass
        keys.write_text('[[keys]]\nkey = "the new key"\n')
        settings.write_text(f'keys = "{keys}"\nrequire_key = true\nshutdown_seconds = 9\n')
        running.send_signal(signal.SIGHUP)
        while status(url, "the new key") != 200:
            time.sleep(0.05)
        assert status(url, "the old key") == status(url, "") == 403
        assert len(answer.result()["translatedText"]) == 200
        settings.write_text("nonsense = 1\n")
        running.send_signal(signal.SIGHUP)
        assert running.stderr
        lines = iter(running.stderr.readline, "")
        warnings = (line for line in lines if "warning: " in line)
        assert "restart the service to change shutdown_seconds" in next(warnings)
        assert "the old settings are kept: " in next(warnings)
        assert status(url, "the new key") == 200


def test_the_log_is_lines_of_json_without_texts(folders: dict[str, Path]) -> None:
    with process(folders["de-en"], "--set", "log_format=json") as (running, url):
        post(f"{url}translate", q="Sichern", source="de", target="en")
        with pytest.raises(HTTPError):
            post(f"{url}translate?q=Sichern", source="de", target="Sichern")
        running.send_signal(signal.SIGTERM)
        assert running.stderr
        lines = running.stderr.read()
    found = [json.loads(line) for line in lines.splitlines()]
    requests = [each for each in found if "path" in each]
    assert [(each["method"], each["path"], each["status"]) for each in requests] == [
        ("POST", "/translate", 200),
        ("POST", "/translate", 400),
    ]
    assert all({"time", "level", "logger", "message"} <= each.keys() for each in found)
    assert all(each["milliseconds"] > 0 for each in requests) and "Sichern" not in lines


def test_the_service_does_not_load_torch(folders: dict[str, Path]) -> None:
    with process(folders["de-en"]) as (running, url):
        assert post(f"{url}translate", q="Zug", source="de", target="en")
        maps = Path(f"/proc/{running.pid}/maps").read_text()
        assert "libyakusu" in maps and "libtorch" not in maps


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            (["none"], "error: none is neither a model folder nor a bundled model: choose from"),
            (["{model}", "--set", "limits.x=1"], "error: --set: unknown key 'limits.x'"),
            (
                ["{model}", "--config", "none"],
                "error: none cannot be read: No such file or directory",
            ),
            (["{model}", "--host", "192.0.2.1"], "error: 192.0.2.1:5000 is not available"),
            (["{model}", "--set", "keys=none"], "error: none cannot be read"),
            (
                ["{model}", "--set", "suggestions=/none/x"],
                "error: /none/x cannot be written: No such",
            ),
        ]
    ),
)
def test_errors_are_one_sentence(
    folders: dict[str, Path], arguments: list[str], message: str
) -> None:
    given = [word.format(model=folders["de-en"]) for word in arguments]
    command = [sys.executable, "-m", "yakusu", "serve", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message) and done.stderr.count("\n") == 1


def test_a_path_prefix_is_part_of_addresses(folders: dict[str, Path]) -> None:
    with process(folders["de-en"], "--root-path", "/mt") as (_, url):
        assert url.endswith("/mt/")
        assert post(f"{url}translate", q="Zug", source="de", target="en")
        assert post(url.replace("/mt/", "/translate"), q="Zug", source="de", target="en")


_UNREAD = """
import io, signal, sys
from yakusu.serve.shutdown import _exit

buffer = io.BufferedWriter(io.FileIO(1, "w", closefd=False), 2_000_000)
sys.stdout = io.TextIOWrapper(buffer)
sys.stdout.write("x" * 1_000_000)  # more than a pipe holds
_exit(signal.SIGTERM, ())
"""


def test_output_that_nobody_reads_does_not_keep_the_process() -> None:
    with subprocess.Popen([sys.executable, "-c", _UNREAD], stdout=subprocess.PIPE) as process:
        assert process.wait(20) == -signal.SIGTERM


@pytest.mark.skipif(sys.platform != "linux", reason="sets the size of a pipe")
def test_the_service_goes_on_if_nobody_reads_its_log(folders: dict[str, Path]) -> None:
    with process(folders["de-en"]) as (running, url):
        assert running.stderr
        fcntl.fcntl(running.stderr, fcntl.F_SETPIPE_SZ, 4096)
        for _ in range(200):  # more lines than the pipe holds
            assert urlopen(f"{url}health", timeout=5).status == 200
        running.stderr.close()
        assert post(f"{url}translate", q="Zug", source="de", target="en")
        running.terminate()
        assert running.wait(5) == -signal.SIGTERM
