"""The verb `score`: columns, JSON, n-best lists, and the inputs that it refuses."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import yakusu
from yakusu.pipeline.score import Perplexity

Yakusu = Callable[..., Any]
SOURCES = ["the old ferry", "", "a baker paints the bridge", "through the window"]
TARGETS = ["die alte fähre", "", "die bäckerin malt die brücke", "durch die scheibe"]


def text(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A file of sources and a file of their translations."""
    src, tgt = tmp_path / "a.en", tmp_path / "a.de"
    src.write_text(text(SOURCES))
    tgt.write_text(text(TARGETS))
    return src, tgt


def test_each_line_has_log_probability_score_and_number_of_tokens(
    run_yakusu: Yakusu, model: Path, files: tuple[Path, Path]
) -> None:
    said = run_yakusu("score", model, *files)
    found = list(yakusu.score(model, *files))
    assert said.out == text([f"{s.log_prob:.4f}\t{s.score:.4f}\t{s.n_tokens}" for s in found])
    assert found == list(yakusu.score(model, SOURCES, TARGETS, batch=1))


def test_the_summary_has_pairs_tokens_and_the_perplexity_of_the_corpus(
    run_yakusu: Yakusu, model: Path, files: tuple[Path, Path]
) -> None:
    said = run_yakusu("score", model, *files)
    rows = [list(map(float, line.split("\t"))) for line in said.out.splitlines()]
    n_tokens = sum(row[2] for row in rows)
    shown = re.fullmatch(
        r"4 pairs, (\d+) target tokens: perplexity ([\d.]+) per token, in [\d.]+ s\n", said.err
    )
    assert shown and int(shown[1]) == n_tokens
    perplexity = math.exp(-sum(row[0] for row in rows) / n_tokens)
    assert float(shown[2]) == pytest.approx(perplexity, abs=0.01)


def test_the_summary_of_no_pairs_has_no_perplexity(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").touch()
    said = run_yakusu("score", model, tmp_path / "empty", tmp_path / "empty")
    assert (said.out, said.err) == ("", "0 pairs, 0 target tokens\n")


def test_json_lines_hold_every_token_and_its_alternatives(
    run_yakusu: Yakusu, model: Path, files: tuple[Path, Path]
) -> None:
    said = run_yakusu("score", model, *files, "--format", "json", "--alternatives", 2)
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert len(rows) == 4 and rows[1]["tokens"] == ["</s>"]
    for row in rows:
        assert row["log_prob"] == math.fsum(row["token_log_probs"])
        assert row["n_tokens"] == len(row["tokens"]) == len(row["alternatives"])
        assert all(len(best) == 2 and best[0][1] >= best[1][1] for best in row["alternatives"])
    plain = run_yakusu("score", model, *files, "--format", "json")
    assert "alternatives" not in json.loads(plain.out.splitlines()[0])


@pytest.mark.parametrize("side", [0, 1])
def test_one_side_may_be_standard_input(
    run_yakusu: Yakusu, model: Path, files: tuple[Path, Path], side: int
) -> None:
    places: list[object] = list(files)
    places[side] = "-"
    said = run_yakusu("score", model, *places, stdin=files[side].read_bytes())
    assert said.out == run_yakusu("score", model, *files).out


def test_an_ensemble_of_a_model_with_itself_gives_the_scores_of_the_model(
    run_yakusu: Yakusu, model: Path, files: tuple[Path, Path]
) -> None:
    alone = run_yakusu("score", model, *files)
    twice = run_yakusu("score", model, *files, "--ensemble", model)
    numbers = [[float(cell) for cell in said.out.split()] for said in (alone, twice)]
    assert numbers[1] == pytest.approx(numbers[0], abs=2e-4)


# ---- n-best lists --------------------------------------------------------------------------------


def test_a_rescored_list_has_its_lines_in_order_with_scores_of_the_search(
    run_yakusu: Yakusu, model: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    listed = run_yakusu("translate", model, files[0], "--n-best", 3).out
    (tmp_path / "list").write_text(listed)
    said = run_yakusu("score", model, files[0], tmp_path / "list", "--n-best")
    before, after = ([line.split("\t") for line in out.splitlines()] for out in (listed, said.out))
    assert [(row[0], row[-1]) for row in after] == [(row[0], row[-1]) for row in before]
    pairs = [(SOURCES[int(row[0]) - 1], row[-1]) for row in before]
    scores = yakusu.score(model, [source for source, _ in pairs], [target for _, target in pairs])
    assert [row[1] for row in after] == [f"{scored.score:.4f}" for scored in scores]


def test_a_list_with_log_probabilities_gets_new_ones(
    run_yakusu: Yakusu, model: Path, files: tuple[Path, Path]
) -> None:
    listed = "1\t-9\t-9\tdie alte fähre\n3\t-inf\t-8.5\tdie brücke\n"
    said = run_yakusu("score", model, files[0], "-", "--n-best", stdin=listed.encode())
    one, other = yakusu.score(model, [SOURCES[0], SOURCES[2]], ["die alte fähre", "die brücke"])
    assert said.out == (
        f"1\t{one.score:.4f}\t{one.log_prob:.4f}\tdie alte fähre\n"
        f"3\t{other.score:.4f}\t{other.log_prob:.4f}\tdie brücke\n"
    )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1\t-0.5"], "line 1: 2 columns instead of number, score, log_prob and text: separate"),
        (["1\t-1\ta", "x\t-1\ta"], "line 2: 'x' is not the number of a sentence: count from 1"),
        (["0\t-1\ta"], "line 1: '0' is not the number of a sentence: count from 1"),
        (["1\tgood\ta"], "line 1: the score 'good' is not a number: use the columns"),
        (["1\t-1\ta\tb"], "line 1: the log_prob 'a' is not a number: use the columns"),
        (["2\t-1\ta", "1\t-1\ta"], "line 2: the number 1 follows 2: sort the list by sentence"),
        (["5\t-1\ta"], "line 1: there is no sentence 5, because SRC has only 4: use the source"),
    ],
)
def test_a_malformed_list_is_refused_with_file_and_line(
    run_yakusu: Yakusu, model: Path, files: tuple[Path, Path], lines: list[str], message: str
) -> None:
    place = files[0].with_name("list")
    place.write_text(text(lines))
    told = run_yakusu("score", model, files[0], place, "--n-best").error
    assert told.startswith(f"{place}, {message.replace('SRC', str(files[0]))}")


# ---- inputs that are refused ---------------------------------------------------------------------


def test_files_of_different_lengths_are_refused_before_the_model_is_loaded(
    run_yakusu: Yakusu, files: tuple[Path, Path], tmp_path: Path
) -> None:
    files[1].write_text(text(TARGETS[:3]))
    told = run_yakusu("score", tmp_path / "nowhere", *files).error
    assert told == (
        f"{files[0]} and {files[1]} differ in length (4 and 3 lines): align them line by line"
    )


def test_standard_input_of_another_length_is_refused_with_both_numbers(
    run_yakusu: Yakusu, model: Path, files: tuple[Path, Path]
) -> None:
    told = run_yakusu("score", model, files[0], "-", stdin=b"die\n").error
    assert told.startswith(f"{files[0]} and the translations differ in length (4 and 1 lines)")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-", "-"], "SRC and TGT are both standard input: specify a file for one of them"),
        (["a", "b", "--n-best", "--format", "json"], "--n-best prints a list, not JSON: omit"),
        (["a", "b", "--alternatives", "2"], "--alternatives has no column in text: add --format"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    run_yakusu: Yakusu, model: Path, words: list[str], message: str
) -> None:
    assert run_yakusu("score", model, *words).error.startswith(message)


def test_the_perplexity_of_no_pairs_is_not_a_number() -> None:
    assert math.isnan(Perplexity().value)


def test_a_perplexity_too_large_for_a_number_is_infinite() -> None:
    assert Perplexity(n_pairs=1, n_tokens=1, log_prob=-1e4).value == math.inf


# ---- options that change how the source is read --------------------------------------------------


@pytest.mark.parametrize(
    ("options", "source", "translation"),
    [
        (["--protect", "ba[a-z]+"], "the old ferry sees baker", "die alte fähre sieht baker"),
        (["--protect", "ba[a-z]+"], "the baker {name}", "die baker {name}"),
        (["--no-protect"], "the <b>old</b> ferry", "die <b>alte</b> fähre"),
    ],
)
def test_a_score_is_that_of_the_search_if_the_source_is_read_in_the_same_way(
    run_yakusu: Yakusu,
    model: Path,
    tmp_path: Path,
    options: list[str],
    source: str,
    translation: str,
) -> None:
    src, tgt = tmp_path / "a.en", tmp_path / "a.de"
    src.write_text(source + "\n")
    tgt.write_text(translation + "\n")
    # The translation is the prefix, because nothing may follow it.
    given = ["--prefix", tgt, "--max-length", 1, "--format", "json", *options]
    searched = run_yakusu("translate", model, src, *given)
    best = json.loads(searched.out)["translations"][0]
    assert best["text"] == translation
    scores = [
        float(run_yakusu("score", model, src, tgt, *some).out.split("\t")[0])
        for some in (options, [])
    ]
    assert scores[0] == pytest.approx(best["log_prob"], abs=1e-3)
    assert abs(scores[1] - scores[0]) > 0.01
