"""Training from the weights of another model: what it keeps, what it learns, what is recorded."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import yakusu
from yakusu.data.pairs import DataFacts
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import ModelError, RecipeError
from yakusu.pipeline.receipts.receipt import read_receipt
from yakusu.pipeline.training.inherit import kept_pieces
from yakusu.recipe import load_recipe
from yakusu.weights import from_int8, load_tensors, to_int8

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"
PARENT = FILES / "transformer"
LINES = ["the red boat", "a green boat", "the old ferry", "the boat is red", "a ferry sees a boat"]
SHORT = [
    "training.max_steps=2",
    "training.validate_steps=2",
    "training.device=cpu",
    "filters.max_tokens=60",
    "data.hold_out=2",
    "search.max_extra=2",
    "search.beam=1",
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Sixty pairs, and a run folder."""
    src, tgt = tmp_path / "a.en", tmp_path / "a.de"
    lines = [f"{line} {number}" for number in range(12) for line in LINES]
    src.write_text("".join(f"{line}\n" for line in lines))
    tgt.write_text("".join(f"{line[::-1]}\n" for line in lines))
    return {"src": src, "tgt": tgt, "run": tmp_path / "run"}


def weights(folder: Path) -> dict[str, Any]:
    """The weights of a model with 8 bits each, which those that training wrote have already."""
    floats = from_int8(load_tensors(folder / "model.safetensors"))
    return {name: array.numpy() for name, array in from_int8(to_int8(floats)).items()}


def adapted(files: dict[str, Path], *overrides: str, parent: Path = PARENT, **more: Any) -> Path:
    made = yakusu.train("adapt", [*SHORT, *overrides], parent=parent, **files, **more)
    return made.model


def test_a_run_has_the_sizes_and_the_vocabulary_of_its_parent(files: dict[str, Path]) -> None:
    model = adapted(files)
    own, of_parent = (json.loads((each / "config.json").read_text()) for each in (model, PARENT))
    sizes = ("n_layers", "d_model", "d_ff", "n_heads", "tied")
    assert {key: own["model"][key] for key in sizes} == {
        key: of_parent["model"][key] for key in sizes
    }
    assert Tokenizer.load(model) == Tokenizer.load(PARENT)


def test_training_starts_from_the_weights_of_the_parent(files: dict[str, Path]) -> None:
    before, after = weights(PARENT), weights(adapted(files, "training.lr_scale=1e-6"))
    assert before.keys() == after.keys()
    assert all(np.allclose(before[name], after[name], atol=1e-3) for name in before)
    assert any((before[name] != after[name]).any() for name in before)


def test_frozen_parts_keep_their_weights(files: dict[str, Path]) -> None:
    before = weights(PARENT)
    after = weights(adapted(files, 'parent.freeze=["encoder", "embeddings"]'))
    changed = {name for name in before if (before[name] != after[name]).any()}
    assert changed == {name for name in before if name.startswith("decoder")}


def test_a_run_with_frozen_parts_can_be_resumed(files: dict[str, Path], tmp_path: Path) -> None:
    frozen = 'parent.freeze=["decoder"]'
    whole = weights(adapted(files, frozen, "training.max_steps=4"))
    other = {**files, "run": tmp_path / "other"}
    adapted(other, frozen)
    resumed = weights(adapted(other, frozen, "training.max_steps=4"))
    assert all(np.array_equal(whole[name], resumed[name]) for name in whole)


def test_a_new_vocabulary_keeps_the_vectors_of_shared_pieces(files: dict[str, Path]) -> None:
    learn = ['parent.vocabulary="learn"', "tokenizer.vocab_size=300", "training.lr_scale=1e-9"]
    model = adapted(files, *learn)
    old, new = Tokenizer.load(PARENT).src, Tokenizer.load(model).src
    tables = weights(PARENT)["tgt_table.weight"], weights(model)["tgt_table.weight"]
    shared = [i for i in range(2, len(new)) if old.id_of(new.piece(i)) > 1]
    assert 5 < len(shared) < len(new)
    kept = f"{len(shared) + 2} of {len(new)} pieces keep the parent's vectors"  # eos and unknown
    assert kept_pieces(Tokenizer.load(PARENT), Tokenizer.load(model)) == kept
    for i in shared:
        row = old.id_of(new.piece(i))
        assert np.allclose(tables[1][i], tables[0][row], atol=1e-4)


def test_the_receipt_names_the_parent_and_its_hash(files: dict[str, Path]) -> None:
    model = adapted(files)
    manifest = json.loads((PARENT / "manifest.json").read_text())
    digest = manifest["files"]["model.safetensors"]["sha256"]
    parent = read_receipt(model).recipe.parent
    assert (parent.model, parent.sha256) == (str(PARENT), digest)
    assert f"started from {PARENT}: {digest}" in yakusu.verify(model)
    assert "| started from | transformer, weights" in (model / "README.md").read_text()


def test_a_run_is_not_resumed_from_a_parent_that_has_changed(
    files: dict[str, Path], tmp_path: Path
) -> None:
    parent = shutil.copytree(PARENT, tmp_path / "parent")
    adapted(files, parent=parent)
    shutil.rmtree(parent)
    shutil.copytree(FILES / "variant", parent)
    with pytest.raises(yakusu.RunError, match=r"parent has changed since .*run started"):
        adapted(files, parent=parent)


def test_the_share_of_mixed_pairs_sets_their_weight(files: dict[str, Path], tmp_path: Path) -> None:
    old = tmp_path / "old.en", tmp_path / "old.de"
    for path, text in zip(old, ("the ferry", "yrref eht"), strict=True):
        path.write_text("".join(f"{text} {i}\n" for i in range(1000, 1030)))
    extra = [f'data.extra.src="{old[0]}"', f'data.extra.tgt="{old[1]}"']
    adapted(files, *extra, mix=0.25)
    parts = (DataFacts.read(files["run"] / "data").parts or {})["train"]
    assert parts[1].weight * parts[1].n_pairs == pytest.approx(parts[0].n_pairs / 3)


def test_the_corpus_of_the_parent_is_mixed_in_by_default(
    files: dict[str, Path], tmp_path: Path
) -> None:
    first = adapted(files)
    second = {**files, "run": tmp_path / "second"}
    adapted(second, parent=first, mix=0.5)
    extra = load_recipe(tmp_path / "second" / "recipe.toml").data.extra
    assert (extra.src, extra.tgt, extra.share) == (str(files["src"]), str(files["tgt"]), 0.5)


def test_keys_of_a_parent_need_one(files: dict[str, Path]) -> None:
    with pytest.raises(RecipeError, match=r"set parent\.model \(--from\)"):
        yakusu.train("tiny", [*SHORT, "parent.mix=0.5"], **files)


def test_the_recipe_adapt_needs_a_parent(files: dict[str, Path]) -> None:
    with pytest.raises(RecipeError, match="trains a model further: add --from MODEL"):
        yakusu.train("adapt", SHORT, **files)


def test_something_must_be_left_to_train(files: dict[str, Path]) -> None:
    with pytest.raises(RecipeError, match="leaves nothing to train"):
        adapted(files, 'parent.freeze=["encoder", "decoder", "embeddings"]')


def test_languages_that_the_files_do_not_name_are_those_of_the_parent(
    files: dict[str, Path],
) -> None:
    unnamed = {"src": files["src"].rename(files["src"].with_name("source"))}
    unnamed["tgt"] = files["tgt"].rename(files["tgt"].with_name("target"))
    config = json.loads((adapted({**files, **unnamed}) / "config.json").read_text())
    assert (config["source_language"], config["target_language"]) == ("en", "de")


def test_what_an_imported_parent_covers_stays_unknown(
    files: dict[str, Path], tmp_path: Path
) -> None:
    parent = shutil.copytree(PARENT, tmp_path / "parent")  # from before coverage.json
    assert Tokenizer.load(adapted(files, parent=parent)).coverage is None
    own = {**files, "run": tmp_path / "own"}
    learned = adapted(own, 'parent.vocabulary="learn"', "tokenizer.vocab_size=300", parent=parent)
    assert Tokenizer.load(learned).coverage is not None


def test_a_parent_must_be_a_transformer(files: dict[str, Path]) -> None:
    with pytest.raises(ModelError, match="is a recurrent model: start from a Transformer"):
        adapted(files, parent=FILES / "recurrent")
    assert not files["run"].exists()
