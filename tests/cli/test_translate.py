"""The verb `translate`: streams, search options, folders that it refuses."""

import json
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
import torch

import yakusu
from tests.translators import save, small_tokenizer
from yakusu.model.architectures import models
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import Translator
from yakusu.translator.request import Request

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
        r"5 lines in [\d.]+ s: [\d.,]+ lines/s, [\d,]+ target tokens/s\n", of_file.err
    )


def test_unusual_line_ends_stay_in_their_lines(run_yakusu: Yakusu, model: Path) -> None:
    sources = ["the\rold ferry", "", "a\u2028baker", "\r", "the\x0cbridge\x85sees", "\u2028", "\0"]
    said = run_yakusu("translate", model, stdin=text(sources))
    assert said.code == 0
    lines = said.out.split("\n")
    assert len(lines) == len(sources) + 1 and lines[-1] == ""
    ends = [re.sub("[^\r\x0c\x85\u2028]", "", line) for line in lines[:6]]
    assert ends == ["\r", "", "\u2028", "\r", "\x0c\x85", "\u2028"]


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
    found = yakusu.translate(model, SOURCES, SearchConfig(beam=1, alpha=0))
    assert said.out == text([best[0].text for best in found]).decode()


def test_n_best_prints_number_score_log_probability_and_text_separated_by_tabs(
    run_yakusu: Yakusu, model: Path
) -> None:
    said = run_yakusu("translate", model, "--n-best", 3, stdin=text(SOURCES))
    best = run_yakusu("translate", model, stdin=text(SOURCES)).out.split("\n")
    rows = [line.split("\t") for line in said.out.splitlines()]
    assert all(re.fullmatch(r"-?\d+\.\d{4}", value) for row in rows for value in row[1:3])
    numbers = [int(number) for number, *_ in rows]
    assert numbers == sorted(numbers) and set(numbers) == {1, 2, 3, 4, 5}
    for number in (1, 3, 4):
        mine = [row for row in rows if row[0] == str(number)]
        assert len(mine) == 3
        scores = [float(row[1]) for row in mine]
        assert scores == sorted(scores, reverse=True)
        assert all(float(row[2]) < float(row[1]) for row in mine)  # the penalty exceeds 1
        assert mine[0][3] == best[number - 1]
    found = yakusu.translate(model, SOURCES, SearchConfig(n_best=3))
    expected = [[f"{t.score:.4f}", f"{t.log_prob:.4f}", t.text] for best in found for t in best]
    assert [row[1:] for row in rows] == expected


def test_a_byte_order_mark_changes_nothing_and_windows_line_ends_stay(
    run_yakusu: Yakusu, model: Path
) -> None:
    plain = run_yakusu("translate", model, stdin=text(SOURCES))
    windows = run_yakusu(
        "translate", model, stdin=b"\xef\xbb\xbf" + text(SOURCES).replace(b"\n", b"\r\n")
    )
    assert windows.out == plain.out.replace("\n", "\r\n")


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
    assert f"/{len(done.stdout.splitlines())}".encode() in shown and b"lines/s" in shown


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
    assert said.err.startswith("0 lines in ")


def test_invalid_utf8_on_standard_input_is_refused_with_its_place(
    run_yakusu: Yakusu, model: Path
) -> None:
    said = run_yakusu("translate", model, stdin=b"the ferry\nsch\xf6n\n")
    assert said.error == (
        "standard input, line 2, byte 4: 0xf6 is not UTF-8: save the file as UTF-8, "
        "correct the line, or add --errors skip"
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
    told = run_yakusu("translate", model, tmp_path / "a.mrg").error
    assert told == f"{tmp_path / 'a.mrg'} contains trees, but {model} is not a parser: use a parser"


def test_n_best_is_the_models_setting_unless_it_is_given(
    run_yakusu: Yakusu, train_options: TrainOptions, own: Path
) -> None:
    assert run_yakusu("train", *train_options(own, "run", "search.n_best=2")).code == 0
    model = own / "run" / "model"
    said = run_yakusu("translate", model, stdin=b"the old ferry\n")
    assert [len(line.split("\t")) for line in said.out.splitlines()] == [4, 4]
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


def test_a_folder_passed_from_python_is_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(yakusu.DataError, match=r"is a folder: give a text file$"):
        yakusu.translate(model, tmp_path)


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


# ---- details -------------------------------------------------------------------------------------


def objects(said: Any) -> list[dict[str, Any]]:
    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in said.out.splitlines()]


@pytest.mark.parametrize("n_best", [1, 3])
def test_json_has_an_object_per_sentence_with_what_python_gives(
    run_yakusu: Yakusu, model: Path, n_best: int
) -> None:
    said = run_yakusu(
        *("translate", model, "--format", "json", "--n-best", n_best), stdin=text(SOURCES)
    )
    search = SearchConfig(n_best=n_best, max_extra=4)
    translator = Translator.load(model).with_settings(search=search)
    found = translator.stream(SOURCES, details=True)
    rows = objects(said)
    assert [row["number"] for row in rows] == [1, 2, 3, 4, 5]
    for row, best in zip(rows, found, strict=True):
        assert set(row) == {"number", "translations"}
        for one, expected in zip(row["translations"], best, strict=True):
            assert (one["text"], one["score"]) == (expected.text, expected.score)
            assert one["log_prob"] == expected.log_prob
            if expected.details is None:
                assert set(one) == {"text", "score", "log_prob", "copied"}
                continue
            assert set(one) == {"text", "score", "log_prob", "copied", "tokens", "alignment"}
            assert [token["token"] for token in one["tokens"]] == list(expected.details.tokens)
            assert one["alignment"] == expected.details.pharaoh


def test_the_log_probabilities_of_the_tokens_in_json_add_up(
    run_yakusu: Yakusu, model: Path
) -> None:
    options = ("--format", "json", "--sample", "--n-best", 4, "--temperature", 2)
    for row in objects(run_yakusu("translate", model, *options, stdin=text(SOURCES[:1] * 2))):
        assert len(row["translations"]) == 4
        for one in row["translations"]:
            tokens = one["tokens"]
            assert sum(token["log_prob"] for token in tokens) == pytest.approx(
                one["log_prob"], abs=1e-5 * len(tokens)
            )
            assert tokens[-1]["token"] == "</s>"
            assert one["score"] > one["log_prob"]
            for token in tokens:
                best = list(token["alternatives"].values())
                assert len(best) == 5 and best == sorted(best, reverse=True)
                assert token["log_prob"] <= best[0]
                assert (
                    token["alternatives"].get(token["token"], token["log_prob"])
                    == (token["log_prob"])
                )


def test_json_has_the_trace_of_the_search_on_request(run_yakusu: Yakusu, model: Path) -> None:
    options = ("translate", model, "--format", "json", "--margin", 1)
    plain = objects(run_yakusu(*options, stdin=text(SOURCES)))
    rows = objects(run_yakusu(*options, "--trace", stdin=text(SOURCES)))
    assert [dict(row, traces=None) for row in rows] == [dict(row, traces=None) for row in plain]
    for row, source in zip(rows, SOURCES, strict=True):
        assert ("traces" in row) == bool(source)
        for trace in row.get("traces", []):
            ended = [
                (last["score"], at, last)
                for at, step in enumerate(trace)
                for last in step["finished"]
            ]
            score, at, last = max(ended, key=lambda own: own[0])
            assert score == row["translations"][0]["score"]
            path = [last["token"]]
            for step in trace[at - 1 :: -1]:
                last = step["open"][last["parent"]]
                path.append(last["token"])
            assert path[::-1] == [token["token"] for token in row["translations"][0]["tokens"]]
            assert all(set(step) == {"open", "finished", "dropped"} for step in trace)
            assert set(last) == {"parent", "token", "log_prob"}


def test_a_trace_needs_json_and_lines(run_yakusu: Yakusu, model: Path, tmp_path: Path) -> None:
    said = run_yakusu("translate", model, "--trace", stdin=text(SOURCES))
    assert said.error == "--trace needs JSON output: add --format json"
    (tmp_path / "a.md").write_text("the old ferry")
    document = ("translate", model, tmp_path / "a.md", "--out", tmp_path / "b.md")
    assert "--trace" in run_yakusu(*document, "--trace").error
    assert not (tmp_path / "b.md").exists()


def test_blank_lines_are_valid_json(run_yakusu: Yakusu, model: Path) -> None:
    said = run_yakusu("translate", model, "--format", "json", stdin=b"\n  \n")
    assert objects(said) == [
        {
            "number": number,
            "translations": [{"text": blank, "score": 0.0, "log_prob": 0.0, "copied": False}],
        }
        for number, blank in ((1, ""), (2, "  "))
    ]


def test_alignments_are_written_one_line_per_translation(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "links"
    plain = run_yakusu("translate", model, stdin=text(SOURCES))
    said = run_yakusu("translate", model, "--alignments", path, stdin=text(SOURCES))
    assert said.out == plain.out
    lines = path.read_text().split("\n")
    assert len(lines) == len(SOURCES) + 1
    for source, output, line in zip(SOURCES, said.out.split("\n"), lines, strict=False):
        assert bool(line) == bool(output.strip())
        for link in line.split():
            i, j = map(int, link.split("-"))
            assert i < len(source.split()) and j < len(output.split())
    run_yakusu("translate", model, "--alignments", path, "--n-best", 3, stdin=text(SOURCES))
    assert path.read_text().count("\n") == 3 * 3 + 2


def test_a_model_without_attention_has_no_alignments(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    translator = Translator.load(model)
    lstm = models["recurrent"]
    config = lstm.Config.model_validate(
        {"name": "recurrent", "d_model": 16, "n_layers": 1, "attention": "none"}
    )
    plain = lstm(config, **translator.tokenizer.vocab_sizes)
    other = Translator(
        TorchDecoder(plain),
        translator.tokenizer,
        languages=("", ""),
        search=SearchConfig(max_extra=4),
    )
    folder = save(tmp_path / "lstm", other)
    path = tmp_path / "links"
    refusal = "this model has no attention to the source: leave out --alignments"
    stdin = text(["", "the ferry"])
    for models_given in ([folder], [model, "--ensemble", folder]):
        said = run_yakusu("translate", *models_given, "--alignments", path, stdin=stdin)
        assert said.error == refusal and not path.exists()
    (_, row) = objects(run_yakusu("translate", folder, "--format", "json", stdin=stdin))
    assert set(row["translations"][0]) == {"text", "score", "log_prob", "copied", "tokens"}


def test_the_default_target_language_is_named(run_yakusu: Yakusu, tmp_path: Path) -> None:
    words = ("bumi", "dako", "fimo", "gopu", "hadi", "jelo", "karu")
    tokenizer = small_tokenizer(words, languages=("de", "fr"))
    sizes = TransformerConfig(n_layers=1, d_model=16, d_ff=32, n_heads=2)
    network = Transformer(sizes, **tokenizer.vocab_sizes)
    search = SearchConfig(max_extra=2)
    both = Translator(TorchDecoder(network), tokenizer, languages=("en", "de"), search=search)
    folder, note = save(tmp_path / "both", both), "translating to de; --to selects one of de, fr\n"
    assert run_yakusu("translate", folder, stdin=b"bumi\n").err.startswith(note)
    assert note not in run_yakusu("translate", folder, "--to", "fr", stdin=b"bumi\n").err


# ---- requests ------------------------------------------------------------------------------------


def test_prefixes_come_from_a_file_a_column_or_an_object(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    sources, prefixes = ["the old ferry", "", "a baker"], ["die alte", "", "malt"]
    (tmp_path / "sources").write_bytes(text(sources))
    (tmp_path / "prefixes").write_bytes(text(prefixes))
    requests = list(map(Request, sources, prefixes))
    expected = text([best[0].text for best in yakusu.translate(model, requests)]).decode()
    rows = ["\t".join(row) for row in zip(sources, prefixes, strict=True)]
    given = [
        json.dumps({"text": source, "prefix": prefix})
        for source, prefix in zip(sources, prefixes, strict=True)
    ]
    (tmp_path / "rows").write_bytes(text(rows))
    prefix = ("--prefix", tmp_path / "prefixes")
    outs = [
        run_yakusu("translate", model, tmp_path / "sources", *prefix),
        run_yakusu("translate", model, *prefix, stdin=text(sources)),
        run_yakusu("translate", model, tmp_path / "rows", "--input-format", "tsv"),
        run_yakusu("translate", model, "--input-format", "json", stdin=text(given)),
    ]
    assert [said.out for said in outs] == [expected] * 4
    assert expected.startswith("die alte") and "\nmalt" in expected


def test_prefixes_of_another_number_are_refused(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "sources").write_bytes(text(SOURCES))
    (tmp_path / "prefixes").write_bytes(text(["die", "die"]))
    said = run_yakusu("translate", model, tmp_path / "sources", "--prefix", tmp_path / "prefixes")
    assert said.error == (
        f"{tmp_path / 'sources'} and {tmp_path / 'prefixes'} differ in length (5 and 2 lines): "
        "align them line by line"
    )


# ---- help and search options ---------------------------------------------------------------------


def test_help_is_short_and_names_the_option_for_all_options(run_yakusu: Yakusu) -> None:
    said = run_yakusu("translate", "--help")
    assert said.code == 0 and len(said.out.splitlines()) <= 50
    assert "translate --help-all" in " ".join(said.out.split())
    assert "--margin" not in said.out


def test_help_all_lists_every_option(run_yakusu: Yakusu) -> None:
    said = run_yakusu("translate", "--help-all")
    assert said.code == 0
    config = {*SearchConfig.model_fields(), *SamplingConfig.model_fields()} - {"sampling"}
    own = {"sample", "prefix", "input_format", "format", "alignments", "ensemble", "device"}
    own |= {"out", "retranslate", "overwrite", "errors", "glossary", "protect", "no_protect"}
    own |= {"ray", "column"}
    for name in {*config, *own, "batch", "window", "help", "help_all"}:
        assert f"--{name.replace('_', '-')} " in said.out


def test_zero_switches_a_limit_on_repetition_off(
    run_yakusu: Yakusu, train_options: TrainOptions, own: Path
) -> None:
    limits = ("search.max_repeats=1", "search.no_repeat_ngram=1", "search.max_extra=30")
    assert run_yakusu("train", *train_options(own, "run", *limits)).code == 0
    model, lines = own / "run" / "model", SOURCES[:1]
    off = ("--max-repeats", 0, "--no-repeat-ngram", 0)
    said = run_yakusu("translate", model, *off, stdin=text(lines))
    free = SearchConfig(max_repeats=0, no_repeat_ngram=0)
    assert (
        said.out == text([best[0].text for best in yakusu.translate(model, lines, free)]).decode()
    )
    limited = run_yakusu("translate", model, stdin=text(lines))
    assert said.out != limited.out


@pytest.mark.parametrize(
    ("options", "sampling"),
    [
        (["--sample"], {}),
        (["--temperature", "0.5"], {"temperature": 0.5}),
        (["--seed", "7", "--top-k", "5"], {"seed": 7, "top_k": 5}),
        (["--sample", "--top-p", "0.8"], {"top_p": 0.8}),
    ],
)
def test_samples_are_those_of_python(
    run_yakusu: Yakusu, model: Path, options: list[str], sampling: dict[str, Any]
) -> None:
    said = run_yakusu("translate", model, *options, "--n-best", 6, stdin=text(SOURCES))
    config = SearchConfig(n_best=6, sampling=SamplingConfig(**sampling))
    found = yakusu.translate(model, SOURCES, config)
    expected = [t.text for best in found for t in best]
    assert [line.split("\t")[3] for line in said.out.splitlines()] == expected
    assert len(expected) == 3 * 6 + 2 and len(set(expected)) > 6


def test_options_of_sampling_override_only_those_settings_of_the_model(
    run_yakusu: Yakusu, train_options: TrainOptions, own: Path
) -> None:
    settings = ("search.sampling.top_k=2", "search.sampling.temperature=0.5")
    assert run_yakusu("train", *train_options(own, "run", *settings)).code == 0
    model = own / "run" / "model"
    said = run_yakusu("translate", model, "--seed", 3, stdin=text(SOURCES))
    drawn = SamplingConfig(top_k=2, temperature=0.5, seed=3)
    found = yakusu.translate(model, SOURCES, SearchConfig(sampling=drawn))
    assert said.out == text([best[0].text for best in found]).decode()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--temperature", "0"], "--temperature 0.0: input should be greater than 0"),
        (["--temperature", "-1"], "--temperature -1.0: input should be greater than 0"),
        (["--temperature", "inf"], "--temperature inf: input should be a finite number"),
        (["--top-p", "0"], "--top-p 0.0: input should be greater than 0"),
        (["--top-p", "1.5"], "--top-p 1.5: input should be less than or equal to 1"),
        (["--mbr", "2", "--n-best", "3"], "mbr = 2 is less than n_best = 3: draw more samples"),
        (
            ["--mbr", "2", "--beam", "5"],
            "--beam has no effect with --mbr, which draws samples: omit it",
        ),
    ],
)
def test_invalid_sampling_is_refused_with_the_option(
    run_yakusu: Yakusu, model: Path, options: list[str], told: str
) -> None:
    assert run_yakusu("translate", model, *options, stdin=b"the\n").error == told


@pytest.mark.parametrize("option", ["--alpha=-1", "--alpha=1e6", "--alpha=nan", "--margin=-1"])
def test_an_invalid_search_option_is_refused(run_yakusu: Yakusu, model: Path, option: str) -> None:
    said = run_yakusu("translate", model, option, stdin=b"the\n")
    assert (said.code, said.out) == (2, "") and option.split("=")[0] in said.err


def test_an_infinite_margin_is_refused_with_its_name(run_yakusu: Yakusu, model: Path) -> None:
    said = run_yakusu("translate", model, "--margin", "inf", stdin=b"the\n")
    assert said.error == "margin = inf: input should be a finite number"


def test_fast_is_a_margin_of_two(run_yakusu: Yakusu, model: Path) -> None:
    fast = run_yakusu("translate", model, "--fast", stdin=text(SOURCES))
    margin = run_yakusu("translate", model, "--margin", 2, stdin=text(SOURCES))
    assert fast.code == 0 and fast.out == margin.out
    said = run_yakusu("translate", model, "--fast", "--margin", 1, stdin=b"the\n")
    assert said.code == 2 and said.error == "--fast is --margin 2: give one of them"


def test_alignments_never_replace_a_file_that_is_read_or_that_an_error_leaves_unwritten(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    source, kept = tmp_path / "in", tmp_path / "kept"
    source.write_bytes(text(SOURCES))
    kept.write_text("0-0\n")
    for options in (("--alignments", source), ("--alignments", kept, "--include", "漢")):
        said = run_yakusu("translate", model, source, *options)
        assert said.code == 2 and said.err.count("\n") == 1
    assert source.read_bytes() == text(SOURCES) and kept.read_text() == "0-0\n"


def test_objects_that_are_not_sentences_are_refused(model: Path) -> None:
    with pytest.raises(TypeError, match="sentence 2 is not a string: 3"):
        list(yakusu.translate(model, ["a", 3]))  # type: ignore[list-item]
    with pytest.raises(TypeError, match="tuples of phrases"):
        Request("a", include="b")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="line 1 is not a pair of strings"):
        list(yakusu.score(model, ["a"], [None]))  # type: ignore[list-item]
