"""Headless Firefox, which runs functions in a page; it is asked by WebDriver BiDi.

    with firefox(profile) as browser:
        browser.open(url)
        browser.call("(text) => document.title + text", "!")

Needs the package websocket-client, and `peak_mib` psutil.
"""

import itertools
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.memory import PEAK, mib
from yakusu.errors import RunError

PROGRAM = shutil.which("firefox-esr") or shutil.which("firefox") or ""
_ADDRESS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
_START = 60  # seconds in which Firefox says where it listens
_LONGEST = 3_600  # seconds of a call


class Firefox:
    """A session with the only tab of a browser."""

    def __init__(self, address: str, process: int) -> None:
        from websocket import create_connection

        # Firefox refuses a connection that states an origin, as those of web pages do.
        self._socket: Any = create_connection(
            f"{address}/session", timeout=_LONGEST, suppress_origin=True
        )
        self._numbers = itertools.count(1)
        self._process = process
        self._send("session.new", capabilities={})
        self._place = {"context": self._send("browsingContext.getTree")["contexts"][0]["context"]}

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def open(self, url: str) -> None:
        """Open a page, and wait until it is loaded."""
        self._send("browsingContext.navigate", **self._place, url=url, wait="complete")

    def call(self, function: str, text: str) -> str:
        """Return the text that a function of JavaScript, or its promise, makes of another.

        Raises:
            RunError: It fails.
        """
        found = self._send(
            "script.callFunction",
            functionDeclaration=function,
            arguments=[{"type": "string", "value": text}],
            awaitPromise=True,
            target=self._place,
        )
        if found["type"] != "success":
            raise RunError(f"Firefox failed: {found['exceptionDetails']['text']}")
        return str(found["result"]["value"])

    def peak_mib(self) -> float:
        """Peak memory of the largest process that the browser has started."""
        import psutil

        processes = psutil.Process(self._process).children(recursive=True)
        return max(mib(PEAK, each.pid) for each in processes)

    def _send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command; return its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (answer := json.loads(self._socket.recv())).get("id") != number:
            pass
        if answer["type"] != "success":
            raise RunError(f"Firefox refuses {method}: {answer['message']}")
        result: dict[str, Any] = answer["result"]
        return result


@contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """Run Firefox with a profile in an empty folder.

    Raises:
        RunError: It is not installed, or does not start.
    """
    if not PROGRAM:
        raise RunError("Firefox is not installed: install firefox-esr, for example")
    command = [PROGRAM, "--headless", "--remote-debugging-port=0", "--profile", str(profile)]
    log = profile / "log.txt"  # a pipe that nobody reads would stop Firefox
    with (
        log.open("w", encoding="utf-8") as out,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=out) as process,
    ):
        try:
            with closing(Firefox(_address(process, log), process.pid)) as session:
                yield session
        finally:
            process.terminate()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Where Firefox listens."""
    for _ in range(10 * _START):
        if found := _ADDRESS.search(log.read_text(encoding="utf-8")):
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RunError("Firefox does not listen")
