"""The verb `translate`: streams, search options, folders that it refuses."""

import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import yakusu

TrainOptions = Callable[..., list[str]]
Yakusu = Callable[..., Any]
SOURCES = ["the old ferry", "", "a baker paints the bridge", "through the window", ""]


def text(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


def test_a_file_and_standard_input_give_the_same_lines(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "in").write_bytes(text(SOURCES))
    of_file = run_yakusu("translate", model, tmp_path / "in")
    of_stdin = run_yakusu("translate", model, stdin=text(SOURCES))
    of_python = [best[0].text for best in yakusu.translate(model, SOURCES)]
    assert of_file.out == of_stdin.out == text(of_python).decode()
    assert [not line for line in of_file.out.split("\n")[:-1]] == [not line for line in SOURCES]
    assert re.fullmatch(
        r"5 sentences in [\d.]+ s: [\d.,]+ sentences/s, [\d,]+ target tokens/s\n", of_file.err
    )


def test_unusual_line_ends_in_a_sentence_do_not_shift_the_output(
    run_yakusu: Yakusu, model: Path
) -> None:
    sources = ["the\rold ferry", "", "a\u2028baker", "\r", "the\x0cbridge\x85sees", "\u2028", "\0"]
    said = run_yakusu("translate", model, stdin=text(sources))
    assert said.code == 0
    lines = said.out.split("\n")
    assert len(lines) == len(sources) + 1 and lines[-1] == ""
    assert [i for i, line in enumerate(lines[:6]) if not line] == [1, 3, 5]
    assert not re.search("[\r\x0c\x85\u2028]", said.out)


def test_the_output_does_not_depend_on_batch_and_window(run_yakusu: Yakusu, model: Path) -> None:
    outs = {
        run_yakusu(
            "translate", model, "--batch", batch, "--window", window, stdin=text(SOURCES)
        ).out
        for batch, window in [(64, 100), (1, 1), (2, 3)]
    }
    assert len(outs) == 1


def test_search_options_give_what_python_gives(run_yakusu: Yakusu, model: Path) -> None:
    said = run_yakusu("translate", model, "--beam", 1, "--alpha", 0, stdin=text(SOURCES))
    found = yakusu.translate(model, SOURCES, beam=1, alpha=0)
    assert said.out == text([best[0].text for best in found]).decode()


def test_n_best_prints_number_score_and_text_separated_by_tabs(
    run_yakusu: Yakusu, model: Path
) -> None:
    said = run_yakusu("translate", model, "--n-best", 3, stdin=text(SOURCES))
    best = run_yakusu("translate", model, stdin=text(SOURCES)).out.split("\n")
    rows = [line.split("\t") for line in said.out.splitlines()]
    assert all(re.fullmatch(r"-?\d+\.\d{4}", score) for _, score, _ in rows)
    numbers = [int(number) for number, _, _ in rows]
    assert numbers == sorted(numbers) and set(numbers) == {1, 2, 3, 4, 5}
    for number in (1, 3, 4):
        mine = [row for row in rows if row[0] == str(number)]
        assert len(mine) == 3
        scores = [float(score) for _, score, _ in mine]
        assert scores == sorted(scores, reverse=True)
        assert mine[0][2] == best[number - 1]


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(
    run_yakusu: Yakusu, model: Path
) -> None:
    plain = run_yakusu("translate", model, stdin=text(SOURCES))
    windows = run_yakusu(
        "translate", model, stdin=b"\xef\xbb\xbf" + text(SOURCES).replace(b"\n", b"\r\n")
    )
    assert windows.out == plain.out


def test_translations_go_to_stdout_while_a_bar_is_on_the_terminal(work: Path, model: Path) -> None:
    terminal, end = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "yakusu", "translate", model, work / "a.en"],
        stdout=subprocess.PIPE,
        stderr=end,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
        check=True,
    )
    os.close(end)
    shown = b""
    with suppress(OSError):  # how a terminal ends
        while part := os.read(terminal, 4096):
            shown += part
    os.close(terminal)
    assert len(done.stdout.splitlines()) == len((work / "a.en").read_text().splitlines())
    assert f"/{len(done.stdout.splitlines())}".encode() in shown and b"sentences/s" in shown


def test_a_line_is_translated_before_the_next_one_arrives(model: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "yakusu", "translate", model],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin and process.stdout
    for _ in range(3):
        process.stdin.write(b"the old ferry\n")
        process.stdin.flush()
        assert process.stdout.readline().endswith(b"\n")
    process.stdin.close()
    assert process.stdout.read() == b"" and process.wait() == 0
    process.stdout.close()


def test_a_named_pipe_is_read_like_a_file(run_yakusu: Yakusu, model: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf 'the old ferry\\n' > {pipe}"]):
        said = run_yakusu("translate", model, pipe)
    assert (said.code, said.out.count("\n")) == (0, 1)


def test_no_sentence_gives_no_line(run_yakusu: Yakusu, model: Path) -> None:
    said = run_yakusu("translate", model, stdin=b"")
    assert (said.code, said.out) == (0, "")
    assert said.err.startswith("0 sentences in ")


def test_invalid_utf8_on_standard_input_is_refused_with_its_place(
    run_yakusu: Yakusu, model: Path
) -> None:
    said = run_yakusu("translate", model, stdin=b"the ferry\nsch\xf6n\n")
    assert said.error == (
        "standard input, line 2, byte 4: 0xf6 is not UTF-8: convert the file (iconv -t UTF-8) or "
        "correct the line"
    )


@pytest.mark.parametrize(
    "option",
    ["--batch=0", "--n-best=0", "--beam=0", "--beam=300", "--window=-1", "--device=nonsense"],
)
def test_an_option_out_of_range_is_refused(run_yakusu: Yakusu, model: Path, option: str) -> None:
    try:
        said = run_yakusu("translate", model, option, stdin=b"the ferry\n")
    except (RuntimeError, IndexError, ValueError) as error:
        pytest.fail(f"a traceback: {error}")
    assert (said.code, said.out) == (2, "")
    assert option.split("=")[0] in said.err or option.split("=")[1] in said.err


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.model"])
def test_an_incomplete_or_corrupted_model_folder_is_refused(
    run_yakusu: Yakusu, own: Path, name: str
) -> None:
    path = own / "run" / "model" / name
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    told = run_yakusu("translate", path.parent, stdin=b"the\n").error
    assert told.startswith(f"{path} is corrupt (") and told.endswith(": copy the folder again")
    path.unlink()
    told = run_yakusu("translate", path.parent, stdin=b"the\n").error
    assert told == f"{path} is missing, so the folder is incomplete: copy it again"


def test_a_folder_that_is_not_a_model_is_refused(
    run_yakusu: Yakusu, work: Path, tmp_path: Path
) -> None:
    assert run_yakusu("translate", tmp_path / "none").error == (
        f"{tmp_path / 'none'} is not a model folder: check the path"
    )
    assert run_yakusu("translate", work / "run").error == (
        f"{work / 'run'} is a run folder: use its model, {work / 'run' / 'model'}"
    )
    assert run_yakusu("translate", tmp_path).error.startswith(f"{tmp_path} has no valid manifest")


def test_a_translator_refuses_trees(run_yakusu: Yakusu, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("(S (NP (DT the) (NN boat)))\n")
    for place in (tmp_path / "a.mrg", tmp_path):
        told = run_yakusu("translate", model, place).error
        assert told == f"{place} contains trees, but {model} is not a parser: use a parser"


def test_n_best_is_the_models_setting_unless_it_is_given(
    run_yakusu: Yakusu, train_options: TrainOptions, own: Path
) -> None:
    assert run_yakusu("train", *train_options(own, "run", "search.n_best=2")).code == 0
    model = own / "run" / "model"
    said = run_yakusu("translate", model, stdin=b"the old ferry\n")
    assert [len(line.split("\t")) for line in said.out.splitlines()] == [3, 3]
    assert [len(best) for best in yakusu.translate(model, ["the old ferry"])] == [2]
    said = run_yakusu("translate", model, "--n-best", 1, stdin=b"the old ferry\n")
    assert said.out.count("\n") == 1 and "\t" not in said.out


def test_a_sentence_passed_as_a_string_from_python_is_refused_with_the_fix(model: Path) -> None:
    with pytest.raises(yakusu.DataError) as error:
        yakusu.translate(model, "the old ferry")
    assert str(error.value) == (
        "'the old ferry' is not an existing file: pass sentences as a list, as in "
        "['the old ferry'], or the path of a text file"
    )


@pytest.mark.parametrize("sentence", ["Let's go?", "a b " * 100])
def test_a_sentence_in_place_of_a_file_is_refused_with_the_command(
    run_yakusu: Yakusu, model: Path, sentence: str
) -> None:
    told = run_yakusu("translate", model, sentence).error
    assert told.startswith(f"'{sentence}' is not a file: to translate a sentence, use echo ")
    assert f"echo {shlex.quote(sentence)} | " in told
    assert told.endswith(f"yakusu translate {model}")


def test_too_large_an_n_best_is_refused_with_both_options(run_yakusu: Yakusu, model: Path) -> None:
    assert run_yakusu("translate", model, "--n-best", 9).error == (
        "n_best = 9 exceeds beam = 4: increase beam or lower n_best (--beam or --n-best)"
    )
