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


DEFAULT = Budget(seconds=40, memory=1000)
BUDGETS: dict[str, Budget] = {
    "html": Budget(seconds=60, memory=400),
    "json": Budget(seconds=30, memory=800),
    "markdown": Budget(seconds=150, memory=2500),
    "po": Budget(seconds=20, memory=400),
    "srt": Budget(seconds=30, memory=500),
    "text": Budget(seconds=1, memory=50),
    "vtt": Budget(seconds=12, memory=500),
}


def budget_of(name: str) -> Budget:
    """The budget of an input of this name."""
    return BUDGETS.get(name.partition(":")[0], DEFAULT)
