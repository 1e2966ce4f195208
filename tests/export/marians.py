"""Small Marian models in the form of Hugging Face, and of the original Marian."""

import json
import random
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece as spm
from numpy.typing import NDArray
from safetensors.numpy import save_file

from tests.phrases import phrases
from yakusu.data.vocabulary import TokenizerConfig, learn

Tensors = dict[str, NDArray[Any]]


@cache
def sentences(side: int) -> list[str]:
    """English (0) or German (1) sentences."""
    return [pair[side] for pair in phrases("de").train]


@cache
def segmenter(side: int, normalization: str = "nmt_nfkc") -> bytes:
    """A SentencePiece model of one side; its own ids do not matter."""
    config = TokenizerConfig(
        vocab_size=200 + 20 * side,
        placeholder_share=0,
        byte_fallback=False,
        normalization=normalization,
    )
    return bytes(learn(sentences(side), config, 1, side="source").serialized_model_proto())


def pieces_of(side: int) -> list[str]:
    """The pieces of a side, without special tokens."""
    model = spm.SentencePieceProcessor(model_proto=segmenter(side))
    return [model.id_to_piece(i) for i in range(2, model.get_piece_size())]


@dataclass
class Marian:
    """A random model; see `write`.

    Attributes:
        separate: Whether each side has a vocabulary and a table of its own.
        order: The first and last special tokens of the vocabularies, around the pieces.
        tokens: More tokens of the (source) vocabulary, such as ">>de<<".
        config: Changes to config.json.
    """

    separate: bool = False
    shared: bool = True
    tied: bool = True
    order: tuple[tuple[str, ...], tuple[str, ...]] = (("</s>", "<unk>"), ("<pad>",))
    tokens: tuple[str, ...] = ()
    start: str = "<pad>"
    pad_row: bool = False
    bias: bool = True
    seed: int = 1
    languages: tuple[str | None, str | None] = ("en", "de")
    config: dict[str, Any] = field(default_factory=dict)

    def vocabularies(self) -> list[dict[str, int]]:
        """The vocabulary of each side; one if they share it."""
        first, last = self.order
        sides = [pieces_of(0), pieces_of(1)]
        merged = sides if self.separate else [sorted({*sides[0], *sides[1]})]
        found = []
        for pieces in merged:
            shuffled = random.Random(self.seed).sample(pieces, len(pieces))
            if self.separate:  # Hugging Face has one padding id
                shuffled = (shuffled + [f"<unused {i}>" for i in range(99)])[: self._n_pieces]
            rows = [*first, *self.tokens, *shuffled, *last]
            found.append({piece: i for i, piece in enumerate(rows)})
        return found

    @property
    def _n_pieces(self) -> int:
        return max(len(pieces_of(side)) for side in (0, 1))

    def settings(self) -> dict[str, Any]:
        """config.json."""
        vocabulary = self.vocabularies()[0]
        sizes = {
            f"{side}_{key}": value
            for side in ("encoder", "decoder")
            for key, value in {"layers": 2, "attention_heads": 4, "ffn_dim": 40}.items()
        }
        return {
            "model_type": "marian",
            "architectures": ["MarianMTModel"],
            "is_encoder_decoder": True,
            "vocab_size": len(vocabulary),
            "decoder_vocab_size": len(vocabulary),
            "d_model": 32,
            **sizes,
            "activation_function": "swish",
            "scale_embedding": True,
            "share_encoder_decoder_embeddings": self.shared,
            "tie_word_embeddings": self.tied,
            "max_position_embeddings": 256,
            "eos_token_id": vocabulary["</s>"],
            "forced_eos_token_id": None,
            "bos_token_id": None,
            "pad_token_id": vocabulary["<pad>"],
            "decoder_start_token_id": vocabulary[self.start],
            **self.config,
        }

    def tensors(self) -> Tensors:
        """The weights, by Hugging Face's names."""
        config, rng = self.settings(), np.random.default_rng(self.seed)
        width, inner = config["d_model"], config["encoder_ffn_dim"]

        def normal(*shape: int, scale: float = 0.3) -> NDArray[np.float32]:
            return rng.normal(0, scale, shape).astype(np.float32)

        found: Tensors = {}

        def linear(name: str, n_out: int, n_in: int) -> None:
            bias = normal(n_out) if self.bias else np.zeros(n_out, np.float32)
            found[f"{name}.weight"], found[f"{name}.bias"] = normal(n_out, n_in), bias

        for side in "encoder", "decoder":
            for i in range(config[f"{side}_layers"]):
                layer = f"model.{side}.layers.{i}"
                kinds = ["self_attn", *(["encoder_attn"] if side == "decoder" else [])]
                for kind in kinds:
                    for part in "q", "k", "v", "out":
                        linear(f"{layer}.{kind}.{part}_proj", width, width)
                linear(f"{layer}.fc1", inner, width)
                linear(f"{layer}.fc2", width, inner)
                for norm in *(f"{kind}_layer_norm" for kind in kinds), "final_layer_norm":
                    found[f"{layer}.{norm}.weight"] = 1 + normal(width)
                    found[f"{layer}.{norm}.bias"] = normal(width)
        pad, size = config["pad_token_id"], config["vocab_size"]
        names = ["shared"] if self.shared else ["encoder.embed_tokens", "decoder.embed_tokens"]
        for name in names:
            table = normal(size, width, scale=0.25)
            table[pad] *= self.pad_row
            found[f"model.{name}.weight"] = table
        if self.shared and not self.tied:  # the library then ties nothing
            for side in "encoder", "decoder":
                found[f"model.{side}.embed_tokens.weight"] = found["model.shared.weight"].copy()
        if not self.tied:
            found["lm_head.weight"] = normal(size, width, scale=0.25)
        found["final_logits_bias"] = normal(1, size) if self.bias else np.zeros((1, size), "<f4")
        return found

    def write(self, folder: Path) -> Path:
        """Write the files of Hugging Face."""
        folder.mkdir(parents=True, exist_ok=True)
        for side, name in enumerate(("source", "target")):
            (folder / f"{name}.spm").write_bytes(segmenter(side))
        vocabularies = self.vocabularies()
        write_json(folder / "vocab.json", vocabularies[0])
        if self.separate:
            write_json(folder / "target_vocab.json", vocabularies[1])
        write_json(folder / "config.json", self.settings())
        tokenizer = {
            "source_lang": self.languages[0],
            "target_lang": self.languages[1],
            "separate_vocabs": self.separate,
            "tokenizer_class": "MarianTokenizer",
        }
        write_json(folder / "tokenizer_config.json", tokenizer)
        save_file(self.tensors(), folder / "model.safetensors", {"format": "pt"})
        return folder

    # ---- the original Marian ---------------------------------------------------------------------

    def options(self) -> dict[str, Any]:
        """The options in model.npz."""
        config = self.settings()
        n_rows = config["vocab_size"] - 1
        return {
            "type": "transformer",
            "dim-emb": config["d_model"],
            "dim-vocabs": [n_rows, n_rows],
            "enc-depth": config["encoder_layers"],
            "dec-depth": config["decoder_layers"],
            "transformer-heads": config["encoder_attention_heads"],
            "transformer-dim-ffn": config["encoder_ffn_dim"],
            "transformer-ffn-activation": config["activation_function"],
            "transformer-ffn-depth": 2,
            "transformer-preprocess": "",
            "transformer-postprocess": "dan",
            "transformer-postprocess-emb": "d",
            "transformer-postprocess-top": "",
            "transformer-decoder-autoreg": "self-attention",
            "transformer-no-projection": False,
            "transformer-train-position-embeddings": False,
            "transformer-tied-layers": [],
            "transformer-guided-alignment-layer": "last",
            "tied-embeddings": self.tied,
            "tied-embeddings-src": self.shared,
            "tied-embeddings-all": self.shared and self.tied,
            "lemma-dim-emb": 0,
            "right-left": False,
            "skip": False,
            "version": "v1.12.0",
        }

    def original_tensors(self) -> Tensors:
        """The tensors of Marian: the inverse of Hugging Face's converter."""
        config, found = self.settings(), Tensors()
        pad = config["pad_token_id"]
        assert pad == config["vocab_size"] - 1, "Marian has no padding"
        for name, tensor in self.tensors().items():
            original = _original_name(name)
            if self.shared and "embed_tokens" in name:
                continue
            if name.endswith(("embed_tokens.weight", "shared.weight")):
                found[original] = tensor[:pad]
            elif name == "final_logits_bias":
                found[original] = tensor[:, :pad]
            elif name == "lm_head.weight":
                found[original] = tensor[:pad].T
            else:
                found[original] = tensor.T if tensor.ndim == 2 else tensor[None]
        return found

    def write_original(self, folder: Path, **options: Any) -> Path:
        """Write the files of Marian; `options` are changes, with "_" for "-"."""
        folder.mkdir(parents=True, exist_ok=True)
        for side, name in enumerate(("source", "target")):
            (folder / f"{name}.spm").write_bytes(segmenter(side))
        names = ["source.vocab.yml", "target.vocab.yml"] if self.separate else ["joint.vocab.yml"]
        for name, vocabulary in zip(names, self.vocabularies(), strict=True):
            lines = [f"{json.dumps(piece)}: {i}\n" for piece, i in vocabulary.items()][:-1]
            (folder / name).write_text("".join(lines), encoding="utf-8")
        changed = self.options() | {key.replace("_", "-"): value for key, value in options.items()}
        write_npz(folder / "model.npz", self.original_tensors(), changed)
        vocabs = f"[/train/{names[0]}, /train/{names[-1]}]"
        (folder / "decoder.yml").write_text(
            f"relative-paths: true\nmodels: [/train/model.npz]\nvocabs: {vocabs}\nbeam-size: 6\n"
        )
        return folder


TOKENS = (">>de<<", ">>fr<<")
ORDERS = {
    "unk first": (("<unk>", "<s>", "</s>"), ("<pad>",)),
    "pad first": (("<pad>", "</s>", "<unk>"), ()),
    "all last": ((), ("<unk>", "<pad>", "</s>")),
}
VARIANTS: dict[str, Marian] = {
    "swish": Marian(),
    "relu": Marian(config={"activation_function": "relu"}),
    "gelu": Marian(config={"activation_function": "gelu"}),
    "no biases": Marian(bias=False),
    "embeddings not scaled": Marian(config={"scale_embedding": False}),
    "more encoder layers": Marian(config={"encoder_layers": 3, "decoder_layers": 1}),
    "more decoder layers": Marian(config={"encoder_layers": 1, "decoder_layers": 2}),
    "one head": Marian(config={f"{s}_attention_heads": 1 for s in ("encoder", "decoder")}),
    "separate vocabularies": Marian(separate=True, shared=False),
    "separate tables": Marian(shared=False),
    "untied output": Marian(tied=False),
    "three tables": Marian(separate=True, shared=False, tied=False),
    "language tokens": Marian(tokens=TOKENS),
    "start is a token": Marian(start="</s>"),
    "start has a vector": Marian(pad_row=True),
    "start of separate tables has a vector": Marian(shared=False, pad_row=True),
    **{name: Marian(order=order) for name, order in ORDERS.items()},
    "pad first, with a vector": Marian(order=ORDERS["pad first"], pad_row=True),
    "separate, pad first": Marian(order=ORDERS["pad first"], separate=True, shared=False),
}


def _original_name(name: str) -> str:
    special = {
        "model.shared.weight": "Wemb",
        "model.encoder.embed_tokens.weight": "encoder_Wemb",
        "model.decoder.embed_tokens.weight": "decoder_Wemb",
        "lm_head.weight": "decoder_ff_logit_out_W",
        "final_logits_bias": "decoder_ff_logit_out_b",
    }
    if name in special:
        return special[name]
    _, side, _, layer, *rest = name.split(".")
    parts = {
        "self_attn": "self",
        "encoder_attn": "context",
        "self_attn_layer_norm": "self_Wo_ln",
        "encoder_attn_layer_norm": "context_Wo_ln",
        "final_layer_norm": "ffn_ffn_ln",
        "fc1": "ffn",
        "fc2": "ffn",
    }
    part, kind = parts[rest[0]], rest[-1]
    if part.endswith("_ln"):
        end = "scale" if kind == "weight" else "bias"
    else:
        end = {"weight": "W", "bias": "b"}[kind] + (rest[1][0] if len(rest) == 3 else rest[0][-1])
    return f"{side}_l{int(layer) + 1}_{part}_{end}"


def pre_norm(marian: Marian) -> tuple[Tensors, dict[str, Any]]:
    """The tensors and the options of a pre-norm model."""
    rng = np.random.default_rng(4)
    tensors = {
        f"{name}_pre" if "_ln_" in name else name: tensor
        for name, tensor in marian.original_tensors().items()
    }
    for side in "encoder", "decoder":
        for part in "scale", "bias":
            tensors[f"{side}_top_ln_{part}"] = rng.normal(size=(1, 32)).astype(np.float32)
    changes = {"preprocess": "n", "postprocess": "da", "postprocess-top": "n"}
    options = {f"transformer-{name}": value for name, value in changes.items()}
    return tensors, marian.options() | options


def write_npz(path: Path, tensors: Tensors, options: dict[str, Any]) -> None:
    """Write tensors with options, as Marian does."""
    lines = (f"{key}: {json.dumps(value)}\n" for key, value in options.items())
    text = np.frombuffer("".join(lines).encode() + b"\0", np.int8)
    rows = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    np.savez(path, **rows, **{"special:model.yml": text})


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON."""
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
