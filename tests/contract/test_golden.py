"""Losses, weights and translations of tiny models equal frozen values: no refactoring changes them.

They are equal to the last bit on the kind of processor and the torch version that recorded them,
and up to rounding elsewhere. After a change that should alter results, record them again with
YAKUSU_RENEW_GOLDEN=1 pytest -n0 tests/contract/test_golden.py, and give the reason in CHANGELOG.md.
"""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.machine import identity
from yakusu.data.batches import pad
from yakusu.model.base import Seq2Seq
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig

GOLDEN = Path(__file__).parents[1] / "golden" / "tiny_models.json"
RENEW = bool(os.environ.get("YAKUSU_RENEW_GOLDEN"))
MACHINE = identity()

VARIANTS: dict[str, dict[str, Any]] = {
    "transformer": {},
    "pre-norm": {"norm": "pre"},
    "learned positions": {"positions": "learned", "max_positions": 64},
    "two vocabularies": {"tied": "decoder", "tgt_vocab_size": 14},
    "untied": {"tied": "none", "tgt_vocab_size": 14},
    "d_k and d_v": {"d_k": 5, "d_v": 7},
    "dot product": {"score": "dot"},
    "additive": {"score": "additive"},
    "restricted": {"mixing": "restricted", "neighbourhood": 3},
    "separable convolution": {"mixing": "convolution", "kernel": 4},
    "recurrent mixing": {"mixing": "recurrent"},
    "experts": {"n_experts": 4, "top_k": 2},
    "restricted additive experts": {
        "mixing": "restricted",
        "neighbourhood": 4,
        "score": "additive",
        "n_experts": 3,
        "norm": "pre",
    },
    "recurrent": {"name": "recurrent"},
    "recurrent dot": {"name": "recurrent", "attention": "dot"},
    "recurrent additive": {"name": "recurrent", "attention": "additive"},
    "recurrent without attention": {"name": "recurrent", "attention": "none"},
    "recurrent residual": {"name": "recurrent", "n_layers": 4, "residual": True, "tied": "none"},
    "convolutional": {"name": "convolutional"},
    "convolutional dilated": {"name": "convolutional", "n_layers": 3, "dilations": (1, 2, 4)},
    "convolutional even kernels": {
        "name": "convolutional",
        "encoder_kernel": 4,
        "decoder_kernel": 2,
    },
}


@pytest.fixture(autouse=True)
def one_thread(torch_threads: None) -> None:
    """The order of sums depends on the number of threads."""
    torch.set_num_threads(1)


def check(kind: str, name: str, found: Any) -> None:
    """Compare what was found with what was recorded, or record it."""
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {"machine": MACHINE}
    if RENEW:
        golden.setdefault(kind, {})[name] = found
        lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in golden.items())
        GOLDEN.write_text("{" + ",\n".join(lines) + "}\n")
    expected = golden[kind][name]
    if golden["machine"] == MACHINE:
        assert found == expected
    elif kind == "losses":
        assert found == pytest.approx(expected, rel=1e-3)
    elif kind == "translations":  # hypotheses with nearly equal scores may change places
        best, wanted = ([hypotheses[0][1] for hypotheses in each] for each in (found, expected))
        assert best == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("name", VARIANTS)
def test_losses_and_weights_of_five_steps_are_as_recorded(
    make_trainer: Callable[..., Any], name: str
) -> None:
    events: list[dict[str, Any]] = []
    sizes = {"dropout": 0.1, **VARIANTS[name]}
    trainer = make_trainer(sizes=sizes, max_steps=5, log_steps=1, record=events.append)
    trainer.run()
    check("losses", name, [event["loss"] for event in events if event["event"] == "train"])
    digests = {
        key: hashlib.sha256(tensor.detach().numpy().tobytes()).hexdigest()[:16]
        for key, tensor in trainer.model.weights().items()
    }
    check("weights", name, digests)


@pytest.mark.parametrize("name", VARIANTS)
def test_translations_and_scores_are_as_recorded(
    tiny: Callable[..., Seq2Seq], sequences: Callable[..., list[list[int]]], name: str
) -> None:
    model = tiny(**VARIANTS[name], seed=3)
    with torch.no_grad():
        for tensor in model.weights().values():
            tensor.mul_(1.7)  # less even probabilities
    src = pad(sequences(6, seed=7, longest=12), model.src_pad)
    found = []
    for beam in (1, 4):
        config = SearchConfig(beam=beam, n_best=beam, max_extra=6)
        for best in beam_search(model, src, config):
            found.append([[list(h.tokens), float(np.float64(h.score))] for h in best])
    check("translations", name, found)
