"""Files written by yakusu 0.1.0 before its code was reorganised open, and give the same bytes.

The files, and the script that wrote them, are in tests/fixtures/format-1. Every release of this
major version must open them.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import yakusu
from tests.cases import some
from tests.machine import identity
from yakusu.compress.config import CompressConfig
from yakusu.engine.config import EngineConfig
from yakusu.search.config import SearchConfig
from yakusu.translator.folder.folder import TranslatorConfig
from yakusu.vectors import open_compressed
from yakusu.vectors.verbs import compress as compress_vectors

pytestmark = pytest.mark.usefixtures("undrawn")
FILES = Path(__file__).parents[1] / "fixtures" / "format-1"
TORCH = EngineConfig(engine="torch")  # the expected scores are those of torch in float32
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
MODELS = list(EXPECTED["translations"])
VECTORS = list(EXPECTED["vectors"])
# On another processor, or with another torch, sums are rounded differently.
SAME_MACHINE = all(EXPECTED[name] == value for name, value in identity().items())


@pytest.fixture(autouse=True)
def one_thread(torch_threads: None) -> None:
    """As when the files were written."""
    torch.set_num_threads(1)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check(found: list[str], expected: list[str]) -> None:
    """Compare lines of number, score and translation.

    If the best hypothesis of a sentence is empty, the source takes its place, and is the only line;
    other empty hypotheses are left out.
    """
    sources = (FILES / "test.en").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in expected]
    best = {i: text for i, _, text in reversed(rows)}
    expected = [f"{i}\t{score}\t{text}" for i, score, text in rows if best[i] and text]
    expected += [f"{i}\t-inf\t{sources[int(i) - 1]}" for i in best if not best[i]]
    expected.sort(key=lambda line: int(line.split("\t")[0]))
    if SAME_MACHINE:
        assert found == expected
        return
    scores, wanted = ([float(line.split("\t")[1]) for line in lines] for lines in (found, expected))
    assert scores == pytest.approx(wanted, abs=1e-2)


def n_best(found: Iterator[list[Any]]) -> list[str]:
    return [
        f"{number}\t{each.score:.4f}\t{each.text}"
        for number, best in enumerate(found, start=1)
        for each in best
    ]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_folder_translates_as_it_did(name: str) -> None:
    options = SearchConfig(n_best=4)
    found = n_best(yakusu.translate(FILES / name, FILES / "test.en", options, engine=TORCH))
    check(found, EXPECTED["translations"][name])


def test_an_ensemble_translates_as_it_did() -> None:
    others = [FILES / "codes"]
    options = SearchConfig(n_best=3)
    found = yakusu.translate(
        FILES / "transformer", FILES / "test.en", options, ensemble=others, engine=TORCH
    )
    check(n_best(found), EXPECTED["ensemble"])


@pytest.mark.parametrize("name", MODELS)
def test_a_model_folder_verifies(name: str) -> None:
    assert any(line.startswith("intact: ") for line in yakusu.verify(FILES / name))


def test_an_interrupted_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    run, expected = tmp_path / "run", EXPECTED["resumed"]
    shutil.copytree(FILES / "interrupted", run)
    yakusu.train(yakusu.load_recipe(run / "recipe.toml", [f'run="{run}"']))
    events = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    losses = [event["loss"] for event in events if event["event"] == "train"][-10:]
    assert losses == pytest.approx(expected["losses"], rel=0 if SAME_MACHINE else 0.2)
    if SAME_MACHINE:
        # RUN/model is now the best checkpoint, which scores higher than this average.
        model = yakusu.average(run, last=2, out=tmp_path / "average")
        assert digest(model / "model.safetensors") == expected["model.safetensors"]
        translated = yakusu.translate(model, FILES / "test.en", engine=TORCH)
        found = [best[0].text for best in translated]
        assert found == expected["translations"]


@pytest.mark.parametrize("name", VECTORS)
def test_word_vectors_open_to_the_same_floats(name: str) -> None:
    vectors, expected = open_compressed(FILES / name), EXPECTED["vectors"][name]
    codes = hashlib.sha256(vectors.dense_codes().tobytes()).hexdigest()
    assert codes == expected["codes"]
    if SAME_MACHINE:
        assert hashlib.sha256(vectors.dense().tobytes()).hexdigest() == expected["dense"]
    nearest = vectors.most_similar("w1", topn=3)
    assert [f"{cosine:.4f}\t{word}" for word, cosine in nearest] == expected["neighbours"]


# ---- compressing the same input gives the same codes and bytes -----------------------------------

VECTOR_CONFIGS = {  # the options recorded in expected.json, as settings; without limits of the size
    "codes.ykv": CompressConfig(k=8, m=6),
    "codes-256.ykv": CompressConfig(k=256),
    "half-folded.ykv": CompressConfig(k=4, half=True, mean="folded"),
    "closed.ykv": CompressConfig(k=5, fit="closed"),
    "adam.ykv": CompressConfig(k=4, fit="adam"),
    "integers.ykv": CompressConfig(method="integers", step=0.5),
    "tiers.ykv": CompressConfig(method="integers", max_loss=0.05, tiers=(50, 150), whitening=0.2),
}
MODEL_CONFIGS = {
    "codes": CompressConfig(exact=8, k=4, m=8),
    "integers": CompressConfig(method="integers", step=0.4, int8=True),
}


@pytest.mark.parametrize("name", some(list(VECTOR_CONFIGS)))
def test_word_vectors_compress_to_the_same_codes(name: str, tmp_path: Path) -> None:
    compress_vectors(FILES / "vectors.txt", tmp_path / name, config=VECTOR_CONFIGS[name])
    found, before = open_compressed(tmp_path / name), open_compressed(FILES / name)
    if SAME_MACHINE:
        assert (found.dense_codes() == before.dense_codes()).all()
    np.testing.assert_allclose(found.dense(), before.dense(), atol=1e-4)


@pytest.mark.parametrize("name", ["codes.ykv", "tiers.ykv"])
def test_word_vectors_compress_to_the_same_bytes(name: str, tmp_path: Path) -> None:
    before = Path(__file__).parents[1] / "fixtures" / "vectors-2" / name
    compress_vectors(FILES / "vectors.txt", tmp_path / name, config=VECTOR_CONFIGS[name])
    if SAME_MACHINE:
        assert (tmp_path / name).read_bytes() == before.read_bytes()
    dense = open_compressed(before, verified=True).dense()
    np.testing.assert_allclose(open_compressed(tmp_path / name).dense(), dense, atol=1e-4)


@pytest.mark.parametrize("name", MODEL_CONFIGS)
def test_a_translator_compresses_to_the_same_bytes(name: str, tmp_path: Path) -> None:
    out = tmp_path / name
    yakusu.compress_translator(FILES / "transformer", out, config=MODEL_CONFIGS[name])
    if SAME_MACHINE:
        assert digest(out / "model.safetensors") == EXPECTED["compressed"][name]
    configs = [(folder / "config.json").read_text() for folder in (out, FILES / name)]
    new, old = map(TranslatorConfig.model_validate_json, configs)  # the old one has fewer keys
    assert new == old
