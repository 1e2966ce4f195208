"""Held-out lines are found in other text, and their place is named."""

from pathlib import Path

from yakusu.data.corpus import Corpus
from yakusu.pipeline.held_out import HeldOutLines


def test_the_line_of_a_held_out_sentence_is_named(tmp_path: Path) -> None:
    test, dev = tmp_path / "test.en", tmp_path / "dev.tsv"
    test.write_text("one\ntwo\n")
    dev.write_text("source\ttarget\nthree\tdrei\nfour\tvier\n")
    lines = HeldOutLines([test], Corpus(pairs=str(dev)))
    assert lines.find(("", "Two!")) == (1, f"{test}, line 2")
    assert lines.find(("Three.", "tres")) == (0, f"{dev}, line 2")
    assert lines.find(("quatre", "vier")) == (1, f"{dev}, line 3")
    assert lines.find(("source", "target")) is None
