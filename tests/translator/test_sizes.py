"""Folders with sizes that do not fit the weights: errors before memory is allocated."""

import json
import shutil
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from tests.cases import examples
from yakusu.engine.config import EngineConfig
from yakusu.errors import ModelError, YakusuError
from yakusu.folder import FileEntry, Manifest, sha256, write_json
from yakusu.translator.folder.network import open_model
from yakusu.translator.folder.opening import open_decoder

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"
FOLDERS = ("transformer", "codes", "integers", "recurrent", "convolutional", "variant")
HUGE = (10**9, 2**31, 2**63, 10**30)


def changed(
    folder: Path,
    name: str,
    *,
    model: Mapping[str, Any] = MappingProxyType({}),
    plan: Mapping[str, Any] = MappingProxyType({}),
    **top: Any,
) -> Path:
    """Copy a fixture and change its config.json, to which the manifest is adapted.

    Args:
        folder: The new folder.
        name: The fixture.
        model: Changes to section "model"; None removes a key.
        plan: Changes to the first compressed table.
        top: Other changes.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(FILES / name, folder)
    config = json.loads((folder / "config.json").read_text()) | top
    changes = config["model"] | model
    config["model"] = {key: value for key, value in changes.items() if value is not None}
    if plan:
        config["compressed"][0] |= plan
    (folder / "config.json").write_text(json.dumps(config))
    return sealed(folder)


@pytest.fixture(scope="module", autouse=True)
def modules() -> None:
    """Import what models need, which takes memory, too."""
    for name in FOLDERS:
        open_model(FILES / name)


def sealed(folder: Path) -> Path:
    """Write the manifest that matches the files."""
    paths = [path for path in sorted(folder.iterdir()) if path.name != "manifest.json"]
    files = {path.name: FileEntry(size=path.stat().st_size, sha256=sha256(path)) for path in paths}
    write_json(folder / "manifest.json", Manifest(format=1, files=files).model_dump())
    return folder


def error_of(folder: Path) -> str:
    """The message of both ways to open a folder; it is one sentence, and needs little memory."""
    found = []
    for opened in (open_model, lambda path: open_decoder([path], EngineConfig(engine="native"))):
        tracemalloc.start()
        try:
            with pytest.raises(ModelError) as caught:
                opened(folder)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 2**26
        found.append(str(caught.value))
    assert "\n" not in found[0]
    return found[0]


def sizes_of(name: str) -> list[str]:
    """The names of all sizes in a fixture's section "model"."""
    model = json.loads((FILES / name / "config.json").read_text())["model"]
    return [key for key, value in model.items() if type(value) is int]


@pytest.mark.parametrize("name", FOLDERS)
def test_huge_and_negative_sizes_are_errors(name: str, tmp_path: Path) -> None:
    for key in sizes_of(name):
        if key == "neighbourhood":  # that of the texts limits memory
            continue
        for value in (*HUGE, -1, 0) if key != "n_experts" else (*HUGE, -1):
            copy = changed(tmp_path / "model", name, model={key: value})
            assert str(copy) in error_of(copy), (key, value)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_size_that_is_missing_has_its_default(name: str, tmp_path: Path) -> None:
    for key in sizes_of(name):
        copy = changed(tmp_path / "model", name, model={key: None})
        try:
            open_model(copy)
        except ModelError as error:
            assert str(copy) in str(error)


def test_steps_between_taps_that_exceed_the_longest_sentence_are_an_error(tmp_path: Path) -> None:
    for value in HUGE:
        copy = changed(tmp_path / "model", "convolutional", model={"dilations": [value]})
        assert "model.dilations has " in error_of(copy)


@pytest.mark.parametrize("value", [*HUGE, -1, 0])
@pytest.mark.parametrize("key", ["n_components", "n_codes", "n_exact"])
def test_sizes_of_compressed_tables_are_checked(key: str, value: int, tmp_path: Path) -> None:
    for name in "codes", "integers":
        plans = json.loads((FILES / name / "config.json").read_text())["compressed"]
        if key in plans[0] and plans[0][key] != value:
            copy = changed(tmp_path / "m", name, plan={key: value})
            assert str(copy) in error_of(copy)


def test_a_table_cannot_be_compressed_twice(tmp_path: Path) -> None:
    plans = json.loads((FILES / "codes" / "config.json").read_text())["compressed"]
    copy = changed(tmp_path / "m", "codes", compressed=[*plans, plans[0]])
    assert "a compressed table has no name, or that of another one" in error_of(copy)
    copy = changed(tmp_path / "m", "codes", plan={"tables": []})
    assert str(copy) in error_of(copy)


def test_the_vocabulary_sizes_must_be_those_of_the_tokenizer(tmp_path: Path) -> None:
    for value in (*HUGE, -1, 0):
        copy = changed(tmp_path / "m", "transformer", tgt_vocab_size=value)
        assert "its tokenizer has" in error_of(copy)


def test_a_first_decoder_input_that_is_not_a_token_is_an_error(tmp_path: Path) -> None:
    for value in (159, 10**30):
        copy = changed(tmp_path / "m", "transformer", model={"start_id": value})
        assert f"model.start_id = {value} is not among the ids 0 to " in error_of(copy)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_an_error(value: float, tmp_path: Path) -> None:
    copy = changed(tmp_path / "m", "transformer")
    weights = load_file(copy / "model.safetensors")
    name = "encoder.0.feed_forward.inner.weight"
    weights[name][1, 2] = value
    save_file(weights, copy / "model.safetensors")
    assert f"the weight '{name}' has a number that is NaN or infinite" in error_of(sealed(copy))


@pytest.mark.parametrize(
    ("name", "weight", "scales", "message"),
    [
        ("inner.weight", "int8", "float32", ""),
        ("inner.weight", "int8", None, "'{}' must be int8 and have scales, or neither"),
        ("inner.weight", "float32", "float32", "'{}' must be int8 and have scales, or neither"),
        ("inner.weight", "uint8", "float32", "'{}' must be int8 and have scales, or neither"),
        ("nothing.weight", None, "float32", "'{}' must be int8 and have scales, or neither"),
        ("inner.weight", "int8", "float16", "the scales of '{}' must be float32, one for each row"),
        ("inner.weight", "int8", "uint8", "the scales of '{}' must be float32, one for each row"),
        ("inner.weight", "int8", "1", "the scales of '{}' must be float32, one for each row"),
        ("inner.bias", "int8", "float32", "the scales of '{}' must be float32, one for each row"),
    ],
)
def test_int8_matrices_have_one_scale_per_row(
    name: str, weight: str | None, scales: str | None, message: str, tmp_path: Path
) -> None:
    copy = changed(tmp_path / "m", "transformer")
    weights, name = load_file(copy / "model.safetensors"), f"encoder.0.feed_forward.{name}"
    rows = len(weights.get(name, [1]))
    if weight:
        weights[name] = np.ones(weights[name].shape, weight)
    if scales == "1":
        weights[f"scale of {name}"] = np.ones((1, 10**4), np.float32)
    elif scales:
        weights[f"scale of {name}"] = np.ones((rows, 1), scales)
    save_file(weights, copy / "model.safetensors")
    if message:
        assert message.format(name) in error_of(sealed(copy))
    else:
        open_model(sealed(copy))


VALUES = st.one_of(
    st.integers(), st.sampled_from(HUGE), st.floats(), st.text(max_size=3), st.none(), st.booleans()
)


@settings(
    max_examples=examples(60),
    deadline=5000,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(name=st.sampled_from(FOLDERS), data=st.data())
def test_any_configuration_opens_or_is_an_error_of_yakusu(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
    keys = list(json.loads((FILES / name / "config.json").read_text())["model"])
    given = data.draw(st.dictionaries(st.sampled_from(keys), VALUES, min_size=1, max_size=4))
    copy = changed(tmp_path / "model", name, model=given)
    tracemalloc.start()
    try:
        open_model(copy)
    except YakusuError as error:
        assert str(copy) in str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 2**26
