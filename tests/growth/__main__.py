"""Prints how the cost of each reader grows: `python -m tests.growth [PART OF A NAME]`."""

import sys

from tests.growth.measuring import EFFORT, Growth
from tests.growth.process import Measurer, crafted_inputs


def _row(growth: Growth) -> str:
    if growth.problem:
        return f"{growth.name:64} {growth.problem}"
    return (
        f"{growth.name:64} {growth.sizes[0] // 1024:>5} to {growth.sizes[-1] // 1024:>5} KB"
        f" {growth.seconds[-1]:8.3f} s {growth.slope:6.2f} {growth.seconds_per_mb:9.2f} s/MB"
        f" {growth.memory_slope:6.2f} {growth.memory_per_byte:7.1f} B/B"
    )


def _main(part: str) -> None:
    head = ("input", "sizes", "CPU", "CPU", "memory: slope, per byte")
    sys.stdout.write("{:64} {:>17} {:>10} slope {:>14} {:>15}\n".format(*head))
    measurer = Measurer()
    for name in crafted_inputs():
        if part in name:
            sys.stdout.write(f"{_row(measurer.measure(name, EFFORT))}\n")
            sys.stdout.flush()
    measurer.close()


if __name__ == "__main__":
    _main(" ".join(sys.argv[1:]))
