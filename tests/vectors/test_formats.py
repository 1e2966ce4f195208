"""Files of word vectors: each format is read as written, and errors name each fault."""

import bz2
import gzip
import io
import lzma
import pickle
import struct
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.numpy import save_file

from tests.cases import examples
from yakusu.errors import DataError
from yakusu.vectors.formats import WordVectors, read_vectors

Matrix = npt.NDArray[np.float32]
# The last four hold what str.split or str.splitlines would break a word or a line at.
WORDS = ["king", "訳す", "3", "a\u00a0b", "c\u2028d", "e\u0085f", "g\rh"]


@pytest.fixture(scope="module")
def vectors() -> Matrix:
    return np.random.default_rng(4).standard_normal((len(WORDS), 5)).astype(np.float32)


def as_text(words: list[str], vectors: Matrix, end: str = "\n") -> bytes:
    rows = zip(words, vectors, strict=True)
    return "".join(f"{word} {' '.join(map(str, row))}{end}" for word, row in rows).encode()


def as_binary(words: list[str], vectors: Matrix, end: bytes = b"\n") -> bytes:
    rows = zip(words, vectors, strict=True)
    return b"".join(word.encode() + b" " + struct.pack("<5f", *row) + end for word, row in rows)


def written(folder: Path, data: bytes, name: str = "v.txt") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def assert_same(read: WordVectors, words: list[str], vectors: npt.NDArray[np.floating]) -> None:
    assert read.words == words
    assert read.vectors.dtype == np.float32 and read.vectors.flags.c_contiguous
    np.testing.assert_array_equal(read.vectors, vectors)


def refusal(path: Path, words: Path | None = None) -> str:
    """The message of the error, one line, without the folder."""
    with pytest.raises(DataError) as caught:
        read_vectors(path, words=words)
    message = str(caught.value).replace(f"{path.parent}/", "")
    assert "\n" not in message
    return message


# --- kinds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header", [b"", b"7 5\n", b"7 5\r\n", b"\xef\xbb\xbf7 5\n", b"\xef\xbb\xbf"]
)
@pytest.mark.parametrize("end", ["\n", " \n", "\r\n"])  # word2vec and fastText end in a space
def test_text_is_restored(tmp_path: Path, vectors: Matrix, header: bytes, end: str) -> None:
    path = written(tmp_path, header + as_text(WORDS, vectors, end))
    assert_same(read_vectors(path), WORDS, vectors)


@pytest.mark.parametrize("end", [b"\n", b""])
def test_binary_is_restored(tmp_path: Path, vectors: Matrix, end: bytes) -> None:
    path = written(tmp_path, b"7 5\n" + as_binary(WORDS, vectors, end))
    assert_same(read_vectors(path), WORDS, vectors)


def test_gzip_files_are_recognised_by_content(tmp_path: Path, vectors: Matrix) -> None:
    for data in (as_text(WORDS, vectors), b"7 5\n" + as_binary(WORDS, vectors)):
        path = written(tmp_path, gzip.compress(data, mtime=0), "vectors")
        assert_same(read_vectors(path), WORDS, vectors)


def test_the_last_line_may_lack_its_newline(tmp_path: Path, vectors: Matrix) -> None:
    path = written(tmp_path, as_text(WORDS, vectors).removesuffix(b"\n"))
    assert_same(read_vectors(path), WORDS, vectors)


@pytest.mark.parametrize("first", [". . .", "king", "7", ""])
def test_words_may_contain_spaces_as_in_glove_840b(tmp_path: Path, first: str) -> None:
    words = [first, ". .", "at name@domain.com"]
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert_same(read_vectors(written(tmp_path, as_text(words, vectors))), words, vectors)


def test_columns_aligned_with_spaces_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, b"king    0.5  -1\nqueen  -0.5   1\n")
    assert_same(read_vectors(path), ["king", "queen"], np.array([[0.5, -1], [-0.5, 1]]))


def test_rows_that_span_two_reads_of_a_binary_file_are_intact(tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).standard_normal((70_000, 5)).astype(np.float32)
    words = [f"w{i}" for i in range(70_000)]
    path = written(tmp_path, b"70000 5\n" + as_binary(words, vectors))
    assert_same(read_vectors(path), words, vectors)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("size", [1, 2, 50])
def test_files_saved_by_gensim_are_restored(tmp_path: Path, size: int, binary: bool) -> None:
    models = pytest.importorskip("gensim.models")
    vectors = np.random.default_rng(size).standard_normal((300, size)).astype(np.float32)
    words = [f"Wort{i}é" for i in range(300)]
    keyed = models.KeyedVectors(size)
    keyed.add_vectors(words, vectors)
    keyed.save_word2vec_format(str(tmp_path / "v"), binary=binary)
    assert_same(read_vectors(tmp_path / "v"), keyed.index_to_key, vectors)
    assert_same(WordVectors(keyed.index_to_key, keyed.vectors), words, vectors)


word = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \n"), min_size=1)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_any_words_and_numbers_are_restored_from_text(data: st.DataObject) -> None:
    words = data.draw(st.lists(word, min_size=1, max_size=6, unique=True))
    finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
    shape = (len(words), data.draw(st.integers(1, 4)))
    vectors = data.draw(arrays.arrays(np.float32, shape, elements=finite))
    header = f"{shape[0]} {shape[1]}\n".encode()
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), header + as_text(words, vectors))
        assert_same(read_vectors(path), words, vectors)


@pytest.mark.parametrize("kind", ["<f2", "<f4", "<f8", ">f4"])
def test_arrays_are_restored_with_their_words(tmp_path: Path, vectors: Matrix, kind: str) -> None:
    matrix, listed = vectors.astype(kind), tmp_path / "words.txt"
    listed.write_bytes("\n".join(WORDS).encode() + b"\n")
    np.save(tmp_path / "v.npy", np.asfortranarray(matrix))
    np.savez(tmp_path / "both.npz", words=np.array(WORDS), vectors=matrix)
    np.savez(tmp_path / "one.npz", matrix=matrix, counts=np.ones(7))
    expected = matrix.astype(np.float32)
    assert_same(read_vectors(tmp_path / "v.npy", words=listed), WORDS, expected)
    assert_same(read_vectors(tmp_path / "both.npz"), WORDS, expected)
    assert_same(read_vectors(tmp_path / "one.npz", words=listed), WORDS, expected)


@pytest.mark.parametrize("name", ["x", "vectors", "weight", "model.embedding.table"])
def test_the_matrix_of_a_safetensors_file_is_found(
    tmp_path: Path, vectors: Matrix, name: str
) -> None:
    other = {} if name == "x" else {"output": np.zeros((2, 2), np.float32)}
    path, listed = tmp_path / "v", written(tmp_path, "\n".join(WORDS).encode())
    save_file({name: vectors, "bias": vectors[0], **other}, path)
    assert_same(read_vectors(path, words=listed), WORDS, vectors)


def test_changing_vectors_does_not_change_their_file(tmp_path: Path, vectors: Matrix) -> None:
    np.save(tmp_path / "v.npy", vectors)
    listed = written(tmp_path, "\n".join(WORDS).encode())
    read_vectors(tmp_path / "v.npy", words=listed).vectors[:] = 0
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), vectors)


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
        assert n >= 0
        self.done += n


@pytest.mark.parametrize("packed", [False, True])
def test_progress_counts_the_bytes_of_the_file(tmp_path: Path, packed: bool) -> None:
    data = b"".join(b"w%d 1 2\n" % i for i in range(20_000))
    path, watch = written(tmp_path, gzip.compress(data, mtime=0) if packed else data), Watch()
    read_vectors(path, progress=watch)
    assert watch.opened == ("reading v.txt", "bytes", path.stat().st_size)
    assert watch.done == path.stat().st_size


# --- words ---------------------------------------------------------------------------------


def in_all_forms(words: list[bytes], rows: Matrix) -> dict[str, bytes]:
    """Rows in text with and without a header, with tabs, and in binary as word2vec and gensim."""
    header = b"%d %d\n" % rows.shape
    lines = [(word, *(b"%.9g" % x for x in row)) for word, row in zip(words, rows, strict=True)]
    text = b"".join(b" ".join(line) + b"\n" for line in lines)
    tabs = b"".join(b"\t".join(line) + b"\n" for line in lines)
    binary = [word + b" " + row.tobytes() for word, row in zip(words, rows, strict=True)]
    return {
        **{"word2vec": header + text, "glove": text, "tabs": tabs, "header": header + tabs},
        **{"mixed": text.replace(b" ", b"\t", 1), "windows": text.replace(b"\n", b" \t\r\n")},
        **{"blank": text + b"\n", "blanks": header + text + b" \r\n\r\n"},
        "binary": header + b"\n".join(binary) + b"\n\n",
        "gensim": header + b"".join(binary),
        "tabbed header": header.replace(b" ", b"\t") + tabs,
    }


FORMS = tuple(in_all_forms([b"a"], np.ones((1, 1), np.float32)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_words_may_contain_spaces_and_look_like_numbers_in_each_form(
    tmp_path: Path, form: str, pack: Callable[[bytes], bytes]
) -> None:
    words = ["the", "New York", "route 66", "nan", "1e5", "0.5", "at the New York", "3"]
    rows = np.random.default_rng(3).standard_normal((8, 25)).astype("<f4")
    data = pack(in_all_forms([word.encode() for word in words], rows)[form])
    assert_same(read_vectors(written(tmp_path, data)), words, rows)


@pytest.mark.parametrize("form", FORMS)
def test_words_in_another_encoding_are_refused_skipped_or_decoded(
    tmp_path: Path, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    words = ["\u00e9t\u00e9", "the", "\u00fcber"]
    rows = np.arange(60, dtype="<f4").reshape(3, 20) + np.float32(0.5)
    data = in_all_forms([word.encode("latin-1") for word in words], rows)[form]
    path = written(tmp_path, data)
    assert "name the encoding of the words (--encoding latin-1)" in refusal(path)
    assert_same(read_vectors(path, encoding="latin-1"), words, rows)
    assert not caplog.messages
    assert_same(read_vectors(path, errors="skip"), ["the"], rows[1:2])
    first = "row 0" if form in ("binary", "gensim") else "line"
    (message,) = caplog.messages
    assert message.startswith("2 rows are left out: their words are not UTF-8; the first")
    assert first in message and message.endswith(", b'\\xe9t\\xe9'")


@pytest.mark.parametrize("form", FORMS)
def test_repeated_words_keep_their_first_vector_and_are_counted_once(
    tmp_path: Path, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    rows = np.random.default_rng(3).standard_normal((4, 20)).astype("<f4")
    path = written(tmp_path, in_all_forms([b"a", b"b", b"a", b"a"], rows)[form])
    assert_same(read_vectors(path), ["a", "b"], rows[:2])
    (message,) = caplog.messages
    assert message.startswith("2 rows are left out: their words are repeated; the first is")
    assert message.endswith(", 'a'")


def test_a_fault_after_a_row_that_is_left_out_is_named_by_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, b"a 1 2\na 1 2\nb 1 nan\n")
    assert refusal(path).startswith("v.txt, line 3: the vector of 'b' has a value that is NaN")


def test_words_of_arrays_are_decoded_and_distinct_as_well(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    np.save(tmp_path / "v.npy", rows)
    listed = written(tmp_path, b"a\n\xe9\na\nb\n", "words.txt")
    found = read_vectors(tmp_path / "v.npy", words=listed, encoding="latin-1")
    assert_same(found, ["a", "\u00e9", "b"], rows[[0, 1, 3]])
    found = read_vectors(tmp_path / "v.npy", words=listed, errors="skip")
    assert_same(found, ["a", "b"], rows[[0, 3]])
    np.savez(tmp_path / "v.npz", words=np.array(["a", "b", "b", "c"]), vectors=rows)
    assert_same(read_vectors(tmp_path / "v.npz"), ["a", "b", "c"], rows[[0, 1, 3]])
    repeated = "1 row is left out: its word is repeated; the first is"
    place = f"{tmp_path}/v.npy, row 2 ({listed}, line 3), 'a'"
    assert f"{repeated} {place}" in caplog.messages
    assert f"{repeated} {tmp_path}/v.npz, row 2, 'b'" in caplog.messages
    assert len(caplog.messages) == 4


@pytest.mark.parametrize("encoding", ["nope", "utf-16", "cp037", "hex", "a\0b", ""])
def test_encodings_without_ascii_are_refused(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(DataError, match="is unknown or does not contain ASCII: choose another"):
        read_vectors(written(tmp_path, b"a 1 2\n"), encoding=encoding)


# --- refusals ------------------------------------------------------------------------------


def saved(array: npt.NDArray[np.generic]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def archive(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr(zipfile.ZipInfo(name), data)  # without the time
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "v.txt is empty"),
        (b"king\n", "v.txt, line 1: 0 numbers follow the word: each line needs a word and"),
        (b"king,1,2\n", "v.txt, line 1: 0 numbers follow the word: each line needs a word and"),
        (b"\n \r\n", "v.txt contains no words: choose another file"),
        (b"3 0\nking\n", "v.txt, line 1: 0 numbers follow the word: each line needs a word and"),
        (b"1 99999999999\na \0", "v.txt, line 1: 99999999999 numbers follow the word: each"),
        (b"0 3\n", "v.txt contains no words"),
        (b"2 2\na 1 2\n", "v.txt has 1 rows, but its first line says 2: correct"),
        (b"1 2\na 1 2\nb 3 4\n", "v.txt has 2 rows, but its first line says 1: correct"),
        (b"a 1 2\nb 3\n", "v.txt, line 2: 1 numbers follow the word instead of 2: correct"),
        (b"a 1 2\nb 3 4 5\n", "v.txt, line 2: 3 numbers follow the word instead of 2"),
        (b"a 1 2\n3 4\n", "v.txt, line 2: 1 numbers follow the word instead of 2"),
        (b"a 1 2\n\nb 1 2\n", "v.txt, line 2 is blank, but rows follow it: remove the line"),
        (b"a 1 2\n\n\n1", "v.txt, line 2 is blank, but rows follow it: remove the line"),
        (b"a 1 2\nb 3", "v.txt, line 2: the file ends after 1 of 2 numbers: copy it again"),
        (b"a 1 2\nb c 0.5 1 2\n", "v.txt, line 2: 3 numbers follow the word instead of 2"),
        (b"a .1 .2\rb .3 .4\r", "v.txt, line 1: the word 'a .1 .2\\rb' contains numbers: correct"),
        (b"a .1 .2b .3 .4\nc 1 .5\n", "v.txt, line 1: the word 'a .1 .2b' contains numbers"),
        (
            b"2 5\na 1 2\nb 3 4\n",
            "v.txt, line 2: 2 numbers follow the word instead of 5, as line 1",
        ),
        (b"3 2 0\na 1 2 3\nb 1 2 3\n", "v.txt, line 1: 2 numbers follow the word instead of 3"),
        (b"0.5 1 2\n-1.5e3 3 4\n", "v.txt contains numbers only: save the matrix as .npy and"),
        (b"9 3\na 1 2\n", "v.txt, line 2: 2 numbers follow the word instead of 3"),
        (b"1 2\na 1 x\n", "v.txt, line 2: 'x' is not a number: correct the line"),
        (b"a 1 2\nb 1 0.5x\n", "v.txt, line 2: '0.5x' is not a number"),
        (b"a 1 2\nb 1_0 1\n", "v.txt, line 2: '1_0' is not a number"),
        (b"a 1 2\nb 1,5 1\n", "v.txt, line 2: '1,5' is not a number"),
        (b"a 0.5 x 2\nb 1 2 3\nc 1 2 3\n", "v.txt, line 1: 'x' is not a number"),
        (b"a 1 2\nb \xff 1\n", "v.txt, line 2: '\\\\xff' is not a number"),
        (b"a 1 2\nb 1 nan\n", "v.txt, line 2: the vector of 'b' has a value that is NaN, infin"),
        (b"a 1 2\nb 1 -inf\n", "v.txt, line 2: the vector of 'b' has a value that is NaN, infin"),
        (b"1 2\na 1 1e39\n", "v.txt, line 2: the vector of 'a' has a value that is NaN, infin"),
        (b"1 2\nk\xffng 1 2\n", "v.txt, line 2: the word b'k\\xffng' is not UTF-8: name the enc"),
        (gzip.compress(b"a 1 2\n", mtime=0)[:-9], "v.txt is a corrupted gzip file: copy or"),
        (bz2.compress(b"a 1 2\n")[:-9], "v.txt is a corrupted bzip2 file: copy or compress it ag"),
        (bz2.compress(b"a 1 2\n")[:9] + b"x" * 30, "v.txt is a corrupted bzip2 file: copy or"),
        (lzma.compress(b"a 1 2\n")[:-9], "v.txt is a corrupted xz file: copy or compress it again"),
        (gzip.compress(saved(np.ones((2, 2))), mtime=0), "v.txt is compressed twice, or a"),
        (b"\x28\xb5\x2f\xfd \1", "v.txt is a Zstandard file, which cannot be read: decompress"),
        ("a 1 2".encode("utf-16"), "v.txt is UTF-16 text, which cannot be read: save it as UTF-8"),
        (archive("glove.txt", b"a 1 2\n"), "v.txt is a ZIP archive with glove.txt: unpack it"),
        (b"glove.txt".ljust(257, b"\0") + b"ustar", "v.txt is a tar archive, which cannot be re"),
        (pickle.dumps([1.0]), "v.txt is a Python pickle, which cannot be read: save it as"),
        (b"\xba\x16\x4f\x2f\x0c", "v.txt is a fastText model, which cannot be read"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, data: bytes, message: str) -> None:
    assert refusal(written(tmp_path, data)).startswith(message)


def test_an_error_names_a_missing_file_or_a_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.txt").startswith("none.txt cannot be read: No such file")
    assert "is not a regular file: save the vectors to one" in refusal(tmp_path)


def test_a_header_reserves_no_memory(tmp_path: Path) -> None:
    path = written(tmp_path, b"99999999999999 2\na 1 2\n")
    assert "has 1 rows, but its first line says 99999999999999" in refusal(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-4], "v.bin, row 6 is truncated, or the first line sta"),
        (lambda data: data.replace(b"7 5", b"8 5"), "v.bin has 7 rows, but its first line says 8"),
        (lambda data: data.replace(b"7 5", b"6 5"), "v.bin has 7 rows, but its first line says 6"),
        (
            lambda data: data.replace(b"\n3 ", b"\n\xe8 "),
            "v.bin, row 2: the word b'\\xe8' is not UTF-8",
        ),
        (lambda data: data.replace(b"7 5", b"7 4"), "v.bin, row 1 does not begin at the end of"),
        (lambda data: data.replace(b"7 5", b"7 6"), "v.bin, row 2 does not begin at the end of"),
        (
            lambda data: data[:-5] + struct.pack("<f", np.inf) + b"\n",
            "v.bin, row 6: the vector of 'g\\rh' has a value that is NaN, infinite",
        ),
    ],
)
def test_an_error_in_a_binary_file_names_the_row(
    tmp_path: Path, vectors: Matrix, change: Callable[[bytes], bytes], message: str
) -> None:
    path = written(tmp_path, change(b"7 5\n" + as_binary(WORDS, vectors)), "v.bin")
    assert refusal(path).startswith(message)


@pytest.mark.parametrize(
    ("data", "listed", "message"),
    [
        (saved(np.ones((2, 2))), b"a\n", "v.npy has 2 rows and words.txt 1 words: give one"),
        (saved(np.ones((2, 2))), b"a\n\xff", "v.npy, row 1 (words.txt, line 2): the word b"),
        (saved(np.ones((2, 2))), b"", "words.txt is empty"),
        (
            saved(np.array([[1, 2], [1, np.nan]])),
            b"a\nb\n",
            "v.npy, row 1, column 1: nan is not a finite number: correct or remove the row",
        ),
        (saved(np.array([[1e39]])), b"a", "v.npy, row 0 (words.txt, line 1): the vector of 'a'"),
        (saved(np.ones(2)), b"a\nb\n", "v.npy has an array of shape (2,) and type float64: save"),
        (saved(np.ones((1, 1), int)), b"a", "v.npy has an array of shape (1, 1) and type int64"),
        (saved(np.ones((0, 2))), b"a", "v.npy has no rows: choose a file with vectors"),
        (
            saved(np.array([[{}]])),
            b"a",
            "v.npy cannot be opened (Array can't be memory-mapped: Python objects in dtype): ",
        ),
        (saved(np.ones((1, 1))).replace(b"} ", b"} {"), b"a", "v.npy cannot be opened ("),
        (saved(np.ones((9, 9)))[:-1], b"a", "v.npy is truncated: copy the file again"),
    ],
)
def test_an_error_describes_what_is_wrong_with_an_array(
    tmp_path: Path, data: bytes, listed: bytes, message: str
) -> None:
    path, words = written(tmp_path, data, "v.npy"), written(tmp_path, listed, "words.txt")
    assert refusal(path, words).startswith(message)


def test_words_must_be_given_exactly_once(tmp_path: Path, vectors: Matrix) -> None:
    listed = written(tmp_path, b"a\nb\n", "words.txt")
    np.save(tmp_path / "v.npy", vectors)
    np.savez(tmp_path / "v.npz", words=np.array(WORDS), vectors=vectors)
    missing = "v.npy contains no words: give a file with one word per line"
    twice = "already contains words: leave out the file"
    assert refusal(tmp_path / "v.npy") == missing
    assert twice in refusal(tmp_path / "v.npz", listed)
    assert twice in refusal(written(tmp_path, b"a 1 2\n"), listed)


class Trap:
    """Harmful if it is ever unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return pytest.fail, ("unpickled",)


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    listed, trap = written(tmp_path, b"a\n"), np.array([[Trap()]], dtype=object)
    np.savez(tmp_path / "v.npz", words=np.array(["a"]), vectors=trap)
    np.save(tmp_path / "v.npy", trap)
    assert "without Python objects" in refusal(tmp_path / "v.npz")
    assert "without Python objects" in refusal(tmp_path / "v.npy", listed)


def test_an_error_names_a_truncated_file_of_arrays(tmp_path: Path, vectors: Matrix) -> None:
    np.savez(tmp_path / "v.npz", words=np.array(WORDS), vectors=vectors)
    save_file({"vectors": vectors}, tmp_path / "v")
    for name, words in (("v.npz", None), ("v", written(tmp_path, b"a\n"))):
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[:-3])
        assert refusal(path, words).startswith(f"{name} cannot be opened (")


def test_an_error_for_several_matrices_lists_them(tmp_path: Path, vectors: Matrix) -> None:
    listed = written(tmp_path, b"a\n")
    save_file({"a": vectors, "b": vectors}, tmp_path / "v")
    message = "has 2 matrices (a, b), none of them named vectors, weight or embedding: save a file"
    assert message in refusal(tmp_path / "v", listed)
    np.savez(tmp_path / "v.npz", words=np.array(["a"]))
    assert refusal(tmp_path / "v.npz") == "v.npz has no matrix: save a file with one matrix"


@pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors", "parquet"])
def test_a_damaged_file_of_arrays_is_not_read_as_text(tmp_path: Path, suffix: str) -> None:
    for data in (b"\x17\xf0 1 2\n", b"king 1 2\n"):
        path = written(tmp_path, data, f"v.{suffix}")
        assert refusal(path) == f"v.{suffix} is not a valid {suffix} file: write it again"


def test_a_file_of_tensors_may_begin_like_a_pickle(tmp_path: Path, vectors: Matrix) -> None:
    save_file({"vectors": vectors}, tmp_path / "v", {"about": "x" * 30})
    assert (tmp_path / "v").read_bytes().startswith(b"\x80")
    listed = written(tmp_path, "\n".join(WORDS).encode(), "words.txt")
    assert_same(read_vectors(tmp_path / "v", words=listed), WORDS, vectors)


def test_words_of_another_number_than_rows_are_rejected(tmp_path: Path, vectors: Matrix) -> None:
    np.savez(tmp_path / "v.npz", words=np.array(["a", "b"]), vectors=vectors)
    expected = "v.npz has 7 rows and 2 words: give one word per row"
    assert refusal(tmp_path / "v.npz") == expected


def test_words_of_another_type_are_rejected(tmp_path: Path, vectors: Matrix) -> None:
    np.savez(tmp_path / "v.npz", words=np.arange(7), vectors=vectors)
    assert "words have shape (7,) and type int64: save V strings" in refusal(tmp_path / "v.npz")


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        ([], np.ones((0, 2), np.float32), "shape (0, 2) and type float32: expected a float32"),
        (["a"], np.ones(2, np.float32), "shape (2,) and type float32: expected a float32"),
        (["a"], np.ones((1, 2)), "shape (1, 2) and type float64: expected a float32"),
        (["a"], np.ones((2, 2), np.float32), "1 words do not fit 2 vectors: give one"),
        (
            ["a", "b", "a"],
            np.ones((3, 2), np.float32),
            "row 2: the word 'a' already occurs at row 0",
        ),
        (["a", "b"], np.float32([[1], [np.inf]]), "row 1: the vector of 'b' has a value that is"),
    ],
)
def test_words_and_vectors_that_do_not_fit_are_rejected(
    words: list[str], vectors: Matrix, message: str
) -> None:
    with pytest.raises(DataError) as caught:
        WordVectors(words, vectors)
    assert message in str(caught.value)


def test_a_value_that_is_not_finite_is_found_in_the_last_rows() -> None:
    vectors = np.ones((20_001, 2), np.float32)
    vectors[20_000, 1] = np.nan
    with pytest.raises(DataError, match="row 20000: the vector of 'w20000'"):
        WordVectors([f"w{i}" for i in range(20_001)], vectors)
