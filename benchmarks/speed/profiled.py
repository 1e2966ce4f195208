"""The engine's kernels with timers, and probes of the processor (native/profile.c)."""

import ctypes
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, Structure, byref, c_int64, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from yakusu.engine.library import library
from yakusu.errors import RunError
from yakusu.native.compile import FLAGS, NATIVE, instruction_set_flags, system_compiler
from yakusu.native.library import instruction_set

SOURCE = Path(__file__).parent / "native" / "profile.c"
STAGES = ("encoder", "decoder", "output layer")
KINDS = ("products", "rounding", "attention", "other")
_PROBE_SECONDS = 0.2
_PROBE_BYTES = 1 << 24  # per call


class _Profile(Structure):
    """As in native/profile.c."""

    _fields_ = (
        ("ticks", c_int64 * len(KINDS) * len(STAGES)),
        *((name, c_int64 * len(STAGES)) for name in ("whole", "calls", "rows")),
    )


@dataclass(frozen=True)
class Stage:
    """What a stage did: seconds of each kind and in all, calls, and rows of all calls."""

    seconds: dict[str, float]
    whole: float
    calls: int
    rows: int


class Profiled:
    """The compiled timers.

    Args:
        folder: Where to compile them.

    Raises:
        RunError: There is no C compiler.
    """

    def __init__(self, folder: Path) -> None:
        compiler = system_compiler()
        if not compiler:
            raise RunError("there is no C compiler: install gcc or clang")
        self.kernels = instruction_set()
        flags = instruction_set_flags(compiler)[self.kernels].split()
        out = folder / "profile.so"
        files = [f"-DISA={self.kernels}", f"-I{NATIVE}", "-shared", "-o", str(out)]
        files += [str(SOURCE), str(NATIVE / "scan.c")]
        subprocess.run([*compiler, *FLAGS, *flags, *files, "-lm"], check=True)
        self._library = ctypes.CDLL(str(out))
        for name, result, *arguments in (
            ("profile_now", c_int64),
            ("profile_take", None, POINTER(_Profile)),
            ("profile_kernels", c_void_p),
            ("profile_read", c_uint64, c_void_p, c_size_t, c_size_t),
            ("profile_integers", c_int64, c_int64),
        ):
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        self._tick = self._seconds_per_tick()

    def _seconds_per_tick(self) -> float:
        now = self._library.profile_now
        first, start = now(), time.perf_counter()
        time.sleep(_PROBE_SECONDS)
        return (time.perf_counter() - start) / float(now() - first)

    @contextmanager
    def timers(self) -> Iterator[None]:
        """Run new sessions of the engine with the timers."""
        engine: Any = library()
        original = engine.yk_kernels
        engine.yk_kernels = lambda name: self._library.profile_kernels()
        self.take()
        try:
            yield
        finally:
            engine.yk_kernels = original

    def take(self) -> dict[str, Stage]:
        """Return what was timed since the last call."""
        found = _Profile()
        self._library.profile_take(byref(found))
        return {
            name: Stage(
                {kind: found.ticks[i][k] * self._tick for k, kind in enumerate(KINDS)},
                found.whole[i] * self._tick,
                found.calls[i],
                found.rows[i],
            )
            for i, name in enumerate(STAGES)
        }

    # ---- probes ----------------------------------------------------------------------------------

    def bytes_per_second(self, n_bytes: int) -> float:
        """How fast one thread reads a buffer again and again, the best of several passes."""
        numbers = np.ones(max(1, n_bytes // 8), np.uint64)
        times = max(1, _PROBE_BYTES // numbers.nbytes)
        best, end = 0.0, time.perf_counter() + _PROBE_SECONDS
        while not best or time.perf_counter() < end:
            start = time.perf_counter()
            self._library.profile_read(numbers.ctypes.data, len(numbers), times)
            best = max(best, times * numbers.nbytes / (time.perf_counter() - start))
        return best

    def operations_per_second(self) -> float:
        """How fast one thread multiplies and adds 8-bit integers; 0: not without vectors."""
        best, end = 0.0, time.perf_counter() + _PROBE_SECONDS
        while time.perf_counter() < end:
            start = time.perf_counter()
            n = self._library.profile_integers(100_000)
            best = max(best, n / (time.perf_counter() - start))
        return best


@contextmanager
def timed_calls() -> Iterator[list[float]]:
    """The seconds of each call of the engine that decodes; what remains is Python."""
    engine: Any = library()
    original, seconds = engine.yk_advance, list[float]()

    def advance(*arguments: Any) -> Any:
        start = time.perf_counter()
        status = original(*arguments)
        seconds.append(time.perf_counter() - start)
        return status

    engine.yk_advance = advance
    try:
        yield seconds
    finally:
        engine.yk_advance = original
