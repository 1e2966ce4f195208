"""The engine equals torch for every variant of the Transformer that it computes."""

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases import examples
from tests.engine.probes import Pair, log_probs, translations
from yakusu.data.batches import pad
from yakusu.engine.library import MatrixFormat
from yakusu.engine.model import NativeModel
from yakusu.engine.support import unsupported
from yakusu.errors import ModelError
from yakusu.model.base import SearchModel, Seq2Seq
from yakusu.model.config import config_of
from yakusu.model.ensemble import Ensemble
from yakusu.native.library import instruction_sets
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig
from yakusu.search.forced import score_targets

V = 30
Tiny = Callable[..., Seq2Seq]

VARIANTS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "pre-norm": {"norm": "pre"},
    "learned positions": {"positions": "learned", "max_positions": 40},
    "positions of Tensor2Tensor": {"positions": "tensor2tensor"},
    "positions that count words": {"positions": "words", "tied": "decoder", "tgt_vocab_size": 37},
    "two vocabularies": {"tied": "decoder", "tgt_vocab_size": 37},
    "untied": {"tied": "none", "tgt_vocab_size": 33},
    "dot product": {"score": "dot"},
    "wide heads": {"d_k": 40, "d_v": 5},
    "odd widths": {"d_model": 22, "d_ff": 37, "n_heads": 3, "d_k": 7, "d_v": 19},
    "whole vectors": {"d_model": 32, "d_ff": 64, "n_heads": 2, "vocab_size": 33},
    "deep encoder": {"n_encoder_layers": 4, "n_layers": 1},
    "deep decoder": {"n_decoder_layers": 3, "n_layers": 1},
    "silu": {"activation": "silu"},
    "gelu": {"activation": "gelu"},
    "biases of attention": {"biases": True, "d_k": 5, "d_v": 18},
    "bias of the output": {"output_bias": True},
    "bias of an untied output": {"output_bias": True, "tied": "none", "tgt_vocab_size": 20},
    "embeddings as they are": {"scale_embeddings": False},
    "start token": {"start_id": 5},
    "sources without eos": {"source_eos": False},
    "as Marian": {
        "activation": "silu",
        "biases": True,
        "output_bias": True,
        "n_decoder_layers": 1,
        "start_id": 0,
    },
    "pre-norm and all else": {
        "norm": "pre",
        "activation": "gelu",
        "biases": True,
        "output_bias": True,
        "scale_embeddings": False,
        "positions": "learned",
        "max_positions": 40,
        "tied": "none",
        "start_id": 2,
        "n_encoder_layers": 3,
        "d_k": 9,
    },
}


def randomised(model: Seq2Seq, seed: int = 0) -> Seq2Seq:
    """Add noise to all weights except padding, so that biases and gains count."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in model.weights().items():
            tensor.add_(torch.randn(tensor.shape, generator=rng), alpha=0.05)
            if "table.weight" in name:
                tensor[-1] = 0
    return model


@pytest.fixture(params=VARIANTS)
def model(request: pytest.FixtureRequest, tiny: Tiny) -> Seq2Seq:
    return randomised(tiny(**{"vocab_size": V, **VARIANTS[request.param]}))


def native(model: Seq2Seq, *, matrices: MatrixFormat = MatrixFormat.FLOAT32) -> NativeModel:
    config: Any = model.config
    weights = {name: tensor.detach().numpy() for name, tensor in model.weights().items()}
    sizes = {"src_vocab_size": model.src_vocab_size, "tgt_vocab_size": model.tgt_vocab_size}
    return NativeModel(config, weights, **sizes, matrices=matrices)


def sentences(n: int, vocab_size: int, *, seed: int, longest: int = 20) -> list[list[int]]:
    """Random sentences of 0 to `longest` tokens and eos."""
    rng = np.random.default_rng(seed)
    return [[*rng.integers(1, vocab_size - 1, i % (longest + 1)).tolist(), 0] for i in range(n)]


def pairs_for(model: SearchModel, n: int) -> list[Pair]:
    """Random sources and targets."""
    src = sentences(n, model.src_vocab_size, seed=1)
    return list(zip(src, sentences(n, model.tgt_vocab_size, seed=2)[::-1], strict=True))


def expected_log_probs(model: SearchModel, pairs: Sequence[Pair]) -> list[float]:
    """The log-probabilities of all target tokens, by torch."""
    scores = score_targets(model, pairs)
    return [log_prob for score in scores for log_prob in score.token_log_probs]


def flat(found: Sequence[Sequence[float]]) -> list[float]:
    return [value for values in found for value in values]


def test_log_probabilities_equal_those_of_torch(model: Seq2Seq) -> None:
    pairs = pairs_for(model, 60)
    found = flat(log_probs([native(model)], pairs))
    np.testing.assert_allclose(found, expected_log_probs(model, pairs), rtol=0, atol=1e-5)


@pytest.mark.parametrize("beam", [1, 4])
def test_translations_equal_those_of_torch(model: Seq2Seq, beam: int) -> None:
    sources = sentences(examples(200), model.src_vocab_size, seed=3, longest=9)
    config = SearchConfig(beam=beam, max_extra=3, max_repeats=0)
    with torch.inference_mode():
        expected = [best for best, *_ in beam_search(model, pad(sources, model.src_pad), config)]
    found = translations([native(model)], sources, beam=beam, max_extra=3)
    assert [tokens for tokens, _ in found] == [best.tokens for best in expected]
    np.testing.assert_allclose(
        [log_prob for _, log_prob in found], [best.log_prob for best in expected], atol=2e-5
    )


@pytest.mark.parametrize("matrices", list(MatrixFormat))
def test_no_sentence_depends_on_the_others(model: Seq2Seq, matrices: MatrixFormat) -> None:
    engine, pairs = native(model, matrices=matrices), pairs_for(model, 25)
    assert log_probs([engine], pairs) == [log_probs([engine], [pair])[0] for pair in pairs]
    sources, kind = [list(source) for source, _ in pairs], {"beam": 3, "max_extra": 3}
    together = translations([engine], sources, **kind)
    assert together == [translations([engine], [source], **kind)[0] for source in sources]


@pytest.mark.parametrize(("matrices", "most"), [("INT8", 0.05), ("INT16", 0.001)])
def test_integers_change_log_probabilities_little(
    model: Seq2Seq, matrices: str, most: float
) -> None:
    pairs, formats = pairs_for(model, 60), (MatrixFormat.FLOAT32, MatrixFormat[matrices])
    exact, rounded = (flat(log_probs([native(model, matrices=each)], pairs)) for each in formats)
    difference = np.abs(np.subtract(exact, rounded))
    assert 0 < difference.mean() < most * np.std(exact)


@pytest.mark.parametrize("matrices", list(MatrixFormat))
def test_all_instruction_sets_translate_with_the_same_bits(
    model: Seq2Seq, matrices: MatrixFormat
) -> None:
    engine, pairs = native(model, matrices=matrices), pairs_for(model, 12)
    first, *others = (log_probs([engine], pairs, isa) for isa in instruction_sets())
    assert all(other == first for other in others)


def test_each_member_of_an_ensemble_has_its_own_start_and_sizes(tiny: Tiny) -> None:
    kinds = ("start token", "the paper's", "pre-norm and all else", "odd widths")
    sizes = {"tied": "decoder", "vocab_size": V, "tgt_vocab_size": V}
    members = [
        randomised(tiny(**{**VARIANTS[kind], **sizes}), seed) for seed, kind in enumerate(kinds)
    ]
    ensemble = Ensemble(members)
    pairs = pairs_for(ensemble, 40)
    found = flat(log_probs([native(member) for member in members], pairs))
    np.testing.assert_allclose(found, expected_log_probs(ensemble, pairs), rtol=0, atol=1e-5)


CONFIGS = st.fixed_dictionaries(
    {
        "d_model": st.integers(2, 20).map(lambda n: 2 * n),
        "d_ff": st.integers(1, 50),
        "n_heads": st.integers(1, 4),
        "d_k": st.integers(1, 35),
        "d_v": st.integers(1, 35),
        "n_layers": st.integers(1, 3),
        "n_encoder_layers": st.none() | st.integers(1, 3),
        "positions": st.sampled_from(["sinusoidal", "tensor2tensor", "learned", "words"]),
        "norm": st.sampled_from(["post", "pre"]),
        "tied": st.sampled_from(["three-way", "decoder", "none"]),
        "score": st.sampled_from(["scaled", "dot"]),
        "activation": st.sampled_from(["relu", "silu", "gelu"]),
        "biases": st.booleans(),
        "output_bias": st.booleans(),
        "scale_embeddings": st.booleans(),
        "source_eos": st.booleans(),
        "start_id": st.none() | st.integers(0, 2),
        "vocab_size": st.integers(4, 40),
        "tgt_vocab_size": st.integers(4, 40),
    }
)


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(CONFIGS, st.integers(0, 2**31))
def test_any_sizes_and_options_give_the_log_probabilities_of_torch(
    tiny: Tiny, sizes: dict[str, Any], seed: int
) -> None:
    if sizes["tied"] == "three-way":
        sizes = {**sizes, "tgt_vocab_size": sizes["vocab_size"]}
    model = randomised(tiny(**sizes), seed)
    pairs = pairs_for(model, 25)
    found = flat(log_probs([native(model)], pairs))
    in_torch = expected_log_probs(model, pairs)
    exact = expected_log_probs(copy.deepcopy(model).double(), pairs)
    # Some of these models amplify rounding, in torch as well.
    error = np.abs(np.subtract(in_torch, exact)).max()
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-5 + 10 * error)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        *((sizes, None) for sizes in ({"norm": "pre"}, {"score": "dot"}, {"activation": "gelu"})),
        ({"n_experts": 4}, "experts"),
        ({"score": "additive"}, "additive attention"),
        ({"mixing": "restricted"}, "restricted self-attention"),
        ({"mixing": "convolution"}, "separable convolutions"),
        ({"mixing": "recurrent"}, "LSTMs in place of self-attention"),
        ({"name": "recurrent"}, "recurrent models"),
        ({"name": "convolutional"}, "convolutional models"),
        ({"name": "bytenet"}, "bytenet models"),
    ],
)
def test_what_the_engine_lacks_is_named(values: dict[str, Any], reason: str | None) -> None:
    assert unsupported(config_of(values)) == reason


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("matrices", list(MatrixFormat))
@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("encoder.0.self_attention.b_o", 3),
        ("decoder.1.cross_attention.w_qkv", (47, 0)),  # in the last of three parts
        ("tgt_table.weight", (V - 2, 15)),
        ("decoder.0.residuals.2.norm.bias", 15),
        ("tgt_embedding.positions.table", (19, 0)),
        ("output_bias", 0),
    ],
)
def test_a_weight_that_is_not_finite_is_named(
    tiny: Tiny, name: str, at: Any, matrices: MatrixFormat, bad: float
) -> None:
    learned = {"positions": "learned", "max_positions": 20}
    model = tiny(vocab_size=V, biases=True, output_bias=True, **learned)
    with torch.no_grad():
        model.weights()[name][at] = bad
    with pytest.raises(ModelError) as error:
        native(model, matrices=matrices)
    assert str(error.value) == (
        f"the weight '{name}' has a number that is NaN or infinite: train the model again"
    )


def test_weights_too_large_for_float32_are_refused(tiny: Tiny) -> None:
    model = tiny(vocab_size=V).double()
    with torch.no_grad():
        model.weights()["encoder.0.self_attention.w_o"][0, 0] = 1e39
    with pytest.raises(ModelError, match=r"the weight 'encoder\.0\.self_attention\.w_o' has a"):
        native(model)


@pytest.mark.parametrize("factor", [1e-45, 1e-38, 1e15])
def test_tiny_and_huge_weights_are_packed(tiny: Tiny, factor: float) -> None:
    model = tiny(vocab_size=V)
    with torch.no_grad():
        model.weights()["encoder.0.self_attention.w_qkv"][:] *= factor
    for matrices in MatrixFormat:
        assert np.isfinite(
            flat(log_probs([native(model, matrices=matrices)], pairs_for(model, 9)))
        ).all()
