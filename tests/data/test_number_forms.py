"""Number words and names of months do not depend on the order of sets."""

import os
import subprocess
import sys

SHOWN = """
from yakusu.data.numbers.forms import number_forms
from yakusu.data.numbers.marks import _stems
print(*[list(number_forms(code).items()) for code in ("en", "fr")], _stems("ru").pattern)
"""


def shown(seed: str) -> str:
    command, environment = [sys.executable, "-c", SHOWN], {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout


def test_the_order_is_the_same_in_every_process() -> None:
    assert shown("1") == shown("2")
