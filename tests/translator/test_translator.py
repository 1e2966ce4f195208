"""A translator's folder round trips; its stream keeps the order, is lazy and reports errors."""

import itertools
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.translators import (
    ENGINES,
    Engine,
    decoder_of,
    network_of,
    same_translations,
    save,
    sharpened,
    small_tokenizer,
)
from yakusu.data.lines.config import TextConfig
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig
from yakusu.engine.config import EngineConfig
from yakusu.errors import DataError, ModelError
from yakusu.folder import read_json, write_json
from yakusu.model.base import SearchModel
from yakusu.model.config import TransformerConfig
from yakusu.model.ensemble import Ensemble
from yakusu.model.transformer import Transformer
from yakusu.search.beam import beam_search
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import Translator
from yakusu.translator.request import Request

WORDS = ("the", "red", "boat", "sails", "home", "slowly", "under", "two", "small", "clouds")
SENTENCES = [" ".join(words) for n in (1, 2, 3) for words in itertools.permutations(WORDS[:6], n)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return small_tokenizer(WORDS)


def translator(
    tokenizer: Tokenizer,
    engine: Engine = "torch",
    *,
    threads: int = 1,
    text: TextConfig | None = None,
    longest: int = 1024,
    **sizes: Any,
) -> Translator:
    """A translator with random weights, scaled so that its hypotheses differ clearly."""
    torch.manual_seed(0)
    config = TransformerConfig(
        **{"n_layers": 2, "d_model": 32, "d_ff": 64, "n_heads": 4, "tied": "none", **sizes}
    )
    model = Transformer(
        config,
        src_vocab_size=tokenizer.src_vocab_size,
        tgt_vocab_size=tokenizer.tgt_vocab_size,
    )
    decoder = decoder_of(sharpened(model), engine, threads=threads)
    search = SearchConfig(max_extra=5)
    return Translator(
        decoder,
        tokenizer,
        languages=("en", "xx"),
        search=search,
        max_source_tokens=longest,
        text=text,
    )


@pytest.fixture(params=ENGINES)
def ours(tokenizer: Tokenizer, request: pytest.FixtureRequest) -> Translator:
    """A translator that each engine runs."""
    return translator(tokenizer, request.param)


@pytest.fixture
def saved(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    return save(tmp_path / "model", translator(tokenizer))


# ---- the folder ----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"norm": "pre", "tied": "three-way", "d_k": 5},
        {"positions": "learned", "max_positions": 64, "tied": "decoder"},
    ],
    ids=str,
)
def test_a_saved_translator_gives_the_same_translations(
    tokenizer: Tokenizer, tmp_path: Path, engine: Engine, sizes: dict[str, Any]
) -> None:
    before = translator(tokenizer, engine, **sizes)
    save(tmp_path / "model", translator(tokenizer, **sizes))
    config = EngineConfig(engine=engine, precision="float32")
    after = Translator.load(tmp_path / "model", engine=config)
    assert (after.languages, after.search) == (before.languages, before.search)
    assert list(after.stream(SENTENCES[:30])) == list(before.stream(SENTENCES[:30]))


@pytest.mark.parametrize("engine", ENGINES)
def test_models_with_the_same_vocabulary_form_an_ensemble(
    tokenizer: Tokenizer, saved: Path, tmp_path: Path, engine: Engine
) -> None:
    wide = translator(tokenizer, d_model=64)
    folders = saved, save(tmp_path / "wide", wide)
    config = EngineConfig(engine=engine, precision="float32")
    single, both = (
        Translator.load(saved, ensemble=others, engine=config) for others in ([], folders[1:])
    )
    members = [network_of(each) for each in (translator(tokenizer), wide)]
    expected = Translator(
        TorchDecoder(Ensemble(members)),
        tokenizer,
        languages=("en", "xx"),
        search=single.search,
    )
    same_translations(both.stream(SENTENCES[:20]), expected.stream(SENTENCES[:20]))
    assert both.translate(SENTENCES[:20]) != single.translate(SENTENCES[:20])


def test_an_ensemble_of_different_vocabularies_of_equal_size_is_refused(
    tokenizer: Tokenizer, saved: Path, tmp_path: Path
) -> None:
    corpus = [" ".join(words) for words in itertools.permutations([w[::-1] for w in WORDS], 3)]
    config = TokenizerConfig(
        byte_fallback=False, placeholder_share=0, vocab_size=tokenizer.src_vocab_size
    )
    other = Tokenizer.train(corpus, corpus, config, seed=1)
    save(tmp_path / "other", translator(other))
    with pytest.raises(ModelError, match=r"the vocabulary of .*other differs from that of"):
        Translator.load(saved, ensemble=[tmp_path / "other"])


def test_an_ensemble_of_models_for_different_languages_is_refused(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    pairs = {
        "one": ("de", "en"),
        "region": ("de-AT", "en"),
        "unknown": ("", ""),
        "two": ("en", "de"),
    }
    folders = {
        name: save(
            tmp_path / name, translator(tokenizer), source_language=source, target_language=target
        )
        for name, (source, target) in pairs.items()
    }
    Translator.load(folders["one"], ensemble=[folders["region"], folders["unknown"]])
    with pytest.raises(ModelError, match=r"one translates de-en, but .*two translates en-de: name"):
        Translator.load(folders["one"], ensemble=[folders["two"]])


def test_one_string_is_not_a_list_of_the_models_of_an_ensemble(saved: Path) -> None:
    with pytest.raises(TypeError, match=r"several model folders, not one string: pass \[folder\]"):
        Translator.load(saved, ensemble=str(saved))


def test_the_folder_contains_the_documented_files(saved: Path) -> None:
    assert sorted(path.name for path in saved.iterdir()) == [
        "config.json",
        "manifest.json",
        "model.safetensors",
        "tokenizer.model",
    ]


def test_saving_a_loaded_translator_writes_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    save(tmp_path / "again", Translator.load(saved, engine=EngineConfig(engine="torch")))
    for path in saved.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_the_error_for_a_run_folder_names_its_model(saved: Path) -> None:
    with pytest.raises(ModelError, match=rf"is a run folder: use its model, {saved}"):
        Translator.load(saved.parent)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.model", "config.json"])
def test_a_corrupt_file_is_named(saved: Path, name: str) -> None:
    data = bytearray((saved / name).read_bytes())
    data[len(data) // 2] ^= 1
    (saved / name).write_bytes(data)
    with pytest.raises(ModelError, match=rf"{name} is corrupt"):
        Translator.load(saved)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a model folder: check the path"):
        Translator.load(tmp_path / "nowhere")


@pytest.mark.parametrize("key", ["model_type", "graphs", "add_source_eos"])
def test_a_model_for_another_library_is_named(
    saved: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    write_json(saved / "config.json", {key: 1})
    monkeypatch.setattr("yakusu.translator.folder.folder.verify_folder", lambda folder: None)
    with pytest.raises(ModelError, match="is a model for another library: use the model that"):
        Translator.load(saved)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("key", "value"),
    [("d_ff", 128), ("n_layers", 3), ("tied", "decoder"), ("colour", "red"), ("n_heads", "x")],
)
def test_weights_that_do_not_fit_their_config_are_refused(
    saved: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine, key: str, value: Any
) -> None:
    config = read_json(saved / "config.json")
    config["model"][key] = value
    write_json(saved / "config.json", config)
    monkeypatch.setattr("yakusu.translator.folder.folder.verify_folder", lambda folder: None)
    with pytest.raises(ModelError, match=r"does not match|config\.json is invalid"):
        Translator.load(saved, engine=EngineConfig(engine=engine))


# ---- translating ---------------------------------------------------------------------------------


def test_a_stream_keeps_the_order_and_translates_each_sentence_as_alone(ours: Translator) -> None:
    some = SENTENCES[::3]
    assert list(ours.stream(some, batch=8, window=20)) == [
        next(ours.stream([sentence])) for sentence in some
    ]


def test_translations_of_a_window_do_not_depend_on_its_order(ours: Translator) -> None:
    forward = list(ours.stream(SENTENCES, batch=7, window=50))
    backward = list(ours.stream(SENTENCES[::-1], batch=64))
    assert backward[::-1] == forward


def test_blank_lines_stay_at_the_same_positions(ours: Translator) -> None:
    lines = ["", SENTENCES[3], "   ", "\t", SENTENCES[40], ""]
    texts = ours.translate(lines)
    assert [texts[i] for i in (0, 2, 3, 5)] == ["", "   ", "\t", ""]
    assert [texts[1], texts[4]] == ours.translate([SENTENCES[3], SENTENCES[40]])
    assert next(ours.stream([""]))[0].n_tokens == 0


def test_an_empty_list_has_no_translations(ours: Translator) -> None:
    assert ours.translate([]) == []


def test_surrounding_white_space_is_kept(ours: Translator) -> None:
    (plain,) = ours.translate([SENTENCES[50]])
    assert ours.translate([f"  {SENTENCES[50]} \n"]) == [f"  {plain} \n"]


def test_n_best_lists_are_sorted_and_start_with_the_translation(ours: Translator) -> None:
    best = ours.translate(SENTENCES[:10])
    ours = ours.with_settings(search=ours.search.model_copy(update={"n_best": 3}))
    lists = list(ours.stream(SENTENCES[:10]))
    assert [len(found) for found in lists if not found[0].copied] == [3] * 9
    assert [found[0].text for found in lists] == best
    for found in lists:
        assert [t.score for t in found] == sorted((t.score for t in found), reverse=True)


def test_the_stream_reads_only_one_window_ahead(ours: Translator) -> None:
    n_read = 0

    def source() -> Iterator[str]:
        nonlocal n_read
        for sentence in itertools.cycle(SENTENCES):  # endless
            n_read += 1
            yield sentence

    stream = ours.stream(source(), batch=4, window=12)
    assert n_read == 0
    seen = []
    for _ in range(25):
        next(stream)
        seen.append(n_read)
    assert seen == [12] * 12 + [24] * 12 + [36]


def test_torch_decodes_sentences_of_similar_lengths_together(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, lengths = translator(tokenizer), []

    def watched(model: SearchModel, src: Tensor, *args: Any, **options: Any) -> Any:
        lengths.append((src != model.src_pad).sum(dim=1).tolist())
        return beam_search(model, src, *args, **options)

    monkeypatch.setattr("yakusu.search.torch_decoder.beam_search", watched)
    mixed = [SENTENCES[i] for i in (100, 1, 90, 2, 80, 3, 20)]
    ours.translate(mixed)
    list(ours.stream(mixed, batch=2))
    assert [len(rows) for rows in lengths] == [7, 2, 2, 2, 1]
    for rows in (lengths[0], list(itertools.chain(*lengths[1:]))):
        assert rows == sorted(rows)


def test_a_sentence_that_is_too_long_is_truncated_with_a_warning(
    tokenizer: Tokenizer, caplog: pytest.LogCaptureFixture
) -> None:
    limited = translator(tokenizer, text=TextConfig(one_sentence_per_line=True), longest=5)
    long, short = " ".join(SENTENCES[100:104]), SENTENCES[0]
    ids = tokenizer.encode_source([long])[0]
    with caplog.at_level(logging.WARNING):
        list(limited.stream([short, long], window=1))
    (record,) = caplog.records
    assert record.getMessage() == (
        f"sentence 2 ('{long[:40]}...') has {len(ids)} tokens, more than 5, and is truncated: "
        "split it"
    )


def test_the_warning_about_a_truncated_sentence_shows_its_spans(
    tokenizer: Tokenizer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("ŘŘ\tand\n", encoding="utf-8")
    config = TextConfig(one_sentence_per_line=True, glossary=str(glossary))
    limited = translator(tokenizer, text=config, longest=5)
    with caplog.at_level(logging.WARNING):
        list(limited.stream(["{0} is  <b>here</b>, ŘŘ ☃ " + "and there " * 1500]))
    (said,) = caplog.messages
    assert said.startswith("sentence 1 ('{0} is here, ŘŘ ☃ and there and there a...') has ")
    assert re.search(r" has \d+,\d{3} tokens, more than 5, and is truncated: split it$", said)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("max_positions", [16, 20, 40, 48])
def test_a_sentence_longer_than_the_learned_positions_is_translated(
    tokenizer: Tokenizer, engine: Engine, max_positions: int
) -> None:
    text = TextConfig(one_sentence_per_line=True)
    sizes = {"positions": "learned", "max_positions": max_positions}
    limited = translator(tokenizer, engine, text=text, **sizes)
    line = " ".join(SENTENCES[60:100])
    (found,) = limited.stream([line])
    assert 0 < found[0].n_tokens <= max_positions


def test_translating_does_not_change_the_model(tokenizer: Tokenizer) -> None:
    ours = translator(tokenizer)
    weights = network_of(ours).weights()
    before = {name: w.clone() for name, w in weights.items()}
    ours.translate(SENTENCES[:20])
    assert all(torch.equal(w, before[name]) for name, w in weights.items())


def test_a_string_instead_of_a_list_is_refused(ours: Translator) -> None:
    with pytest.raises(TypeError, match="expected several sentences"):
        ours.translate("the red boat")


# ---- details -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "written", "encoded"),
    [
        ("parser", "the ( boat", "the -LRB- boat"),
        ("transformer", " the\u3000red  boat", "the red boat"),
    ],
)
def test_the_alignment_is_that_of_the_encoded_source(name: str, written: str, encoded: str) -> None:
    one = Translator.load(Path(__file__).parents[1] / "fixtures" / "format-1" / name)
    pair = [best[0].details for best in one.stream([written, encoded], details=True)]
    assert pair[0] == pair[1]
    assert pair[0] and pair[0].links


def test_a_lone_surrogate_is_refused_with_its_place(ours: Translator) -> None:
    with pytest.raises(DataError, match="sentence 2: character 4 is a lone surrogate"):
        ours.translate(["a", "one\udc80"])


def test_lone_surrogates_are_refused_in_prefixes_phrases_and_pairs(ours: Translator) -> None:
    one = "on\udc80"
    for request in (Request("a", one), Request("a", include=(one,)), Request("a", exclude=(one,))):
        message = "sentence 1: character 3 of the prefix or a phrase is a lone surrogate"
        with pytest.raises(DataError, match=message):
            ours.translate([request])
    for pair, side in (((one, "a"), "source"), (("a", one), "target")):
        message = f"line 1: character 3 of the {side} is a lone surrogate"
        with pytest.raises(DataError, match=message):
            list(ours.score(pair[:1], pair[1:]))


def test_private_use_characters_are_refused_in_prefixes_and_phrases(ours: Translator) -> None:
    for request in (
        Request("a", prefix="\ue000"),
        Request("a", include=("x \U00100001",)),
        Request("a", exclude=("\ue000",)),
    ):
        with pytest.raises(DataError, match="is reserved for internal use: remove it from"):
            ours.translate([request])
    excluding = ours.with_settings(search=SearchConfig(exclude=("\ue000",)))
    with pytest.raises(DataError, match="is reserved for internal use: remove it from"):
        excluding.translate(["a"])


def test_samples_of_several_sentences_are_combined_one_by_one(ours: Translator) -> None:
    search = SearchConfig(n_best=3, max_extra=2, sampling=SamplingConfig(seed=1))
    ours = ours.with_settings(search=search)
    one, other, both = (
        [t.text for t in found]
        for found in ours.stream([SENTENCES[3], SENTENCES[40], f"{SENTENCES[3]}\n{SENTENCES[40]}"])
    )
    assert both == [f"{a}\n{b}" for a, b in zip(one, other, strict=True)]


def test_terms_of_a_glossary_are_translated_where_training_has_not_seen_them(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("Žižek\tslowly\n", encoding="utf-8")
    one = translator(tokenizer, text=TextConfig(glossary=str(path)))
    (text,) = one.translate(["Žižek's red boat\nŽižek"])
    assert text.count("slowly") >= 2 and "Žižek" not in text and text.endswith("\nslowly")
    assert one.tally.terms == 2
    path.write_text("the ACME boat\tboat\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 1: the term 'the ACME boat' contains 'ACME'"):
        translator(tokenizer, text=TextConfig(glossary=str(path), protect=("ACME",)))
