"""The native engine as a `Decoder`."""

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yakusu.arrays import Floats
from yakusu.engine.codebook import NativeCodebook
from yakusu.engine.guide import Guided
from yakusu.engine.library import MAX_MEMBERS, Settings
from yakusu.engine.model import NativeModel
from yakusu.engine.packing import padded
from yakusu.engine.session import Recorded, Session
from yakusu.engine.workers import Threads, Workers
from yakusu.errors import ModelError
from yakusu.model.config import Role
from yakusu.native.library import instruction_set
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import (
    MAX_ALTERNATIVES,
    Decoder,
    IdPair,
    Query,
    Searches,
    TargetScore,
    too_long,
)
from yakusu.search.hypothesis import limit
from yakusu.search.neighbours import StateCodebook, StateCodes
from yakusu.search.tokens import TokenRules

if TYPE_CHECKING:
    from yakusu.search.sampling import Sampler
    from yakusu.search.shortlist import Shortlists

_SAMPLED = 256  # samples that a session draws together, at least those of one sentence
_ROLES: tuple[Role, ...] = ("encoder", "decoder", "cross")


@dataclass(eq=False)
class NativeDecoder(Decoder):
    """Decodes with one model, or with several as an ensemble, in the library and without torch.

    Args:
        models: The models; their vocabularies are the same.
        workers: The threads that decode.
        kernels: Instruction set.
        codebook: Maps the states of the only model to codes; None: queries have no states.
        shortlists: Those of the only model; None: it has none.

    Raises:
        ModelError: The vocabularies of the models differ in size, there are too many models, or
            this processor does not support the instruction set.
    """

    models: Sequence[NativeModel]
    workers: Workers = field(default_factory=Threads)
    kernels: str = field(default_factory=instruction_set)
    codebook: StateCodebook | None = None
    shortlists: "Shortlists | None" = None
    _idle: list[Session] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        sizes = {(model.src_vocab_size, model.tgt_vocab_size) for model in self.models}
        if len(sizes) > 1:
            raise ModelError(
                f"the vocabularies of the ensemble have {len(sizes)} different sizes: use models "
                "that were trained with the same tokenizer"
            )
        if len({model.config.source_eos for model in self.models}) > 1:
            raise ModelError(
                "only some models of the ensemble read the eos of a source: use models of one kind"
            )
        if len(self.models) > MAX_MEMBERS:
            raise ModelError(
                f"the ensemble has {len(self.models)} models, more than {MAX_MEMBERS}: use fewer, "
                "or --engine torch"
            )

    @property
    def precision(self) -> str:
        """The precision of the matrix products: int8, int16, float32, or several of an ensemble."""
        return ", ".join(dict.fromkeys(model.matrices.name.lower() for model in self.models))

    @cached_property
    def max_length(self) -> int:
        """The longest sentence, in tokens including eos."""
        return min(model.max_length for model in self.models)

    @property
    def roles(self) -> Collection[Role]:
        """All kinds of attention."""
        return _ROLES

    @property
    def n_members(self) -> int:
        """The number of models."""
        return len(self.models)

    @cached_property
    def _codebook(self) -> NativeCodebook | None:
        """The codebook in the layout of the library."""
        return None if self.codebook is None else NativeCodebook(self.codebook)

    def searches(self, config: SearchConfig, rules: TokenRules, *, batch: int) -> Searches:
        """See `Decoder.searches`.

        Raises:
            ModelError: `config.coverage` is set.
        """
        if config.coverage:
            raise ModelError(
                f"the native engine does not support search.coverage = {config.coverage:g}: use "
                "--engine torch, or set search.coverage to 0"
            )

        def add(session: Session, key: int, query: Query) -> None:
            if len(query.source) > self.max_length:
                raise too_long(len(query.source), self.max_length)
            settings = self._settings(query, config)
            shortlist = shortlists.of(query) if shortlists else None
            sampler = _sampler(query, config, settings.limit)
            session.search(key, query, settings, _guided(query), shortlist, sampler)

        shortlists = self._shortlists(config)
        n_rows = batch * config.n_slots
        if config.sampling:  # the log-probabilities of all tokens are stored
            n_rows = min(n_rows, _SAMPLED)
        sessions = _SearchSessions(self, rules, n_rows, config.sampling is not None)
        return self.workers.begin(add, sessions, batch=batch)

    def _shortlists(self, config: SearchConfig) -> "Shortlists | None":
        if config.shortlist and not self.shortlists:
            from yakusu.search.shortlist import warn_once

            warn_once(
                "an ensemble has no shortlists: all tokens are computed"
                if self.n_members > 1
                else "the model has no lexicon for shortlists: all tokens are computed ('yakusu "
                "card MODEL --src FILE --tgt FILE' adds one)"
            )
        return self.shortlists if config.shortlist and not config.sampling else None

    def _settings(self, query: Query, config: SearchConfig) -> Settings:
        longest = limit(
            config,
            n_source=len(query.source) - 1,
            n_prefix=len(query.prefix),
            max_length=self.max_length,
        )
        return Settings(
            beam=config.n_slots,
            n_best=config.n_best,
            limit=longest + 1,
            repeats=min(config.max_repeats, longest + 1),
            no_repeat_ngram=min(config.no_repeat_ngram, longest + 2),
            traced=query.trace is not None,
            margin=_margin(query, config),
            alpha=config.alpha,
        )

    def score(self, pairs: Sequence[IdPair], *, alternatives: int, batch: int) -> list[TargetScore]:
        """See `Decoder.score`."""
        for source, target in pairs:
            for side, ids in (("source", source), ("target", target)):
                if len(ids) > self.max_length:
                    raise too_long(len(ids), self.max_length, side=side)
        n = min(alternatives, self.models[0].tgt_vocab_size - 1, MAX_ALTERNATIVES)
        recorded = [_recorded(len(target), n) for _, target in pairs]
        self._record(pairs, recorded, self.models, batch)
        return [
            TargetScore(tuple(own.log_probs.tolist()), tuple(_alternatives(own)))
            for own in recorded
        ]

    def states(self, pairs: Sequence[IdPair], *, batch: int) -> list[Floats]:
        """The hidden states (T, d_model) from which the tokens of each target are predicted."""
        (model,), recorded = self.models, [_recorded(len(target), 0) for _, target in pairs]
        width = model.config.d_model
        for own, (_, target) in zip(recorded, pairs, strict=True):
            own.hidden = np.zeros((len(target), padded(width)), np.float32)
        self._record(pairs, recorded, self.models, batch)
        return [own.hidden[:, :width] for own in recorded if own.hidden is not None]

    def codes(self, pairs: Sequence[IdPair], *, batch: int) -> list[StateCodes]:
        """The codes (T, M / 2) of these states."""
        assert self.codebook, "a decoder without a codebook"
        recorded = [_recorded(len(target), 0) for _, target in pairs]
        for own, (_, target) in zip(recorded, pairs, strict=True):
            own.codes = np.zeros((len(target), self.codebook.n_components // 2), np.uint8)
        self._record(pairs, recorded, self.models, batch)
        return [own.codes for own in recorded if own.codes is not None]

    def attentions(
        self, pairs: Sequence[IdPair], roles: Collection[Role]
    ) -> list[list[dict[Role, Floats]]]:
        """See `Decoder.attentions`."""
        found: list[list[dict[Role, Floats]]] = [[] for _ in pairs]
        for model in self.models:
            recorded = [_with_attention(pair, model, roles) for pair in pairs]
            self._record(pairs, recorded, [model], len(pairs))
            for own, each, (source, _) in zip(found, recorded, pairs, strict=True):
                own.append(_by_role(each, len(source)))
        return found

    def _record(
        self,
        pairs: Sequence[IdPair],
        recorded: Sequence[Recorded],
        models: Sequence[NativeModel],
        batch: int,
    ) -> None:
        def add(session: Session, key: int, row: int) -> None:
            session.score(key, *pairs[row], recorded[row])

        sessions = _ScoringSessions(models, max(1, batch), self.kernels, self._codebook)
        with self.workers.begin(add, sessions, batch=batch) as work:
            for row in range(len(pairs)):
                work.submit(row)
            work.results()


# ---- sessions ------------------------------------------------------------------------------------


class _SearchSessions(NamedTuple):
    """Sessions for searches; those that are idle keep their memory."""

    decoder: NativeDecoder
    rules: TokenRules
    max_rows: int
    samples: bool

    def take(self) -> Session:
        idle, own = self.decoder._idle, (self.rules, self.max_rows, self.samples)
        for session in (*idle,):
            if (session.rules, session.max_rows, session.samples) == own:
                with suppress(ValueError):  # another thread has taken it
                    idle.remove(session)
                    return session
        idle.clear()
        rules, max_rows, samples = own
        return Session(
            *(self.decoder.models, rules, max_rows),
            samples=samples,
            codebook=None if samples else self.decoder._codebook,
            kernels=self.decoder.kernels,
        )

    def give_back(self, session: Session) -> None:
        self.decoder._idle.append(session)


@dataclass(frozen=True, eq=False)
class _ScoringSessions:
    """Sessions for the scores of one call."""

    models: Sequence[NativeModel]
    max_rows: int
    kernels: str
    codebook: NativeCodebook | None

    def take(self) -> Session:
        return Session(
            self.models, max_rows=self.max_rows, codebook=self.codebook, kernels=self.kernels
        )

    def give_back(self, session: Session) -> None:
        pass


# ---- settings ------------------------------------------------------------------------------------


def _margin(query: Query, config: SearchConfig) -> float:
    """The margin of a search; infinite, so without effect, with a goal or with sampling."""
    has_goal = query.restrictions is not None and query.restrictions.has_goal
    return math.inf if config.margin is None or has_goal or config.sampling else config.margin


def _guided(query: Query) -> Guided | None:
    """The guide of a sentence; None: the library applies its restrictions."""
    restrictions = query.restrictions
    return Guided(restrictions) if restrictions and restrictions.has_constraints else None


def _sampler(query: Query, config: SearchConfig, n_steps: int) -> "Sampler | None":
    """The sampler of a sentence; None: it is not sampled."""
    if config.sampling is None:
        return None
    from yakusu.search.sampling import Sampler

    return Sampler(config.sampling, query.source, n_samples=config.n_slots, n_steps=n_steps)


# ---- records -------------------------------------------------------------------------------------


def _recorded(n_target: int, n: int) -> Recorded:
    log_probs = np.full(n_target, np.nan)  # remains if a model computes NaN
    of_alternatives = np.full((n_target, n), np.nan)
    return Recorded(log_probs, np.zeros((n_target, n), np.int32), of_alternatives)


def _with_attention(pair: IdPair, model: NativeModel, roles: Collection[Role]) -> Recorded:
    n_source, n_target = len(model.encoded(pair[0])), len(pair[1])
    recorded = _recorded(n_target, 0)
    heads = model.config.n_heads
    if "encoder" in roles:
        shape = model.config.depths[0], n_source, heads, n_source
        recorded.encoder = np.zeros(shape, np.float32)
    of_target = n_target, model.config.depths[1], heads
    if "decoder" in roles:
        recorded.decoder = np.zeros((*of_target, n_target), np.float32)
    if "cross" in roles:
        recorded.cross = np.zeros((*of_target, n_source), np.float32)
    return recorded


def _by_role(recorded: Recorded, n_source: int) -> dict[Role, Floats]:
    """(N, H, rows, columns) for each role; zeros for an eos that the encoder leaves out."""
    found: dict[Role, Floats] = {}
    if recorded.encoder is not None:
        missing = 0, n_source - recorded.encoder.shape[-1]
        square = ((0, 0), (0, 0), missing, missing)
        found["encoder"] = np.pad(recorded.encoder.transpose(0, 2, 1, 3), square)
    if recorded.decoder is not None:
        found["decoder"] = recorded.decoder.transpose(1, 2, 0, 3)
    if recorded.cross is not None:
        missing = 0, n_source - recorded.cross.shape[-1]
        columns = ((0, 0), (0, 0), (0, 0), missing)
        found["cross"] = np.pad(recorded.cross.transpose(1, 2, 0, 3), columns)
    return found


def _alternatives(recorded: Recorded) -> Iterator[tuple[tuple[int, float], ...]]:
    rows = zip(recorded.alternatives.tolist(), recorded.of_alternatives.tolist(), strict=True)
    return (tuple(zip(ids, log_probs, strict=True)) for ids, log_probs in rows)
