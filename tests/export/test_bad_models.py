"""Models that cannot be imported: one sentence that names the cause, and nothing is written."""

import io
import json
import os
import pickle
import shutil
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from tests.cases import examples
from tests.export.ctranslate2_models import write_model
from tests.export.marians import Marian, write_json, write_npz
from yakusu.errors import ModelError
from yakusu.pipeline.import_model import import_model

HUGE = (10**9, 2**31, 2**63, 10**30)
LAYER = "model.encoder.layers.1.fc1.weight"


def error_of(path: Path) -> str:
    """The message for a model that cannot be imported; it needs little memory."""
    out = path.parent / "out"
    tracemalloc.start()
    try:
        with pytest.raises(ModelError) as caught:
            import_model(path, out)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**25
    assert not out.exists() and not list(path.parent.glob(".saving*"))
    message = str(caught.value)
    assert "\n" not in message and str(path.parent) in message
    return message


@pytest.fixture
def hf(tmp_path: Path) -> Path:
    """A folder in the form of Hugging Face."""
    return Marian().write(tmp_path / "hf")


@pytest.fixture
def npz(tmp_path: Path) -> Path:
    """A folder of Marian."""
    return Marian().write_original(tmp_path / "npz")


def change(path: Path, **values: Any) -> None:
    """Change the values of a JSON file; ... removes a key."""
    changed = json.loads(path.read_text(encoding="utf-8")) | values
    write_json(path, {key: value for key, value in changed.items() if value is not ...})


def change_tensors(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    edit(tensors)
    save_file(tensors, folder / "model.safetensors")


# ---- folders -------------------------------------------------------------------------------------


def test_other_folders_and_files_are_not_models(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").write_text("a")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "manifest.json").write_text("{}")
    for name in "empty", "file.txt":
        message = error_of(tmp_path / name)
        assert "is not a model that can be imported: choose a folder with config.json" in message
    assert "missing does not exist: yakusu downloads no models" in error_of(tmp_path / "missing")
    assert "own is a model folder of yakusu already" in error_of(tmp_path / "own")


def test_an_export_that_cannot_be_imported_is_named_with_what_to_do(tmp_path: Path) -> None:
    for name, file in (("argos", "translate-en_de.argosmodel"), ("onnx", "encoder.onnx")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}")
        (tmp_path / name / file).touch()
    assert error_of(tmp_path / "argos").endswith(
        f"import {tmp_path}/argos/translate-en_de.argosmodel"
    )
    assert "use the model that it was made from" in error_of(tmp_path / "onnx")


def test_weights_in_several_files_are_refused_with_the_fix(hf: Path) -> None:
    (hf / "model.safetensors").rename(hf / "model-00001-of-00001.safetensors")
    (hf / "model.safetensors.index.json").write_text("{}")
    assert "weights in several files, which are not supported" in error_of(hf)


def test_a_model_of_another_kind_is_named(hf: Path) -> None:
    change(hf / "config.json", model_type="bart")
    assert "a model of type 'bart', not marian or pegasus" in error_of(hf)


@pytest.mark.parametrize(
    "name", ["source.spm", "target.spm", "tokenizer_config.json", "model.safetensors"]
)
def test_a_missing_file_is_named(hf: Path, name: str) -> None:
    (hf / name).unlink()
    if name == "target.spm":  # the source's is used
        import_model(hf, hf.parent / "out")
    else:
        assert name in error_of(hf)


@pytest.mark.parametrize("name", ["source.spm", "config.json", "vocab.json", "model.safetensors"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[]", b"{}", b"null", b'{"a": "b"}'])
def test_a_file_with_other_content_is_named(hf: Path, name: str, content: bytes) -> None:
    (hf / name).write_bytes(content)
    assert name in error_of(hf)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n"
POINTERS = {
    "hf": (
        *("config.json", "vocab.json", "added_tokens.json", "tokenizer_config.json", "source.spm"),
        *("target.spm", "model.safetensors", "pytorch_model.bin"),
    ),
    "npz": ("model.npz", "joint.vocab.yml", "decoder.yml", "source.spm"),
    "ctranslate2": (
        *("model.bin", "config.json", "shared_vocabulary.json", "sentencepiece.model"),
        *("receipt.json", "README.md"),
    ),
}


@pytest.mark.parametrize("kind", POINTERS)
def test_a_pointer_of_git_lfs_is_named_with_what_to_do(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / kind
    write = {"hf": Marian().write, "npz": Marian().write_original, "ctranslate2": write_model}[kind]
    for name in POINTERS[kind]:
        write(folder)
        if name == "pytorch_model.bin":
            (folder / "model.safetensors").unlink()
        (folder / name).write_bytes(POINTER)
        assert error_of(folder).startswith(f"{folder / name} is a Git LFS pointer, not the file")
        shutil.rmtree(folder)


def test_a_file_that_is_a_pointer_and_is_not_read_does_not_matter(hf: Path) -> None:
    (hf / "tf_model.h5").write_bytes(POINTER)
    import_model(hf, hf.parent / "out")


def test_a_package_that_is_a_pointer_is_named(tmp_path: Path) -> None:
    (tmp_path / "translate-en_de-1_0.argosmodel").write_bytes(POINTER)
    assert "argosmodel is a Git LFS pointer" in error_of(
        tmp_path / "translate-en_de-1_0.argosmodel"
    )


def test_truncated_weights_are_an_error(hf: Path) -> None:
    path = hf / "model.safetensors"
    whole = path.read_bytes()
    for size in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert "model.safetensors is not a valid safetensors file" in error_of(hf)


# ---- tensors -------------------------------------------------------------------------------------


def test_a_missing_tensor_is_named(hf: Path) -> None:
    change_tensors(hf, lambda tensors: tensors.pop(LAYER))
    assert f"the tensor '{LAYER.removeprefix('model.')}' is missing" in error_of(hf)


def test_a_tensor_of_another_shape_is_named_with_both(hf: Path) -> None:
    change_tensors(hf, lambda tensors: tensors.update({LAYER: np.zeros((40, 31), np.float32)}))
    assert f"the tensor '{LAYER}' has the shape (40, 31) instead of (40, 32)" in error_of(hf)


def test_an_unknown_tensor_is_named(hf: Path) -> None:
    name = "model.encoder.layernorm_embedding.weight"
    change_tensors(hf, lambda tensors: tensors.update({name: np.ones(32, np.float32)}))
    assert f"the tensor '{name}' is not part of a Marian model" in error_of(hf)


@pytest.mark.parametrize("name", [LAYER, "final_logits_bias", "model.shared.weight"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_named(hf: Path, name: str, value: float) -> None:
    change_tensors(hf, lambda tensors: tensors[name].__setitem__((0, 1), value))
    assert f"the tensor '{name}' contains NaN or infinity" in error_of(hf)


def test_integers_are_not_weights(hf: Path) -> None:
    change_tensors(hf, lambda tensors: tensors.update({LAYER: np.zeros((40, 32), np.int8)}))
    assert f"the tensor '{LAYER}' has the type int8 instead of float32" in error_of(hf)


@pytest.mark.parametrize("shape", [(3,), (0, 32), (4, 7), (2, 2, 2), ()])
def test_tables_of_positions_of_any_shape_are_errors(hf: Path, shape: tuple[int, ...]) -> None:
    name = "model.encoder.embed_positions.weight"
    change_tensors(hf, lambda tensors: tensors.update({name: np.ones(shape, np.float32)}))
    error_of(hf)


class Hostile:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_pickled_code_is_not_executed(hf: Path) -> None:
    (hf / "model.safetensors").unlink()
    made = hf.parent / "made"
    for content in Hostile(made), {"model.shared.weight": Hostile(made)}:
        torch.save(content, hf / "pytorch_model.bin")
        assert "pytorch_model.bin is not a file that contains only tensors" in error_of(hf)
        (hf / "pytorch_model.bin").write_bytes(pickle.dumps(content))
        assert "pytorch_model.bin is not a file that contains only tensors" in error_of(hf)
    for other in [], {"a": 3}, {"a": {"b": torch.zeros(2)}}:
        torch.save(other, hf / "pytorch_model.bin")
        error_of(hf)
    assert not made.exists()


def test_views_that_are_larger_than_their_file_are_refused(hf: Path) -> None:
    (hf / "model.safetensors").unlink()
    large = torch.zeros(1, dtype=torch.float16).expand(2**40)
    torch.save({"model.shared.weight": large}, hf / "pytorch_model.bin")
    assert "contains tensors that are larger than the file" in error_of(hf)


# ---- configuration -------------------------------------------------------------------------------

SIZES = [
    *("d_model", "encoder_layers", "decoder_layers", "encoder_ffn_dim", "decoder_ffn_dim"),
    *("encoder_attention_heads", "decoder_attention_heads"),
]
IDS = ["eos_token_id", "pad_token_id", "decoder_start_token_id"]


@pytest.mark.parametrize("key", SIZES)
def test_huge_and_negative_and_missing_sizes_are_errors(hf: Path, key: str) -> None:
    twin = key.replace("encoder", "decoder")
    for value in (*HUGE, 0, -1, ..., None, "a", 1.5, [3]):
        change(hf / "config.json", **{key: value, twin: value})
        error_of(hf)


@pytest.mark.parametrize("key", IDS)
@pytest.mark.parametrize("value", [*HUGE, -1, 320])
def test_ids_outside_of_the_vocabulary_are_named(hf: Path, key: str, value: int) -> None:
    change(hf / "config.json", **{key: value})
    assert f"config.json has {key} = {value}, and vocab.json has the ids 0 to " in error_of(hf)


def test_equal_special_ids_are_an_error(hf: Path) -> None:
    change(hf / "config.json", eos_token_id=1)
    assert "config.json has the same id for two of </s>, <unk> and <pad>" in error_of(hf)


def test_an_unknown_activation_is_named_with_the_known_ones(hf: Path) -> None:
    change(hf / "config.json", activation_function="gelu_new")
    assert "activation_function 'gelu_new': known are relu, swish, silu, gelu" in error_of(hf)


def test_pre_norm_is_refused(hf: Path) -> None:
    change(hf / "config.json", normalize_before=True)
    assert "normalize_before = true" in error_of(hf)


def test_a_vocabulary_of_another_size_is_named(hf: Path) -> None:
    rows = json.loads((hf / "vocab.json").read_text(encoding="utf-8"))
    write_json(hf / "vocab.json", rows | {"one": len(rows), "two": len(rows) + 1})
    n = len(rows)
    assert f"the vocabulary has {n + 2} tokens and the model {n} embeddings" in error_of(hf)


def test_rows_of_a_vocabulary_must_be_consecutive(hf: Path) -> None:
    rows = json.loads((hf / "vocab.json").read_text(encoding="utf-8"))
    for other in rows | {"more": 10**30}, rows | {"more": 5}, rows | {"more": -1}:
        write_json(hf / "vocab.json", other)
        assert "vocab.json" in error_of(hf)
    write_json(hf / "vocab.json", {key.replace("unk", "UNK"): rows[key] for key in rows})
    assert "vocab.json has no token '<unk>'" in error_of(hf)


VALUES = st.one_of(
    *(st.integers(), st.sampled_from(HUGE), st.floats(), st.booleans(), st.none()),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=2),
)
KEYS = [
    *(*SIZES, *IDS, "model_type", "activation_function", "scale_embedding", "dropout"),
    *("share_encoder_decoder_embeddings", "tie_word_embeddings", "_name_or_path"),
]
fuzz = settings(
    max_examples=examples(100),
    deadline=5000,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@fuzz
@given(values=st.dictionaries(st.sampled_from(KEYS), VALUES, min_size=1, max_size=4))
def test_any_configuration_is_imported_or_is_an_error(hf: Path, values: dict[str, Any]) -> None:
    Marian().write(hf)
    change(hf / "config.json", **values)
    imported_or_error(hf)


def imported_or_error(path: Path) -> None:
    out = path.parent / "out"
    tracemalloc.start()
    try:
        import_model(path, out)
    except ModelError as error:
        assert "\n" not in str(error) and not out.exists()
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    for each in out.glob("*"):
        each.unlink()
    if out.exists():
        out.rmdir()
    assert peak < 2**25


# ---- the original Marian -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("type", "s2s", "type = s2s, which is not supported: only transformer is"),
        ("transformer-decoder-autoreg", "rnn", "only self-attention is"),
        ("transformer-decoder-autoreg", "average-attention", "only self-attention is"),
        ("transformer-ffn-depth", 3, "transformer-ffn-depth = 3"),
        ("transformer-ffn-activation", "tanh", "known are relu, swish, gelu"),
        ("transformer-postprocess-emb", "dn", "transformer-postprocess-emb = 'dn': known are"),
        ("transformer-postprocess", "dhn", "transformer-postprocess = 'dhn'"),
        ("transformer-preprocess", "n", "transformer-preprocess = 'n'"),
        ("transformer-tied-layers", [1, 1], "transformer-tied-layers = ['1', '1']"),
        ("transformer-no-projection", True, "transformer-no-projection = true"),
        ("right-left", True, "right-left = true, which is not supported"),
        ("lemma-dim-emb", 8, "lemma-dim-emb = 8"),
        ("transformer-train-position-embeddings", True, "the tensor 'Wpos' is missing"),
        ("dim-emb", 34, "dim-emb = 34, which is not an even number divisible by"),
        ("dim-emb", 36, "the tensor '"),
        ("dim-emb", "x", "dim-emb: Input should be a valid integer"),
        ("enc-depth", 3, "the tensor 'encoder_l3_self_Wq' is missing"),
        ("enc-depth", 1, "the tensor 'encoder_l2_self_Wq' is not part of a Marian model"),
        ("enc-depth", 10**9, "more layers than it has tensors"),
        ("transformer-heads", 10**30, "divisible by"),
        ("transformer-dim-ffn", 10**30, "the tensor 'encoder_l1_ffn_W1' has the shape"),
    ],
)
def test_an_option_without_an_equivalent_is_named(
    npz: Path, option: str, value: object, message: str
) -> None:
    Marian().write_original(npz, **{option.replace("-", "_"): value})
    assert message in error_of(npz)


def test_a_missing_tensor_has_its_original_name(npz: Path) -> None:
    tensors = Marian().original_tensors()
    del tensors["decoder_l2_context_bk"]
    write_npz(npz / "model.npz", tensors, Marian().options())
    assert "the tensor 'decoder_l2_context_bk' is missing" in error_of(npz)


def test_pickled_arrays_are_not_read(npz: Path) -> None:
    made = npz.parent / "made"
    tensors: dict[str, Any] = Marian().original_tensors()
    tensors["encoder_l1_ffn_W1"] = np.array([Hostile(made)], dtype=object)
    options = np.load(npz / "model.npz")["special:model.yml"]
    np.savez(npz / "model.npz", **tensors, **{"special:model.yml": options})
    assert "'encoder_l1_ffn_W1' is not a valid .npz file of numbers" in error_of(npz)
    assert not made.exists()


def rewritten(path: Path, name: str, content: bytes, compression: int = 0) -> None:
    """Replace one entry of an .npz file."""
    with zipfile.ZipFile(path) as file:
        entries = {each: file.read(each) for each in file.namelist()}
    with zipfile.ZipFile(path, "w", compression) as file:
        for each, old in entries.items():
            file.writestr(each, content if each == name else old)


def test_a_header_that_promises_more_than_the_file_has_is_an_error(npz: Path) -> None:
    header = io.BytesIO()
    fields = {"descr": "<f4", "fortran_order": False, "shape": (2**40, 2**20)}
    np.lib.format.write_array_header_1_0(header, fields)
    rewritten(npz / "model.npz", "Wemb.npy", header.getvalue() + bytes(64))
    assert "'Wemb' is not a valid .npz file of numbers" in error_of(npz)


def test_a_file_that_unpacks_to_much_more_is_refused(npz: Path) -> None:
    rewritten(npz / "model.npz", "Wemb.npy", bytes(2**26), zipfile.ZIP_DEFLATED)
    assert "would unpack to more than 20 times its size" in error_of(npz)


def test_truncated_and_other_archives_are_errors(npz: Path) -> None:
    path = npz / "model.npz"
    whole = path.read_bytes()
    for size in (0, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert "model.npz is not a valid .npz file of numbers" in error_of(npz)
    np.savez(path, a=np.zeros(3))
    assert "has no 'special:model.yml': it is not a model of Marian" in error_of(npz)


@pytest.mark.parametrize(
    "text",
    ["", "[", "a", "a: [b", "- a", "a: *b", "a: *b\nc: d", "\0", "[" * 10**6, "{a: " * 10**6],
)
def test_options_that_are_not_yaml_are_errors(npz: Path, text: str) -> None:
    tensors = Marian().original_tensors()
    options = np.frombuffer(text.encode() + b"\0", np.int8)
    np.savez(npz / "model.npz", **tensors, **{"special:model.yml": options})
    error_of(npz)
    Marian().write_original(npz)
    (npz / "joint.vocab.yml").write_text(text)
    error_of(npz)
    Marian().write_original(npz)
    (npz / "decoder.yml").write_text(text)
    imported_or_error(npz)


def test_vocabularies_that_are_missing_or_do_not_fit_are_errors(npz: Path) -> None:
    (npz / "decoder.yml").write_text("vocabs: [/etc/passwd, ../../other.yml]\n")
    assert "passwd is not a supported vocabulary" in error_of(npz)
    (npz / "decoder.yml").write_text("vocabs: [missing.yml, missing.yml]\n")
    assert "missing.yml cannot be read" in error_of(npz)
    (npz / "decoder.yml").write_text("vocabs: [source.spm, target.spm]\n")
    assert "the vocabulary has " in error_of(npz)
    (npz / "decoder.yml").unlink()
    (npz / "joint.vocab.yml").unlink()
    assert "has 0 vocabularies: name that of the source" in error_of(npz)


def test_several_weights_are_listed(npz: Path) -> None:
    (npz / "model.best.npz").write_bytes((npz / "model.npz").read_bytes())
    import_model(npz, npz.parent / "named")  # by decoder.yml
    (npz / "decoder.yml").write_text("vocabs: [joint.vocab.yml]\n")
    assert "has model.best.npz, model.npz: give the path of one file *.npz" in error_of(npz)
    import_model(npz / "model.best.npz", npz.parent / "chosen")


@fuzz
@given(
    values=st.dictionaries(
        st.sampled_from(sorted(Marian().options())), VALUES, min_size=1, max_size=4
    )
)
def test_any_options_are_imported_or_are_an_error(npz: Path, values: dict[str, Any]) -> None:
    Marian().write_original(npz, **{key.replace("-", "_"): values[key] for key in values})
    imported_or_error(npz)
