"""The graphs of an ONNX export compute what the network computes, before any of them is traced."""

from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from yakusu.errors import ModelError
from yakusu.export.formats import refuse
from yakusu.export.onnx.graphs import (
    N_SINUSOIDS,
    DecoderGraph,
    DecoderWithPastGraph,
    EncoderGraph,
    LayerCache,
)
from yakusu.model.base import Seq2Seq
from yakusu.model.transformer import Transformer

Tiny = Callable[..., Seq2Seq]
VARIANTS: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm": {"norm": "pre", "n_decoder_layers": 1},
    "positions of Tensor2Tensor": {"positions": "tensor2tensor"},
    "learned positions": {"positions": "learned", "max_positions": 9},
    "widths of heads": {"d_k": 3, "d_v": 5, "n_heads": 3},
    "biases": {"biases": True, "output_bias": True, "activation": "silu"},
    "start token": {"start_id": 0, "scale_embeddings": False, "activation": "gelu"},
    "dot product": {"score": "dot", "tied": "decoder", "tgt_vocab_size": 15},
    "additive": {"score": "additive", "tied": "none"},
    "restricted": {"mixing": "restricted", "neighbourhood": 4},
    "restricted to one": {"mixing": "restricted", "neighbourhood": 1, "norm": "pre"},
    "experts": {"n_experts": 4, "top_k": 2},
}


@pytest.fixture(params=VARIANTS, name="network")
def _network(request: pytest.FixtureRequest, tiny: Tiny) -> Transformer:
    network = cast(Transformer, tiny(**VARIANTS[request.param]))
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "b_" in name or "bias" in name:
                parameter.normal_()
    return network


SRC = [[5, 3, 8, 2, 7, 4, 0], [9, 6, 0, 11, 11, 11, 11]]  # 11 is padding
TGT = [[4, 7, 3, 9, 2, 8], [6, 5, 10, 2, 3, 4]]


def _ids(network: Transformer) -> tuple[Tensor, Tensor, Tensor]:
    """Source ids, their mask, and decoder inputs."""
    src = torch.tensor(SRC)
    first = network.tgt_pad if network.start_id is None else network.start_id
    tgt_in = torch.tensor([[first, *tgt] for tgt in TGT])
    return src, (src != network.src_pad).long(), tgt_in


def test_the_encoder_computes_the_memory(network: Transformer) -> None:
    src, mask, _ = _ids(network)
    with torch.no_grad():
        found, expected = EncoderGraph(network)(src, mask), network.encode(src).states
    real = mask.bool()
    torch.testing.assert_close(found[real], expected[real], atol=1e-5, rtol=1e-5)
    assert found.isfinite().all()  # at padding too: no attention weight hides an infinite value


def test_the_decoder_computes_the_logits_of_all_positions(network: Transformer) -> None:
    src, mask, tgt_in = _ids(network)
    with torch.no_grad():
        expected = network.decode(tgt_in, network.encode(src))
        found, _ = DecoderGraph(network)(tgt_in, EncoderGraph(network)(src, mask), mask)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_the_decoder_with_past_continues_where_the_decoder_ends(network: Transformer) -> None:
    src, mask, tgt_in = _ids(network)
    with torch.no_grad():
        memory, n = EncoderGraph(network)(src, mask), 2
        expected, all_caches = DecoderGraph(network)(tgt_in, memory, mask)
        _, caches = DecoderGraph(network)(tgt_in[:, :n], memory, mask)
        for i in range(n, tgt_in.shape[1]):
            logits, longer = DecoderWithPastGraph(network)(tgt_in[:, i : i + 1], mask, caches)
            torch.testing.assert_close(logits[:, 0], expected[:, i], atol=1e-5, rtol=1e-5)
            caches = [_joined(own, old) for own, old in zip(longer, caches, strict=True)]
    for found, whole in zip(caches, all_caches, strict=True):
        torch.testing.assert_close(found, whole, atol=1e-5, rtol=1e-5)


def _joined(own: tuple[Tensor, Tensor], old: LayerCache) -> LayerCache:
    return (*own, old[2], old[3])


def test_a_position_outside_the_table_is_an_error(tiny: Tiny) -> None:
    src = torch.full((1, N_SINUSOIDS), 3)
    encoder = EncoderGraph(cast(Transformer, tiny(n_layers=1)))
    assert encoder(src, torch.ones_like(src)).isfinite().all()
    longer = torch.full((1, N_SINUSOIDS + 1), 3)
    with pytest.raises(IndexError, match="out of range"):
        encoder(longer, torch.ones_like(longer))


# ---- what the format holds -----------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS.values())
def test_the_format_holds_these_variants(variant: dict[str, Any], tiny: Tiny) -> None:
    refuse(tiny(**variant).config, "onnx")


@pytest.mark.parametrize("mixing", ["convolution", "recurrent"])
def test_other_layers_in_place_of_self_attention_are_refused(mixing: str, tiny: Tiny) -> None:
    missing = "the format onnx has no convolution or recurrence in place of self-attention"
    with pytest.raises(ModelError, match=missing):
        refuse(tiny(mixing=mixing).config, "onnx")


@pytest.mark.parametrize("name", ["recurrent", "convolutional", "bytenet"])
def test_models_that_are_no_transformers_are_refused(name: str, tiny: Tiny) -> None:
    with pytest.raises(ModelError, match=f"{name} models cannot be exported: only Transformers"):
        refuse(tiny(name).config, "onnx")


@pytest.mark.parametrize("variant", ["learned positions", "restricted", "experts", "additive"])
def test_another_format_names_onnx_for_what_it_lacks(variant: str, tiny: Tiny) -> None:
    with pytest.raises(ModelError, match=r"the format hf has no .*: choose --to .*onnx"):
        refuse(tiny(**VARIANTS[variant]).config, "hf")
