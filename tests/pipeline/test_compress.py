"""Compression of translators: the tables, the loss in quality, and loading the result."""

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
from tests.pipeline.synthetic import whole_lines
from tests.translators import (
    ENGINES,
    Engine,
    network_of,
    same_translations,
    save,
    small_tokenizer,
    untrained,
)
from yakusu.compress.config import CompressConfig, Stack
from yakusu.compress.lattice import ONE_TIER
from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.config import EngineConfig
from yakusu.errors import DataError, ModelError, RecipeError, RunError
from yakusu.folder import read_json
from yakusu.metrics import Score
from yakusu.model.coded_tables import CodedTable, IntegerTable
from yakusu.model.config import TransformerConfig
from yakusu.model.table import DenseTable
from yakusu.model.transformer import Transformer
from yakusu.pipeline.compress import memory_of
from yakusu.pipeline.receipts.card import documents
from yakusu.pipeline.receipts.receipt import read_receipt
from yakusu.pipeline.tables import _compressed, _storage
from yakusu.progress import Silent
from yakusu.search.config import SearchConfig
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import Translator
from yakusu.translator.folder.network import open_model, save_translator
from yakusu.weights import stored_bits, to_int8

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"

WORDS = ("the", "red", "boat", "sails", "home", "slowly", "under", "two", "small", "clouds")
SENTENCES = [" ".join(words) for words in itertools.permutations(WORDS[:5], 3)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return small_tokenizer(WORDS)


@pytest.fixture
def saved(tokenizer: Tokenizer, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """An untrained translator; three-way tied unless a test sets another kind of tying."""
    torch.manual_seed(0)
    config = TransformerConfig(
        n_layers=1, d_model=16, d_ff=32, n_heads=2, tied=getattr(request, "param", "three-way")
    )
    model = Transformer(
        config, src_vocab_size=tokenizer.src_vocab_size, tgt_vocab_size=tokenizer.tgt_vocab_size
    )
    # Otherwise an untrained model repeats one token, or generates none.
    search = SearchConfig(beam=1, max_extra=20, no_repeat_ngram=1)
    translator = Translator(TorchDecoder(model), tokenizer, languages=("en", "xx"), search=search)
    files = documents(read_receipt(FILES / "transformer"))
    return save(tmp_path / "model", translator, documents=files)


def compressed(
    saved: Path, config: CompressConfig | None = None, **options: Any
) -> tuple[yakusu.Translator, Any]:
    """Compress into the folder `small`, without exact vectors by default."""
    config = config or CompressConfig(exact=0)
    made = yakusu.compress_translator(saved, saved.parent / "small", config=config, **options)
    return load(saved.parent / "small"), made


def load(folder: Path, engine: Engine = "torch") -> yakusu.Translator:
    return Translator.load(folder, engine=EngineConfig(engine=engine, precision="float32"))


@pytest.mark.parametrize(
    ("saved", "stacks", "coded", "groups"),
    [
        ("three-way", ("encoder", "decoder"), "sto", [("src_table", "tgt_table", "output_table")]),
        ("three-way", ("encoder",), "s", [("src_table",)]),
        ("three-way", ("decoder",), "to", [("tgt_table", "output_table")]),
        ("decoder", ("encoder", "decoder"), "sto", [("src_table",), ("tgt_table", "output_table")]),
        ("none", ("decoder",), "to", [("tgt_table",), ("output_table",)]),
    ],
    indirect=["saved"],
)
def test_tied_tables_of_the_compressed_stacks_stay_one_table(
    saved: Path, stacks: tuple[Stack, ...], coded: str, groups: list[tuple[str, ...]]
) -> None:
    translator, made = compressed(saved, CompressConfig(stacks=stacks, k=4, exact=0))
    for name in ("src_table", "tgt_table", "output_table"):
        kind = CodedTable if name[0] in coded else DenseTable
        assert isinstance(getattr(network_of(translator), name), kind), name
    assert [table.plan.tables for table in made.tables] == groups
    for group in groups:
        assert len({id(getattr(network_of(translator), name)) for name in group}) == 1


def test_as_many_codes_as_vectors_change_no_translation(saved: Path) -> None:
    before = list(load(saved).stream(SENTENCES))
    translator, made = compressed(saved, CompressConfig(k=47, exact=0))
    assert made.tables[0].loss < 1e-12
    after = list(translator.stream(SENTENCES))
    assert [best[0].text for best in after] == [best[0].text for best in before]
    assert [best[0].score for best in after] == pytest.approx(
        [best[0].score for best in before], abs=1e-4
    )


def test_logits_are_products_with_the_rebuilt_vectors(saved: Path) -> None:
    translator, _ = compressed(saved, CompressConfig(m=5, k=3, exact=7))
    table, dense = network_of(translator).output_table, network_of(load(saved)).output_weight
    ids = torch.arange(len(dense))
    vectors = table(ids)
    assert (vectors[:7] == dense[:7]).all() and (vectors[-1] == 0).all()
    assert (vectors[7:-1] != dense[7:-1]).any(dim=1).all()
    hidden = torch.randn(4, 3, 16, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(table.logits(hidden), hidden @ vectors[:-1].T)


@pytest.mark.parametrize("method", ["codes", "integers"])
@pytest.mark.parametrize("n_exact", [0, 3])
def test_a_ratio_is_reached_including_exact_vectors(saved: Path, method: Any, n_exact: int) -> None:
    config = CompressConfig(method=method, ratio=1.7, exact=n_exact)
    table = compressed(saved, config)[1].tables[0]
    assert 1.7 <= table.ratio < 2.4


@pytest.mark.parametrize("method", ["codes", "integers"])
def test_the_maximum_ratio_in_an_error_can_be_reached(saved: Path, method: Any) -> None:
    with pytest.raises(DataError, match="ratio of 9 cannot be reached: the maximum is ") as caught:
        compressed(saved, CompressConfig(method=method, ratio=9, exact=6))
    most = float(str(caught.value).split()[-1])
    table = compressed(saved, CompressConfig(method=method, ratio=most, exact=6))[1].tables[0]
    assert most <= table.ratio < 1.1 * most


@pytest.mark.parametrize("n_exact", [0, 9])
def test_bits_and_ratio_of_integers_are_measured_on_the_file(saved: Path, n_exact: int) -> None:
    _, made = compressed(saved, CompressConfig(method="integers", step=1.0, exact=n_exact))
    stored = load_file(saved.parent / "small" / "model.safetensors")
    parts = {name.rpartition(".")[2]: t.nbytes for name, t in stored.items() if "_table." in name}
    table = made.tables[0]
    assert table.bits == 8 * parts["numbers"] / (47 - n_exact)
    assert table.ratio == pytest.approx(4 * 47 * 16 / sum(parts.values()))


@pytest.mark.parametrize("budget", [{"ratio": 1.01}, {"bits": 1000}, {"max_loss": 1e-4}], ids=str)
def test_a_generous_budget_uses_integers_of_at_most_8_bits(
    saved: Path, budget: dict[str, float]
) -> None:
    translator, made = compressed(saved, CompressConfig(method="integers", **budget))
    table = network_of(translator).output_table
    assert isinstance(table, IntegerTable) and table.numbers.abs().max() <= 127
    assert made.tables[0].loss < 1e-3


@pytest.mark.parametrize("stride", [1, 2, 3, 7])
def test_a_sample_of_integers_leaves_out_the_exact_vectors_and_no_others(stride: int) -> None:
    n_exact, integers = 10, np.zeros((200, 4), np.int16)
    integers[:n_exact] = np.random.default_rng(1).integers(-99, 100, (n_exact, 4))
    integers[n_exact:100] = 1
    rows = np.arange(0, 200, stride)
    others = torch.from_numpy(integers[rows[rows >= n_exact]].astype(np.int8))
    size = _storage(n_exact).of_integers((200, 4), integers[::stride], ONE_TIER)
    assert size.bits == stored_bits(others)


@pytest.mark.parametrize("n_codes", [2, 4])
def test_exact_vectors_do_not_change_the_codebook_of_the_others(saved: Path, n_codes: int) -> None:
    ids = torch.arange(20, 47)
    some = network_of(compressed(saved, CompressConfig(k=n_codes, exact=20))[0]).src_table(ids)
    shutil.rmtree(saved.parent / "small")
    none = network_of(compressed(saved, CompressConfig(k=n_codes, exact=0))[0]).src_table(ids)
    assert torch.equal(some, none)


@pytest.mark.parametrize("saved", ["three-way", "none"], indirect=True)
def test_integers_translate_like_the_vectors_that_they_represent(saved: Path) -> None:
    translator, made = compressed(
        saved, CompressConfig(method="integers", step=0.1, exact=4, int8=True)
    )
    table = network_of(translator).output_table
    assert isinstance(table, IntegerTable) and table.numbers.dtype == torch.int8
    hidden = torch.randn(6, 16, generator=torch.Generator().manual_seed(1))
    expected = hidden @ table(torch.arange(47)).T
    torch.testing.assert_close(table.logits(hidden), expected, rtol=1e-5, atol=1e-5)
    again = load(saved.parent / "small")
    assert torch.equal(network_of(again).output_table.logits(hidden), table.logits(hidden))
    some = SENTENCES[::5]
    assert list(translator.stream(some, batch=1)) == list(translator.stream(some))
    assert made.tables[0].plan.n_components == 16


@pytest.mark.parametrize("engine", ENGINES)
def test_translations_do_not_depend_on_the_batch(saved: Path, engine: Engine) -> None:
    compressed(saved, CompressConfig(k=4, exact=8))
    translator = load(saved.parent / "small", engine)
    some = SENTENCES[::5]
    assert list(translator.stream(some, batch=1)) == list(translator.stream(some, batch=64))


def test_both_engines_translate_a_compressed_model_alike(saved: Path) -> None:
    translator, _ = compressed(saved, CompressConfig(ratio=1.7, exact=3))
    native = load(saved.parent / "small", "native")
    same_translations(native.stream(SENTENCES), translator.stream(SENTENCES))


def test_compressing_twice_gives_the_same_bytes(saved: Path) -> None:
    for name in ("one", "two"):
        config = CompressConfig(k=4, exact=0, int8=True)
        yakusu.compress_translator(saved, saved.parent / name, config=config)
    for path in (saved.parent / "one").iterdir():
        assert path.read_bytes() == (saved.parent / "two" / path.name).read_bytes()


def test_int8_changes_a_weight_by_at_most_half_a_step_of_its_row(saved: Path) -> None:
    before = network_of(load(saved)).weights()
    config = CompressConfig(stacks=("encoder",), exact=0, int8=True)
    after = network_of(compressed(saved, config)[0]).weights()
    for name, tensor in before.items():
        if tensor.ndim == 2:
            step = tensor.abs().amax(dim=1, keepdim=True) / 127
            assert ((after[name] - tensor).abs() <= 0.5001 * step).all(), name
        else:
            assert (after[name] == tensor).all(), name


def test_int8_does_not_change_coded_tables_and_exact_vectors(saved: Path) -> None:
    dense = network_of(load(saved)).output_weight
    translator, made = compressed(saved, CompressConfig(k=47, exact=5, int8=True))
    vectors = network_of(translator).src_table(torch.arange(48))
    assert (vectors[:5] == dense[:5]).all()
    torch.testing.assert_close(vectors, dense.detach(), atol=1e-6, rtol=1e-5)
    assert made.tables[0].loss < 1e-12


def test_exact_vectors_lose_nothing(saved: Path) -> None:
    none = compressed(saved, CompressConfig(k=2, exact=0))[1].tables[0].loss
    shutil.rmtree(saved.parent / "small")
    most = compressed(saved, CompressConfig(k=2, exact=45))[1].tables[0]
    assert most.loss < 0.1 * none and most.ratio < 1.1  # two vectors have codes


def test_logits_follow_changed_weights(saved: Path) -> None:
    table = network_of(compressed(saved, CompressConfig(k=4, exact=0))[0]).output_table
    hidden = torch.ones(3, 16)
    table.logits(hidden)
    assert isinstance(table, CodedTable)
    table.weights.mul_(2)
    torch.testing.assert_close(table.logits(hidden), hidden @ table(torch.arange(47)).T)


def test_bleu_equals_evaluate_in_the_language_of_the_file(saved: Path, tmp_path: Path) -> None:
    references = tmp_path / "truth.ja"
    references.write_text("".join(line + "\n" for line in SENTENCES[:5]))
    config = CompressConfig(k=4, exact=0)
    _, made = compressed(saved, config, src=SENTENCES[:5], references=references)
    engine = EngineConfig(engine="torch")
    expected = yakusu.evaluate_model(saved, SENTENCES[:5], references, engine=engine)[0]
    assert "ja-mecab" in str(expected) and str(made.scores[0]) == str(expected)


def test_each_line_is_scored_as_one_sentence_as_by_evaluate(tmp_path: Path) -> None:
    files = documents(read_receipt(FILES / "transformer"))
    model = save(tmp_path / "model", untrained("bytes"), documents=files)
    lines = ["The red boat. The boat home.", "Where is the boat? Here."]
    references = whole_lines(model).translate(lines)
    assert references != load(model).translate(lines)
    _, made = compressed(model, src=lines, references=references)
    expected = yakusu.evaluate_model(model, lines, references, engine="torch")[0]
    assert expected.value == pytest.approx(100) and str(made.scores[0]) == str(expected)


def test_references_in_a_language_that_the_model_lacks_are_rejected(tmp_path: Path) -> None:
    tokenizer = small_tokenizer(WORDS, languages=("de", "fr"))
    config = TransformerConfig(n_layers=1, d_model=16, d_ff=32, n_heads=2)
    network = TorchDecoder(Transformer(config, **tokenizer.vocab_sizes))
    search = SearchConfig(beam=1)
    translator = Translator(network, tokenizer, languages=("en", "de"), search=search)
    model = save(
        tmp_path / "model", translator, documents=documents(read_receipt(FILES / "transformer"))
    )
    references = tmp_path / "truth.es"
    references.write_text("home\n")
    message = "model has no target language 'es': choose one of de, fr as the language of the ref"
    with pytest.raises(ModelError, match=message):
        compressed(model, src=["home"], references=references)
    assert not (tmp_path / "small").exists()


class _Messages(Silent):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


@pytest.mark.parametrize(("lowercase", "n"), [(False, 1), (True, 0)])
def test_capitals_that_the_vocabulary_lacks_are_reported(
    saved: Path, lowercase: bool, n: int
) -> None:
    references, messages = [line.title() for line in SENTENCES[:3]], _Messages()
    options = {"src": SENTENCES[:3], "references": references, "lowercase": lowercase}
    compressed(saved, CompressConfig(k=4, exact=0), progress=messages, **options)
    assert sum("no capital letters" in line for line in messages.lines) == n


def test_ratios_sizes_and_scores_are_reported(saved: Path) -> None:
    lines = load(saved).translate(SENTENCES[:5])
    config = CompressConfig(m=8, k=4, exact=2)
    _, made = compressed(saved, config, src=SENTENCES[:5], references=lines)
    dense = 32 * 47 * 16
    table = made.tables[0]
    assert (table.n_words, table.width, table.plan.n_exact) == (47, 16, 2)
    assert table.ratio == pytest.approx(dense / (45 * 8 * 2 + 32 * (16 * 16 + 8 * 4 + 2 * 16)))
    assert made.file_bytes[1] < made.file_bytes[0]
    assert isinstance(made.scores[0], Score) and made.scores[0].value == pytest.approx(100)
    assert made.scores[1].value < 100
    facts = read_json(saved.parent / "small" / "receipt.json")["compressed"]
    assert facts["scores"] == [str(made.scores[0]), str(made.scores[1])]


def test_int8_rows_stay_int8_rows(saved: Path) -> None:
    config, network, tokenizer = open_model(saved)
    integers = to_int8(network.weights())
    files = documents(read_receipt(saved))
    save_translator(saved.parent / "rounded", integers, tokenizer, config, documents=files)
    compressed(saved.parent / "rounded")
    stored = load_file(saved.parent / "small" / "model.safetensors")
    matrices = [name for name in stored if stored[name].dtype == torch.int8]
    assert len(matrices) > 5
    assert all(stored[name].equal(integers[name]) for name in matrices)
    assert read_json(saved.parent / "small" / "receipt.json")["compressed"]["int8"] is True


def test_model_card_and_receipt_describe_the_compression(saved: Path) -> None:
    config = CompressConfig(k=4, exact=0, int8=True)
    compressed(saved, config)
    facts = read_json(saved.parent / "small" / "receipt.json")
    assert facts["seed"] == 1 and facts["compressed"]["int8"] is True
    assert CompressConfig(**facts["compressed"]["settings"]) == config
    manifest = read_json(saved / "manifest.json")
    assert facts["compressed"]["from"] == manifest["files"]["model.safetensors"]["sha256"]
    card = (saved.parent / "small" / "README.md").read_text()
    assert (
        "src_table = tgt_table = output_table: 47 vectors x 16 dimensions as 16 codes with K = 4"
        in card
    )
    assert "all other matrices: 8 bits" in card
    assert card.index("## Compressed") < card.index("## How to use it")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"m": 17, "exact": 0}, DataError, "M = 17 is out of range for vectors of 16 dimensions"),
        (
            {"ratio": 99, "exact": 0},
            DataError,
            r"src_table = tgt_table = output_table, 47 x 16: a ratio of 99 cannot .* maximum is ",
        ),
        ({"exact": 46}, DataError, r"compress\.exact = 46 leaves fewer than 2 of 47 vectors"),
        ({}, DataError, r"compress\.exact = 128 leaves fewer than 2 of 47 vectors"),
        (
            {"method": "integers", "step": 1e-3},
            DataError,
            "do not fit into 8 bits: choose a step at least",
        ),
        (
            {"method": "integers", "ratio": 5, "exact": 10},
            DataError,
            r"a ratio of 5 cannot be reached: the maximum is ",  # 10 of 47 are a fifth
        ),
        ({"half": True}, RecipeError, r"compress\.half has no effect on a translator"),
        (
            {"method": "integers", "tiers": (9,)},
            RecipeError,
            r"compress\.tiers has no effect on a translator",
        ),
    ],
)
def test_settings_that_do_not_fit_are_rejected_before_writing(
    saved: Path, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        compressed(saved, CompressConfig(**settings))
    assert not (saved.parent / "small").exists()


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            {"src": ["a"], "references": ["b", "c"]},
            r"the sentences and the references differ in length \(1 and 2 lines\)",
        ),
        ({"src": ["a"]}, "src and references belong together"),
        ({"src": Path("nowhere"), "references": ["a"]}, "nowhere does not exist"),
    ],
)
def test_texts_that_do_not_fit_are_rejected_before_writing(
    saved: Path, texts: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        compressed(saved, **texts)
    assert not (saved.parent / "small").exists()


def test_a_weight_that_is_not_finite_is_rejected(saved: Path) -> None:
    model = network_of(load(saved))
    with torch.no_grad():
        model.src_table.weight[3, 2] = torch.nan
    weight = model.src_table.weight.detach()[:-1]
    with pytest.raises(DataError, match="row 3 is not finite"):
        _compressed(CompressConfig(), weight, 0, Silent())


def test_a_compressed_model_or_an_existing_folder_is_rejected(saved: Path) -> None:
    compressed(saved, CompressConfig(k=4, exact=0))
    with pytest.raises(RunError, match="small exists: choose another folder"):
        compressed(saved)
    with pytest.raises(ModelError, match="small is already compressed"):
        yakusu.compress_translator(saved.parent / "small", saved.parent / "smaller")


@pytest.mark.parametrize(
    "config",
    [CompressConfig(k=4, exact=0), CompressConfig(method="integers", step=0.2)],
    ids=["codes", "integers"],
)
def test_a_compressed_translator_runs_without_the_libraries_of_compression(
    saved: Path, config: CompressConfig
) -> None:
    compressed(saved, config)
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
    expected = Translator.load(saved.parent / "small").translate(["the red boat"])
    assert done.stdout.splitlines() == expected


def test_codes_of_a_table_are_packed_into_bytes(saved: Path) -> None:
    translator, _ = compressed(saved, CompressConfig(m=10, k=8, exact=0))
    table = network_of(translator).src_table
    assert isinstance(table, CodedTable)
    assert table.packed.shape == (47, 4)  # 30 bits
    assert table.packed.dtype == torch.uint8
    assert np.prod(table.exact.shape) == 0


def test_memory_names_the_precision_in_which_it_is_measured() -> None:
    engine = EngineConfig(engine="native", precision="int8")  # the default would be float32
    memory = memory_of(FILES / "transformer", engine=engine)
    assert memory.precision == "int8" and memory.n_bytes > 0
