"""The log-probability of given translations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError
from yakusu.search.decoder import Alternative, Decoder
from yakusu.translator.reading.planner import GivenPair
from yakusu.translator.writing.details import Alternatives, with_spans


@dataclass(frozen=True)
class Scored:
    """The log-probability of a given translation of a sentence, in nats."""

    log_prob: float  # log P(Y | X), including eos
    score: float  # log_prob / length penalty
    n_tokens: int  # including eos
    tokens: tuple[str, ...]  # as text, ending with eos; spans and unknown characters are unchanged
    token_log_probs: tuple[float, ...]  # of each token
    alternatives: Alternatives  # of each position


@dataclass(frozen=True)
class Scorer:
    """Scores targets that are given as text.

    Attributes:
        decoder: The models.
        tokenizer: The tokenizer that they were trained with.
        max_tokens: Maximum numbers of source and target tokens, including eos; the `max_length` of
            the decoder applies as well.
        penalty: Returns the length penalty for a number of target tokens, including eos.
    """

    decoder: Decoder
    tokenizer: Tokenizer
    max_tokens: tuple[int, int]
    penalty: Callable[[int], float]

    def score(
        self, pairs: Sequence[GivenPair], first: int, *, alternatives: int, batch: int
    ) -> Iterator[Scored]:
        """Score pairs of texts; see `Decoder.score`. `first` is the line number of the first pair.

        Raises:
            DataError: A text has too many tokens.
        """
        src = self.tokenizer.encode_source([pair.source for pair in pairs])
        tgt = self.tokenizer.encode_target([pair.target for pair in pairs])
        for number, both in enumerate(zip(src, tgt, strict=True), start=first):
            for side, ids, most in zip(("source", "target"), both, self.max_tokens, strict=True):
                _refuse_longer(number, side, len(ids), min(most, self.decoder.max_length))
        encoded = list(zip(src, tgt, strict=True))
        found = self.decoder.score(encoded, alternatives=alternatives, batch=batch)
        for pair, one in zip(pairs, found, strict=True):
            tokens, best = with_spans(
                self.tokenizer.target_surfaces(pair.target),
                tuple(map(self._pieces, one.alternatives)),
                pair.slots,
            )
            n_tokens = len(one.token_log_probs)
            score = one.log_prob / self.penalty(n_tokens)
            yield Scored(one.log_prob, score, n_tokens, tokens, one.token_log_probs, best)

    def _pieces(self, alternatives: Sequence[Alternative]) -> tuple[tuple[str, float], ...]:
        pieces = self.tokenizer.target_pieces([token for token, _ in alternatives])
        return tuple(zip(pieces, (log_prob for _, log_prob in alternatives), strict=True))


def _refuse_longer(number: int, side: str, n_tokens: int, most: int) -> None:
    if n_tokens > most:
        raise DataError(
            f"line {number}: the {side} has {n_tokens:,} tokens, more than the maximum of "
            f"{most:,}: split the sentence"
        )
