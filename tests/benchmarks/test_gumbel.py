"""The codes of Shu and Nakayama: known properties that need little training."""

import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch.nn import functional as F

from benchmarks.compression import embedding_systems as systems
from benchmarks.compression import shu_codes
from benchmarks.peers.gumbel import Gumbel, learn, load, nearly_one, ratio, save
from yakusu.errors import DataError

Floats = npt.NDArray[np.float64]


class Recorder:
    """Progress reporter that records units and losses."""

    def __init__(self) -> None:
        self.done = 0
        self.losses: list[float] = []

    def say(self, text: str) -> None:
        raise AssertionError(text)

    def track(self, what: str, unit: str, total: int | None) -> AbstractContextManager["Recorder"]:
        return nullcontext(self)

    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        self.done += n
        self.losses += map(float, re.findall(r"loss ([\d.]+)", note))


def test_a_sample_is_the_softmax_of_log_a_plus_gumbel_noise() -> None:
    a = torch.rand(6, 3, 5) + 0.1
    exponential = -torch.rand(a.shape, generator=torch.Generator().manual_seed(9)).log()
    expected = F.softmax(a.log() - exponential.log(), dim=-1)
    drawn = nearly_one(a, torch.Generator().manual_seed(9))
    torch.testing.assert_close(drawn, expected)


def test_a_code_is_the_largest_with_probability_proportional_to_a() -> None:
    a = torch.tensor([1.0, 2.0, 5.0]).expand(200_000, 3)
    largest = nearly_one(a, torch.Generator().manual_seed(1)).argmax(-1)
    shares = torch.bincount(largest, minlength=3) / len(largest)
    torch.testing.assert_close(shares, torch.tensor([0.125, 0.25, 0.625]), atol=0.004, rtol=0)


def test_vectors_are_sums_of_one_vector_of_each_codebook() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (7, 4)).astype(np.uint8)
    books = rng.standard_normal((4, 3, 5)).astype(np.float32)
    vectors = Gumbel(codes, books).rebuild(codes)
    for word in range(7):
        by_hand = sum(books[m, codes[word, m]].astype(float) for m in range(4))
        np.testing.assert_allclose(vectors[word], by_hand, rtol=1e-12)


def test_the_loss_is_the_squared_error_per_word() -> None:
    codes = np.array([[0], [1], [1]], dtype=np.uint8)
    learned = Gumbel(codes, np.array([[[0, 0], [1, 1]]], dtype=np.float32))
    assert learned.loss(np.array([[0.0, 0.0], [1.0, 1.0], [4.0, 5.0]]), codes).per_vector == 25 / 3


def test_codes_distinguish_eight_kinds_of_words() -> None:
    """Each word is the sum of one of 4 vectors, one of 2, and a little noise."""
    rng = np.random.default_rng(5)
    kinds = rng.integers(0, 8, 300)
    first, second = 0.6 * rng.standard_normal((4, 10)), 0.6 * rng.standard_normal((2, 10))
    vectors = first[kinds // 2] + second[kinds % 2] + 0.01 * rng.standard_normal((300, 10))
    watch = Recorder()
    learned = learn(
        vectors, n_codebooks=8, n_codes=4, seed=0, steps=600, learning_rate=1e-2, progress=watch
    )
    assert learned.codes.shape == (300, 8) and learned.codes.dtype == np.uint8
    words = [tuple(codes) for codes in learned.codes.tolist()]
    assert len(set(words)) == len(set(zip(words, kinds.tolist(), strict=True)))
    loss = learned.loss(vectors, learned.codes).per_vector
    assert loss < np.square(vectors - vectors.mean(axis=0)).sum(axis=1).mean() / 200
    assert watch.done == 600 and watch.losses[-1] == pytest.approx(loss, abs=1e-5)


def learned_by(seed: int, vectors: Floats) -> bytes:
    learned = learn(vectors, n_codebooks=3, n_codes=4, seed=seed, steps=60, learning_rate=1e-2)
    return learned.codes.tobytes() + learned.codebooks.tobytes()


def test_codes_are_determined_by_the_seed() -> None:
    vectors = np.random.default_rng(2).standard_normal((400, 6))
    before = torch.get_rng_state()
    one = learned_by(1, vectors)
    assert one == learned_by(1, vectors)
    assert one[: 400 * 3] != learned_by(2, vectors)[: 400 * 3]
    assert torch.equal(torch.get_rng_state(), before)


def test_fewer_words_than_a_batch_form_one_batch() -> None:
    vectors = np.random.default_rng(2).standard_normal((5, 3)).astype(np.float32)
    vectors.flags.writeable = False
    learned = learn(vectors, n_codebooks=1, n_codes=300, seed=0, steps=3)
    assert learned.codes.shape == (5, 1) and learned.codes.dtype == np.uint16


def test_saved_codes_are_read_for_the_same_vectors_only(tmp_path: Path) -> None:
    vectors = np.random.default_rng(2).standard_normal((50, 6)).astype(np.float32)
    learned = learn(vectors, n_codebooks=3, n_codes=4, seed=1, steps=5)
    save(tmp_path / "shu.npz", learned, vectors, steps=5, seed=1)
    read, steps = load(tmp_path / "shu.npz", vectors)
    assert steps == 5
    np.testing.assert_array_equal(read.codes, learned.codes)
    np.testing.assert_array_equal(read.codebooks, learned.codebooks)
    with pytest.raises(DataError, match=r"shu\.npz holds codes of other vectors: learn them again"):
        load(tmp_path / "shu.npz", vectors + 1)


def test_a_command_trains_what_the_comparison_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shu_codes, "_EVERY", 40)
    vectors = np.random.default_rng(2).standard_normal((60, 6)).astype(np.float32)
    words = np.array([f"w{row}" for row in range(60)])
    np.savez(tmp_path / "vectors.npz", words=words, vectors=vectors)
    paths = ["--vectors", f"{tmp_path / 'vectors.npz'}", "--out", f"{tmp_path / 'shu.npz'}"]
    shu_codes.main([*paths, "--size", "3x4", "--steps", "40"])
    assert re.search(r"^40 steps, .* minutes: loss", capsys.readouterr().out)
    saved = list(systems.shu_saved(tmp_path / "shu.npz", vectors))
    assert [point.kind for point in saved] == ["Code", "Real"]
    trained = learn(vectors, n_codebooks=3, n_codes=4, steps=40, seed=1)
    for one, expected in zip(saved, (trained.codes, trained.rebuild(trained.codes)), strict=True):
        assert (one.curve, one.size) == ("40 steps", "M = 3, K = 4")
        assert one.ratio == ratio(60, 6, 3, 4)
        np.testing.assert_array_equal(one.vectors, expected.astype(one.vectors.dtype))


def test_the_ratio_counts_codes_and_codebooks() -> None:
    """400,000 GloVe vectors: 480 MB; codes of 6.4 MB and codebooks of 0.6144 MB."""
    assert ratio(400_000, 300, 32, 16) == pytest.approx(480 / (6.4 + 0.6144))


@pytest.mark.parametrize(
    ("vectors", "m", "k", "message"),
    [
        (np.zeros(3), 2, 2, r"shape \(3,\): expected a matrix"),
        (np.zeros((0, 3)), 2, 2, "expected a matrix"),
        (np.zeros((3, 3)), 0, 2, "M = 0"),
        (np.zeros((3, 3)), 2, 1, "K = 1"),
        (np.array([[0.0], [np.inf]]), 2, 2, "row 1 is not finite"),
    ],
)
def test_invalid_input_is_rejected(vectors: Floats, m: int, k: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        learn(vectors, n_codebooks=m, n_codes=k, seed=0)
