"""Compressed vectors scored beside uncompressed ones."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import yakusu
from yakusu.compress.config import CompressConfig
from yakusu.errors import DataError
from yakusu.vectors.bootstrap import paired_difference

pytestmark = pytest.mark.usefixtures("undrawn")
Floats = npt.NDArray[np.float32]
V, H = 500, 6
WORDS = ["king", "queen", "man", "woman", *(f"w{i}" for i in range(4, V))]
SYSTEMS = [
    *("floats", "Real", "centred floats", "Real, centred"),
    *("half-whitened floats", "whitened floats", "Code"),
]


@pytest.fixture
def vectors() -> Floats:
    rng = np.random.default_rng(21)
    mixed = rng.standard_normal((V, H)) @ rng.standard_normal((H, H)) + 0.8
    return mixed.astype(np.float32)


@pytest.fixture
def dense(vectors: Floats) -> yakusu.vectors.WordVectors:
    return yakusu.vectors.WordVectors(WORDS, vectors)


@pytest.fixture
def tasks(tmp_path: Path, vectors: Floats) -> list[Path]:
    """A similarity set scored with the cosines of centred vectors, and an analogy set."""
    centred = vectors - vectors.mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    lines = [f"{WORDS[i]}\t{WORDS[i + 1]}\t{unit[i] @ unit[i + 1]}\n" for i in range(0, 200, 2)]
    (tmp_path / "near.tsv").write_text("".join(lines) + "king\tno-such-word\t0.5\n")
    (tmp_path / "pairs.txt").write_text("king man queen woman\nw10 w11 w12 w13\n")
    return [tmp_path / "near.tsv", tmp_path / "pairs.txt"]


def test_compressed_and_uncompressed_vectors_are_scored_side_by_side(
    dense: yakusu.vectors.WordVectors, tmp_path: Path, tasks: list[Path]
) -> None:
    config = CompressConfig(method="integers", step=1e-3, whitening=0)
    yakusu.vectors.compress(dense, tmp_path / "v", config=config)
    scored = yakusu.vectors.evaluate(tmp_path / "v", tasks, original=dense)
    assert [one.system for one in scored] == SYSTEMS
    results = {one.system: one.results for one in scored}
    names = ["near", "pairs", "10 nearest kept"]
    assert [result.name for result in results["floats"]] == names
    near = {system: result[0] for system, result in results.items()}
    assert (near["floats"].used, near["floats"].left_out) == (100, 1)
    # The human scores are the cosines of centred vectors, so others have lower scores.
    assert near["centred floats"].score == pytest.approx(1, abs=1e-3)
    assert max(near[system].score for system in ("floats", "whitened floats")) < 0.97
    assert near["whitened floats"].score < near["half-whitened floats"].score
    # Integers of a fine step without whitening are the rotated vectors.
    assert near["Real"].score == pytest.approx(near["floats"].score, abs=1e-3)
    assert near["Real, centred"].score == pytest.approx(1, abs=1e-3)
    assert near["Code"].score == pytest.approx(1, abs=1e-3)


def test_neighbours_are_counted_against_the_floats_as_they_are(
    dense: yakusu.vectors.WordVectors, tmp_path: Path
) -> None:
    yakusu.vectors.compress(dense, tmp_path / "v", config=CompressConfig(k=200))
    scored = yakusu.vectors.evaluate(tmp_path / "v", [], original=dense)
    kept = {one.system: one.results[-1].score for one in scored}
    assert kept["floats"] == 1 and kept["Real"] > 0.9
    assert kept["Real, centred"] == pytest.approx(kept["centred floats"], abs=0.05)
    assert kept["centred floats"] < 0.8


@pytest.mark.parametrize(
    ("config", "control"),
    [
        (CompressConfig(m=4, k=9), "whitened floats"),
        (CompressConfig(method="integers", step=0.3), "half-whitened floats"),
    ],
)
def test_each_system_is_compared_with_floats_treated_alike(
    dense: yakusu.vectors.WordVectors,
    tmp_path: Path,
    tasks: list[Path],
    config: CompressConfig,
    control: str,
) -> None:
    yakusu.vectors.compress(dense, tmp_path / "v", config=config)
    scored = yakusu.vectors.evaluate(tmp_path / "v", tasks, original=dense)
    references = {one.system: one.reference for one in scored if one.reference}
    expected = {"Real": "floats", "Real, centred": "centred floats", "Code": control}
    assert references == expected
    found = {one.system: one for one in scored}
    for system, reference in references.items():
        pairs = zip(found[str(reference)].results, found[system].results, strict=True)
        assert found[system].differences == tuple(paired_difference(*pair) for pair in pairs)
    assert found["floats"].differences == ()


def test_without_the_original_the_same_scores_have_no_differences(
    dense: yakusu.vectors.WordVectors, tmp_path: Path, tasks: list[Path]
) -> None:
    yakusu.vectors.compress(dense, tmp_path / "v", config=CompressConfig(k=4))
    with_it = {
        one.system: one.results[:2]
        for one in yakusu.vectors.evaluate(tmp_path / "v", tasks, original=dense)
    }
    scored = yakusu.vectors.evaluate(tmp_path / "v", tasks)
    assert [one.system for one in scored] == ["Real", "Real, centred", "Code"]
    for one in scored:
        assert one.results == with_it[one.system]
        assert (one.reference, one.differences) == (None, ())


def test_the_original_may_have_more_words_in_another_order(
    dense: yakusu.vectors.WordVectors, tmp_path: Path, tasks: list[Path]
) -> None:
    yakusu.vectors.compress(dense, tmp_path / "v")
    other = yakusu.vectors.WordVectors(
        ["more", *WORDS[::-1]], np.concatenate([np.ones((1, H), "f4"), dense.vectors[::-1]])
    )
    assert yakusu.vectors.evaluate(tmp_path / "v", tasks, original=other) == (
        yakusu.vectors.evaluate(tmp_path / "v", tasks, original=dense)
    )
    fewer = yakusu.vectors.WordVectors(WORDS[1:], dense.vectors[1:])
    with pytest.raises(DataError, match="the original has no vector for 'king': give the vectors"):
        yakusu.vectors.evaluate(tmp_path / "v", tasks, original=fewer)


def test_several_similarity_sets_have_a_mean(
    dense: yakusu.vectors.WordVectors, tmp_path: Path, tasks: list[Path]
) -> None:
    (tmp_path / "other.tsv").write_text("king\tqueen\t1\nman\tw9\t2\nwoman\tw8\t3\n")
    yakusu.vectors.compress(dense, tmp_path / "v")
    for one in yakusu.vectors.evaluate(tmp_path / "v", [*tasks, tmp_path / "other.tsv"]):
        near, _, other, mean = one.results
        assert mean.score == pytest.approx((near.score + other.score) / 2)


def test_a_test_set_without_known_words_causes_a_warning(
    dense: yakusu.vectors.WordVectors,
    tmp_path: Path,
    tasks: list[Path],
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "unknown.tsv").write_text("no\tnot\t1\n")
    yakusu.vectors.compress(dense, tmp_path / "v")
    yakusu.vectors.evaluate(tmp_path / "v", iter([*tasks, tmp_path / "unknown.tsv"]))
    expected = f"{tmp_path / 'unknown.tsv'}: no item has known words, so it has no score"
    assert caplog.messages == [expected]


def test_evaluation_needs_words(vectors: Floats, tmp_path: Path, tasks: list[Path]) -> None:
    yakusu.vectors.compress(vectors, tmp_path / "v")
    with pytest.raises(DataError, match="v has row numbers instead of words: compress the vectors"):
        yakusu.vectors.evaluate(tmp_path / "v", tasks)
