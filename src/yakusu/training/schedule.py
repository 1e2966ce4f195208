"""Section 5.3: the learning rate."""

from math import pow


def lrate(step_num: int, *, d_model: int, warmup_steps: int, scale: float = 1.0) -> float:
    """Eq. 3: d_model^-0.5 * min(step_num^-0.5, step_num * warmup_steps^-1.5), times `scale`.

    Args:
        step_num: The step about to be taken, from 1.
        d_model: Width of the model.
        warmup_steps: Steps of linear growth; 4,000 in the paper.
        scale: 1 in the paper; small models on small corpora bear more.
    """
    return scale * pow(d_model, -0.5) * min(pow(step_num, -0.5), step_num * pow(warmup_steps, -1.5))
