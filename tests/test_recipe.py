"""Recipes: packaged ones, overrides, environment variables, error messages with their place."""

import json
import os
import re
from pathlib import Path

import pytest

from yakusu.errors import RecipeError
from yakusu.model.base import models
from yakusu.model.config import config_of
from yakusu.recipe import Recipe, differences, load_recipe, save_recipe
from yakusu.recipes import recipe_names
from yakusu.training.schedule import lrate

PACKAGED = Path(__file__).parents[1] / "src" / "yakusu" / "recipes"
RECIPES = [
    *(
        "adapt",
        "base",
        "big",
        "big-en-fr",
        "conv",
        "demo",
        "fast",
        "large",
        "lstm",
        "medium",
        "parse",
    ),
    *("parse-semi", "parse-small", "small", "tiny"),
]

BY_SIZE = ["tiny", "small", "medium", "large"]


def recipe_file(folder: Path, text: str) -> Path:
    path = folder / "my.toml"
    path.write_text(text, encoding="utf-8")
    return path


def fault(path: Path | str, *overrides: str) -> str:
    with pytest.raises(RecipeError) as error:
        load_recipe(path, overrides)
    return str(error.value)


# ---- packaged recipes


def test_the_names_of_the_packaged_recipes() -> None:
    assert recipe_names() == RECIPES


def defaults() -> set[tuple[str, str]]:
    """Each key and its default, as docs/recipe.md prints them."""
    recipe = Recipe().model_dump()
    architectures = [config_of({"name": name}).model_dump() for name in models]
    found = set()
    for section in (recipe, *recipe.values(), recipe["data"]["extra"], *architectures):
        for key, value in section.items() if isinstance(section, dict) else ():
            if not isinstance(value, dict) and (key, value) not in OTHERWISE:
                found.add((key, "none" if value is None else f"`{json.dumps(value)}`"))
    return found


# Defaults that differ between architectures; their line describes them in words.
OTHERWISE = [
    *(("name", each) for each in ("bytenet", "convolutional", "recurrent")),
    ("dropout", 0.3),
]


def test_the_documentation_lists_exactly_the_keys_with_their_defaults() -> None:
    page = (Path(__file__).parent.parent / "docs" / "recipe.md").read_text()
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (`.*?`|none) \|", page, re.MULTILINE)
    listed = {(key.strip("`"), default) for keys, default in rows for key in keys.split(", ")}
    assert listed == defaults()


# The differences between the rows of Table 3 and base; base and big are recipes too.
TABLE_3 = {
    "A-h1": ["model.d_k = 512, not 64", "model.d_v = 512, not 64", "model.n_heads = 1, not 8"],
    "A-h4": ["model.d_k = 128, not 64", "model.d_v = 128, not 64", "model.n_heads = 4, not 8"],
    "A-h16": ["model.d_k = 32, not 64", "model.d_v = 32, not 64", "model.n_heads = 16, not 8"],
    "A-h32": ["model.d_k = 16, not 64", "model.d_v = 16, not 64", "model.n_heads = 32, not 8"],
    "B-dk16": ["model.d_k = 16, not 64"],
    "B-dk32": ["model.d_k = 32, not 64"],
    "C-N2": ["model.n_layers = 2, not 6"],
    "C-N4": ["model.n_layers = 4, not 6"],
    "C-N8": ["model.n_layers = 8, not 6"],
    "C-d256": [
        "model.d_k = 32, not 64",
        "model.d_model = 256, not 512",
        "model.d_v = 32, not 64",
    ],
    "C-d1024": [
        "model.d_k = 128, not 64",
        "model.d_model = 1024, not 512",
        "model.d_v = 128, not 64",
    ],
    "C-ff1024": ["model.d_ff = 1024, not 2048"],
    "C-ff4096": ["model.d_ff = 4096, not 2048"],
    "D-drop0.0": ["model.dropout = 0.0, not 0.1"],
    "D-drop0.2": ["model.dropout = 0.2, not 0.1"],
    "D-smooth0.0": ["training.label_smoothing = 0.0, not 0.1"],
    "D-smooth0.2": ["training.label_smoothing = 0.2, not 0.1"],
    "E-learned": ["model.positions = 'learned', not 'sinusoidal'"],
}


def test_every_row_of_table_3_has_a_recipe() -> None:
    assert recipe_names("table3") == sorted(TABLE_3)


@pytest.mark.parametrize("row", TABLE_3)
def test_a_row_of_table_3_differs_from_base_as_in_the_table(row: str) -> None:
    assert sorted(differences(load_recipe(f"table3/{row}"), load_recipe("base"))) == TABLE_3[row]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("base", (6, 512, 2048, 8, 64, 64, 0.1)),
        ("big", (6, 1024, 4096, 16, 64, 64, 0.3)),
        ("large", (6, 512, 2048, 8, 64, 64, 0.2)),
        ("medium", (4, 256, 1024, 4, 64, 64, 0.2)),
        ("small", (4, 128, 256, 4, 32, 32, 0.3)),
        ("tiny", (4, 128, 256, 4, 32, 32, 0.3)),
    ],
)
def test_packaged_recipes_have_the_documented_sizes(name: str, sizes: tuple[float, ...]) -> None:
    m = load_recipe(name).model
    assert (m.n_layers, m.d_model, m.d_ff, m.n_heads, m.d_k, m.d_v, m.dropout) == sizes


def test_the_vocabulary_grows_with_the_corpus() -> None:
    sizes = [load_recipe(name).tokenizer.vocab_size for name in BY_SIZE]
    assert sizes == [3_000, 6_000, 16_000, 32_000]


@pytest.mark.parametrize("name", BY_SIZE)
def test_a_recipe_for_a_size_stops_early_and_averages(name: str) -> None:
    training = load_recipe(name).training
    assert training.patience == 10 and training.keep_last >= 3
    # It can stop early, long after the learning rate has warmed up.
    warmed_up = training.warmup_steps + training.patience * training.validate_steps
    assert warmed_up < training.max_steps / 2


def test_small_is_the_measured_recipe_of_multi30k_with_more_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("YAKUSU_DATA", "data")
    measured = load_recipe(PACKAGED.parents[2] / "benchmarks" / "recipes" / "multi30k.toml")
    found = differences(load_recipe("small"), measured)
    assert [each for each in found if not each.startswith("data.")] == [
        "tokenizer.normalization = 'nfc', not 'nmt_nfkc_cf'",
        "augmentation.lower = 0.05, not 0.0",
        "augmentation.unpunctuated = 0.1, not 0.0",
        "augmentation.typos = 0.2, not 0.0",
        "training.max_steps = 12000, not 6000",
        "training.patience = 10, not 0",
    ]


def test_english_french_differs_from_english_german_in_its_vocabulary_and_dropout() -> None:
    assert differences(load_recipe("big-en-fr"), load_recipe("big")) == [
        "tokenizer.kind = 'unigram', not 'bpe'",
        "tokenizer.vocab_size = 32000, not 37000",
        "model.dropout = 0.1, not 0.3",
    ]


def test_base_names_the_options_of_the_papers_vocabulary() -> None:
    options = re.findall(r"--set (\S+)", (PACKAGED / "base.toml").read_text())
    assert differences(load_recipe("base", options), load_recipe("base")) == [
        "tokenizer.normalization = 'identity', not 'nfc'",
        "tokenizer.split_digits = False, not True",
        "tokenizer.byte_fallback = False, not True",
        "tokenizer.placeholder_share = 0.0, not 0.1",
    ]


def test_parse_is_the_base_model_with_the_settings_of_section_6_3() -> None:
    assert sorted(differences(load_recipe("parse"), load_recipe("base"))) == [
        "filters.max_ratio = 100.0, not 4.0",
        "filters.max_tokens = 1024, not 256",
        "model.attention_dropout = 0.2, not 0.0",
        "model.d_k = 128, not 64",
        "model.d_model = 1024, not 512",
        "model.d_v = 128, not 64",
        "model.dropout = 0.2, not 0.1",
        "model.n_layers = 4, not 6",
        "model.tied = 'decoder', not 'three-way'",
        "search.alpha = 0.3, not 0.6",
        "search.beam = 21, not 4",
        "search.max_extra = 300, not 50",
        "task = 'parsing', not 'translation'",
        "tokenizer.joint = False, not True",
        "tokenizer.target = 'tokens', not 'text'",
        "tokenizer.vocab_size = 16000, not 37000",
    ]


def test_the_semi_supervised_parser_has_32_thousand_tokens_and_less_dropout() -> None:
    assert differences(load_recipe("parse-semi"), load_recipe("parse")) == [
        "tokenizer.vocab_size = 32000, not 16000",
        "model.dropout = 0.1, not 0.2",
        "model.attention_dropout = 0.0, not 0.2",
    ]


def test_fast_has_a_deep_encoder_a_shallow_decoder_and_greedy_search() -> None:
    recipe = load_recipe("fast")
    assert recipe.model.depths == (6, 2)
    assert recipe.search.beam == 1


def test_lstm_has_luongs_model_and_the_second_papers_training() -> None:
    recipe = load_recipe("lstm")
    model, training = recipe.model, recipe.training
    assert (model.name, model.n_layers, model.d_model, model.dropout) == ("recurrent", 4, 1024, 0.3)
    assert training.clip_norm == 1.0
    peak = lrate(4000, d_model=1024, warmup_steps=4000, scale=training.lr_scale)
    assert peak == pytest.approx(0.001, rel=0.02)
    assert not recipe.tokenizer.joint


def test_base_has_the_papers_settings() -> None:
    recipe = load_recipe("base")
    assert recipe.tokenizer.vocab_size == 37_000 and recipe.tokenizer.joint
    training = recipe.training
    assert (training.adam_beta1, training.adam_beta2, training.adam_epsilon) == (0.9, 0.98, 1e-9)
    assert (training.warmup_steps, training.lr_scale, training.label_smoothing) == (4000, 1, 0.1)
    assert (recipe.search.beam, recipe.search.alpha, recipe.search.max_extra) == (4, 0.6, 50)
    assert recipe.batches.step_tokens == 25_000


def test_conv_has_gehrings_settings_except_for_the_last_layers() -> None:
    recipe = load_recipe("conv")
    m = recipe.model
    assert (m.n_layers, m.d_model, m.d_conv, m.encoder_kernel, m.decoder_kernel, m.dropout) == (
        15,
        768,
        512,
        3,
        3,
        0.2,
    )
    assert (recipe.tokenizer.vocab_size, recipe.training.clip_norm) == (40_000, 0.1)


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load_recipe(recipe_file(tmp_path, "")) == Recipe()


def test_a_file_takes_precedence_over_a_packaged_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny").write_text("seed = 77\n")
    monkeypatch.chdir(tmp_path)
    assert load_recipe("tiny").seed == 77


# ---- invalid recipes


def test_an_unknown_recipe_is_refused_with_the_closest_name(tmp_path: Path) -> None:
    assert fault("tinny") == "there is no recipe 'tinny': did you mean 'tiny'?"
    assert fault("zzz") == f"there is no recipe 'zzz': choose from {', '.join(RECIPES)}"
    missing = tmp_path / "none.toml"
    assert fault(missing) == f"{missing} does not exist: check the path of the recipe"


def test_a_recipe_that_is_a_pipe_or_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    assert fault(tmp_path / "pipe.toml") == (
        f"{tmp_path / 'pipe.toml'} cannot be read: it is a pipe, not a regular file"
    )
    deep = recipe_file(tmp_path, "a = " + "[" * 100_000)
    assert fault(deep).startswith(f"{deep} is not valid TOML: maximum recursion depth exceeded")


def test_invalid_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, "seed = 1\nrun = [\n")
    assert fault(path) == f"{path} is not valid TOML: Invalid value (at end of document)"
    path = recipe_file(tmp_path, "seed = 1\nrun: x\n")
    assert fault(path) == (
        f"{path} is not valid TOML: Expected '=' after a key in a key/value pair (at line 2, "
        "column 4)"
    )


def test_a_recipe_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_bytes("# schön\n".encode("latin-1"))
    assert fault(path).startswith(f"{path}")


TEXT = """# a recipe of mine
seed = 3

[training]
max_steps = 100
warmup_step = 50

[data.train]
src = "a.en"
"""


def test_an_unknown_key_is_refused_with_its_line_and_the_closest_key(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, TEXT)
    assert fault(path) == (
        f"{path}, line 6: unknown key 'training.warmup_step': did you mean 'training.warmup_steps'?"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[trainings]\nmax_steps = 1\n",
            "line 1: unknown key 'trainings': did you mean 'training'?",
        ),
        ("sead = 1\n", "line 1: unknown key 'sead': did you mean 'seed'?"),
        (
            '[data.train]\nscr = "x"\n',
            "line 2: unknown key 'data.train.scr': did you mean 'data.train.src'?",
        ),
        (
            '\n[data]\ntrain = { scr = "x" }\n',
            "line 3: unknown key 'data.train.scr': did you mean 'data.train.src'?",
        ),
        ("search.beem = 4\n", "line 1: unknown key 'search.beem': did you mean 'search.beam'?"),
        (
            "[search]\nqqqqqqqqqqqqqqqqqqqqqq = 4\n",
            "line 2: unknown key 'search.qqqqqqqqqqqqqqqqqqqqqq': choose from search.alpha, "
            "search.beam, search.coverage, search.exclude, search.include, search.margin, "
            "search.max_extra, "
            "search.max_length, search.max_repeats, search.n_best, search.no_repeat_ngram, "
            "search.sampling, search.shortlist",
        ),
        (
            "\n[training]\nmax_steps = 0\n",
            "line 3: training.max_steps = 0: input should be greater than or equal to 1",
        ),
        ("[model]\ndropout = 1.0\n", "line 2: model.dropout = 1.0: input should be less than 1"),
        (
            '[model]\nn_layers = "six"\n',
            "line 2: model.n_layers = 'six': input should be a valid integer",
        ),
        ("run = 5\n", "line 1: run = 5: input should be a valid string"),
        (
            '[tokenizer]\nkind = "wordpiece"\n',
            "line 2: tokenizer.kind = 'wordpiece': input should be 'bpe' or 'unigram'",
        ),
        (
            "[model]\nd_model = 100\nn_heads = 8\n",
            "line 1: model.d_model = 100 is not divisible by model.n_heads = 8: set model.d_k and "
            "model.d_v",
        ),
        (
            "[data.train]\nsrc_column = 1.5\n",
            "line 2: data.train.src_column = 1.5: input should be a valid integer",
        ),
    ],
)
def test_an_invalid_value_is_refused_with_its_line(text: str, told: str, tmp_path: Path) -> None:
    path = recipe_file(tmp_path, text)
    assert fault(path) == f"{path}, {told}"


def test_a_key_in_two_sections_is_refused_in_the_right_line(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, '[data.train]\nsrc = "a"\n\n[data.dev]\nsrc = 4\n')
    assert fault(path) == f"{path}, line 5: data.dev.src = 4: input should be a valid string"


def test_recipes_are_frozen() -> None:
    with pytest.raises(Exception, match="frozen"):
        Recipe().seed = 2  # type: ignore[misc]


# ---- --set


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("seed=7", 7),
        ("seed = 7", 7),
        ("search.alpha=1", 1.0),
        ("search.alpha=0.25", 0.25),
        ("training.adam_epsilon=1e-6", 1e-6),
        ("batches.step_tokens=4_000", 4000),
        ("run=runs/x", "runs/x"),
        ('run="runs/x y"', "runs/x y"),
        ("run='7'", "7"),
        ("run=a=b", "a=b"),
        ("run=", ""),
        ("filters.drop_duplicates=false", False),
        ("tokenizer.kind=unigram", "unigram"),
        ("data.source_language=no", "no"),
        ("data.target_language=ja", "ja"),
        ("data.train.src_column=en", "en"),
        ("data.train.src_column=3", 3),
    ],
)
def test_overrides_take_numbers_strings_and_bare_words(override: str, value: object) -> None:
    found: object = load_recipe("tiny", [override])
    for key in override.split("=")[0].strip().split("."):
        found = getattr(found, key)
    assert found == value and type(found) is type(value)


def test_an_override_can_set_a_section() -> None:
    recipe = load_recipe("tiny", ['data.train={src = "a.en", tgt = "a.de"}'])
    assert recipe.data.train.files == (Path("a.en"), Path("a.de"))


def test_the_last_override_wins_and_other_keys_are_unchanged() -> None:
    recipe = load_recipe("tiny", ["model.dropout=0", "model.dropout=0.2"])
    assert recipe.model == load_recipe("tiny").model.model_copy(update={"dropout": 0.2})


def test_files_are_overrides_and_an_override_wins_over_them() -> None:
    recipe = load_recipe("tiny", ["data.train.tgt=b"], src='it\'s "a"\\.en', tgt="a", run=None)
    assert (recipe.data.train.src, recipe.data.train.tgt, recipe.run) == ('it\'s "a"\\.en', "b", "")


# ---- one file with both sides


def test_pairs_columns_and_errors_are_keys_of_the_corpora() -> None:
    recipe = load_recipe("tiny", pairs="a.csv", dev_pairs="b.csv", columns="en, 3", errors="skip")
    train, dev = recipe.data.train, recipe.data.dev
    assert (train.pairs, train.src_column, train.tgt_column) == ("a.csv", "en", 3)
    assert (dev.pairs, dev.src_column, dev.tgt_column) == ("b.csv", "en", 3)
    assert train.errors == dev.errors == recipe.data.extra.errors == "skip"
    assert recipe.languages == ("en", "")


def test_columns_apply_to_the_training_file_of_the_recipe(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, '[data]\ntrain = { pairs = "a.tsv" }\n')
    assert load_recipe(path, columns="de,ja").languages == ("de", "ja")
    assert load_recipe(path, ["data.target_language=ko"], columns="2,4").languages == ("", "ko")


@pytest.mark.parametrize("columns", ["en", "en,", ",de", "a,b,c", "", "0,1"])
def test_columns_are_two(columns: str) -> None:
    with pytest.raises(RecipeError) as error:
        load_recipe("tiny", pairs="a.tsv", columns=columns)
    assert str(error.value) == (
        f"--columns {columns}: give a source and a target, as in --columns en,de or 1,3"
    )


def test_columns_without_a_file_of_pairs_are_refused() -> None:
    with pytest.raises(RecipeError) as error:
        load_recipe("tiny", src="a.en", tgt="a.de", columns="en,de")
    assert str(error.value) == "--columns en,de has no effect without --pairs FILE: remove it"


def test_an_unknown_policy_for_errors_is_refused() -> None:
    assert fault("tiny", "data.train.errors=ignore") == (
        "--set: data.train.errors = 'ignore': input should be 'strict', 'skip' or 'replace'"
    )


def test_the_key_tsv_of_earlier_recipes_is_read(tmp_path: Path) -> None:
    text = '[data.train]\ntsv = "a.tsv"\ntgt_column = 3\n[data.dev]\ntsv = ""\nsrc = "b.en"\n'
    recipe = load_recipe(recipe_file(tmp_path, text))
    assert recipe.data.train == load_recipe("tiny", pairs="a.tsv", columns="1,3").data.train
    save_recipe(recipe, tmp_path / "saved.toml")
    assert "tsv =" not in (tmp_path / "saved.toml").read_text()
    assert load_recipe(tmp_path / "saved.toml") == recipe


TMX = (
    '<tmx version="1.4"><header srclang="en-US"/><body><tu><tuv xml:lang="de"><seg>Hund</seg></tuv>'
    '<tuv xml:lang="en-US"><seg>dog</seg></tuv></tu></body></tmx>'
)


def test_a_tmx_without_columns_has_the_languages_of_the_recipe_or_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(TMX)
    recipe = load_recipe("tiny", pairs=path, dev_pairs=path)
    assert recipe.languages == ("en-US", "de")
    assert recipe.data.dev == recipe.data.train
    save_recipe(recipe, tmp_path / "saved.toml")
    assert load_recipe(tmp_path / "saved.toml") == recipe
    reverse = load_recipe("tiny", ["data.target_language=en"], pairs=path)
    assert reverse.languages == ("de", "en")
    assert reverse.data.train.tgt_column == "en"
    chosen = load_recipe("tiny", pairs=path, columns="de,en-US")
    assert chosen.languages == ("de", "en-US")


def test_a_dev_tmx_has_the_languages_of_the_training_files(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(TMX)
    dev = load_recipe("tiny", src="train.de", tgt="train.en", dev_pairs=path).data.dev
    assert (dev.src_column, dev.tgt_column) == ("de", "en")


def test_head_sizes_follow_an_overridden_d_model() -> None:
    model = load_recipe("tiny", ["model.d_model=64", "model.n_heads=2"]).model
    assert (model.d_k, model.d_v) == (32, 32)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        (
            "training.max_steps",
            "--set training.max_steps: write it as key=value, as in --set training.max_steps=500",
        ),
        ("seed=x", "--set: seed = 'x': input should be a valid integer"),
        ("trainings.max_steps=5", "unknown key 'trainings': did you mean 'training'?"),
        (
            "training.max_step=5",
            "--set: unknown key 'training.max_step': did you mean 'training.max_steps'?",
        ),
        (
            "training.max_steps=0",
            "--set: training.max_steps = 0: input should be greater than or equal to 1",
        ),
        ("model.d_model.x=5", "--set model.d_model.x=5: 'd_model' is not a group of keys"),
    ],
)
def test_an_invalid_override_is_refused(override: str, told: str) -> None:
    assert told in fault("tiny", override)


@pytest.mark.parametrize(
    "override", ["trainings.max_steps=5", "training.max_steps = 0", "model.d_model=130"]
)
def test_an_error_in_an_override_names_set_and_not_the_recipe(override: str) -> None:
    assert fault("tiny", override).startswith("--set")


# ---- environment variables


def test_environment_variables_are_expanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORPORA", "/corpora")
    path = recipe_file(tmp_path, '[data.train]\nsrc = "$CORPORA/a.en"\ntgt = "${CORPORA}x/a.de"\n')
    recipe = load_recipe(path, ["run=$CORPORA/run"])
    assert recipe.data.train.src == "/corpora/a.en"
    assert recipe.data.train.tgt == "/corporax/a.de"
    assert recipe.run == "/corpora/run"


def test_a_missing_environment_variable_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CORPORA", raising=False)
    path = recipe_file(tmp_path, '[data.train]\nsrc = "$CORPORA/a.en"\n')
    assert fault(path) == ("'$CORPORA/a.en' needs the environment variable CORPORA: set it first")


# ---- save, load, compare


@pytest.mark.parametrize("name", RECIPES)
def test_a_saved_recipe_loads_as_the_same_recipe(name: str, tmp_path: Path) -> None:
    corpus = "{trees = 'x'}" if name.startswith("parse") else "{pairs = 'x', src_column = 'ja'}"
    settings = ["run='a b\\c'", "data.source_language=no", f"data.train={corpus}"]
    recipe = load_recipe(name, settings, parent="m" if name == "adapt" else None)
    save_recipe(recipe, tmp_path / "saved.toml")
    assert load_recipe(tmp_path / "saved.toml") == recipe


def test_a_saved_recipe_keeps_settings_of_the_search_that_are_switched_off(tmp_path: Path) -> None:
    search = ["max_repeats=0", "no_repeat_ngram=0", "max_length=9", "include=['a b']"]
    recipe = load_recipe("tiny", [f"search.{override}" for override in search])
    save_recipe(recipe, tmp_path / "saved.toml")
    assert load_recipe(tmp_path / "saved.toml") == recipe
    assert (recipe.search.max_repeats, recipe.search.include) == (0, ("a b",))


def test_a_saved_recipe_holds_every_value(tmp_path: Path) -> None:
    save_recipe(Recipe(), tmp_path / "saved.toml")
    text = (tmp_path / "saved.toml").read_text()
    for line in ("d_k = 64", "label_smoothing = 0.1", "alpha = 0.6", "hold_out = 1000"):
        assert line in text.splitlines()


def test_the_language_code_no_is_norwegian_and_not_false(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, '[data]\nsource_language = "no"\n')
    assert load_recipe(path).languages == ("no", "")
    assert load_recipe(path, ["data.target_language=on"]).languages == ("no", "on")


def test_differences_name_the_keys_and_both_values() -> None:
    one = load_recipe("tiny", ["seed=2", "data.train.src=a", "model.dropout=0.5"])
    assert differences(one, one) == []
    assert differences(one, load_recipe("tiny")) == [
        "seed = 2, not 1",
        "data.train.src = 'a', not ''",
        "model.dropout = 0.5, not 0.3",
    ]


def test_learned_positions_must_cover_the_longest_sentence() -> None:
    overrides = ["model.positions=learned", "model.max_positions=256"]
    with pytest.raises(RecipeError, match="max_positions = 256 is less than"):
        load_recipe("tiny", overrides)
    assert load_recipe("tiny", [*overrides, "filters.max_tokens=255"]).model.max_positions == 256


# ---- tasks and architectures


def test_only_parsers_are_trained_on_trees() -> None:
    trees, text = ("data.train.trees=a.mrg",), ("data.train.src=a.en", "data.train.tgt=a.de")
    assert "only a parser is trained on trees: start from the recipe 'parse' or" in fault(
        "tiny", *trees
    )
    told = "a parser is trained on trees, not on text: set data.train.trees (--trees FILE)"
    assert told in fault("parse", *text)
    assert "set data.dev.trees (--dev-trees FILE)" in fault("parse", *trees, "data.dev.pairs=a.tsv")
    assert load_recipe("parse", trees).task == "parsing"


def test_the_target_of_the_tokenizer_must_match_the_task() -> None:
    assert "start from the recipe 'parse'" in fault("tiny", "task=parsing")
    assert "start from the recipe 'parse'" in fault("parse", "tokenizer.target=text")


def test_a_weight_without_an_extra_corpus_is_refused() -> None:
    assert fault("tiny", "data.extra.weight=3") == (
        "--set: extra.weight = 3.0 has no effect without files: add extra.src and extra.tgt, "
        "extra.pairs or extra.trees"
    )


def test_an_unknown_row_of_table_3_is_refused_with_the_closest_name() -> None:
    told = "there is no recipe 'table3/C-d255': did you mean 'table3/C-d256'?"
    assert fault("table3/C-d255") == told
    assert fault("table9/A-h1") == "table9/A-h1 does not exist: check the path of the recipe"
    assert fault("/table3/A") == "/table3/A does not exist: check the path of the recipe"


def test_trees_and_text_in_one_corpus_are_refused() -> None:
    message = fault("parse", "data.train.trees=a.mrg", "data.train.src=a.en")
    assert "a corpus of trees has no other files: remove src, tgt and pairs, or a.mrg" in message


def test_a_key_of_another_architecture_is_refused_with_its_name() -> None:
    assert fault("tiny", "model.name=recurrent").endswith(
        "model.d_ff exists only with model.name = 'transformer': remove it, or start from a recipe "
        "of the architecture that you want, such as 'base', 'lstm' or 'conv'"
    )


@pytest.mark.parametrize(
    ("override", "choice"),
    [
        ("neighbourhood=4", "mixing = 'restricted'"),
        ("kernel=5", "mixing = 'convolution'"),
        ("top_k=3", "n_experts is above 0"),
        ("balance=0.5", "n_experts is above 0"),
        ("max_positions=2048", "positions = 'learned'"),
    ],
)
def test_a_key_without_effect_is_refused(override: str, choice: str) -> None:
    key, value = override.split("=")
    told = (
        f"--set: model.{key} = {value} has no effect unless model.{choice}: set that too, or "
        f"remove model.{key}"
    )
    assert fault("tiny", f"model.{override}") == told


@pytest.mark.parametrize(
    "model", ["{name = 'bytenet'}", "{name = 'recurrent', attention = 'none'}"]
)
def test_a_coverage_penalty_without_attention_is_refused(tmp_path: Path, model: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(f"model = {model}\nsearch = {{coverage = 0.2}}\n")
    with pytest.raises(RecipeError, match=r"search.coverage = 0.2 needs attention to the source"):
        load_recipe(path)
    assert load_recipe(path, ["search.coverage=0"]).search.coverage == 0
