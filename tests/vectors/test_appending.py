"""Words added to a file of compressed vectors: the old rows stay, the new ones are near."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import yakusu
from tests.cases import some
from yakusu.compress.compressor import CodebookCompressor, LatticeCompressor
from yakusu.compress.config import CompressConfig
from yakusu.compress.storage import extended
from yakusu.errors import DataError, ModelError
from yakusu.vectors.keyed import CompressedVectors

pytestmark = pytest.mark.usefixtures("undrawn")
Floats = npt.NDArray[np.float32]
V, H = 900, 6
CONFIGS = [
    CompressConfig(k=16),
    CompressConfig(m=4, k=5),
    CompressConfig(method="integers", step=0.3),
    CompressConfig(method="integers", step=0.05, tiers=(400,)),
]


@pytest.fixture(scope="module")
def vectors() -> Floats:
    rng = np.random.default_rng(2)
    mixed = rng.standard_normal((2 * V, H)) @ rng.standard_normal((H, H)) + 0.4
    return mixed.astype(np.float32)


def words(begin: int, end: int) -> list[str]:
    return [f"w{i}" for i in range(begin, end)]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("n_new", [1, 700])
def test_added_words_lose_as_much_as_the_first_ones(
    vectors: Floats, tmp_path: Path, config: CompressConfig, n_new: int
) -> None:
    path = tmp_path / "v.ykv"
    first = yakusu.vectors.WordVectors(words(0, V), vectors[:V])
    report = yakusu.vectors.compress(first, path, config=config)
    before = yakusu.vectors.open_compressed(path)
    old = before.dense()
    new = yakusu.vectors.WordVectors(words(V, V + n_new), vectors[V : V + n_new])
    made = yakusu.vectors.append(path, new)
    assert (made.n_added, made.n_vectors) == (n_new, V + n_new)
    assert made.file_bytes == path.stat().st_size
    found = yakusu.vectors.open_words(path, verified=True)
    assert list(found.words) == words(0, V + n_new)
    assert (found.dense()[:V] == old).all()
    error = np.square(found.dense()[V:] - new.vectors).sum()
    away = np.square(new.vectors - before.book.mean).sum()
    assert made.share_lost == pytest.approx(error / away, rel=1e-4)
    if n_new > 1:
        assert made.share_lost < 2 * report.share_lost


@pytest.mark.parametrize(
    "compressor",
    [CodebookCompressor(n_codes=16), LatticeCompressor(0.2)],
    ids=["codes", "integers"],
)
def test_fitted_vectors_get_nearly_the_codes_of_the_fit(vectors: Floats, compressor: Any) -> None:
    made = compressor.fit(vectors).compressed_
    longer = extended(made, vectors[:100])
    again = longer.dense_codes()[-100:]
    assert (again == made.dense_codes()[:100]).mean() > 0.97
    assert (longer.dense()[: len(vectors)] == made.dense()).all()


def test_rows_are_added_again_and_again(vectors: Floats) -> None:
    made = CodebookCompressor(5, 3).fit(vectors[:100]).compressed_
    expected = made.dense_codes()
    for begin in range(0, 60, 7):
        added = extended(made, vectors[begin : begin + 7])
        expected = np.concatenate([expected, added.dense_codes()[len(made) :]])
        made = added
        assert (made.dense_codes() == expected).all()


def test_words_of_a_text_file_are_added(vectors: Floats, tmp_path: Path) -> None:
    path = tmp_path / "v.ykv"
    yakusu.vectors.compress(yakusu.vectors.WordVectors(words(0, V), vectors[:V]), path)
    rows = zip(words(V, V + 3), vectors[V : V + 3], strict=True)
    (tmp_path / "new.txt").write_text(
        "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows)
    )
    assert yakusu.vectors.append(path, tmp_path / "new.txt").n_vectors == V + 3


def test_words_that_do_not_fit_are_rejected(vectors: Floats, tmp_path: Path) -> None:
    path = tmp_path / "v.ykv"
    yakusu.vectors.compress(yakusu.vectors.WordVectors(words(0, V), vectors[:V]), path)
    before = path.read_bytes()
    known = yakusu.vectors.WordVectors(["new", "w7"], vectors[:2])
    with pytest.raises(DataError, match="already contains the word 'w7': leave it out"):
        yakusu.vectors.append(path, known)
    narrow = yakusu.vectors.WordVectors(["new"], np.ones((1, 5), np.float32))
    with pytest.raises(DataError, match=r"shape \(1, 5\) do not fit 6 dimensions"):
        yakusu.vectors.append(path, narrow)
    assert path.read_bytes() == before
    with pytest.raises(ModelError, match="cannot be read"):
        yakusu.vectors.append(tmp_path / "none", known)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_vectors_that_would_lose_most_of_their_variance_are_rejected(
    vectors: Floats, tmp_path: Path, config: CompressConfig
) -> None:
    path = tmp_path / "v.ykv"
    yakusu.vectors.compress(vectors[:V], path, config=config)
    before = path.read_bytes()
    mean, factor = vectors.mean(axis=0), 100 if config.method == "codes" else 1e-3
    with pytest.raises(
        DataError, match=r"^\d+\.\d\d% of the variance of the new vectors would be lo"
    ):
        yakusu.vectors.append(path, (mean + factor * (vectors[V:] - mean)).astype(np.float32))
    assert path.read_bytes() == before


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("kind", some(["f2", "f4", "f8"]))
def test_rows_of_a_matrix_file_are_added_to_a_plain_matrix(
    vectors: Floats, tmp_path: Path, config: CompressConfig, kind: str
) -> None:
    path, new = tmp_path / "v.ykv", vectors[V : V + 300].astype(kind)
    report = yakusu.vectors.compress(vectors[:V], path, config=config)
    old = yakusu.vectors.open_compressed(path)
    before = old.dense()
    np.save(tmp_path / "new.npy", new)
    made = yakusu.vectors.append(path, tmp_path / "new.npy")
    assert (made.n_added, made.n_vectors) == (300, V + 300)
    found = yakusu.vectors.open_compressed(path, verified=True)
    assert not isinstance(found, CompressedVectors)
    assert (found.dense()[:V] == before).all()
    error = np.square(found.dense()[V:] - new.astype(np.float64)).sum()
    away = np.square(new - old.book.mean).sum()
    assert made.share_lost == pytest.approx(error / away, rel=1e-4)
    assert made.share_lost < 2 * report.share_lost


def test_words_are_added_to_words_and_rows_to_rows(vectors: Floats, tmp_path: Path) -> None:
    named = yakusu.vectors.WordVectors(words(0, V), vectors[:V])
    for name, source in (("words", named), ("plain", vectors[:V])):
        yakusu.vectors.compress(source, tmp_path / name)
    before = (tmp_path / "plain").read_bytes(), (tmp_path / "words").read_bytes()
    more = yakusu.vectors.WordVectors(["new"], vectors[:1])
    with pytest.raises(DataError, match="plain has no words: add a matrix without words, such as"):
        yakusu.vectors.append(tmp_path / "plain", more)
    np.save(tmp_path / "new.npy", vectors[:1])
    for rows in (vectors[:1], tmp_path / "new.npy"):
        with pytest.raises(DataError, match="words has words, but the new vectors have none: add"):
            yakusu.vectors.append(tmp_path / "words", rows)
    (tmp_path / "list").write_text("new\n")
    assert before == ((tmp_path / "plain").read_bytes(), (tmp_path / "words").read_bytes())
    yakusu.vectors.append(tmp_path / "words", tmp_path / "new.npy", words=tmp_path / "list")
    assert yakusu.vectors.open_words(tmp_path / "words").words[-1] == "new"


def test_rows_of_another_width_are_rejected(vectors: Floats, tmp_path: Path) -> None:
    yakusu.vectors.compress(vectors, tmp_path / "v")
    np.save(tmp_path / "new.npy", np.ones((2, 5)))
    with pytest.raises(DataError, match=r"shape \(2, 5\) do not fit 6 dimensions"):
        yakusu.vectors.append(tmp_path / "v", tmp_path / "new.npy")
