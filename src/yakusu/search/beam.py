"""Beam search with the length penalty of section 6.1, independent of the architecture.

B sentences, K hypotheses per sentence (the beam), V vocabulary.

Each step finds the candidates: the 2K best extensions of a sentence's open hypotheses. Candidates
that end with eos are finished. The K best of the others stay open, so finished hypotheses do not
reduce the number of open ones. Tensor2Tensor, the implementation of the paper's authors, searches
in the same way. A beam of one takes only the best extension, which is greedy search. A sentence is
closed when none of its hypotheses is open, or when no open one can still enter the n best. The
coverage penalty cp is 0 by default (coverage.py).

    score(Y) = log P(Y | X) / lp(Y) + cp(X; Y),    lp(Y) = ((5 + |Y|) / 6)^alpha
"""

import math
from bisect import insort
from collections.abc import Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from yakusu.arrays import Longs
from yakusu.data.vocabulary import EOS, UNK
from yakusu.model.base import DecoderState, SearchModel
from yakusu.model.linear import MIN_SENTENCES, padded_length
from yakusu.search.candidates import Candidates, ordered, top_k, with_proposals
from yakusu.search.config import SearchConfig
from yakusu.search.coverage import CoveragePenalty
from yakusu.search.decoder import too_long
from yakusu.search.hypothesis import Hypothesis, length_penalty, limit
from yakusu.search.repetition import limits_on_repetition, restrict
from yakusu.search.restrictions import Restrictions
from yakusu.search.sampling import samplers_of
from yakusu.search.trace import TraceStep
from yakusu.search.tracing import Tracer


def beam_search(
    model: SearchModel,
    src: Tensor,
    config: SearchConfig,
    *,
    restrictions: Sequence[Restrictions] = (),
    prefixes: Sequence[Sequence[int]] = (),
    traces: Sequence[list[TraceStep[int]] | None] = (),
    kind: "type[BeamSearch] | None" = None,
) -> list[list[Hypothesis]]:
    """Translate a batch of sentences.

    The result for a sentence does not depend on the others: sentences are searched together only if
    they are padded to the same length (docs/decisions/0027). This holds on a CPU in float32, not on
    a GPU.

    Args:
        model: In evaluation mode.
        src: Source ids (B, S), each sentence ending with eos, padded with `model.src_pad`.
        config: Settings of the search.
        restrictions: What each translation may and must contain. They exclude tokens, without
            changing the probabilities of the others. They change during the search, so they cannot
            be reused. (): only UNK is excluded.
        prefixes: The ids that each translation must begin with, without eos; (): none.
        traces: Lists to which the steps of each sentence are appended, or None; (): none.
        kind: A search with other rules; None: `BeamSearch`.

    Returns:
        The hypotheses of each sentence, best first: at most `n_best`. If the model's logits are NaN
        or no token is allowed, an empty hypothesis with log-probability -inf.

    Raises:
        DataError: A source is longer than `model.max_length`.
        ModelError: `config.coverage` is set, but the model has no attention to the source.
    """
    found: list[list[Hypothesis]] = [[]] * len(src)
    is_traced = any(trace is not None for trace in traces)
    with torch.inference_mode():
        for rows, same_length in _by_length(src, model):
            search = (kind or BeamSearch)(
                model,
                same_length,
                config,
                [restrictions[row] for row in rows] if restrictions else [],
                [list(prefixes[row]) for row in rows] if prefixes else [[]] * len(rows),
                Tracer([traces[row] for row in rows], config) if is_traced else None,
            )
            for row, best in zip(rows, search.run(), strict=True):
                found[row] = best
    return found


def _by_length(src: Tensor, model: SearchModel) -> Iterator[tuple[list[int], Tensor]]:
    """The rows of each padded length, and their ids."""
    lengths = (src != model.src_pad).sum(dim=1).tolist()
    if (longest := max(lengths, default=0)) > model.max_length:
        raise too_long(longest, model.max_length)
    padded = [min(padded_length(n), model.max_length) for n in lengths]
    for length in sorted(set(padded)):
        rows = [row for row, own in enumerate(padded) if own == length]
        ids = src[rows, :length]
        yield rows, F.pad(ids, (0, length - ids.shape[1]), value=model.src_pad)


class BeamSearch:
    """The search of one batch. A row is a sentence; `self.sentences` maps open rows to sentences.

    Args:
        model: In evaluation mode.
        src: Source ids (B, S) of sentences with the same padded length.
        config: Settings of the search.
        restrictions: As in `beam_search`.
        prefixes: The ids that each translation must begin with; [] for none.
        tracer: Records the traces; None if no trace was requested.
    """

    def __init__(
        self,
        model: SearchModel,
        src: Tensor,
        config: SearchConfig,
        restrictions: Sequence[Restrictions],
        prefixes: list[list[int]],
        tracer: Tracer | None = None,
    ) -> None:
        self.model, self.config, self.tracer = model, config, tracer
        n_sentences, k = len(src), config.n_slots
        self.found: list[list[Hypothesis]] = [[] for _ in range(n_sentences)]
        # Spare rows repeat the first sentence.
        n_spare = max(0, MIN_SENTENCES - n_sentences)
        self.sentences = [*range(n_sentences), *[-1] * n_spare]  # -1: closed, or spare
        rows = torch.tensor([*range(n_sentences), *[0] * n_spare], device=src.device)
        src = src[rows]
        self.prefixes = [prefixes[row] for row in rows.tolist()]
        lengths = (src != model.src_pad).sum(dim=1).tolist()
        self.limits = [  # including eos
            limit(config, n_source=n - 1, n_prefix=len(p), max_length=model.max_length) + 1
            for n, p in zip(lengths, self.prefixes, strict=True)
        ]
        self.repetition = limits_on_repetition(model, src, config)
        self.restrictions = restrictions  # of each sentence, or none
        self.default = restrictions[0].rules.allowed if restrictions else None  # of all sentences
        excluded = [UNK] if self.default is None else np.flatnonzero(~self.default)
        self.excluded = torch.as_tensor(excluded, device=src.device)
        self.samplers = samplers_of(config, src, self.limits, pad=model.src_pad)
        self.coverage = CoveragePenalty(model, src, config.coverage) if config.coverage else None
        self.length = 0
        self.state: DecoderState = model.start(model.encode(src), k)
        self.log_probs = torch.zeros(len(src), k, dtype=torch.float64, device=src.device)
        if not self.samplers:
            # At the start, all hypotheses are equal, so only the first is extended.
            self.log_probs[:, 1:] = -torch.inf
        self.prev_ids = torch.full((len(src), k), model.tgt_pad, device=src.device)
        self.tokens = self.prev_ids[:, :, None][:, :, :0]  # (B, K, length)
        self.paths = self.log_probs[:, :, None][:, :, :0]  # (B, K, length)

    def _open_rows(self) -> list[tuple[int, int]]:
        """The rows that are open, and their sentences."""
        return [(row, sentence) for row, sentence in enumerate(self.sentences) if sentence >= 0]

    def _restricted(self) -> list[tuple[int, Restrictions]]:
        """The rows that are open, and their restrictions."""
        rows = self._open_rows() if self.restrictions else []
        return [(row, self.restrictions[sentence]) for row, sentence in rows]

    def _goals(self) -> list[tuple[int, Restrictions]]:
        """The rows that are open and must generate certain tokens."""
        return [(row, own) for row, own in self._restricted() if own.has_goal]

    def run(self) -> list[list[Hypothesis]]:
        """Search until all sentences are closed; return the n best hypotheses of each."""
        while any(sentence >= 0 for sentence in self.sentences):
            self.extend()
            self.close_sentences()
            self.drop_closed_rows()
        return [best or [Hypothesis((), -math.inf, -math.inf)] for best in self.found]

    def extend(self) -> None:
        """Extend the open hypotheses by one token; finish those that end."""
        logits, self.state = self.model.step(self.prev_ids, self.state)  # (B, K, V - 1)
        logits = logits.float()
        # log sum exp = max - log(max of softmax); the sum in softmax does not depend on the batch
        log_norm = logits.amax(-1).double() - logits.softmax(-1).amax(-1).double().log()  # (B, K)
        self._restrict(logits)
        self.length += 1
        extensions = self._drawn if self.samplers else self.best
        candidates = extensions(logits, log_norm)
        ended = (candidates.ids == EOS) & (candidates.log_probs > -torch.inf)  # (B, n)
        scores = self._finish(candidates, ended)
        self._follow(candidates, ended, scores)

    def _restrict(self, logits: Tensor) -> None:
        """Set the logits (B, K, V - 1) of tokens that may not follow to -inf."""
        forced = [
            (row, ids[self.length], logits[row, :, ids[self.length]].clone())  # (K,)
            for row, ids in enumerate(self.prefixes)
            if self.length < len(ids)
        ]
        left = [most - self.length for most in self.limits]
        self._apply_restrictions(logits, left)
        last = torch.tensor([n == 1 for n in left], device=logits.device)
        logits[last, :, EOS + 1 :] = -torch.inf
        if self.repetition:
            restrict(logits, self.repetition, goals=[row for row, _ in self._goals()])
        for row, token, values in forced:
            logits[row] = -torch.inf
            logits[row, :, token] = values

    def _apply_restrictions(self, logits: Tensor, left: Sequence[int]) -> None:
        """Set the logits (B, K, V - 1) of excluded tokens to -inf."""
        as_default = set(range(len(logits)))
        for row, own in self._restricted():
            allowed = own.allowed(left[row])
            if allowed is not self.default:
                as_default.remove(row)
                excluded = torch.from_numpy(~allowed).to(logits.device)  # (K, V - 1)
                logits[row].masked_fill_(excluded, -torch.inf)
        if len(as_default) == len(logits):
            logits[:, :, self.excluded] = -torch.inf
            return
        for row in as_default:
            logits[row][:, self.excluded] = -torch.inf

    def best(self, logits: Tensor, log_norm: Tensor) -> Candidates:
        """The best extensions of each sentence, twice as many as the beam holds."""
        k = self.config.beam
        n = 2 * k if k > 1 else 1
        values, ids = top_k(logits, min(n, logits.shape[-1]))  # (B, K, n)
        log_probs = self.log_probs[:, :, None] + (values.double() - log_norm[:, :, None])
        log_probs, places = log_probs.flatten(1).topk(min(n, ids[0].numel()), dim=1)
        beams = places.div(ids.shape[-1], rounding_mode="floor")
        candidates = Candidates(log_probs, beams, ids.flatten(1).gather(1, places))
        if goals := self._goals():
            rows = torch.tensor([row for row, _ in goals], device=ids.device)
            candidates.put(rows, self._towards_goals(logits, log_norm, rows, ids[rows]))
        return candidates

    def _towards_goals(
        self, logits: Tensor, log_norm: Tensor, rows: Tensor, ids: Tensor
    ) -> Candidates:
        """All best extensions (rows, K, n) of sentences with a goal, and those proposed."""
        goals = [own for _, own in self._goals()]
        every = with_proposals(ids, goals)  # (rows, K, n + m)
        known, every = every >= 0, every.clamp(min=0)
        beams = torch.arange(every.shape[1], device=ids.device)[:, None]
        values = logits[rows[:, None, None], beams, every].double() - log_norm[rows][:, :, None]
        log_probs = (self.log_probs[rows][:, :, None] + values).masked_fill(~known, -torch.inf)
        return ordered(goals, log_probs, every, is_first=self.length == 1)

    def _drawn(self, logits: Tensor, log_norm: Tensor) -> Candidates:
        """One random extension of each hypothesis."""
        drawn = np.zeros(logits.shape[:2], dtype=np.int64)
        for row, sentence in self._open_rows():
            drawn[row] = self.samplers[sentence].draw(logits[row].cpu().numpy(), self.length - 1)
        ids = torch.from_numpy(drawn).to(logits.device)  # (B, K)
        values = logits.gather(2, ids[:, :, None])[:, :, 0]
        beams = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        return Candidates(self.log_probs + (values.double() - log_norm), beams, ids)

    def _finish(self, candidates: Candidates, ended: Tensor) -> list[list[float]]:
        """Keep the hypotheses that end now and are among the n best; return all scores."""
        penalty = length_penalty(self.length, self.config.alpha)
        scores: list[list[float]] = (candidates.log_probs / penalty).tolist()
        log_probs, beams = candidates.log_probs.tolist(), candidates.beams.tolist()
        found = {
            (row, place): tuple(self.tokens[row, beams[row][place]].tolist())
            for row, place in ended.nonzero().tolist()
            # The coverage penalty can only decrease a score; a trace has the scores of all.
            if self.sentences[row] >= 0 and (self.tracer or self._enters(row, scores[row][place]))
        }
        if self.coverage and found:
            pairs = [(self.sentences[row], tokens) for (row, _), tokens in found.items()]
            for (row, place), own in zip(found, self.coverage.penalties(pairs), strict=True):
                scores[row][place] += own
        for (row, place), tokens in found.items():
            if self._enters(row, score := scores[row][place]):
                best = self.found[self.sentences[row]]
                log_prob = log_probs[row][place]
                path = (*self.paths[row, beams[row][place]].tolist(), log_prob)
                hypothesis = Hypothesis(tokens, log_prob, score, path)
                insort(best, hypothesis, key=lambda h: -h.score)
                del best[self.config.n_best :]
        return scores

    def _enters(self, row: int, score: float) -> bool:
        """Whether a hypothesis with this score is among the n best that have ended."""
        best = self.found[self.sentences[row]]
        return score > (best[-1].score if len(best) == self.config.n_best else -math.inf)

    def _follow(self, candidates: Candidates, ended: Tensor, scores: list[list[float]]) -> None:
        """Continue with the K best candidates that have not ended."""
        chosen = ended.int().argsort(dim=1, stable=True)[:, : self.config.n_slots]  # (B, K)
        log_probs = candidates.log_probs.masked_fill(ended, -torch.inf)
        self.log_probs = log_probs.gather(1, chosen)
        beams, self.prev_ids = candidates.beams.gather(1, chosen), candidates.ids.gather(1, chosen)
        if self.config.margin is not None and not self.samplers:
            best = self.log_probs.amax(dim=1, keepdim=True)
            dropped = self.log_probs < best - self.config.margin
            dropped[[row for row, _ in self._goals()]] = False
            self.log_probs[dropped] = -torch.inf
        if self.tracer:
            self.tracer.record(self._open_rows(), candidates, scores, chosen, self.log_probs)
        self.state.reorder(beams)
        for limits in self.repetition:
            limits.follow(beams, self.prev_ids)
        self._follow_sentences(beams.cpu().numpy(), self.prev_ids.cpu().numpy())
        history = self.tokens.gather(1, beams[:, :, None].expand_as(self.tokens))
        self.tokens = torch.cat([history, self.prev_ids[:, :, None]], dim=2)
        before = self.paths.gather(1, beams[:, :, None].expand_as(self.paths))
        self.paths = torch.cat([before, self.log_probs[:, :, None]], dim=2)

    def _follow_sentences(self, beams: Longs, ids: Longs) -> None:
        """Tell restrictions and samplers which hypotheses are open now: (B, K) each."""
        for row, sentence in self._open_rows():
            if self.samplers:
                self.samplers[sentence].follow(beams[row])
            if self.restrictions:
                # At first, restrictions have one hypothesis, and all K hypotheses are equal to it.
                extended = beams[row] if self.length > 1 else np.zeros_like(beams[row])
                self.restrictions[sentence].follow(extended, ids[row])

    def close_sentences(self) -> None:
        """Close the sentences that no open hypothesis can improve."""
        for row, best_open in enumerate(self.log_probs.amax(dim=1).tolist()):
            if self.sentences[row] >= 0 and not self._can_improve(row, best_open):
                self.sentences[row] = -1

    def _can_improve(self, row: int, best_open: float) -> bool:
        """Whether an open hypothesis can still enter the n best.

        Its log-probability can only decrease, the coverage penalty is at most 0, and the length
        penalty increases at most to that of the maximum length. `best_open / lp(limit)` is
        therefore an upper bound on all later scores, so stopping early does not change the result.
        """
        return self._enters(row, best_open / length_penalty(self.limits[row], self.config.alpha))

    def drop_closed_rows(self) -> None:
        """Drop closed rows once an eighth of the batch is closed, but keep MIN_SENTENCES rows."""
        n_rows = len(self.sentences)
        n_kept = max(MIN_SENTENCES, sum(sentence >= 0 for sentence in self.sentences))
        if n_rows - n_kept < max(1, n_rows // 8):
            return
        rows = sorted(range(n_rows), key=lambda row: self.sentences[row] < 0)[:n_kept]  # open first
        index = torch.tensor(rows, device=self.log_probs.device)
        self.state.keep(index)
        self.repetition = [limits.keep(index) for limits in self.repetition]
        self.log_probs, self.prev_ids = self.log_probs[index], self.prev_ids[index]
        self.tokens, self.paths = self.tokens[index], self.paths[index]
        self.sentences = [self.sentences[row] for row in rows]
        self.prefixes = [self.prefixes[row] for row in rows]
        self.limits = [self.limits[row] for row in rows]
