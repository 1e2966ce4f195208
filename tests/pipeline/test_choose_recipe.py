"""The recipe of a run for which none is named: by the size of its corpus, once for each run."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

import yakusu
from yakusu.errors import DataError, RecipeError
from yakusu.pipeline.training.choose_recipe import choose_recipe, recipe_for
from yakusu.progress import Silent
from yakusu.recipe import load_recipe, save_recipe

SIZES = {"tiny": 5_000, "small": 30_000, "medium": 150_000, "large": 1_000_000}
Corpus = Callable[..., dict[str, Path]]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """Write `n` pairs, and return the files and the run folder as arguments."""

    def write(n: int, line: str = "line {}") -> dict[str, Path]:
        for side in ("en", "de"):
            text = "".join(f"{side} {line.format(i)}\n" for i in range(n))
            (tmp_path / f"a.{side}").write_text(text)
        return {"src": tmp_path / "a.en", "tgt": tmp_path / "a.de", "run": tmp_path / "run"}

    return write


class Told(Silent):
    """Records the lines that are displayed."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def fault(*overrides: str, **files: Path) -> str:
    with pytest.raises(RecipeError) as error:
        choose_recipe(overrides, **files)  # type: ignore[arg-type]
    return str(error.value)


@pytest.mark.parametrize(
    ("n_pairs", "name"),
    [
        *((0, "tiny"), (11_999, "tiny"), (12_000, "small"), (66_999, "small"), (67_000, "medium")),
        *((389_999, "medium"), (390_000, "large"), (2_999_999, "large"), (3_000_000, "base")),
        (10**9, "base"),
        # The corpora that the documentation lists.
        *((8_627, "tiny"), (29_000, "small"), (50_000, "small"), (161_704, "medium")),
    ],
)
def test_the_number_of_pairs_decides(n_pairs: int, name: str) -> None:
    assert recipe_for(n_pairs) == name


def test_the_limits_are_the_geometric_means_of_the_sizes() -> None:
    names, sizes = [*SIZES], [*SIZES.values()]
    for below, above, one, other in zip(names, names[1:], sizes, sizes[1:], strict=False):
        mean = math.sqrt(one * other)
        assert (recipe_for(int(0.97 * mean)), recipe_for(int(1.03 * mean))) == (below, above)


def test_a_corpus_without_pairs_is_an_error_that_names_its_files(corpus: Corpus) -> None:
    files = corpus(0)
    with pytest.raises(DataError) as error:
        choose_recipe(**files)
    names = f"{files['src']} and {files['tgt']}"
    assert str(error.value) == f"there are no sentence pairs in {names}: check the files"


def test_the_reason_names_the_pairs_the_recipe_and_its_sizes(corpus: Corpus) -> None:
    assert choose_recipe(**corpus(12_000)).reason == (
        "12,000 sentence pairs: using the recipe small, which is for 12,000 to 67,000 pairs; to "
        "use another recipe, name it"
    )
    assert choose_recipe(**corpus(7)).reason.startswith(
        "7 sentence pairs: using the recipe tiny, which is for up to 12,000 pairs; "
    )


@pytest.mark.parametrize(
    ("n_pairs", "told"),
    [
        (390_000, "the recipe large, which is for 390,000 to 3,000,000 pairs and a GPU;"),
        (3_000_000, "the recipe base, which is for 3,000,000 or more pairs and a GPU;"),
    ],
)
def test_the_reason_says_which_recipes_need_a_gpu(
    n_pairs: int, told: str, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "yakusu.pipeline.training.choose_recipe.number_of_pairs", lambda corpus: n_pairs
    )
    assert told in choose_recipe(**corpus(1)).reason


def test_the_choice_is_the_packaged_recipe_with_the_files_and_overrides(corpus: Corpus) -> None:
    files = corpus(12_000)
    chosen = choose_recipe(["model.dropout=0.25"], **files).recipe
    assert chosen == load_recipe("small", ["model.dropout=0.25"], **files)  # type: ignore[arg-type]


def test_pairs_are_counted_before_the_filters(corpus: Corpus) -> None:
    assert "12,000 sentence pairs" in choose_recipe(**corpus(12_000, line="again")).reason


def test_the_pairs_of_one_file_are_counted(tmp_path: Path) -> None:
    units = '<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>'
    memory, table = tmp_path / "a.tmx", tmp_path / "a.csv"
    memory.write_text(f'<tmx version="1.4"><header srclang="en"/><body>{3 * units}</body></tmx>')
    table.write_text('"two\nlines",b\nc,d\n')
    assert choose_recipe(pairs=memory).reason.startswith("3 sentence pairs: ")
    assert choose_recipe(pairs=table).reason.startswith("2 sentence pairs: ")


def test_the_pairs_of_all_directions_are_added(corpus: Corpus) -> None:
    files = corpus(6_000)
    other = f"{{src = '{files['src']}', tgt = '{files['tgt']}'}}"
    others = f"data.others=[{{target_language = 'fr', train = {other}}}]"
    assert choose_recipe([others], **files).reason.startswith("12,000 sentence pairs: ")


def test_a_run_keeps_its_recipe_if_its_corpus_grows(corpus: Corpus) -> None:
    files = corpus(100)
    first = choose_recipe(["training.max_steps=5"], **files).recipe
    (files["run"] / "data").mkdir(parents=True)
    save_recipe(first, files["run"] / "recipe.toml")
    again = choose_recipe(**corpus(12_000))
    assert again.recipe == first
    assert again.reason == f"using the recipe of this run, {files['run'] / 'recipe.toml'}"
    assert choose_recipe(run=files["run"]).recipe == first
    assert choose_recipe([f"run='{files['run']}'", "search.beam=2"]).recipe == first.model_copy(
        update={"search": first.search.model_copy(update={"beam": 2})}
    )


def test_a_run_that_failed_before_its_data_were_written_is_chosen_a_recipe_again(
    corpus: Corpus,
) -> None:
    with pytest.raises(DataError):
        yakusu.prepare(**corpus(3))
    files = corpus(12_000)
    assert not (files["run"] / "recipe.toml").exists()
    assert "using the recipe small" in choose_recipe(**files).reason


def test_overrides_need_to_be_valid_for_the_chosen_recipe_only(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "yakusu.pipeline.training.choose_recipe.number_of_pairs", lambda corpus: 390_000
    )
    depths, files = ["model.n_encoder_layers=12", "model.n_decoder_layers=2"], corpus(1)
    train = f"data.train = {{src = '{files['src']}', tgt = '{files['tgt']}'}}"
    recipe = choose_recipe([*depths, train], run=files["run"]).recipe
    assert recipe == load_recipe("large", depths, **files)  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match=r"model.n_layers = 4 has no effect"):
        load_recipe("tiny", depths)


@pytest.mark.parametrize("verb", [yakusu.prepare, yakusu.train])
def test_the_reason_is_told_before_the_run_starts(
    verb: Callable[..., object], corpus: Corpus
) -> None:
    progress = Told()
    with pytest.raises(DataError):
        verb(progress=progress, **corpus(3))
    assert progress.lines[0].startswith("3 sentence pairs: using the recipe tiny,")


def test_for_a_named_recipe_no_reason_is_told(corpus: Corpus) -> None:
    progress = Told()
    with pytest.raises(DataError):
        yakusu.prepare("tiny", progress=progress, **corpus(3))  # type: ignore[arg-type]
    assert not any("using the recipe" in line for line in progress.lines)


def test_a_loaded_recipe_takes_no_overrides(corpus: Corpus) -> None:
    recipe = load_recipe("tiny", **corpus(3))  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="a loaded recipe takes no overrides"):
        yakusu.prepare(recipe, ["seed=2"])


def test_a_run_of_another_kind_keeps_its_recipe(tmp_path: Path) -> None:
    parser = load_recipe("parse-small", trees="a.mrg", run=tmp_path)
    save_recipe(parser, tmp_path / "recipe.toml")
    (tmp_path / "checkpoints").mkdir()
    assert choose_recipe(trees="a.mrg", run=tmp_path).recipe == parser


def test_a_recipe_in_the_current_folder_is_not_that_of_a_run(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = corpus(1)
    save_recipe(load_recipe("base"), tmp_path / "recipe.toml")
    monkeypatch.chdir(tmp_path)
    assert "the recipe tiny" in choose_recipe(src=files["src"], tgt=files["tgt"]).reason


def test_a_run_that_starts_from_a_model_gets_adapt(corpus: Corpus) -> None:
    files = corpus(12_000)
    choice = choose_recipe(parent="runs/en-de/model", **files)
    assert choice.recipe == load_recipe("adapt", parent="runs/en-de/model", **files)  # type: ignore[arg-type]
    assert choice.reason == (
        "using the recipe adapt to train runs/en-de/model further; to use another recipe, name it"
    )


def test_without_a_corpus_there_is_nothing_to_choose(tmp_path: Path) -> None:
    assert fault(run=tmp_path) == (
        "there is no recipe and no corpus to choose one for: name a recipe, or add --src FILE "
        "--tgt FILE or --pairs FILE"
    )


def test_a_parser_needs_a_named_recipe(tmp_path: Path) -> None:
    assert fault(trees=tmp_path / "a.mrg") == (
        "a recipe is chosen for translators only: name the recipe of a parser, as in yakusu train "
        "parse-small --trees FILE"
    )


def test_a_missing_corpus_and_an_unknown_argument_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist: check the path"):
        choose_recipe(src=tmp_path / "none.en", tgt=tmp_path / "none.de")
    with pytest.raises(RecipeError, match="unknown argument 'max_steps'"):
        yakusu.train(max_steps=5)  # type: ignore[call-arg]
