"""Peer: a model of Hugging Face as transformers.js reads it, in float32 and in int8.

Usage: python -m benchmarks.peers.transformers_js_convert HF OUT. HF is a folder that
`yakusu export --to hf` writes, with one vocabulary. The graphs are those of Optimum, rounded with
the settings of the library's own script. The library supports neither the Pegasus class nor
SentencePiece: its Marian class runs the graphs of both Marian and Pegasus, and the vocabulary is
converted for its own tokenizer. Its environment: requirements-transformers-js.txt.
"""

import json
import sys
from pathlib import Path

from onnxruntime.quantization import QuantType, quantize_dynamic
from optimum.exporters.onnx import main_export
from sentencepiece import sentencepiece_model_pb2 as protobuf
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
)
from tokenizers.processors import TemplateProcessing
from transformers.convert_slow_tokenizer import generate_merges

GRAPHS = ("encoder_model", "decoder_model_merged")
SPACE = "▁"
_BYTE_PAIRS = 2  # SentencePiece's model type
_USER_DEFINED = 4  # its type of pieces


def convert(source: Path, out: Path) -> None:
    """Write the graphs, settings and vocabulary of a model."""
    if (source / "target_vocab.json").exists():
        sys.exit(f"{source} has two vocabularies: choose a model with one")
    graphs = out / "onnx"
    main_export(str(source), graphs, task="text2text-generation-with-past", do_validation=False)
    for name in GRAPHS:
        quantize_dynamic(
            graphs / f"{name}.onnx",
            graphs / f"{name}_quantized.onnx",
            weight_type=QuantType.QInt8,
            extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True},
        )
    for name in ("config", "generation_config"):
        settings = json.loads((graphs / f"{name}.json").read_text(encoding="utf-8"))
        settings |= {"model_type": "marian"} if name == "config" else {"num_beams": 1}
        (out / f"{name}.json").write_text(json.dumps(settings), encoding="utf-8")
    _tokenizer(source / "source.spm").save(str(out / "tokenizer.json"))
    named = {"tokenizer_class": "MarianTokenizer", "unk_token": "<unk>", "eos_token": "</s>"}
    named |= {"pad_token": "<pad>"}
    (out / "tokenizer_config.json").write_text(json.dumps(named), encoding="utf-8")


def _tokenizer(path: Path) -> Tokenizer:
    """Return the vocabulary of a SentencePiece model of byte pairs, whose first id is eos."""
    proto = protobuf.ModelProto.FromString(path.read_bytes())  # type: ignore[attr-defined]
    if proto.trainer_spec.model_type != _BYTE_PAIRS:
        sys.exit(f"{path} has no byte pairs: choose another model")
    vocabulary = {piece.piece: i for i, piece in enumerate(proto.pieces)}
    vocabulary["<pad>"] = len(vocabulary)
    merges = generate_merges(vocabulary, None)
    made = Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    own = [piece.piece for piece in proto.pieces if piece.type == _USER_DEFINED]
    made.add_special_tokens(["</s>", "<unk>", "<pad>"])
    made.add_tokens([AddedToken(each, normalized=False) for each in own])
    made.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(SPACE)
    made.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 0)])
    made.decoder = decoders.Sequence(
        [
            decoders.Replace(SPACE, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return made


if __name__ == "__main__":
    convert(*map(Path, sys.argv[1:]))
