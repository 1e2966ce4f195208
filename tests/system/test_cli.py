"""The verbs from end to end: what goes to stdout and to stderr, exit codes, one-line errors."""

import io
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import yakusu
from yakusu import cli
from yakusu.folder import sha256

WORDS = {
    "the": "die",
    "old": "alte",
    "ferry": "fähre",
    "baker": "bäckerin",
    "sees": "sieht",
    "paints": "malt",
    "small": "kleine",
    "bridge": "brücke",
    "window": "scheibe",
    "through": "durch",
}
OVERRIDES = [
    "tokenizer.vocab_size=70",
    "batches.step_tokens=500",
    "model.n_layers=1",
    "model.d_model=16",
    "model.d_ff=32",
    "model.n_heads=2",
    "training.max_steps=6",
    "training.validate_steps=3",
    "training.log_steps=2",
    "search.max_extra=4",
    "data.hold_out=8",
]


@dataclass
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str


Yakusu = Callable[..., Said]


@pytest.fixture
def run_yakusu(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Yakusu:
    """`yakusu ARGS` within this process."""

    def run(*args: object, stdin: bytes = b"") -> Said:
        capfdbinary.readouterr()
        monkeypatch.setattr(sys, "argv", ["yakusu", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        code = 0
        try:
            cli.main()
        except SystemExit as error:
            code = int(error.code or 0)
        out, err = capfdbinary.readouterr()
        return Said(code, out.decode(), err.decode())

    return run


def yakusu_process(*args: object, stdin: bytes = b"") -> Said:
    """`python -m yakusu ARGS` as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "yakusu", *map(str, args)],
        input=stdin,
        capture_output=True,
        check=False,
    )
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def fails(said: Said) -> str:
    """The error of a command that failed as it should: code 2, one line, nothing on stdout."""
    assert said.code == 2, said
    assert said.out == ""
    assert "Traceback" not in said.err
    *before, last = said.err.splitlines()
    assert last.startswith("error: ") and not any("error" in line for line in before)
    return last.removeprefix("error: ")


def options(folder: Path, run: str = "run", *overrides: str) -> list[str]:
    sets = [word for item in (*OVERRIDES, *overrides) for word in ("--set", item)]
    files = ["--src", str(folder / "a.en"), "--tgt", str(folder / "a.de")]
    return ["tiny", "--run", str(folder / run), *files, *sets]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences of our own, and a run trained on them; tests only read it."""
    folder = tmp_path_factory.mktemp("work")
    rng = random.Random(7)
    lines = {" ".join(rng.choices(list(WORDS), k=rng.randint(3, 7))) for _ in range(300)}
    src = sorted(lines)
    (folder / "a.en").write_text("".join(line + "\n" for line in src), encoding="utf-8")
    (folder / "a.de").write_text(
        "".join(" ".join(WORDS[w] for w in line.split()) + "\n" for line in src), encoding="utf-8"
    )
    said = yakusu_process("train", *options(folder))
    assert said.code == 0, said.err
    (folder / "train.out").write_text(said.out)
    (folder / "train.err").write_text(said.err)
    return folder


@pytest.fixture
def model(work: Path) -> Path:
    return work / "run" / "model"


@pytest.fixture
def own(work: Path, tmp_path: Path) -> Path:
    """A copy of the run that a test may change."""
    for name in ("a.en", "a.de"):
        shutil.copy(work / name, tmp_path / name)
    shutil.copytree(work / "run", tmp_path / "run")
    recipe = tmp_path / "run" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace(str(work), str(tmp_path)))
    return tmp_path


# ---- prepare, train, average


def test_train_prepares_trains_and_says_what_to_type_next(work: Path) -> None:
    out, err = (work / "train.out").read_text(), (work / "train.err").read_text()
    model = work / "run" / "model"
    lines = out.splitlines()
    assert re.fullmatch(r"stopped at step 6 after \d+\.\d minutes: max_steps = 6", lines[0])
    assert re.fullmatch(
        r"dev BLEU = \d+\.\d\d \(nrefs:1\|case:mixed\|eff:no\|tok:13a\|.*\)", lines[1]
    )
    assert lines[2] == f"the model: {model}"
    command = r"(.*/)?yakusu|python -m yakusu"  # as the user can type it
    assert re.fullmatch(
        rf"next: echo 'A sentence\.' \| ({command}) translate {re.escape(str(model))}", lines[3]
    )
    assert "pairs read; dropped: 0 empty" in err
    assert re.search(r"training [\d,]+ parameters on cpu", err)
    assert re.search(r"step 2  epoch [\d.]+  loss [\d.]+ \(never below [\d.]+\)", err)
    assert f"averaged the checkpoints of steps 3, 6 into {model}" in err


def test_dev_bleu_ignores_case_where_the_vocabulary_does(run_yakusu: Yakusu, own: Path) -> None:
    lower = "tokenizer.normalization=nmt_nfkc_cf"
    said = run_yakusu("train", *options(own, "lower", lower, "training.max_steps=1"))
    assert "|case:lc|" in said.out.splitlines()[1]


def test_the_run_folder_is_as_the_docs_say(work: Path) -> None:
    run = work / "run"
    assert sorted(path.name for path in run.iterdir()) == [
        ".lock", "checkpoints", "data", "log.jsonl", "model", "recipe.toml", "tensorboard"
    ]  # fmt: skip
    assert sorted(path.name for path in (run / "model").iterdir()) == [
        "README.md", "config.json", "manifest.json", "model.safetensors", "receipt.json",
        "tokenizer.model",
    ]  # fmt: skip


def test_the_log_is_json_lines_with_every_event(work: Path) -> None:
    events = [json.loads(line) for line in (work / "run" / "log.jsonl").read_text().splitlines()]
    assert [(event["event"], event["step"]) for event in events] == [
        ("train", 2), ("validate", 3), ("train", 4), ("train", 6), ("validate", 6)
    ]  # fmt: skip
    for event in events[:1]:
        assert event["perplexity"] > 1 and event["loss"] > event["loss_zero_point"] > 0


def test_prepare_reports_and_says_when_it_was_done_before(
    run_yakusu: Yakusu, work: Path, tmp_path: Path
) -> None:
    n = len((work / "a.en").read_text().splitlines())
    args = ["prepare", *options(work), "--run", tmp_path / "run"]
    first, second = run_yakusu(*args), run_yakusu(*args)
    assert first.code == second.code == 0
    assert first.out.startswith(f"{n} pairs read; dropped: 0 empty, 0 identical, 0 duplicate, ")
    assert first.out.endswith(f"binarised pairs and tokenizer: {tmp_path / 'run' / 'data'}\n")
    assert second.out == f"already prepared: {first.out}"
    assert "learning a vocabulary of 70 tokens from" in first.err and second.err == ""


def test_the_same_command_again_says_already_at_step(run_yakusu: Yakusu, own: Path) -> None:
    log = (own / "run" / "log.jsonl").read_text()
    made = (own / "run" / "model").stat().st_ctime_ns
    said = run_yakusu("train", *options(own))
    assert said.code == 0
    assert re.search(
        r"^already at step 6 \(epoch [\d.]+, rate .*\): nothing left to do, ", said.err
    )
    assert (own / "run" / "log.jsonl").read_text() == log
    assert (own / "run" / "model").stat().st_ctime_ns == made  # it was not averaged again


def test_a_longer_run_goes_on_and_appends_to_the_log(run_yakusu: Yakusu, own: Path) -> None:
    log = (own / "run" / "log.jsonl").read_text()
    said = run_yakusu("train", *options(own, "run", "training.max_steps=8"))
    assert said.code == 0
    assert re.search(r"^already at step 6 \(.*\): going on$", said.err, re.MULTILINE)
    assert said.out.startswith("stopped at step 8 after")
    after = (own / "run" / "log.jsonl").read_text()
    assert after.startswith(log)
    added = [json.loads(line)["step"] for line in after.removeprefix(log).splitlines()]
    assert added == [8, 8]


def test_average_of_one_checkpoint_is_that_checkpoint(
    run_yakusu: Yakusu, work: Path, tmp_path: Path
) -> None:
    said = run_yakusu("average", work / "run", "--last", 1, "--out", tmp_path / "model")
    assert (said.code, said.out) == (0, f"{tmp_path / 'model'}\n")
    into = f"averaged the checkpoint of step 6 into {tmp_path / 'model'}: dev BLEU = "
    assert said.err.startswith(into)
    last = work / "run" / "checkpoints" / "step-00000006" / "model.safetensors"
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == last.read_bytes()


def test_average_never_replaces_a_folder_that_is_named(
    run_yakusu: Yakusu, work: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    out.mkdir()
    assert run_yakusu("average", work / "run", "--out", out).code == 0  # it was empty
    (out / "dear.txt").write_text("dear")
    assert fails(run_yakusu("average", work / "run", "--out", out)) == (
        f"{out} is there already: choose another folder with --out"
    )
    assert (out / "dear.txt").read_text() == "dear"


def test_the_best_checkpoint_can_be_made_a_translator(
    run_yakusu: Yakusu, work: Path, tmp_path: Path
) -> None:
    best = json.loads((work / "run" / "log.jsonl").read_text().splitlines()[-1])["best_step"]
    said = run_yakusu("average", work / "run", "--best", "--out", tmp_path / "model")
    assert f"averaged the checkpoint of step {best} into" in said.err
    weights = [
        (folder / "model.safetensors").read_bytes()
        for folder in (tmp_path / "model", work / "run" / "checkpoints" / f"step-{best:08}")
    ]
    assert weights[0] == weights[1]


def test_verify_says_what_made_a_model_and_names_a_file_that_was_altered(
    run_yakusu: Yakusu, own: Path
) -> None:
    model = own / "run" / "model"
    said = run_yakusu("verify", model)
    assert said.code == 0
    assert f"{sha256(model / 'model.safetensors')}  model.safetensors" in said.out
    assert f"input train.src: {sha256(own / 'a.en')}" in said.out
    assert re.search(
        r"6 steps, [\d,]+ target tokens, .* FLOPs counted, .* paper's formula", said.out
    )
    assert said.out.endswith(f"whole: 5 files of {model} are as they were written\n")
    (model / "README.md").write_text("mine")
    assert f"{model / 'README.md'} is corrupt" in fails(run_yakusu("verify", model))


def test_the_card_says_what_people_ask_and_is_the_same_for_the_same_run(own: Path) -> None:
    text = (own / "run" / "model" / "README.md").read_text()
    assert text.startswith("---\nlanguage: [en, de]\n")
    for wanted in ("# en to de", " sentence pairs |", "- BLEU = ", "yakusu translate"):
        assert wanted in text


def test_a_run_that_diverged_says_so(run_yakusu: Yakusu, own: Path) -> None:
    options_ = options(
        own, "wild", "training.lr_scale=1e20", "training.max_steps=50", "training.max_skipped=2"
    )
    told = fails(run_yakusu("train", *options_))
    assert "loss or gradient is not finite" in told and "lower training.lr_scale" in told
    log = (own / "wild" / "log.jsonl").read_text().splitlines()
    skipped = [event for event in map(json.loads, log) if event["event"] == "skip"]
    assert len(skipped) == 3 and all(event["lines"] for event in skipped)


def test_two_vocabularies_are_not_tied_three_ways(run_yakusu: Yakusu, own: Path) -> None:
    told = fails(run_yakusu("train", *options(own, "two", "tokenizer.joint=false")))
    assert told.endswith("makes two: set model.tied = 'decoder'")


# ---- translate


SOURCES = ["the old ferry", "", "a baker paints the bridge", "through the window", ""]


def text(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


def test_a_file_and_standard_input_translate_alike_one_line_each(
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


def test_odd_line_ends_within_a_sentence_do_not_shift_the_output(
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
        for batch, window in [(64, 0), (1, 1), (2, 3)]
    }
    assert len(outs) == 1


def test_a_beam_of_one_is_what_python_gives(run_yakusu: Yakusu, model: Path) -> None:
    said = run_yakusu("translate", model, "--beam", 1, "--alpha", 0, stdin=text(SOURCES))
    found = yakusu.translate(model, SOURCES, beam=1, alpha=0)
    assert said.out == text([best[0].text for best in found]).decode()


def test_n_best_prints_number_score_and_text_by_tabs_best_first(
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


def test_a_line_is_answered_before_the_next_one_comes(model: Path) -> None:
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


def test_a_named_pipe_is_read_as_a_file_is(run_yakusu: Yakusu, model: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf 'the old ferry\\n' > {pipe}"]):
        said = run_yakusu("translate", model, pipe)
    assert (said.code, said.out.count("\n")) == (0, 1)


def test_no_sentence_gives_no_line(run_yakusu: Yakusu, model: Path) -> None:
    said = run_yakusu("translate", model, stdin=b"")
    assert (said.code, said.out) == (0, "")
    assert said.err.startswith("0 sentences in ")


def test_invalid_utf8_on_standard_input_is_told(run_yakusu: Yakusu, model: Path) -> None:
    said = run_yakusu("translate", model, stdin=b"the ferry\nsch\xf6n\n")
    assert fails(said) == (
        "standard input, line 2, byte 4: 0xf6 is not UTF-8: convert the file (iconv -t UTF-8) or "
        "correct the line"
    )


@pytest.mark.parametrize(
    "option",
    ["--batch=0", "--n-best=0", "--beam=-1", "--beam=300", "--window=-1", "--device=nonsense"],
)
def test_an_option_out_of_range_is_told(run_yakusu: Yakusu, model: Path, option: str) -> None:
    try:
        said = run_yakusu("translate", model, option, stdin=b"the ferry\n")
    except (RuntimeError, IndexError, ValueError) as error:
        pytest.fail(f"a traceback: {error}")
    assert (said.code, said.out) == (2, "")
    assert option.split("=")[0] in said.err or option.split("=")[1] in said.err


# ---- evaluate


def test_evaluate_scores_a_file_as_python_does(run_yakusu: Yakusu, work: Path) -> None:
    said = run_yakusu("evaluate", work / "a.de", work / "a.de", "--language", "de")
    assert said.code == 0 and said.err == ""
    names = [line.split(" (")[0] for line in said.out.splitlines()]
    assert names == ["BLEU = 100.00", "chrF2 = 100.00", "TER = 0.00"]
    assert said.out.splitlines()[0].split(" (")[1].startswith("nrefs:1|case:mixed|eff:no|tok:13a|")


def test_evaluate_tells_of_capitals_that_the_system_never_writes(
    run_yakusu: Yakusu, tmp_path: Path
) -> None:
    (tmp_path / "truth").write_text("The ferry sails.\nWe wait.\n")
    (tmp_path / "out").write_text("the ferry sails.\nwe wait.\n")
    said = run_yakusu("evaluate", tmp_path / "out", tmp_path / "truth")
    assert "no capitals" in said.err and "--lowercase" in said.err
    for options in (("out", "truth", "--lowercase"), ("truth", "truth"), ("out", "out")):
        files = [tmp_path / name for name in options[:2]]
        assert "capitals" not in run_yakusu("evaluate", *files, *options[2:]).err


def test_evaluate_of_a_model_is_evaluate_of_what_it_translates(
    run_yakusu: Yakusu, work: Path, model: Path, tmp_path: Path
) -> None:
    for name in ("a.en", "a.de"):
        lines = (work / name).read_text().splitlines()[:20]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    (tmp_path / "out").write_text(run_yakusu("translate", model, tmp_path / "a.en").out)
    of_model = run_yakusu("evaluate", model, tmp_path / "a.de", "--src", tmp_path / "a.en")
    of_file = run_yakusu("evaluate", tmp_path / "out", tmp_path / "a.de")
    assert of_model.code == 0
    assert of_model.out == of_file.out


def test_evaluate_compares_with_a_baseline_and_scores_as_the_paper(
    run_yakusu: Yakusu, work: Path
) -> None:
    said = run_yakusu(
        "evaluate", work / "a.de", work / "a.de", "--baseline", work / "a.en",
        "--paper", "--language", "de",
    )  # fmt: skip
    lines = said.out.splitlines()
    assert said.code == 0 and len(lines) == 7
    assert lines[3].startswith("BLEU (tokenised, compound-split) = 100.00 (")
    assert lines[4].startswith("baseline: BLEU = 0.") and lines[5].startswith(
        "system:   BLEU = 100"
    )
    assert re.match(r"p = 0\.\d{4} ", lines[6])


# ---- errors


def test_files_of_unequal_length(run_yakusu: Yakusu, work: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.de"
    short.write_text("x\n")
    n = len((work / "a.en").read_text().splitlines())
    said = run_yakusu("prepare", *options(work), "--run", tmp_path / "run", "--tgt", short)
    assert fails(said) == (f"{work / 'a.en'} has {n} lines and {short} 1: align them line by line")


def test_invalid_utf8_in_a_corpus(run_yakusu: Yakusu, work: Path, tmp_path: Path) -> None:
    latin = tmp_path / "latin.de"
    latin.write_bytes(b"gut\nsch\xf6n\n")
    said = run_yakusu("prepare", *options(work), "--run", tmp_path / "run", "--tgt", latin)
    assert fails(said).startswith(f"{latin}, line 2, byte 4: 0xf6 is not UTF-8: ")


def test_an_empty_corpus(run_yakusu: Yakusu, tmp_path: Path) -> None:
    for name in ("a.en", "a.de"):
        (tmp_path / name).touch()
    assert fails(run_yakusu("prepare", *options(tmp_path))) == (
        f"{tmp_path / 'a.en'} and {tmp_path / 'a.de'}: there are no sentence pairs: check the files"
    )


@pytest.mark.parametrize("verb", ["prepare", "train"])
def test_a_missing_file(run_yakusu: Yakusu, tmp_path: Path, verb: str) -> None:
    assert fails(run_yakusu(verb, *options(tmp_path))) == (
        f"{tmp_path / 'a.en'} does not exist: check the path in the recipe or the command"
    )


def test_a_missing_file_to_translate_or_to_score(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    missing = tmp_path / "none"
    told = f"{missing} does not exist: check the path in the recipe or the command"
    assert fails(run_yakusu("translate", model, missing)) == told
    assert fails(run_yakusu("evaluate", missing, missing)) == told


def test_a_vocabulary_larger_than_the_corpus_allows(
    run_yakusu: Yakusu, work: Path, tmp_path: Path
) -> None:
    said = run_yakusu(
        "prepare", *options(work), "--set", "tokenizer.vocab_size=9999", "--run", tmp_path / "run"
    )
    assert re.fullmatch(
        r"the joint corpus is too small for a vocabulary of 9,999 tokens: add --set "
        r"tokenizer.vocab_size=\d+, or less",
        fails(said),
    )


@pytest.mark.parametrize(
    ("override", "told"),
    [
        (
            "training.max_step=5",
            "--set: unknown key 'training.max_step': did you mean 'training.max_steps'?",
        ),
        (
            "training.max_steps=0",
            "--set: training.max_steps = 0: input should be greater than or equal to 1",
        ),
    ],
)
def test_an_unknown_key_and_a_value_out_of_range(
    run_yakusu: Yakusu, override: str, told: str
) -> None:
    assert fails(run_yakusu("train", "tiny", "--set", override)) == told


def test_a_recipe_file_with_an_unknown_key(run_yakusu: Yakusu, tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[model]\n[training]\nmax_step = 5\n")
    assert fails(run_yakusu("train", path)) == (
        f"{path}, line 3: unknown key 'training.max_step': did you mean 'training.max_steps'?"
    )


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.model"])
def test_a_model_folder_that_is_incomplete_or_corrupt(
    run_yakusu: Yakusu, own: Path, name: str
) -> None:
    path = own / "run" / "model" / name
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    told = fails(run_yakusu("translate", path.parent, stdin=b"the\n"))
    assert told.startswith(f"{path} is corrupt (") and told.endswith(": copy the folder again")
    path.unlink()
    told = fails(run_yakusu("translate", path.parent, stdin=b"the\n"))
    assert told == f"{path} is missing, so the folder is incomplete: copy it again"


def test_a_folder_that_is_no_model(run_yakusu: Yakusu, work: Path, tmp_path: Path) -> None:
    assert fails(run_yakusu("translate", tmp_path / "none")) == (
        f"{tmp_path / 'none'} is not a model folder: check the path"
    )
    assert fails(run_yakusu("translate", work / "run")) == (
        f"{work / 'run'} is a run folder: use its model, {work / 'run' / 'model'}"
    )
    assert fails(run_yakusu("translate", tmp_path)).startswith(f"{tmp_path} has no valid manifest")


def test_a_corrupt_data_folder_or_a_run_without_a_whole_checkpoint_does_not_go_on(
    run_yakusu: Yakusu, own: Path
) -> None:
    for step in (3, 6):
        weights = own / "run" / "checkpoints" / f"step-{step:08}" / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1])
    for _ in range(2):  # it stays so
        told = fails(run_yakusu("train", *options(own)))
        assert f"no checkpoint in {weights.parents[1]} is intact ({weights} is corrupt" in told
    tokens = own / "run" / "data" / "train.src.tokens"
    tokens.write_bytes(tokens.read_bytes()[:-2])
    assert f"{tokens} is corrupt" in fails(run_yakusu("train", *options(own)))


def test_a_corrupt_checkpoint_is_told_and_the_one_before_it_taken(
    run_yakusu: Yakusu, own: Path
) -> None:
    model = own / "run" / "model" / "model.safetensors"
    before = model.read_bytes()
    newest = own / "run" / "checkpoints" / "step-00000006"
    state = newest / "state.json"
    state.write_bytes(state.read_bytes().replace(b"6", b"7", 1))
    said = run_yakusu("train", *options(own))
    assert said.code == 0
    assert f"{state} is corrupt" in said.err and "going back to step-00000003" in said.err
    assert "already at step 3 " in said.err
    assert model.read_bytes() == before
    assert sorted(path.name for path in newest.parent.iterdir()) == [
        "corrupt-step-00000006", "step-00000003", "step-00000006"
    ]  # fmt: skip


def test_a_target_folder_that_holds_another_run(run_yakusu: Yakusu, own: Path) -> None:
    told = fails(run_yakusu("train", *options(own, "run", "model.dropout=0.25")))
    assert told.startswith(f"{own / 'run'} holds another run, ") and "model.dropout" in told
    assert told.endswith(": choose another folder with --run, or delete this one")


def test_a_target_folder_that_holds_something_else(run_yakusu: Yakusu, own: Path) -> None:
    (own / "letters").mkdir()
    (own / "letters" / "dear.txt").write_text("dear")
    assert fails(run_yakusu("train", *options(own, "letters"))) == (
        f"{own / 'letters'} is not empty and holds no run: choose another folder with --run"
    )


def test_nothing_to_average(run_yakusu: Yakusu, tmp_path: Path) -> None:
    assert fails(run_yakusu("average", tmp_path)) == (
        f"{tmp_path} is not a run folder: name the folder that 'yakusu train' wrote"
    )


def test_translations_and_references_of_unequal_length(
    run_yakusu: Yakusu, work: Path, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "one").write_text("x\n")
    (tmp_path / "two").write_text("x\ny\n")
    assert fails(run_yakusu("evaluate", tmp_path / "one", tmp_path / "two")) == (
        f"{tmp_path / 'one'} has 1 lines and {tmp_path / 'two'} 2: align them line by line"
    )
    assert fails(run_yakusu("evaluate", model, tmp_path / "two")) == (
        f"{model} is a model folder: add --src FILE for it to translate"
    )


@pytest.mark.parametrize(
    ("verb", "options_"),
    [("train", ["--run", "FILE/run"]), ("average", ["--out", "FILE/model"])],
)
def test_a_file_where_a_folder_is_wanted(
    run_yakusu: Yakusu, own: Path, verb: str, options_: list[str]
) -> None:
    words = [word.replace("FILE", str(own / "a.en")) for word in options_]
    first = options(own)[:1] if verb == "train" else [str(own / "run")]
    given = [*first, *words, *(options(own)[3:] if verb == "train" else [])]
    assert fails(run_yakusu(verb, *given)).startswith(f"{own / 'a.en'}")


def test_square_brackets_in_a_path_are_shown_as_they_are(
    run_yakusu: Yakusu, tmp_path: Path
) -> None:
    name = "[bold]x[/bold] [1]"
    assert fails(run_yakusu("translate", tmp_path / name)) == (
        f"{tmp_path / name} is not a model folder: check the path"
    )


@pytest.mark.parametrize(
    "name",
    ["it's.en", "a'b\"c.en", "a\\b.en"],
)
def test_any_file_name_may_be_given(run_yakusu: Yakusu, tmp_path: Path, name: str) -> None:
    told = fails(run_yakusu("prepare", "tiny", "--run", "r", "--src", name, "--tgt", "x.de"))
    assert told.startswith(f"{name} does not exist: ")


# ---- help, and processes of their own


@pytest.mark.parametrize("verb", ["prepare", "train", "average", "translate", "evaluate", "demo"])
def test_the_help_of_each_verb_shows_an_example(run_yakusu: Yakusu, verb: str) -> None:
    said = run_yakusu(verb, "--help")
    assert said.code == 0
    assert re.search(rf"Example: yakusu {verb}\b", said.out)


def test_the_help_names_every_verb_and_usage_errors_exit_with_2(run_yakusu: Yakusu) -> None:
    said = run_yakusu("--help")
    assert said.code == 0
    for verb in ("prepare", "train", "average", "translate", "evaluate", "demo"):
        assert re.search(rf"^\W*{verb}\b", said.out, re.MULTILINE)
    assert run_yakusu("trane").code == 2
    assert run_yakusu("translate").code == 2


def test_the_version_is_the_packages(run_yakusu: Yakusu) -> None:
    assert run_yakusu("--version").out == f"yakusu {yakusu.__version__}\n"


def test_python_m_yakusu_is_yakusu_with_its_exit_codes(tmp_path: Path) -> None:
    assert yakusu_process("--version") == Said(0, f"yakusu {yakusu.__version__}\n", "")
    assert fails(yakusu_process("translate", tmp_path / "none")) == (
        f"{tmp_path / 'none'} is not a model folder: check the path"
    )


@pytest.mark.parametrize(
    ("verb", "pipe"),
    [("translate --batch 2 --window 2", "| head -1"), ("verify", "| true"), ("verify", "|& true")],
)
def test_a_reader_that_leaves_early_sees_no_traceback(model: Path, verb: str, pipe: str) -> None:
    command = f"set -o pipefail; {sys.executable} -m yakusu {verb} {model} {pipe}"
    done = subprocess.run(
        ["bash", "-c", command],
        input=text(["the old ferry"] * 3000),
        capture_output=True,
        check=False,
    )
    assert done.stdout.count(b"\n") <= 1
    assert done.returncode == 128 + signal.SIGPIPE
    assert (b"nobody reads the output" in done.stderr) == (pipe != "|& true")
    assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr


def test_output_is_utf8_whatever_the_locale(model: Path, run_yakusu: Yakusu) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "yakusu", "translate", str(model)],
        input=text(["the old ferry 猫"]),
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout.decode() == run_yakusu("translate", model, stdin=text(["the old ferry 猫"])).out
    )


# ---- view


def test_view_writes_a_picture_and_a_page_and_says_the_translation(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    out, numbers = tmp_path / "new" / "folder", tmp_path / "maps.json"
    said = run_yakusu(
        "view", model, "--src", "the old ferry", "--out", out, "--json", numbers, "--layer", 1
    )
    assert said.code == 0, said.err
    files = [out / "attention.svg", out / "attention.html", numbers]
    translation = json.loads(numbers.read_text())["tgt"]
    assert said.out.splitlines() == [translation, *map(str, files)]
    assert translation == run_yakusu("translate", model, stdin=b"the old ferry\n").out.strip()
    assert "cross-attention, layer 1 of 1" in files[0].read_text()
    assert translation in files[1].read_text()


def test_view_of_a_file_as_a_sentence_is_refused(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "t.en").write_text("a\n")
    said = fails(run_yakusu("view", model, "--src", tmp_path / "t.en"))
    assert said.endswith("is a file: pass a sentence, or the file as --src-file")


def test_view_writes_the_one_file_that_is_named(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    for name, start in (("own.SVG", "<svg"), ("own.html", "<!doctype html>")):
        said = run_yakusu(
            "view", model, "--src", "the ferry", "--tgt", "die fähre", "--out", tmp_path / name
        )
        assert said.out.splitlines() == ["die fähre", str(tmp_path / name)]
        assert (tmp_path / name).read_text().lower().startswith(start)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.SVG", "own.html"]


def test_view_makes_the_folders_of_all_that_it_writes(
    run_yakusu: Yakusu, work: Path, model: Path, tmp_path: Path
) -> None:
    sentence = ["--src", "the ferry", "--out", tmp_path / "a.svg"]
    corpus = ["--src-file", work / "a.en", "--tgt-file", work / "a.de"]
    for name, of in (("one", sentence), ("all", corpus)):
        numbers = tmp_path / "new" / name / "numbers.json"
        assert run_yakusu("view", model, *of, "--json", numbers).code == 0
        assert json.loads(numbers.read_text())


def test_view_writes_into_a_folder_whatever_its_name(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "en-de.v2").mkdir()
    run_yakusu("view", model, "--src", "the", "--tgt", "die", "--out", tmp_path / "en-de.v2")
    names = sorted(path.name for path in (tmp_path / "en-de.v2").iterdir())
    assert names == ["attention.html", "attention.svg"]


def test_view_of_a_corpus_prints_a_row_for_each_head(
    run_yakusu: Yakusu, work: Path, model: Path, tmp_path: Path
) -> None:
    files = ["--src-file", work / "a.en", "--tgt-file", work / "a.de"]
    said = run_yakusu("view", model, *files, "--json", tmp_path / "heads.json")
    lines = said.out.splitlines()
    names = "role layer head entropy maximum distance previous itself eos start"
    assert lines[0].split() == names.split()
    assert [line.split()[:3] for line in lines[1:7]] == [
        [role, "1", head] for role in ("encoder", "decoder", "cross") for head in "12"
    ]
    found = json.loads((tmp_path / "heads.json").read_text())
    for line, head in zip(lines[1:7], found["heads"], strict=True):
        numbers = [None if word == "-" else float(word) for word in line.split()[3:]]
        values = [head[name] for name in names.split()[3:]]
        assert numbers == pytest.approx(values, abs=0.000501)
    n = len((work / "a.en").read_text().splitlines())
    assert f"{n} pairs; 0 left out" in said.out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "view needs one sentence or a corpus: use --src SENTENCE, --src-file with"),
        (["--src-file", "a.en"], "--src-file a.en has no translations: add --tgt-file"),
        (
            ["--src-file", "a.mrg"],
            "--src-file a.mrg contains trees: pass sentences, or use a parser",
        ),
        (["--src-file", "a.mrg", "--tgt-file", "b"], "--src-file a.mrg contains trees: pass"),
        (["--src", "the", "--src-file", "a", "--tgt-file", "b"], "view needs one sentence or"),
        (["--src", " "], "the source sentence is empty"),
        (["--src", "the", "--layer", "7"], "there is no layer 7 of cross attention: choose from"),
        (["--src", "the", "--heads", "1,5"], "there is no head 5: choose from 1 to 2"),
        (["--src", "the", "--heads", "x"], "--heads x is not a list of numbers: separate them by"),
        (
            ["--src", "a \udcff man"],
            r"the source sentence, character 3: '\udcff' is not valid text: ",
        ),
        (["--src", "a", "--tgt", "\udcff"], r"the target sentence, character 1: '\udcff' is not"),
        (["--src-file", "/no.en", "--tgt-file", "/no.de"], "/no.en does not exist"),
        (["--src", "the", "--out", "a.png"], "--out a.png does not end in .svg or .html: choose"),
        (["--src", "the", "--out", "a.svg", "--json", "a.svg"], "a.svg is used twice: choose a"),
        (["--src", "the", "--json", "./attention.html"], "attention.html is used twice"),
        (["--src", "the", "--json", "/dev/null/a"], "/dev/null/a cannot be written: choose a"),
        (["--src-file", "a", "--tgt-file", "b", "--json", "b"], "b is used twice"),
        (
            ["--src-file", "a", "--tgt-file", "b", "--out", "c"],
            "statistics over a corpus do not use --out: omit --out, or use --src",
        ),
        (
            ["--src-file", "a", "--tgt-file", "b", "--role", "cross", "--layer", 1, "--heads", 1],
            "statistics over a corpus do not use --role, --layer, --heads: omit --role,",
        ),
    ],
    ids=ascii,
)
def test_view_refuses_what_it_cannot_show_and_writes_nothing(
    run_yakusu: Yakusu,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fails(run_yakusu("view", model, *args)).startswith(message)
    assert not list(tmp_path.iterdir())


# ---- streams -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ("stdin", "standard input is closed: name a file, or open it"),
        ("stdout", "standard output is closed: open it, as by > file"),
    ],
)
def test_a_closed_stream_is_told(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    model: Path,
    stream: str,
    message: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["yakusu", "translate", str(model)])
    monkeypatch.setattr(sys, stream, None)
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    assert message in capfd.readouterr().err


# ---- parsing -------------------------------------------------------------------------------------


def test_trees_are_no_text_to_translate(run_yakusu: Yakusu, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("(S (NP (DT the) (NN boat)))\n")
    for place in (tmp_path / "a.mrg", tmp_path):
        told = fails(run_yakusu("translate", model, place))
        assert told == f"{model} translates and {place} are trees: name a parser"


def test_a_parser_is_trained_asked_and_scored_by_the_same_verbs(
    run_yakusu: Yakusu, tmp_path: Path
) -> None:
    names = ("boat", "cat", "baker", "river", "cloud", "bridge")
    trees = [
        f"((S (NP-SBJ (DT the) (NN {one})) (VP (VBZ sees) (NP (NN {other}))) (. .)))\n"
        for one in names
        for other in names
    ]
    train, dev = tmp_path / "train.mrg", tmp_path / "dev.mrg"
    train.write_text("".join(trees[:30]))
    dev.write_text("".join(trees[30:]))
    sets = [word for item in OVERRIDES for word in ("--set", item)]
    files = ["--trees", train, "--dev-trees", dev, "--run", tmp_path / "run"]
    said = run_yakusu("train", "parse-small", *files, *sets, "--set", "training.warmup_steps=9")
    assert said.code == 0, said
    assert "dev F1 = " in said.out and "evalb:COLLINS" in said.out
    assert "next: echo 'A sentence .' | " in said.out
    assert "training.max_steps = 6 ends before the warm-up of 9 steps does" in said.err
    assert re.search(r"step 3 .* dev F1 \d", said.err)
    model = tmp_path / "run" / "model"
    assert "a parser made with yakusu" in (model / "README.md").read_text()
    said = run_yakusu("translate", model, "--beam", "3", stdin=b"the (new) boat\n\n")
    tree, empty = said.out.split("\n")[:2]
    assert re.sub(r"\([^ ()]+ |\)", "", tree) == "the -LRB-new-RRB- boat" and empty == ""
    told = fails(run_yakusu("translate", model, stdin=trees[0].encode()))
    assert "is a tree, not a sentence" in told
    options = ("--src", dev, "--ref", dev)
    told = fails(run_yakusu("compress", model, tmp_path / "small", *options))
    assert told.startswith(f"{model} is a parser, which BLEU cannot score")
    said = run_yakusu("evaluate", model, dev)
    assert [line.split(" = ")[0] for line in said.out.splitlines()] == [
        "F1",
        "precision",
        "recall",
        "exact match",
    ]
    said = run_yakusu("view", model, "--src-file", dev)
    assert said.code == 0 and f"{len(dev.read_text().splitlines())} pairs; 0 left out" in said.out
    told = fails(run_yakusu("view", model, "--src-file", dev, "--tgt-file", train))
    assert told.startswith("the statistics of a parser need trees, which include their words: pass")
    train.write_text(trees[0].replace("))", ")"))
    told = fails(run_yakusu("evaluate", train, dev))
    assert told.startswith(f"{train}, line 1: the tree that begins here has no end")
