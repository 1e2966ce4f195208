"""Bootstrap resampling of the sentences of a test set (Koehn 2004).

All systems are scored on the same resamples, so the intervals of their differences are paired.
"""

import numpy as np
import numpy.typing as npt

N_RESAMPLES = 1000
SEED = 12345

Floats = npt.NDArray[np.float64]


def resampled(counts: npt.NDArray[np.number]) -> Floats:
    """Return the sums of counts over each resample of the sentences, (B, C).

    Args:
        counts: What a score counts in each sentence, (N, C).
    """
    n = len(counts)
    picked = np.random.default_rng(SEED).integers(n, size=(N_RESAMPLES, n))
    times = np.stack([np.bincount(row, minlength=n) for row in picked])
    sums: Floats = times.astype(np.float64) @ counts.astype(np.float64)
    return sums


def interval(values: Floats) -> tuple[float, float]:
    """Return the 2.5th and the 97.5th percentile of the scores of resamples."""
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
