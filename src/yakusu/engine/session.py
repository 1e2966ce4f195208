"""Sessions of the library, which decode sentences together.

V target vocabulary without padding, S source, T target, N layers, H heads, n alternatives.
"""

from array import array
from collections.abc import Iterator, Sequence
from ctypes import byref, c_int64, c_void_p, pointer
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from yakusu.data.vocabulary import UNK
from yakusu.engine.codebook import NativeCodebook
from yakusu.engine.guide import Guided, Guides
from yakusu.engine.library import (
    ByteSpelling,
    Record,
    Requirements,
    SamplingStructure,
    Settings,
    StatesStructure,
    library,
)
from yakusu.engine.model import NativeModel
from yakusu.engine.packing import padded
from yakusu.errors import ModelError
from yakusu.native.library import instruction_set, kernels
from yakusu.search.characters import CharacterTable
from yakusu.search.decoder import Query
from yakusu.search.hypothesis import NOTHING, Hypothesis
from yakusu.search.neighbours import SegmentStates, StateCodes
from yakusu.search.tokens import TokenRules

if TYPE_CHECKING:
    from yakusu.search.sampling import Sampler
    from yakusu.search.shortlist import Tokens


@dataclass
class Recorded:
    """What is recorded while a target is decoded.

    Attributes:
        log_probs: Of the target tokens, (T,), in nats.
        alternatives: The most probable tokens at each position (T, n).
        of_alternatives: Their log-probabilities (T, n).
        encoder: Attention weights (N, S, H, S).
        decoder: Attention weights (T, N, H, T).
        cross: Attention weights (T, N, H, S).
        hidden: Hidden states (T, padded width).
        codes: Their codes (T, M / 2).
    """

    log_probs: NDArray[np.float64]
    alternatives: NDArray[np.int32]
    of_alternatives: NDArray[np.float64]
    encoder: NDArray[np.float32] | None = None
    decoder: NDArray[np.float32] | None = None
    cross: NDArray[np.float32] | None = None
    hidden: NDArray[np.float32] | None = None
    codes: StateCodes | None = None

    def structure(self) -> Record:
        """The addresses of the arrays."""
        arrays = (
            *(self.log_probs, self.alternatives, self.of_alternatives),
            *(self.encoder, self.decoder, self.cross, self.hidden, self.codes),
        )
        return Record(
            self.alternatives.shape[1], *(None if a is None else a.ctypes.data for a in arrays)
        )


@dataclass(eq=False)
class Session:
    """Decodes sentences with one model, or with the mean of several models' probabilities.

    A session is used by one thread at a time.

    Args:
        models: The models; their target vocabularies are the same.
        rules: The tokens that may follow; None: all but UNK.
        max_rows: Number of hypotheses that are decoded together.
        samples: Draw tokens at random: every sentence has a sampler.
        codebook: That of the only model, which must not be sampled; None: queries have no states.
        kernels: Instruction set.

    Raises:
        ModelError: This processor does not support the instruction set.
    """

    models: Sequence[NativeModel]
    rules: TokenRules | None = None
    max_rows: int = 256
    samples: bool = False
    codebook: NativeCodebook | None = None
    kernels: str = field(default_factory=instruction_set)
    n_unfinished: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._library = library()
        self._queries: dict[int, Query] = {}  # of unfinished searches
        found = kernels(self.kernels)
        if not found:
            raise ModelError(
                f"this processor does not support the instruction set '{self.kernels}'"
            )
        n_tokens = self.models[0].tgt_vocab_size - 1
        self._guides = Guides(n_tokens=padded(n_tokens))
        self._allowed = np.zeros(padded(n_tokens), np.uint8)
        self._allowed[:n_tokens] = True if self.rules is None else self.rules.allowed
        if self.rules is None:
            self._allowed[UNK] = False
        self._characters = self.rules.characters if self.rules else None
        self._spelling = _spelling(self._characters) if self._characters else None
        self._handle = self._library.yk_session(
            (c_void_p * len(self.models))(*(model.handle for model in self.models)),
            len(self.models),
            found,
            self.max_rows,
            self._allowed.ctypes.data,
            self._spelling,
            byref(self._guides.functions),
            self.samples,
            self.codebook and byref(self.codebook.structure),
        )
        if not self._handle:
            raise _no_memory()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.yk_free_session(self._handle)

    def search(
        self,
        key: int,
        query: Query,
        settings: Settings,
        guided: Guided | None = None,
        shortlist: "Tokens | None" = None,
        sampler: "Sampler | None" = None,
    ) -> None:
        """Add a sentence.

        Args:
            key: A number that no unfinished sentence has.
            query: The sentence. The library applies its restrictions if they are placeholder tokens
                and characters only.
            settings: Settings of its search.
            guided: All of its restrictions in Python, if it needs any there.
            shortlist: The only tokens that may follow, increasing; None: all.
            sampler: How its tokens are drawn, if the session samples.
        """
        src, given = array("i", self.models[0].encoded(query.source)), array("i", query.prefix)
        own = Requirements()
        if guided:
            own.guided = guided.kind
        elif query.restrictions:
            required = array("i", query.restrictions.required)
            own.required, own.n_required = required.buffer_info()
            characters = query.restrictions.characters
            if characters and characters is not self._characters:
                own.spelling = pointer(_spelling(characters))
        if query.states is not None:
            own.states = pointer(_states(query.states))
        if shortlist is not None:
            own.shortlist, own.n_shortlist = shortlist.ctypes.data, len(shortlist)
        if sampler:
            own.sampling = pointer(_sampling(sampler))
        ids = *src.buffer_info(), *given.buffer_info()
        self._added(self._library.yk_search(self._handle, key, *ids, byref(settings), byref(own)))
        if guided:
            self._guides.sentences[key] = guided
        self._queries[key] = query  # with the arrays of its characters

    def score(
        self, key: int, source: Sequence[int], target: Sequence[int], recorded: Recorded
    ) -> None:
        """Add a sentence whose target is given, including eos."""
        src, tgt = array("i", self.models[0].encoded(source)), array("i", target)
        ids = *src.buffer_info(), *tgt.buffer_info()
        self._added(self._library.yk_score(self._handle, key, *ids, byref(recorded.structure())))

    def _added(self, success: int) -> None:
        if not success:
            raise _no_memory()
        self.n_unfinished += 1

    def advance(self, seconds: float = 0.02) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Decode for some seconds (at least one step); yield keys and results of what is finished.

        The results of a scored sentence are in its record. A sentence whose constraints raise an
        error has no result: see `take_errors`.
        """
        for key, waiting in list(self._queries.items()):
            if waiting.cancelled and waiting.cancelled.is_set():
                self._library.yk_cancel(self._handle, key)
                self._forget(key)
                yield key, [NOTHING]
        status = self._library.yk_advance(self._handle, seconds)
        if status < 0:
            raise _no_memory()
        for key in self._guides.errors:
            self._library.yk_cancel(self._handle, key)  # unless it has just finished
        at = c_int64()
        while search := self._library.yk_next(self._handle, byref(at)):
            if at.value in self._guides.errors:
                continue
            query = self._forget(at.value)
            if query and query.cancelled and query.cancelled.is_set():
                yield at.value, [NOTHING]
                continue
            result = search.contents
            if query and query.trace is not None:
                from yakusu.engine.traces import steps_of

                query.trace.extend(steps_of(result))
            best = result.found[: result.n_found]
            found = [
                Hypothesis(tuple(h.tokens[: h.n]), h.log_prob, h.score, tuple(h.path[: h.n + 1]))
                for h in best
            ]
            yield at.value, found or [NOTHING]

    def take_errors(self) -> dict[int, BaseException]:
        """Remove the sentences whose constraints have raised an error; return the errors by key.

        To be called after the results of `advance` have been read.
        """
        errors = self._guides.errors
        self._guides.errors = {}
        for key in errors:
            self._forget(key)
        return errors

    def _forget(self, key: int) -> Query | None:
        """Remove the data of a sentence; return its query if it was searched, not scored."""
        self.n_unfinished -= 1
        self._guides.sentences.pop(key, None)
        return self._queries.pop(key, None)


def _spelling(table: CharacterTable) -> ByteSpelling:
    """The addresses of the arrays of a table, which the library reads."""
    return ByteSpelling(*(array.ctypes.data for array in (table.next, table.tokens, table.byte_of)))


def _states(states: SegmentStates) -> StatesStructure:
    """The addresses of the arrays of states, which the library copies."""
    codes, tokens = states.codes, states.tokens
    return StatesStructure(len(tokens), codes.ctypes.data, tokens.ctypes.data)


def _sampling(sampler: "Sampler") -> SamplingStructure:
    """The settings of a sampler and the address of its numbers, which the library copies."""
    config = sampler.config
    return SamplingStructure(
        sampler.uniform.ctypes.data, config.temperature, config.top_p, config.top_k or 0
    )


def _no_memory() -> ModelError:
    return ModelError(
        "there is not enough memory to decode: lower --batch, --beam, --n-best or --threads"
    )
