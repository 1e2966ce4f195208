"""Packages of Argos Translate."""

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sentencepiece as spm

from tests.export.ctranslate2_models import WORDS, tokenizer, write_model
from tests.export.test_ctranslate2_export import exported, network
from tests.translators import small_tokenizer
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import ModelError
from yakusu.export.argos import write_argos
from yakusu.export.foreign import own_model
from yakusu.export.formats import FORMATS
from yakusu.export.importing import read_foreign
from yakusu.pipeline.import_model import import_model

PACKAGE = "translate-de_en-1_0"


def package(tmp_path: Path, name: str = "package") -> Path:
    """A package with a random model, written without the library."""
    model = write_model(tmp_path / f"{name}-model")
    proto = (model / "sentencepiece.model").read_bytes()
    (model / "sentencepiece.model").unlink()
    card = "---\nlicense: cc0-1.0\n---\n\n# A model\n"
    (tmp_path / name).mkdir()
    languages = "de", "en"
    return write_argos(tmp_path / name, model, sentencepiece=proto, languages=languages, card=card)


def changed(path: Path, changes: dict[str, bytes | None]) -> Path:
    """A copy of a package with other files; None: without them."""
    out = path.with_name("changed.argosmodel")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        files = {each: old.read(each) for each in old.namelist()}
        for name, data in (files | changes).items():
            if data is not None:
                new.writestr(name, data)
    return out


def test_a_package_has_what_argos_translate_reads(tmp_path: Path) -> None:
    path = package(tmp_path)
    assert path.name == f"{PACKAGE}.argosmodel"
    with zipfile.ZipFile(path) as file:
        names = {name.removeprefix(f"{PACKAGE}/") for name in file.namelist()}
        metadata = json.loads(file.read(f"{PACKAGE}/metadata.json"))
        proto = file.read(f"{PACKAGE}/sentencepiece.model")
    model = {"model/config.json", "model/model.bin", "model/shared_vocabulary.json"}
    splitter = {"spacy/config.cfg", "spacy/meta.json", "spacy/tokenizer"}
    assert names == {"metadata.json", "README.md", "sentencepiece.model"} | model | splitter
    assert (metadata["from_code"], metadata["to_code"]) == ("de", "en")
    assert proto == tokenizer().src.proto


def test_equal_models_give_equal_packages(tmp_path: Path) -> None:
    one, other = package(tmp_path, "one"), package(tmp_path, "other")
    assert one.read_bytes() == other.read_bytes()


def test_a_package_is_read_like_its_model(tmp_path: Path) -> None:
    path = package(tmp_path)
    foreign = read_foreign(path)
    assert foreign.languages == ("de", "en")
    assert foreign.origin.licence == "cc0-1.0" and path.name in foreign.origin.files
    _, weights, read = own_model(foreign)
    _, expected, other = own_model(read_foreign(write_model(tmp_path / "model")))
    assert weights.keys() == expected.keys() and read == other
    assert all((weights[name] == expected[name]).all() for name in expected)


def test_the_folder_of_an_installed_package_is_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(package(tmp_path)) as file:
        file.extractall(tmp_path / "installed")
    found = import_model(tmp_path / "installed" / PACKAGE, tmp_path / "own")
    assert (found.config.source_language, found.config.target_language) == ("de", "en")


def _error(path: Path) -> str:
    with pytest.raises(ModelError) as error:
        read_foreign(path)
    return str(error.value)


def test_a_file_that_is_not_a_package_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.argosmodel"
    path.write_bytes(b"no zip file")
    assert "is not a valid package of Argos Translate" in _error(path)
    assert "cannot be read" in _error(tmp_path / "missing.argosmodel")


def test_a_package_without_sentencepiece_is_an_error(tmp_path: Path) -> None:
    path = changed(package(tmp_path), {f"{PACKAGE}/sentencepiece.model": None})
    assert "no sentencepiece.model" in _error(path)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"from_code": "de"}, "to_code"),
        ({"from_code": "de", "to_code": "en", "type": "sbd"}, "of the kind 'sbd'"),
        ({"from_code": "de", "to_code": "en", "target_prefix": ">>en<<"}, "'>>en<<'"),
    ],
)
def test_packages_of_other_kinds_are_errors(
    tmp_path: Path, metadata: dict[str, Any], message: str
) -> None:
    data = json.dumps(metadata).encode()
    assert message in _error(changed(package(tmp_path), {f"{PACKAGE}/metadata.json": data}))


def test_a_package_with_huge_files_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.argosmodel"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"{PACKAGE}/model/model.bin", bytes(50_000_000))
    assert "its files are too large" in _error(path)


def test_a_damaged_package_is_an_error(tmp_path: Path) -> None:
    path = package(tmp_path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    assert "is not a valid package of Argos Translate" in _error(path)


# ---- the exporter --------------------------------------------------------------------------------


def test_a_model_with_two_sentencepiece_models_is_refused(tmp_path: Path) -> None:
    model = exported(network({"tied": "decoder"}))
    sides = tokenizer().src, small_tokenizer((*WORDS, "baum")).src
    with pytest.raises(ModelError, match="one SentencePiece model for both sides"):
        FORMATS["argos"].write(tmp_path, replace(model, tokenizer=Tokenizer(*sides)))
    assert not list(tmp_path.iterdir())


def test_a_model_with_tokens_of_target_languages_is_refused(tmp_path: Path) -> None:
    model = exported(network({}))
    both = small_tokenizer(WORDS, languages=("de", "fr"))
    with pytest.raises(ModelError, match="no tokens for target languages"):
        FORMATS["argos"].write(tmp_path, replace(model, tokenizer=both))


def test_a_model_without_languages_is_refused(tmp_path: Path) -> None:
    model = exported(network({}))
    config = model.config.model_copy(update={"target_language": ""})
    with pytest.raises(ModelError, match="codes of both languages"):
        FORMATS["argos"].write(tmp_path, replace(model, config=config))


SCRIPT = """
import sys
from pathlib import Path
from argostranslate import package, translate
package.install_from_path(Path(sys.argv[1]))
for line in sys.argv[2:]:
    print("=", translate.get_translation_from_codes("de", "en").translate(line))
"""


def test_argos_translate_installs_a_package_and_translates_offline(tmp_path: Path) -> None:
    pytest.importorskip("argostranslate")
    library = pytest.importorskip("ctranslate2")
    model = exported(network({"norm": "pre", "output_bias": True, "biases": True}))
    FORMATS["argos"].write(tmp_path, model)
    (path,) = tmp_path.glob("*.argosmodel")
    home = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("DATA", "CONFIG", "CACHE")}
    home |= {"HOME": str(tmp_path), "ARGOS_CHUNK_TYPE": "SPACY", "ARGOS_COMPUTE_TYPE": "float32"}
    lines = ["ein mann sieht zwei hunde", "zwei hunde im park. ein mann."]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path), *lines],
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        check=True,
    )
    found = [line[2:] for line in done.stdout.splitlines() if line.startswith("= ")]
    with zipfile.ZipFile(path) as file:
        file.extractall(tmp_path / "files")
    peer = library.Translator(str(tmp_path / "files" / "translate-de_en-1_0" / "model"))
    proto = spm.SentencePieceProcessor(model_proto=tokenizer().src.proto)

    def expected(sentence: str) -> str:
        pieces = proto.encode(sentence, out_type=str)
        options = {"beam_size": 4, "num_hypotheses": 4, "length_penalty": 0.2}
        (result,) = peer.translate_batch([pieces], replace_unknowns=True, **options)
        return str(proto.decode(result.hypotheses[0])).strip()

    assert found[0].strip() == expected(lines[0])
    sentences = "zwei hunde im park.", "ein mann."  # Argos Translate joins their pieces
    joined = "".join(expected(sentence) for sentence in sentences)
    assert found[1].replace(" ", "") == joined.replace(" ", "")
