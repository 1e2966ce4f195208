"""Cheapest paths over sorted values: one sweep per price, in native code.

A path is a sequence of intervals (i, j] from 0 to n. The cost of an interval is the squared error
of its values, in constant time from cumulative sums. Numba compiles each function for two kinds of
sums: (3, n + 1) of `running_moments` in float64, and (5, n + 1, 1) of `running_sums` in
double-double arithmetic.

For a fixed price, one sweep finds the best path from 0 to n, because a candidate for the start of
the last interval overtakes another at most once (Aggarwal, Schieber and Tokuyama 1994; Gronlund et
al. 2017).
"""

from typing import Any

import numpy as np

from yakusu.compress.doubledouble import add_pairs, compiled, square_over


@compiled
def sweep(sums: Any, price: float) -> Any:
    """Return the starts of the intervals of the cheapest path, at `price` per interval."""
    n = sums.shape[1] - 1
    best, before = np.empty(n + 1), np.empty(n + 1, dtype=np.int32)
    # Candidates for the start of the last interval; each is the best one from its place on.
    candidate, place = np.empty(n + 1, dtype=np.int32), np.empty(n + 1, dtype=np.int32)
    best[0], candidate[0], place[0] = 0.0, 0, 1
    head, tail = 0, 0
    for j in range(1, n + 1):
        while head < tail and place[head + 1] <= j:
            head += 1
        before[j] = candidate[head]
        best[j] = best[before[j]] + _cost(sums, before[j], j) + price
        if j == n:
            break
        # Candidates that j beats from their place on are never needed.
        while tail > head and _beats(sums, best, j, candidate[tail], place[tail]):
            tail -= 1
        begin = max(place[tail], j + 1)
        overtakes = _first_beaten(sums, best, j, candidate[tail], begin)
        if overtakes <= n:
            tail += 1
            candidate[tail], place[tail] = j, overtakes
    return _trace_back(before)


@compiled
def _beats(sums: Any, best: Any, new: int, old: int, at: int) -> Any:
    return best[new] + _cost(sums, new, at) < best[old] + _cost(sums, old, at)


@compiled
def _first_beaten(sums: Any, best: Any, new: int, old: int, begin: int) -> Any:
    """Return the first place from `begin` on where `new` beats `old`, or n + 1."""
    n = sums.shape[1] - 1
    if _beats(sums, best, new, old, begin):
        return begin
    worse, stride = begin, 1
    while worse + stride <= n and not _beats(sums, best, new, old, worse + stride):
        worse += stride
        stride *= 2
    better = min(worse + stride, n + 1)
    while better - worse > 1:
        middle = (worse + better) // 2
        if _beats(sums, best, new, old, middle):
            better = middle
        else:
            worse = middle
    return better


@compiled
def _trace_back(before: Any) -> Any:
    """Return the starts of the intervals of the path that ends in n, in order."""
    n = len(before) - 1
    count, at = 0, n
    while at > 0:
        at = before[at]
        count += 1
    starts, at = np.empty(count, dtype=np.int64), n
    for i in range(count):
        at = before[at]
        starts[count - 1 - i] = at
    return starts


@compiled
def path_cost(sums: Any, ends: Any) -> Any:
    """Return the cost of the path with these ends of intervals, from 0, without prices."""
    total = 0.0
    for i in range(len(ends) - 1):
        total += _cost(sums, ends[i], ends[i + 1])
    return total


@compiled
def move_left(sums: Any, ends: Any) -> bool:
    """Move each border to the leftmost place between its neighbours that does not cost more."""
    moved = False
    for t in range(len(ends) - 2, 0, -1):
        left, here, right = ends[t - 1], ends[t], ends[t + 1]
        now = _cost(sums, left, here) + _cost(sums, here, right)
        for place in range(left + 1, here):
            if _cost(sums, left, place) + _cost(sums, place, right) <= now:
                ends[t], moved = place, True
                break
    return moved


@compiled
def _cost(sums: Any, i: int, j: int) -> Any:
    """Return the squared error of the interval (i, j]."""
    if sums.ndim == 3:  # decided by numba at compile time
        return _precise_cost(sums, i, j)
    moment = sums[1, j] - sums[1, i]
    return sums[2, j] - sums[2, i] - moment * moment / (sums[0, j] - sums[0, i])


@compiled
def _precise_cost(sums: Any, i: int, j: int) -> Any:
    part, part_low = add_pairs(sums[1, j, 0], sums[2, j, 0], -sums[1, i, 0], -sums[2, i, 0])
    whole, whole_low = add_pairs(sums[3, j, 0], sums[4, j, 0], -sums[3, i, 0], -sums[4, i, 0])
    mean, mean_low = square_over(part, part_low, sums[0, j, 0] - sums[0, i, 0])
    error, _ = add_pairs(whole, whole_low, -mean, -mean_low)
    return max(error, 0.0)
