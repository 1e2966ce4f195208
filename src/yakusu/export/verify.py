"""Compares an exported model with the original: scores of given translations, and searches.

    difference = max |own - theirs|, over the logits, or the log-probabilities, of all positions

Libraries end a hypothesis only where eos is among the K best candidates of a step; yakusu also
where it is among the next K. The searches that are compared follow the rule of the libraries.

A search that finds another translation is a tie if the model scores both equally, up to the
tolerance of the format; anything else is an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from yakusu.data.batches import pad
from yakusu.data.vocabulary import EOS, UNK
from yakusu.errors import ModelError
from yakusu.model.base import SearchModel, Seq2Seq
from yakusu.search.beam import BeamSearch, beam_search
from yakusu.search.candidates import Candidates
from yakusu.search.config import SearchConfig

N_POSITIONS = 1024  # the longest sentence of exported models with sinusoidal positions
N_TOKENS = 64  # of a translation, at most; both searches end there
_BATCH = 16
TokenIds = tuple[int, ...]
Values = NDArray[np.float64]


class Peer(Protocol):
    """An exported model, run by the library of its format."""

    @property
    def compares(self) -> Literal["logits", "log-probabilities"]:
        """What `values` returns: logits (T, V - 1), or the log-probability of each token (T,)."""

    @property
    def rules(self) -> Literal["own", "library", "without unk"]:
        """The rules of its search: of yakusu, or of libraries (see above).

        "without unk": unk is excluded before the softmax, which scales all probabilities.
        """

    @property
    def tolerance(self) -> float:
        """The largest difference of a value that is not an error; infinite for rounded weights."""

    def values(self, src: TokenIds, tgt: TokenIds) -> Values:
        """Score a target; both end with eos."""

    def search(self, sources: Sequence[TokenIds], *, beam: int, alpha: float) -> list[TokenIds]:
        """Translate into at most `N_TOKENS` tokens, without eos and unk; alpha is the format's."""


@dataclass(frozen=True)
class Searched:
    """How many translations were identical, and how many differ within the tolerance.

    The tolerance of rounded weights is infinite.
    """

    identical: int
    ties: int


@dataclass(frozen=True)
class Verification:
    """What was compared.

    Attributes:
        compared: "logits" or "log-probabilities".
        difference: The largest difference.
        sentences: Number of sentences.
        greedy: Greedy searches.
        beam: Searches with beam 4, without a length penalty.
        shipped: Number of identical translations with the model's own settings. Only the search for
            ONNX has the same length penalty.
    """

    compared: str
    difference: float
    sentences: int
    greedy: Searched
    beam: Searched
    shipped: int


def verify_export(
    network: Seq2Seq, search: SearchConfig, sources: Sequence[TokenIds], peer: Peer
) -> Verification:
    """Compare an exported model with the original in float32.

    Args:
        network: The original.
        search: Its settings of the search.
        sources: Sentences to translate, ending with eos.
        peer: The exported model.

    Raises:
        ModelError: The tolerance is exceeded, or a search finds a worse or better translation.
    """
    own = _Own(network.eval(), peer)
    kind = BeamSearch if peer.rules == "own" else _LibrarySearch
    greedy = own.search(sources, SearchConfig(beam=1, alpha=0), kind)
    difference = max(own.difference(src, tgt) for src, tgt in zip(sources, greedy, strict=True))
    if not difference <= peer.tolerance:
        raise ModelError(
            f"the {peer.compares} of the exported model differ by up to {difference:.2g}, more "
            f"than {peer.tolerance:.0e}"
        )
    beams = own.search(sources, SearchConfig(beam=4, alpha=0), kind)
    shipped = own.search(sources, search, BeamSearch)
    theirs = peer.search(sources, beam=search.beam, alpha=search.alpha)
    return Verification(
        compared=peer.compares,
        difference=difference,
        sentences=len(sources),
        greedy=own.compare(sources, greedy, peer.search(sources, beam=1, alpha=0), "greedy search"),
        beam=own.compare(sources, beams, peer.search(sources, beam=4, alpha=0), "beam search"),
        shipped=sum(a == b for a, b in zip(shipped, theirs, strict=True)),
    )


class _WithoutUnk(SearchModel[Any, Any]):
    """A model that never generates unk.

    Args:
        network: The model.
    """

    def __init__(self, network: Seq2Seq) -> None:
        sizes = network.src_vocab_size, network.tgt_vocab_size
        super().__init__(src_vocab_size=sizes[0], tgt_vocab_size=sizes[1])
        self._network = network

    @property
    def max_length(self) -> int:
        return self._network.max_length

    def encode(self, src: Tensor) -> Any:
        return self._network.encode(src)

    def decode(self, tgt_in: Tensor, memory: Any) -> Tensor:
        return self._without(self._network.decode(tgt_in, memory))

    def start(self, memory: Any, n_beams: int) -> Any:
        return self._network.start(memory, n_beams)

    def step(self, prev_ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        logits, state = self._network.step(prev_ids, state)
        return self._without(logits), state

    @staticmethod
    def _without(logits: Tensor) -> Tensor:
        logits[..., UNK] = -torch.inf
        return logits


class _LibrarySearch(BeamSearch):
    """A beam search that ends hypotheses as libraries do."""

    def _finish(self, candidates: Candidates, ended: Tensor) -> list[list[float]]:
        places = torch.arange(ended.shape[1], device=ended.device)
        return super()._finish(candidates, ended & (places < self.config.beam))


class _Own:
    """The original, in torch.

    Args:
        network: In evaluation mode.
        peer: What it is compared with.
    """

    def __init__(self, network: Seq2Seq, peer: Peer) -> None:
        self._network, self._peer = network, peer

    def search(
        self, sources: Sequence[TokenIds], config: SearchConfig, kind: type[BeamSearch]
    ) -> list[TokenIds]:
        """Translate with limits on length only, because other libraries have no others."""
        update = {"max_length": N_TOKENS - 1, "max_extra": N_TOKENS, "max_repeats": 0, "n_best": 1}
        config, found = config.model_copy(update=update), list[TokenIds]()
        without_unk = self._peer.rules == "without unk" and kind is _LibrarySearch
        model: SearchModel = _WithoutUnk(self._network) if without_unk else self._network
        for i in range(0, len(sources), _BATCH):
            src = pad([[*each] for each in sources[i : i + _BATCH]], self._network.src_pad)
            found += [best[0].tokens for best in beam_search(model, src, config, kind=kind)]
        return found

    def difference(self, src: TokenIds, tgt: TokenIds) -> float:
        """The largest difference of the values of a translation."""
        logits = self._logits(src, tgt)
        own = logits if self._peer.compares == "logits" else _token_log_probs(logits, (*tgt, EOS))
        return float(np.abs(own - self._peer.values(src, (*tgt, EOS))).max())

    def compare(
        self,
        sources: Sequence[TokenIds],
        own: Sequence[TokenIds],
        theirs: Sequence[TokenIds],
        what: str,
    ) -> Searched:
        """Count identical translations and ties.

        Raises:
            ModelError: A translation differs, and the model scores it differently.
        """
        pairs = zip(sources, own, theirs, strict=True)
        different = [(src, a, b) for src, a, b in pairs if a != b]
        worst = max((self._gap(*each) for each in different), default=0.0)
        if worst > 2 * self._peer.tolerance:
            raise ModelError(
                f"{what} finds {len(different)} other translations in {len(sources)} sentences, "
                f"whose log-probabilities differ by up to {worst:.2g}"
            )
        return Searched(len(sources) - len(different), len(different))

    def _gap(self, src: TokenIds, own: TokenIds, theirs: TokenIds) -> float:
        """The difference in log-probability where two translations part, or of the whole."""
        common = enumerate(zip(own, theirs, strict=False))
        same = next((i for i, (a, b) in common if a != b), min(len(own), len(theirs)))
        scores = [_token_log_probs(self._logits(src, tgt), (*tgt, EOS)) for tgt in (own, theirs)]
        where_they_part = abs(scores[0][same] - scores[1][same])
        return float(min(where_they_part, abs(scores[0].sum() - scores[1].sum())))

    def _logits(self, src: TokenIds, tgt: TokenIds) -> Values:
        """The logits (T + 1, V - 1) of a target and eos."""
        network = self._network
        with torch.inference_mode():
            memory = network.encode(torch.tensor([[*src]]))
            tgt_in = torch.tensor([[network.tgt_pad, *tgt]])
            logits: Values = network.logits(network.hidden(tgt_in, memory))[0].double().numpy()
        return logits


def _token_log_probs(logits: Values, tgt: TokenIds) -> Values:
    top = logits.max(1, keepdims=True)
    log_sums = top[:, 0] + np.log(np.exp(logits - top).sum(1))
    found: Values = logits[np.arange(len(tgt)), list(tgt)] - log_sums
    return found
