"""The learning rate, section 5.3, and the limits that end a run."""

import math
from math import pow

from yakusu.training.config import TrainingConfig
from yakusu.training.state import TrainerState


def lrate(step_num: int, *, d_model: int, warmup_steps: int, scale: float = 1.0) -> float:
    """Eq. 3: d_model^-0.5 * min(step_num^-0.5, step_num * warmup_steps^-1.5), times `scale`.

    Args:
        step_num: Number of the step, from 1.
        d_model: Width of the model.
        warmup_steps: Number of steps with linear growth; 4,000 in the paper.
        scale: 1 in the paper; small models on small corpora learn faster with a larger value.
    """
    return scale * pow(d_model, -0.5) * min(pow(step_num, -0.5), step_num * pow(warmup_steps, -1.5))


def limit_reached(config: TrainingConfig, state: TrainerState) -> str:
    """Return the limit of the recipe that ends the run now, or "" if there is none."""
    if state.step >= config.max_steps:
        return f"max_steps = {config.max_steps}"
    if config.max_epochs and state.epochs >= config.max_epochs:
        return f"max_epochs = {config.max_epochs:g}"
    if config.max_hours and state.seconds >= 3600 * config.max_hours:
        return f"max_hours = {config.max_hours:g}"
    if config.patience and state.bad_validations >= config.patience:
        return f"patience = {config.patience} validations without a better {config.best_by}"
    return ""


def expected_steps(config: TrainingConfig, state: TrainerState) -> int:
    """Estimate after how many steps the first limit is reached, from the speed so far."""
    shares = [state.step / config.max_steps]
    if config.max_epochs:
        shares.append(state.epochs / config.max_epochs)
    if config.max_hours:
        shares.append(state.seconds / 3600 / config.max_hours)
    return math.ceil(state.step / max(shares))
