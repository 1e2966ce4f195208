"""The machine, whose rounding of sums decides whether recorded values can be equal exactly."""

from pathlib import Path

import torch


def identity() -> dict[str, str]:
    """The version of torch, the instruction set that it uses, and the processor."""
    return {
        "torch": torch.__version__,
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "processor": _processor(),
    }


def _processor() -> str:
    """Vendor, family and model, such as "GenuineIntel 6 143"; matrix kernels differ by these."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return "unknown"
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    values = {name.strip(): value.strip() for name, value in fields.items()}
    return " ".join(values.get(name, "?") for name in ("vendor_id", "cpu family", "model"))
