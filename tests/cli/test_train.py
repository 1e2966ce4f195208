"""The verbs `prepare` and `train`, and the run folders and corpora that they refuse."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import zstandard

import yakusu
from yakusu.folder import sha256
from yakusu.recipe import load_recipe

Yakusu = Callable[..., Any]
TrainOptions = Callable[..., list[str]]


def test_train_prepares_trains_and_prints_the_next_command(work: Path) -> None:
    out, err = (work / "train.out").read_text(), (work / "train.err").read_text()
    model = work / "run" / "model"
    lines = out.splitlines()
    assert (lines[0], lines.count("The worst 4:")) == ("The best 4:", 1)
    stopped, score, first, *_ = lines[next(i for i, x in enumerate(lines) if "stopped" in x) :]
    assert re.fullmatch(r"stopped at step 6 after \d+\.\d minutes: max_steps = 6", stopped)
    assert re.fullmatch(r"dev BLEU = \d+\.\d\d", score)
    assert first.startswith("Of 8 unseen sentences, 0 came out exactly as in the ")
    end = lines.index(f"model: {model}")
    command = r"(.*/)?yakusu|\S*python\S* -m yakusu"  # as the user can type it
    assert re.fullmatch(
        rf"next: echo '.*' \| ({command}) translate {re.escape(str(model))}", lines[end + 1]
    )
    assert lines[end + 2].endswith(f"serve {model}, and open http://127.0.0.1:5000/")
    assert lines[end + 3].endswith("repeat the command with a higher --set training.max_steps=N")
    for only_developers_read in ("lower bound", "padding", "  rate ", "perplexity", "nrefs"):
        assert only_developers_read not in err + out
    assert re.search(r"^pairs: \d+ to train on, 8 to measure with, 0 left out$", err, re.MULTILINE)
    assert re.search(r"^training [\d,]+ parameters on cpu with \d of \d+ cores$", err, re.MULTILINE)
    assert re.search(r"^step 3 of 6: BLEU [\d.]+, chrF [\d.]+$", err, re.MULTILINE)
    assert err.count("  source:      ") == err.count("  translation: ") == 6  # at steps 3 and 6
    assert "First measurement: " in err


def test_choices_are_made_once_and_written_to_the_recipe(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions, torch_threads: None
) -> None:
    path = own / "run" / "recipe.toml"
    made = load_recipe(path)
    chosen = made.training.precision, made.batches.batch_tokens, made.batches.pass_tokens
    assert chosen == ("fp32", 62, 8192) and made.training.threads == torch.get_num_threads()
    path.write_text(re.sub(r"(?<=\nthreads = )\d+", "3", path.read_text()))
    more = train_options(own, "run", "training.max_steps=8")
    assert "threads: " in run_yakusu("train", *more, "--exact").error  # as the recipe says
    assert run_yakusu("train", *more).code == 0
    assert load_recipe(path).training.threads == torch.get_num_threads() == 3


def test_a_limit_below_the_steps_that_are_done_is_refused(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    before = contents(own / "run")
    said = run_yakusu("train", *train_options(own, "run", "training.max_steps=5"))
    assert said.error.endswith(
        "run is at step 6 already: set training.max_steps to more than that, or choose another "
        "folder with --run"
    )
    assert contents(own / "run") == before


def test_a_dry_run_prints_the_plan_and_writes_nothing(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    before = contents(own / "run")
    for run in ("run", "new"):
        options_ = train_options(own, run, "training.max_steps=44")
        said = run_yakusu("train", *options_, "--dry-run")
        assert said.code == 0
        first, pairs, *_, time, _ = said.out.splitlines()
        assert first == "dry run: estimates; nothing is written"
        assert pairs.startswith("pairs: ") and time.startswith("time: ")
    assert contents(own / "run") == before and not (own / "new").exists()
    options_[options_.index("--tgt") + 1] = "none.de"
    told = run_yakusu("train", *options_, "--dry-run").error
    assert told.startswith("none.de does not exist")
    names = [str(own / name) for name in ("few.en", "few.de")]
    for name in names:
        Path(name).write_text("a b\nc d\n")
    options_[options_.index("--src") + 1], options_[options_.index("--tgt") + 1] = names
    told = run_yakusu("train", *options_, "--dry-run").error
    assert told.startswith(f"{names[0]} and {names[1]}: none of 2 sentence pairs is left for")


def test_plain_leaves_the_scores_to_the_log_and_verbose_shows_all_numbers(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    plain = run_yakusu("train", *train_options(own, "run", "training.max_steps=8"), "--plain")
    assert not re.search(r"(dev|:) BLEU|chrF", plain.err + plain.out) and "  source:" in plain.err
    said = run_yakusu("train", *train_options(own, "run", "training.max_steps=9"), "--verbose")
    assert re.search(r"step 9  epoch [\d.]+  dev perplexity [\d.]+  dev BLEU", said.err)
    assert "--plain and --verbose are mutually" in run_yakusu("train", "--plain", "--verbose").error


def test_dev_bleu_ignores_case_if_the_vocabulary_does(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    lower = "tokenizer.normalization=nmt_nfkc_cf"
    said = run_yakusu(
        "train", *train_options(own, "lower", lower, "training.max_steps=1"), "--verbose"
    )
    assert "|case:lc|" in said.out


def test_the_run_folder_holds_the_documented_files(work: Path) -> None:
    run = work / "run"
    assert sorted(path.name for path in run.iterdir()) == [
        ".lock", "checkpoints", "data", "dev-translations.tsv", "log.jsonl", "model",
        "prepared.json", "recipe.toml", "tensorboard",
    ]  # fmt: skip
    assert sorted(path.name for path in (run / "model").iterdir()) == [
        "README.md", "codebook.safetensors", "config.json", "coverage.json", "manifest.json",
        "model.safetensors", "receipt.json", "tokenizer.model",
    ]  # fmt: skip


def test_the_log_is_json_lines_with_every_event(work: Path) -> None:
    events = [json.loads(line) for line in (work / "run" / "log.jsonl").read_text().splitlines()]
    assert [(event["event"], event["step"]) for event in events] == [
        ("train", 2), ("validate", 3), ("train", 4), ("train", 6), ("validate", 6)
    ]  # fmt: skip
    assert events[1]["dev_chrf"] > 0
    for event in events[:1]:
        assert event["perplexity"] > 1 and event["loss"] > event["loss_zero_point"] > 0


def test_prepare_prints_its_report_and_whether_it_was_done_before(
    run_yakusu: Yakusu, work: Path, tmp_path: Path, train_options: TrainOptions
) -> None:
    n = len((work / "a.en").read_text().splitlines())
    args = ["prepare", *train_options(work, tmp_path / "run")]
    first, second = run_yakusu(*args), run_yakusu(*args)
    assert first.code == second.code == 0
    assert first.out.startswith(f"{n} pairs read; dropped: 0 empty, 0 identical, 0 ")
    assert first.out.endswith(f"binarised pairs and tokenizer: {tmp_path / 'run' / 'data'}\n")
    assert second.out == f"already prepared: {first.out}"
    assert "learning a vocabulary of 70 tokens from" in first.err and second.err == ""
    tokens = tmp_path / "run" / "data" / "train.src.tokens"
    tokens.write_bytes(b"")
    assert f"{tokens} is corrupt" in run_yakusu("train", *args[1:]).error  # it is of this recipe


def test_rerunning_a_finished_run_trains_and_averages_nothing(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    log = (own / "run" / "log.jsonl").read_text()
    made = (own / "run" / "model").stat().st_ctime_ns
    said = run_yakusu("train", *train_options(own))
    assert said.code == 0
    assert re.search(
        r"^already at step 6 \(epoch [\d.]+, best score .*\): nothing left to do, ", said.err
    )
    assert (own / "run" / "log.jsonl").read_text() == log
    assert (own / "run" / "model").stat().st_ctime_ns == made  # it was not averaged again


def test_a_run_with_more_steps_resumes_and_appends_to_the_log(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    log = (own / "run" / "log.jsonl").read_text()
    said = run_yakusu("train", *train_options(own, "run", "training.max_steps=8"))
    assert said.code == 0
    assert re.search(r"^already at step 6 \(.*\): resuming$", said.err, re.MULTILINE)
    assert "\nstopped at step 8 after" in said.out
    after = (own / "run" / "log.jsonl").read_text()
    assert after.startswith(log)
    added = [json.loads(line)["step"] for line in after.removeprefix(log).splitlines()]
    assert added == [8, 8]


def test_another_precision_is_refused_with_exact_and_otherwise_warned_of(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions, caplog: pytest.LogCaptureFixture
) -> None:
    options_ = train_options(own, "run", "training.max_steps=8", "training.precision=bf16")
    newest = own / "run" / "checkpoints" / "step-00000006"
    told = (
        f"{newest} comes from training in another environment (precision: fp32, now bf16), so "
        "the bytes of the model will differ from those of an uninterrupted run"
    )
    assert run_yakusu("train", *options_, "--exact").error == (
        f"{told}: restore the environment, or resume without --exact"
    )
    said = run_yakusu("train", *options_)
    assert (said.code, caplog.messages) == (0, [told])
    assert "\nstopped at step 8 after" in said.out


def test_a_diverged_run_names_the_lines_and_the_fix(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    options_ = train_options(
        own, "wild", "training.lr_scale=1e20", "training.max_steps=50", "training.max_skipped=2"
    )
    told = run_yakusu("train", *options_).error
    assert "loss or gradient is not finite" in told and "lower training.lr_scale" in told
    log = (own / "wild" / "log.jsonl").read_text().splitlines()
    skipped = [event for event in map(json.loads, log) if event["event"] == "skip"]
    assert len(skipped) == 3 and all(event["lines"] for event in skipped)


def test_separate_vocabularies_cannot_be_tied_three_ways(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    told = run_yakusu("train", *train_options(own, "two", "tokenizer.joint=false")).error
    assert told.endswith("is false: set model.tied = 'decoder'")


def test_corpus_files_of_unequal_length_are_refused(
    run_yakusu: Yakusu, work: Path, tmp_path: Path, train_options: TrainOptions
) -> None:
    short = tmp_path / "short.de"
    short.write_text("x\n")
    n = len((work / "a.en").read_text().splitlines())
    options_ = train_options(work, tmp_path / "run")
    options_[options_.index("--tgt") + 1] = str(short)
    said = run_yakusu("prepare", *options_)
    assert said.error == (
        f"{work / 'a.en'} and {short} differ in length ({n} and 1 lines): align them line by line, "
        f"or pair the sentences again with 'yakusu align {work / 'a.en'} {short} --out PAIRS.tsv' "
        "('yakusu mine' if their order differs), and use --pairs PAIRS.tsv from then on"
    )
    assert not (tmp_path / "run").exists()


def test_invalid_utf8_in_a_corpus_is_refused_with_its_place(
    run_yakusu: Yakusu, work: Path, tmp_path: Path, train_options: TrainOptions
) -> None:
    latin = tmp_path / "latin.de"
    latin.write_bytes(b"gut\nsch\xf6n\n")
    options_ = train_options(work, tmp_path / "run")
    options_[options_.index("--tgt") + 1] = str(latin)
    said = run_yakusu("prepare", *options_)
    assert said.error.startswith(f"{latin}, line 2, byte 4: 0xf6 is not UTF-8: ")


def test_an_empty_corpus_is_refused(
    run_yakusu: Yakusu, tmp_path: Path, train_options: TrainOptions
) -> None:
    for name in ("a.en", "a.de"):
        (tmp_path / name).touch()
    assert run_yakusu("prepare", *train_options(tmp_path)).error == (
        f"there are no sentence pairs in {tmp_path / 'a.en'} and {tmp_path / 'a.de'}: "
        "check the files"
    )


@pytest.mark.parametrize("verb", ["prepare", "train"])
def test_a_missing_corpus_is_refused(
    run_yakusu: Yakusu, tmp_path: Path, verb: str, train_options: TrainOptions
) -> None:
    assert run_yakusu(verb, *train_options(tmp_path)).error == (
        f"{tmp_path / 'a.en'} does not exist: check the path"
    )


def test_a_vocabulary_too_large_for_the_corpus_is_refused(
    run_yakusu: Yakusu, work: Path, tmp_path: Path, train_options: TrainOptions
) -> None:
    said = run_yakusu(
        "prepare",
        *train_options(work, tmp_path / "run"),
        "--set",
        "tokenizer.vocab_size=9999",
    )
    assert re.fullmatch(
        r"the joint corpus is too small for a vocabulary of 9,999 tokens: add --set "
        r"tokenizer.vocab_size=\d+ or a smaller value",
        said.error,
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
def test_an_unknown_key_and_an_invalid_value_are_refused(
    run_yakusu: Yakusu, override: str, told: str
) -> None:
    assert run_yakusu("train", "tiny", "--set", override).error == told


def test_an_unknown_key_of_a_recipe_file_is_refused_with_its_line(
    run_yakusu: Yakusu, tmp_path: Path
) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[model]\n[training]\nmax_step = 5\n")
    assert run_yakusu("train", path).error == (
        f"{path}, line 3: unknown key 'training.max_step': did you mean 'training.max_steps'?"
    )


def test_corrupted_data_or_checkpoints_stop_a_run(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    for step in (3, 6):
        weights = own / "run" / "checkpoints" / f"step-{step:08}" / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1])
    for _ in range(2):  # it stays so
        told = run_yakusu("train", *train_options(own)).error
        assert f"no checkpoint in {weights.parents[1]} is intact ({weights} is corrupt" in told
    tokens = own / "run" / "data" / "train.src.tokens"
    tokens.write_bytes(tokens.read_bytes()[:-2])
    told = run_yakusu("train", *train_options(own)).error
    assert f"{tokens} is corrupt" in told
    assert told.endswith(f": run 'yakusu prepare --again --run {own / 'run'}' to rebuild it")
    rebuilt = run_yakusu("prepare", "--again", "--run", own / "run")
    assert (rebuilt.code, rebuilt.out.startswith("already")) == (0, False)
    assert "is intact (" in run_yakusu("train", *train_options(own)).error  # the checkpoints


def test_a_corrupted_checkpoint_is_replaced_by_the_one_before_it(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    model = own / "run" / "model" / "model.safetensors"
    before = model.read_bytes()
    newest = own / "run" / "checkpoints" / "step-00000006"
    state = newest / "state.json"
    state.write_bytes(state.read_bytes().replace(b"6", b"7", 1))
    said = run_yakusu("train", *train_options(own))
    assert said.code == 0
    assert f"{state} is corrupt" in said.err and "resuming from step-00000003" in said.err
    assert "already at step 3 " in said.err
    assert model.read_bytes() == before
    assert sorted(path.name for path in newest.parent.iterdir()) == [
        "corrupt-step-00000006", "step-00000003", "step-00000006"
    ]  # fmt: skip


def contents(run: Path) -> dict[str, bytes]:
    """What a refused command must leave as it is."""
    kept = [run / "recipe.toml", *run.glob("log.jsonl"), *run.glob("tensorboard/*")]
    kept += [path for name in ("data", "checkpoints", "model") for path in run.glob(f"{name}/**/*")]
    return {str(path): path.read_bytes() for path in kept if path.is_file()}


def changed_corpus(own: Path) -> None:
    with (own / "a.en").open("a") as file:
        file.write("the old\n")


def corrupt_data(own: Path) -> None:
    (own / "run" / "data" / "train.src.tokens").write_bytes(b"")


def another_device(own: Path) -> None:
    recipe = own / "run" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('device = "auto"', 'device = "none"'))


def no_checkpoints(own: Path) -> None:
    shutil.rmtree(own / "run" / "checkpoints")


def corrupt_checkpoints(own: Path) -> None:
    for weights in (own / "run").glob("checkpoints/*/model.safetensors"):
        weights.write_bytes(b"")


@pytest.mark.parametrize(
    ("broken", "options_", "told"),
    [
        (None, ["--set", "training.max_step=44"], "unknown key 'training.max_step'"),
        (None, ["--set", "model.dropout=0.25"], "holds a run with a different recipe"),
        (None, ["--tgt", "none.de"], "there are 1 --src and 2 --tgt files: give one"),
        (changed_corpus, [], "a.en has changed since"),
        (corrupt_data, [], "train.src.tokens is corrupt"),
        (another_device, ["--set", "training.device=none"], "there is no device 'none' here"),
        (corrupt_checkpoints, [], "is intact ("),
        (no_checkpoints, [], "has a model, but no checkpoint to resume from: add --overwrite to"),
        (None, ["--exact", "--set", "training.precision=bf16"], "restore the environment, or"),
    ],
)
def test_a_refused_command_changes_nothing(
    run_yakusu: Yakusu,
    own: Path,
    train_options: TrainOptions,
    broken: Callable[[Path], None] | None,
    options_: list[str],
    told: str,
) -> None:
    if broken:
        broken(own)
    before = contents(own / "run")
    words = [word.replace("RUN", str(own / "run")) for word in options_]
    more = train_options(own, "run", "training.max_steps=44")
    assert told in run_yakusu("train", *more, *words).error
    assert contents(own / "run") == before


def test_a_run_whose_parent_has_changed_is_refused_and_left_as_it_is(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    parent, run = own / "run" / "model", own / "further"
    words = ["--from", parent, *train_options(own, "further")[1:7], "--set", "data.hold_out=8"]
    assert run_yakusu("prepare", "adapt", *words).code == 0
    shutil.copytree(run / "data", run / "model")
    before = contents(run)
    shutil.copy(own / "run/checkpoints/step-00000003/model.safetensors", parent)
    assert "is corrupt" in run_yakusu("train", "adapt", *words, "--set", "seed=1").error
    assert contents(run) == before


def test_a_refused_first_command_leaves_no_recipe(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    for override in ("tokenizer.vocab_size=9999", "training.device=none"):
        assert run_yakusu("train", *train_options(own, "new", override)).error
        assert not [*(own / "new").glob("[!.]*")]


def test_a_finished_model_is_replaced_only_if_the_command_asks_for_it(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    before = contents(own / "run")
    without = [each for each in train_options(own) if each != "training.max_steps=6"]
    del without[without.index("--set", without.index("training.validate_steps=3") - 3)]
    told = run_yakusu("train", *without).error
    assert told == (
        f"{own / 'run' / 'model'} is finished (max_steps = 6), and this recipe has "
        "training.max_steps = 4000: omit the recipe to keep the model, or add --set "
        "training.max_steps=4000 or --overwrite to train it further"
    )
    assert contents(own / "run") == before
    assert run_yakusu("average", own / "run", "--best").code == 0
    receipt = own / "run" / "model" / "receipt.json"
    best = receipt.read_bytes()
    assert run_yakusu("train", "--run", own / "run").code == 0
    assert receipt.read_bytes() == best != before[str(receipt)]
    alpha = run_yakusu("train", "--run", own / "run", "--set", "search.alpha=1.4")
    assert alpha.code == 0 and receipt.read_bytes() != best
    assert (
        "and this recipe has search.alpha = 0.6" in run_yakusu("train", *train_options(own)).error
    )


def test_a_folder_with_another_run_is_refused(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    told = run_yakusu("train", *train_options(own, "run", "model.dropout=0.25")).error
    assert (
        told.startswith(f"{own / 'run'} holds a run with a different recipe (")
        and "model.dropout" in told
    )
    assert told.endswith(", or choose another folder with --run")


def test_a_folder_with_other_files_is_refused(
    run_yakusu: Yakusu, own: Path, train_options: TrainOptions
) -> None:
    (own / "letters").mkdir()
    (own / "letters" / "dear.txt").write_text("dear")
    assert run_yakusu("train", *train_options(own, "letters")).error == (
        f"{own / 'letters'} is not empty and not a run folder: choose another one with --run"
    )


@pytest.mark.parametrize(
    ("verb", "options_"),
    [("train", ["--run", "FILE/run"]), ("average", ["--out", "FILE/model"])],
)
def test_a_file_in_place_of_a_folder_is_refused(
    run_yakusu: Yakusu, own: Path, verb: str, options_: list[str], train_options: TrainOptions
) -> None:
    words = [word.replace("FILE", str(own / "a.en")) for word in options_]
    first = train_options(own)[:1] if verb == "train" else [str(own / "run")]
    given = [*first, *words, *(train_options(own)[3:] if verb == "train" else [])]
    assert run_yakusu(verb, *given).error.startswith(f"{own / 'a.en'}")


@pytest.mark.parametrize(
    "name",
    ["it's.en", "a'b\"c.en", "a\\b.en"],
)
def test_file_names_may_contain_quotes_and_backslashes(
    run_yakusu: Yakusu, tmp_path: Path, name: str
) -> None:
    told = run_yakusu("prepare", "tiny", "--run", "r", "--src", name, "--tgt", "x.de").error
    assert told.startswith(f"{name} does not exist: ")


def test_a_run_folder_that_cannot_be_written_is_refused(
    run_yakusu: Yakusu, train_options: TrainOptions, own: Path
) -> None:
    run = "/proc/none/run"  # nobody may create folders there
    assert run_yakusu("train", *train_options(own, run)).error == (
        f"{run} cannot be written (No such file or directory): choose a writable run "
        "folder with --run"
    )


def test_train_from_python_takes_a_recipe_name_and_files(own: Path) -> None:
    files = {"src": own / "a.en", "tgt": own / "a.de", "run": own / "run"}
    settings = load_recipe(own / "run" / "recipe.toml")
    names = ("tokenizer", "batches", "model", "training", "search")
    overrides = [
        f"{name}.{key}={json.dumps(value)}"
        for name in names
        for key, value in getattr(settings, name).model_dump(exclude_none=True).items()
    ]
    made = yakusu.train("tiny", [*overrides, "data.hold_out=8"], **files)
    assert (made.model, made.steps) == (own / "run" / "model", 6)
    with pytest.raises(yakusu.RecipeError, match="the recipe specifies no run folder"):
        yakusu.train("tiny", src=own / "a.en", tgt=own / "a.de")
    with pytest.raises(yakusu.RecipeError, match="takes no overrides: pass them to load_recipe"):
        yakusu.train(settings, src=own / "a.en")
    with pytest.raises(yakusu.RecipeError, match="unknown argument 'max_steps': pass keys of the"):
        yakusu.train("tiny", max_steps=5)  # type: ignore[call-arg]


# ---- without a recipe


def test_without_a_recipe_one_is_chosen_printed_and_stored(
    run_yakusu: Yakusu, work: Path, tmp_path: Path, overrides: list[str]
) -> None:
    files = ["--run", tmp_path / "run", "--src", work / "a.en", "--tgt", work / "a.de"]
    said = run_yakusu("prepare", *files, *overrides)
    assert said.code == 0
    assert re.match(r"\d{3} sentence pairs: using the recipe tiny, which is for up to", said.err)
    stored = load_recipe(tmp_path / "run" / "recipe.toml")
    settings_ = [each for each in overrides if each != "--set"]
    given = {"run": tmp_path / "run", "src": work / "a.en", "tgt": work / "a.de"}
    assert stored == load_recipe("tiny", settings_, **given)  # type: ignore[arg-type]
    assert run_yakusu("prepare", *files).out == f"already prepared: {said.out}"


def test_a_run_is_resumed_without_a_recipe_and_never_with_another_one(
    run_yakusu: Yakusu, own: Path
) -> None:
    files = ["--run", own / "run", "--src", own / "a.en", "--tgt", own / "a.de"]
    before = load_recipe(own / "run" / "recipe.toml")
    for options_ in (["--run", own / "run"], files):
        said = run_yakusu("train", *options_)
        assert said.code == 0
        assert f"using the recipe of this run, {own / 'run' / 'recipe.toml'}\n" in said.err
        assert "already at step 6 " in said.err and "nothing left to do" in said.err
    for side in ("a.en", "a.de"):
        (own / side).write_text("".join(f"{side} {i}\n" for i in range(12_000)))
    told = run_yakusu("train", *files).err  # 12,000 pairs would get the recipe `small`
    assert f"error: {own / 'a.en'} has changed since {own / 'run' / 'data'} was made" in told
    assert load_recipe(own / "run" / "recipe.toml") == before


# ---- one file with both sides


def tmx_of(folder: Path, *, extra: str = "") -> Path:
    """The corpus of a folder as a TMX file."""
    units = "".join(
        f'<tu><tuv xml:lang="de-DE"><seg>{tgt}</seg></tuv>'
        f'<tuv xml:lang="en"><seg>{src}</seg></tuv></tu>\n'
        for src, tgt in zip(
            *((folder / f"a.{side}").read_text().splitlines() for side in ("en", "de")), strict=True
        )
    )
    path = folder / "memory.tmx.zst"
    text = f'<tmx version="1.4"><header srclang="en"/><body>{units}{extra}</body></tmx>'
    path.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))
    return path


def options_of(work: Path, run: Path, train_options: TrainOptions) -> list[str]:
    """The options of the shared run without its files, with another run folder."""
    options = train_options(work)
    return [options[0], "--run", str(run), *options[options.index("--tgt") + 2 :]]


def test_a_tmx_trains_the_same_translator_as_two_files(
    run_yakusu: Yakusu, own: Path, tmp_path: Path, train_options: TrainOptions
) -> None:
    options_ = options_of(own, tmp_path / "tmx", train_options)
    said = run_yakusu("train", *options_, "--pairs", tmx_of(own))
    assert said.code == 0, said.err
    for name in ("model.safetensors", "tokenizer.model"):
        one, other = (own / run / "model" / name for run in ("run", "tmx"))
        assert one.read_bytes() == other.read_bytes()
    config = json.loads((own / "tmx" / "model" / "config.json").read_text())
    assert (config["source_language"], config["target_language"]) == ("en", "de")
    again = run_yakusu("train", *options_, "--pairs", own / "memory.tmx.zst")
    assert again.code == 0 and "nothing left to do" in again.err


def test_tsv_is_another_name_of_pairs(
    run_yakusu: Yakusu,
    own: Path,
    tmp_path: Path,
    train_options: TrainOptions,
    caplog: pytest.LogCaptureFixture,
) -> None:
    sides = [(own / f"a.{side}").read_text().splitlines() for side in ("de", "en")]
    table = tmp_path / "a.tsv"
    table.write_text(
        "".join(
            f"{de}\t{en}\n" for de, en in zip(["de", *sides[0]], ["en", *sides[1]], strict=True)
        )
    )
    options_ = options_of(own, tmp_path / "tsv", train_options)
    said = run_yakusu("prepare", *options_, "--tsv", table, "--columns", "2,1")
    assert said.code == 0, said.err
    assert f"{table}, line 1: 'en' and 'de' are taken for names of the columns" in caplog.text
    for name in ("train.src.tokens", "train.tgt.tokens", "dev.src.txt"):
        one, other = (own / run / "data" / name for run in ("run", "tsv"))
        assert one.read_bytes() == other.read_bytes()
    recipe = load_recipe(own / "tsv" / "recipe.toml")
    assert (recipe.data.train.src_column, recipe.data.train.tgt_column) == (2, 1)


def test_lines_that_are_not_utf8_are_left_out_with_their_pairs(
    run_yakusu: Yakusu,
    own: Path,
    tmp_path: Path,
    train_options: TrainOptions,
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = (own / "a.de").read_bytes().splitlines(keepends=True)
    lines[4] = b"sch\xf6n\n"
    (own / "a.de").write_bytes(b"".join(lines))
    options_ = train_options(own, tmp_path / "skip")
    assert run_yakusu("prepare", *options_).error.endswith(
        "is not UTF-8: save the file as UTF-8, correct the line, or add --errors skip"
    )
    assert not (tmp_path / "skip" / "data").exists()
    said = run_yakusu("prepare", *options_, "--errors", "skip")
    assert said.code == 0
    assert said.out.startswith(f"{len(lines)} pairs read; dropped: 1 empty, ")
    warning = f"{own / 'a.de'}: 1 line is not UTF-8 and was left out: line 5"
    assert caplog.messages.count(warning) == 1


@pytest.mark.parametrize(
    ("content", "options_", "told"),
    [
        ("tmx", ["--columns", "en,fr"], "has no language fr: choose two of de-DE, en, as in"),
        ("tmx", ["--columns", "en"], "--columns en: give a source and a target, as in"),
        ("tmx", ["--src", "a.en"], "a corpus is two files or one file of pairs, not both: remove"),
        ("<tmx><header/><body><tu></body></tmx>", [], "line 1, column 31: malformed XML ("),
        ("<!DOCTYPE tmx [<!ENTITY a 'b'>]><tmx/>", [], "declares entities in its DOCTYPE"),
        ("", [], "is empty: specify another file"),
        ("<tmx><header/><body/></tmx>", [], "there are no sentence pairs in "),
    ],
)
@pytest.mark.parametrize("verb", ["prepare", "train"])
def test_a_wrong_file_of_pairs_is_refused_before_anything_is_written(
    run_yakusu: Yakusu,
    own: Path,
    tmp_path: Path,
    verb: str,
    content: str,
    options_: list[str],
    told: str,
    train_options: TrainOptions,
) -> None:
    path = tmp_path / "b.tmx"
    if content == "tmx":
        path = tmx_of(own)
    else:
        path.write_text(content)
    options_ = [*options_of(own, tmp_path / "new", train_options), "--pairs", str(path), *options_]
    assert told in run_yakusu(verb, *options_).error
    assert not (tmp_path / "new" / "data").exists()


def test_a_run_prepared_from_the_key_tsv_is_resumed(
    run_yakusu: Yakusu, own: Path, tmp_path: Path, train_options: TrainOptions
) -> None:
    table = tmp_path / "a.tsv"
    sides = [(own / f"a.{side}").read_text().splitlines() for side in ("en", "de")]
    table.write_text("".join(f"{en}\t{de}\n" for en, de in zip(*sides, strict=True)))
    options_ = [*options_of(own, tmp_path / "old", train_options), "--tsv", str(table)]
    first = run_yakusu("prepare", *options_)
    recipe, facts, manifest = (
        tmp_path / "old" / name for name in ("recipe.toml", "data/data.json", "data/manifest.json")
    )
    recipe.write_text(recipe.read_text().replace("\npairs =", "\ntsv ="))
    before = sha256(facts)
    text = facts.read_text().replace("train.pairs", "train.tsv")
    facts.write_text(text + "  ")  # of the same length
    manifest.write_text(manifest.read_text().replace(before, sha256(facts)))
    (tmp_path / "old" / "prepared.json").unlink()
    assert run_yakusu("prepare", *options_).out == f"already prepared: {first.out}"
    table.write_text("a\tb\n")
    assert f"{table} has changed since" in run_yakusu("prepare", *options_).error
