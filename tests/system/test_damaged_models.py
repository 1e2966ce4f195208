"""Every reader of models and vectors says in an error of this package that a file is damaged."""

import gzip
import io
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from tests.cases import THOROUGH
from yakusu.arrays import Array, ArraysOnDisk
from yakusu.data.pieces import Pieces
from yakusu.errors import DataError, ModelError
from yakusu.export.npz.files import NpzArrays
from yakusu.progress import Silent
from yakusu.vectors.formats import read_any
from yakusu.weights import load_tensors

FIXTURE = Path(__file__).parents[1] / "fixtures" / "format-1" / "transformer"
VECTORS = np.arange(12, dtype="f4").reshape(3, 4)
TEXT = b"3 4\n" + b"".join(b"%c 1 2 3 4\n" % word for word in b"abc")
N_TRIALS = 2_000 if THOROUGH else 60
# Parts of a header of an array, which numpy evaluates
PARTS = [
    "'",
    "(",
    ")",
    "{",
    "}",
    ",",
    "9",
    "-",
    "True",
    "'O'",
    "'<U3'",
    "((((",
    "é",
    "\0",
    "{1: 1}",
]


def npy(array: Array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def with_other_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change, remove or insert a few bytes, most of them at the beginning."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 20))):
        place = rng.randrange(min(len(changed), rng.choice((64, 300, 10**9))) or 1)
        width = rng.randrange(4)
        changed[place : place + width] = rng.randbytes(rng.randrange(4))
    return bytes(changed)


def with_other_header(array: bytes, rng: random.Random) -> bytes:
    """Change the text of a header, or a few of its bytes."""
    end = 10 + int.from_bytes(array[8:10], "little")
    if rng.random() < 0.5:
        return with_other_bytes(array[:end], rng) + array[end:]
    header = array[10:end].decode()
    place = rng.randrange(len(header))
    header = header[:place] + rng.choice(PARTS) + header[place + rng.randrange(8) :]
    return array[:8] + len(header.encode()).to_bytes(2, "little") + header.encode() + array[end:]


def in_archive(rng: random.Random) -> bytes:
    words, vectors = npy(np.array(["a", "b", "c"])), npy(VECTORS)
    if rng.random() < 0.3:
        return with_other_bytes(npz(words=words, vectors=vectors), rng)
    if rng.random() < 0.3:
        words = with_other_header(words, rng)
    return npz(words=words, vectors=with_other_header(vectors, rng))


def vectors_of(path: Path) -> None:
    found = read_any(path, words=None, progress=Silent())
    if hasattr(found, "__getitem__"):
        found[:]


def arrays_of(path: Path) -> None:
    dict(NpzArrays(path))


def tensors_of(path: Path) -> None:
    load_tensors(path)
    dict(ArraysOnDisk(path))


def pieces_of(path: Path) -> None:
    pieces = Pieces.read(path)
    pieces.decode(pieces.encode("Ein Hund, 漢字."))
    pieces.surfaces("Ein Hund")
    for id_ in range(len(pieces)):
        pieces.piece(id_)


def changed(data: bytes) -> Callable[[random.Random], bytes]:
    return lambda rng: with_other_bytes(data, rng)


READERS: dict[str, tuple[Callable[[Path], None], Callable[[random.Random], bytes]]] = {
    "a.npz": (vectors_of, in_archive),
    "marian.npz": (arrays_of, in_archive),
    "a.npy": (vectors_of, lambda rng: with_other_header(npy(VECTORS), rng)),
    "a.vec": (vectors_of, changed(TEXT)),
    "a.vec.gz": (vectors_of, changed(gzip.compress(TEXT))),
    "a.bin": (vectors_of, changed(b"1 4\na " + VECTORS[0].tobytes() + b"\n")),
    "a.safetensors": (tensors_of, changed(save({"vectors": VECTORS}))),
    "tokenizer.model": (pieces_of, changed((FIXTURE / "tokenizer.model").read_bytes())),
}


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    read, make = READERS[name]
    rng, n_refused = random.Random(name), 0
    for _ in range(N_TRIALS):
        path = tmp_path / name
        path.write_bytes(make(rng))
        try:
            read(path)
        except (DataError, ModelError) as error:
            n_refused += 1
            assert "\n" not in str(error) and name.partition(".")[0] in str(error)
    assert n_refused > N_TRIALS / 4


def test_vectors_that_unpack_to_too_much_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "a.npz", vectors=np.zeros((99_999, 4), "f4"))
    assert len(np.asarray(read_any(tmp_path / "a.npz", words=None, progress=Silent()))) == 99_999
    monkeypatch.setattr("yakusu.vectors.formats._UNPACKED", 1_000_000)
    with pytest.raises(DataError, match=r"a.npz would unpack to 1,600,112 bytes: save it as .npy"):
        read_any(tmp_path / "a.npz", words=None, progress=Silent())
