"""Exported models compute the same in Hugging Face's library."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.export.ctranslate2_models import WORDS, tokenizer
from tests.export.test_ctranslate2_export import VARIANTS, exported, network, verified
from yakusu.errors import ModelError
from yakusu.export.foreign import own_model
from yakusu.export.formats import FORMATS
from yakusu.export.hf.writer import CLASSES
from yakusu.export.importing import read_foreign
from yakusu.export.verify import verify_export
from yakusu.search.config import SearchConfig

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")  # of transformers

NAMES = (
    "post-norm",
    "pre-norm",
    "pre-norm with other settings",
    "silu",
    "gelu",
    "biases",
    "tied in the decoder",
    "not tied",
    "different depths",
    "embeddings that are not scaled",
    "a start token",
)


@pytest.mark.parametrize("name", NAMES)
def test_an_export_has_the_same_logits_and_finds_the_same_translations(
    tmp_path: Path, name: str
) -> None:
    found = verified(tmp_path / "out", network(VARIANTS[name]), to="hf")
    assert found.compared == "logits" and found.difference < 1e-4
    assert found.greedy.identical == found.beam.identical == found.sentences == 12


def test_an_export_with_other_weights_is_an_error(tmp_path: Path) -> None:
    model = network({})
    FORMATS["hf"].write(tmp_path, exported(model))
    peer = FORMATS["hf"].peer(tmp_path, len(tokenizer().tgt))
    with torch.no_grad():
        model.weights()["decoder.1.cross_attention.w_o"].mul_(1.01)
    with pytest.raises(ModelError, match="logits of the exported model differ"):
        verify_export(model, SearchConfig(), [(4, 5, 6, 0)], peer)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_classes_that_the_library_chooses_have_the_same_ids_and_all_tensors(
    norm: str, tmp_path: Path
) -> None:
    FORMATS["hf"].write(tmp_path, exported(network({"norm": norm})))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in (" ".join(WORDS), "zwei hunde, im park", "im </s> park", ""):
        ids = tokenizer().src.encode(text)
        assert theirs(text).input_ids == ids
        assert theirs(text_target=text).input_ids == tokenizer().tgt.encode(text)
    model, report = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert type(model).__name__ == CLASSES[norm][1]
    assert not any(report.values())


def test_a_pre_norm_export_that_the_library_saved_is_read(tmp_path: Path) -> None:
    FORMATS["hf"].write(tmp_path, exported(network({"norm": "pre"})))
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    model.save_pretrained(tmp_path / "saved")
    transformers.AutoTokenizer.from_pretrained(tmp_path).save_pretrained(tmp_path / "saved")
    config, weights, read = own_model(read_foreign(tmp_path / "saved"))
    expected = own_model(read_foreign(tmp_path))
    assert (config, read) == (expected[0], expected[2])
    assert all(np.array_equal(weights[name], array) for name, array in expected[1].items())
