"""Runs an ONNX model with onnxruntime: logits, and beam search in numpy.

R rows (hypotheses of all sentences), S source, V vocabulary.

The search is that of `search/beam.py`, which describes it, without limits on repetition.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from yakusu.arrays import Arrays
from yakusu.errors import ModelError
from yakusu.export.onnx.writer import DECODER, ENCODER, WITH_PAST, OnnxConfig
from yakusu.export.verify import N_TOKENS, TokenIds, Values
from yakusu.folder import read_regular
from yakusu.search.hypothesis import length_penalty

_BATCH = 16
_PAST, _PRESENT = "past_key_values", "present"


class OnnxPeer:
    """The model of a folder, in float32; see `Peer`.

    Args:
        folder: What `write_onnx` wrote.
    """

    compares: Literal["logits"] = "logits"
    rules: Literal["own"] = "own"
    tolerance = 1e-4

    def __init__(self, folder: Path) -> None:
        import onnxruntime

        self._config = OnnxConfig.model_validate_json(read_regular(folder / "config.json"))
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._sessions: dict[str, Any] = {
            name: onnxruntime.InferenceSession(
                folder / name, options, providers=["CPUExecutionProvider"]
            )
            for name in (ENCODER, DECODER, WITH_PAST)
        }

    def values(self, src: TokenIds, tgt: TokenIds) -> Values:
        """See `Peer`.

        Raises:
            ModelError: The decoder with caches computes something else than the one without.
        """
        tgt_in = [self._config.decoder_start_token_id, *tgt[:-1]]
        memory = self._encode([src])
        logits = self._first([tgt_in], memory)["logits"]
        state = self._first([tgt_in[:1]], memory)
        steps = [state["logits"]]
        for token in tgt_in[1:]:
            state = self._next([token], state)
            steps.append(state["logits"])
        difference = float(np.abs(logits - np.concatenate(steps, axis=1)).max())
        if not difference <= self.tolerance:
            raise ModelError(
                f"the logits of {WITH_PAST} differ from those of {DECODER} by up to "
                f"{difference:.2g}, more than {self.tolerance:.0e}"
            )
        values: Values = logits[0].astype(np.float64)
        return values

    def search(self, sources: Sequence[TokenIds], *, beam: int, alpha: float) -> list[TokenIds]:
        """See `Peer`; alpha is yakusu's, the exponent of its length penalty."""
        found = list[TokenIds]()
        for i in range(0, len(sources), _BATCH):
            found += self._search(sources[i : i + _BATCH], beam, alpha)
        return found

    def _search(self, sources: Sequence[TokenIds], beam: int, alpha: float) -> list[TokenIds]:
        config = self._config
        limit = min(N_TOKENS, config.max_positions)
        searches = [_Search(config, beam, alpha, limit) for _ in sources]
        state = self._first([[config.decoder_start_token_id]] * len(sources), self._encode(sources))
        while True:
            rows, logits, first = list[int](), state["logits"][:, -1].astype(np.float64), 0
            for each in searches:
                n = len(each.open)
                rows += [first + row for row in each.extend(logits[first : first + n])]
                first += n
            if not rows:
                return [each.best.tokens for each in searches]
            tokens = [hypothesis.tokens[-1] for each in searches for hypothesis in each.open]
            state = self._next(tokens, {name: array[rows] for name, array in state.items()})

    # ---- the three graphs ------------------------------------------------------------------------

    def _encode(self, sources: Sequence[TokenIds]) -> Arrays:
        lengths = np.array([len(src) for src in sources])
        ids = np.full((len(sources), lengths.max()), self._config.source_pad_token_id)  # (R, S)
        for row, src in zip(ids, sources, strict=True):
            row[: len(src)] = src
        mask = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
        states = self._run(ENCODER, {"input_ids": ids, "attention_mask": mask})
        return {
            "encoder_hidden_states": states["last_hidden_state"],
            "encoder_attention_mask": mask,
        }

    def _first(self, tgt_in: Sequence[Sequence[int]], memory: Arrays) -> Arrays:
        """Compute the logits of target ids (R, T), and caches."""
        state = self._run(DECODER, {"input_ids": np.array(tgt_in), **memory})
        return state | {"encoder_attention_mask": memory["encoder_attention_mask"]}

    def _next(self, tokens: Sequence[int], state: Arrays) -> Arrays:
        """Compute the logits after one more token per row, and longer caches."""
        inputs = {
            name.replace(_PRESENT, _PAST): array
            for name, array in state.items()
            if name != "logits"
        }
        inputs["input_ids"] = np.array(tokens)[:, None]
        return state | self._run(WITH_PAST, inputs)

    def _run(self, name: str, inputs: Arrays) -> Arrays:
        session = self._sessions[name]
        outputs = session.run(None, inputs)
        return dict(zip((each.name for each in session.get_outputs()), outputs, strict=True))


@dataclass(frozen=True)
class _Hypothesis:
    tokens: TokenIds = ()
    log_prob: float = 0.0
    score: float = -np.inf


@dataclass
class _Search:
    """The search of one sentence; `open` is empty when it is closed."""

    config: OnnxConfig
    beam: int
    alpha: float
    limit: int  # tokens, including eos
    open: list[_Hypothesis] = field(default_factory=lambda: [_Hypothesis()])
    best: _Hypothesis = field(default_factory=_Hypothesis)

    def extend(self, logits: Values) -> list[int]:
        """Extend the open hypotheses by one token, given their logits (n, V - 1).

        Returns:
            Which of them each open hypothesis continues.
        """
        if not self.open:
            return []
        length = len(self.open[0].tokens) + 1
        penalty = length_penalty(length, self.alpha)
        candidates, self.open = self._candidates(logits, length == self.limit), []
        rows = list[int]()
        for row, token, before, log_prob in candidates:
            if token == self.config.eos_token_id:
                if log_prob / penalty > self.best.score:
                    self.best = _Hypothesis(before, log_prob, log_prob / penalty)
            elif len(self.open) < self.beam:
                self.open.append(_Hypothesis((*before, token), log_prob))
                rows.append(row)
        bound = length_penalty(self.limit, self.alpha)
        if not self.open or self.open[0].log_prob / bound <= self.best.score:
            self.open, rows = [], []
        return rows

    def _candidates(self, logits: Values, is_last: bool) -> list[tuple[int, int, TokenIds, float]]:
        """The best extensions: which hypothesis, the token, its other tokens, log-probability."""
        top = logits.max(axis=1, keepdims=True)
        log_probs = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
        log_probs[:, self.config.unk_token_id] = -np.inf
        if is_last:
            log_probs[:, self.config.eos_token_id + 1 :] = -np.inf
        log_probs += np.array([[each.log_prob] for each in self.open])
        n = 2 * self.beam if self.beam > 1 else 1
        flat = log_probs.ravel()
        places = np.argpartition(-flat, min(n, flat.size) - 1)[:n]
        places = places[np.argsort(-flat[places], kind="stable")]
        found = [
            (*divmod(int(place), logits.shape[1]), float(flat[place]))
            for place in places
            if flat[place] > -np.inf
        ]
        return [(row, token, self.open[row].tokens, value) for row, token, value in found]
