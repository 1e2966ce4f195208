"""The memory of a process, as the kernel reports it (Linux).

Not ru_maxrss, which is at least the memory of the process that started this one.
"""

import re
from pathlib import Path

PEAK = "VmHWM"  # of the resident memory
RESIDENT = "VmRSS"
ANONYMOUS = "RssAnon"  # the part of the resident memory that no file backs


def mib(what: str, process: int | str = "self") -> float:
    """Return an amount of memory in MiB; 0 for a process that has ended."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"{what}:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def reset_peak() -> None:
    """Let the peak of this process begin again at its present memory."""
    Path("/proc/self/clear_refs").write_text("5")
