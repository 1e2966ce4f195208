"""Throughput of `yakusu serve` by API: DeepL's `/v2/translate` and LibreTranslate's `/translate`.

Both paths get the same sentences, one in each request, from clients whose connections stay open. A
round measures each path; the paths take turns in being first. The first round is not measured.

    python -m benchmarks.speed.serving_apis runs/en-de/model news.en --clients 16
"""

import argparse
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.services import Service
from yakusu.translator.folder.folder import ModelFolder

_PATHS = ("/translate", "/v2/translate")


@contextmanager
def _served(model: str) -> Iterator[int]:
    """The port of a service in a process of its own, which writes no log."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "yakusu", "serve", model, "--port", str(port)]
    silent = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=silent, stderr=silent) as process:
        try:
            while process.poll() is None:
                with suppress(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.1)
            yield port
        finally:
            process.terminate()


def measure(args: argparse.Namespace) -> dict[str, list[float]]:
    """The requests per second of each path in each round."""
    texts = Path(args.texts).read_text(encoding="utf-8").splitlines()[: args.requests]
    config = ModelFolder.open(Path(args.model)).config
    found: dict[str, list[float]] = {path: [] for path in _PATHS}
    side = [sys.executable, "-m", "benchmarks.speed.serving_load"]
    with _served(args.model) as port, Service(side) as clients:
        for number in range(args.rounds + 1):
            translations = []
            for path in _PATHS if number % 2 else reversed(_PATHS):
                done = clients(
                    "load",
                    port=port,
                    texts=texts,
                    clients=args.clients,
                    source=config.source_language,
                    target=config.target_language,
                    path=path,
                )
                translations.append(done["texts"])
                if number:
                    found[path].append(len(texts) / done["seconds"])
            if translations[0] != translations[1]:
                raise SystemExit("the two paths translate differently")
    return found


def main(args: argparse.Namespace) -> None:
    """Measure, and print the medians."""
    found = measure(args)
    for path, rates in found.items():
        spread = f"{min(rates):.0f} to {max(rates):.0f}"
        print(f"{path}: {statistics.median(rates):.0f} requests/s ({spread})")
    ratios = [deepl / libre for libre, deepl in zip(*found.values(), strict=True)]
    print(f"ratio: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="model folder")
    parser.add_argument("texts", help="file with a sentence in each line")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--requests", type=int, default=1000, help="in a round, for each path")
    parser.add_argument("--rounds", type=int, default=6)
    main(parser.parse_args())
