"""The best extensions of the open hypotheses, in torch.

B sentences, K hypotheses per sentence, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from yakusu.search.restrictions import Restrictions


@dataclass(frozen=True)
class Candidates:
    """Extensions of open hypotheses, best first: (B, n) each."""

    log_probs: Tensor
    beams: Tensor  # the hypotheses that are extended
    ids: Tensor

    def of(self, row: int) -> list[tuple[float, int, int]]:
        """The log-probability, the extended hypothesis and the id of each extension of a row."""
        columns = (each[row].tolist() for each in (self.log_probs, self.beams, self.ids))
        return list(zip(*columns, strict=True))

    def put(self, rows: Tensor, found: "Candidates") -> None:
        """Replace the extensions of some sentences by the best of these: (rows, m) each."""
        n = self.ids.shape[1]
        self.log_probs[rows] = found.log_probs[:, :n]
        self.beams[rows], self.ids[rows] = found.beams[:, :n], found.ids[:, :n]


def top_k(values: Tensor, k: int, *, block: int = 128) -> tuple[Tensor, Tensor]:
    """The k largest values of the last axis and their indices, in two stages.

    The k largest values lie in the k blocks with the largest maxima, so only those are searched. On
    a CPU, this is several times faster than `Tensor.topk` over a whole vocabulary. Of equal values,
    those in earlier blocks come first.
    """
    n = values.shape[-1]
    if n < 8 * block or values.device.type != "cpu":
        return values.topk(k, dim=-1)
    n_blocks = n // block
    blocks = values[..., : n_blocks * block].unflatten(-1, (n_blocks, block))
    chosen = blocks.amax(dim=-1).topk(min(k, n_blocks), dim=-1).indices  # (..., k)
    chosen = chosen.sort(dim=-1).values
    inside = blocks.gather(-2, chosen[..., None].expand(*chosen.shape, block))
    rest = values[..., n_blocks * block :]
    candidates = torch.cat([inside.flatten(-2), rest], dim=-1)
    best, places = candidates.topk(k, dim=-1)
    offsets = chosen.gather(-1, (places // block).clamp(max=chosen.shape[-1] - 1)) * block
    in_rest = places >= chosen.shape[-1] * block
    tail = places - chosen.shape[-1] * block + n_blocks * block
    return best, torch.where(in_rest, tail, offsets + places % block)


def with_proposals(ids: Tensor, goals: Sequence[Restrictions]) -> Tensor:
    """Add the tokens that sentences with a goal propose; -1: none, or a token that is in `ids`.

    Args:
        ids: The best tokens of each hypothesis of G sentences (G, K, n).
        goals: The restrictions of the sentences.

    Returns:
        (G, K, n + m).
    """
    proposed = [own.proposals() for own in goals]
    widest = max(tokens.shape[1] for tokens in proposed)
    padded = np.full((*ids.shape[:2], widest), -1, dtype=np.int64)
    for row, tokens in zip(padded, proposed, strict=True):
        row[:, : tokens.shape[1]] = tokens  # of K hypotheses, or at first of one
    proposals = torch.from_numpy(padded).to(ids.device)
    known = (proposals[..., None] == ids[:, :, None]).any(dim=-1)
    return torch.cat([ids, proposals.masked_fill(known, -1)], dim=2)


def ordered(
    goals: Sequence[Restrictions], log_probs: Tensor, ids: Tensor, *, is_first: bool
) -> Candidates:
    """Extensions in the order of the goals, all in one axis.

    Args:
        goals: The restrictions of G sentences.
        log_probs: Of each extension (G, K, m).
        ids: The last token of each (G, K, m).
        is_first: Whether the restrictions still have one hypothesis.
    """
    _, k, m = ids.shape
    log_probs, ids = log_probs.flatten(1), ids.flatten(1)
    beams = np.arange(k).repeat(m)
    of_goal = np.zeros_like(beams) if is_first else beams
    order = [
        own.order(values, of_goal, tokens)
        for own, values, tokens in zip(
            goals, log_probs.cpu().numpy(), ids.cpu().numpy(), strict=True
        )
    ]
    places = torch.from_numpy(np.stack(order)).to(ids.device)
    extended = torch.from_numpy(beams).to(ids.device)[places]
    return Candidates(log_probs.gather(1, places), extended, ids.gather(1, places))
