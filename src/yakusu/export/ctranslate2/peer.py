"""Runs an exported model with CTranslate2."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from yakusu.data.vocabulary import EOS, UNK
from yakusu.export.verify import N_TOKENS, TokenIds, Values
from yakusu.folder import read_json


class CTranslate2Peer:
    """The model of a folder, with the precision of its file; see `Peer`.

    Scores of a model with 8 bits per weight have no tolerance: its differences are only reported.

    Args:
        folder: What `write_ctranslate2` wrote.
    """

    compares: Literal["log-probabilities"] = "log-probabilities"
    rules: Literal["without unk"] = "without unk"

    def __init__(self, folder: Path) -> None:
        from ctranslate2 import Translator

        self._translator: Any = Translator(str(folder), device="cpu", compute_type="default")
        self.tolerance = 1e-3 if self._translator.compute_type == "float32" else math.inf
        shared = folder / "shared_vocabulary.json"
        source, target = (
            read_json(path)
            for side in ("source", "target")
            for path in (shared if shared.exists() else folder / f"{side}_vocabulary.json",)
        )
        self._source: list[str] = source
        self._target: list[str] = target
        self._ids = {token: i for i, token in enumerate(target)}

    def values(self, src: TokenIds, tgt: TokenIds) -> Values:
        """See `Peer`."""
        return np.array(self._score([src], [tgt[:-1]])[0], np.float64)

    def search(self, sources: Sequence[TokenIds], *, beam: int, alpha: float) -> list[TokenIds]:
        """See `Peer`."""
        # All hypotheses of a beam search, which it then continues up to the limit.
        every = beam > 1 and alpha == 0
        results = self._translator.translate_batch(
            self._source_tokens(sources),
            beam_size=beam,
            patience=N_TOKENS if every else 1,
            num_hypotheses=beam * N_TOKENS if every else 1,
            length_penalty=alpha,
            max_input_length=0,
            max_decoding_length=N_TOKENS - 1,
            min_decoding_length=0,
            disable_unk=True,
            return_scores=True,
            return_end_token=True,
        )
        return [self._best(src, result) for src, result in zip(sources, results, strict=True)]

    def _best(self, src: TokenIds, result: Any) -> TokenIds:
        """Return the best hypothesis, with eos after those that the limit cut off.

        The library scores those without eos.
        """
        hypotheses = [tuple(self._ids[token] for token in h) for h in result.hypotheses]
        scores, cut = list(result.scores), [i for i, h in enumerate(hypotheses) if EOS not in h]
        if cut and len(hypotheses) > 1:
            for i, score in zip(cut, self._eos(src, [hypotheses[i] for i in cut]), strict=True):
                scores[i] += score
        best = hypotheses[max(range(len(scores)), key=scores.__getitem__)]
        return tuple(i for i in best if i != EOS)

    def _eos(self, src: TokenIds, targets: list[TokenIds]) -> list[float]:
        """Return the log-probability of eos after targets, if unk is excluded."""
        eos, unk = (
            [log_probs[len(target)] for log_probs, target in zip(scored, targets, strict=True)]
            for scored in (
                self._score([src] * len(targets), targets),
                self._score([src] * len(targets), [(*target, UNK) for target in targets]),
            )
        )
        return [a - math.log1p(-math.exp(b)) for a, b in zip(eos, unk, strict=True)]

    def _score(self, sources: Sequence[TokenIds], targets: Sequence[TokenIds]) -> list[list[float]]:
        """Return the log-probability of each token, eos included, of targets without eos."""
        tokens = [[self._target[i] for i in ids] for ids in targets]
        scored = self._translator.score_batch(
            self._source_tokens(sources), tokens, max_input_length=0
        )
        return [each.log_probs for each in scored]

    def _source_tokens(self, sources: Sequence[TokenIds]) -> list[list[str]]:
        """Return tokens without eos, which the library appends."""
        return [[self._source[i] for i in ids[:-1]] for ids in sources]
