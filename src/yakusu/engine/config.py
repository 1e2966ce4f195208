"""The settings of the engine that runs a model."""

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from yakusu.config import Config
from yakusu.engine.library import MatrixFormat
from yakusu.errors import RecipeError
from yakusu.typed import setting

Engine = Literal["native", "torch"]
Precision = Literal["auto", "int8", "int16", "float32"]
VARIABLE = "YAKUSU_ENGINE"  # environment variable
_WIDE = 256  # d_model from which 8 bits are enough; docs/decisions/0059
_ENGINES: tuple[Engine, ...] = ("native", "torch")


class EngineConfig(Config):
    """What runs a model.

    Attributes:
        device: "cpu", "cuda", or "auto": a GPU if torch finds one, otherwise the CPU.
        engine: "native": the compiled CPU engine; "torch": every model, on any device. None: the
            value of $YAKUSU_ENGINE; if it is not set, the native engine on a CPU for the models
            that it supports, and torch otherwise.
        precision: Numbers in the native engine's matrix products: "int8", "int16", "float32", or
            "auto": int16 for models with a d_model below 256, otherwise int8
            (docs/decisions/0059). torch computes in float32.
        threads: Number of threads. In the native engine, each thread decodes its own sentences, and
            translations do not depend on the number. torch divides each operation among the
            threads; the number then applies to the whole process and is at most the number of
            cores. None: one per processor core that this process may use; for torch, its own
            default.
    """

    device: str = "cpu"
    engine: Engine | None = None
    precision: Precision = "auto"
    threads: int | None = setting(None, ge=1)

    @classmethod
    def of(cls, given: "EngineConfig | Engine | None") -> "EngineConfig":
        """The configuration that the argument `engine` of a function stands for.

        Args:
            given: A configuration, the name of an engine, or None: the defaults.

        Raises:
            RecipeError: It is something else.
        """
        if isinstance(given, cls):
            return given
        if given is None or (isinstance(given, str) and given in _ENGINES):
            return cls(engine=given)
        raise RecipeError(
            f"there is no engine {given!r}: pass 'native', 'torch' or an EngineConfig"
        )

    @property
    def requested(self) -> Engine | None:
        """The engine that was requested; None: any.

        Raises:
            RecipeError: The environment variable does not name an engine.
        """
        if self.engine or not (name := os.environ.get(VARIABLE)):
            return self.engine
        for engine in _ENGINES:
            if name == engine:
                return engine
        raise RecipeError(f"{VARIABLE} is '{name}': set it to native or torch, or unset it")

    def matrices(self, d_model: int) -> MatrixFormat:
        """The numbers of the matrices of a model."""
        precision = self.precision
        if precision == "auto":
            precision = "int8" if d_model >= _WIDE else "int16"
        return MatrixFormat[precision.upper()]

    @property
    def on_cpu(self) -> bool:
        """Whether the device is the CPU; imports torch, if it is installed, only for "auto"."""
        if self.device != "auto" or find_spec("torch") is None:
            return self.device in ("cpu", "auto")
        cuda: Any = import_module("torch").cuda
        return not cuda.is_available()

    @property
    def n_threads(self) -> int:
        """The number of threads."""
        if self.threads:
            return self.threads
        affinity = getattr(os, "sched_getaffinity", None)  # not on every system
        return len(affinity(0)) if affinity else os.cpu_count() or 1
