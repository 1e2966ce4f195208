"""Back-translation: tagged synthetic sources, filtered by a round trip, whatever interrupts it."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.chrf import CHRF

import yakusu
from tests.pipeline.synthetic import (
    KEPT,
    LINES,
    contents,
    interrupt_at,
    pairs_of,
    whole_lines,
    write,
)
from tests.translators import save, untrained
from yakusu.data.pairs import Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError, ModelError, RecipeError, RunError
from yakusu.folder import sha256
from yakusu.pipeline.synthetic import corpus as synthetic
from yakusu.pipeline.synthetic import models as synthetic_models
from yakusu.pipeline.synthetic.backtranslate import BacktranslateConfig, Backtranslated
from yakusu.recipe import load_recipe

Backtranslate = Callable[..., Backtranslated]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model from de to en, whose texts are in de, and one of the other direction."""
    folder = tmp_path_factory.mktemp("models")
    both = {"source_language": "en", "target_language": "de"}
    reverse = save(folder / "reverse", untrained("bytes"))
    return reverse, save(folder / "forward", untrained("bytes", beam=3), **both)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "SHARD_LINES", 3)


@pytest.fixture
def backtranslate(models: tuple[Path, Path], tmp_path: Path) -> Backtranslate:
    """Writes a corpus: backtranslate(options=..., **fields of BacktranslateConfig)."""
    tgt = write(tmp_path / "mono.de", LINES)

    def run(options: yakusu.SearchConfig | None = None, **config: Any) -> Backtranslated:
        settings = BacktranslateConfig(**config)
        return yakusu.backtranslate(
            models[0], tgt, out=tmp_path / "bt", options=options, config=settings
        )

    return run


def test_each_text_gets_a_tagged_source(
    backtranslate: Backtranslate, models: tuple[Path, Path]
) -> None:
    made = backtranslate()
    sources = whole_lines(models[0]).translate(KEPT)
    assert pairs_of(made.corpus) == [
        (f"<BT> {source}", line) for source, line in zip(sources, KEPT, strict=True)
    ]
    assert made.facts.counts == {"read": 9, "empty": 1, "duplicate": 1, "kept": 7}


def test_the_tag_is_a_choice(backtranslate: Backtranslate, models: tuple[Path, Path]) -> None:
    made = backtranslate(tag="")
    assert [src for src, _ in pairs_of(made.corpus)] == whole_lines(models[0]).translate(KEPT)


def test_a_round_trip_below_the_threshold_drops_a_pair(
    backtranslate: Backtranslate, models: tuple[Path, Path]
) -> None:
    reverse, forward = map(whole_lines, models)
    sources = reverse.translate(KEPT)
    chrf = CHRF()
    scores = [
        chrf.sentence_score(back, [line]).score
        for back, line in zip(forward.translate(sources), KEPT, strict=True)
    ]
    threshold = sorted(scores)[3]
    made = backtranslate(forward=str(models[1]), min_chrf=threshold)
    expected = [line for line, score in zip(KEPT, scores, strict=True) if score >= threshold]
    assert [tgt for _, tgt in pairs_of(made.corpus)] == expected
    assert 0 < len(expected) < len(KEPT)
    assert made.facts.counts["round trip"] == len(KEPT) - len(expected)


def test_a_source_that_equals_its_target_is_dropped(
    backtranslate: Backtranslate, tmp_path: Path
) -> None:
    write(tmp_path / "mono.de", ["The end.", "...", "42"])  # no letters: nothing to translate
    made = backtranslate()
    assert [tgt for _, tgt in pairs_of(made.corpus)] == ["The end."]
    assert made.facts.counts["identical"] == 2


@pytest.mark.parametrize("number", range(0, 32, 4))
def test_an_interrupted_command_is_resumed_with_the_same_bytes(
    backtranslate: Backtranslate,
    models: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    number: int,
) -> None:
    def command() -> Backtranslated:
        return backtranslate(forward=str(models[1]), min_chrf=5.0)

    command()
    (tmp_path / "bt").rename(tmp_path / "whole")
    assert interrupt_at(number, monkeypatch, command)
    command()
    assert contents(tmp_path / "bt") == contents(tmp_path / "whole")


def test_another_threshold_needs_no_translation(
    backtranslate: Backtranslate,
    models: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    message = (
        r"no pair is left \(9 read, 1 empty, 1 duplicate, 7 round trip\): lower --min-chrf, or"
    )
    with pytest.raises(DataError, match=message):
        backtranslate(forward=str(models[1]), min_chrf=100.0)
    backtranslate(forward=str(models[1]), min_chrf=1.0)
    message = r"bt/corpus was made with other settings \(options.min_chrf: 1.0, now 0.0\): .*or del"
    with pytest.raises(RunError, match=message):
        backtranslate(forward=str(models[1]), min_chrf=0.0)
    (tmp_path / "bt" / "corpus").rename(tmp_path / "strict")
    monkeypatch.setattr(synthetic_models, "read_parts", None)  # nothing is left to translate
    assert backtranslate(forward=str(models[1]), min_chrf=0.0).facts.counts["kept"] == len(KEPT)


def test_the_receipt_names_the_models_and_the_text(
    backtranslate: Backtranslate, models: tuple[Path, Path], tmp_path: Path
) -> None:
    making = backtranslate(forward=str(models[1]), min_chrf=0.0).facts.making
    weights = [sha256(model / "model.safetensors") for model in models]
    assert making.models == dict(zip(("reverse", "forward"), weights, strict=True))
    assert making.inputs == {"tgt": sha256(tmp_path / "mono.de")}
    lines = yakusu.verify(tmp_path / "bt" / "corpus")
    assert f"reverse: {weights[0]}" in lines


def test_held_out_text_is_refused(backtranslate: Backtranslate, tmp_path: Path) -> None:
    test = write(tmp_path / "test.de", ["the end"])
    with pytest.raises(
        DataError, match=r"mono.de, line 9, is also in .*test.de, line 1 \(1 such line\)"
    ):
        backtranslate(held_out=(str(test),))
    made = backtranslate(held_out=(str(test),), drop_held_out=True)
    assert "The end." not in {tgt for _, tgt in pairs_of(made.corpus)}


def test_held_out_text_stays_left_out_after_an_interruption(
    backtranslate: Backtranslate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    held_out = (str(write(tmp_path / "test.de", ["the end"])),)
    drop = partial(backtranslate, held_out=held_out, drop_held_out=True)
    assert interrupt_at(16, monkeypatch, drop)
    message = r"bt/parts/texts was made with other settings \(drop_held_out: true, now false\)"
    with pytest.raises(RunError, match=message):
        backtranslate(held_out=held_out)
    assert drop().facts.counts["held out"] == 1


def test_samples_do_not_change_when_they_are_drawn_again(
    backtranslate: Backtranslate, tmp_path: Path
) -> None:
    options = yakusu.SearchConfig(sampling=yakusu.SamplingConfig(seed=5))
    made = backtranslate(options)
    before = contents(made.corpus)
    (tmp_path / "bt").rename(tmp_path / "earlier")
    assert contents(backtranslate(options).corpus) == before
    assert contents(tmp_path / "earlier" / "corpus") == before


def test_a_forward_model_of_another_language_is_refused(
    backtranslate: Backtranslate, models: tuple[Path, Path]
) -> None:
    with pytest.raises(
        ModelError, match=r"source language of the synthetic text is 'en', but .*reverse"
    ):
        backtranslate(forward=str(models[0]))


def test_training_reads_the_tag_as_one_piece(backtranslate: Backtranslate, tmp_path: Path) -> None:
    made = backtranslate()
    words = ["the", "red", "boat", "sees", "two", "old", "trains", "here"]
    lines = [f"{a} {b} {c}" for a in words for b in words for c in words[:3] if a != b]
    src, tgt = (write(tmp_path / f"real.{code}", lines) for code in ("en", "de"))
    settings = [f"data.extra.{side}={made.corpus}/train.{side}" for side in ("src", "tgt")]
    settings += ['tokenizer.symbols=["<BT>"]', "tokenizer.vocab_size=330"]
    settings += ["filters.max_ratio=100", "filters.drop_identical=false"]
    recipe = load_recipe("tiny", settings, src=src, tgt=tgt, run=tmp_path / "run")
    prepared = yakusu.prepare(recipe)
    tokenizer, pairs = Tokenizer.load(prepared.folder), Pairs.open(prepared.folder, "train")
    tag = tokenizer.src.id_of("<BT>")
    tagged = [i for i in range(len(pairs)) if tag in pairs.src[i].tolist()[:2]]
    assert len(tagged) == prepared.n_extra == len(KEPT)
    assert sum(pairs.src[i].tolist().count(tag) for i in range(len(pairs))) == len(KEPT)


def test_the_number_of_translations_in_a_model_is_not_used(
    backtranslate: Backtranslate, models: tuple[Path, Path], tmp_path: Path
) -> None:
    changes = {"source_language": "en", "target_language": "de"}
    search = yakusu.SearchConfig(n_best=2, max_extra=3)
    forward = save(tmp_path / "several", untrained("bytes"), search=search, **changes)
    made = backtranslate(forward=str(forward), min_chrf=0.0)
    assert made.facts.counts["kept"] == len(KEPT)


def test_text_in_the_language_that_the_model_writes_is_refused(
    models: tuple[Path, Path], tmp_path: Path
) -> None:
    tgt = write(tmp_path / "mono.de", LINES)
    message = r"source language of .*mono.de is 'de', but .*forward translates en-de: use a model"
    with pytest.raises(ModelError, match=message):
        yakusu.backtranslate(models[1], tgt, out=tmp_path / "bt")
    assert not (tmp_path / "bt").exists()


@pytest.mark.parametrize("name", ["mono.de", "mono.tmx", ""])
def test_a_text_that_cannot_be_read_is_refused_before_anything_is_written(
    models: tuple[Path, Path], tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    message = {
        "mono.de": f"{path} does not exist: check the path",
        "mono.tmx": f"{path} contains both sides (TMX): copy the sentences of the target language "
        "to a text file",
        "": f"{path} is a folder: specify a text file",
    }[name]
    with pytest.raises(DataError) as error:
        yakusu.backtranslate(models[0], path, out=tmp_path / "bt")
    assert str(error.value) == message
    assert not (tmp_path / "bt").exists()


def test_a_pipe_is_refused(models: tuple[Path, Path], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mono.de")
    with pytest.raises(DataError, match=r"mono.de can be read only once: write it to a file first"):
        yakusu.backtranslate(models[0], tmp_path / "mono.de", out=tmp_path / "bt")


@pytest.mark.parametrize("tag", ["<B T>", "<BT>\n", " "])
def test_a_tag_with_white_space_is_refused(tag: str) -> None:
    with pytest.raises(RecipeError, match="contains white space: choose one without"):
        BacktranslateConfig(tag=tag)
