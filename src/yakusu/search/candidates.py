"""The best extensions of the open hypotheses, in torch.

B sentences, K hypotheses per sentence, V vocabulary.
"""

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

    def put(self, row: int, found: "Candidates") -> None:
        """Replace the extensions of a sentence by the first of these, (m,) each."""
        n = self.ids.shape[1]
        self.log_probs[row] = found.log_probs[:n]
        self.beams[row], self.ids[row] = found.beams[:n], found.ids[:n]


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


def towards_goal(restrictions: Restrictions, log_probs: Tensor, ids: Tensor) -> Candidates:
    """The extensions of a sentence whose translation must contain certain tokens: (n,) each.

    Args:
        restrictions: Those of the sentence; they have a goal.
        log_probs: Of each hypothesis extended by each token (K, V - 1).
        ids: The best tokens of each hypothesis (K, m).
    """
    proposed = restrictions.proposals()  # (K, p), or (1, p) at first
    proposals = torch.from_numpy(proposed).to(ids.device).expand(len(ids), -1)
    known = (proposals[:, :, None] == ids[:, None]).any(dim=-1) | (proposals < 0)
    every = torch.cat([ids, proposals.clamp(min=0)], dim=1)  # (K, m + p)
    values = log_probs.gather(1, every)
    values[:, ids.shape[1] :].masked_fill_(known, -torch.inf)
    beams = torch.arange(len(ids), device=ids.device)[:, None].expand_as(every)
    values, beams, every = values.flatten(), beams.flatten(), every.flatten()
    numbers = beams.cpu().numpy() % len(proposed)
    order = restrictions.order(values.cpu().numpy(), numbers, every.cpu().numpy())
    places = torch.from_numpy(np.ascontiguousarray(order)).to(ids.device)
    return Candidates(values[places], beams[places], every[places])
