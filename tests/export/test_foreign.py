"""Vocabularies with any ids and start tokens get yakusu's: eos 0, unk 1, pad last."""

from pathlib import Path

import numpy as np
import pytest

from tests.export.marians import Marian
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
