"""`yakusu check`: exit codes, both formats, and one sentence for unusable input."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import yakusu
from yakusu.errors import RecipeError

SENTENCES = [
    ("The old ferry leaves at seven.", "Die alte Fähre fährt um sieben."),
    ("She paints the bridge.", "Sie malt die Brücke."),
    ("Nobody sees the small window.", "Niemand sieht das kleine Fenster."),
]


def write(folder: Path, name: str, lines: list[str]) -> Path:
    path = folder / name
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [
        write(tmp_path, f"a.{code}", [pair[side] for pair in SENTENCES])
        for side, code in enumerate(("en", "de"))
    ]


def test_a_usable_corpus_exits_with_0_even_with_warnings(
    run_yakusu: Callable, files: list[Path], tmp_path: Path
) -> None:
    bad = write(tmp_path, "b.de", ["Die alte FÃ¤hre.", "Sie malt.", ""])
    said = run_yakusu("check", files[0], bad)
    assert said.code == 0
    assert said.out.startswith(f"{files[0]} and {bad}: 3 pairs, 2 kept (66.7%)\n")
    assert "\n  1 pair with mojibake: " in said.out
    assert said.err == ""


def test_json_is_one_object(run_yakusu: Callable, files: list[Path]) -> None:
    said = run_yakusu("check", *files, "--format", "json", "--set", "filters.max_ratio=3")
    report = json.loads(said.out)
    assert (said.code, report["n_pairs"], report["n_kept"]) == (0, 3, 3)
    assert {"name": "ratio", "n": 0, "key": "filters.max_ratio = 3.0", "examples": []} in report[
        "filters"
    ]


def test_each_language_pair_of_a_recipe_has_a_report(
    run_yakusu: Callable, files: list[Path], tmp_path: Path
) -> None:
    src, tgt = files
    train = f'train = {{ src = "{src}", tgt = "{tgt}" }}\n'
    recipe = tmp_path / "two.toml"
    recipe.write_text(
        f'[data]\nsource_language = "en"\ntarget_language = "de"\n{train}'
        f'[[data.others]]\nsource_language = "en"\ntarget_language = "fr"\n{train}'
    )
    text = run_yakusu("check", "--recipe", recipe).out
    assert text.index("# en-de") < text.index("# en-fr")
    found = run_yakusu("check", "--recipe", recipe, "--format", "json").out
    assert [each["languages"] for each in json.loads(found)] == [["en", "de"], ["en", "fr"]]
    with pytest.raises(RecipeError, match=r"pass each recipe of recipe\.directions"):
        yakusu.check(yakusu.load_recipe(recipe))


def test_dev_and_test_sets_are_compared(
    run_yakusu: Callable, files: list[Path], tmp_path: Path
) -> None:
    src = write(tmp_path, "t.en", ["she paints the bridge!"])
    tgt = write(tmp_path, "t.de", ["Sie streicht sie."])
    held_out = ["--dev-src", src, "--dev-tgt", tgt, "--test-src", src, "--test-tgt", tgt]
    said = run_yakusu("check", *files, *held_out)
    assert said.code == 0
    assert "Pairs of dev (1) that occur in train\n  sources           1 100.00%" in said.out
    assert "Pairs of test (1) that occur in dev" in said.out


def test_one_file_of_pairs_is_checked(run_yakusu: Callable, tmp_path: Path) -> None:
    rows = [f"{tgt}\tx\t{src}" for src, tgt in SENTENCES]
    pairs = write(tmp_path, "a.tsv", rows)
    test = write(tmp_path, "t.tsv", rows[:1])
    said = run_yakusu("check", "--pairs", pairs, "--columns", "3,1", "--test-pairs", test)
    assert said.code == 0
    assert said.out.startswith(f"{pairs}: 3 pairs, 3 kept")
    assert "1 of 1 sources of test and 1 whole pair occur in train" in said.out


def test_a_table_without_a_header_is_checked_by_numbers_and_languages(
    run_yakusu: Callable, tmp_path: Path
) -> None:
    pairs = write(tmp_path, "a.tsv", [f"{src}\t{tgt}" for src, tgt in SENTENCES])
    fix = run_yakusu("check", "--pairs", pairs, "--columns", "en,de").error.partition("as in ")[2]
    said = run_yakusu("check", "--pairs", pairs, *fix.replace(", and add", "").split())
    assert (said.code, said.err) == (0, "")
    assert "Source: " in said.out and "a.tsv, language 'en'" in said.out
    assert "is not known" not in said.out


def test_a_recipe_names_the_corpus_and_the_filters(
    run_yakusu: Callable, files: list[Path], tmp_path: Path
) -> None:
    recipe = write(
        tmp_path,
        "my.toml",
        [
            "[data]",
            f'train = {{ src = "{files[0]}", tgt = "{files[1]}" }}',
            "[filters]",
            "check_language = true",
        ],
    )
    said = run_yakusu("check", "--recipe", recipe)
    assert said.code == 0
    assert "filters.check_language = true" in said.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no corpus to check: specify SRC and TGT, or a recipe with data.train"),
        (
            ["a.en", "a.en"],
            "a.en: the two sides are identical: specify the file or the column that has the "
            "translations",
        ),
        (
            ["--pairs", "p.tsv", "--columns", "2,2"],
            "p.tsv: the two sides are identical: specify the file or the column that has the "
            "translations",
        ),
        (
            ["--pairs", "p.tsv", "--columns", "1,3"],
            "p.tsv, line 1: column 3 is missing because the line has only 2: separate columns "
            "with tabs, or name a file with commas .csv",
        ),
        (
            ["--pairs", "p.tsv", "--columns", "en,fr"],
            "p.tsv, line 1 names no column 'en' (it has: One., Eins.): choose one of these or, if "
            "the file has no header, use numbers, as in --columns 1,2, and add "
            "--set data.source_language=en --set data.target_language=fr",
        ),
        (
            ["a.en", "a.de", "--recipe", "tiny", "--recipe=base"],
            "--recipe is given 2 times: give it once",
        ),
        (
            ["a.en", "a.de", "--test-src", "a.en", "--test-pairs", "p.tsv"],
            "a corpus is two files or one file of pairs, not both: remove --test-pairs p.tsv or "
            "--test-src a.en",
        ),
        (
            ["--pairs", "ids.tsv"],
            "ids.tsv: column 1 has no words, but columns 2, 3 have: choose a source and a target, "
            "as in --columns 2,3",
        ),
        (["a.en", "."], ". is a folder: specify a text file"),
        (
            ["none.en", "none.de"],
            "there are no sentence pairs in none.en and none.de: check the files",
        ),
        (
            ["blank.en", "blank.de"],
            "blank.en and blank.de: none of 2 sentence pairs is left for training: provide more "
            "text or relax the filters, which drop 2 empty",
        ),
        (
            ["a.en", "a.de", "--test-src", "none.en", "--test-tgt", "none.de"],
            "there are no sentence pairs in none.en and none.de: check the files",
        ),
        (
            ["a.en", "a.de", "--dev-src", "blank.en", "--dev-tgt", "blank.de"],
            "there are no sentence pairs in blank.en and blank.de: check the files",
        ),
        (
            ["a.en"],
            "a.en has no tgt: specify two files (src and tgt), or pairs",
        ),
        (["a.en", "no.de"], "no.de does not exist: check the path"),
        (
            ["a.en", "b.de"],
            "a.en and b.de differ in length (3 and 1 lines): align them line by line, or pair the "
            "sentences again with 'yakusu align a.en b.de --out PAIRS.tsv' "
            "('yakusu mine' if their order differs), and use --pairs PAIRS.tsv from then on",
        ),
        (
            ["a.en", "a.de", "--test-src", "a.en"],
            "a.en has no tgt: specify two files (src and tgt), or pairs",
        ),
        (
            ["a.en", "a.de", "--set", "filters.max_ratios=3"],
            "--set: unknown key 'filters.max_ratios': did you mean 'filters.max_ratio'?",
        ),
    ],
)
def test_unusable_input_exits_with_2_and_one_sentence(
    arguments: list[str],
    message: str,
    run_yakusu: Callable,
    files: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(tmp_path, "b.de", ["Eins."])
    write(tmp_path, "p.tsv", ["One.\tEins."])
    write(
        tmp_path, "ids.tsv", [f"{i}\t{src} {src}\t{tgt}" for i, (src, tgt) in enumerate(SENTENCES)]
    )
    for code in ("en", "de"):
        write(tmp_path, f"none.{code}", [])
        write(tmp_path, f"blank.{code}", ["", " "])
    monkeypatch.chdir(tmp_path)
    assert run_yakusu("check", *arguments).error == message


def test_one_pair_in_a_compressed_memory_is_checked(run_yakusu: Callable, tmp_path: Path) -> None:
    units = "".join(
        f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>'
        for code, text in zip(("en", "de"), SENTENCES[0], strict=True)
    )
    memory = tmp_path / "memory.tmx.gz"
    tmx = f'<tmx version="1.4"><header/><body><tu>{units}</tu></body></tmx>'
    memory.write_bytes(gzip.compress(tmx.encode()))
    said = run_yakusu("check", "--pairs", memory, "--columns", "en,de")
    assert said.code == 0
    assert said.out.startswith(f"{memory}: 1 pair, 1 kept (100.0%)\n")
    assert "languages are those of all pairs" in said.out


def test_swapped_files_are_refused(run_yakusu: Callable, tmp_path: Path) -> None:
    named_de = write(tmp_path, "a.de", [src for src, _ in SENTENCES] * 100)
    named_en = write(tmp_path, "a.en", [tgt for _, tgt in SENTENCES] * 100)
    assert run_yakusu("check", named_en, named_de).error == (
        f"{named_en} seems to be in language 'de' and {named_de} in 'en': exchange the two files, "
        "or correct data.source_language and data.target_language"
    )


def test_a_pipe_is_refused(run_yakusu: Callable, files: list[Path], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.en")
    said = run_yakusu("check", tmp_path / "pipe.en", files[1])
    assert said.error == f"{tmp_path}/pipe.en can be read only once: write it to a file first"


# ---- --model ---------------------------------------------------------------------------------

MODEL = Path(__file__).parents[1] / "fixtures" / "format-1" / "transformer"


def test_a_model_lists_the_least_probable_pairs(run_yakusu: Callable, files: list[Path]) -> None:
    said = run_yakusu("check", "--model", MODEL, *files, "-n", "2")
    assert said.code == 0
    first, place, *others = said.out.splitlines()
    assert float(first.split()[0]) < 0
    assert place.startswith("       line ")
    assert len(others) == 2
    assert "the least probable of 3 pairs" in said.err
    found = json.loads(run_yakusu("check", "--model", MODEL, *files, "--format", "json").out)
    assert [*found[0]] == ["line", "src", "tgt", "log_prob", "reason"]
    assert sorted(pair["line"] for pair in found) == [1, 2, 3]


def test_a_model_needs_something_to_check(run_yakusu: Callable) -> None:
    assert "there is nothing to check" in run_yakusu("check", "--model", MODEL).error


def test_a_model_is_not_calibrated_on_a_few_sentences(
    run_yakusu: Callable, files: list[Path]
) -> None:
    said = run_yakusu("check", "--model", MODEL, "--dev-src", files[0], "--dev-tgt", files[1])
    assert "3 pairs that are not too long: calibrate with at least 100" in said.error


def test_a_model_of_other_languages_is_refused(run_yakusu: Callable, files: list[Path]) -> None:
    french = files[1].rename(files[1].with_suffix(".fr"))
    said = run_yakusu("check", "--model", MODEL, files[0], french)
    assert "a.fr is for fr" in said.error
