"""Receipts: the counted operations, the file, the model card."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from yakusu.data.batches import collate, epoch_steps
from yakusu.data.pairs import Pairs
from yakusu.errors import ModelError
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.receipts.card import documents
from yakusu.pipeline.receipts.facts import flops_per_token
from yakusu.pipeline.receipts.receipt import ExportFacts, read_receipt, verify
from yakusu.training.flops import count_flops

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"


@pytest.mark.parametrize("name", ["transformer", "convolutional"])
def test_operations_per_token_match_a_count_over_the_whole_epoch(
    name: str,
    tiny: Callable[..., Seq2Seq],
    write_pairs: Callable[..., Pairs],
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(1)
    lengths = rng.poisson(12, size=200) + 1
    src, tgt = [[2] * n for n in lengths], [[2] * (n + rng.poisson(2)) for n in lengths]
    pairs, model = write_pairs(tmp_path, src, tgt), tiny(name)
    epoch = epoch_steps(pairs, step_tokens=400, batch_tokens=200, seed=1, epoch=0)
    pads = {"src_pad": model.src_pad, "tgt_pad": model.tgt_pad}
    batches = (collate(pairs, batch, **pads) for step in epoch for batch in step)
    true = count_flops(model, batches) / int(pairs.tgt.lengths.sum())
    counted = flops_per_token(model, pairs, seed=1, batch_tokens=200)
    assert counted == pytest.approx(true, rel=0.02)


# ---- files


@pytest.mark.parametrize(
    "name", ["transformer", "variant", "recurrent", "convolutional", "parser", "codes", "integers"]
)
def test_a_receipt_of_version_0_1_keeps_every_fact(name: str) -> None:
    text = (FILES / name / "receipt.json").read_text()
    written = json.loads(documents(read_receipt(FILES / name))["receipt.json"])
    assert written.pop("version") == 1
    expected = json.loads(text)
    for corpus in ("train", "extra", "dev"):  # "tsv" is named "pairs" now, and there are more keys
        own, old = written["recipe"]["data"][corpus], expected["recipe"]["data"][corpus]
        written["recipe"]["data"][corpus] = {
            key: own["pairs" if key == "tsv" else key] for key in old
        }
    for section in (
        "data",
        "search",
        "tokenizer",
        "filters",
        "batches",
        "model",
        "training",
    ):  # have more settings now
        own, old = written["recipe"][section], expected["recipe"][section]
        written["recipe"][section] = {key: own[key] for key in old}
    assert written["recipe"].pop("parent")["model"] == ""  # later sections
    assert not any(written["recipe"].pop("augmentation").values())
    assert written == expected


def test_a_receipt_is_printed_with_all_its_facts() -> None:
    lines = "\n".join(verify(FILES / "codes"))
    for fact in (
        "input train.src: 1cb9bf417756ee726e0344e70e977bf4b0ae38836cc4f9d6887046d881017db7",
        "trained with yakusu 0.1.0, torch 2.13.0+cpu, on Intel(R) Xeon(R) Processor",
        "150 steps, 45,826 target tokens, 0.0 minutes; 2.36e+09 FLOPs counted, 1.32e+11 by",
        "weights: mean of the checkpoints of steps 100, 150",
        "BLEU = 11.75 (nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0)",
        "compressed from 875c542c174b1f8c58e692d511a15cb9ff51ab37463abc0fa7826370601c3c74",
        "src_table = tgt_table = output_table: 159 vectors x 16 dimensions as 8 codes with K = 4 "
        "(16 bits per vector), 8 vectors unchanged: 7.0 times smaller, 27.09% of the variance lost",
    ):
        assert fact in lines
    integers = "\n".join(verify(FILES / "integers"))
    assert "159 vectors x 16 dimensions as 16 integers (36 bits per vector)" in integers
    assert "all other matrices: 8 bits per weight" in integers


def test_facts_of_a_later_version_are_kept(tmp_path: Path) -> None:
    facts = json.loads((FILES / "codes" / "receipt.json").read_text())
    facts["compressed"]["later"] = {"a": 1}
    (tmp_path / "receipt.json").write_text(json.dumps(facts | {"later": [2]}))
    written = json.loads(documents(read_receipt(tmp_path))["receipt.json"])
    assert written["later"] == [2] and written["compressed"]["later"] == {"a": 1}


def test_a_receipt_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "receipt.json"
    with pytest.raises(ModelError, match=r"receipt\.json does not exist"):
        read_receipt(tmp_path)
    path.write_text('{"seed": 1}')
    with pytest.raises(ModelError, match=r"is not a complete receipt: versions: Field required"):
        read_receipt(tmp_path)
    facts = json.loads((FILES / "codes" / "receipt.json").read_text())
    path.write_text(json.dumps(facts | {"version": 2}))
    with pytest.raises(
        ModelError, match=r"has version 2, but this version of yakusu reads 1: update"
    ):
        read_receipt(tmp_path)


def test_the_card_says_how_to_install_from_the_repository() -> None:
    card = documents(read_receipt(FILES / "codes"))["README.md"]
    assert "pip install yakusu" not in card
    assert "in a clone of its source repository with `pip install .`" in card


def test_the_card_of_a_compressed_model_says_how_it_was_compressed() -> None:
    card = documents(read_receipt(FILES / "codes"))["README.md"]
    assert "## Compressed\n\nThe facts above describe the original model.\n" in card
    assert (
        "- src_table = tgt_table = output_table: 159 vectors x 16 dimensions as 8 codes with K = 4"
        in card
    )
    assert "## Compressed" not in documents(read_receipt(FILES / "parser"))["README.md"]


def test_the_card_of_an_exported_model_says_how_it_was_verified() -> None:
    same, other = {"identical": 100, "ties": 0}, {"identical": 97, "ties": 3}
    verified = {"compared": "logits", "difference": 6.7e-6, "sentences": 100}
    facts = ExportFacts(
        source="0" * 64,
        format="hf",
        library="transformers 5.23.0",
        verified=verified | {"greedy": same, "beam": other, "shipped": 90},
    )
    receipt = read_receipt(FILES / "transformer").model_copy(update={"exported": facts})
    _, _, section = documents(receipt)["README.md"].partition("## Exported")
    assert "to the format hf, as float32" in section
    assert "verified with transformers 5.23.0: logits differ by at most 7e-06" in section
    assert "100 are identical with greedy search and 97 with beam 4" in section
    assert "yakusu translate" not in section  # which cannot read the format
