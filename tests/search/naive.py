"""The search written down directly: one sentence, lists of Python, no cache, no early stop."""

import math
from collections.abc import Sequence

import torch

from yakusu.data.vocabulary import EOS, UNK
from yakusu.model.base import Seq2Seq
from yakusu.search.config import SearchConfig
from yakusu.search.hypothesis import Hypothesis

LONGEST_PERIOD = 64

Tokens = tuple[int, ...]


def occurrences_at_end(tokens: Sequence[int]) -> int:
    """How often in a row the n-gram at the end of a sequence occurs, for the n with the most."""
    most = 1
    for n in range(1, min(LONGEST_PERIOD, len(tokens) // 2) + 1):
        last, count, end = list(tokens[-n:]), 1, len(tokens) - n
        while end >= n and list(tokens[end - n : end]) == last:
            count, end = count + 1, end - n
        most = max(most, count)
    return most


def occurrences(tokens: Sequence[int]) -> int:
    """How often in a row any n-gram of a sequence occurs."""
    return max((occurrences_at_end(tokens[:end]) for end in range(1, len(tokens) + 1)), default=1)


def repeats_ngram(tokens: Sequence[int], n: int) -> bool:
    """Whether the n-gram at the end of a sequence occurs a second time in it."""
    last = list(tokens[-n:])
    starts = range(len(tokens) - n)
    return any(list(tokens[start : start + n]) == last for start in starts)


def log_softmax(logits: Sequence[float]) -> list[float]:
    largest = max(logits)
    norm = largest + math.log(math.fsum(math.exp(x - largest) for x in logits))
    return [x - norm for x in logits]


class NaiveSearch:
    """Beam search of one sentence, started from a prefix."""

    def __init__(
        self, model: Seq2Seq, ids: list[int], config: SearchConfig, prefix: Sequence[int] = ()
    ) -> None:
        self.model, self.ids, self.config, self.prefix = model, ids, config, tuple(prefix)
        limit = max(len(ids) - 1, len(prefix)) + config.max_extra
        if config.max_length is not None:
            limit = min(limit, max(config.max_length, len(prefix)))
        self.limit = min(limit, model.max_length - 1)
        self.allowed_repeats = max(config.max_repeats, occurrences(ids))

    def next_log_probs(self, hypotheses: Sequence[Tokens]) -> list[list[float]]:
        """The log-probabilities of all tokens after each hypothesis."""
        with torch.inference_mode():
            memory = self.model.encode(torch.tensor([self.ids] * len(hypotheses)))
            tgt_in = torch.tensor([[self.model.tgt_pad, *tokens] for tokens in hypotheses])
            logits = self.model.decode(tgt_in, memory)[:, -1].tolist()
        return [log_softmax(row) for row in logits]

    def may_follow(self, tokens: Tokens, token: int) -> bool:
        if len(tokens) < len(self.prefix):
            return token == self.prefix[len(tokens)]
        if token == UNK or (len(tokens) == self.limit and token != EOS):
            return False
        if token == EOS:
            return True
        longer, config = (*tokens, token), self.config
        if config.max_repeats and occurrences_at_end(longer) > self.allowed_repeats:
            return False
        return not (config.no_repeat_ngram and repeats_ngram(longer, config.no_repeat_ngram))

    def run(self) -> list[Hypothesis]:
        config, found = self.config, list[Hypothesis]()
        hypotheses: list[tuple[float, Tokens]] = [(0.0, ())]
        while hypotheses:
            candidates = sorted(
                (
                    (log_prob + more, tokens, token)
                    for (log_prob, tokens), log_probs in zip(
                        hypotheses, self.next_log_probs([h for _, h in hypotheses]), strict=True
                    )
                    for token, more in enumerate(log_probs)
                    if self.may_follow(tokens, token)
                ),
                reverse=True,
            )[: 2 * config.beam if config.beam > 1 else 1]
            for log_prob, tokens, token in candidates:
                if token == EOS:
                    penalty = ((5 + len(tokens) + 1) / 6) ** config.alpha
                    found.append(Hypothesis(tokens, log_prob, log_prob / penalty))
            going_on = [(p, (*tokens, token)) for p, tokens, token in candidates if token != EOS]
            hypotheses = going_on[: config.beam]
            if config.margin is not None:
                hypotheses = [h for h in hypotheses if h[0] >= hypotheses[0][0] - config.margin]
        return sorted(found, key=lambda h: -h.score)[: config.n_best]
