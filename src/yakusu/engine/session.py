"""Sentences come in with their settings, are decoded together, and go out."""

from collections.abc import Iterator, Sequence
from ctypes import byref, c_int64, c_void_p
from dataclasses import dataclass

import numpy as np

from yakusu.engine.library import Settings, library
from yakusu.engine.model import NativeModel
from yakusu.errors import ModelError

MAX_ROWS = 256  # hypotheses that are decoded together
_STEPS = 32  # between two checks for an interrupt


@dataclass(frozen=True)
class Result:
    """A translation as ids, without eos."""

    tokens: tuple[int, ...]
    log_prob: float
    score: float


class Session:
    """Decodes sentences with one model, or with the mean of several models' probabilities.

    Args:
        models: The models; their target vocabularies are the same.
        kernels: Instruction set; "": the fastest of this processor.
        max_rows: Number of hypotheses that are decoded together.
    """

    def __init__(
        self, models: Sequence[NativeModel], *, kernels: str = "", max_rows: int = MAX_ROWS
    ) -> None:
        self._library, self._models = library(), list(models)
        found = self._library.yk_kernels(kernels.encode())
        if not found:
            raise ModelError(f"this processor has no instructions '{kernels}'")
        self._allowed = np.ones(models[0].tgt_vocab_size + 15, np.uint8)
        self._allowed[1] = 0  # unknown
        handles = (c_void_p * len(models))(*(model.handle for model in models))
        self._handle = self._library.yk_session(
            handles, len(models), found, max_rows, self._allowed.ctypes.data, None, None
        )
        if not self._handle:
            raise MemoryError

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.yk_free_session(self._handle)

    def search(
        self, key: int, source: Sequence[int], settings: Settings, *, prefix: Sequence[int] = ()
    ) -> None:
        """Queue a sentence."""
        src, given = np.array(source, np.int32), np.array(prefix, np.int32)
        if not self._library.yk_search(
            self._handle,
            key,
            src.ctypes.data,
            len(src),
            given.ctypes.data,
            len(given),
            byref(settings),
            0,
        ):
            raise MemoryError

    def run(self) -> Iterator[tuple[int, list[Result]]]:
        """Decode until nothing is left; yield the key and the results of each sentence."""
        more = 1
        while more:
            more = self._library.yk_advance(self._handle, _STEPS)
            if more < 0:
                raise MemoryError
            yield from self._finished()

    def _finished(self) -> Iterator[tuple[int, list[Result]]]:
        key = c_int64()
        while search := self._library.yk_next(self._handle, byref(key)):
            best = (search[0].found[i] for i in range(search[0].n_found))
            yield key.value, [Result(tuple(h.tokens[: h.n]), h.log_prob, h.score) for h in best]
