"""Models of the original Marian: the same weights as from Hugging Face's form of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.export.marians import Marian
from yakusu.export.foreign import own_model
from yakusu.export.hf_reader import read_hf
from yakusu.export.npz_reader import read_npz

VARIANTS: dict[str, Any] = {
    "post-norm": Marian(),
    "relu": Marian(config={"activation_function": "relu"}),
    "no biases": Marian(bias=False),
    "depths": Marian(config={"encoder_layers": 3, "decoder_layers": 1}),
    "separate vocabularies": Marian(separate=True, shared=False),
    "separate tables": Marian(shared=False),
    "untied output": Marian(tied=False),
    "three tables": Marian(shared=False, tied=False),
    "language tokens": Marian(tokens=(">>de<<", ">>fr<<")),
    "special ids": Marian(order=(("<unk>", "<s>", "</s>"), ("<pad>",))),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_both_forms_of_a_model_give_the_same_weights(name: str, tmp_path: Path) -> None:
    marian = VARIANTS[name]
    config, weights, tokenizer = own_model(read_npz(marian.write_original(tmp_path / "npz")))
    expected = own_model(read_hf(marian.write(tmp_path / "hf")))
    assert config == expected[0]
    assert weights.keys() == expected[1].keys()
    for key, array in weights.items():
        np.testing.assert_array_equal(array, expected[1][key], err_msg=key)
    assert tokenizer == expected[2]
