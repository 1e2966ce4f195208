"""Exported vectors: yakusu and gensim read them back exactly; some words are refused."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.cases import examples
from yakusu.compress.compressor import CodebookCompressor, LatticeCompressor
from yakusu.compress.storage import CompressedMatrix
from yakusu.errors import DataError, ModelError
from yakusu.progress import Silent
from yakusu.vectors.exports import Form, _write_text, export
from yakusu.vectors.file import open_compressed, open_words, write_compressed
from yakusu.vectors.formats import read_vectors
from yakusu.vectors.keyed import CompressedVectors

V, H = 8_300, 5  # more than one block
WORDS = ["king", "queen", "訳す", "a\u00a0b", "c\u2028d", "e\u0085f", "3", "\ufeff", "-1.5"]
Floats = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def matrices() -> dict[str, CompressedMatrix]:
    rng = np.random.default_rng(8)
    dense = rng.standard_normal((V, H)) @ rng.standard_normal((H, H)) + 0.3
    return {
        "codes": CodebookCompressor(4, 16).fit(dense).compressed_,
        "integers": LatticeCompressor(0.3).fit(dense).compressed_,
    }


@pytest.fixture(params=["codes", "integers"])
def file(
    request: pytest.FixtureRequest, matrices: dict[str, CompressedMatrix], tmp_path: Path
) -> Path:
    return written(tmp_path, matrices[request.param])


def written(folder: Path, matrix: CompressedMatrix, words: Sequence[str] = WORDS) -> Path:
    """Write compressed vectors whose first words are given."""
    names = [*words, *(f"w{i}" for i in range(len(words), V))]
    write_compressed(folder / "v.ykv", CompressedVectors.of(names, matrix))
    return folder / "v.ykv"


# --- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *(("v.txt", None), ("v.vec", None), ("v.bin", None), ("v.npy", None)),
        *(("v", "word2vec"), ("v", "word2vec-binary"), ("v.txt", "glove"), ("v", "npy")),
    ],
)
def test_exported_vectors_are_read_back_exactly(
    tmp_path: Path, file: Path, name: str, form: Form | None
) -> None:
    vectors, out = open_words(file), tmp_path / name
    made = export(file, out, form=form)
    assert (made.n_vectors, made.width, made.files[0]) == (V, H, out)
    words = made.files[1] if made.form == "npy" else None
    read = read_vectors(out, words=words)
    assert read.words == list(vectors.words)
    np.testing.assert_array_equal(read.vectors, vectors.dense(), strict=True)
    assert sorted(tmp_path.iterdir()) == sorted({file, *made.files})


def test_the_formats_are_those_of_their_libraries(tmp_path: Path) -> None:
    dense = np.array([[0.5, -2], [1, 0.25], [0.5, 0.25]], np.float32)
    matrix = CodebookCompressor(2, 3).fit(dense).compressed_
    write_compressed(tmp_path / "v.ykv", CompressedVectors.of(["a", "ß", "訳"], matrix))
    a, b, c = open_compressed(tmp_path / "v.ykv").dense().astype("<f4")
    for form in ("word2vec", "glove", "word2vec-binary", "npy"):
        export(tmp_path / "v.ykv", tmp_path / form, form=form)
    lines = "".join(
        f"{word} {x:.9g} {y:.9g}\n" for word, (x, y) in zip("aß訳", (a, b, c), strict=True)
    )
    assert (tmp_path / "word2vec").read_text(encoding="utf-8") == "3 2\n" + lines
    assert (tmp_path / "glove").read_text(encoding="utf-8") == lines
    assert (tmp_path / "word2vec-binary").read_bytes() == b"".join(
        [
            b"3 2\n",
            b"a ",
            a.tobytes(),
            "\nß ".encode(),
            b.tobytes(),
            "\n訳 ".encode(),
            c.tobytes(),
            b"\n",
        ]
    )
    np.testing.assert_array_equal(np.load(tmp_path / "npy"), [a, b, c], strict=True)
    assert (tmp_path / "npy.words.txt").read_text(encoding="utf-8") == "a\nß\n訳\n"


class Rows:
    """Vectors that are not rebuilt from codes."""

    def __init__(self, vectors: Floats) -> None:
        self.vectors, self.width = vectors, vectors.shape[1]
        self.words = [f"w{i}" for i in range(len(vectors))]
        self.rows = vectors.__getitem__

    def __len__(self) -> int:
        return len(self.vectors)


@settings(max_examples=examples(100), deadline=None)
@given(
    arrays.arrays(
        np.float32,
        st.tuples(st.integers(1, 3), st.integers(1, 4)),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    )
)
def test_every_float32_is_read_back_exactly_from_text(
    tmp_path_factory: pytest.TempPathFactory, vectors: Floats
) -> None:
    path = tmp_path_factory.mktemp("text") / "v.txt"
    with path.open("wb") as file, Silent().track("", "", None) as tracker:
        _write_text(file, vectors=Rows(vectors), tracker=tracker, header=True)  # type: ignore[arg-type]
    np.testing.assert_array_equal(read_vectors(path).vectors.view("i4"), vectors.view("i4"))


class Watch:
    """A progress reporter that adds up what it receives."""

    def __init__(self) -> None:
        self.done, self.opened = 0, ("", "", 0)

    def say(self, text: str) -> None:
        raise AssertionError(text)

    def track(self, what: str, unit: str, total: int | None) -> AbstractContextManager["Watch"]:
        self.opened = (what, unit, total or 0)
        return nullcontext(self)

    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        self.done += n


def test_progress_counts_the_vectors(tmp_path: Path, matrices: dict[str, CompressedMatrix]) -> None:
    watch = Watch()
    export(written(tmp_path, matrices["codes"]), tmp_path / "v.bin", progress=watch)
    assert (watch.opened, watch.done) == (("writing v.bin", "vectors", V), V)


# --- gensim ------------------------------------------------------------------------------------


# gensim does not close a file without a header, which pytest finds at any later time.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("word2vec", {}),
        ("word2vec-binary", {"binary": True}),
        ("glove", {"no_header": True}),
        ("gensim", None),
    ],
)
def test_gensim_reads_equal_vectors_and_finds_equal_neighbours(
    tmp_path: Path, file: Path, form: Form, options: dict[str, bool] | None
) -> None:
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    vectors, out = open_words(file), tmp_path / "v.out"
    assert export(file, out, form=form).files == (out,)
    if options is None:
        keyed = keyed_vectors.load(str(out))
    else:
        keyed = keyed_vectors.load_word2vec_format(str(out), **options)
    assert keyed.index_to_key == list(vectors.words)
    np.testing.assert_array_equal(keyed.vectors, vectors.dense(), strict=True)
    for word in ("king", "訳す", "w8000"):
        theirs, ours = keyed.most_similar(word), vectors.most_similar(word, topn=V)
        near = pytest.approx([cosine for _, cosine in theirs], abs=1e-5)
        assert [cosine for _, cosine in ours[:10]] == near
        assert [dict(ours)[other] for other, _ in theirs] == near  # words with equal codes are tied


def test_words_with_spaces_and_line_breaks_are_exported_to_gensim(
    tmp_path: Path, matrices: dict[str, CompressedMatrix]
) -> None:
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    path = written(tmp_path, matrices["codes"], ["a b", "c\nd", ""])
    export(path, tmp_path / "v.kv")
    assert keyed_vectors.load(str(tmp_path / "v.kv")).index_to_key[:3] == ["a b", "c\nd", ""]


# --- refusals ------------------------------------------------------------------------------


def refusal(run: Callable[[], object], folder: Path) -> str:
    """The message of the error, one line, without the folder; nothing else is left there."""
    before = sorted(folder.iterdir())
    with pytest.raises(DataError) as caught:
        run()
    assert sorted(folder.iterdir()) == before
    message = str(caught.value).replace(f"{folder}/", "")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("word", ["a b", "a\tb", "a\nb", "\r", "\v", "a\f", ""])
@pytest.mark.parametrize("form", ["word2vec", "word2vec-binary", "glove"])
def test_words_with_white_space_are_refused_in_formats_of_words_and_numbers(
    tmp_path: Path, matrices: dict[str, CompressedMatrix], word: str, form: Form
) -> None:
    path = written(tmp_path, matrices["codes"], ["king", word])
    message = refusal(lambda: export(path, tmp_path / "v", form=form), tmp_path)
    fault = f"the word {word!r} is empty or contains white space, which the format {form} cannot"
    assert message.startswith(f"{fault} represent: choose npy or gensim, or remove the word")


def test_words_with_line_breaks_are_refused_in_a_list_and_others_are_read_back(
    tmp_path: Path, matrices: dict[str, CompressedMatrix]
) -> None:
    for word in ("a\nb", "a\r"):
        path = written(tmp_path, matrices["codes"], [word])
        message = refusal(lambda path=path: export(path, tmp_path / "v.npy"), tmp_path)
        assert message.startswith(f"the word {word!r} contains a line break, which the format npy")
    words = ["a b", "\t", "", " "]
    export(written(tmp_path, matrices["codes"], words), tmp_path / "v.npy")
    read = read_vectors(tmp_path / "v.npy", words=tmp_path / "v.npy.words.txt")
    assert read.words[:4] == words


def test_existing_files_are_not_replaced(
    tmp_path: Path, matrices: dict[str, CompressedMatrix]
) -> None:
    path = written(tmp_path, matrices["codes"])
    for name in ("v.bin", "m.npy.words.txt"):
        (tmp_path / name).write_text("mine")
    expected = "v.bin exists: choose another name, or delete it"
    assert refusal(lambda: export(path, tmp_path / "v.bin"), tmp_path) == expected
    expected = "m.npy.words.txt exists: choose another name, or delete it"
    assert refusal(lambda: export(path, tmp_path / "m.npy"), tmp_path) == expected
    assert (tmp_path / "v.bin").read_text() == (tmp_path / "m.npy.words.txt").read_text() == "mine"


def test_outputs_that_cannot_be_written_are_refused(
    tmp_path: Path, matrices: dict[str, CompressedMatrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, matrices["codes"])
    message = refusal(lambda: export(path, tmp_path / "none" / "v.bin"), tmp_path)
    assert message == "folder none does not exist: create it or choose another one"
    message = refusal(lambda: export(path, tmp_path / "v.ykv2"), tmp_path)
    assert message.startswith("v.ykv2 has the suffix '.ykv2', which determines no format: add")
    message = refusal(lambda: export(path, tmp_path / "v", form="csv"), tmp_path)  # type: ignore[arg-type]
    assert message == "'csv' is not a format: choose word2vec, word2vec-binary, glove, npy, gensim"
    monkeypatch.setattr("yakusu.vectors.exports.find_spec", lambda _: None)
    message = refusal(lambda: export(path, tmp_path / "v.kv"), tmp_path)
    assert message.startswith("v.kv: gensim is not installed: install it with 'pip install gensim'")


def test_vectors_without_words_are_exported_to_npy(
    tmp_path: Path, matrices: dict[str, CompressedMatrix]
) -> None:
    (tmp_path / "v.npy.words.txt").write_text("of another file")
    for name, matrix in matrices.items():
        vectors = write_compressed(tmp_path / name, matrix)
        out = tmp_path / f"{name}.npy"
        made = export(tmp_path / name, out)
        assert (made.form, made.files, made.n_vectors, made.width) == ("npy", (out,), V, H)
        np.testing.assert_array_equal(np.load(out), vectors.dense(), strict=True)
    write_compressed(tmp_path / "v", matrices["codes"])
    assert export(tmp_path / "v", tmp_path / "v.npy").files == (tmp_path / "v.npy",)
    assert (tmp_path / "v.npy.words.txt").read_text() == "of another file"


@pytest.mark.parametrize("form", ["word2vec", "word2vec-binary", "glove", "gensim"])
def test_formats_of_words_refuse_vectors_without_words(
    tmp_path: Path,
    matrices: dict[str, CompressedMatrix],
    form: Form,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("yakusu.vectors.exports.find_spec", lambda _: None)
    write_compressed(tmp_path / "v.ykv", matrices["codes"])
    message = refusal(lambda: export(tmp_path / "v.ykv", tmp_path / "v", form=form), tmp_path)
    assert message == (
        f"v.ykv has no words, which the format {form} needs: choose the format npy (--format npy)"
    )


def test_a_file_that_is_not_compressed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v.ykv").write_text("king 1 2\n")
    with pytest.raises(ModelError, match="is not a file of compressed vectors"):
        export(tmp_path / "v.ykv", tmp_path / "v.txt")
    assert not (tmp_path / "v.txt").exists()
