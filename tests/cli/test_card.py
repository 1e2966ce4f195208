"""The verb `card`: the languages of a model."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save as tensors

from tests.cli.conftest import WORDS, Said
from tests.translators import save, small_tokenizer, untrained
from yakusu.engine.config import EngineConfig
from yakusu.engine.workers import Threads
from yakusu.errors import ModelError
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.search.config import SearchConfig
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.serve.catalog import ReloadedModels
from yakusu.translator import Translator
from yakusu.translator.folder.shortlist import SHORTLIST, read_lexicon

FIXTURES = Path(__file__).parents[1] / "fixtures" / "format-1"
NONE = np.zeros(0, np.uint16)
Yakusu = Callable[..., Said]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of a trained model from English to German."""
    return Path(shutil.copytree(FIXTURES / "transformer", tmp_path / "model"))


def test_a_model_gets_other_languages_and_stays_intact(run_yakusu: Yakusu, model: Path) -> None:
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    said = run_yakusu("card", model, "--source", "eng_Latn", "--target", "kor_Hang")
    assert (said.code, said.out) == (0, f"languages: en to ko\nmodel: {model}\n")
    assert Translator.load(model).languages == ("en", "ko")
    assert run_yakusu("verify", model).out.endswith(f"of {model} match their recorded hashes\n")
    receipt = json.loads((model / "receipt.json").read_text())
    assert receipt["languages"] == ["en", "ko"]
    assert "| from, to | en, ko |" in (model / "README.md").read_text()
    after = {path.name: path.read_bytes() for path in model.iterdir()}
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != before[name]} == {
        *("README.md", "config.json", "manifest.json", "receipt.json")
    }


def test_one_language_may_be_set_alone(run_yakusu: Yakusu, model: Path) -> None:
    assert run_yakusu("card", model, "--target", "pb").out.startswith("languages: en to pt-BR\n")
    assert run_yakusu("card", model).error == (
        "there is nothing to change: add --source CODE, --target CODE, --memory FILE, or --src "
        "FILE and --tgt FILE"
    )


def test_a_model_gets_a_lexicon_for_shortlists(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    src, tgt = tmp_path / "text.en", tmp_path / "text.de"
    src.write_text("the red house\nthe blue house\n\n" * 20)
    tgt.write_text("das rote Haus\ndas blaue Haus\n\n" * 20)
    said = run_yakusu("card", model, "--src", src, "--tgt", tgt)
    assert said.code == 0
    assert re.search(r"^lexicon: \d+ token translations$", said.out, re.MULTILINE)
    assert run_yakusu("verify", model).code == 0
    translated = run_yakusu("translate", model, src, "--shortlist")
    assert translated.code == 0
    assert "lexicon" not in translated.err
    quality = run_yakusu("translate", model, src, "--shortlist", "--min-quality", "50").error
    assert quality.startswith(("there is no estimated quality", "the quality of translations"))
    error = run_yakusu("card", model, "--src", src).error
    assert error == "a lexicon is learned from pairs: specify both --src and --tgt"
    path = model / SHORTLIST
    path.write_bytes(tensors({"counts": np.zeros(3, np.uint8), "frequent": NONE, "targets": NONE}))
    with pytest.raises(ModelError, match=r"does not match the model: write it again"):
        read_lexicon(model, src_vocab_size=5, tgt_vocab_size=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--source", "jp"), "source = 'jp' is not a language code: did you mean 'ja'?"),
        (("--target", "kr"), "did you mean 'ko'? (use 'kau' for the language"),
        (("--target", "Korean"), "'Korean' is not a language code: did you mean 'ko'?"),
    ],
)
def test_an_unknown_code_changes_nothing(
    run_yakusu: Yakusu, model: Path, options: tuple[str, str], message: str
) -> None:
    before = (model / "manifest.json").read_bytes()
    assert message in run_yakusu("card", model, *options).error
    assert (model / "manifest.json").read_bytes() == before


def test_the_advice_of_serve_makes_a_model_that_can_be_served(
    run_yakusu: Yakusu, tmp_path: Path
) -> None:
    folder = save(tmp_path / "a model", untrained("bytes"), source_language="", target_language="")
    engine = EngineConfig(engine="native")
    with pytest.raises(ModelError, match=r"has no language codes \(\?-\?\)") as error:
        ReloadedModels([folder], engine, Threads(1))
    command = str(error.value).partition("'yakusu ")[2].removesuffix("'")
    assert command == f"card '{folder}' --source CODE --target CODE"
    said = run_yakusu("card", folder, "--source", "jpn", "--target", "zt")
    assert said.code == 0, said.err
    models = ReloadedModels([folder], engine, Threads(1))
    assert list(models.catalog.routes) == [("ja", "zh-Hant")]


def test_the_default_of_several_target_languages_is_one_of_them(
    run_yakusu: Yakusu, tmp_path: Path
) -> None:
    tokenizer = small_tokenizer(WORDS, languages=("deu", "fra"))
    network = Transformer(
        TransformerConfig(n_layers=1, d_model=16, d_ff=32), **tokenizer.vocab_sizes
    )
    several = Translator(
        TorchDecoder(network), tokenizer, languages=("", ""), search=SearchConfig()
    )
    folder = save(tmp_path / "model", several)
    said = run_yakusu("card", folder, "--source", "en", "--target", "ja")
    assert "no target language 'ja': choose one of deu, fra" in said.error
    assert run_yakusu("card", folder, "--source", "en", "--target", "fr").code == 0
    assert Translator.load(folder, engine="torch").languages == ("en", "fr")


def test_a_parser_has_no_languages(run_yakusu: Yakusu) -> None:
    said = run_yakusu("card", FIXTURES / "parser", "--source", "en")
    assert "is a parser: only translators have language codes" in said.error
