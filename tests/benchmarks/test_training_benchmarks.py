"""The benchmarks of training: parts of a step, and losses of the last steps."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.autograd.profiler import profile

from yakusu.model.architectures import build
from yakusu.model.config import TransformerConfig
from yakusu.model.dropout import Dropout
from yakusu.training.loss import smoothed_loss
from yakusu.training.step import ModelLoss

peers: Any = pytest.importorskip("benchmarks.peers.common", reason="only a checkout has benchmarks")
torch_loop: Any = pytest.importorskip("benchmarks.peers.torch_loop")
training_loss: Any = pytest.importorskip("benchmarks.speed.training_loss")
training_profile: Any = pytest.importorskip("benchmarks.speed.training_profile")


def test_operators_belong_to_the_parts_that_call_them() -> None:
    x, w, table = (torch.randn(size) for size in ((4, 6), (6, 8), (10, 8)))
    with training_profile._labelled_dropout(), profile(record_shapes=True) as profiler:
        hidden = Dropout(0.5)(2.0 * (x @ w.requires_grad_()))
        target = torch.arange(4)
        smoothed_loss(hidden, table.requires_grad_(), target, epsilon=0.1).smoothed.backward()
    events = list(profiler.function_events)
    of_layer, of_loss = 2 * (2 * 4 * 6 * 8), 3 * (2 * 4 * 8 * 10)  # without the gradient of x
    assert sum(map(training_profile.operations, events)) == of_layer + of_loss

    part_of = training_profile.parts(events)
    found = [(event.name, part_of(event)) for event in events if event.name.startswith("aten::")]
    assert {part for name, part in found if name in ("aten::mm", "aten::addmm_")} == {
        "matrix products"
    }
    assert found.count(("aten::random_", "dropout")) == 1
    assert found.count(("aten::mul", "dropout")) == 2  # forward and backward
    assert found.count(("aten::mul", "other operators")) == 2  # times 2.0, forward and backward
    assert found.count(("aten::_softmax", "loss")) == 1


def test_the_loss_is_that_of_the_last_steps_and_training_ends_after_the_last_rate() -> None:
    rates = [0.1 * step for step in range(peers.LAST_STEPS + 2)]
    watch = peers.Stopwatch(math.inf, rates)
    optimizer = SimpleNamespace(param_groups=[{}])
    ids, seen, n_vocab = torch.tensor([[2, 3, 0, 7]]), [], 8
    for step in range(len(rates)):
        watch.set_rate(optimizer)
        seen.append(optimizer.param_groups[0]["lr"])
        logits = torch.zeros(1, 4, n_vocab)
        logits[..., 1] = 100.0 if step < 2 else 0.0  # the first two steps are not measured
        watch.add_loss(logits, ids, 7)
        assert watch.step_done(ids, ids, 7) == (step == len(rates) - 1)
    assert seen == rates and watch.result().nll == pytest.approx(math.log(n_vocab))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # of inference
def test_the_peer_with_our_weights_computes_the_same_loss() -> None:
    n_vocab, width = 10, {"n_layers": 2, "d_model": 16, "d_ff": 32, "n_heads": 2, "dropout": 0.0}
    torch.manual_seed(1)
    model = build(
        TransformerConfig(norm="pre", **width), src_vocab_size=n_vocab, tgt_vocab_size=n_vocab
    ).eval()
    peer = torch_loop.Seq2SeqTransformer(
        peers.Sizes(n_vocab, pre_norm=True, **width), tied=True
    ).eval()
    peer.load_state_dict({**peer.state_dict(), **training_loss.renamed(model.state_dict())})
    pad, pairs = n_vocab - 1, [([2, 3, 4, 0], [5, 6, 0]), ([7, 0], [8, 2, 3, 0])]
    src, tgt_in, tgt = torch_loop.collate(pairs, pad)
    with torch.no_grad():
        nll = ModelLoss(model, epsilon=0.0, bf16=False, compiled=False)(src, tgt).nll
        logits = peer(src, tgt_in, tgt == pad)[..., :-1]  # ours are without padding
    theirs = F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=pad, reduction="sum")
    assert nll.item() == pytest.approx(theirs.item())
