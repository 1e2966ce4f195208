"""The search of the paper's implementation compared with the previous one, and its settings.

The previous search takes the K best extensions per step, and a hypothesis that ends keeps its place
in the beam, so the beam shrinks. The current one takes 2K and keeps K hypotheses open. Both stop as
soon as no open hypothesis can enter the n best.

Each dev set is translated with every setting, in turn for several rounds. "Better" and "worse"
count the translations whose score is higher or lower than that of the previous search, by more than
rounding errors. "Rows" is the number of hypotheses that were open per generated token.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.common import Benchmark
from yakusu.search.beam import _Candidates, _Search
from yakusu.search.ranking import top_k

ROUNDING = 1e-4  # nats

benchmark = Benchmark(
    "search",
    __doc__,
    example="python -m benchmarks.paper.search --model runs/enja-en-ja/model --src dev.en "
    "--ref dev.ja --tokenize none",
    needs=["model"],
    quick={"rounds": 1, "limit": 8},
)
benchmark.option("--src", type=Path, help="source sentences of a dev set")
benchmark.option("--ref", type=Path, help="their reference translations")
benchmark.option("--tokenize", help="sacreBLEU's tokenizer")
benchmark.option("--lowercase", action="store_true", help="ignore case")
benchmark.option("--rounds", type=int, default=3, help="%(default)s")
benchmark.option("--limit", type=int, help="number of sentences")
benchmark.option("--beam", type=int, default=4, help="%(default)s")


class ShrinkingBeam(_Search):
    """The previous search."""

    def _best(self, logits: Tensor, log_norm: Tensor) -> _Candidates:
        k = self.config.beam
        values, ids = top_k(logits, min(k, logits.shape[-1]))
        log_probs = self.log_probs[:, :, None] + (values.double() - log_norm[:, :, None])
        best, places = log_probs.flatten(1).topk(k, dim=1)
        n_open = (self.log_probs > -torch.inf).sum(dim=1, keepdim=True)
        n_open = n_open if self.length > 1 else torch.full_like(n_open, k)
        best = best.masked_fill(torch.arange(k, device=best.device) >= n_open, -torch.inf)
        beams = places.div(ids.shape[-1], rounding_mode="floor")
        return _Candidates(best, beams, ids.flatten(1).gather(1, places))


@dataclass(frozen=True)
class Setting:
    """A search: its name, its class and its settings."""

    name: str
    search: type[_Search]
    changes: dict[str, Any]


SETTINGS = [
    Setting("K candidates, shrinking beam", ShrinkingBeam, {"max_repeats": None}),
    Setting("2K candidates", _Search, {"max_repeats": None}),
    Setting("margin 4", _Search, {"max_repeats": None, "margin": 4.0}),
    Setting("margin 3", _Search, {"max_repeats": None, "margin": 3.0}),
    Setting("margin 2", _Search, {"max_repeats": None, "margin": 2.0}),
    Setting("margin 1", _Search, {"max_repeats": None, "margin": 1.0}),
    Setting("max_repeats 3", _Search, {"max_repeats": 3}),
    Setting("max_repeats 2", _Search, {"max_repeats": 2}),
    Setting("max_repeats 1", _Search, {"max_repeats": 1}),
]
