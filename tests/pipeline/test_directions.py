"""Several directions in one model: corpora, tokens of target languages, scores, `--to`."""

from pathlib import Path

import numpy as np
import pytest

import yakusu
from tests.phrases import phrases
from tests.translators import save, small_tokenizer
from yakusu.data.lines.config import TextConfig
from yakusu.data.mixing import mixed
from yakusu.data.pairs import DataFacts, Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError, ModelError, RecipeError
from yakusu.metrics import Score
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.pipeline.receipts.receipt import read_receipt
from yakusu.pipeline.training.parent import with_parent_sizes
from yakusu.pipeline.training.validation import mean_score
from yakusu.recipe import Recipe, load_recipe
from yakusu.search.config import SearchConfig
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import Translator
from yakusu.view import attention_maps

WORDS = ("bumi", "dako", "fimo", "gopu", "hadi", "jelo", "karu")
SIZES = {"de": 600, "fr": 300}
SETTINGS = """
[tokenizer]
vocab_size = 560
[filters]
drop_duplicates = false
[batches]
step_tokens = 1_000
[model]
n_layers = 1
d_model = 32
d_ff = 64
n_heads = 2
[training]
max_steps = 4
validate_steps = 4
warmup_steps = 2
[search]
max_extra = 4
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpora from English to German and French, and a recipe of both."""
    folder = tmp_path_factory.mktemp("directions")
    for code, n in SIZES.items():
        book = phrases(code)
        for name, pairs in (("train", book.train[:n]), ("dev", book.dev[: n // 20])):
            for side, suffix in enumerate(("en", code)):
                lines = (pair[side] + "\n" for pair in pairs)
                (folder / f"{name}-{code}.{suffix}").write_text("".join(lines))
    (folder / "two.toml").write_text(
        f"[data]\n{corpora(folder, 'de')}temperature = 2\n"
        f"[[data.others]]\n{corpora(folder, 'fr')}{SETTINGS}"
    )
    return folder


def corpora(folder: Path, code: str) -> str:
    return "".join(
        f'{name} = {{ src = "{folder}/{name}-{code}.en", tgt = "{folder}/{name}-{code}.{code}" }}\n'
        for name in ("train", "dev")
    )


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    return yakusu.train(folder / "two.toml", run=folder / "run").model


def recipe_of(folder: Path, *overrides: str) -> Recipe:
    return load_recipe(folder / "two.toml", overrides, run=folder / "other")


# ---- data


def test_a_source_begins_with_the_token_of_its_direction(folder: Path, model: Path) -> None:
    data = folder / "run" / "data"
    tokenizer, facts = Tokenizer.load(data), DataFacts.read(data)
    assert list(tokenizer.src.language_tokens) == ["de", "fr"]
    de, fr = map(tokenizer.src.id_of, tokenizer.src.language_tokens.values())
    assert facts.parts is not None
    for split in "train", "dev":
        pairs, sizes = Pairs.open(data, split), [part.n_pairs for part in facts.parts[split]]
        firsts = np.array([pairs.src[i][0] for i in range(len(pairs))])
        assert firsts.tolist() == [de] * sizes[0] + [fr] * sizes[1]
        assert not {de, fr} & set(pairs.tgt.tokens.tolist())
    assert "-".join(map(str, read_receipt(model).languages)) == "en-de"


def test_the_temperature_brings_corpora_closer_in_size() -> None:
    for sizes in [900, 100], [1, 48], [0, 7], [3, 5, 11]:
        assert [part.weight for part in mixed(sizes, 1.0)] == [1.0] * len(sizes)
    large, small = mixed([900, 100], 2.0)
    assert large.weight * 900 == pytest.approx(750)  # sqrt(900) to sqrt(100), of 1,000
    assert small.weight * 100 == pytest.approx(250)
    assert [part.weight * part.n_pairs for part in mixed([900, 100], 1000.0)] == pytest.approx(
        [500, 500], rel=0.01
    )


def test_a_run_says_how_many_pairs_each_direction_has(folder: Path, model: Path) -> None:
    prepared = yakusu.prepare(load_recipe(folder / "two.toml", run=folder / "run"))
    (first, n_first), (second, n_second) = prepared.directions
    assert (first, second) == ("en-de", "en-fr")
    assert f"({n_first:,} en-de, {n_second:,} en-fr)" in str(prepared)
    assert prepared.n_train == n_first + n_second


def test_without_a_dev_set_each_direction_holds_out_its_own(folder: Path) -> None:
    overrides = ["data.dev.src=", "data.dev.tgt="]
    recipe = recipe_of(folder, *overrides, "data.hold_out=10")
    yakusu.prepare(recipe)
    facts = DataFacts.read(folder / "other" / "data")
    assert facts.parts is not None
    assert [part.n_pairs for part in facts.parts["dev"]] == [10, SIZES["fr"] // 20]


# ---- recipes


def test_directions_share_everything_but_corpora_and_languages(folder: Path) -> None:
    first, second = recipe_of(folder).directions
    assert (first.languages, second.languages) == (("en", "de"), ("en", "fr"))
    assert second.data.train.tgt.endswith("train-fr.fr") and not second.data.others
    assert first.model == second.model
    assert recipe_of(folder).target_languages == ("de", "fr")
    assert first.target_languages == ()  # one language needs no token


def test_faults_of_directions_are_refused(folder: Path) -> None:
    with pytest.raises(RecipeError, match=r"temperature has no effect without data\.others"):
        recipe_of(folder, "data.others=[]")
    with pytest.raises(RecipeError, match=r"entry of data\.others has no training corpus"):
        recipe_of(folder, 'data.others=[{target_language="fr"}]')
    with pytest.raises(RecipeError, match=r"target language of .* is unknown: set target_language"):
        name = folder / "no-language"
        name.write_text("a\n")
        both = f'{{train={{src="{folder}/train-fr.en", tgt="{name}"}}}}'
        yakusu.prepare(recipe_of(folder, f"data.others=[{both}]", f"run={folder}/faults"))


def test_a_fault_in_an_entry_is_reported_with_its_number_and_line(folder: Path) -> None:
    path = folder / "two.toml"
    lines = path.read_text().splitlines()
    start = max(i for i, line in enumerate(lines) if line == "[[data.others]]")
    lines.insert(start + 1, 'target_lang = "fr"')
    (faulty := folder / "faulty.toml").write_text("\n".join(lines))
    with pytest.raises(RecipeError) as error:
        load_recipe(faulty)
    assert str(error.value) == (
        f"{faulty}, line {start + 2}: unknown key 'data.others.1.target_lang': did you mean "
        "'data.others.1.target_language'?"
    )


def test_lines_that_are_not_utf8_are_handled_alike_in_all_corpora(folder: Path) -> None:
    recipe = load_recipe(folder / "two.toml", errors="skip")
    assert {corpus.errors for corpus in recipe.data.corpora.values()} == {"skip"}


def test_a_direction_without_pairs_of_a_fitting_length_is_named(folder: Path) -> None:
    long = folder / "long.en", folder / "long.fr"
    for path, word in zip(long, ("a b c d ", "e f g h "), strict=True):
        path.write_text("".join(f"{word * 40}{i}\n" for i in range(50)))
    corpus = f'{{train={{src="{long[0]}", tgt="{long[1]}"}}}}'
    settings = ["data.dev.src=", "data.dev.tgt=", "filters.max_tokens=100"]
    recipe = recipe_of(folder, f"data.others=[{corpus}]", *settings, f"run={folder}/long")
    with pytest.raises(DataError, match=r"long\.fr: none of 50 sentence pairs is left") as error:
        yakusu.prepare(recipe)
    assert str(error.value).endswith("which dropped 50 too long")


# ---- scores


def test_the_dev_score_is_the_mean_over_directions(model: Path) -> None:
    one, other = Score("BLEU", 10.0, "tok:13a"), Score("BLEU", 31.0, "tok:13a")
    assert mean_score([("en-de", one)]) is one
    assert mean_score([("-en", one), ("-en", other)]).value == 20.5  # of equal names, too
    assert str(mean_score([("en-de", one), ("en-fr", other)])) == (
        "BLEU = 20.50 (mean of en-de 10.00, en-fr 31.00; tok:13a)"
    )
    assert "mean of en-de" in read_receipt(model).scores[0]
    card = (model / "README.md").read_text()
    assert "language: [en, de, fr]" in card and "# en to de and fr, a translator" in card
    assert "| language pairs | en-de, en-fr; without `--to`, to de |" in card
    assert "yakusu translate THIS_FOLDER --to fr" in card


# ---- translation


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_a_translator_translates_to_one_of_its_languages(model: Path, engine: str) -> None:
    default = yakusu.Translator.load(model, engine=engine)
    french = yakusu.Translator.load(model, engine=engine, text=TextConfig(to="fr"))
    assert default.targets == ("de", "fr")
    assert (default.languages, french.languages) == (("en", "de"), ("en", "fr"))
    sentence = "The small bridge opens at 9 a.m."
    scores = [next(each.score([sentence], ["Le bus."])).log_prob for each in (default, french)]
    assert scores[0] != scores[1]
    same = default.translating_to("fra")  # another code of the same language
    assert next(same.score([sentence], ["Le bus."])).log_prob == scores[1]
    with pytest.raises(ModelError, match="no target language 'es': choose one of de, fr"):
        default.translating_to("es")


def test_the_token_of_a_language_is_not_a_word_of_the_source(model: Path) -> None:
    french = yakusu.Translator.load(model, text=TextConfig(to="fr"))
    (found,) = french.stream(["small bridge"], details=True)
    assert found[0].details is not None
    assert {source for source, _ in found[0].details.links or ()} <= {0, 1}
    words = french.tokenizer.source_words("small bridge")
    assert words[0] == -1 and set(words[1:]) == {0, 1}
    assert french.tokenizer.source_surfaces("small bridge")[0] == ">>fr<<"
    assert len(words) + 1 == len(french.tokenizer.encode_source(["small bridge"])[0])


def test_the_references_choose_the_language_of_an_evaluation(folder: Path, model: Path) -> None:
    src, ref = folder / "dev-fr.en", folder / "dev-fr.fr"
    own = yakusu.evaluate_model(model, src, ref)
    made = yakusu.Translator.load(
        model, text=TextConfig(to="fr", one_sentence_per_line=True)
    ).translate(src.read_text().splitlines())
    assert [str(score) for score in own] == [str(score) for score in yakusu.evaluate(made, ref)]


def test_a_model_of_several_languages_is_a_parent(folder: Path, model: Path) -> None:
    run = yakusu.train(
        "adapt",
        ["training.max_steps=2", "training.validate_steps=2", "data.hold_out=5"],
        parent=model,
        src=folder / "train-fr.en",
        tgt=folder / "train-fr.fr",
        run=folder / "adapted",
    )
    data = folder / "adapted" / "data"
    pairs, tokenizer = Pairs.open(data, "train"), Tokenizer.load(run.model)
    french = tokenizer.src.id_of(">>fr<<")
    assert {int(pairs.src[i][0]) for i in range(len(pairs))} == {french}
    assert yakusu.Translator.load(run.model).languages == ("en", "fr")


def test_a_language_that_a_kept_vocabulary_lacks_is_refused_at_once(
    folder: Path, model: Path
) -> None:
    files = {"src": folder / "none.en", "tgt": folder / "none.es", "run": folder / "es"}
    with pytest.raises(RecipeError, match=r"language 'es', only for de, fr: set parent\.vocab"):
        yakusu.train("adapt", parent=model, **files)
    learnt = load_recipe("adapt", ["parent.vocabulary=learn"], parent=model, **files)
    assert with_parent_sizes(learnt).languages == ("en", "es")


def test_an_unknown_or_ambiguous_target_language_must_be_set(folder: Path, model: Path) -> None:
    files = {"src": folder / "train-fr.en", "tgt": folder / "train-fr", "run": folder / "unknown"}
    files["tgt"].write_text((folder / "train-fr.fr").read_text())  # a name without a language
    assert with_parent_sizes(load_recipe("adapt", parent=model, **files)).languages == ("en", "de")
    tokenizer = small_tokenizer(WORDS, languages=("sr_Cyrl", "sr_Latn"))
    sizes = TransformerConfig(n_layers=1, d_model=16, d_ff=32, n_heads=2)
    network = Transformer(sizes, **tokenizer.vocab_sizes)
    translator = Translator(
        TorchDecoder(network), tokenizer, languages=("en", ""), search=SearchConfig()
    )
    serbian = save(folder / "serbian", translator)
    with pytest.raises(RecipeError, match=r"the parent has several: set data\.target_language"):
        with_parent_sizes(load_recipe("adapt", parent=serbian, **files))
    either = load_recipe("adapt", ["data.target_language=sr"], parent=serbian, **files)
    with pytest.raises(RecipeError, match=r"several .*'sr': set .* one of sr_Cyrl, sr_Latn"):
        with_parent_sizes(either)
    latin = load_recipe("adapt", ["data.target_language=sr_Latn"], parent=serbian, **files)
    assert with_parent_sizes(latin).languages == ("en", "sr-Latn")


def test_sizes_of_a_model_with_a_parent_are_refused(model: Path) -> None:
    with pytest.raises(RecipeError, match=r"--set model\.d_model has no effect with parent"):
        load_recipe("adapt", ["model.d_model=64"], parent=model)
    with pytest.raises(RecipeError, match="--set model has no effect"):
        load_recipe("adapt", ["model={d_model=64}"], parent=model)
    assert load_recipe("adapt", ["model.dropout=0.2"], parent=model).model.dropout == 0.2


def test_the_corpus_of_the_same_language_is_mixed_in(folder: Path, model: Path) -> None:
    files = {"src": folder / "train-fr.en", "tgt": folder / "train-fr.fr", "run": folder / "mixed"}
    french = with_parent_sizes(load_recipe("adapt", parent=model, mix=0.5, **files))
    assert french.data.extra.tgt.endswith("train-fr.fr")
    spanish = load_recipe("adapt", ["data.target_language=es"], parent=model, mix=0.5, **files)
    with pytest.raises(
        RecipeError, match=r"no corpus of en-es, only of en-de, en-fr: set data\.extra"
    ):
        with_parent_sizes(spanish)


def test_a_corpus_of_the_parent_that_is_missing_or_changed_is_not_mixed_in(
    folder: Path, model: Path
) -> None:
    files = {"src": folder / "train-fr.en", "tgt": folder / "train-fr.fr", "run": folder / "mixed"}
    recipe = load_recipe("adapt", parent=model, mix=0.5, **files)
    corpus = folder / "train-fr.fr"
    text = corpus.read_text()
    try:
        corpus.write_text(text + "\n")
        with pytest.raises(RecipeError, match=r"train-fr\.fr, has changed since the parent"):
            with_parent_sizes(recipe)
        corpus.unlink()
        with pytest.raises(RecipeError, match=r"corpus of the parent, .*fr, does not exist"):
            with_parent_sizes(recipe)
    finally:
        corpus.write_text(text)


def test_the_suffix_of_the_translations_chooses_the_language_of_scores(
    folder: Path, model: Path
) -> None:
    files = folder / "dev-fr.en", folder / "dev-fr.fr"
    french = TextConfig(to="fr")
    by_suffix, by_option = (list(yakusu.score(model, *files, text=t)) for t in (None, french))
    german = list(yakusu.score(model, *files, text=TextConfig(to="de")))
    assert by_suffix == by_option != german


def test_a_model_without_a_default_waits_for_a_language(model: Path) -> None:
    known = yakusu.Translator.load(model)
    unbound = Tokenizer(known.tokenizer.src, known.tokenizer.tgt)
    names = ("en", "roa")
    translator = yakusu.Translator(known.decoder, unbound, languages=names, search=known.search)
    with pytest.raises(ModelError, match="has several target languages: choose one of de, fr"):
        translator.translate(["a"])
    with pytest.raises(ModelError, match="has several target languages"):
        attention_maps(translator, "a")
    french = translator.translating_to("fr")
    assert french.translate(["a"]) == known.translating_to("fr").translate(["a"])


def test_a_source_without_text_has_no_token(model: Path) -> None:
    tokenizer = yakusu.Translator.load(model).tokenizer
    empty, full = tokenizer.encode_source(["", "a"])
    assert len(empty) == 1 and len(full) > 2
    assert len(tokenizer.source_surfaces("")) == 1 and tokenizer.source_starts("") == []
