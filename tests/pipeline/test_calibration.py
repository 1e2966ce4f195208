"""The calibration of the estimated quality, and its place in the model folder."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.phrases import phrases
from yakusu.data.corpus import Corpus
from yakusu.data.lines.config import TextConfig
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError, ModelError
from yakusu.folder import read_json, verify_folder
from yakusu.model.architectures import build
from yakusu.pipeline import calibration
from yakusu.pipeline.calibration import calibrate, calibration_rows, rank_correlation
from yakusu.pipeline.training.average import average
from yakusu.pipeline.training.calibration import calibration_of
from yakusu.recipe import load_recipe
from yakusu.translator import Translator
from yakusu.translator.folder.folder import QUALITY, model_hash
from yakusu.translator.folder.quality import read_calibration
from yakusu.translator.quality import Evidence
from yakusu.weights import from_int8, load_tensors, to_int8

FIXTURES = Path(__file__).parents[1] / "fixtures" / "format-1"


def test_rank_correlation_is_spearmans() -> None:
    assert rank_correlation(np.array([1.0, 5, 3]), np.array([2.0, 90, 4])) == pytest.approx(1)
    assert rank_correlation(np.array([1.0, 2, 3]), np.array([3.0, 2, 1])) == pytest.approx(-1)
    tied = rank_correlation(np.array([1.0, 1, 2, 3]), np.array([1.0, 2, 3, 4]))
    assert tied == pytest.approx(0.9486833)  # of the ranks 0.5 0.5 2 3 and 0 1 2 3
    assert rank_correlation(np.ones(3), np.array([1.0, 2, 3])) == 0


def test_sentences_are_evenly_spaced() -> None:
    assert calibration_rows(3) == [0, 1, 2]
    chosen = calibration_rows(2 * calibration.N_MOST)
    assert chosen == list(range(0, 2 * calibration.N_MOST, 2))


def test_the_fit_finds_the_weights_that_chrf_depends_on() -> None:
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(2000, 4)) * [0.1, 0.1, 0.1, 0.3] + [0.7, 0.5, 0.0, 2.0]
    evidence = [Evidence(*map(float, row)) for row in numbers]
    scores = 50 + 80 * (numbers[:, 0] - 0.7) + 10 * (numbers[:, 3] - 2.0)
    found = calibration._fitted(evidence, scores)
    assert (found.certainty.weight, found.source.weight) == pytest.approx((8, 3), rel=0.05)
    assert (found.neighbours.weight, found.length.weight) == pytest.approx((0, 0), abs=0.2)
    assert found.correlation > 0.999
    assert found.doubtful == 30  # 90% of the estimates are above 30
    values = [found.quality(each).value for each in evidence]
    assert np.abs(values - scores).max() < 1
    assert calibration._fitted(evidence, scores) == found


def test_at_most_a_tenth_of_the_dev_set_is_doubtful() -> None:
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(500, 4)) * 0.1 + [0.7, 0.5, 0.0, 2.0]
    evidence = [Evidence(*map(float, row)) for row in numbers]
    found = calibration._fitted(evidence, 15 + 50 * (numbers[:, 0] - 0.7))
    assert sum(bool(found.quality(each).doubt) for each in evidence) == 50


# ---- folders -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """120 pairs of the language pair of the model."""
    folder = tmp_path_factory.mktemp("dev")
    pairs = phrases("de").train[:120]
    for side, code in enumerate(("en", "de")):
        text = "".join(pair[side] + "\n" for pair in pairs)
        (folder / f"dev.{code}").write_text(text, encoding="utf-8")
    return Corpus(src=str(folder / "dev.en"), tgt=str(folder / "dev.de"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return shutil.copytree(FIXTURES / "transformer", tmp_path / "model")


def test_a_calibration_is_stored_in_the_folder_and_changes_no_hash(
    model: Path, dev: Corpus
) -> None:
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    own_hash = model_hash(model)
    made = calibrate(model, dev)
    verify_folder(model)
    after = {path.name: path.read_bytes() for path in model.iterdir()}
    assert read_calibration(model) == made
    assert Translator.load(model).calibration == made
    assert made.n_sentences == 120
    assert model_hash(model) == own_hash
    assert {name for name in after if before.get(name) != after[name]} == {QUALITY, "manifest.json"}
    stored = after[QUALITY]
    assert calibrate(model, dev) == made
    assert (model / QUALITY).read_bytes() == stored


def test_a_calibration_of_another_version_is_not_used(
    model: Path, dev: Corpus, caplog: pytest.LogCaptureFixture
) -> None:
    calibrate(model, dev)
    content = read_json(model / QUALITY)
    (model / QUALITY).write_text(json.dumps(content | {"colour": 1}), encoding="utf-8")
    assert read_calibration(model) is None
    assert "quality.json is not valid (colour)" in caplog.text


def test_a_dev_set_that_is_too_small_changes_nothing(model: Path, tmp_path: Path) -> None:
    small = Corpus(src=str(tmp_path / "a.en"), tgt=str(tmp_path / "a.de"))
    for path in (small.src, small.tgt):
        Path(path).write_text("Hello.\n" * 99, encoding="utf-8")
    with pytest.raises(DataError, match="99 pairs that are not too long: calibrate with at least"):
        calibrate(model, small)
    assert not (model / QUALITY).exists()


def test_equally_good_translations_calibrate_nothing(
    model: Path, dev: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "sentence_scorer", lambda _: lambda *_: 100.0)
    with pytest.raises(DataError, match="is translated equally well throughout by"):
        calibrate(model, dev)
    assert not (model / QUALITY).exists()


def test_a_parser_is_refused(dev: Corpus) -> None:
    with pytest.raises(ModelError, match="is a parser"):
        calibrate(FIXTURES / "parser", dev)


def test_an_ensemble_has_no_quality(model: Path, dev: Corpus) -> None:
    calibrate(model, dev)
    assert Translator.load(model, ensemble=[model]).calibration is None
    with pytest.raises(ModelError, match="an ensemble has no estimated quality"):
        Translator.load(model, ensemble=[model], text=TextConfig(min_quality=1))


def test_the_end_of_a_training_calibrates_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = shutil.copytree(FIXTURES / "interrupted", tmp_path / "run")
    recipe, tokenizer = load_recipe(run / "recipe.toml"), Tokenizer.load(run / "data")
    network = build(recipe.model, **tokenizer.vocab_sizes)
    (newest,) = (run / "checkpoints").glob("*90")
    stored = to_int8(load_tensors(newest / "model.safetensors"))
    network.load_weights(from_int8(stored))
    assert calibration_of(network, tokenizer, recipe, run / "data") is None  # a small dev set
    monkeypatch.setattr(calibration, "N_LEAST", 2)
    made = calibration_of(network, tokenizer, recipe, run / "data")
    assert made == read_calibration(average(run, last=1))
