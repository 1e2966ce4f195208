"""A page in one file, in Firefox, which is asked by WebDriver BiDi without another program.

Only the environment of the peer firefox has the client (benchmarks/interop/peers.py).
"""

import itertools
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from yakusu import Translator, export_web

websocket: Any = pytest.importorskip(
    "websocket", reason="only the environment of the peer firefox has websocket-client"
)
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox") or ""
SENTENCE = "Der Hund schläft im Garten."
ADDRESS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
TRANSLATE = """(text) => new Promise((resolve) => {
  const field = document.getElementById("text"), result = document.getElementById("translation");
  document.getElementById("from").value = "de";
  field.value = text;
  field.dispatchEvent(new Event("input"));
  const look = () => result.ariaBusy === "false" && result.querySelector(".word")
    ? resolve(result.innerText.trim()) : setTimeout(look, 100);
  look();
})"""


class BiDi:
    """A session of WebDriver BiDi."""

    def __init__(self, address: str) -> None:
        # Firefox refuses a connection that states an origin, as those of web pages do.
        self._socket = websocket.create_connection(
            f"{address}/session", timeout=300, suppress_origin=True
        )
        self._numbers = itertools.count(1)

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command; return its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (answer := json.loads(self._socket.recv())).get("id") != number:
            pass
        assert answer["type"] == "success", answer
        result: dict[str, Any] = answer["result"]
        return result


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[BiDi]:
    if not FIREFOX:
        pytest.skip("Firefox is not installed")
    profile = tmp_path / "profile"
    profile.mkdir()
    command = [FIREFOX, "--headless", "--remote-debugging-port=0", "--profile", str(profile)]
    log = tmp_path / "firefox.log"  # a pipe that nobody reads would stop Firefox
    with log.open("w", encoding="utf-8") as out, subprocess.Popen(command, stderr=out) as process:
        try:
            with closing(BiDi(_address(process, log))) as session:
                yield session
        finally:
            process.terminate()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Where Firefox listens, which it says within a minute."""
    for _ in range(600):
        if found := ADDRESS.search(log.read_text(encoding="utf-8")):
            return found[1]
        assert process.poll() is None, "Firefox has ended"
        time.sleep(0.1)
    raise AssertionError("Firefox does not listen")


def test_a_file_translates_in_firefox(firefox: BiDi, model_folder: Path, tmp_path: Path) -> None:
    export_web(model_folder, tmp_path / "page.html")
    firefox.send("session.new", capabilities={})
    (context,) = firefox.send("browsingContext.getTree")["contexts"]
    place = {"context": context["context"]}
    url = (tmp_path / "page.html").as_uri()
    firefox.send("browsingContext.navigate", **place, url=url, wait="complete")
    given = [{"type": "string", "value": SENTENCE}]
    found = firefox.send(
        "script.callFunction",
        functionDeclaration=TRANSLATE,
        arguments=given,
        awaitPromise=True,
        target=place,
    )
    assert found["result"]["value"] == Translator.load(model_folder).translate([SENTENCE])[0]
