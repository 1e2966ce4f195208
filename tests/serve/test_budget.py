"""The memory that all requests together may use."""

import pytest

from yakusu.serve.budget import MemoryBudget
from yakusu.serve.errors import RefusedError


def test_what_is_released_can_be_reserved_again() -> None:
    budget = MemoryBudget(100)
    budget.reserve(60)
    with pytest.raises(RefusedError, match=r"limits\.memory = 100 bytes") as error:
        budget.reserve(41)
    assert (error.value.status, error.value.retry_after) == (503, 5)
    budget.reserve(40)
    budget.release(60)
    budget.reserve(60)
    assert budget.used == 100
    budget.release(60)
    assert budget.used == 40


def test_a_request_that_never_fits_is_not_asked_to_try_again() -> None:
    with pytest.raises(RefusedError, match="101 bytes exceed") as error:
        MemoryBudget(100).reserve(101)
    assert (error.value.status, error.value.retry_after) == (413, None)


def test_measured_memory_takes_room_and_may_exceed_it() -> None:
    budget = MemoryBudget(100)
    budget.reserve(30)
    assert budget.measure(70) == 0
    with pytest.raises(RefusedError):
        budget.reserve(1)
    assert budget.measure(90) == 20  # a sample may find more than there is room for
    assert budget.measure(0) == 0
    budget.reserve(70)
