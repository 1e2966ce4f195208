"""The services that `benchmarks.speed.serving` compares: models, commands, and how they start."""

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from benchmarks import memory
from benchmarks.services import ROOT
from benchmarks.speed.plain import SHAPES, UNLIKELY, write_trained
from benchmarks.speed.systems import Model, chosen
from yakusu.data.vocabulary import EOS
from yakusu.errors import RunError
from yakusu.translator.folder.folder import ModelFolder

SERVE = "yakusu serve"
_PEER = "benchmarks.speed.serving_ctranslate2"
_SECONDS = 60  # until the first answer
_VERSIONS = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {"python": sys.version.split()[0]}
for name in sys.argv[1:]:
    try: found[name] = version(name)
    except PackageNotFoundError: pass
print(json.dumps(found))
"""
_LIBRARIES = ("ctranslate2", "sentencepiece", "fastapi", "uvicorn", "httptools", "uvloop", "h11")


def write_random(shape: str, folder: ModelFolder, out: Path, *, length: int, seed: int) -> Path:
    """Write a model folder with random weights and the tokenizer of another.

    Every translation has `length` tokens, the last of which is eos.
    """
    import torch

    import yakusu
    from yakusu.model.architectures import build
    from yakusu.translator.folder.network import save_translator

    settings = {"output_bias": True, **SHAPES[shape].settings}
    config = yakusu.load_recipe(SHAPES[shape].recipe).model.model_copy(update=settings)
    torch.manual_seed(seed)
    weights = build(config, **folder.config.vocab_sizes).weights()
    weights["output_bias"] = torch.zeros_like(weights["output_bias"])
    weights["output_bias"][EOS] = UNLIKELY
    limits = {"max_length": length - 1, "max_extra": length, "max_repeats": 0}
    search = folder.config.search.model_copy(update=limits)
    changed: dict[str, Any] = {"model": config, "compressed": [], "search": search}
    save_translator(out, weights, folder.tokenizer, folder.config.model_copy(update=changed))
    return out


def commands(args: argparse.Namespace, folder: Path, scratch: Path) -> dict[str, list[str]]:
    """The command of each service by name, without its port; the models are converted.

    Raises:
        ModelError: CTranslate2 does not support the model.
    """
    ours = [sys.executable, "-m", "yakusu", "serve", str(folder)]
    ours += [word for setting in settings(args) for word in ("--set", setting)]
    found = {SERVE: ours}
    peers = [system for system in chosen(args) if system.group.startswith("CTranslate2")]
    if peers:
        model, search = Model(scratch / "plain", folder), ModelFolder.open(folder).config.search
        write_trained(folder, model.plain)
        model.convert(args.peer_python)
        length = ["--length", str(args.length)] if args.shape else []
        limits = ["--beam", str(search.beam), "--alpha", str(search.alpha), *length]
        command = [args.peer_python, "-m", _PEER, str(model.converted), str(model.plain), *limits]
        for system in peers:
            inter, intra = system.threads or (1, 1)
            for wait in args.peer_waits:
                own = ["--threads", f"{inter}/{intra}", "--wait", f"{wait:g}"]
                own += ["--precision", system.load["precision"]]
                found[f"{system}, {wait:g} ms"] = [*command, *own]
    return found


def settings(args: argparse.Namespace) -> list[str]:
    """The settings of `yakusu serve`."""
    return [f"threads={args.threads}", *args.settings]


def versions(commands: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The versions that a record states, by service."""
    pythons = {name.partition(",")[0]: words[0] for name, words in commands.items()}
    return {
        name: json.loads(subprocess.check_output([python, "-c", _VERSIONS, *_LIBRARIES]))
        for name, python in pythons.items()
    }


class Running:
    """A service that runs until the end of a `with` block.

    Args:
        command: How it is started, without its port.
        port: Its port.
        body: A request; the service has started when it is answered.

    Attributes:
        first: Seconds from the start of the process to the first answer.

    Raises:
        RunError: It ends early, or does not answer.
    """

    def __init__(self, command: Sequence[str], port: int, body: Mapping[str, str]) -> None:
        path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
        self.port, self._words = port, [*command, "--port", str(port)]
        self._log = TemporaryFile()  # noqa: SIM115  (closed when the service stops)
        start = time.perf_counter()
        self._process = subprocess.Popen(
            self._words, stdout=self._log, stderr=self._log, cwd=ROOT, env=environment
        )
        try:
            self._wait(json.dumps(body).encode())
        except BaseException:
            self._stop()
            raise
        self.first = time.perf_counter() - start

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()

    def peak_mib(self) -> float:
        """Peak resident memory until now."""
        return memory.mib(memory.PEAK, self._process.pid)

    def cpu_seconds(self) -> float:
        """Processor time until now, of all its threads; not that of processes that it started."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")  # utime and stime

    def _wait(self, body: bytes) -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/translate", body, {"Content-Type": "application/json"}
        )
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(request, timeout=_SECONDS).close()
                return
            except urllib.error.HTTPError as error:
                raise self._failed(f"answers {error.code}") from error
            except OSError:  # it does not listen yet
                if (code := self._process.poll()) is not None:
                    raise self._failed(f"ended with exit code {code}") from None
                time.sleep(0.005)
        raise self._failed(f"does not answer on port {self.port}")

    def _failed(self, what: str) -> RunError:
        self._log.seek(0)
        last = self._log.read().decode(errors="replace")[-500:].strip()
        return RunError(f"{' '.join(self._words[1:4])} {what}: {last}")

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
