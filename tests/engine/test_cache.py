"""Packed models are mapped from a cache, which never changes a translation."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from ctypes import string_at
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from tests.engine.test_folder import FILES, native, seal
from yakusu.engine.cache import VARIABLE, PackedCache
from yakusu.engine.library import MatrixFormat
from yakusu.engine.model import NativeModel
from yakusu.engine.shapes import shapes
from yakusu.errors import ModelError, RecipeError
from yakusu.folder import read_json, write_json
from yakusu.model.config import TransformerConfig
from yakusu.native.library import instruction_sets
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Query
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.tokens import TokenRules
from yakusu.translator.folder.folder import WEIGHTS, ModelFolder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cache that does not exist yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path / "cache" / "yakusu" / "packed"


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Grows whenever a model is packed."""
    found: list[bool] = []
    load = NativeModel.load

    def counting(*args: object, **settings: object) -> NativeModel:
        found.append(True)
        return load(*args, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(NativeModel, "load", counting)
    return found


def translations(folder: Path, precision: str = "int8") -> list[list[Hypothesis]]:
    """Hypotheses of four sentences, with the bits of their scores."""
    tokenizer = ModelFolder.open(folder).tokenizer
    lines = (FILES / "test.en").read_text(encoding="utf-8").splitlines()[:4]
    queries = [Query(source) for source in tokenizer.encode_source(lines)]
    config = SearchConfig(max_extra=10, n_best=2)
    decoder = native(folder, precision)  # type: ignore[arg-type]
    return [list(own) for own in decoder.search(queries, config, TokenRules.of(tokenizer), batch=8)]


def files(cache: Path) -> list[Path]:
    return sorted(cache.iterdir()) if cache.exists() else []


# ---- the same results ----------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["int8", "int16", "float32"])
@pytest.mark.parametrize("name", ["transformer", "codes", "integers", "parser"])
def test_a_mapped_model_translates_with_the_same_bits(
    name: str, precision: str, cache: Path, packed: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (translations(FILES / name, precision) for _ in range(2))
    assert len(packed) == len(files(cache)) == 1
    monkeypatch.setenv(VARIABLE, "0")
    assert first == second == translations(FILES / name, precision)
    assert len(packed) == 2


def test_its_memory_is_that_of_the_file(cache: Path) -> None:
    native(FILES / "transformer", "int8")
    decoder = native(FILES / "transformer", "int8")
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("this system does not list what is mapped")
    (path,) = files(cache)
    assert any("r--s" in line and str(path) in line for line in maps.read_text().splitlines())
    del decoder
    assert str(path) not in maps.read_text()


def test_what_may_change_its_bytes_has_another_file(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for precision in ("int8", "float32"):
        native(FILES / "integers", precision)  # type: ignore[arg-type]
    for name in {*instruction_sets()} - {instruction_sets()[0]}:
        monkeypatch.setenv("YAKUSU_INSTRUCTION_SET", name)
        native(FILES / "integers", "int8")
    monkeypatch.delenv("YAKUSU_INSTRUCTION_SET", raising=False)
    other = Path(shutil.copytree(FILES / "integers", tmp_path / "other"))
    config = read_json(other / "config.json")
    config["model"]["n_heads"] *= 2
    config["model"]["d_k"] //= 2
    config["model"]["d_v"] //= 2
    write_json(other / "config.json", config)
    seal(other)
    native(other, "int8")
    assert len(files(cache)) == len(instruction_sets()) + 2


def test_the_files_are_private_and_lie_beside_no_model(cache: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(FILES / "integers", tmp_path / "model"))
    before = sorted(model.iterdir())
    native(model, "int8")
    assert sorted(model.iterdir()) == before
    assert [oct(path.stat().st_mode & 0o777) for path in (cache.parent, cache)] == ["0o700"] * 2
    assert files(cache)[0].stat().st_mode & 0o777 == 0o600


_OPENS = """
import sys
from pathlib import Path
from tests.engine.test_cache import translations
print([[each.score.hex() for each in own] for own in translations(Path(sys.argv[1]))])
"""


def test_processes_that_start_together_write_one_file(cache: Path) -> None:
    command = [sys.executable, "-c", _OPENS, str(FILES / "codes")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    said = {process.communicate()[0] for process in running}
    assert len(said) == 1 and said != {b""} and len(files(cache)) == 1


# ---- files that differ ---------------------------------------------------------------------------


def flipped(at: int) -> Callable[[Path], object]:
    """Changes a bit of a byte."""

    def damage(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[at] ^= 1
        path.write_bytes(content)

    return damage


def linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "head only": lambda path: path.write_bytes(path.read_bytes()[:128]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "other kind": flipped(0),
    "other key": flipped(30),
    "other size": flipped(90),
    "other checksum": flipped(97),
    "unused byte of the head": flipped(127),
    "first array": flipped(128),
    "last zeros": flipped(-1),
    "link": linked,
    "pipe": piped,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_differs_is_ignored_and_replaced(
    damage: str, cache: Path, packed: list[bool]
) -> None:
    expected = translations(FILES / "integers")
    (path,) = files(cache)
    content = path.read_bytes()
    DAMAGES[damage](path)
    assert translations(FILES / "integers") == expected and len(packed) == 2
    assert path.read_bytes() == content and not path.is_symlink()
    assert translations(FILES / "integers") == expected and len(packed) == 2


def test_the_file_of_another_model_is_ignored(cache: Path, packed: list[bool]) -> None:
    expected = translations(FILES / "integers")
    (path,) = files(cache)
    native(FILES / "codes", "int8")
    (other,) = set(files(cache)) - {path}
    other.replace(path)
    assert translations(FILES / "integers") == expected and len(packed) == 3


def test_a_damaged_model_is_refused_although_it_is_in_the_cache(
    cache: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(FILES / "integers", tmp_path / "model"))
    native(model, "int8")
    flipped(-1)(model / WEIGHTS)
    with pytest.raises(ModelError, match="is corrupt"):
        native(model, "int8")


def test_weights_that_are_replaced_while_they_are_packed_are_not_stored(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, load = Path(shutil.copytree(FILES / "integers", tmp_path / "model")), NativeModel.load

    def slow(*args: object, **settings: object) -> NativeModel:
        packed = load(*args, **settings)  # type: ignore[arg-type]
        flipped(-1)(model / WEIGHTS)
        return packed

    monkeypatch.setattr(NativeModel, "load", slow)
    native(model, "int8")
    assert files(cache) == []


# ---- folders that cannot be used -----------------------------------------------------------------


def closed_to_others(cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o750)


def link_to_a_folder(cache: Path) -> None:
    (cache.parent / "elsewhere").mkdir(parents=True, mode=0o700)
    cache.symlink_to("elsewhere")


def a_file(cache: Path) -> None:
    cache.parent.parent.write_bytes(b"")


@pytest.mark.parametrize("prepare", [closed_to_others, link_to_a_folder, a_file])
def test_a_folder_that_is_not_private_is_not_used(
    prepare: Callable[[Path], None], cache: Path, packed: list[bool]
) -> None:
    prepare(cache)
    assert translations(FILES / "integers") == translations(FILES / "integers")
    assert len(packed) == 2 and (prepare is a_file or files(cache) == [])


def test_the_folder_of_another_user_is_not_used(
    cache: Path, packed: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    native(FILES / "integers", "int8")
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    native(FILES / "integers", "int8")
    assert len(packed) == 2


def test_a_file_of_another_user_is_not_used(
    cache: Path, packed: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid():
        pytest.skip("only root can give a file away")
    native(FILES / "integers", "int8")
    os.chown(files(cache)[0], 1, -1)
    native(FILES / "integers", "int8")
    assert len(packed) == 2 and files(cache)[0].stat().st_uid == 0


def test_a_read_only_folder_is_read(cache: Path, packed: list[bool]) -> None:
    native(FILES / "integers", "int8")
    cache.chmod(0o500)
    native(FILES / "integers", "int8")
    assert len(packed) == 1


@pytest.mark.parametrize("fails", ["scandir", "replace", "utime", "mkdir"])
def test_no_fault_of_the_file_system_is_an_error(
    fails: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = translations(FILES / "integers")
    if fails == "replace":  # the disk is full
        files(cache)[0].unlink()
    fault = OSError(28, "No space left on device")

    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(f"yakusu.engine.cache.os.{fails}", fail)
    assert translations(FILES / "integers") == expected
    assert len(files(cache)) == (fails != "replace")


def no_home(path: Path) -> Path:
    raise RuntimeError("Could not determine home directory.")


@pytest.mark.parametrize(
    ("home", "cache_home"), [("/proc/nowhere", ""), ("relative", ""), ("", ""), ("", "relative")]
)
def test_without_a_home_there_is_no_cache(
    home: str,
    cache_home: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    packed: list[bool],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("XDG_CACHE_HOME", cache_home)
    if not home:
        monkeypatch.setattr(Path, "expanduser", no_home)
    for _ in range(2):
        native(FILES / "integers", "int8")
    assert len(packed) == 2 and not list(tmp_path.iterdir())


# ---- its size ------------------------------------------------------------------------------------


def store(cache: PackedCache, key: str, size: int) -> None:
    """Store an array of `size` bytes, of which a file has 128 more."""
    from yakusu.engine.library import StoredArray

    array = np.zeros(size, np.uint8)
    cache.add(key, [StoredArray(array.ctypes.data, size, 0)], confirm=lambda: True)


def test_the_files_that_were_not_used_for_the_longest_time_are_deleted(tmp_path: Path) -> None:
    cache, folder = PackedCache(tmp_path, 3000), tmp_path
    tmp_path.chmod(0o700)
    for time, key in enumerate("abc"):
        store(cache, key * 64, 800)
        os.utime(folder / (key * 64), (time, time))
    assert cache.find("a" * 64) is not None  # now b is the oldest
    store(cache, "d" * 64, 800)
    assert [path.name[0] for path in files(folder)] == ["a", "c", "d"]
    store(cache, "e" * 64, 2900)  # with its head, it does not fit
    assert [path.name[0] for path in files(folder)] == ["a", "c", "d"]
    store(cache, "f" * 64, 2500)
    assert [path.name[0] for path in files(folder)] == ["f"]


def test_what_killed_processes_leave_counts(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    left = tmp_path / ".left"
    left.write_bytes(bytes(2000))
    os.utime(left, (1, 1))
    (tmp_path / "folder").mkdir()  # of nobody
    store(PackedCache(tmp_path, 3000), "a" * 64, 1000)
    assert [path.name[:3] for path in files(tmp_path)] == ["aaa", "fol"]


@pytest.mark.parametrize("given", ["-1", "1.5", "many", "1" * 20])
def test_a_limit_that_is_not_a_number_is_an_error(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, given)
    with pytest.raises(RecipeError, match=f"{VARIABLE} is '{given}': set it to 0"):
        PackedCache.of_user()


# ---- the arrays ----------------------------------------------------------------------------------


def stored(model: NativeModel) -> bytes:
    """The arrays of a model, as a file has them."""
    return b"".join(string_at(each.at, each.size) + bytes(each.zeros) for each in model.arrays())


def test_packing_makes_the_bytes_of_this_format() -> None:
    config = TransformerConfig(n_layers=1, d_model=16, d_ff=32, n_heads=2, positions="learned")
    sizes = {"src_vocab_size": 20, "tgt_vocab_size": 20}
    weights = {}
    for i, (name, shape) in enumerate(shapes(config, (), **sizes).items()):
        numbers = np.arange(np.prod(shape)) * (7 + i) % 127 - 63
        weights[name] = (numbers / np.float32(64)).astype(np.float32).reshape(shape)
    expected = {"FLOAT32": 595254512, "INT8": 1060977657, "INT16": 2404140817}
    found = {
        each.name: crc32(stored(NativeModel(config, weights, **sizes, matrices=each)))
        for each in MatrixFormat
    }
    assert found == expected, "increase FORMAT in engine/cache.py"


def test_arrays_are_aligned_and_followed_by_zeros() -> None:
    opened = ModelFolder.open(FILES / "integers")
    config = opened.config
    model = NativeModel.load(
        config.model,
        opened.weights,
        config.compressed,
        **config.vocab_sizes,
        matrices=MatrixFormat.INT8,
    )
    arrays, content = list(model.arrays()), stored(model)
    assert all(64 <= each.zeros < 128 and (each.size + each.zeros) % 64 == 0 for each in arrays)
    assert isinstance(config.model, TransformerConfig)
    for size in (0, 64, 128, len(content) // 2, len(content) - 64, len(content)):
        file = np.frombuffer(content[:size] or bytes(1), np.uint8)
        mapped = NativeModel.mapped(
            file,
            config.model,
            config.compressed,
            **config.vocab_sizes,
            matrices=MatrixFormat.INT8,
        )
        assert (mapped is not None) == (size == len(content))
        assert mapped is None or stored(mapped) == content
