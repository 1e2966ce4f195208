"""FLOPs in a receipt, compared with counting every batch."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from yakusu.data.batches import collate, epoch_steps
from yakusu.data.pairs import Pairs
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.receipt import flops_per_token
from yakusu.recipe import load_recipe
from yakusu.training.flops import count_flops


@pytest.mark.parametrize("name", ["transformer", "convolutional"])
def test_flops_per_token_are_those_counted_over_a_whole_epoch(
    name: str,
    tiny: Callable[..., Seq2Seq],
    write_pairs: Callable[..., Pairs],
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(1)
    lengths = rng.poisson(12, size=200) + 1
    src, tgt = [[2] * n for n in lengths], [[2] * (n + rng.poisson(2)) for n in lengths]
    pairs, model = write_pairs(tmp_path, src, tgt), tiny(name)
    recipe = load_recipe("tiny", ["batches.step_tokens=400", "batches.batch_tokens=200"])
    epoch = epoch_steps(pairs, step_tokens=400, batch_tokens=200, seed=recipe.seed, epoch=0)
    pads = {"src_pad": model.src_pad, "tgt_pad": model.tgt_pad}
    batches = (collate(pairs, batch, **pads) for step in epoch for batch in step)
    true = count_flops(model, batches) / int(pairs.tgt.lengths.sum())
    assert flops_per_token(model, pairs, recipe) == pytest.approx(true, rel=0.02)
