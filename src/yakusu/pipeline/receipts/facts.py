"""Collects the facts about a trained model for its receipt.

The training cost is given as in Table 2, once by the paper's formula and once by counting.
"""

from dataclasses import asdict
from pathlib import Path

from yakusu.data.batches import collate, cut_by_length, n_positions, seen_in_epoch
from yakusu.data.pairs import DataFacts, Pairs
from yakusu.folder import sha256
from yakusu.metrics import Score
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.receipts.receipt import Flops, HardwareFacts, PairCounts, Receipt
from yakusu.recipe import Recipe
from yakusu.training.flops import by_formula, count_flops, sustained_flops
from yakusu.training.state import TrainerState

_COUNTED = 6  # batches
_MAX_POSITIONS = 2048  # positions per side counted at once, so that counting fits into memory


def make_receipt(
    recipe: Recipe,
    model: Seq2Seq,
    *,
    data: Path,
    state: TrainerState,
    averaged: tuple[int, ...],
    scores: list[Score],
) -> Receipt:
    """Collect the facts about a trained model.

    Args:
        recipe: Resolved recipe.
        model: Trained model; parts that were not trained are frozen.
        data: Data folder of the run.
        state: Training state of the last checkpoint.
        averaged: Steps of the averaged checkpoints.
        scores: Scores on the dev set.
    """
    prepared = DataFacts.read(data)
    return Receipt(
        versions=state.made_by.versions,
        languages=recipe.languages,
        recipe=recipe,
        seed=recipe.seed,
        inputs=dict(prepared.inputs),
        tokenizer={path.name: sha256(path) for path in sorted(data.glob("*.model"))},
        pairs=PairCounts(train=prepared.n_train, dev=prepared.n_dev),
        hardware=HardwareFacts(**asdict(state.made_by.hardware), processes=state.n_processes),
        steps=state.step,
        skipped_steps=state.skipped,
        averaged_steps=averaged,
        target_tokens=state.target_tokens,
        wall_seconds=round(state.seconds, 1),
        flops=_cost(model, Pairs.open(data, "train"), recipe, state),
        scores=tuple(str(score) for score in scores),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
    )


def _cost(model: Seq2Seq, pairs: Pairs, recipe: Recipe, state: TrainerState) -> Flops:
    sustained = sustained_flops(state.made_by.hardware.device, model.output_weight.device)
    device = model.output_weight.device.type
    batch_tokens = state.batch_tokens or recipe.batches.batch_tokens_on(device, per_step=2)
    return Flops(
        paper=by_formula(state.seconds, n_devices=state.n_processes, sustained=sustained),
        sustained=sustained,
        counted=flops_per_token(model, pairs, seed=recipe.seed, batch_tokens=batch_tokens)
        * state.target_tokens
        * (2 if recipe.training.r_drop else 1),
    )


def flops_per_token(model: Seq2Seq, pairs: Pairs, *, seed: int, batch_tokens: int) -> float:
    """Return the training operations per target token, with the padding of separate batches.

    Counts the operations of a few batches of the first epoch, from short to long sentences, and
    scales their sum to the number of positions in the whole epoch.
    """
    seen = seen_in_epoch(pairs.parts, seed=seed, epoch=0)
    batches = cut_by_length(seen, pairs, batch_tokens)
    n = min(len(batches), _COUNTED)
    chosen = [batches[(2 * i + 1) * len(batches) // (2 * n)] for i in range(n)]
    pads = {"src_pad": model.src_pad, "tgt_pad": model.tgt_pad}
    parts = (p for batch in chosen for p in collate(pairs, batch, **pads).split(_MAX_POSITIONS))
    counted = count_flops(model, parts)
    share = n_positions(pairs, chosen) / n_positions(pairs, batches)
    return counted / share / int(pairs.tgt.lengths_of(seen).sum())
