"""Models of the original Marian: the same weights as from Hugging Face's form of them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.export.marians import Marian, pre_norm, sentences, write_npz
from yakusu.data.vocabulary import UNK, TokenizerConfig, learn
from yakusu.export.foreign import own_model
from yakusu.export.hf.reader import read_hf
from yakusu.export.marian import own_columns
from yakusu.export.npz.files import read_yaml
from yakusu.export.npz.reader import read_npz

VARIANTS: dict[str, Any] = {
    "post-norm": Marian(),
    "relu": Marian(config={"activation_function": "relu"}),
    "no biases": Marian(bias=False),
    "depths": Marian(config={"encoder_layers": 3, "decoder_layers": 1}),
    "separate vocabularies": Marian(separate=True, shared=False),
    "separate tables": Marian(shared=False),
    "untied output": Marian(tied=False),
    "three tables": Marian(shared=False, tied=False),
    "language tokens": Marian(tokens=(">>de<<", ">>fr<<")),
    "special ids": Marian(order=(("<unk>", "<s>", "</s>"), ("<pad>",))),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_both_forms_of_a_model_give_the_same_weights(name: str, tmp_path: Path) -> None:
    marian = VARIANTS[name]
    config, weights, tokenizer = own_model(read_npz(marian.write_original(tmp_path / "npz")))
    expected = own_model(read_hf(marian.write(tmp_path / "hf")))
    # Marian's positions are its own; those of its models in the other form are the paper's.
    assert config == expected[0].model_copy(update={"positions": "tensor2tensor"})
    assert weights.keys() == expected[1].keys()
    for key, array in weights.items():
        np.testing.assert_array_equal(array, expected[1][key], err_msg=key)
    assert tokenizer == expected[2]


def test_pre_norm_models_have_a_layer_norm_above_each_stack(tmp_path: Path) -> None:
    folder = Marian().write_original(tmp_path / "npz")
    tensors, options = pre_norm(Marian())
    write_npz(folder / "model.npz", tensors, options)
    config, weights, _ = own_model(read_npz(folder))
    assert config.norm == "pre"
    columns = own_columns(32, halved=True)
    found = weights["decoder_norm.weight"]
    np.testing.assert_array_equal(found, tensors["decoder_top_ln_scale"][0, columns])
    found = weights["encoder.0.residuals.1.norm.bias"]
    np.testing.assert_array_equal(found, tensors["encoder_l1_ffn_ffn_ln_bias_pre"][0, columns])


@pytest.mark.parametrize(
    "option", ["transformer-train-positions", "transformer-train-position-embeddings"]
)
def test_learned_positions_are_those_of_both_sides_and_not_scaled(
    option: str, tmp_path: Path
) -> None:
    folder = Marian(shared=False, separate=True).write_original(tmp_path / "npz")
    marian = Marian(shared=False, separate=True)
    table = np.random.default_rng(3).normal(size=(20, 32)).astype(np.float32)
    tensors = marian.original_tensors() | {"Wpos": table}
    write_npz(folder / "model.npz", tensors, marian.options() | {option: True})
    config, weights, _ = own_model(read_npz(folder))
    assert (config.positions, config.max_positions) == ("learned", 20)
    assert not config.scale_embeddings
    for side in "src", "tgt":
        np.testing.assert_array_equal(weights[f"{side}_embedding.positions.table"], table)


def test_vocabularies_can_be_sentencepiece_models(tmp_path: Path) -> None:
    folder = Marian().write_original(tmp_path / "npz")
    config = TokenizerConfig(vocab_size=200, placeholder_share=0, byte_fallback=False)
    model = learn(sentences(0), config, 1, side="source")
    (folder / "vocab.spm").write_bytes(model.serialized_model_proto())
    (folder / "decoder.yml").write_text("vocabs:\n  - vocab.spm\n  - /models/vocab.spm\n")
    tensors, n = Marian().original_tensors(), model.get_piece_size()
    tensors |= {"Wemb": tensors["Wemb"][:n]}
    tensors["decoder_ff_logit_out_b"] = tensors["decoder_ff_logit_out_b"][:, :n]
    write_npz(folder / "model.npz", tensors, Marian().options() | {"dim-vocabs": [n, n]})
    _, _, tokenizer = own_model(read_npz(folder))
    assert tokenizer.src is tokenizer.tgt and tokenizer.src.table is None
    assert tokenizer.src.proto == model.serialized_model_proto()


def test_pieces_beyond_the_size_of_the_vocabulary_are_not_used(tmp_path: Path) -> None:
    folder = Marian().write_original(tmp_path / "npz")
    with (folder / "joint.vocab.yml").open("a") as file:
        n = len(Marian().vocabularies()[0]) - 1
        file.write(f"one_more: {n}\nanother: {n + 1}\n")
    _, _, tokenizer = own_model(read_npz(folder))
    assert len(tokenizer.tgt) == n and tokenizer.tgt.id_of("one_more") == UNK


LITERAL = {  # keys as they are in vocab.yml, and the piece that Marian reads
    **{key: key for key in ("yes", "No", "null", "~", "NULL", "1_000", "0x1F", "017", ".inf")},
    **{key: key for key in ("1:30", "2020-01-01", "<<", "=", "-", "---", "...", "u:v", "w#x")},
    **{key: key for key in ("a\u0085b", "\u0085s", "t\u0085", "c\u2028d", "i\u0092j", "k\x7fl")},
    **{key: key for key in ("\ufeffz", "\u00a0", "\ufdd0", "\U0001ffff")},
    "'m''n'": "m'n",
    '"e\\u0085f"': "e\u0085f",
    '"g\u0085h"': "g\u0085h",
    '"\\x41\\t\\""': 'A\t"',
    '"q\\/r"': "q/r",
    '"\\U0001F600"': "\U0001f600",
}


@pytest.mark.parametrize("first", ["", "\ufeff", "%YAML 1.2\n---\n"])
def test_a_vocabulary_is_read_as_strings_of_yaml_1_2(first: str, tmp_path: Path) -> None:
    lines = [f"{key}: {i}\n" for i, key in enumerate(LITERAL)]
    found = read_yaml((first + "".join(lines)).encode(), tmp_path)
    assert found == {piece: str(i) for i, piece in enumerate(LITERAL.values())}
    flow = (
        "{"
        + ", ".join(f"{json.dumps(piece, ensure_ascii=False)}: {i}" for piece, i in found.items())
        + "}"
    )
    assert read_yaml(flow.encode(), tmp_path) == found


def test_vocabularies_are_found_without_decoder_yml(tmp_path: Path) -> None:
    for marian in Marian(), Marian(separate=True, shared=False):
        folder = marian.write_original(tmp_path / str(marian.separate))
        expected = own_model(read_npz(folder))[2]
        (folder / "decoder.yml").unlink()
        assert own_model(read_npz(folder))[2] == expected
        assert own_model(read_npz(folder / "model.npz"))[2] == expected


def test_the_licence_is_the_first_line_of_its_file(tmp_path: Path) -> None:
    folder = Marian().write_original(tmp_path / "npz")
    assert read_npz(folder).origin.licence == ""
    (folder / "LICENSE").write_text("\nAttribution 4.0 International\n\nMore.\n")
    assert read_npz(folder).origin.licence == "Attribution 4.0 International"
    (folder / "README.md").write_text("---\nlicense: 'mit'\n---\n")
    assert read_npz(folder).origin.licence == "mit"
