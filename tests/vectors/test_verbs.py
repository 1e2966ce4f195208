"""The verbs for word vectors: files, results and errors."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pydantic import TypeAdapter
from safetensors.numpy import save_file

import yakusu
from tests.cases import some
from yakusu.compress import blocks, compressor
from yakusu.compress.compressor import CodebookCompressor
from yakusu.compress.config import CompressConfig
from yakusu.errors import DataError, ModelError, RecipeError
from yakusu.vectors.file import open_words
from yakusu.vectors.keyed import CompressedVectors
from yakusu.vectors.matrices import open_matrix
from yakusu.vectors.matrixfile import MatrixFile
from yakusu.vectors.nearest import neighbours_by_band
from yakusu.vectors.verbs import Facts, Report

pytestmark = pytest.mark.usefixtures("undrawn")
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
    assert report.facts.has_words and (report.n_fitted, report.n_measured) == (V, V)
    assert report.facts.file_bytes == out.stat().st_size
    assert report.facts.dense_bytes == 4 * V * H


def assert_sizes_are_stored(facts: Facts, path: Path) -> None:
    words = open_words(path).words.stored.nbytes
    assert facts.file_ratio == 4 * V * H / path.stat().st_size
    without_words = 4 * V * H / facts.ratio
    assert 0 <= path.stat().st_size - words - without_words <= 128  # their entry in the header
    assert facts.file_ratio < facts.ratio < facts.codes_ratio


def test_the_facts_of_codes_follow_the_paper(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    report = yakusu.vectors.compress(dense, tmp_path / "v", config=CompressConfig(m=4, k=9))
    facts = report.facts
    assert (facts.n_vectors, facts.width, facts.n_components, facts.n_codes) == (V, H, 4, 9)
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


@pytest.mark.usefixtures("drawn")
def test_report_and_picture_are_written_next_to_the_file(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    report = yakusu.vectors.compress(dense, tmp_path / "v.ykv")
    assert {path.name for path in tmp_path.iterdir()} == {"v.ykv", "v.ykv.json", "v.ykv.png"}
    written = json.loads((tmp_path / "v.ykv.json").read_text())
    assert TypeAdapter(Report).validate_python(written) == report
    assert (tmp_path / "v.ykv.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("drawn")
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
    made = open_words(tmp_path / "v")
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
    which = "one vector" if n_words == 1 else "5 equal vectors"
    with pytest.raises(
        DataError, match=f"{which} cannot be compressed: give two or more different"
    ):
        yakusu.vectors.compress(same, tmp_path / "v", config=config)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "config",
    [CompressConfig(), CompressConfig(method="integers", step=0.1)],
    ids=["codes", "integers"],
)
@pytest.mark.usefixtures("drawn")
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
        (
            tmp_path / "notes.txt",
            "notes.txt exists and was not written by 'vectors compress': choose another",
        ),
    ):
        with pytest.raises(DataError, match=message):
            yakusu.vectors.compress("no such file", out)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    for _ in range(2):  # a file of vectors may be replaced
        yakusu.vectors.compress(dense, tmp_path / "v")


@pytest.mark.parametrize("setting", [{"exact": 5}, {"int8": True}, {"stacks": ("encoder",)}])
def test_settings_of_translators_are_rejected(tmp_path: Path, setting: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match="has no effect on vectors: leave out compress"):
        yakusu.vectors.compress("v.txt", tmp_path / "v", config=CompressConfig(**setting))


# ---- plain matrices ------------------------------------------------------------------------------


def bfloat16(path: Path, matrix: Floats) -> None:
    """Write the upper halves of the numbers as a tensor of type BF16."""
    data = (matrix.view("<u4") >> 16).astype("<u2").tobytes()
    entry = {"dtype": "BF16", "shape": matrix.shape, "data_offsets": [0, len(data)]}
    header = json.dumps({"embeddings": entry}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


def parquet(path: Path, matrix: Floats) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(pyarrow.table({"vector": pyarrow.array(list(matrix))}), path, row_group_size=500)


SAVED: dict[str, tuple[Callable[[Path, Floats], None], float]] = {
    "npy f2": (lambda path, m: np.save(path, m.astype("f2")), 2**-11),
    "npy f4": (lambda path, m: np.save(path, m), 0),
    "npy f8": (lambda path, m: np.save(path, np.asfortranarray(m.astype("f8"))), 0),
    "tensor f2": (lambda path, m: save_file({"x": m.astype("f2")}, path), 2**-11),
    "tensor f8": (lambda path, m: save_file({"x": m.astype("f8")}, path), 0),
    "bfloat16": (bfloat16, 2**-7),
    "Parquet": (parquet, 0),
}


@pytest.mark.parametrize("kind", some([*SAVED]))
def test_a_matrix_file_gives_the_same_bytes_as_its_array(
    vectors: Floats, tmp_path: Path, kind: str
) -> None:
    save, rounding = SAVED[kind]
    path = tmp_path / "m.npy"  # the format is recognised by the first bytes
    save(path, vectors)
    array = open_matrix(path)[:]
    np.testing.assert_allclose(array, vectors, rtol=rounding)
    config = CompressConfig(k=64)
    for name, source in (("a", path), ("b", array), ("c", open_matrix(path))):
        report = yakusu.vectors.compress(source, tmp_path / name, config=config)
        assert not report.facts.has_words and report.facts.n_vectors == V
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1
    assert len({(tmp_path / f"{name}.json").read_bytes() for name in "abc"}) == 1
    made = yakusu.vectors.open_compressed(tmp_path / "a", verified=True)
    assert not isinstance(made, CompressedVectors)
    error = np.square(made.dense() - array.astype(np.float64)).sum()
    assert report.loss == pytest.approx(error / V, rel=1e-6) and report.share_lost < 0.002


def test_an_npz_without_words_is_a_plain_matrix(vectors: Floats, tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", x=vectors.astype(">f4"))
    for name, source in (("a", tmp_path / "m.npz"), ("b", vectors)):
        yakusu.vectors.compress(source, tmp_path / name, config=CONFIGS[0])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    np.savez(tmp_path / "m.npz", x=np.where(np.arange(V)[:, None] == 9, np.inf, vectors))
    with pytest.raises(DataError, match=r"m\.npz, row 9 is not finite: correct or remove it"):
        yakusu.vectors.compress(tmp_path / "m.npz", tmp_path / "v")


@pytest.mark.parametrize("config", CONFIGS, ids=["codes", "integers", "tiers"])
def test_a_matrix_is_compressed_like_word_vectors_without_the_words(
    dense: yakusu.vectors.WordVectors, tmp_path: Path, config: CompressConfig
) -> None:
    with_words = yakusu.vectors.compress(dense, tmp_path / "words", config=config)
    without = yakusu.vectors.compress(dense.vectors, tmp_path / "plain", config=config)
    assert (without.loss, without.share_lost) == (with_words.loss, with_words.share_lost)
    made, words = open_words(tmp_path / "words"), yakusu.vectors.open_compressed(tmp_path / "plain")
    assert (made.dense() == words.dense()).all()
    facts = without.facts
    assert facts.ratio == facts.file_ratio == with_words.facts.ratio
    assert facts == yakusu.vectors.inspect(tmp_path / "plain")


def test_a_plain_matrix_has_one_band_of_neighbours(vectors: Floats, tmp_path: Path) -> None:
    report = yakusu.vectors.compress(vectors, tmp_path / "v", config=CompressConfig(k=256))
    (band,) = report.recall
    assert (band.first, band.last, band.used) == (1, V, 100) and 0.8 < band.recall < 1


def test_vectors_that_are_far_longer_than_the_others_cause_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    normal = np.random.default_rng(0).standard_normal((2000, 32)).astype(np.float32)
    config = CompressConfig(method="integers")
    yakusu.vectors.compress(normal, tmp_path / "v", config=config)
    assert not caplog.messages
    normal[5] *= 1e4
    normal[7, 3] = 1e6
    report = yakusu.vectors.compress(normal, tmp_path / "v", config=config)
    (band,) = report.recall
    assert report.share_lost < 0.05 and band.recall < 0.05
    assert caplog.messages == [
        f"only {band.recall:.1%} of the ten nearest neighbours are kept: a few vectors may be far "
        "longer than the others; scale or remove them, or set --bits"
    ]
    yakusu.vectors.compress(
        normal, tmp_path / "v", config=CompressConfig(method="integers", bits=100)
    )
    assert len(caplog.messages) == 1


def test_large_matrices_are_measured_on_evenly_spaced_rows(
    dense: yakusu.vectors.WordVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_MOST", 400 * H)
    config = CompressConfig(m=4, k=9, sample=V)
    for name, source in (("plain", dense.vectors), ("words", dense)):
        report = yakusu.vectors.compress(source, tmp_path / name, config=config)
        assert (report.n_measured, report.n_fitted) == (400, V)
        sample = dense.vectors[1::3].astype(np.float64)
        made = yakusu.vectors.open_compressed(tmp_path / name).dense()[1::3]
        error = np.square(sample - made).sum()
        assert report.loss == pytest.approx(error / 400, rel=1e-6)
        variance = np.square(sample - sample.mean(axis=0)).sum()
        assert report.share_lost == pytest.approx(error / variance, rel=1e-6)
        assert json.loads((tmp_path / f"{name}.json").read_text())["n_measured"] == 400
        if name == "words":  # ranks of the first and last word of each band that was measured
            bands = [(band.first, band.last, band.used) for band in report.recall]
            assert bands == [(2, 998, 100), (1001, 1199, 67)]


def test_neighbours_of_a_sample_are_found_among_the_sample(
    vectors: Floats, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recall of every third row equals that of a matrix of these rows."""
    yakusu.vectors.compress(vectors, tmp_path / "v", config=CompressConfig(m=4, k=9))
    made, third = yakusu.vectors.open_compressed(tmp_path / "v"), vectors[1::3]
    rebuilt = made.dense()[1::3]
    expected = neighbours_by_band(third.__getitem__, rebuilt.__getitem__, 400, bands=())
    monkeypatch.setattr(blocks, "_MOST", 400 * H)
    config = CompressConfig(m=4, k=9, sample=V)
    report = yakusu.vectors.compress(vectors, tmp_path / "v", config=config)
    assert report.recall[0].recall == expected[0].recall < 1
    assert (report.recall[0].first, report.recall[0].last) == (2, V - 1)


def test_a_matrix_file_is_passed_to_the_compressor_as_it_is(
    vectors: Floats, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Sampling:
        """Fits to the first half of the rows."""

        def fit(self, source: MatrixFile, *, progress: object) -> "Sampling":
            assert isinstance(source, MatrixFile)
            self.compressed_ = CodebookCompressor(n_codes=16).fit(source[:]).compressed_
            self.fitted_rows_ = V // 2
            return self

    monkeypatch.setattr(compressor, "compressor_of", lambda config: Sampling())
    np.save(tmp_path / "m.npy", vectors)
    report = yakusu.vectors.compress(tmp_path / "m.npy", tmp_path / "v")
    assert (report.n_fitted, report.n_measured) == (V // 2, V)


def test_weights_need_words(vectors: Floats, tmp_path: Path) -> None:
    (tmp_path / "w").write_text("1\n" * V)
    np.save(tmp_path / "m.npy", vectors)
    for source in (vectors, tmp_path / "m.npy"):
        with pytest.raises(DataError) as caught:
            yakusu.vectors.compress(source, tmp_path / "v", weights=tmp_path / "w")
        assert str(caught.value).endswith(
            "w sorts words by their frequency, but the vectors have no words: leave it out"
        )
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            np.ones(3),
            r"vectors have shape \(3,\) and type float64: give a matrix \(V, H\) of float",
        ),
        (np.ones((3, 2), int), r"vectors have shape \(3, 2\) and type int64: give a matrix"),
        (np.ones((0, 2)), r"vectors have shape \(0, 2\) and type float64: give a matrix"),
        ([[1.0, 2.0]], r"vectors have shape \(1, 2\) and type list: give a matrix"),
        (np.array([[1, 2], [np.nan, 1]]), "row 1 is not finite: correct or remove it"),
        (np.ones((9, 3), "f2"), "9 equal vectors cannot be compressed: give two or more"),
    ],
    ids=["1-D", "integers", "empty", "list", "NaN", "equal"],
)
def test_matrices_that_cannot_be_compressed_are_rejected_before_writing(
    tmp_path: Path, matrix: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        yakusu.vectors.compress(matrix, tmp_path / "v")
    assert not list(tmp_path.iterdir())


def test_an_error_names_the_row_of_a_file_that_is_not_finite(
    vectors: Floats, tmp_path: Path
) -> None:
    np.save(tmp_path / "m.npy", np.where(np.arange(V)[:, None] == V - 2, np.nan, vectors))
    with pytest.raises(DataError, match=r"m\.npy, row 1198, column 0: nan is not a finite number"):
        yakusu.vectors.compress(tmp_path / "m.npy", tmp_path / "v")
    assert [path.name for path in tmp_path.iterdir()] == ["m.npy"]


def test_a_list_of_words_belongs_to_a_file_or_to_word_vectors(
    vectors: Floats, tmp_path: Path
) -> None:
    np.save(tmp_path / "m.npy", vectors)
    (tmp_path / "list").write_text("\n".join(WORDS) + "\n")
    options = {"words": tmp_path / "list"}
    report = yakusu.vectors.compress(tmp_path / "m.npy", tmp_path / "v", **options)
    assert report.facts.has_words and list(open_words(tmp_path / "v")) == WORDS
    with pytest.raises(DataError, match=r"list cannot be combined with a matrix in memory: give W"):
        yakusu.vectors.compress(vectors, tmp_path / "v", **options)


@pytest.mark.parametrize("config", CONFIGS[:2], ids=["codes", "integers"])
def test_neighbours_of_a_row_are_the_nearest_rebuilt_rows(
    vectors: Floats, tmp_path: Path, config: CompressConfig
) -> None:
    yakusu.vectors.compress(vectors, tmp_path / "v", config=config)
    made = yakusu.vectors.open_compressed(tmp_path / "v").dense().astype(np.float64)
    units = made / np.linalg.norm(made, axis=1)[:, None]
    cosines = units @ units[17]
    cosines[17] = -2
    found = yakusu.vectors.neighbours(tmp_path / "v", 17, 5)
    assert found == yakusu.vectors.neighbours(tmp_path / "v", "17", 5) and len(found) == 5
    assert [near for _, near in found] == pytest.approx(np.sort(cosines)[:-6:-1], abs=1e-6)
    assert [near for _, near in found] == pytest.approx(cosines[[row for row, _ in found]])  # type: ignore[index]


def test_every_other_row_can_be_a_neighbour(vectors: Floats, tmp_path: Path) -> None:
    yakusu.vectors.compress(vectors[:40], tmp_path / "v", config=CompressConfig(k=16))
    for n in (39, 40, 1000):
        rows = [row for row, _ in yakusu.vectors.neighbours(tmp_path / "v", 0, n)]
        assert sorted(rows) == list(range(1, 40))  # type: ignore[type-var]


def test_what_is_not_a_row_number_is_rejected(vectors: Floats, tmp_path: Path) -> None:
    yakusu.vectors.compress(vectors, tmp_path / "v")
    for wrong in ("king", "", "1.0", "9" * 5000):
        with pytest.raises(DataError) as caught:
            yakusu.vectors.neighbours(tmp_path / "v", wrong)
        assert str(caught.value) == (
            f"{tmp_path / 'v'} has row numbers instead of words: give one from 0 to {V - 1}, not "
            f"'{wrong}'"
        )
    for row in (-1, V):
        for wrong in (row, str(row)):
            with pytest.raises(DataError, match=f"v: row {row} is out of range: give 0 to {V - 1}"):
                yakusu.vectors.neighbours(tmp_path / "v", wrong)
    with pytest.raises(DataError, match="n = 0 is out of range: give n >= 1"):
        yakusu.vectors.neighbours(tmp_path / "v", 0, 0)


def test_a_number_may_be_a_word(vectors: Floats, tmp_path: Path) -> None:
    years = yakusu.vectors.WordVectors([str(1900 + i) for i in range(V)], vectors)
    yakusu.vectors.compress(years, tmp_path / "v")
    expected = open_words(tmp_path / "v").most_similar("1984", topn=3)
    assert yakusu.vectors.neighbours(tmp_path / "v", 1984, 3) == expected


# ---- neighbours ----------------------------------------------------------------------------------


def test_neighbours_match_the_opened_file(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    yakusu.vectors.compress(dense, tmp_path / "v")
    made = open_words(tmp_path / "v")
    assert yakusu.vectors.neighbours(tmp_path / "v", "king", 3) == made.most_similar("king", topn=3)
    with pytest.raises(DataError, match=r"v: 'King' has no vector: did you mean 'king'\?"):
        yakusu.vectors.neighbours(tmp_path / "v", "King")


def test_compressed_vectors_are_not_compressed_again(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    yakusu.vectors.compress(dense, tmp_path / "v")
    with pytest.raises(DataError, match="v is already compressed: give the original vectors"):
        yakusu.vectors.compress(tmp_path / "v", tmp_path / "w")


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
    with pytest.raises(DataError, match=f"{name} exists and was not written by 'vectors compress'"):
        yakusu.vectors.compress(dense, tmp_path / "v")
    assert (tmp_path / name).read_text() == "mine" and not (tmp_path / "v").exists()
