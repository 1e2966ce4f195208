"""Imported models of CTranslate2 compute what its library computes."""

import json
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np
import pytest
import torch

from tests.export.ctranslate2_models import (
    WIDTH,
    model_bin,
    opennmt_vocabulary,
    random_variables,
    write_model,
)
from yakusu.data.vocabulary import EOS, UNK
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.library import MatrixFormat
from yakusu.engine.model import NativeModel
from yakusu.errors import ModelError
from yakusu.export.foreign import own_model
from yakusu.export.importing import read_foreign
from yakusu.model.config import TransformerConfig
from yakusu.pipeline.import_model import import_model
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Decoder, Query
from yakusu.search.tokens import TokenRules
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator.folder.folder import ModelFolder
from yakusu.translator.folder.network import open_model

N_SENTENCES = 100
GREEDY = SearchConfig(beam=1, alpha=0, max_length=30, max_extra=40, max_repeats=0)
Engine = Literal["torch", "native"]


def decoder(folder: Path, engine: Engine) -> Decoder:
    """An imported model."""
    if engine == "torch":
        return TorchDecoder(open_model(folder)[1].eval())
    opened = ModelFolder.open(folder)
    sizes = opened.config.vocab_sizes
    model = NativeModel.load(
        opened.config.model, opened.weights, (), **sizes, matrices=MatrixFormat.FLOAT32
    )
    return NativeDecoder([model])


def sentences(n_pieces: int) -> list[tuple[int, ...]]:
    """Random ids of pieces, without eos."""
    random = Random(3)
    return [
        tuple(random.choices(range(5, n_pieces), k=random.randint(1, 12)))
        for _ in range(N_SENTENCES)
    ]


def compare(source: Path, imported: Path, engine: Engine, compute_type: str) -> None:
    """Compare scores and greedy translations with those of the library."""
    library = pytest.importorskip("ctranslate2")
    peer = library.Translator(str(source), compute_type=compute_type)
    own, pieces = decoder(imported, engine), ModelFolder.open(imported).tokenizer.tgt
    sources = sentences(len(pieces))
    tokens = [[pieces.piece(i) for i in ids] for ids in sources]
    options = {"beam_size": 1, "max_decoding_length": 30, "disable_unk": True}
    found = peer.translate_batch(tokens, **options, return_end_token=True)
    targets = [[pieces.id_of(t) for t in each.hypotheses[0]] for each in found]
    rules = TokenRules(len(pieces))
    queries = [Query((*ids, 0)) for ids in sources]
    translated = own.search(queries, GREEDY, rules, batch=16)
    for best, target in zip(translated, targets, strict=True):
        assert list(best[0].tokens) == [i for i in target if i]
    complete = [[*(i for i in target if i), 0] for target in targets]
    pairs = [((*src, 0), tgt) for src, tgt in zip(sources, complete, strict=True)]
    scores = own.score(pairs, alternatives=0, batch=16)
    expected = peer.score_batch(tokens, [[pieces.piece(i) for i in t[:-1]] for t in complete])
    for score, each in zip(scores, expected, strict=True):
        np.testing.assert_allclose(score.token_log_probs, each.log_probs, atol=1e-3)


@pytest.mark.parametrize("engine", ["torch", "native"])
@pytest.mark.parametrize("source_eos", [True, False])
@pytest.mark.parametrize("pre_norm", [True, False])
def test_models_of_opennmt_give_the_same_scores_and_translations(
    tmp_path: Path, pre_norm: bool, source_eos: bool, engine: Engine
) -> None:
    source = write_model(tmp_path / "source", pre_norm=pre_norm, source_eos=source_eos)
    (source / "receipt.json").write_text('{"languages": ["en", "ja"]}')
    config = import_model(source, tmp_path / "own").config
    assert (config.source_language, config.target_language) == ("en", "ja")
    compare(source, tmp_path / "own", engine, "float32")


def _requantised(folder: Path, kind: str) -> None:
    """Let the library round a model."""
    specs = pytest.importorskip("ctranslate2.specs")
    vocabulary = opennmt_vocabulary()
    spec = specs.TransformerSpec.from_config((2, 1), 2, pre_norm=True)
    for name, value in random_variables(len(vocabulary), pre_norm=True).items():
        scope, _, last = name.rpartition("/")
        setattr(specs.model_spec.index_spec(spec, scope), last, value)
    spec.register_source_vocabulary(vocabulary)
    spec.register_target_vocabulary(vocabulary)
    spec.validate()
    spec.optimize(kind)
    spec.save(str(folder))


@pytest.mark.parametrize("kind", ["int8", "int16", "float16", "bfloat16"])
def test_rounded_weights_are_read_as_what_they_stand_for(tmp_path: Path, kind: str) -> None:
    source = write_model(tmp_path / "source")
    _requantised(source, kind)
    import_model(source, tmp_path / "own")
    compare(source, tmp_path / "own", "torch", "float32")


@pytest.mark.parametrize("tables", [("decoder",), ("encoder", "decoder")])
def test_a_model_without_a_table_of_positions_is_read(
    tmp_path: Path, tables: tuple[str, ...]
) -> None:
    source = write_model(tmp_path / "source")
    variables = random_variables(len(opennmt_vocabulary()), pre_norm=True)
    for side in tables:
        del variables[f"{side}/position_encodings/encodings"]
    (source / "model.bin").write_bytes(model_bin(variables))
    import_model(source, tmp_path / "own")
    compare(source, tmp_path / "own", "torch", "float32")


def test_a_model_that_starts_from_the_zero_vector_is_read(tmp_path: Path) -> None:
    source = write_model(tmp_path / "source", source_eos=True)
    variables = random_variables(len(opennmt_vocabulary()), pre_norm=True)
    variables["decoder/start_from_zero_embedding"] = np.int8(1)
    variables["decoder/scale_embeddings"] = variables["encoder/scale_embeddings"] = np.int8(0)
    (source / "model.bin").write_bytes(model_bin(variables))
    import_model(source, tmp_path / "own")
    assert ModelFolder.open(tmp_path / "own").config.model.start_id is None  # type: ignore[union-attr]
    compare(source, tmp_path / "own", "torch", "float32")


@pytest.mark.parametrize(("bos", "expected"), [("<s>", True), ("</s>", False)])
def test_sources_of_converted_marian_models_end_with_eos(
    tmp_path: Path, bos: str, expected: bool
) -> None:
    source = write_model(tmp_path / "source", source_eos=False)
    variables = random_variables(len(opennmt_vocabulary()), pre_norm=True)
    variables["decoder/start_from_zero_embedding"] = np.int8(1)
    (source / "model.bin").write_bytes(model_bin(variables))
    config = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps(config | {"bos_token": bos}))
    import_model(source, tmp_path / "own")
    made = ModelFolder.open(tmp_path / "own").config.model
    assert isinstance(made, TransformerConfig) and made.source_eos is expected


@pytest.mark.parametrize("engine", ["torch", "native"])
def test_a_vocabulary_without_unk_gives_the_same_scores_and_translations(
    tmp_path: Path, engine: Engine
) -> None:
    # Of known pieces: for others, the library reads numbers beyond the end of its table.
    source = write_model(tmp_path / "source", unk=False)
    import_model(source, tmp_path / "own")
    compare(source, tmp_path / "own", engine, "float32")


def test_an_unk_that_the_vocabulary_lacks_has_no_vector_and_is_never_generated(
    tmp_path: Path,
) -> None:
    source = write_model(tmp_path / "source", unk=False)
    variables = random_variables(len(opennmt_vocabulary(unk=False)), pre_norm=True)
    for equal in True, False:
        table = variables["encoder/embeddings_0/weight"] + (0 if equal else 1)
        (source / "model.bin").write_bytes(
            model_bin(variables | {"encoder/embeddings_0/weight": table})
        )
        config, weights, tokenizer = own_model(read_foreign(source))
        assert config.tied == ("three-way" if equal else "decoder")
        assert [tokenizer.tgt.piece(i) for i in range(3)] == ["</s>", "<unk>", "<blank>"]
        assert tokenizer.src.encode("漢")[1:] == [UNK, EOS]
        for name in "tgt_table.weight", *([] if equal else ["src_table.weight"]):
            assert not weights[name][UNK].any() and weights[name][[EOS, 2]].any()
        assert weights["output_bias"][UNK] == -1e9 and weights["output_bias"].shape == (49,)


def test_a_folder_of_version_5_gives_the_same_weights(tmp_path: Path) -> None:
    newer = write_model(tmp_path / "newer")
    older = write_model(tmp_path / "older")
    (older / "config.json").unlink()
    (older / "shared_vocabulary.json").unlink()
    text = "\n".join(opennmt_vocabulary()) + "\n"
    (older / "shared_vocabulary.txt").write_text(text, encoding="utf-8")
    variables = random_variables(len(opennmt_vocabulary()), pre_norm=True)
    for name in "num_heads", "pre_norm", "activation":
        variables[name] = variables.pop(f"encoder/{name}")
        del variables[f"decoder/{name}"]
    data = model_bin(variables, version=5, revision=4)
    (older / "model.bin").write_bytes(data)
    for each in newer, older:
        import_model(each, tmp_path / f"own-{each.name}")
    weights = [dict(ModelFolder.open(tmp_path / f"own-{n}").weights) for n in ("newer", "older")]
    assert weights[0].keys() == weights[1].keys()
    assert all(np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])


# ---- what is refused -----------------------------------------------------------------------------


def _refused(tmp_path: Path, changes: dict[str, Any], *removed: str) -> str:
    source = write_model(tmp_path / "source")
    variables = random_variables(len(opennmt_vocabulary()), pre_norm=True) | changes
    for name in removed:
        del variables[name]
    (source / "model.bin").write_bytes(model_bin(variables))
    with pytest.raises(ModelError) as error:
        import_model(source, tmp_path / "own")
    assert not (tmp_path / "own").exists()
    return str(error.value)


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    name = "decoder/layer_0/attention/linear_1/weight"
    assert f"the tensor '{name}' is missing" in _refused(tmp_path, {}, name)


def test_a_tensor_of_another_shape_is_named(tmp_path: Path) -> None:
    name = "encoder/layer_1/ffn/linear_1/weight"
    message = _refused(tmp_path, {name: np.zeros((3, 4), np.float32)})
    assert f"the tensor '{name}' has the shape (3, 4) instead of (16, 24)" in message


def test_an_unknown_activation_is_named_with_the_known_ones(tmp_path: Path) -> None:
    changes = {f"{side}/activation": np.int8(5) for side in ("encoder", "decoder")}
    assert "the activation 5 is not supported, only 0 (relu)" in _refused(tmp_path, changes)


def test_a_layer_of_another_kind_is_named(tmp_path: Path) -> None:
    name = "encoder/layer_0/ffn/linear_0_noact/weight"
    message = _refused(tmp_path, {name: np.zeros((24, WIDTH), np.float32)})
    assert f"'{name}' belongs to a kind of layer that is not supported" in message


def test_a_weight_that_is_not_a_number_is_named(tmp_path: Path) -> None:
    name = "encoder/layer_norm/beta"
    message = _refused(tmp_path, {name: np.full(WIDTH, np.nan, np.float32)})
    assert f"the tensor '{name}' contains NaN or infinity" in message


def test_a_vocabulary_of_another_size_is_an_error(tmp_path: Path) -> None:
    source = write_model(tmp_path / "source")
    (source / "shared_vocabulary.json").write_text('["<unk>", "<s>", "</s>"]', encoding="utf-8")
    with pytest.raises(ModelError, match="has 3 tokens and the model 49 embeddings"):
        import_model(source, tmp_path / "own")


def test_a_folder_without_a_sentencepiece_model_says_what_to_add(tmp_path: Path) -> None:
    source = write_model(tmp_path / "source")
    (source / "sentencepiece.model").unlink()
    with pytest.raises(ModelError, match=r"add source\.spm and target\.spm"):
        read_foreign(source)


def test_other_models_of_ctranslate2_are_refused_by_name(tmp_path: Path) -> None:
    source = write_model(tmp_path / "source")
    (source / "model.bin").write_bytes(model_bin({}, specification="WhisperSpec"))
    with pytest.raises(ModelError, match="'WhisperSpec'"):
        read_foreign(source)


def test_the_eos_of_a_source_is_not_attended_to_if_the_model_has_none(tmp_path: Path) -> None:
    import_model(write_model(tmp_path / "source"), tmp_path / "own")
    network = open_model(tmp_path / "own")[1].eval()
    with torch.inference_mode():
        with_eos = network.encode(torch.tensor([[7, 9, 0]]))
        with_other = network.encode(torch.tensor([[7, 9, 5]]))
    assert torch.equal(with_eos.mask, with_other.mask)  # type: ignore[attr-defined]
    assert torch.equal(with_eos.states[:, :2], with_other.states[:, :2])  # type: ignore[attr-defined]


def test_attention_maps_of_both_engines_have_no_weight_on_an_eos_that_is_left_out(
    tmp_path: Path,
) -> None:
    import_model(write_model(tmp_path / "source"), tmp_path / "own")
    pair, roles = ([7, 9, 0], [8, 0]), ("encoder", "cross")
    maps = [
        decoder(tmp_path / "own", e).attentions([pair], roles)[0][0] for e in ("torch", "native")
    ]
    for found in maps:
        assert found["cross"].shape == (1, 2, 2, 3)
        assert found["encoder"].shape == (2, 2, 3, 3)
        assert not found["cross"][..., 2].any() and not found["encoder"][..., 2].any()
    np.testing.assert_allclose(maps[0]["cross"], maps[1]["cross"], atol=1e-5)
    np.testing.assert_allclose(
        maps[0]["encoder"][..., :2, :], maps[1]["encoder"][..., :2, :], atol=1e-5
    )
