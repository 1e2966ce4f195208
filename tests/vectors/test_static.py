"""Static embeddings: the ids and vectors of model2vec, from its folders and compressed ones."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import save_file

import yakusu
from yakusu.compress.config import CompressConfig
from yakusu.errors import DataError, ModelError, RecipeError
from yakusu.vectors.static import averaging
from yakusu.vectors.static import model as static_model

tokenizers = pytest.importorskip("tokenizers", reason="pip install tokenizers")
pytestmark = pytest.mark.usefixtures("undrawn")
Floats = npt.NDArray[np.float32]
WORDS = [
    "[PAD]",
    "[UNK]",
    *"abcdefgh",
    *(f"##{each}" for each in "abcdefgh"),
    *".,![]",
    "head",
    "é",
]
N, H = len(WORDS), 6
INTEGERS = CompressConfig(method="integers", step=0.02)
TEXTS = [
    *("a head.", "HEAD bag", "", " ", "xyz", "head xyz a", "[UNK] a", "[unk] a", "a\tb\x0bc"),
    *("é", "É a", "中a", "a" * 100, "a" * 101, "a,b!c  d", "headbag" * 40, "[PAD", "bad\u200bge"),
]


def bert_tokenizer() -> Any:
    """A WordPiece tokenizer as model2vec saves them."""
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(["[PAD]", "[UNK]"])
    made.enable_truncation(3)
    made.enable_padding(length=9)
    return made


@pytest.fixture
def vectors() -> Floats:
    rng = np.random.default_rng(4)
    mixed = rng.standard_normal((N, H)) @ rng.standard_normal((H, H)) + 0.4
    return mixed.astype(np.float32)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a folder of model2vec; returns it."""

    def write(config: object = None, tokenizer: Any = None, **arrays: Any) -> Path:
        folder = tmp_path / "model"
        folder.mkdir(exist_ok=True)
        save_file(arrays, folder / "model.safetensors")
        (tokenizer or bert_tokenizer()).save(str(folder / "tokenizer.json"))
        (folder / "config.json").write_text(json.dumps({} if config is None else config))
        return folder

    return write


def expected_ids(texts: Sequence[str], max_length: int | None) -> list[list[int]]:
    """What model2vec does: cut characters, split, truncate, leave out unknown tokens."""
    tokenizer = bert_tokenizer()
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_length is not None:
        tokenizer.enable_truncation(max_length)
        texts = [text[: max_length * int(np.median([*map(len, WORDS)]))] for text in texts]
    found = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    return [[i for i in each.ids if i != 1] for each in found]


def expected(rows: Floats, weights: Floats | None = None) -> Floats:
    """The mean of the vectors of each text, or 0."""
    scaled = rows if weights is None else rows * weights[:, None]
    means = [
        scaled[ids].mean(axis=0) if ids else np.zeros(rows.shape[1])
        for ids in expected_ids(TEXTS, 512)
    ]
    return np.array(means, np.float32)


@pytest.mark.parametrize("max_length", [0, 1, 2, 7, 512, None])
def test_the_ids_are_those_of_the_whole_tokenizer(
    write: Callable[..., Path], vectors: Floats, max_length: int | None
) -> None:
    opened = yakusu.vectors.open_static(write(embeddings=vectors))
    for texts in (TEXTS, TEXTS[::-1], TEXTS * 3):  # with known words, and with new ones
        assert opened.tokenize(texts, max_length=max_length) == expected_ids(texts, max_length)


def test_the_ids_do_not_depend_on_words_that_are_forgotten(
    write: Callable[..., Path], vectors: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yakusu.vectors.static.tokens._MOST_WORDS", 2)
    opened = yakusu.vectors.open_static(write(embeddings=vectors))
    assert [opened.tokenize([text])[0] for text in TEXTS] == expected_ids(TEXTS, None)


@pytest.mark.parametrize("added", ["head", "bag", "É", "a\x01b", "] a"])
def test_added_tokens_are_found_in_texts(
    write: Callable[..., Path], vectors: Floats, added: str
) -> None:
    tokenizer = bert_tokenizer()
    tokenizer.add_tokens([added])
    tokenizer.no_padding()
    tokenizer.no_truncation()
    rows = np.concatenate([vectors, vectors[: tokenizer.get_vocab_size() - N]])
    opened = yakusu.vectors.open_static(write(embeddings=rows, tokenizer=tokenizer))
    texts = ["a bag, a head", "BAG", "e É", "ab a\x01b", "[] a b"]
    found = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    assert opened.tokenize(texts) == [[i for i in each.ids if i != 1] for each in found]


def test_words_of_other_tokenizers_are_not_split_on_their_own(
    write: Callable[..., Path], vectors: Floats
) -> None:
    vocabulary = {word: i for i, word in enumerate([*WORDS[:-1], "bag,"])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    opened = yakusu.vectors.open_static(write(embeddings=vectors, tokenizer=tokenizer))
    assert opened.tokenize(["a bag, head bag"]) == [[2, N - 1, WORDS.index("head")]]


def test_a_unigram_model_has_its_unknown_token_left_out(
    write: Callable[..., Path], vectors: Floats
) -> None:
    pieces = [(word, -1.0) for word in WORDS]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 1))
    opened = yakusu.vectors.open_static(write(embeddings=vectors, tokenizer=tokenizer))
    assert opened.tokenize(["aXb"]) == [[2, 3]]


@pytest.mark.parametrize("kind", ["float32", "float16", "float64", "int8"])
def test_texts_get_the_mean_of_the_vectors_of_their_tokens(
    write: Callable[..., Path], vectors: Floats, kind: str
) -> None:
    rows = (10 * vectors).astype(kind)
    opened = yakusu.vectors.open_static(write(embeddings=rows))
    found = opened.encode(TEXTS)
    assert found.dtype == ("float32" if kind == "int8" else kind) and opened.dim == H
    assert found == pytest.approx(expected(rows.astype(np.float32)), rel=2e-3, abs=2e-3)
    assert (opened.encode("a head.") == found[0]).all()
    assert opened.encode([]).shape == (0, H)


def test_weights_and_rows_of_tokens_count(write: Callable[..., Path], vectors: Floats) -> None:
    weights = np.linspace(0.1, 2, N).astype(np.float32)
    mapping = np.arange(N) % 5
    folder = write(embeddings=vectors[:5], weights=weights, mapping=mapping)
    right = expected(vectors[mapping], weights)
    assert yakusu.vectors.open_static(folder).encode(TEXTS) == pytest.approx(right, abs=1e-5)
    small = folder.with_name("small")
    yakusu.vectors.compress_static(folder, small, config=INTEGERS)
    found = yakusu.vectors.open_static(small).encode(TEXTS)
    assert found == pytest.approx(right, abs=0.05) and (found != right).any()
    rows = yakusu.vectors.open_compressed(small / "embeddings.ykv").dense()
    assert found == pytest.approx(expected(rows[mapping], weights), abs=1e-5)


def test_the_configuration_gives_the_defaults(write: Callable[..., Path], vectors: Floats) -> None:
    opened = yakusu.vectors.open_static(
        write({"normalize": True, "max_length": 2}, embeddings=vectors)
    )
    found = opened.encode(TEXTS)
    lengths = np.linalg.norm(found, axis=1)
    assert lengths == pytest.approx([float(len(ids) > 0) for ids in expected_ids(TEXTS, 2)])
    plain = opened.encode(TEXTS, normalize=False, max_length=None, show_progress_bar=True)
    assert plain == pytest.approx(expected(vectors), abs=1e-5)
    unlimited = write({"max_length": None}, embeddings=vectors)
    assert yakusu.vectors.open_static(unlimited).settings.max_length is None


@pytest.mark.parametrize(
    "config", [INTEGERS, CompressConfig(k=16), CompressConfig(m=4, k=5)], ids=str
)
def test_compressed_tokens_are_averaged_as_their_rebuilt_vectors(
    write: Callable[..., Path], vectors: Floats, config: CompressConfig, tmp_path: Path
) -> None:
    folder, small = write({"normalize": False}, embeddings=vectors), tmp_path / "small"
    made = yakusu.vectors.compress_static(folder, small, config=config)
    rows = yakusu.vectors.open_compressed(small / "embeddings.ykv", verified=True).dense()
    opened = yakusu.vectors.open_static(small, verified=True)
    assert opened.encode(TEXTS) == pytest.approx(expected(rows), abs=1e-5)
    files = ("embeddings.ykv", "config.json", "tokenizer.json")
    assert made.after == sum((small / name).stat().st_size for name in files)
    assert made.tokenizer == (folder / "tokenizer.json").stat().st_size
    assert made.vectors.facts.n_vectors == N

    dense = tmp_path / "dense"
    yakusu.vectors.export_static(small, dense)
    modes = [(dense / name).stat().st_mode for name in ("model.safetensors", "config.json")]
    assert modes[0] == modes[1]
    assert yakusu.vectors.open_static(dense).encode(TEXTS) == pytest.approx(
        expected(rows), abs=1e-5
    )


def test_the_vectors_depend_neither_on_the_batch_nor_on_kept_tokens(
    write: Callable[..., Path], vectors: Floats, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yakusu.vectors.compress_static(write(embeddings=vectors), tmp_path / "s", config=INTEGERS)
    right = yakusu.vectors.open_static(tmp_path / "s").encode(TEXTS)
    monkeypatch.setattr(static_model, "_AT_ONCE", 5)
    monkeypatch.setattr(averaging, "_KEPT", 3 * H)
    opened = yakusu.vectors.open_static(tmp_path / "s")
    for _ in range(2):
        assert opened.encode(TEXTS, batch_size=3) == pytest.approx(right, abs=1e-6)
    monkeypatch.setattr("yakusu.compress.kernels.are_available", lambda: False)
    opened = yakusu.vectors.open_static(tmp_path / "s")
    assert opened.encode(TEXTS) == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("with_rows", [False, True])
def test_model2vec_gives_the_same_ids_and_vectors(
    write: Callable[..., Path], vectors: Floats, tmp_path: Path, with_rows: bool
) -> None:
    model2vec = pytest.importorskip("model2vec")
    arrays: dict[str, Any] = {"embeddings": vectors}
    if with_rows:
        arrays = {"embeddings": vectors[:5], "mapping": np.arange(N) % 5}
        arrays["weights"] = np.linspace(0.1, 2, N)
    folder, small = write({"normalize": True, "max_length": 3}, **arrays), tmp_path / "small"
    yakusu.vectors.compress_static(folder, small, config=INTEGERS)
    yakusu.vectors.export_static(small, tmp_path / "dense")
    for path, same in ((folder, folder), (tmp_path / "dense", small)):
        peer, opened = model2vec.StaticModel.from_pretrained(path), yakusu.vectors.open_static(same)
        for options in ({}, {"max_length": 1}, {"max_length": None, "normalize": False}):
            found, right = opened.encode(TEXTS, **options), peer.encode(TEXTS, **options)
            assert found == pytest.approx(right, abs=1e-5)
        assert opened.encode("a bag").shape == peer.encode("a bag").shape == (H,)
        peer.max_length = None
        assert opened.tokenize(TEXTS) == peer.tokenize(TEXTS)


@pytest.mark.parametrize("nested", ["", "0_StaticEmbedding"])
def test_folders_of_sentence_transformers_are_read(
    write: Callable[..., Path], vectors: Floats, nested: str
) -> None:
    folder = write(**{"embedding.weight": vectors})
    (folder / "config.json").rename(folder / "config_sentence_transformers.json")
    (folder / nested).mkdir(exist_ok=True)
    for name in ("model.safetensors", "tokenizer.json"):
        (folder / name).rename(folder / nested / name)
    found = yakusu.vectors.open_static(folder).encode(TEXTS)
    assert found == pytest.approx(expected(vectors), abs=1e-5)


@pytest.mark.parametrize(
    ("config", "arrays", "message"),
    [
        ({}, {"other": np.ones((N, H), np.float32)}, "no tensor 'embeddings'"),
        ({}, {"embeddings": np.ones(N, np.float32)}, r"has shape \(25,\) and type float32"),
        ({}, {"embeddings": np.ones((N, H), np.int32)}, "type int32"),
        ({}, {"embeddings": np.full((N, H), np.nan, np.float32)}, "not finite"),
        ({}, {"embeddings": np.full((N, H), 3e38, np.float32)}, r"or above 1e\+08"),
        ({}, {"weights": np.full(N, 1e300)}, "do not fit"),
        (
            {},
            {"embeddings": np.ones((N - 1, H), np.float32)},
            "24 tokens, but its tokenizer has 25",
        ),
        ({"normalize": "yes"}, {}, "true or false for 'normalize'"),
        ({"max_length": -1}, {}, "a number or null for 'max_length'"),
        ({"max_length": True}, {}, "a number or null for 'max_length'"),
        ([], {}, "config.json is not valid"),
        ({}, {"weights": np.ones(N - 1, np.float32)}, "do not fit 25 vectors"),
        ({}, {"weights": np.full(N, np.inf, np.float32)}, "do not fit 25 vectors"),
        ({}, {"mapping": np.full(N, N)}, "do not fit 25 vectors"),
        ({}, {"mapping": np.full(N, -1)}, "do not fit 25 vectors"),
        ({}, {"mapping": np.ones(N, np.float32)}, "do not fit 25 vectors"),
    ],
)
def test_folders_that_do_not_fit_are_refused(
    write: Callable[..., Path], vectors: Floats, config: object, arrays: Any, message: str
) -> None:
    is_replaced = {"other", "embeddings"} & arrays.keys()
    folder = write(config, **({} if is_replaced else {"embeddings": vectors}), **arrays)
    with pytest.raises(ModelError, match=message):
        yakusu.vectors.open_static(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, bytes(range(256))])
def test_damaged_files_are_refused(
    write: Callable[..., Path], vectors: Floats, name: str, content: bytes
) -> None:
    folder = write(embeddings=vectors)
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match=name):
        yakusu.vectors.open_static(folder)


def test_truncated_codes_are_refused(
    write: Callable[..., Path], vectors: Floats, tmp_path: Path
) -> None:
    yakusu.vectors.compress_static(write(embeddings=vectors), tmp_path / "s", config=INTEGERS)
    path = tmp_path / "s" / "embeddings.ykv"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelError, match=r"embeddings\.ykv is truncated"):
        yakusu.vectors.open_static(tmp_path / "s")


def test_nothing_is_replaced_that_was_not_compressed(
    write: Callable[..., Path], vectors: Floats, tmp_path: Path
) -> None:
    folder, small = write(embeddings=vectors), tmp_path / "small"
    with pytest.raises(DataError, match="was not written by 'vectors compress'"):
        yakusu.vectors.compress_static(folder, folder)
    for _ in range(2):
        yakusu.vectors.compress_static(folder, small, config=INTEGERS)
    with pytest.raises(DataError, match="already compressed"):
        yakusu.vectors.compress_static(small, tmp_path / "again")
    with pytest.raises(DataError, match="is not compressed"):
        yakusu.vectors.export_static(folder, tmp_path / "again")
    with pytest.raises(DataError, match="exists"):
        yakusu.vectors.export_static(small, folder)
    with pytest.raises(RecipeError, match=r"compress\.int8 has no effect"):
        yakusu.vectors.compress_static(folder, tmp_path / "again", config=CompressConfig(int8=True))
    with pytest.raises(ModelError, match="does not contain static embeddings"):
        yakusu.vectors.open_static(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "small"]
    shutil.rmtree(small)


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["a", 3], {}, "a text is not a string"),
        (["\ud800"], {}, "not valid Unicode"),
        (["a"], {"batch_size": 0}, "batch_size = 0"),
        (["a"], {"max_length": -1}, "max_length = -1"),
    ],
)
def test_wrong_texts_and_numbers_are_refused(
    write: Callable[..., Path], vectors: Floats, texts: Any, options: Any, message: str
) -> None:
    opened = yakusu.vectors.open_static(write(embeddings=vectors))
    with pytest.raises(DataError, match=message):
        opened.encode(texts, **options)
