"""Every reader is linear: twice the input takes at most 2**1.2 times the CPU time and memory."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.cases import THOROUGH
from tests.growth.budgets import budget_of
from tests.growth.measuring import EFFORT, STEEPEST, Growth, slope
from tests.growth.process import Measurer, crafted_inputs

_TRIALS = 3  # another program may slow one down, and a small input may be read in another way
_STEEPEST = STEEPEST if THOROUGH else 1.5  # beside other tests: quadratic time is 2
_MORE = 8  # times as many seconds and bytes for each further trial, so that trials hardly overlap


@pytest.fixture(scope="module")
def measurer() -> Iterator[Measurer]:
    """The process that measures."""
    process = Measurer()
    yield process
    process.close()


def _problem(growth: Growth) -> str:
    """What is wrong with the cost of a reader, or ""."""
    if growth.problem:
        return growth.problem
    budget = budget_of(growth.name)
    wrong = {
        f"the slope of CPU time is {growth.slope:.2f}": growth.slope > _STEEPEST,
        f"the slope of memory is {growth.memory_slope:.2f}": growth.memory_slope > STEEPEST,
        f"{growth.memory_per_byte:.0f} bytes of memory per byte, not {budget.memory:.0f}": (
            growth.memory_per_byte > budget.memory
        ),
        f"{growth.seconds_per_mb:.1f} CPU seconds per MB, not {budget.seconds:.1f}": (
            THOROUGH and growth.seconds_per_mb > budget.seconds
        ),
    }
    return ", ".join(problem for problem, holds in wrong.items() if holds)


@pytest.mark.parametrize("name", tuple(crafted_inputs())[:: 1 if THOROUGH else 6])
def test_cost_is_proportional_to_the_size_of_the_input(name: str, measurer: Measurer) -> None:
    for trial in range(_TRIALS):
        more = _MORE**trial
        effort = replace(EFFORT, seconds=EFFORT.seconds * more, most=EFFORT.most * more)
        growth = measurer.measure(name, effort)
        problem = _problem(growth)
        if not problem:
            return
    pytest.fail(f"{problem}: {growth}")


def test_the_slope_of_a_power_is_its_exponent() -> None:
    sizes = [10, 20, 40, 80]
    assert slope(sizes, [3 * size**2 for size in sizes]) == pytest.approx(2)
    assert slope(sizes, [7 * size for size in sizes]) == pytest.approx(1)
