"""Models whose hypotheses differ clearly, and the comparison with the naive search."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from yakusu.data.batches import pad
from yakusu.model.base import Seq2Seq
from yakusu.model.linear import SOURCE_MULTIPLE
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig
from yakusu.search.hypothesis import Hypothesis

Search = Callable[..., list[list[Hypothesis]]]


@pytest.fixture
def clear(tiny: Callable[..., Seq2Seq]) -> Callable[..., Seq2Seq]:
    """Factory of tiny models with clear preferences: clear(seed=..., factor=..., d_model=...)."""

    def make(*, factor: float = 3.0, **sizes: Any) -> Seq2Seq:
        model = tiny(**{"tied": "none", **sizes})
        with torch.no_grad():
            model.output_weight.mul_(factor)
        return model

    return make


@pytest.fixture
def search() -> Search:
    """Searches a list of sentences of ids together: search(model, sentences, config, prefixes)."""

    def run(
        model: Seq2Seq,
        sentences: Sequence[Sequence[int]],
        config: SearchConfig,
        prefixes: Sequence[Sequence[int]] = (),
    ) -> list[list[Hypothesis]]:
        src = pad([list(ids) for ids in sentences], model.src_pad, multiple=SOURCE_MULTIPLE)
        return beam_search(model, src, config, prefixes=prefixes)

    return run
