"""The verbs for word vectors: files, results and errors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pydantic import TypeAdapter

import yakusu
from yakusu.compress.config import CompressConfig
from yakusu.errors import DataError, ModelError, RecipeError
from yakusu.vectors.file import open_compressed
from yakusu.vectors.verbs import Facts, Report

Floats = npt.NDArray[np.float32]
V, H = 1200, 6
WORDS = ["king", "queen", "man", "woman", *(f"w{i}" for i in range(4, V))]


@pytest.fixture(scope="module")
def vectors() -> Floats:
    rng = np.random.default_rng(21)
    mixed = rng.standard_normal((V, H)) @ rng.standard_normal((H, H)) + 0.2
    return mixed.astype(np.float32)


@pytest.fixture
def dense(vectors: Floats) -> yakusu.vectors.WordVectors:
    return yakusu.vectors.WordVectors(WORDS, vectors)


INTEGERS = CompressConfig(method="integers", step=0.3)
CONFIGS = [
    CompressConfig(m=4, k=9),
    INTEGERS,
    CompressConfig(method="integers", step=0.2, tiers=(100,)),
]


@pytest.mark.parametrize("config", CONFIGS, ids=["codes", "integers", "tiers"])
def test_the_report_is_measured_on_the_file(
    dense: yakusu.vectors.WordVectors, tmp_path: Path, config: CompressConfig
) -> None:
    out = tmp_path / "v.ykv"
    report = yakusu.vectors.compress(dense, out, config=config)
    made, floats = yakusu.vectors.open_compressed(out), dense.vectors.astype(np.float64)
    error = np.square(floats - made.dense()).sum()
    assert report.loss == pytest.approx(error / V, rel=1e-6)
    variance = np.square(floats - floats.mean(axis=0)).sum()
    assert report.share_lost == pytest.approx(error / variance, rel=1e-6)
    assert [(band.first, band.last) for band in report.recall] == [(1, 1000), (1001, V)]
    assert all(0.2 < band.recall < 1 for band in report.recall)
    assert report.facts == yakusu.vectors.inspect(out) and report.settings == config
    assert report.facts.file_bytes == out.stat().st_size
    assert report.facts.dense_bytes == 4 * V * H


def assert_sizes_are_stored(facts: Facts, path: Path) -> None:
    words = open_compressed(path).words.stored.nbytes
    assert facts.file_ratio == 4 * V * H / path.stat().st_size
    without_words = 4 * V * H / facts.ratio
    assert 0 <= path.stat().st_size - words - without_words <= 128  # their entry in the header
    assert facts.file_ratio < facts.ratio < facts.codes_ratio


def test_the_facts_of_codes_follow_the_paper(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    report = yakusu.vectors.compress(dense, tmp_path / "v", config=CompressConfig(m=4, k=9))
    facts = report.facts
    assert (facts.n_words, facts.width, facts.n_components, facts.n_codes) == (V, H, 4, 9)
    assert facts.bits == pytest.approx(4 * np.log2(9), rel=0.01)
    size = V * 4 * np.log2(9) + 32 * (4 * H + 4 * 9)
    assert facts.codes_ratio == pytest.approx(32 * V * H / size)
    assert_sizes_are_stored(facts, tmp_path / "v")


def test_the_facts_of_integers_are_measured_in_bytes(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    facts = yakusu.vectors.compress(dense, tmp_path / "v", config=INTEGERS).facts
    made = yakusu.vectors.open_compressed(tmp_path / "v")
    stored = sum(made.arrays[name].nbytes for name in made.arrays if name not in ("mean", "basis"))
    assert facts.n_codes is None and facts.bits == 8 * stored / V
    assert facts.codes_ratio == pytest.approx(4 * V * H / (stored + 4 * (H * H + H)))
    assert_sizes_are_stored(facts, tmp_path / "v")


@pytest.mark.parametrize("method", ["codes", "integers"])
@pytest.mark.parametrize("budget", [{"bits": 14}, {"ratio": 8}, {"max_loss": 0.03}], ids=str)
def test_the_file_meets_a_budget(
    dense: yakusu.vectors.WordVectors, tmp_path: Path, method: Any, budget: dict[str, float]
) -> None:
    config = CompressConfig(method=method, **budget)
    report = yakusu.vectors.compress(dense, tmp_path / "v", config=config)
    assert report.facts.bits <= (config.bits or 1000)
    assert report.facts.ratio >= (config.ratio or 0) * (1 - 1e-9)
    assert report.share_lost <= (config.max_loss or 1) * (1 + 1e-6)


def test_report_and_picture_are_written_next_to_the_file(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    report = yakusu.vectors.compress(dense, tmp_path / "v.ykv")
    assert {path.name for path in tmp_path.iterdir()} == {"v.ykv", "v.ykv.json", "v.ykv.png"}
    written = json.loads((tmp_path / "v.ykv.json").read_text())
    assert TypeAdapter(Report).validate_python(written) == report
    assert (tmp_path / "v.ykv.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_vectors_give_the_same_three_files(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        yakusu.vectors.compress(dense, tmp_path / name)
    for end in ("", ".json", ".png"):
        assert (tmp_path / f"a{end}").read_bytes() == (tmp_path / f"b{end}").read_bytes()


def test_a_text_file_is_compressed_like_its_vectors(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    rows = zip(dense.words, dense.vectors, strict=True)
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in rows]
    (tmp_path / "v.txt").write_text("".join(lines))
    one = yakusu.vectors.compress(tmp_path / "v.txt", tmp_path / "one")
    assert one.loss == yakusu.vectors.compress(dense, tmp_path / "two").loss
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_weights_sort_the_words_by_frequency(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    weights = np.random.default_rng(1).integers(1, 50, V)
    (tmp_path / "w").write_text("\n".join(map(str, weights)) + "\n")
    config = CompressConfig(method="integers", step=1e-3, tiers=(30,))
    yakusu.vectors.compress(dense, tmp_path / "v", config=config, weights=tmp_path / "w")
    made = yakusu.vectors.open_compressed(tmp_path / "v")
    order = sorted(range(V), key=lambda i: (-weights[i], i))
    assert list(made) == [WORDS[i] for i in order]
    np.testing.assert_allclose(made.dense(), dense.vectors[order], atol=0.02)
    assert (made.dense_codes()[30:] % 2 == 0).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n2\n", "w has 2 numbers for 1200 words: give one number per word"),
        ("1\nmany\n", "w does not contain one number per line"),
        ("1\n" * 600 + "nan\n" + "1\n" * 599, "w, line 601: nan is not a frequency"),
        ("-1\n" + "1\n" * 1199, "w, line 1: -1.0 is not a frequency"),
    ],
)
def test_invalid_weights_are_rejected(
    dense: yakusu.vectors.WordVectors, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "w").write_text(text)
    with pytest.raises(DataError, match=message):
        yakusu.vectors.compress(dense, tmp_path / "v", weights=tmp_path / "w")
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize("config", [CompressConfig(), INTEGERS], ids=["codes", "integers"])
@pytest.mark.parametrize("n_words", [1, 5])
def test_equal_vectors_are_rejected_before_writing(
    tmp_path: Path, config: CompressConfig, n_words: int
) -> None:
    same = yakusu.vectors.WordVectors(WORDS[:n_words], np.ones((n_words, 3), dtype=np.float32))
    with pytest.raises(DataError, match=f"all {n_words} vectors are equal"):
        yakusu.vectors.compress(same, tmp_path / "v", config=config)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "config",
    [CompressConfig(), CompressConfig(method="integers", step=0.1)],
    ids=["codes", "integers"],
)
def test_two_words_can_be_compressed(tmp_path: Path, config: CompressConfig) -> None:
    two = yakusu.vectors.WordVectors(["a", "b"], np.array([[1, 2], [3, 5]], dtype=np.float32))
    report = yakusu.vectors.compress(two, tmp_path / "v", config=config)
    assert report.share_lost < 0.01 and report.recall[0].recall == 1


def test_a_target_that_cannot_be_written_is_rejected_before_reading(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for out, message in (
        (tmp_path / "none" / "v", "none does not exist: create it or choose another one"),
        (tmp_path / "notes.txt", "notes.txt exists and was not written by yakusu: choose another"),
    ):
        with pytest.raises(DataError, match=message):
            yakusu.vectors.compress("no such file", out)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    for _ in range(2):  # a file of vectors may be replaced
        yakusu.vectors.compress(dense, tmp_path / "v")


@pytest.mark.parametrize("setting", [{"exact": 5}, {"int8": True}, {"stacks": ("encoder",)}])
def test_settings_of_translators_are_rejected(tmp_path: Path, setting: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match="has no effect on word vectors: leave out compress"):
        yakusu.vectors.compress("v.txt", tmp_path / "v", config=CompressConfig(**setting))


# ---- neighbours ----------------------------------------------------------------------------------


def test_neighbours_match_the_opened_file(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    yakusu.vectors.compress(dense, tmp_path / "v")
    made = yakusu.vectors.open_compressed(tmp_path / "v")
    assert yakusu.vectors.neighbours(tmp_path / "v", "king", 3) == made.most_similar("king", topn=3)
    with pytest.raises(DataError, match=r"v: 'King' has no vector: did you mean 'king'\?"):
        yakusu.vectors.neighbours(tmp_path / "v", "King")


def test_every_verb_rejects_other_files(tmp_path: Path) -> None:
    (tmp_path / "v").write_text("king 1 2\n" * 50)
    for verb in (
        yakusu.vectors.inspect,
        lambda path: yakusu.vectors.evaluate(path, []),
        lambda path: yakusu.vectors.neighbours(path, "king"),
    ):
        with pytest.raises(ModelError, match="v is not a file of compressed vectors"):
            verb(tmp_path / "v")


@pytest.mark.parametrize("name", ["v.json", "v.png"])
def test_a_report_never_replaces_another_file(
    dense: yakusu.vectors.WordVectors, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(DataError, match=f"{name} exists and was not written by yakusu"):
        yakusu.vectors.compress(dense, tmp_path / "v")
    assert (tmp_path / name).read_text() == "mine" and not (tmp_path / "v").exists()
