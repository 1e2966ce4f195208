"""The verbs `yakusu vectors ...`: output and errors."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import yakusu

pytestmark = pytest.mark.usefixtures("undrawn")
RunYakusu = Callable[..., Any]


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    """1,100 words of 4 numbers in the format of GloVe."""
    rng = random.Random(3)
    rows = [[rng.gauss(0, 1 + i) for i in range(4)] for _ in range(1100)]
    words = ["king", "queen", "man", "woman", *(f"w{i}" for i in range(4, 1100))]
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, rows, strict=True)]
    (tmp_path / "glove.txt").write_text("\n".join(lines) + "\n")
    return tmp_path / "glove.txt"


@pytest.mark.usefixtures("drawn")
def test_vectors_are_compressed_inspected_and_searched(
    run_yakusu: RunYakusu, glove: Path, tmp_path: Path
) -> None:
    out = tmp_path / "glove.ykv"
    settings = ("--set", "compress.m=3", "--set", "compress.k=5")
    said = run_yakusu("vectors", "compress", glove, out, *settings)
    assert said.code == 0, said.err
    facts = (
        "1,100 vectors x 4 dimensions as 3 codes with K = 5: 7.0 bits per vector; with words\n"
        "compression ratio, compared with float32: 16.5 (codes alone), 10.8 (file without words), "
    )
    assert said.out.startswith(facts)
    assert re.search(
        r"^loss: \d+\.\d\d% of the variance, squared error [\d.]+ per vector$", said.out, re.M
    )
    assert re.search(r"^ +1 to 1,000 +\d+\.\d% *$", said.out, re.MULTILINE)
    assert said.out.endswith(f"file: {out}\nreport: {out}.json, {out}.png\n")
    report = json.loads(Path(f"{out}.json").read_text())
    assert (report["settings"]["m"], report["settings"]["k"]) == (3, 5)

    said = run_yakusu("vectors", "inspect", out)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(facts)

    said = run_yakusu("vectors", "neighbours", out, "king", "-n", "2")
    found = yakusu.vectors.neighbours(out, "king", 2)
    assert (said.code, said.err) == (0, "")
    assert said.out == "".join(f"{near:.4f}\t{word}\n" for word, near in found)


def test_integers_and_budgets_are_options(
    run_yakusu: RunYakusu, glove: Path, tmp_path: Path
) -> None:
    out = tmp_path / "v"
    options = ("--method", "integers", "--max-loss", "0.02")
    said = run_yakusu("vectors", "compress", glove, out, *options)
    assert said.code == 0, said.err
    assert re.match(
        r"1,100 vectors x 4 dimensions as integers: \S+ bits per vector; with words\n"
        r"compression ratio, compared with float32: \S+ \(codes alone\), \S+ \(file",
        said.out,
    )
    assert f"\nfile: {out}\n" in said.out
    loss = re.search(r"^loss: (\S+)% of the variance", said.out, re.MULTILINE)
    assert loss and 1.8 < float(loss[1]) <= 2
    said = run_yakusu("vectors", "compress", glove, out, "--bits", "8")
    assert re.match(
        r"1,100 vectors x 4 dimensions as \d codes with K = \d+: [78]\.\d bits per vector", said.out
    )
    assert said.out.endswith(f"\nreplaced {out}\nreport: {out}.json, {out}.png\n")


def test_options_override_set_and_set_overrides_the_file(
    run_yakusu: RunYakusu, glove: Path, tmp_path: Path
) -> None:
    file, out = tmp_path / "c.toml", tmp_path / "v"
    file.write_text('[compress]\nmethod = "integers"\nstep = 0.5\nwhitening = 0.2\n')
    options = ("--config", file, "--set", "compress.step=0.7", "--set", "compress.method=codes")
    said = run_yakusu("vectors", "compress", glove, out, *options, "--method", "integers")
    assert said.code == 0, said.err
    settings = json.loads(Path(f"{out}.json").read_text())["settings"]
    found = (settings["method"], settings["step"], settings["whitening"])
    assert found == ("integers", 0.7, 0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--set compress.m=5", "M = 5 is out of range for vectors of 4 dimensions: choose M from"),
        ("--set compress.k=1", "--set: compress.k = 1: input should be greater than or equal to 2"),
        ("--set compress.kk=8", "--set: unknown key 'compress.kk': did you mean 'compress.k'?"),
        ("--ratio 5000", "a ratio of 5000 cannot be reached: the maximum is "),
        ("--ratio 0", "--ratio: compress.ratio = 0.0: input should be greater than 0"),
        ("--method fast", "--method: compress.method = 'fast': input should be 'codes' or"),
        ("--set compress.step=1", "--set: compress.step has no effect unless compress."),
        ("--bits 9 --set compress.k=4", "--bits and --set: compress.bits chooses compress.m"),
        ("--bits 9 --ratio 4", "--ratio and --bits: compress.ratio and compress.bits are given"),
        ("--method integers --set compress.k=4", "--set and --method: compress.k has no effect"),
        ("--method integers --set compress.tiers=[9,8]", "tiers at the ranks [9, 8] do not fit"),
        ("--method integers --set compress.step=1e-9", "step = 1e-09 yields integers of more than"),
        ("--set compress.int8=true", "compress.int8 has no effect on vectors: leave out"),
        ("--config none.toml", "none.toml cannot be read: No such file or directory"),
    ],
)
def test_invalid_settings_are_rejected_before_writing(
    run_yakusu: RunYakusu, glove: Path, tmp_path: Path, options: str, message: str
) -> None:
    said = run_yakusu("vectors", "compress", glove, tmp_path / "v", *options.split())
    assert said.error.startswith(message)
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize(
    ("name", "options", "described"),
    [
        ("v.txt", [], "word2vec text"),
        ("v.vec", [], "word2vec text"),
        ("v.bin", [], "word2vec binary"),
        ("v.txt", ["--format", "glove"], "GloVe text"),
        ("v.npy", [], "a matrix of float32 and a list of words"),
    ],
)
def test_vectors_are_exported(
    run_yakusu: RunYakusu,
    glove: Path,
    tmp_path: Path,
    name: str,
    options: list[str],
    described: str,
) -> None:
    made, out = tmp_path / "glove.ykv", tmp_path / name
    assert run_yakusu("vectors", "compress", glove, made).code == 0
    said = run_yakusu("vectors", "export", made, out, *options)
    assert (said.code, said.err) == (0, "")
    words = Path(f"{out}.words.txt")
    files = f"{out}, {words}" if name == "v.npy" else str(out)
    pattern = rf"1,100 vectors x 4 dimensions as {re.escape(described)}, [\d.]+ kB"
    assert re.fullmatch(rf"{pattern}\nfile: {re.escape(files)}\n", said.out)
    read = yakusu.vectors.read_vectors(out, words=words if name == "v.npy" else None)
    np.testing.assert_array_equal(read.vectors, yakusu.vectors.open_compressed(made).dense())
    again = run_yakusu("vectors", "export", made, out, *options)
    assert again.error == f"{out} exists: choose another name, or delete it"
    other = run_yakusu("vectors", "export", made, tmp_path / "v.dat")
    assert (
        "v.dat has the suffix '.dat', which determines no format: add --format, or" in other.error
    )


def test_other_files_and_unknown_words_are_named(
    run_yakusu: RunYakusu, glove: Path, tmp_path: Path
) -> None:
    for arguments in (["inspect", glove], ["neighbours", glove, "king"]):
        assert run_yakusu("vectors", *arguments).error == (
            f"{glove} is not a file of compressed vectors: "
            "create one with 'yakusu vectors compress'"
        )
    none = tmp_path / "none"
    assert "none" in run_yakusu("vectors", "compress", none, tmp_path / "v").error
    assert run_yakusu("vectors", "compress", glove, tmp_path / "v").code == 0
    assert run_yakusu("vectors", "neighbours", tmp_path / "v", "King").error == (
        f"{tmp_path / 'v'}: 'King' has no vector: did you mean 'king'?"
    )


# ---- plain matrices ------------------------------------------------------------------------------


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    """1,100 vectors of 4 numbers in float16."""
    array = np.random.default_rng(3).standard_normal((1100, 4)) @ np.diag([1, 2, 3, 4])
    np.save(tmp_path / "big.npy", array.astype(np.float16))
    return tmp_path / "big.npy"


def test_a_matrix_is_compressed_inspected_searched_extended_and_exported(
    run_yakusu: RunYakusu, matrix: Path, tmp_path: Path
) -> None:
    out = tmp_path / "big.ykv"
    said = run_yakusu("vectors", "compress", matrix, out, "--set", "compress.k=5")
    assert said.code == 0, said.err
    facts = (
        r"1,100 vectors x 4 dimensions as 4 codes with K = 5: 9\.3 bits per vector; no words, rows "
        r"numbered from 0\n"
        r"compression ratio, compared with float32: 12\.4 \(codes alone\), 8\.\d \(file\)\n"
        r"file size: 2\.\d kB; the vectors as float32: 17\.6 kB\n"
    )
    rest = (
        r"loss: \d+\.\d\d% of the variance, squared error [\d.]+ per vector\n"
        r"of the 10 nearest vectors, \d\d\.\d% are kept \(100 examined\)\n"
    )
    files = re.escape(f"file: {out}\nreport: {out}.json, {out}.png\n")
    assert re.fullmatch(facts + rest + files, said.out)
    assert "word" not in said.out.replace("no words", "") and "frequency" not in said.out

    assert re.fullmatch(facts, run_yakusu("vectors", "inspect", out).out)
    said = run_yakusu("vectors", "neighbours", out, "17", "-n", "2")
    found = yakusu.vectors.neighbours(out, 17, 2)
    assert said.out == "".join(f"{near:.4f}\t{row}\n" for row, near in found)

    said = run_yakusu("vectors", "append", out, matrix)
    assert re.match(r"1,100 vectors added, \d+\.\d\d% of the variance lost\n", said.out)
    assert re.search(r"big\.ykv: 2,200 vectors, \d\.\d kB\n$", said.out)
    said = run_yakusu("vectors", "export", out, tmp_path / "back.npy")
    assert (said.code, said.err) == (0, "")
    assert said.out == (
        "2,200 vectors x 4 dimensions as a matrix of float32, 35.3 kB\n"
        f"file: {tmp_path / 'back.npy'}\n"
    )
    back = np.load(tmp_path / "back.npy")
    np.testing.assert_array_equal(back, yakusu.vectors.open_compressed(out).dense())


@pytest.mark.parametrize(
    ("shape", "fix"),
    [((5, 32), "they are too few to compress"), ((200, 32), "set --ratio")],
)
def test_a_result_that_is_larger_than_the_vectors_says_so(
    run_yakusu: RunYakusu, tmp_path: Path, shape: tuple[int, int], fix: str
) -> None:
    np.save(tmp_path / "m.npy", np.random.default_rng(3).standard_normal(shape, np.float32))
    arguments = ("vectors", "compress", tmp_path / "m.npy", tmp_path / "v")
    said = run_yakusu(*arguments, "--set", "compress.k=256")
    assert f"the result is larger than the vectors: {fix}\n" in said.out
    assert (run_yakusu(*arguments, "--ratio", "1").code == 0) == (fix == "set --ratio")


def test_one_is_a_singular(run_yakusu: RunYakusu, matrix: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.load(matrix)[:, :1])
    out = tmp_path / "v"
    said = run_yakusu("vectors", "compress", tmp_path / "m.npy", out)
    assert said.out.startswith("1,100 vectors x 1 dimension as 1 code with K = 16: 4.0 bits per")
    np.save(tmp_path / "m.npy", np.load(matrix)[:1, :1])
    said = run_yakusu("vectors", "append", out, tmp_path / "m.npy")
    assert re.match(r"1 vector added, \d+\.\d\d% of the variance lost\n", said.out)


def test_a_report_on_a_sample_says_so(
    run_yakusu: RunYakusu, matrix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yakusu.compress.blocks._MOST", 110 * 4)
    said = run_yakusu("vectors", "compress", matrix, tmp_path / "v")
    measured = "\nmeasured on 110 of 1,100 vectors, evenly spaced\nloss: "
    assert measured in said.out and "fitted on 110 of 1,100 vectors" in said.out
    said = run_yakusu(
        *("vectors", "compress", matrix, tmp_path / "v", "--set", "compress.sample=1100")
    )
    assert measured in said.out and "fitted on" not in said.out


def test_words_are_required_for_what_needs_them(
    run_yakusu: RunYakusu, glove: Path, matrix: Path, tmp_path: Path
) -> None:
    out, weights, task = tmp_path / "v", tmp_path / "weights", tmp_path / "near.tsv"
    weights.write_text("1\n" * 1100)
    task.write_text("king\tqueen\t1\n")
    assert run_yakusu("vectors", "compress", matrix, out, "--weights", weights).error == (
        f"{weights} sorts words by their frequency, but the vectors have no words: leave it out"
    )
    assert run_yakusu("vectors", "compress", matrix, out).code == 0
    no_words = f"{out} has row numbers instead of words: "
    assert run_yakusu("vectors", "evaluate", out, task).error == (
        f"{no_words}compress the vectors again with their words"
    )
    assert run_yakusu("vectors", "neighbours", out, "king").error == (
        f"{no_words}give one from 0 to 1099, not 'king'"
    )
    assert run_yakusu("vectors", "append", out, glove).error == (
        f"{out} has no words: add a matrix without words, such as a .npy file"
    )
    assert run_yakusu("vectors", "export", out, tmp_path / "v.txt").error == (
        f"{out} has no words, which the format word2vec needs: choose the format npy (--format npy)"
    )
    listed = tmp_path / "list.txt"
    listed.write_text("".join(f"w{i}\n" for i in range(1100)))
    said = run_yakusu("vectors", "compress", matrix, tmp_path / "words", "--words", listed)
    assert "bits per vector; with words\n" in said.out and "frequency ranks" in said.out


def test_words_that_are_not_utf8_are_decoded_or_skipped_on_request(
    run_yakusu: RunYakusu, glove: Path, tmp_path: Path
) -> None:
    path, out, tasks = tmp_path / "latin.txt", tmp_path / "v.ykv", tmp_path / "tasks.tsv"
    path.write_bytes(glove.read_bytes().replace(b"queen", b"K\xf6nigin"))
    tasks.write_text("king\tman\t3\nman\twoman\t9\nking\twoman\t1\n")
    small = ("--set", "compress.m=2", "--set", "compress.k=2")
    said = run_yakusu("vectors", "compress", path, out, *small)
    assert said.code == 2
    assert f"{path}, line 2: the word b'K\\xf6nigin' is not UTF-8: name the encoding" in said.err
    assert not out.exists()
    said = run_yakusu("vectors", "compress", path, out, *small, "--errors", "skip")
    assert said.code == 0 and "1,099 vectors" in said.out
    said = run_yakusu("vectors", "compress", path, out, *small, "--encoding", "latin-1")
    assert said.code == 0 and "K\u00f6nigin" in yakusu.vectors.open_words(out)
    said = run_yakusu("vectors", "evaluate", out, tasks, "--original", path)
    assert said.code == 2 and "--encoding latin-1" in said.err
    original = ("--original", path, "--encoding", "latin-1")
    said = run_yakusu("vectors", "evaluate", out, tasks, *original)
    assert said.code == 0, said.err
    more = tmp_path / "more.txt"
    more.write_bytes(b"\xfcber 1 2 3 4\n")
    said = run_yakusu("vectors", "append", out, more, "--encoding", "latin-1")
    assert said.code == 0 and yakusu.vectors.open_words(out).words[-1] == "\u00fcber", said.err


def test_a_folder_of_static_embeddings_is_compressed_and_exported(
    run_yakusu: RunYakusu, tmp_path: Path
) -> None:
    folder, small, dense = (tmp_path / name for name in ("model", "small", "dense"))
    folder.mkdir()
    vectors = np.random.default_rng(3).standard_normal((900, 4)).astype(np.float32)
    save_file({"embeddings": vectors}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"normalize": true}')
    (folder / "tokenizer.json").write_text("{}")
    options = ("--method", "integers", "--ratio", "4")
    said = run_yakusu("vectors", "compress", folder, small, *options)
    assert said.code == 0, said.err
    assert said.out.startswith("900 vectors x 4 dimensions as integers: ")
    assert re.search(
        r"^model: 14\.5 kB before, 3\.\d kB after \(\d\.\d times smaller\), both with 2 bytes of "
        rf"tokenizer\nfolder: {re.escape(str(small))}\n\Z",
        said.out,
        re.MULTILINE,
    )
    said = run_yakusu("vectors", "export", small, dense)
    assert (said.code, said.out, said.err) == (0, f"folder: {dense}\n", "")
    rebuilt = load_file(dense / "model.safetensors")["embeddings"]
    assert (rebuilt == yakusu.vectors.open_compressed(small / "embeddings.ykv").dense()).all()
    assert (dense / "config.json").read_text() == '{"normalize": true}'

    refused = {
        ("compress", folder, small, "--words", "w.txt"): "whose tokens are in its tokenizer",
        ("export", small, tmp_path / "new", "--format", "npy"): "leave out --format",
        ("compress", folder, folder): "was not written by 'vectors compress'",
        ("compress", tmp_path, small): "does not contain static embeddings",
    }
    for words, message in refused.items():
        said = run_yakusu("vectors", *words)
        assert said.code == 2 and message in said.err
