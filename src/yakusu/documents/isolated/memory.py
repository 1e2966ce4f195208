"""The memory of another process."""

import os
import sys
from pathlib import Path


def process_memory(process: int) -> int:
    """Bytes of memory that a process has taken, without files; 0: it has ended.

    Pages that a worker shares with the template count, too. On macOS, files that are mapped into
    memory are included.
    """
    if sys.platform == "darwin":
        import psutil

        try:
            return int(psutil.Process(process).memory_info().rss)
        except psutil.Error:
            return 0
    try:
        fields = Path(f"/proc/{process}/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
