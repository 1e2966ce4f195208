"""Fixtures of the tests of benchmarks."""

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread(torch_threads: None) -> None:
    """The models are too small for several threads, which would wait for each other."""
    torch.set_num_threads(1)
