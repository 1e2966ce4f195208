"""Held-out lines are found in other text, and their place is named."""

from pathlib import Path

import pytest

from yakusu.data.corpus import Corpus
from yakusu.folder import sha256
from yakusu.pipeline.receipts.receipt import Receipt
from yakusu.pipeline.synthetic.held_out import HeldOutLines, dev_set_of
from yakusu.recipe import load_recipe


def test_the_line_of_a_held_out_sentence_is_named(tmp_path: Path) -> None:
    test, dev = tmp_path / "test.en", tmp_path / "dev.tsv"
    test.write_text("one\ntwo\n")
    dev.write_text("source\ttarget\nthree\tdrei\nfour\tvier\n")
    lines = HeldOutLines([test], [Corpus(pairs=str(dev))])
    assert lines.find(("", "Two!")) == (1, f"{test}, line 2")
    assert lines.find(("Three.", "tres")) == (0, f"{dev}, line 2")
    assert lines.find(("quatre", "vier")) == (1, f"{dev}, line 3")
    assert lines.find(("source", "target")) is None


def test_a_file_with_both_sides_is_read_as_pairs(tmp_path: Path) -> None:
    test = tmp_path / "test.tsv"
    test.write_text("three\tdrei\nfour\tvier\n")
    lines = HeldOutLines([test], [])
    assert lines.find(("Four.", "")) == (0, f"{test}, line 2")
    assert lines.find(("Drei", "")) == (0, f"{test}, line 1")


def test_the_dev_set_that_a_receipt_names_is_used_unless_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pairs = tmp_path / "dev.tsv"
    pairs.write_text("three\tdrei\n")
    recipe = load_recipe("tiny", [f'data.dev.pairs="{pairs}"'])
    receipt = Receipt.model_construct(recipe=recipe, inputs={"dev.pairs": sha256(pairs)})
    monkeypatch.setattr("yakusu.pipeline.synthetic.held_out.read_facts", lambda model: receipt)
    assert dev_set_of(tmp_path / "model") == recipe.data.dev
    assert not caplog.messages
    pairs.write_text("three\ttrois\n")
    assert not dev_set_of(tmp_path / "model")
    assert caplog.messages == [
        f"the dev set of {tmp_path}/model is not available, so its lines are not held out: name "
        "its files with --held-out"
    ]
