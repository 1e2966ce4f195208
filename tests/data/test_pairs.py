"""Binarised pairs are the ids of the tokenizer for any number of workers; data.json is typed."""

import json
import random
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from yakusu.data.corpus import Corpus
from yakusu.data.files.text import Pair
from yakusu.data.filters import FilterConfig, FilterReport, filter_corpus
from yakusu.data.pairs import (
    CorpusPart,
    DataFacts,
    Pairs,
    RawPart,
    binarise,
    dtype_for,
    rebuild_command,
)
from yakusu.data.tokenizer import Tokenizer, TokenizerConfig
from yakusu.data.vocabulary import EOS
from yakusu.errors import RunError
from yakusu.progress import Silent

EVERYTHING = FilterConfig(max_tokens=10**6, max_ratio=10**6)


def sentence(rng: random.Random, alphabet: str) -> str:
    return " ".join("".join(rng.choices(alphabet, k=3)) for _ in range(rng.randint(1, 5)))


def invented(n: int) -> list[Pair]:
    rng = random.Random(5)
    return [(sentence(rng, "abcde"), sentence(rng, "vwxyz")) for _ in range(n)]


PAIRS = invented(400)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    src, tgt = zip(*PAIRS, strict=True)
    return Tokenizer.train(
        src, tgt, TokenizerConfig(byte_fallback=False, placeholder_share=0, vocab_size=60), seed=1
    )


@pytest.fixture(scope="module")
def letters() -> Tokenizer:
    """One token for each word that is a single letter."""
    text = ["a b c d e", "b a d c e", "xy"] * 20
    return Tokenizer.train(
        text,
        text,
        TokenizerConfig(
            byte_fallback=False, placeholder_share=0, vocab_size=16, character_coverage=1
        ),
        seed=1,
    )


def binarised(
    pairs: list[Pair],
    folder: Path,
    tokenizer: Tokenizer,
    *,
    filters: FilterConfig = EVERYTHING,
    workers: int = 1,
) -> tuple[Pairs, FilterReport]:
    folder.mkdir(exist_ok=True)
    report = FilterReport()
    report.read = len(pairs)
    written = binarise(
        [RawPart(tokenizer, enumerate(pairs, start=1), report)],
        folder / "train",
        dtype=dtype_for(max(tokenizer.vocab_sizes.values())),
        filters=filters,
        total=len(pairs),
        progress=Silent(),
        workers=workers,
    )
    opened = Pairs.map(folder / "train", dtype_for(tokenizer.src_vocab_size))
    assert written.sizes == (len(opened),) == (report.kept,)
    return opened, report


def corpus(folder: Path, pairs: list[Pair]) -> Corpus:
    files = {"src": folder / "a.en", "tgt": folder / "a.de"}
    for i, path in enumerate(files.values()):
        path.write_text("".join(pair[i] + "\n" for pair in pairs), encoding="utf-8")
    return Corpus(src=str(files["src"]), tgt=str(files["tgt"]))


def test_binarised_pairs_are_the_ids_of_the_tokenizer(tokenizer: Tokenizer, tmp_path: Path) -> None:
    pairs, _ = binarised(PAIRS, tmp_path, tokenizer)
    src, tgt = zip(*PAIRS, strict=True)
    assert [pairs.src[i].tolist() for i in range(len(pairs))] == tokenizer.encode_source(src)
    assert [pairs.tgt[i].tolist() for i in range(len(pairs))] == tokenizer.encode_target(tgt)
    assert pairs.src.lengths.tolist() == [len(ids) for ids in tokenizer.encode_source(src)]
    assert {int(pairs.tgt[i][-1]) for i in range(len(pairs))} == {EOS}


def test_one_worker_and_two_write_the_same_bytes(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yakusu.data.pairs._WINDOW", 512)
    pairs = PAIRS * 6  # 2,400: workers are used from 4 windows on
    pairs[1_300] = ("abc", "")  # workers count what they drop
    pairs[2_300] = ("abc " * 99, "v")
    filters = FilterConfig(max_tokens=10**6, max_ratio=50)
    reports = []
    for workers in (1, 2):
        _, report = binarised(
            pairs, tmp_path / str(workers), tokenizer, filters=filters, workers=workers
        )
        reports.append(report.as_dict())
    names = [f"train.{side}.{kind}" for side in ("src", "tgt") for kind in ("tokens", "offsets")]
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    assert reports[0] == reports[1]
    assert reports[0]["empty"] == reports[0]["ratio"] == 1
    assert reports[0]["kept"] == 2_398


def test_ids_have_two_bytes_up_to_65536_tokens() -> None:
    assert [dtype_for(n) for n in (16, 65_535, 65_536, 65_537)] == ["<u2", "<u2", "<u2", "<u4"]
    assert np.iinfo(dtype_for(65_536)).max == 65_535  # pad, the largest id, fits


class HugeVocabulary(Tokenizer):
    """Ids that two bytes cannot hold: 70,000 and the length of each word."""

    def __init__(self) -> None:
        pass

    src_vocab_size = tgt_vocab_size = 70_100  # type: ignore[assignment]

    def encode_source(self, sentences: list[str]) -> list[list[int]]:
        return [[70_000 + len(word) for word in line.split()] + [EOS] for line in sentences]

    encode_target = encode_source


def test_ids_above_65535_are_stored_unchanged(tmp_path: Path) -> None:
    pairs, _ = binarised([("a bb", "ccc")], tmp_path, HugeVocabulary())
    assert pairs.src[0].dtype == np.uint32
    assert (pairs.src[0].tolist(), pairs.tgt[0].tolist()) == ([70_001, 70_002, 0], [70_003, 0])


def test_each_filter_counts_what_it_drops(letters: Tokenizer, tmp_path: Path) -> None:
    lines = [
        ("a b", "c d"),
        ("", "c"),
        ("a", ""),
        ("", ""),
        ("a b", "a b"),
        ("a b", "c d"),  # again
        ("a b", "c d"),  # and again
        ("a b", "d c"),  # another target is another pair
        ("a b c d e a b", "a b c d e a"),
        ("a b c d e a", "a b c d e"),  # six is the limit
        ("a b c d", "e"),
        ("e", "a b c"),  # three to one is the limit
    ]
    filters, report = FilterConfig(max_tokens=6, max_ratio=3), FilterReport()
    text = corpus(tmp_path, lines)
    selection = filter_corpus(text, filters, report, Silent())
    assert selection.mask.tolist() == [True] + [False] * 6 + [True] * 5
    binarise(
        [RawPart(letters, selection.pairs(), report)],
        tmp_path / "train",
        dtype="<u2",
        filters=filters,
        total=6,
        progress=Silent(),
    )
    assert report.as_dict() == {
        "read": 12,
        "empty": 3,
        "identical": 1,
        "placeholders": 0,
        "duplicate": 2,
        "too long": 1,
        "ratio": 1,
        "kept": 4,
    }
    pairs = Pairs.map(tmp_path / "train", "<u2")
    kept = [letters.decode_target([pairs.tgt[i].tolist()])[0] for i in range(len(pairs))]
    assert kept == ["c d", "d c", "a b c d e", "a b c"]


def test_truncated_or_missing_tokens_are_reported(tokenizer: Tokenizer, tmp_path: Path) -> None:
    binarised(PAIRS[:20], tmp_path, tokenizer)
    path = tmp_path / "train.tgt.tokens"
    path.write_bytes(path.read_bytes()[:-2])
    fixes = []
    for _ in range(2):
        with pytest.raises(RunError) as error:
            Pairs.map(tmp_path / "train", "<u2")
        fixes.append(str(error.value))
        path.unlink(missing_ok=True)
    assert fixes == [f"{path} is missing or truncated: {rebuild_command(tmp_path)}"] * 2


def test_missing_offsets_are_reported(tokenizer: Tokenizer, tmp_path: Path) -> None:
    binarised(PAIRS[:20], tmp_path, tokenizer)
    with pytest.raises(RunError) as error:
        Pairs.map(tmp_path / "dev", "<u2")
    offsets = tmp_path / "dev.src.offsets"
    assert str(error.value) == (
        f"{offsets} is missing: run 'yakusu prepare --again --run {tmp_path.parent}' to rebuild it"
    )


# ---- data.json


FACTS = DataFacts(
    dtype="<u2",
    n_train=3,
    n_dev=1,
    report={"read": 5, "empty": 1, "kept": 4},
    inputs={"train.src": "ab12"},
    parts={"train": (CorpusPart(n_pairs=2, weight=1.0), CorpusPart(n_pairs=1, weight=0.5))},
    fullness=0.9,
)


def test_facts_are_read_as_written(tmp_path: Path) -> None:
    FACTS.write(tmp_path)
    assert DataFacts.read(tmp_path) == FACTS
    assert list(json.loads((tmp_path / "data.json").read_text()))[:2] == ["version", "dtype"]


def test_facts_without_version_and_parts_are_version_1(tmp_path: Path) -> None:
    old = FACTS.model_dump(mode="json", exclude={"version", "parts", "trees"})
    (tmp_path / "data.json").write_text(json.dumps(old))
    facts = DataFacts.read(tmp_path)
    assert (facts.version, facts.parts, facts.trees) == (1, None, {})


def test_facts_of_the_first_release_are_read() -> None:
    facts = DataFacts.read(Path(__file__).parents[1] / "fixtures/format-1/interrupted/data")
    assert (facts.version, facts.n_train, facts.n_dev) == (1, 570, 30)


@pytest.mark.parametrize("content", ["", "{", "{}", '{"dtype": "<u8"}'])
def test_corrupted_facts_are_reported(content: str, tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text(content)
    with pytest.raises(RunError, match=r"data\.json is missing or corrupt: run 'yakusu prep"):
        Pairs.open(tmp_path, "train")


def test_facts_of_a_later_version_are_reported(tmp_path: Path) -> None:
    FACTS.model_copy(update={"version": 2}).write(tmp_path)
    with pytest.raises(
        RunError, match=r"data\.json has version 2, but this version of yakusu reads 1: update"
    ):
        DataFacts.read(tmp_path)


# ---- streaming


def test_binarising_no_pairs_gives_an_empty_corpus(tokenizer: Tokenizer, tmp_path: Path) -> None:
    pairs, _ = binarised([], tmp_path, tokenizer)
    assert len(pairs) == 0 and pairs.src.lengths.tolist() == []


def test_memory_is_limited_to_a_few_windows(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yakusu.data.pairs._WINDOW", 512)
    ahead = []

    class Watch(Silent):
        written = 0

        def track(self, what: str, unit: str, total: int | None) -> nullcontext["Watch"]:
            return nullcontext(self)

        def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
            self.written += n

    watch = Watch()

    def stream() -> Iterator[Pair]:
        for n in range(4_000):
            ahead.append(n - watch.written)
            yield PAIRS[n % len(PAIRS)]

    binarise(
        [RawPart(tokenizer, enumerate(stream(), start=1), FilterReport())],
        tmp_path / "train",
        dtype="<u2",
        filters=EVERYTHING,
        total=1,  # so that no processes start
        progress=watch,
    )
    assert watch.written == 4_000
    assert max(ahead) <= 4 * 512
