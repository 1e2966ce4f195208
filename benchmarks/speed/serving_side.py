"""What `yakusu serve` does without the service: the same translator, in a process of its own."""

import time
from dataclasses import dataclass

from benchmarks.services import serve
from yakusu.engine.config import EngineConfig
from yakusu.serve.config import load_config
from yakusu.translator import Translator


@dataclass
class _Loaded:
    translator: Translator | None = None


_loaded = _Loaded()


def load(folder: str, settings: list[str]) -> None:
    """Open a model folder as a service with these settings does."""
    config = load_config(None, settings)
    engine = EngineConfig(engine="native", threads=config.threads, precision=config.precision)
    _loaded.translator = Translator.load(folder, engine=engine)


def one_by_one(lines: list[str]) -> list[float]:
    """The seconds that `Translator.translate` takes for each line."""
    assert _loaded.translator
    seconds = []
    for line in lines:
        start = time.perf_counter()
        _loaded.translator.translate([line])
        seconds.append(time.perf_counter() - start)
    return seconds


def together(lines: list[str], batch: int) -> tuple[float, float]:
    """The seconds, and those of the processor, that `yakusu translate` takes for all lines."""
    assert _loaded.translator
    cpu, start = time.process_time(), time.perf_counter()
    for _ in _loaded.translator.stream(lines, batch=batch):
        pass
    return time.perf_counter() - start, time.process_time() - cpu


if __name__ == "__main__":
    serve({"load": load, "one_by_one": one_by_one, "together": together})
