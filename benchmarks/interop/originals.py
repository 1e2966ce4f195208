"""Models of other toolkits, run by their libraries with the ids of the imported model.

`verify_export` compares a model with a peer that has the same ids. An import changes the ids, so
these peers translate them. Differences are reported and never an error: the tolerance is infinite.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import torch

from yakusu.data.pieces import Pieces
from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.packing import sinusoids
from yakusu.export.ctranslate2.peer import CTranslate2Peer
from yakusu.export.hf.peer import HfPeer
from yakusu.export.marian import marian_columns
from yakusu.export.verify import TokenIds, Values

_NEVER = -1e9


class HfOriginal(HfPeer):
    """A folder of Hugging Face; see `Peer`.

    Args:
        folder: The folder.
        tokenizer: That of the imported model.
    """

    tolerance = math.inf

    def __init__(self, folder: Path, tokenizer: Tokenizer) -> None:
        source = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        own = folder / "target_vocab.json"
        target = json.loads(own.read_text(encoding="utf-8")) if own.exists() else source
        super().__init__(folder, len(target))
        self._src = [source[piece] for piece in _pieces(tokenizer.src)]
        self._tgt = [target[piece] for piece in _pieces(tokenizer.tgt)]
        self._own = {row: i for i, row in enumerate(self._tgt)}
        self._model.generation_config.bad_words_ids = [[target["<unk>"]]]
        # Padding has a logit, and so a share of all probabilities; the imported model has none.
        self._model.final_logits_bias[:, target["<pad>"]] = _NEVER

    def values(self, src: TokenIds, tgt: TokenIds) -> Values:
        """See `Peer`."""
        rows = super().values(self._sources([src])[0], tuple(self._tgt[i] for i in tgt))
        return rows[:, self._tgt]

    def search(self, sources: Sequence[TokenIds], *, beam: int, alpha: float) -> list[TokenIds]:
        """See `Peer`."""
        found = super().search(self._sources(sources), beam=beam, alpha=alpha)
        return [tuple(self._own[row] for row in rows) for rows in found]

    def _sources(self, sources: Sequence[TokenIds]) -> list[TokenIds]:
        return [tuple(self._src[i] for i in src) for src in sources]


class MarianOriginal(HfOriginal):
    """The weights of a model of Marian, run by Hugging Face with Marian's positions; see `Peer`.

    Args:
        folder: The folder of Hugging Face.
        tokenizer: That of the imported model.
    """

    def __init__(self, folder: Path, tokenizer: Tokenizer) -> None:
        super().__init__(folder, tokenizer)
        for stack in (self._model.model.encoder, self._model.model.decoder):
            n_positions, width = stack.embed_positions.weight.shape
            table = sinusoids(n_positions, width, width - 2)[:, marian_columns(width)]
            stack.embed_positions.weight.data.copy_(torch.from_numpy(table))


class CTranslate2Original(CTranslate2Peer):
    """A folder of CTranslate2, which computes in float32; see `Peer`.

    Args:
        folder: The folder.
        tokenizer: That of the imported model.
    """

    def __init__(self, folder: Path, tokenizer: Tokenizer) -> None:
        from ctranslate2 import Translator

        super().__init__(folder)
        self._translator = Translator(str(folder), device="cpu", compute_type="float32")
        self.tolerance = math.inf
        self._source, self._target = _pieces(tokenizer.src), _pieces(tokenizer.tgt)
        self._ids = {piece: i for i, piece in enumerate(self._target)}


def _pieces(pieces: Pieces) -> list[str]:
    return [pieces.piece(i) for i in range(len(pieces))]
