"""Runs an exported model with Hugging Face's library."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch

from yakusu.export.verify import N_TOKENS, TokenIds, Values

_BATCH = 16


class HfPeer:
    """The model of a folder, in float32; see `Peer`.

    Args:
        folder: What `write_hf` wrote.
        n_tokens: Number of target tokens without padding.
    """

    compares: Literal["logits"] = "logits"
    rules: Literal["library"] = "library"
    tolerance = 1e-4

    def __init__(self, folder: Path, n_tokens: int) -> None:
        from transformers import AutoModelForSeq2SeqLM

        loaded: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32)
        self._model = loaded.eval()
        settings = self._model.generation_config
        settings.max_length = None  # `max_new_tokens` takes its place
        settings.forced_eos_token_id = None  # and `_EosAtTheLimit` that of this one
        self._n_tokens = n_tokens

    def values(self, src: TokenIds, tgt: TokenIds) -> Values:
        """See `Peer`."""
        start = self._model.config.decoder_start_token_id
        tgt_in = torch.tensor([[start, *tgt[:-1]]])
        with torch.inference_mode():
            logits = self._model(input_ids=torch.tensor([src]), decoder_input_ids=tgt_in).logits
        values: Values = logits[0, :, : self._n_tokens].double().numpy()
        return values

    def search(self, sources: Sequence[TokenIds], *, beam: int, alpha: float) -> list[TokenIds]:
        """See `Peer`."""
        config, found = self._model.config, list[TokenIds]()
        for i in range(0, len(sources), _BATCH):
            rows = [torch.tensor(each) for each in sources[i : i + _BATCH]]
            src = torch.nn.utils.rnn.pad_sequence(rows, True, config.pad_token_id)
            ids = self._model.generate(
                input_ids=src,
                attention_mask=(src != config.pad_token_id).long(),
                num_beams=beam,
                **({"length_penalty": alpha} if beam > 1 else {}),
                max_new_tokens=N_TOKENS,
                logits_processor=[_EosAtTheLimit(config.eos_token_id)],
                early_stopping=False,
            )
            found += [_until_eos(row[1:], config.eos_token_id) for row in ids.tolist()]
        return found


class _EosAtTheLimit:
    """Makes eos the only candidate of the last step, and keeps its score.

    With the library's `forced_eos_token_id`, eos would be certain, and a hypothesis that the limit
    cuts off would have a higher score than its probability.

    Args:
        eos: The token.
    """

    def __init__(self, eos: int) -> None:
        self._eos = eos

    def __call__(self, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores (rows, V) of the token after `ids` (rows, T)."""
        if ids.shape[1] < N_TOKENS:
            return scores
        only = torch.full_like(scores, -torch.inf)
        only[:, self._eos] = scores[:, self._eos]
        return only


def _until_eos(ids: list[int], eos: int) -> TokenIds:
    return tuple(ids[: ids.index(eos)] if eos in ids else ids)
