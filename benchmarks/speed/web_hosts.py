"""Hosts that run a JavaScript module: a node process, and headless Chromium and Firefox.

A host runs a script, a function `async (url, given) => found`: `url` is that of the module, and
`found` is a JSON object, or null if the host cannot run the module. The host adds "peak" to it, the
peak memory of the process in MiB. `gzip_kb` is the size of files that a host loads.
"""

import gzip
import json
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import memory
from benchmarks.firefox import firefox
from yakusu.errors import RunError

Found = dict[str, Any] | None


def in_node(script: str, module: Path, given: dict[str, Any]) -> Found:
    """Run a script in a process of node.

    Raises:
        RunError: It fails.
    """
    program = (
        'import { readFileSync } from "node:fs";\n'
        'const given = JSON.parse(readFileSync(0, "utf8"));\n'
        f"const found = await ({script})({json.dumps(module.as_uri())}, given);\n"
        'const status = readFileSync("/proc/self/status", "utf8");\n'
        "const peak = status.match(/VmHWM:\\s+(\\d+)/)[1] / 1024;\n"
        "console.log(JSON.stringify(found && { ...found, peak }));"
    )
    command = ["node", "--no-warnings", "--input-type=module", "--eval", program]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    if done.returncode:
        raise RunError(f"node failed: {done.stderr[-500:].strip()}")
    found: Found = json.loads(done.stdout)
    return found


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """Serve a folder; yield its address."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def in_chromium(script: str, module: Path, given: dict[str, Any]) -> Found:
    """Run a script in a headless browser, which has cached nothing; it sees the module's folder."""
    from playwright.sync_api import sync_playwright

    with _served(module.parent) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(service_workers="block")
        page.set_default_timeout(0)
        page.goto(f"{address}/index.html")
        found: Found = page.evaluate(f"(given) => ({script})('./{module.name}', given)", given)
        session = browser.new_browser_cdp_session()
        processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        renderers = [each["id"] for each in processes if each["type"] == "renderer"]
        if found:
            found["peak"] = max(memory.mib(memory.PEAK, number) for number in renderers)
        browser.close()
    return found


def in_firefox(script: str, module: Path, given: dict[str, Any]) -> Found:
    """Run a script in Firefox, as in Chromium.

    Raises:
        RunError: It fails.
    """
    with (
        _served(module.parent) as address,
        TemporaryDirectory() as profile,
        firefox(Path(profile)) as browser,
    ):
        browser.open(f"{address}/index.html")
        url = json.dumps(f"{address}/{module.name}")
        function = (
            f"async (given) => JSON.stringify(await ({script})({url}, JSON.parse(given)) ?? null)"
        )
        found: Found = json.loads(browser.call(function, json.dumps(given)))
        if found:
            found["peak"] = browser.peak_mib()
    return found


HOSTS = {"node": in_node, "chromium": in_chromium, "firefox": in_firefox}


def gzip_kb(files: Iterable[Path]) -> float:
    """The size of files, each compressed."""
    return sum(len(gzip.compress(path.read_bytes(), 9)) for path in files) / 1e3
