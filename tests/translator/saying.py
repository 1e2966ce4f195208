"""A translator that says what is written in a table."""

import math
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from string import ascii_letters, digits

import numpy as np

from tests.translators import untrained
from yakusu.arrays import Floats
from yakusu.data.coverage import Coverage
from yakusu.data.lines.config import TextConfig
from yakusu.data.tokenizer import Tokenizer
from yakusu.model.config import Role
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Decoder, IdPair, Query, Searches, TargetScore
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.tokens import TokenRules
from yakusu.translator import Translator
from yakusu.translator.quality import Calibration


@dataclass
class Says(Decoder):
    """Says what is written in a table, and remembers what was asked.

    Attributes:
        tokenizer: A tokenizer.
        table: The translations of each source, best first.
        sure: The probability of every token, by the source; without one, paths are unknown.
        asked: The sources of all searches.
    """

    tokenizer: Tokenizer
    table: Mapping[str, Sequence[str]]
    sure: Mapping[str, float] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def max_length(self) -> int:
        return 100

    @property
    def roles(self) -> Collection[Role]:
        return ("cross",)

    @property
    def n_members(self) -> int:
        return 1

    def searches(self, config: SearchConfig, rules: TokenRules, *, batch: int) -> Searches:
        return Saying(self, config.n_best)

    def score(self, pairs: Sequence[IdPair], *, alternatives: int, batch: int) -> list[TargetScore]:
        return [TargetScore((-1.0,) * len(tgt), ((),) * len(tgt)) for _, tgt in pairs]

    def attentions(
        self, pairs: Sequence[IdPair], roles: Collection[Role]
    ) -> list[list[dict[Role, Floats]]]:
        return [[{"cross": np.eye(len(t), len(s), dtype="f4")[None, None]}] for s, t in pairs]


@dataclass
class Saying(Searches):
    """The searches of `Says`."""

    says: Says
    n_best: int
    found: list[list[Hypothesis]] = field(default_factory=list)

    def submit(self, query: Query) -> None:
        tokenizer = self.says.tokenizer
        sources = {tuple(tokenizer.encode_source([s])[0]): s for s in self.says.table}
        source = sources[tuple(query.source)]
        self.says.asked.append(source)
        targets = (tokenizer.encode_target([t])[0][:-1] for t in self.says.table[source])
        own = [Hypothesis(tuple(t), -1.0, -1.0, self._path(source, t)) for t in targets]
        self.found.append(own[: self.n_best])

    def _path(self, source: str, target: Sequence[int]) -> tuple[float, ...]:
        if not (sure := self.says.sure.get(source)):
            return ()
        return tuple(math.log(sure) * n for n in range(1, len(target) + 2))

    def results(self) -> list[list[Hypothesis]]:
        return self.found

    def __enter__(self) -> "Saying":
        return self

    def __exit__(self, *error: object) -> None:
        pass


@cache
def tokenizer() -> Tokenizer:
    """A tokenizer with placeholder tokens, which has seen all characters of the tests."""
    own = copy(untrained("bytes").tokenizer)
    own.coverage = Coverage(
        source_characters=f"{ascii_letters}{digits}.",
        target_characters=ascii_letters,
        longest_source=50,
    )
    return own


def saying(
    table: Mapping[str, Sequence[str]],
    *,
    n_best: int = 1,
    text: TextConfig | None = None,
    sure: Mapping[str, float] | None = None,
    calibration: Calibration | None = None,
) -> Translator:
    return Translator(
        Says(tokenizer(), table, sure or {}),
        tokenizer(),
        languages=("de", "en"),
        search=SearchConfig(n_best=n_best, max_repeats=0),
        text=text,
        calibration=calibration,
    )


def asked(translator: Translator) -> list[str]:
    assert isinstance(translator.decoder, Says)
    return translator.decoder.asked
