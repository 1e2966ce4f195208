"""Vocabularies with any ids and start tokens get yakusu's: eos 0, unk 1, pad last."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.export.marians import Marian, write_json
from yakusu.errors import ModelError
from yakusu.export.foreign import own_model
from yakusu.export.hf.reader import read_hf
from yakusu.export.marian import own_columns

ORDERS = {
    "usual": (("</s>", "<unk>"), ("<pad>",)),
    "pad first": (("<pad>", "</s>", "<unk>"), ()),
    "unk first": (("<unk>", "<s>", "</s>"), ("<pad>",)),
    "all last": ((), ("<pad>", "<unk>", "</s>")),
}
COLUMNS = own_columns(32, halved=True)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("separate", [False, True])
def test_each_piece_keeps_its_vector_and_its_bias(
    order: str, separate: bool, tmp_path: Path
) -> None:
    marian = Marian(order=ORDERS[order], separate=separate, shared=not separate)
    config, weights, tokenizer = own_model(read_hf(marian.write(tmp_path / "hf")))
    tensors, vocabularies = marian.tensors(), marian.vocabularies()
    names = ("encoder.embed_tokens", "decoder.embed_tokens") if separate else ("shared",) * 2
    tables = ("src_table", "tgt_table") if separate else ("tgt_table",) * 2
    for side, table, name, vocabulary in zip(
        (tokenizer.src, tokenizer.tgt),
        tables,
        names,
        (vocabularies[0], vocabularies[-1]),
        strict=True,
    ):
        assert (side.piece(0), side.piece(1)) == ("</s>", "<unk>")
        pieces = [side.piece(i) for i in range(len(side))]
        assert {*pieces, "<pad>"} == {*vocabulary} and len(pieces) == len(vocabulary) - 1
        rows = [vocabulary[piece] for piece in pieces]
        own = weights[f"{table}.weight"]
        np.testing.assert_array_equal(own[:-1], tensors[f"model.{name}.weight"][rows][:, COLUMNS])
        assert len(own) == len(side) + 1 and not own[-1].any()
    np.testing.assert_array_equal(weights["output_bias"], tensors["final_logits_bias"][0, rows])
    assert config.start_id is None and config.output_bias and config.biases
    assert config.tied == ("decoder" if separate else "three-way")


def test_the_order_of_other_pieces_is_kept(tmp_path: Path) -> None:
    _, _, tokenizer = own_model(read_hf(Marian(order=ORDERS["all last"]).write(tmp_path / "hf")))
    pieces = [tokenizer.tgt.piece(i) for i in range(2, len(tokenizer.tgt))]
    assert pieces == [*Marian().vocabularies()[0]][2:-1]


@pytest.mark.parametrize("shared", [True, False])
def test_a_start_with_a_vector_is_a_token_that_is_never_generated(
    shared: bool, tmp_path: Path
) -> None:
    marian = Marian(shared=shared, pad_row=True)
    config, weights, tokenizer = own_model(read_hf(marian.write(tmp_path / "hf")))
    last = len(tokenizer.tgt) - 1
    assert config.start_id == last and tokenizer.tgt.piece(last) == "<pad>"
    assert weights["output_bias"][last] == -1e9
    name = "model.shared.weight" if shared else "model.decoder.embed_tokens.weight"
    pad = marian.settings()["pad_token_id"]
    own = weights["tgt_table.weight"]
    np.testing.assert_array_equal(own[last], marian.tensors()[name][pad][COLUMNS])
    assert not own[-1].any() and len(own) == last + 2
    assert (tokenizer.src is tokenizer.tgt) is False  # two SentencePiece models
    assert len(tokenizer.src) == len(tokenizer.tgt) - (not shared)


def test_another_start_keeps_its_id(tmp_path: Path) -> None:
    marian = Marian(order=ORDERS["unk first"], start="<s>")
    config, _, tokenizer = own_model(read_hf(marian.write(tmp_path / "hf")))
    assert config.start_id is not None and tokenizer.tgt.piece(config.start_id) == "<s>"
    config, _, _ = own_model(read_hf(Marian(start="</s>").write(tmp_path / "eos")))
    assert config.start_id == 0


@pytest.mark.parametrize(
    ("shared", "tied", "expected"),
    [
        (True, True, "three-way"),
        (False, True, "decoder"),
        (True, False, "none"),
        (False, False, "none"),
    ],
)
def test_tables_that_are_equal_are_tied(
    shared: bool, tied: bool, expected: str, tmp_path: Path
) -> None:
    marian = Marian(shared=shared, tied=tied)
    config, weights, _ = own_model(read_hf(marian.write(tmp_path / "hf")))
    assert config.tied == expected
    if shared and not tied:
        np.testing.assert_array_equal(weights["src_table.weight"], weights["tgt_table.weight"])


def test_biases_that_are_all_zero_are_left_out(tmp_path: Path) -> None:
    config, weights, _ = own_model(read_hf(Marian(bias=False).write(tmp_path / "hf")))
    assert not config.biases and not config.output_bias
    assert not [name for name in weights if name.endswith((".b_qkv", ".b_o", "output_bias"))]


# ---- tokens and rows that a vocabulary lacks -----------------------------------------------------

ADDED = ("<new>", "wörd", ">>is<<")
TABLE, SOURCE_TABLE = "model.shared.weight", "model.encoder.embed_tokens.weight"
SIZES = {TABLE: ("vocab_size", "decoder_vocab_size"), SOURCE_TABLE: ("vocab_size",)}


def resized(folder: Path, table: str, n_rows: int) -> Path:
    """Add tokens to a model, and rows to a table up to a number, as the library does."""
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    added = {token: len(vocabulary) + i for i, token in enumerate(ADDED)}
    write_json(folder / "added_tokens.json", added)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    write_json(folder / "config.json", config | dict.fromkeys(SIZES[table], n_rows))
    tensors = load_file(folder / "model.safetensors")
    more = np.random.default_rng(1).normal(size=(n_rows - len(vocabulary), 32))
    tensors[table] = np.concatenate([tensors[table], more.astype(np.float32)])
    if table == TABLE:
        bias = tensors["final_logits_bias"]  # has no padded rows
        tensors["final_logits_bias"] = np.pad(bias, ((0, 0), (0, len(ADDED))))
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("multiple", [1, 64, 128])
def test_added_tokens_keep_their_vectors_and_padded_rows_are_left_out(
    multiple: int, tmp_path: Path
) -> None:
    n_tokens = len(Marian().vocabularies()[0]) + len(ADDED)
    n_rows = -(-n_tokens // multiple) * multiple
    folder = resized(Marian().write(tmp_path / "hf"), TABLE, n_rows)
    _, weights, tokenizer = own_model(read_hf(folder))
    pieces = [tokenizer.tgt.piece(i) for i in range(len(tokenizer.tgt))]
    assert len(pieces) == n_tokens - 1 and tuple(pieces[-len(ADDED) :]) == ADDED
    assert tokenizer.src.language_tokens == {"is": ">>is<<"}
    theirs = load_file(folder / "model.safetensors")[TABLE]
    rows = theirs[n_tokens - len(ADDED) : n_tokens, COLUMNS]
    own = weights["tgt_table.weight"]
    np.testing.assert_array_equal(own[-1 - len(ADDED) : -1], rows)
    assert len(own) == n_tokens and len(weights["output_bias"]) == len(pieces)


def test_a_side_that_was_not_resized_has_no_added_tokens(tmp_path: Path) -> None:
    marian = Marian(separate=True, shared=False)
    n_old = len(marian.vocabularies()[0])
    folder = resized(marian.write(tmp_path / "hf"), SOURCE_TABLE, n_old + len(ADDED))
    _, weights, tokenizer = own_model(read_hf(folder))
    assert len(tokenizer.src) == n_old - 1 + len(ADDED) and len(tokenizer.tgt) == n_old - 1
    assert len(weights["src_table.weight"]) == len(weights["tgt_table.weight"]) + len(ADDED)


@pytest.mark.parametrize("n_rows", [321, 832])
def test_other_numbers_of_rows_belong_to_another_vocabulary(n_rows: int, tmp_path: Path) -> None:
    folder = resized(Marian().write(tmp_path / "hf"), TABLE, n_rows)
    with pytest.raises(ModelError, match=f"has 319 tokens and the model {n_rows} embeddings"):
        own_model(read_hf(folder))
