"""Settings of the numerical libraries."""

import os
import subprocess
import sys

import pytest
import torch

from yakusu.device import disable_cudnn_attention, keep_compiled_kernels

# The first shape occurs again after four others.
_PRODUCTS = """
import torch
from yakusu import device
device._KERNELS = {capacity}
device.keep_compiled_kernels()
weight = torch.ones(64, 64, dtype=torch.bfloat16)
for n in (32, 33, 34, 35, 36, 32):
    torch.ones(n, 64, dtype=torch.bfloat16) @ weight
"""


def _last_creation(capacity: int) -> str:
    """Return what oneDNN reports about the last kernel: whether it was in the cache."""
    variables = {"ONEDNN_VERBOSE": "profile_create"}
    inherited = {k: v for k, v in os.environ.items() if k != "ONEDNN_PRIMITIVE_CACHE_CAPACITY"}
    done = subprocess.run(
        [sys.executable, "-c", _PRODUCTS.format(capacity=capacity)],
        env=inherited | variables,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    created = [line for line in done.stdout.splitlines() if "create:" in line]
    if not created:
        pytest.skip("on this CPU, torch does not use oneDNN for bfloat16")
    return created[-1]


def test_onednn_keeps_the_kernels_of_as_many_shapes_as_training_asks_for() -> None:
    assert "create:cache_miss" in _last_creation(2)
    assert "create:cache_hit" in _last_creation(16)


def test_a_capacity_that_the_user_has_set_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
    keep_compiled_kernels()
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "7"


def test_training_does_not_use_attention_kernels_of_cudnn() -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(True)
    try:
        disable_cudnn_attention()
        assert not torch.backends.cuda.cudnn_sdp_enabled()
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)
