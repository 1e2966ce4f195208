"""`prepare`: the dev set is disjoint from train, and equal recipes give equal bytes."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import yakusu
from yakusu.data.pairs import CorpusPart, Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError, RecipeError, RunError
from yakusu.folder import read_json, verify_folder
from yakusu.pipeline.training.prepare import Prepared
from yakusu.progress import Silent
from yakusu.recipe import Recipe, load_recipe

SRC_WORDS = "the old ferry baker sees paints harbour small river window cat through".split()  # noqa: SIM905
TGT_WORDS = "die alte fähre bäckerin sieht malt hafen kleine brücke tür katze durch".split()  # noqa: SIM905


def invented(n: int, seed: int = 11) -> list[tuple[str, str]]:
    """n distinct pairs, word by word translations of each other."""
    rng = random.Random(seed)
    pairs: dict[str, str] = {}
    while len(pairs) < n:
        chosen = rng.choices(range(len(SRC_WORDS)), k=rng.randint(3, 8))
        pairs[" ".join(SRC_WORDS[i] for i in chosen)] = " ".join(TGT_WORDS[i] for i in chosen)
    return list(pairs.items())


PAIRS = invented(400)


def write(folder: Path, pairs: list[tuple[str, str]], name: str = "a") -> list[str]:
    paths = [folder / f"{name}.en", folder / f"{name}.de"]
    for i, path in enumerate(paths):
        path.write_text("".join(pair[i] + "\n" for pair in pairs), encoding="utf-8")
    return [str(path) for path in paths]


def recipe_for(files: list[str], run: Path, *overrides: str) -> Recipe:
    return load_recipe(
        "tiny",
        [
            f'run="{run}"',
            f'data.train.src="{files[0]}"',
            f'data.train.tgt="{files[1]}"',
            "tokenizer.vocab_size=80",
            "tokenizer.byte_fallback=false",
            "tokenizer.placeholder_share=0",
            *overrides,
        ],
    )


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return write(tmp_path, PAIRS)


def fault(recipe: Recipe, kind: type[Exception]) -> str:
    with pytest.raises(kind) as error:
        yakusu.prepare(recipe)
    return str(error.value)


def texts(folder: Path, split: str) -> list[tuple[str, str]]:
    """The pairs of a split, decoded from their ids."""
    pairs, tokenizer = Pairs.open(folder, split), Tokenizer.load(folder)
    src, tgt = ([side[i].tolist() for i in range(len(side))] for side in (pairs.src, pairs.tgt))
    return list(zip(tokenizer.decode_target(src), tokenizer.decode_target(tgt), strict=True))


def dev_text(folder: Path) -> list[tuple[str, str]]:
    sides = [(folder / f"dev.{side}.txt").read_text().splitlines() for side in ("src", "tgt")]
    return list(zip(*sides, strict=True))


# ---- the dev set


def test_train_and_held_out_dev_pairs_are_disjoint(files: list[str], tmp_path: Path) -> None:
    made = yakusu.prepare(recipe_for(files, tmp_path / "run"))
    train, dev = texts(made.folder, "train"), texts(made.folder, "dev")
    assert (made.n_train, made.n_dev) == (len(train), len(dev)) == (380, 20)
    assert not set(train) & set(dev)
    assert sorted(train + dev) == sorted(PAIRS)


def test_the_dev_text_equals_the_binarised_dev_pairs(files: list[str], tmp_path: Path) -> None:
    made = yakusu.prepare(recipe_for(files, tmp_path / "run"))
    assert dev_text(made.folder) == texts(made.folder, "dev")


def test_held_out_pairs_are_evenly_spaced(files: list[str], tmp_path: Path) -> None:
    made = yakusu.prepare(recipe_for(files, tmp_path / "run", "data.hold_out=5"))
    assert [PAIRS.index(pair) for pair in dev_text(made.folder)] == [0, 99, 199, 299, 399]


@pytest.mark.parametrize(("asked", "n_dev"), [(1, 1), (10, 10), (20, 20), (21, 20), (1000, 20)])
def test_at_most_a_twentieth_is_held_out(
    asked: int, n_dev: int, files: list[str], tmp_path: Path
) -> None:
    made = yakusu.prepare(recipe_for(files, tmp_path / "run", f"data.hold_out={asked}"))
    assert (made.n_train, made.n_dev) == (400 - n_dev, n_dev)


def test_a_pair_dropped_by_a_text_filter_is_not_held_out(tmp_path: Path) -> None:
    rubbish = [("", "x"), ("same", "same"), PAIRS[0]] * 20
    files = write(tmp_path, PAIRS + rubbish)
    made = yakusu.prepare(recipe_for(files, tmp_path / "run"))
    assert set(dev_text(made.folder)) < set(PAIRS)
    assert made.n_dev == 20
    assert made.report == {
        "read": 460,
        "empty": 20,
        "identical": 20,
        "placeholders": 0,
        "duplicate": 20,
        "too long": 0,
        "ratio": 0,
        "kept": 400,
    }


def test_a_pair_dropped_for_its_length_is_not_held_out(tmp_path: Path) -> None:
    files = write(tmp_path, [*PAIRS, ("cat " * 99, "katze " * 98)])
    made = yakusu.prepare(recipe_for(files, tmp_path / "run", "filters.max_tokens=90"))
    assert made.report["too long"] == 1
    assert set(dev_text(made.folder)) < set(PAIRS)


def test_a_given_dev_corpus_is_used_completely(tmp_path: Path) -> None:
    files = write(tmp_path, PAIRS)
    own = [("the cat", "die katze"), ("cat", "cat"), ("the cat", "die katze"), ("cat " * 300, "x")]
    dev = write(tmp_path, [*own, ("", "leer")], "dev")
    recipe = recipe_for(files, tmp_path / "run", f'data.dev={{src = "{dev[0]}", tgt = "{dev[1]}"}}')
    made = yakusu.prepare(recipe)
    assert (made.n_train, made.n_dev) == (400, 4)  # only empty lines are dropped
    assert dev_text(made.folder) == [(src.strip(), tgt) for src, tgt in own]
    assert made.report["read"] == made.report["kept"] == 400


class Recorder(Silent):
    """Records messages."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def test_dev_pairs_longer_than_max_positions_are_dropped_and_reported(
    tmp_path: Path,
) -> None:
    own = [("the cat", "die katze"), ("cat " * 300, "x"), ("", "leer"), ("leer", "")]
    dev = write(tmp_path, own, "dev")
    recipe = recipe_for(
        write(tmp_path, PAIRS),
        tmp_path / "run",
        f'data.dev={{src = "{dev[0]}", tgt = "{dev[1]}"}}',
        "model.positions=learned",
        "model.max_positions=257",
    )
    recorder = Recorder()
    made = yakusu.prepare(recipe, progress=recorder)
    assert dev_text(made.folder) == [own[0]]
    assert "dropped from the dev set: 2 empty, 1 too long" in recorder.lines


def test_dropped_pairs_are_reported_before_an_error_of_the_vocabulary(tmp_path: Path) -> None:
    same = write(tmp_path, [*PAIRS[:40], *[(f"same {i}", f"same {i}") for i in range(60)]])
    recipe = recipe_for(same, tmp_path / "run", "tokenizer.vocab_size=9999")
    recorder = Recorder()
    with pytest.raises(DataError, match="too small for a vocabulary of 9,999 tokens"):
        yakusu.prepare(recipe, progress=recorder)
    assert recorder.lines[0] == "100 pairs read; dropped: 60 identical"


# ---- the report


def test_the_report_counts_what_the_filters_dropped(tmp_path: Path) -> None:
    pairs = [("", "a"), PAIRS[3], ("so", "so"), ("cat " * 99, "katze " * 98), *PAIRS, PAIRS[4]]
    pairs[3], pairs[9] = pairs[9], pairs[3]  # these positions are not held out
    files = write(tmp_path, pairs)
    made = yakusu.prepare(recipe_for(files, tmp_path / "run", "filters.max_tokens=90"))
    assert str(made).splitlines()[:2] == [
        "405 pairs read; dropped: 1 empty, 1 identical, 0 placeholders, 2 duplicate, "
        "1 too long, 0 ratio",
        f"380 training pairs, 20 dev pairs; padding is {1 - made.fullness:.1%} of a batch",
    ]
    assert made.n_train + made.n_dev == made.report["kept"] == 400


def test_numbers_in_the_report_have_thousands_separators() -> None:
    report = {"read": 1_234_567, "empty": 1_000, "kept": 1_233_567}
    made = Prepared(Path("runs/x/data"), report, 1_232_567, 0, (), 1_000, 23_456, 0.987, False)
    assert str(made) == (
        "1,234,567 pairs read; dropped: 1,000 empty\n"
        "1,232,567 training pairs, 1,000 dev pairs; padding is 1.3% of a batch\n"
        "23,456 training pairs have placeholder tokens\n"
        "binarised pairs and tokenizer: runs/x/data"
    )


def test_the_folder_contains_the_documented_files(files: list[str], tmp_path: Path) -> None:
    made = yakusu.prepare(recipe_for(files, tmp_path / "run"))
    verify_folder(made.folder)
    assert sorted(path.name for path in made.folder.iterdir()) == sorted(
        [f"{split}.{side}.{kind}" for split in ("train", "dev") for side in ("src", "tgt")
         for kind in ("tokens", "offsets")]
        + [f"{split}.lines" for split in ("train", "dev")]
        + ["dev.src.txt", "dev.tgt.txt", "tokenizer.model", "coverage.json", "data.json"]
        + ["manifest.json"]
    )  # fmt: skip
    assert read_json(made.folder / "data.json")["report"] == made.report
    lengths = Pairs.open(made.folder, "train").src.lengths
    assert len(lengths) == made.n_train and np.all(lengths >= 2)


# ---- languages and columns


def test_a_dev_set_whose_files_are_swapped_causes_a_warning(
    files: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    english = "The baker opens her shop before the sun rises, as every day."
    german = "Die Bäckerin öffnet ihren Laden am frühen Morgen, wie jeden Tag."
    dev = write(tmp_path, [(f"{german} {i}", f"{english} {i}") for i in range(20)], "dev")
    dev_corpus = f'data.dev={{src = "{dev[0]}", tgt = "{dev[1]}"}}'
    yakusu.prepare(recipe_for(files, tmp_path / "run", dev_corpus))
    assert caplog.messages[0] == (
        f"{dev[0]} seems to be in language 'de' and {dev[1]} in 'en': exchange the two files, or "
        "correct data.source_language and data.target_language"
    )


def test_a_language_that_cannot_be_identified_causes_a_warning(
    files: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    yakusu.prepare(recipe_for(files, tmp_path / "run", "data.source_language=ain"))
    assert [each for each in caplog.messages if "'ain'" in each] == [
        "the language 'ain' of the source cannot be identified, so lines in other languages and "
        "swapped files are not found: correct data.source_language if the code is wrong"
    ]


def test_a_name_of_a_language_is_refused_before_data_is_written(
    files: list[str], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with pytest.raises(RecipeError, match="'english' is not a language code: did you mean 'en'"):
        yakusu.prepare(recipe_for(files, run, "data.source_language=english"))
    assert not (run / "data").exists()
    assert yakusu.prepare(recipe_for(files, run, "data.source_language=en")).n_train == 380


@pytest.mark.parametrize(
    ("suffix", "fix"),
    [
        ("tsv", "provide more text, choose other columns than 1,2 with --columns SRC,TGT or relax"),
        ("tmx", "provide more text or relax"),
    ],
)
def test_a_table_without_usable_pairs_may_have_other_columns(
    suffix: str, fix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"a.{suffix}"
    if suffix == "tsv":
        path.write_text("x\tx\tein Satz\n" * 3)
    else:
        segments = "".join(f'<tuv xml:lang="{code}"><seg>x</seg></tuv>' for code in ("en", "de"))
        path.write_text(f"<tmx><header srclang='en'/><body><tu>{segments}</tu></body></tmx>")
    with pytest.raises(DataError) as error:
        yakusu.prepare(load_recipe("tiny", pairs=path, run=tmp_path / "run"))
    assert fix in str(error.value)


# ---- vocabularies that are too large


def long_words(n: int) -> list[tuple[str, str]]:
    """n pairs of six words drawn from 1,200 per side, so that large vocabularies exist."""
    rng = random.Random(7)
    words = [
        ["".join(rng.choices(alphabet, k=7)) for _ in range(1200)]
        for alphabet in ("abcdefgh", "qrstuvwx")
    ]
    chosen = [rng.choices(range(1200), k=6) for _ in range(n)]
    return [(" ".join(words[0][i] for i in c), " ".join(words[1][i] for i in c)) for c in chosen]


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [each.getMessage() for each in caplog.records if "vocabulary" in each.getMessage()]
    caplog.clear()
    return found


@pytest.mark.parametrize("separate", [[], ["tokenizer.joint=false", "model.tied=decoder"]])
def test_a_vocabulary_too_large_for_the_corpus_is_reported(
    separate: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = write(tmp_path, long_words(1000))
    large = ["tokenizer.vocab_size=2000", *separate]
    made = yakusu.prepare(recipe_for(files, tmp_path / "large", *large))
    pairs = Pairs.open(made.folder, "train")
    n_src, n_tgt = (len(side.tokens) - len(side) for side in (pairs.src, pairs.tgt))
    n_tokens = min(n_src, n_tgt) if separate else n_src + n_tgt
    assert warnings_of(caplog) == [
        "a vocabulary of 2,000 tokens is too large for 950 training pairs, because a token occurs "
        f"{n_tokens / 2000:.1f} times on average (recommended: at least 20): start a new run with "
        f"--set tokenizer.vocab_size={n_tokens // 20}"
    ]
    fits = f"tokenizer.vocab_size={n_tokens // 20}"
    yakusu.prepare(recipe_for(files, tmp_path / "fits", *separate, fits))
    assert warnings_of(caplog) == []


def test_the_recommended_vocabulary_covers_all_characters(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    characters = [chr(ord("一") + i) for i in range(300)]
    pairs = [("".join(characters[i : i + 3]), f"{i}") for i in range(0, 300, 3)]
    files = write(tmp_path, pairs)
    all_characters = "tokenizer.character_coverage=1"
    yakusu.prepare(
        recipe_for(
            files,
            tmp_path / "a",
            "tokenizer.vocab_size=330",
            "tokenizer.byte_fallback=false",
            "tokenizer.placeholder_share=0",
            all_characters,
        )
    )
    (warning,) = warnings_of(caplog)
    fits = warning.rpartition(" ")[2]
    assert int(fits.partition("=")[2]) < 330
    yakusu.prepare(recipe_for(files, tmp_path / "b", fits, all_characters))
    assert warnings_of(caplog) == []


# ---- runs


def test_a_second_call_changes_nothing(files: list[str], tmp_path: Path) -> None:
    recipe = recipe_for(files, tmp_path / "run")
    first = yakusu.prepare(recipe)
    times = {path: path.stat().st_mtime_ns for path in first.folder.iterdir()}
    for file in files:
        Path(file).unlink()  # the text is not read again
    second = yakusu.prepare(recipe)
    assert (first.existed, second.existed) == (False, True)
    assert str(second) == str(first)
    assert {path: path.stat().st_mtime_ns for path in first.folder.iterdir()} == times


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        [
            "tokenizer.joint=false",
            "model.tied=decoder",
            "tokenizer.vocab_size=50",
            "tokenizer.byte_fallback=false",
            "tokenizer.placeholder_share=0",
            "seed=5",
        ],
    ],
)
def test_two_runs_give_the_same_bytes(
    overrides: list[str], files: list[str], tmp_path: Path
) -> None:
    one, other = (
        yakusu.prepare(recipe_for(files, tmp_path / run, *overrides)).folder / "manifest.json"
        for run in ("one", "other")
    )
    assert len(json.loads(one.read_text())["files"]) >= 12
    assert one.read_bytes() == other.read_bytes()


def test_the_resolved_recipe_is_saved(files: list[str], tmp_path: Path) -> None:
    recipe = recipe_for(files, tmp_path / "run")
    yakusu.prepare(recipe)
    assert load_recipe(tmp_path / "run" / "recipe.toml") == recipe


def test_a_changed_recipe_is_rejected_with_both_values(files: list[str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    yakusu.prepare(recipe_for(files, run))
    assert fault(
        recipe_for(
            files,
            run,
            "tokenizer.vocab_size=70",
        ),
        RunError,
    ) == (
        f"{run} holds a run with a different recipe (tokenizer.vocab_size = 80, not 70): repeat "
        "the command with --set tokenizer.vocab_size=80, or choose another folder with --run"
    )


def test_a_changed_recipe_is_rejected_with_its_key(files: list[str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    yakusu.prepare(recipe_for(files, run))
    for override in (
        "tokenizer.vocab_size=70",
        "seed=9",
        "model.dropout=0.5",
    ):
        message = fault(recipe_for(files, run, override), RunError)
        key = override.split("=")[0]
        assert message.startswith(f"{run} holds a run with a different recipe ({key}")
        assert message.endswith(", or choose another folder with --run")


@pytest.mark.parametrize(
    "override",
    ["training.max_steps=9", "training.patience=3", "search.beam=2", "training.log_steps=1"],
)
def test_settings_that_do_not_affect_the_data_may_change(
    override: str, files: list[str], tmp_path: Path
) -> None:
    yakusu.prepare(recipe_for(files, tmp_path / "run"))
    assert yakusu.prepare(recipe_for(files, tmp_path / "run", override)).existed


def test_a_moved_run_is_resumed(files: list[str], tmp_path: Path) -> None:
    yakusu.prepare(recipe_for(files, tmp_path / "run"))
    (tmp_path / "run").rename(tmp_path / "moved")
    assert yakusu.prepare(recipe_for(files, tmp_path / "moved")).existed


def test_a_folder_with_other_files_is_rejected_and_unchanged(
    files: list[str], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "letter.txt").write_text("dear")
    assert fault(recipe_for(files, run), RunError) == (
        f"{run} is not empty and not a run folder: choose another one with --run"
    )
    assert [path.name for path in run.iterdir()] == ["letter.txt"]


def test_an_empty_folder_is_accepted(files: list[str], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert yakusu.prepare(recipe_for(files, tmp_path / "run")).n_train == 380


def test_a_file_with_the_name_of_the_run_folder_is_reported(
    files: list[str], tmp_path: Path
) -> None:
    (tmp_path / "run").write_text("x")
    assert fault(recipe_for(files, tmp_path / "run"), RunError).startswith(f"{tmp_path / 'run'} ")


def test_a_corrupted_data_folder_is_reported(files: list[str], tmp_path: Path) -> None:
    recipe = recipe_for(files, tmp_path / "run")
    (yakusu.prepare(recipe).folder / "data.json").write_text("{")
    with pytest.raises(yakusu.YakusuError, match=r"data\.json"):
        yakusu.prepare(recipe)


# ---- invalid input


def test_a_missing_file_leaves_no_run_folder(tmp_path: Path) -> None:
    recipe = recipe_for([str(tmp_path / "none.en"), str(tmp_path / "none.de")], tmp_path / "run")
    assert fault(recipe, DataError) == (f"{tmp_path / 'none.en'} does not exist: check the path")
    assert not (tmp_path / "run").exists()


def test_a_failed_run_leaves_no_data_folder(files: list[str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    fault(recipe_for(files, run, "tokenizer.vocab_size=9999"), DataError)
    assert not run.exists()
    run.mkdir()
    fault(recipe_for(files, run, "tokenizer.vocab_size=9999"), DataError)
    assert sorted(path.name for path in run.iterdir()) == [".lock"]


def test_the_suggested_vocabulary_size_works(files: list[str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    message = fault(recipe_for(files, run, "tokenizer.vocab_size=9999"), DataError)
    largest = message.removesuffix(" or a smaller value").rpartition("=")[2]
    made = yakusu.prepare(recipe_for(files, run, f"tokenizer.vocab_size={largest}"))
    assert made.n_train == 380


def test_an_empty_corpus_is_reported(tmp_path: Path) -> None:
    files = write(tmp_path, [])
    assert fault(recipe_for(files, tmp_path / "run"), DataError) == (
        f"there are no sentence pairs in {files[0]} and {files[1]}: check the files"
    )


def test_a_corpus_of_empty_lines_is_reported(tmp_path: Path) -> None:
    files = write(tmp_path, [("", ""), ("", "x")])
    assert fault(recipe_for(files, tmp_path / "run"), DataError) == (
        f"{files[0]} and {files[1]}: none of 2 sentence pairs is left for training: "
        "provide more text or relax the filters, which dropped 2 empty"
    )


def test_a_corpus_of_one_line_is_reported(tmp_path: Path) -> None:
    files = write(tmp_path, [("hello world", "hallo welt")])
    recipe = recipe_for(
        files,
        tmp_path / "run",
        "tokenizer.vocab_size=16",
        "tokenizer.byte_fallback=false",
        "tokenizer.placeholder_share=0",
    )
    assert fault(recipe, DataError) == (
        f"{files[0]} and {files[1]}: none of 1 sentence pairs is left for validation: "
        "provide more text, specify a dev corpus or relax the filters"
    )


def test_filters_that_drop_everything_are_reported(files: list[str], tmp_path: Path) -> None:
    recipe = recipe_for(files, tmp_path / "run", "filters.max_tokens=1")
    assert fault(recipe, DataError) == (
        f"{files[0]} and {files[1]}: none of 400 sentence pairs is left for training: "
        "provide more text or relax the filters, which dropped 400 too long"
    )


def test_a_recipe_without_run_or_text_is_reported(files: list[str], tmp_path: Path) -> None:
    assert fault(recipe_for(files, tmp_path).model_copy(update={"run": ""}), RecipeError) == (
        'the recipe specifies no run folder: add --run FOLDER, or run = "..." to the recipe'
    )
    assert fault(load_recipe("tiny", [f'run="{tmp_path / "run"}"']), RecipeError) == (
        "the recipe specifies no training text: add --src FILE --tgt FILE, or data.train to the "
        "recipe"
    )


@pytest.mark.parametrize("split", ["train", "extra", "dev"])
def test_a_corpus_of_one_file_is_reported_with_the_missing_side(
    split: str, files: list[str], tmp_path: Path
) -> None:
    keys = {
        "train": "data.train.tgt=''",
        "extra": f"data.extra.src='{files[0]}'",
        "dev": f"data.dev.src='{files[0]}'",
    }
    message = fault(recipe_for(files, tmp_path / "run", keys[split]), DataError)
    option = {"train": "--tgt FILE, or ", "extra": "", "dev": "--dev-tgt FILE, or "}[split]
    assert message == (
        f"there is no file with the target side of {files[0]}: add {option}data.{split}.tgt to "
        "the recipe"
    )


def test_a_tsv_gives_the_same_data_as_two_files(files: list[str], tmp_path: Path) -> None:
    table = tmp_path / "a.tsv"
    table.write_text("de\ten\n" + "".join(f"{tgt}\t{src}\n" for src, tgt in PAIRS))
    recipe = load_recipe(
        "tiny",
        [
            f'run="{tmp_path / "tsv"}"',
            f'data.train={{tsv = "{table}", src_column = "en", tgt_column = "de"}}',
            "tokenizer.vocab_size=80",
            "tokenizer.byte_fallback=false",
            "tokenizer.placeholder_share=0",
        ],
    )
    of_files = yakusu.prepare(recipe_for(files, tmp_path / "files")).folder
    of_table = yakusu.prepare(recipe).folder
    different = {
        path.name
        for path in of_files.iterdir()
        if path.read_bytes() != (of_table / path.name).read_bytes()
    }
    assert different == {"data.json", "manifest.json"}  # these name the inputs


def test_a_changed_corpus_is_rejected_and_a_deleted_one_accepted(
    files: list[str], tmp_path: Path
) -> None:
    recipe = recipe_for(files, tmp_path / "run")
    made = yakusu.prepare(recipe)
    path = Path(files[1])
    path.write_text(path.read_text().replace("katze", "kater", 1))
    assert fault(recipe, RunError) == (
        f"{path} has changed since {made.folder} was made from it: restore the file, or "
        "choose another folder with --run"
    )
    path.unlink()
    assert yakusu.prepare(recipe).existed


def test_a_corpus_that_changes_while_being_read_is_reported(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, train = Path(files[1]), Tokenizer.train

    def change(*args: Any, **options: Any) -> Tokenizer:
        path.write_text(path.read_text().replace("katze", "kater", 1))
        return train(*args, **options)

    monkeypatch.setattr(Tokenizer, "train", change)
    message = fault(recipe_for(files, tmp_path / "run"), DataError)
    assert message == f"{path} changed while being read: run 'yakusu prepare' again"
    assert not (tmp_path / "run" / "data").exists()


@pytest.mark.parametrize("drop", ["true", "false"])
def test_extra_pairs_contain_no_held_out_pair(drop: str, files: list[str], tmp_path: Path) -> None:
    more = invented(40, seed=12)
    extra = write(tmp_path, [*PAIRS, *more, more[0], ("new", PAIRS[0][1])], "extra")
    recipe = recipe_for(
        files,
        tmp_path / "run",
        f"data.extra.src={extra[0]}",
        f"data.extra.tgt={extra[1]}",
        f"filters.drop_duplicates={drop}",
    )
    made = yakusu.prepare(recipe)
    train, dev = texts(made.folder, "train"), texts(made.folder, "dev")
    assert len(dev) == 20 and PAIRS[0] in dev and not set(train) & set(dev)
    fit = [pair for pair in PAIRS if pair not in dev]
    assert train == fit + (more if drop == "true" else [*fit, *more, more[0]])
    assert made.report["in the dev set"] == len(dev) + 1
    assert made.report["duplicate"] == (len(fit) + 1 if drop == "true" else 0)


def test_extra_pairs_share_no_sentence_with_a_given_dev_set(
    files: list[str], tmp_path: Path
) -> None:
    dev = write(tmp_path, invented(9, seed=3), "dev")
    extra = write(tmp_path, [*invented(9, seed=3), ("new", "neu")], "extra")
    made = yakusu.prepare(
        recipe_for(
            files,
            tmp_path / "run",
            *(f"data.dev.{side}={path}" for side, path in zip(("src", "tgt"), dev, strict=True)),
            *(
                f"data.extra.{side}={path}"
                for side, path in zip(("src", "tgt"), extra, strict=True)
            ),
        )
    )
    assert made.report["in the dev set"] == 9
    assert texts(made.folder, "train") == [*PAIRS, ("new", "neu")]


def test_line_numbers_point_to_the_pairs_of_the_corpus(tmp_path: Path) -> None:
    pairs = [("", "a"), *PAIRS[:200], ("so", "so"), *PAIRS[200:]]
    made = yakusu.prepare(recipe_for(write(tmp_path, pairs), tmp_path / "run"))
    for split in ("train", "dev"):
        lines = Pairs.open(made.folder, split).lines
        assert [pairs[line - 1] for line in lines] == texts(made.folder, split)


def test_an_interrupted_run_is_prepared_again(files: list[str], tmp_path: Path) -> None:
    recipe = recipe_for(files, tmp_path / "run")
    first = yakusu.prepare(recipe)
    manifest = (first.folder / "manifest.json").read_bytes()
    shutil.rmtree(first.folder)  # as if interrupted before the folder was renamed
    again = yakusu.prepare(recipe)
    assert not again.existed
    assert (again.folder / "manifest.json").read_bytes() == manifest


def test_a_list_of_corpora_is_prepared_like_one_file_and_divided_by_weight(
    files: list[str], tmp_path: Path
) -> None:
    lists = [write(tmp_path, part, name) for name, part in (("b", PAIRS[:150]), ("c", PAIRS[150:]))]
    listed = "{{src = '{0[0]}', tgt = '{0[1]}'}}, {{src = '{1[0]}', tgt = '{1[1]}'{2}}}"
    weighted = [listed.format(*lists, weight) for weight in ("", ", weight = 2.5")]
    one = yakusu.prepare(recipe_for(files, tmp_path / "one")).folder
    same, divided = (
        yakusu.prepare(recipe_for(files, tmp_path / f"{n}", f"data.train=[{each}]")).folder
        for n, each in enumerate(weighted)
    )
    for path in one.glob("train.*"):
        assert path.read_bytes() == (same / path.name).read_bytes()
        assert path.read_bytes() == (divided / path.name).read_bytes()
    assert len(Pairs.open(same, "train").parts) == 1
    pairs = Pairs.open(divided, "train")
    n_first = int((pairs.lines <= 150).sum())
    assert pairs.parts == (
        CorpusPart(n_pairs=n_first, weight=1.0),
        CorpusPart(n_pairs=len(pairs) - n_first, weight=2.5),
    )
    saved = load_recipe(divided.parent / "recipe.toml")
    assert [part.weight for part in saved.data.train.parts] == [1.0, 2.5]
    assert yakusu.prepare(saved).existed
