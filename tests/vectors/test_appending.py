"""Words added to a file of compressed vectors: the old rows stay, the new ones are near."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import yakusu
from yakusu.compress.compressor import CodebookCompressor, LatticeCompressor
from yakusu.compress.config import CompressConfig
from yakusu.compress.storage import extended
from yakusu.errors import DataError, ModelError

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
    assert (made.n_added, made.n_words) == (n_new, V + n_new)
    assert made.file_bytes == path.stat().st_size
    found = yakusu.vectors.open_compressed(path, verified=True)
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
    assert yakusu.vectors.append(path, tmp_path / "new.txt").n_words == V + 3


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
