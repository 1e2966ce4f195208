"""What reading may cost for each byte, by the format: the words before the colon of a name.

Measured on one core of a server of 2023, times three to four. The memory is that of the objects of
a hostile input, such as one element for every four bytes.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """What a byte may cost.

    Attributes:
        seconds: CPU seconds for each 2**20 bytes.
        memory: Bytes of memory for each byte.
    """

    seconds: float
    memory: float


DEFAULT = Budget(seconds=40, memory=400)
BUDGETS: dict[str, Budget] = {}


def budget_of(name: str) -> Budget:
    """The budget of an input of this name."""
    return BUDGETS.get(name.partition(":")[0], DEFAULT)
