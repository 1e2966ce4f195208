"""Writes a Transformer as ONNX graphs, for onnxruntime and other runtimes.

encoder.onnx               source ids -> memory
decoder.onnx               all target ids -> logits, and the caches of the first step
decoder_with_past.onnx     the last target ids, and the caches of earlier ones -> logits, caches
config.json                languages, special ids, limits, and the inputs and outputs of each graph
source.spm, target.spm     SentencePiece models
vocabulary.json            the piece of each id of both sides; padding has none

The names of inputs and outputs are those of Hugging Face Optimum. There are no logits for padding.
"""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from yakusu.config import Config
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, UNK
from yakusu.engine.tables import DenseWeights
from yakusu.export.onnx.graphs import N_SINUSOIDS, DecoderGraph, DecoderWithPastGraph, EncoderGraph
from yakusu.folder import write_json
from yakusu.model.architectures import build
from yakusu.model.config import UNLIMITED, TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.search.config import SearchConfig
from yakusu.translator.folder.folder import TranslatorConfig

OPSET = 18  # the first that torch.onnx writes without converting, and the oldest
ENCODER, DECODER, WITH_PAST = "encoder.onnx", "decoder.onnx", "decoder_with_past.onnx"
_LARGEST = 2**31 - 2**24  # bytes of weights in a graph; more are written to a file next to it

Axes = tuple[str | int, ...]


class Graph(Config):
    """The inputs and outputs of a graph, with the names of dynamic axes and the sizes of others."""

    inputs: dict[str, Axes]
    outputs: dict[str, Axes]


class OnnxConfig(Config):
    """config.json of an ONNX folder.

    Attributes:
        max_positions: A source or target with more tokens is an error in the runtime.
        graphs: The graph in each file.
    """

    source_language: str  # "" if unknown
    target_language: str
    opset: int
    eos_token_id: int
    unk_token_id: int
    source_pad_token_id: int
    target_pad_token_id: int
    decoder_start_token_id: int
    max_positions: int
    search: SearchConfig
    graphs: dict[str, Graph]


def write_onnx(
    folder: Path, config: TranslatorConfig, weights: DenseWeights, tokenizer: Tokenizer
) -> None:
    """Write the files.

    Args:
        folder: An empty folder.
        config: Languages and search settings.
        weights: The weights of a Transformer.
        tokenizer: The vocabularies.
    """
    network = _network(config, weights)
    graphs = _graphs(network)
    modules = {ENCODER: EncoderGraph, DECODER: DecoderGraph, WITH_PAST: DecoderWithPastGraph}
    for name, module in modules.items():
        _export(folder / name, module(network), graphs[name])
    write_json(folder / "config.json", _config(config, network, graphs).model_dump())
    sides = {"source": tokenizer.src, "target": tokenizer.tgt}
    for side, pieces in sides.items():
        (folder / f"{side}.spm").write_bytes(pieces.proto)
    pieces_of = {
        side: [pieces.piece(i) for i in range(len(pieces))] for side, pieces in sides.items()
    }
    write_json(folder / "vocabulary.json", pieces_of)


def _network(config: TranslatorConfig, weights: DenseWeights) -> Transformer:
    network = build(weights.config, **config.vocab_sizes)
    network.load_weights({name: torch.from_numpy(weights[name]) for name in weights})
    return cast(Transformer, network).eval()


def _config(config: TranslatorConfig, network: Transformer, graphs: dict[str, Graph]) -> OnnxConfig:
    start = network.start_id
    return OnnxConfig(
        source_language=config.source_language,
        target_language=config.target_language,
        opset=OPSET,
        eos_token_id=EOS,
        unk_token_id=UNK,
        source_pad_token_id=network.src_pad,
        target_pad_token_id=network.tgt_pad,
        decoder_start_token_id=network.tgt_pad if start is None else start,
        max_positions=N_SINUSOIDS if network.max_length == UNLIMITED else network.max_length,
        search=config.search,
        graphs=graphs,
    )


# ---- graphs --------------------------------------------------------------------------------------


def _graphs(network: Transformer) -> dict[str, Graph]:
    ids: dict[str, Axes] = {"input_ids": ("batch", "target")}
    mask: dict[str, Axes] = {"encoder_attention_mask": ("batch", "source")}
    memory: Axes = ("batch", "source", network.config.d_model)
    sides = {"decoder": "past", "encoder": "source"}
    return {
        ENCODER: Graph(
            inputs=dict.fromkeys(("input_ids", "attention_mask"), ("batch", "source")),
            outputs={"last_hidden_state": memory},
        ),
        DECODER: Graph(
            inputs=ids | {"encoder_hidden_states": memory} | mask,
            outputs={"logits": ("batch", "target", network.tgt_pad)}
            | _caches(network, "present", {**sides, "decoder": "target"}),
        ),
        WITH_PAST: Graph(
            inputs=ids
            | {"input_ids": ("batch", 1)}
            | mask
            | _caches(network, "past_key_values", sides),
            outputs={"logits": ("batch", 1, network.tgt_pad)}
            | _caches(network, "present", {"decoder": "past + 1"}),
        ),
    }


def _caches(network: Transformer, prefix: str, sides: Mapping[str, str]) -> dict[str, Axes]:
    """Return the axes of keys and values, of the target (decoder) and the memory (encoder)."""
    config = network.config
    assert isinstance(config, TransformerConfig)
    return {
        f"{prefix}.{i}.{side}.{name}": ("batch", config.n_heads, axis, width)
        for i in range(len(network.decoder))
        for side, axis in sides.items()
        for name, width in (("key", config.d_k), ("value", config.d_v))
    }


def _export(path: Path, module: nn.Module, graph: Graph) -> None:
    """Trace a module with small inputs, whose axes are dynamic, and write it."""
    import onnxscript  # noqa: F401  (torch.onnx would report its absence as an error of its own)

    axes = list(graph.inputs.values())
    names = sorted({axis for each in axes for axis in each if isinstance(axis, str)})
    lengths = {name: 3 + i for i, name in enumerate(names)}  # different: equal ones may be merged
    with torch.no_grad(), _silent():
        program = torch.onnx.export(
            module,
            _arguments([_example(each, lengths) for each in axes]),
            dynamo=True,
            verbose=False,
            opset_version=OPSET,
            input_names=list(graph.inputs),
            output_names=list(graph.outputs),
            dynamic_shapes=_arguments([_dynamic(each) for each in axes]),
        )
    assert program is not None, "dynamo=True returns one"
    for node in program.model.graph.all_nodes():
        node.metadata_props.clear()  # where in the source code of this process it comes from
    size = sum(tensor.nbytes for tensor in (*module.parameters(), *module.buffers()))
    program.save(path, external_data=size > _LARGEST)


@contextmanager
def _silent() -> Iterator[None]:
    """Suppress what torch.onnx says about its own code, and about libraries that are not needed."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _arguments(inputs: list[Any]) -> tuple[Any, ...]:
    """Return the arguments of a module for its inputs; each layer has a cache of four tensors."""
    if len(inputs) < 4:
        return tuple(inputs)
    return *inputs[:2], [tuple(inputs[i : i + 4]) for i in range(2, len(inputs), 4)]


def _example(axes: Axes, lengths: Mapping[str, int]) -> Tensor:
    shape = [lengths[axis] if isinstance(axis, str) else axis for axis in axes]
    return torch.ones(shape, dtype=torch.long) if len(shape) == 2 else torch.zeros(shape)


def _dynamic(axes: Axes) -> dict[int, Any]:
    return {i: torch.export.Dim(axis) for i, axis in enumerate(axes) if isinstance(axis, str)}
