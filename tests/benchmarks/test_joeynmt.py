"""The comparison with JoeyNMT: its vocabulary and its configuration."""

from pathlib import Path
from typing import Any

import pytest

joeynmt: Any = pytest.importorskip(
    "benchmarks.paper.joeynmt", reason="only a checkout has benchmarks"
)
quick: Any = pytest.importorskip("benchmarks.quick")


def test_the_vocabulary_has_all_pieces_except_the_symbols_that_joeynmt_adds(tmp_path: Path) -> None:
    quick.write_data(tmp_path)
    joeynmt.learn_pieces(tmp_path / "tatoeba" / "en-de", tmp_path, 110)
    pieces = (tmp_path / "pieces.txt").read_text().splitlines()
    assert len(pieces) == 110 - len(["<unk>", "<s>", "</s>"]) == len(set(pieces))
    assert not {"<unk>", "<s>", "</s>"} & set(pieces)


def test_the_configuration_is_the_published_one_for_160_000_pairs(tmp_path: Path) -> None:
    config = joeynmt.config_of(tmp_path, tmp_path, 7, 256)
    model, training = config["model"], config["training"]
    assert model["encoder"] == model["decoder"]
    sizes = {key: model["encoder"][key] for key in ("num_layers", "num_heads", "ff_size")}
    assert sizes == {"num_layers": 6, "num_heads": 4, "ff_size": 1024}
    # JoeyNMT's defaults differ between the encoder and the decoder.
    assert model["encoder"]["layer_norm"] == "pre"
    assert config["testing"]["max_output_length"] == 100
    assert (training["epochs"], training["batch_size"], training["scheduling"]) == (
        7,
        4096,
        "plateau",
    )
