"""Compressed translators: what is compressed, what it costs, and what loads it."""

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import yakusu
from yakusu.compress.budget import Budget
from yakusu.compress.method import ByCodes, ByNumbers, CodesWithin, NumbersWithin
from yakusu.data.tokenizer import Tokenizer, TokenizerConfig
from yakusu.errors import DataError, ModelError, RunError
from yakusu.folder import json_text, read_json
from yakusu.metrics import Score
from yakusu.model.coded_tables import CodedTable, NumberTable
from yakusu.model.config import TransformerConfig
from yakusu.model.table import DenseTable
from yakusu.model.transformer import Transformer
from yakusu.pipeline.compress import Side
from yakusu.search import SearchConfig
from yakusu.translator import Translator, save_translator

WORDS = ("the", "red", "boat", "sails", "home", "slowly", "under", "two", "small", "clouds")
SENTENCES = [" ".join(words) for words in itertools.permutations(WORDS[:5], 3)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    corpus = [" ".join(words) for words in itertools.permutations(WORDS, 3)]
    return Tokenizer.train(corpus, corpus, TokenizerConfig(vocab_size=48), seed=1)


@pytest.fixture
def saved(tokenizer: Tokenizer, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A translator of nonsense, three-way tied unless a test says otherwise."""
    torch.manual_seed(0)
    config = TransformerConfig(
        n_layers=1, d_model=16, d_ff=32, n_heads=2, tied=getattr(request, "param", "three-way")
    )
    model = Transformer(
        config, src_vocab_size=tokenizer.src_vocab_size, tgt_vocab_size=tokenizer.tgt_vocab_size
    )
    save_translator(
        tmp_path / "model",
        model.weights(),
        tokenizer,
        model=config,
        languages=("en", "xx"),
        search=SearchConfig(max_extra=5),
        documents={
            "receipt.json": json_text({"seed": 1}),
            "README.md": "# A translator\n\n## How to use it\n\nSo.\n",
        },
    )
    return tmp_path / "model"


def compressed(saved: Path, **options: Any) -> tuple[yakusu.Translator, Any]:
    made = yakusu.compress_translator(saved, saved.parent / "small", **options)
    return Translator.load(saved.parent / "small"), made


@pytest.mark.parametrize(
    ("saved", "sides", "coded", "groups"),
    [
        ("three-way", ("encoder", "decoder"), "sto", [("src_table", "tgt_table", "output_table")]),
        ("three-way", ("encoder",), "s", [("src_table",)]),
        ("three-way", ("decoder",), "to", [("tgt_table", "output_table")]),
        ("decoder", ("encoder", "decoder"), "sto", [("src_table",), ("tgt_table", "output_table")]),
        ("none", ("decoder",), "to", [("tgt_table",), ("output_table",)]),
    ],
    indirect=["saved"],
)
def test_a_side_is_its_tables_and_tied_ones_stay_one(
    saved: Path, sides: tuple[Side, ...], coded: str, groups: list[tuple[str, ...]]
) -> None:
    translator, made = compressed(saved, sides=sides, method=ByCodes(n_codes=4))
    for name in ("src_table", "tgt_table", "output_table"):
        kind = CodedTable if name[0] in coded else DenseTable
        assert isinstance(getattr(translator.model, name), kind), name
    assert [table.plan.tables for table in made.tables] == groups
    for group in groups:
        assert len({id(getattr(translator.model, name)) for name in group}) == 1


def test_many_codes_translate_as_before(saved: Path) -> None:
    before = list(Translator.load(saved).stream(SENTENCES))
    translator, made = compressed(saved, method=ByCodes(n_codes=47))  # as many as there are vectors
    assert made.tables[0].loss < 1e-12
    after = list(translator.stream(SENTENCES))
    assert [best[0].text for best in after] == [best[0].text for best in before]
    assert [best[0].score for best in after] == pytest.approx(
        [best[0].score for best in before], abs=1e-4
    )


def test_logits_are_those_of_the_rebuilt_vectors(saved: Path) -> None:
    translator, _ = compressed(saved, method=ByCodes(5, 3), n_exact=7)
    table, dense = translator.model.output_table, Translator.load(saved).model.output_weight
    ids = torch.arange(len(dense))
    vectors = table(ids)
    assert (vectors[:7] == dense[:7]).all() and (vectors[-1] == 0).all()
    assert (vectors[7:-1] != dense[7:-1]).any(dim=1).all()
    hidden = torch.randn(4, 3, 16, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(table.logits(hidden), hidden @ vectors[:-1].T)


@pytest.mark.parametrize("method", [CodesWithin, NumbersWithin])
@pytest.mark.parametrize("n_exact", [0, 3])
def test_a_ratio_that_is_asked_for_is_kept_exact_vectors_counted(
    saved: Path, method: Any, n_exact: int
) -> None:
    table = compressed(saved, method=method(Budget(ratio=1.7)), n_exact=n_exact)[1].tables[0]
    assert 1.7 <= table.ratio < 2.4


@pytest.mark.parametrize("method", [CodesWithin, NumbersWithin])
def test_what_is_said_to_be_the_most_can_be_had(saved: Path, method: Any) -> None:
    with pytest.raises(DataError, match="a ratio of 9 cannot be reached: the most is ") as caught:
        compressed(saved, method=method(Budget(ratio=9)), n_exact=6)
    most = float(str(caught.value).split()[-1])
    table = compressed(saved, method=method(Budget(ratio=most)), n_exact=6)[1].tables[0]
    assert most <= table.ratio < 1.1 * most


@pytest.mark.parametrize("n_exact", [0, 9])
def test_bits_and_ratio_of_whole_numbers_are_those_of_the_file(saved: Path, n_exact: int) -> None:
    _, made = compressed(saved, method=ByNumbers(1.0), n_exact=n_exact)
    stored = load_file(saved.parent / "small" / "model.safetensors")
    parts = {name.rpartition(".")[2]: t.nbytes for name, t in stored.items() if "_table." in name}
    table = made.tables[0]
    assert table.bits == 8 * parts["numbers"] / (47 - n_exact)
    assert table.ratio == pytest.approx(4 * 47 * 16 / sum(parts.values()))


@pytest.mark.parametrize("budget", [Budget(ratio=1.01), Budget(bits=1000), Budget(max_loss=1e-4)])
def test_a_wish_that_finer_numbers_would_exceed_is_honoured_by_those_of_eight_bits(
    saved: Path, budget: Budget
) -> None:
    translator, made = compressed(saved, method=NumbersWithin(budget))
    table = translator.model.output_table
    assert isinstance(table, NumberTable) and table.numbers.abs().max() <= 127
    assert made.tables[0].loss < 1e-3


@pytest.mark.parametrize("n_codes", [2, 4])
def test_exact_pieces_take_nothing_from_the_codebook_of_the_others(
    saved: Path, n_codes: int
) -> None:
    ids = torch.arange(20, 47)
    some = compressed(saved, method=ByCodes(n_codes=n_codes), n_exact=20)[0].model.src_table(ids)
    shutil.rmtree(saved.parent / "small")
    none = compressed(saved, method=ByCodes(n_codes=n_codes))[0].model.src_table(ids)
    assert torch.equal(some, none)


@pytest.mark.parametrize("saved", ["three-way", "none"], indirect=True)
def test_whole_numbers_translate_as_the_vectors_that_they_stand_for(saved: Path) -> None:
    translator, made = compressed(saved, method=ByNumbers(0.1), n_exact=4, int8=True)
    table = translator.model.output_table
    assert isinstance(table, NumberTable) and table.numbers.dtype == torch.int8
    hidden = torch.randn(6, 16, generator=torch.Generator().manual_seed(1))
    expected = hidden @ table(torch.arange(47)).T
    assert (table.logits(hidden) - expected).abs().max() < 0.02 * expected.abs().max()
    again = Translator.load(saved.parent / "small")
    assert torch.equal(again.model.output_table.logits(hidden), table.logits(hidden))
    assert list(translator.stream(SENTENCES, batch=1)) == list(translator.stream(SENTENCES))
    assert f"{made.tables[0].plan.n_components} integers" in str(made.tables[0])


def test_one_by_one_or_together_the_same_translations(saved: Path) -> None:
    translator, _ = compressed(saved, method=ByCodes(n_codes=4), n_exact=8)
    together = list(translator.stream(SENTENCES, batch=64))
    assert list(translator.stream(SENTENCES, batch=1)) == together


def test_the_same_bytes_every_time(saved: Path) -> None:
    for name in ("one", "two"):
        yakusu.compress_translator(saved, saved.parent / name, method=ByCodes(n_codes=4), int8=True)
    for path in (saved.parent / "one").iterdir():
        assert path.read_bytes() == (saved.parent / "two" / path.name).read_bytes()


def test_int8_keeps_every_matrix_to_half_a_step_of_its_row(saved: Path) -> None:
    before = Translator.load(saved).model.weights()
    after = compressed(saved, sides=("encoder",), int8=True)[0].model.weights()
    for name, tensor in before.items():
        if tensor.ndim == 2:
            step = tensor.abs().amax(dim=1, keepdim=True) / 127
            assert ((after[name] - tensor).abs() <= 0.5001 * step).all(), name
        else:
            assert (after[name] == tensor).all(), name


def test_int8_leaves_coded_tables_and_exact_vectors_as_they_are(saved: Path) -> None:
    dense = Translator.load(saved).model.output_weight
    translator, made = compressed(saved, method=ByCodes(n_codes=47), n_exact=5, int8=True)
    vectors = translator.model.src_table(torch.arange(48))
    assert (vectors[:5] == dense[:5]).all()
    torch.testing.assert_close(vectors, dense.detach(), atol=1e-6, rtol=1e-5)
    assert made.tables[0].loss < 1e-12


def test_vectors_that_stay_exact_lose_nothing(saved: Path) -> None:
    method = ByCodes(n_codes=2)
    none = compressed(saved, method=method)[1].tables[0].loss
    shutil.rmtree(saved.parent / "small")
    most = compressed(saved, method=method, n_exact=45)[1].tables[0]
    assert most.loss < 0.1 * none and most.ratio < 1.1  # of two vectors


def test_logits_follow_weights_that_change(saved: Path) -> None:
    table = compressed(saved, method=ByCodes(n_codes=4))[0].model.output_table
    hidden = torch.ones(3, 16)
    table.logits(hidden)
    assert isinstance(table, CodedTable)
    table.weights.mul_(2)
    torch.testing.assert_close(table.logits(hidden), hidden @ table(torch.arange(47)).T)


def test_bleu_is_that_of_evaluate_and_of_the_language_of_the_file(
    saved: Path, tmp_path: Path
) -> None:
    references = tmp_path / "truth.ja"
    references.write_text("".join(line + "\n" for line in SENTENCES[:5]))
    _, made = compressed(saved, method=ByCodes(n_codes=4), src=SENTENCES[:5], references=references)
    expected = yakusu.evaluate_model(saved, SENTENCES[:5], references)[0]
    assert "ja-mecab" in str(expected) and str(made.scores[0]) == str(expected)


def test_ratios_sizes_and_scores_are_said(saved: Path) -> None:
    lines = Translator.load(saved).translate(SENTENCES[:5])
    _, made = compressed(
        saved, method=ByCodes(8, 4), n_exact=2, src=SENTENCES[:5], references=lines
    )
    dense = 32 * 47 * 16
    table = made.tables[0]
    assert (table.n_words, table.width, table.plan.n_exact) == (47, 16, 2)
    assert table.ratio == pytest.approx(dense / (45 * 8 * 2 + 32 * (8 * (16 + 4) + 2 * 16)))
    assert made.file_bytes[1] < made.file_bytes[0]
    assert isinstance(made.scores[0], Score) and made.scores[0].value == pytest.approx(100)
    assert made.scores[1].value < 100
    facts = read_json(saved.parent / "small" / "receipt.json")["compressed"]
    assert facts["scores"] == [str(made.scores[0]), str(made.scores[1])]


def test_card_and_receipt_tell_of_it(saved: Path) -> None:
    compressed(saved, method=ByCodes(n_codes=4), int8=True)
    facts = read_json(saved.parent / "small" / "receipt.json")
    assert facts["seed"] == 1 and facts["compressed"]["int8"] is True
    manifest = read_json(saved / "manifest.json")
    assert facts["compressed"]["from"] == manifest["files"]["model.safetensors"]["sha256"]
    card = (saved.parent / "small" / "README.md").read_text()
    assert "src_table = tgt_table = output_table: 47 x 16 numbers as 16 codes of 4" in card
    assert "all other matrices: 8 bits per number" in card
    assert card.index("## Compressed") < card.index("## How to use it")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": ByCodes(17)}, DataError, "M = 17 components cannot be taken of 16 dimensions"),
        ({"method": ByCodes(n_codes=1)}, DataError, "K = 1 codes tell nothing apart"),
        (
            {"method": CodesWithin(Budget(ratio=99))},
            DataError,
            r"src_table = tgt_table = output_table, 47 x 16: a ratio of 99 cannot .* most is ",
        ),
        ({"n_exact": 46}, DataError, "46 exact ids leave none of the 47: leave 2 or more"),
        ({"method": ByNumbers(1e-3)}, DataError, "do not fit into 8 bits: take a step at least"),
        (
            {"method": NumbersWithin(Budget(ratio=5)), "n_exact": 10},
            DataError,
            r"a ratio of 5 cannot be reached: the most is ",  # 10 of 47 alone are a fifth
        ),
        ({"src": ["a"], "references": ["b", "c"]}, DataError, "1 sentences and 2 references"),
        ({"sides": ()}, DataError, "name a side, and 0 or more"),
        ({"n_exact": -1}, DataError, "name a side, and 0 or more"),
        ({"method": ByCodes(n_codes=65537)}, DataError, "K = 65537 codes are too many"),
        ({"src": ["a"]}, DataError, "sentences and references go together"),
        ({"src": Path("nowhere"), "references": ["a"]}, DataError, "nowhere does not exist"),
    ],
)
def test_what_does_not_suit_is_refused_and_nothing_is_written(
    saved: Path, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        compressed(saved, **options)
    assert not (saved.parent / "small").exists()


def test_a_compressed_model_or_a_folder_that_is_there_is_refused(saved: Path) -> None:
    compressed(saved, method=ByCodes(n_codes=4))
    with pytest.raises(RunError, match="small is there already"):
        compressed(saved)
    with pytest.raises(ModelError, match="small is compressed already"):
        yakusu.compress_translator(saved.parent / "small", saved.parent / "smaller")


@pytest.mark.parametrize("method", [ByCodes(n_codes=4), ByNumbers(0.2)], ids=["codes", "numbers"])
def test_a_compressed_translator_needs_nothing_of_what_compressed_it(
    saved: Path, method: Any
) -> None:
    translator, _ = compressed(saved, method=method)
    program = (
        "import sys\n"
        "for name in ('numba', 'scipy', 'sklearn', 'constriction', 'matplotlib'):\n"
        "    sys.modules[name] = None\n"
        "import yakusu\n"
        "print(yakusu.Translator.load(sys.argv[1]).translate(['the red boat'])[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, saved.parent / "small"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.rstrip("\n") == translator.translate(["the red boat"])[0]


def test_a_coded_table_lies_in_as_few_bytes_as_it_says(saved: Path) -> None:
    translator, _ = compressed(saved, method=ByCodes(10, 8))
    table = translator.model.src_table
    assert isinstance(table, CodedTable)
    assert table.packed.shape == (47, 4)  # 30 bits
    assert table.packed.dtype == torch.uint8
    assert np.prod(table.exact.shape) == 0
