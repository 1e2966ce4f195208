"""The contract of model/base.py, tested with every registered model."""

import typing
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.cases import THOROUGH
from yakusu.compress.compressor import CodebookCompressor, Compressor, LatticeCompressor
from yakusu.data.vocabulary import EOS
from yakusu.model.base import DecoderState, SearchModel, Seq2Seq, models, shift_right
from yakusu.model.ensemble import Ensemble
from yakusu.model.table_plans import TableName
from yakusu.pipeline.tables import table_of

V, B, S = 12, 5, 9
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "convolutional": [
        {},
        {"encoder_kernel": 4, "decoder_kernel": 1, "tied": "none"},
        {"n_layers": 3, "decoder_kernel": 2, "dilations": (1, 2, 4), "tied": "decoder"},
    ],
    "bytenet": [
        {},
        {"n_layers": 6, "kernel": 1, "unfolding": 1.0, "tied": "none"},
        {"n_layers": 1, "kernel": 5, "unfolding": 2.5, "tied": "decoder"},
    ],
    "transformer": [
        {},
        {"norm": "pre"},
        {"positions": "learned", "max_positions": 64},
        {"positions": "words", "tied": "decoder"},
        {"tied": "none", "d_k": 5, "d_v": 3},
        {"score": "dot"},
        {"score": "additive"},
        {"mixing": "restricted", "neighbourhood": 3},
        {"mixing": "restricted", "neighbourhood": 4, "score": "additive", "norm": "pre"},
        {"mixing": "convolution", "kernel": 3},
        {"mixing": "convolution", "kernel": 4},
        {"mixing": "recurrent"},
        {"n_experts": 4},
        {"n_experts": 3, "top_k": 1, "norm": "pre"},
        {"n_encoder_layers": 3, "biases": True, "output_bias": True, "activation": "silu"},
        {"source_eos": False, "norm": "pre"},
        {"start_id": 4, "scale_embeddings": False, "activation": "gelu", "tied": "none"},
    ],
    "recurrent": [
        {},
        {"attention": "dot", "n_layers": 1},
        {"attention": "additive", "tied": "decoder"},
        {"attention": "none", "tied": "none", "n_layers": 2, "reversed_source": True},
        {"n_layers": 4, "residual": True},
        {"n_layers": 4, "residual": True, "decoder": "gnmt", "attention": "additive"},
    ],
}
CASES = [(name, variant) for name in models for variant in VARIANTS.get(name, [{}])]
FIRST_OF_EACH = [(name, VARIANTS.get(name, [{}])[0]) for name in models]


COMPRESSORS = {"codes": CodebookCompressor(9, 5), "integers": LatticeCompressor(0.3)}


def compressed(model: Seq2Seq, compressor: Compressor) -> Seq2Seq:
    """Compress every table of a model; two vectors stay exact."""
    for name in typing.get_args(TableName):
        vectors = getattr(model, name).weight.detach()[:-1]
        table = table_of(vectors[:2], compressor.fit(vectors.numpy()).compressed_)
        table.plan((name,)).put(model, table)
    return model


@pytest.fixture(params=CASES, ids=str)
def learning(request: pytest.FixtureRequest, tiny: Callable[..., Seq2Seq]) -> Seq2Seq:
    """A model that can be trained: every variant."""
    name, variant = request.param
    return tiny(name, vocab_size=V, **variant)


COMPRESSED = [(name, kind) for name in models for kind in COMPRESSORS]


@pytest.fixture(params=[*CASES, *COMPRESSED], ids=str)
def model(request: pytest.FixtureRequest, tiny: Callable[..., Seq2Seq]) -> Seq2Seq:
    """A model that can translate: every variant, and each architecture with compressed tables."""
    name, variant = request.param
    if isinstance(variant, str):
        return compressed(tiny(name, vocab_size=V), COMPRESSORS[variant])
    return tiny(name, vocab_size=V, **variant)


@pytest.fixture
def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture
def src(rng: torch.Generator) -> Tensor:
    """Source ids (B, S): sentences of 1 to S - 1 tokens, eos and padding."""
    ids = torch.randint(2, V - 1, (B, S), generator=rng)
    for row, length in zip(ids, (1, 3, 5, 7, S - 1), strict=True):
        row[length], row[length + 1 :] = EOS, V - 1
    return ids


def tokens(rng: torch.Generator, *shape: int) -> Tensor:
    return torch.randint(0, V - 1, shape, generator=rng)


def agree(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("n_beams", [1, 3] if THOROUGH else [3])
def test_step_equals_decode_when_beams_are_reordered(
    model: Seq2Seq, src: Tensor, rng: torch.Generator, n_beams: int
) -> None:
    step_equals_decode(model, src, rng, n_beams)


@pytest.mark.parametrize("n_beams", [1, 3])
def test_step_equals_decode_in_an_ensemble_of_all_architectures(
    tiny: Callable[..., Seq2Seq], src: Tensor, rng: torch.Generator, n_beams: int
) -> None:
    members = [tiny(name, vocab_size=V, seed=seed) for seed, name in enumerate(models)]
    step_equals_decode(Ensemble(members), src, rng, n_beams)


def step_equals_decode(model: SearchModel, src: Tensor, rng: torch.Generator, n_beams: int) -> None:
    memory = model.encode(src.repeat_interleave(n_beams, dim=0))
    state: DecoderState = model.start(model.encode(src), n_beams)
    prev = torch.full((B, n_beams), model.tgt_pad)
    history = prev[:, :, None][:, :, :0]  # (B, K, T)
    for _ in range(20):  # beyond the initial size of any cache
        logits, state = model.step(prev, state)
        history = torch.cat([history, prev[:, :, None]], dim=2)
        agree(logits, model.decode(history.flatten(0, 1), memory)[:, -1].view(B, n_beams, -1))
        beams = torch.randint(n_beams, (B, n_beams), generator=rng)  # some end, some split
        state.reorder(beams)
        history = history.gather(1, beams[:, :, None].expand_as(history))
        prev = tokens(rng, B, n_beams)


def test_keep_drops_sentences_and_does_not_change_the_others(
    model: Seq2Seq, src: Tensor, rng: torch.Generator
) -> None:
    chosen, n_beams = [4, 1, 2], 3
    whole = model.start(model.encode(src), n_beams)
    part = model.start(model.encode(src), n_beams)
    prev = torch.full((B, n_beams), model.tgt_pad)
    for t in range(24):
        logits, whole = model.step(prev, whole)
        rows = prev if t <= 6 else prev[chosen]
        fewer, part = model.step(rows, part)
        agree(fewer, logits if t <= 6 else logits[chosen])
        if t == 6:
            part.keep(torch.tensor(chosen))
        beams = torch.randint(n_beams, (B, n_beams), generator=rng)
        whole.reorder(beams)
        part.reorder(beams[chosen] if t >= 6 else beams)
        prev = tokens(rng, B, n_beams)


def test_keep_before_the_first_step_drops_sentences_too(model: Seq2Seq, src: Tensor) -> None:
    state = model.start(model.encode(src), 2)
    state.keep(torch.tensor([3, 0]))
    logits, _ = model.step(torch.full((2, 2), model.tgt_pad), state)
    expected, _ = model.step(torch.full((B, 2), model.tgt_pad), model.start(model.encode(src), 2))
    agree(logits, expected[[3, 0]])


def test_source_padding_changes_nothing(model: Seq2Seq, src: Tensor, rng: torch.Generator) -> None:
    tgt_in = tokens(rng, B, 6)
    more = torch.cat([src, torch.full((B, 7), model.src_pad)], dim=1)
    agree(model.decode(tgt_in, model.encode(more)), model.decode(tgt_in, model.encode(src)))


def test_target_padding_changes_nothing(model: Seq2Seq, src: Tensor, rng: torch.Generator) -> None:
    tgt_in, memory = tokens(rng, B, 6), model.encode(src)
    more = torch.cat([tgt_in, torch.full((B, 3), model.tgt_pad)], dim=1)
    agree(model.decode(more, memory)[:, :6], model.decode(tgt_in, memory))


def test_the_future_is_invisible(model: Seq2Seq, src: Tensor, rng: torch.Generator) -> None:
    tgt_in, memory = tokens(rng, B, 8), model.encode(src)
    before = model.decode(tgt_in, memory)
    for t in range(1, 8):
        changed = tgt_in.clone()
        changed[:, t:] = (changed[:, t:] + 1) % (V - 1)
        after = model.decode(changed, memory)
        agree(after[:, :t], before[:, :t])
        # The current position is visible.
        assert not torch.allclose(after[:, t], before[:, t], atol=1e-3)


def test_the_source_is_visible(model: Seq2Seq, src: Tensor, rng: torch.Generator) -> None:
    tgt_in, changed = tokens(rng, B, 3), src.clone()
    changed[:, 0] = 2 + (changed[:, 0] - 1) % (V - 3)
    one = model.decode(tgt_in, model.encode(src))
    other = model.decode(tgt_in, model.encode(changed))
    assert ((one - other).abs().amax(dim=(1, 2)) > 1e-3).all()


def test_a_batch_of_one_equals_a_batch_of_many(
    model: Seq2Seq, src: Tensor, rng: torch.Generator
) -> None:
    tgt_in = tokens(rng, B, 6)
    together = model.decode(tgt_in, model.encode(src))
    for b in range(B):
        alone = src[b : b + 1, : int((src[b] != model.src_pad).sum())]
        agree(model.decode(tgt_in[b : b + 1], model.encode(alone)), together[b : b + 1])


def test_decode_is_hidden_times_the_output_projection(
    learning: Seq2Seq, src: Tensor, rng: torch.Generator
) -> None:
    tgt_in, memory = tokens(rng, B, 6), learning.encode(src)
    assert learning.output_weight.shape == (V, learning.hidden(tgt_in, memory).shape[-1])
    assert (learning.output_weight[-1] == 0).all()
    logits = learning.hidden(tgt_in, memory) @ learning.output_weight[:-1].T
    if learning.output_bias is not None:
        with torch.no_grad():
            learning.output_bias.copy_(torch.randn(V - 1, generator=rng))
        logits = logits + learning.output_bias
    agree(learning.decode(tgt_in, memory), logits)


def test_forward_reads_the_target_shifted_right(
    model: Seq2Seq, src: Tensor, rng: torch.Generator
) -> None:
    tgt = tokens(rng, B, 6)
    tgt_in = torch.cat([torch.full((B, 1), model.tgt_pad), tgt[:, :-1]], dim=1)
    assert torch.equal(shift_right(tgt, model.tgt_pad), tgt_in)
    agree(model(src, tgt), model.hidden(tgt_in, model.encode(src)))


def test_attention_weights_sum_to_one_over_the_visible_positions(
    model: Seq2Seq, src: Tensor, rng: torch.Generator
) -> None:
    n_queries = {"encoder": S, "decoder": 6, "cross": 6}
    source, target = src != model.src_pad, torch.ones(B, 6, dtype=torch.bool)
    for role, weights in model.attentions(src, tokens(rng, B, 6)).items():
        n_layers, n_heads = len(model.attention_layers()[role]), weights.shape[2]
        keys = target if role == "decoder" else source
        queries = source if role == "encoder" else target  # padding may attend to anything
        assert weights.shape == (B, n_layers, n_heads, n_queries[role], keys.shape[1])
        seen = weights.transpose(1, 3)[queries]  # (queries, H, N, keys)
        agree(seen.sum(-1), torch.ones_like(seen[..., 0]))
        assert (weights.transpose(1, 4)[~keys] == 0).all()
        if role == "decoder":
            assert (weights.triu(1) == 0).all()


@pytest.mark.parametrize(("name", "variant"), CASES if THOROUGH else FIRST_OF_EACH, ids=str)
def test_torch_compiles_training_as_one_graph(
    tiny: Callable[..., Seq2Seq], src: Tensor, rng: torch.Generator, name: str, variant: Any
) -> None:
    fewest = variant if "n_layers" in variant else {**variant, "n_layers": 1}
    model = tiny(name, vocab_size=V, **fewest)
    if not model.compiles:
        pytest.skip("this model does not compile")
    dynamo = import_module("torch._dynamo")  # here, because only this test needs it
    explained = dynamo.explain(model.train())(src, tokens(rng, B, 6))
    assert explained.graph_break_count == 0


def test_weights_round_trip(learning: Seq2Seq, src: Tensor, rng: torch.Generator) -> None:
    tgt = tokens(rng, B, 6)
    before, saved = learning(src, tgt), {name: w.clone() for name, w in learning.weights().items()}
    with torch.no_grad():
        for parameter in learning.parameters():
            parameter.normal_()
    assert not torch.allclose(learning(src, tgt), before)
    learning.load_weights(saved)
    assert torch.equal(learning(src, tgt), before)
