"""The verb `translate` on real text: spans, glossaries, invalid bytes, documents and folders."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yakusu.translator import Translator

Yakusu = Callable[..., Any]
HARD = "The <b>old</b> ferry {name}. Send 😀 to a@example.org!\n\n- the baker\n```\ncode\n```\n"


def kept(text: str) -> list[str]:
    spans = ("<b>", "</b>", "{name}", "😀", "a@example.org")
    return [span for span in spans if text.count(span) == 1]


def test_spans_and_layout_are_kept_and_counted(run_yakusu: Yakusu, model: Path) -> None:
    said = run_yakusu("translate", model, stdin=HARD.encode())
    assert said.code == 0 and kept(said.out) == kept(HARD)
    lines = said.out.split("\n")
    assert lines[1] == "" and lines[2].startswith("- ") and lines[3:] == ["```", "code", "```", ""]
    assert "4 protected spans kept" in said.err and "unseen word" in said.err
    assert "3 lines kept (without text to translate)" in said.err


def test_a_pattern_protects_more_and_no_protect_less(run_yakusu: Yakusu, model: Path) -> None:
    line = b"the ferry XY-12 and {name}\n"
    more = run_yakusu("translate", model, "--protect", "[A-Z]+-[0-9]+", stdin=line)
    assert "XY-12" in more.out and "2 protected spans kept" in more.err
    less = run_yakusu("translate", model, "--no-protect", stdin=line)
    assert "protected" not in less.err


def test_an_invalid_pattern_is_refused(run_yakusu: Yakusu, model: Path) -> None:
    told = run_yakusu("translate", model, "--protect", "(", stdin=b"a\n").error
    assert told.startswith("'(' is not a valid regular expression: ")
    assert run_yakusu("translate", model, "--protect", "", stdin=b"a\n").error == (
        "a regular expression to protect is empty: remove --protect ''"
    )


def test_a_pattern_has_a_time_limit_for_each_line(run_yakusu: Yakusu, model: Path) -> None:
    options = ("--protect", "(a+)+b", "--protect-seconds", "0.1")
    told = run_yakusu("translate", model, *options, stdin=b"the ferry\n" + b"a" * 500).error
    assert told.startswith("sentence 2: '(a+)+b' takes too long for the line that begins with 'aaa")


LONG = "ab " * 400_000


@pytest.mark.parametrize("stdin", [True, False])
def test_a_long_line_is_printed_as_it_is_with_a_warning(
    stdin: bool,
    run_yakusu: Yakusu,
    model: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = ["the ferry", LONG, "- the baker", f"\u2028{LONG}é\r"]
    text = "".join(f"{line}\n" for line in lines).encode()
    (tmp_path / "a").write_bytes(text)
    short = run_yakusu("translate", model, stdin=b"the ferry\n\n- the baker\n")
    source, given = ("-", text) if stdin else (str(tmp_path / "a"), b"")
    said = run_yakusu("translate", model, source, stdin=given)
    assert said.code == 0
    first, second, third, fourth = said.out.split("\n")[:-1]
    assert [first, "", third] == short.out.split("\n")[:-1]
    assert [second, fourth] == [lines[1], lines[3]]
    reason = "bytes are more than the 1,000,000 of the longest line: the sentence is kept"
    for number, size in ((2, "1,200,000"), (4, "1,200,006")):
        assert f"line {number}: {size} {reason}" in caplog.text


def test_a_long_line_is_copied_in_json_and_refused_if_strict(
    run_yakusu: Yakusu, model: Path
) -> None:
    text = f'the ferry\n"{LONG}\\\n'.encode()
    said = run_yakusu("translate", model, "--format", "json", stdin=text)
    _, best = (json.loads(line)["translations"][0] for line in said.out.splitlines())
    assert (best["text"], best["copied"]) == (f'"{LONG}\\', True)
    for options in (["--strict"], ["--input-format", "tsv"]):
        told = run_yakusu("translate", model, *options, stdin=text)
        assert told.code == 2 and "line 2" in told.err and "1,000,000" in told.err


def test_a_long_line_of_a_document_is_kept_and_named(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, out = tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_text(f"the ferry\n{LONG}\nthe baker\n")
    run_yakusu("translate", model, source, "--out", out)
    lines = out.read_text().split("\n")
    assert lines[1] == LONG and lines[0] and lines[2] and len(lines) == 4
    assert "a.txt: line 2: 1,200,000 bytes are more than the 1,000,000 of the" in caplog.text


def test_the_memory_does_not_grow_with_the_length_of_a_line(model: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    with source.open("wb") as file:
        for part in (b"the ferry\n", *[b"a b " * 250_000] * 50, b"\nthe baker\n"):
            file.write(part)
    # A process whose memory is small, because that of a child begins with that of its parent
    measured = (
        "import resource, subprocess, sys\n"
        "with open(sys.argv[1], 'rb') as source, open(sys.argv[2], 'wb') as out:\n"
        "    subprocess.run(sys.argv[3:], stdin=source, stdout=out, check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-m", "yakusu", "translate", model]
    said = subprocess.run(
        [sys.executable, "-c", measured, source, out, *command], capture_output=True, check=True
    )
    assert out.stat().st_size > 50_000_000
    most = int(said.stdout) if sys.platform == "darwin" else int(said.stdout) << 10
    assert most < 250 << 20  # of which about 70 are those of a short line


def test_every_term_of_a_glossary_is_in_the_translation(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "terms.tsv").write_text("ferry\tscheibe\n")
    options = ("--glossary", tmp_path / "terms.tsv")
    said = run_yakusu("translate", model, *options, stdin=b"the ferry\nthe baker\nthe old ferry\n")
    lines = said.out.splitlines()
    assert ["scheibe" in line.lower() for line in (lines[0], lines[2])] == [True, True]
    assert "2 terms translated as in the glossary" in said.err


def test_a_glossary_with_one_column_is_refused(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "terms.tsv").write_text("ferry\tscheibe\nbaker\n")
    told = run_yakusu("translate", model, "--glossary", tmp_path / "terms.tsv", stdin=b"a\n").error
    assert told == (
        f"{tmp_path / 'terms.tsv'}, line 2 has 1 column: write the source term, one tab and its "
        "translation"
    )


@pytest.mark.parametrize("from_file", [False, True])
def test_lines_that_are_not_utf8_are_left_empty_on_request(
    run_yakusu: Yakusu,
    model: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    from_file: bool,
) -> None:
    data = b"the ferry\nf\xe4hre\nthe baker\n"
    (tmp_path / "in").write_bytes(data)
    source = [tmp_path / "in"] if from_file else []
    said = run_yakusu("translate", model, *source, "--errors", "skip", stdin=data)
    assert said.code == 0 and said.out.split("\n")[1] == "" and said.out.count("\n") == 3
    assert "1 line is not UTF-8 and was left empty: line 2" in caplog.text


def test_a_document_needs_an_output(run_yakusu: Yakusu, model: Path, tmp_path: Path) -> None:
    page, out = tmp_path / "a.html", tmp_path / "b.html"
    page.write_text('<p title="the baker">the <b>old</b> ferry</p>\n')
    assert run_yakusu("translate", model, page).error == (
        f"{page} is a document: add --out FILE to translate it"
    )
    assert run_yakusu("translate", model, tmp_path).error == (
        f"{tmp_path} is a folder: add --out FOLDER to translate its documents"
    )
    said = run_yakusu("translate", model, page, "--out", out)
    assert (said.code, said.out) == (0, f"{out}: 2 texts\n")
    written = out.read_text()
    assert written.startswith('<p title="') and written.count("<b>") == written.count("</b>") == 1
    assert run_yakusu("translate", model, page, "--out", out).error == (
        f"{out} exists: choose another output, or add --overwrite (overwrite=True)"
    )
    assert run_yakusu("translate", model, page, "--out", out, "--overwrite").code == 0


def test_a_folder_is_translated_into_another(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "a.md").write_text("# the ferry\n\n`code`\n")
    (tmp_path / "in" / "b.bin").write_bytes(bytes(range(256)))
    said = run_yakusu("translate", model, tmp_path / "in", "--out", tmp_path / "out")
    assert said.code == 0
    assert f"{tmp_path / 'out' / 'b.bin'}: copied\n" in said.out
    assert (tmp_path / "out" / "b.bin").read_bytes() == bytes(range(256))
    assert (tmp_path / "out" / "deep" / "a.md").read_text().startswith("# ")


@pytest.mark.parametrize(
    "option",
    [
        ["--format", "json"],
        ["--prefix", "a.txt"],
        ["--alignments", "links"],
        ["--input-format", "tsv"],
        ["--errors", "skip"],
        ["--n-best", "2"],
        ["--one-sentence-per-line"],
    ],
)
def test_options_of_lines_do_not_apply_to_documents(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, option: list[str]
) -> None:
    (tmp_path / "a.txt").write_text("the ferry\n")
    files = (tmp_path / "a.txt", "--out", tmp_path / "b.txt")
    assert run_yakusu("translate", model, *files, *option).error == (
        f"{option[0]} applies to lines of text, not to documents: remove it, or remove --out"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("option", ["--retranslate", "--overwrite"])
def test_options_of_documents_do_not_apply_to_lines(
    run_yakusu: Yakusu, model: Path, option: str
) -> None:
    assert run_yakusu("translate", model, option, stdin=b"the\n").error == (
        f"{option} applies to documents: add --out PATH, or remove {option}"
    )


def test_standard_input_is_not_a_document(run_yakusu: Yakusu, model: Path, tmp_path: Path) -> None:
    assert run_yakusu("translate", model, "--out", tmp_path / "b.txt").error == (
        "--out translates documents: specify a file or a folder as SOURCE"
    )


def test_standard_output_is_not_a_document(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.html").write_text("<p>the old ferry</p>")
    assert run_yakusu("translate", model, "a.html", "--out", "-").error == (
        "--out - is not standard output: name the file or the folder to write"
    )
    assert not (tmp_path / "-").exists()


def test_links_to_folders_are_left_out_and_named(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.txt").write_text("the ferry\n")
    for i in range(12):
        (source / f"link{i:02}").symlink_to(tmp_path)
    assert run_yakusu("translate", model, source, "--out", tmp_path / "out").code == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.txt"]
    for i in range(10):
        assert f"{source}/link{i:02} was left out: it is a link to a folder" in caplog.text
    assert f"{source}: 2 paths more were left out" in caplog.text


def translated(run_yakusu: Yakusu, model: Path, folder: Path, *options: object) -> str:
    """The translation of a text file of two lines by `translate --out`."""
    source, out = folder / "a.txt", folder / "b.txt"
    source.write_text("the old ferry AB-7\nthe baker sees {name}\n")
    said = run_yakusu("translate", model, source, "--out", out, "--overwrite", *options)
    assert said.code == 0, said
    return out.read_text()


def test_a_text_that_is_left_unchanged_is_named_with_the_reason(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.json"
    path.write_text('{\n"a": "the old ferry",\n"b": "btn_ok"\n}\n')
    said = run_yakusu("translate", model, path, "--out", tmp_path / "b.json")
    assert said.out == f"{tmp_path / 'b.json'}: 1 text\n"
    assert caplog.messages == [
        f'{path}: line 3: "btn_ok" looks like an identifier, not like text: left unchanged'
    ]


def test_batch_and_window_reach_the_translator_and_do_not_change_a_document(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, seen, stream = translated(run_yakusu, model, tmp_path), [], Translator.stream

    def record(self: Translator, texts: Any, **options: Any) -> Any:
        seen.append(options)
        return stream(self, texts, **options)

    monkeypatch.setattr(Translator, "stream", record)
    assert translated(run_yakusu, model, tmp_path, "--batch", 1, "--window", 3) == expected
    assert seen == [{"batch": 1, "window": 3}]


@pytest.mark.parametrize(
    "options",
    [
        ["--include", "scheibe"],
        ["--exclude", "win"],
        ["--protect", "ferry"],
        ["--no-protect"],
        ["--sample", "--seed", 3],
        ["--beam", 1],
        ["--max-length", 3],
        ["--ensemble", "MODEL", "--include", "alte"],
    ],
)
def test_a_text_file_and_its_lines_have_the_same_translation_with_each_option(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, options: list[object]
) -> None:
    given = [model if option == "MODEL" else option for option in options]
    document = translated(run_yakusu, model, tmp_path, *given)
    assert document == run_yakusu("translate", model, tmp_path / "a.txt", *given).out
    assert document != run_yakusu("translate", model, tmp_path / "a.txt").out


def test_a_glossary_applies_to_documents(run_yakusu: Yakusu, model: Path, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("ferry\tscheibe\n")
    first, _ = translated(
        run_yakusu, model, tmp_path, "--glossary", tmp_path / "terms.tsv"
    ).splitlines()
    assert "scheibe" in first


def test_a_missing_library_is_named_with_its_extra(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "lib" / "markdown_it.py"
    library.parent.mkdir()
    library.write_text("raise ModuleNotFoundError('not installed', name='markdown_it')\n")
    monkeypatch.syspath_prepend(library.parent)  # also where documents are read
    (tmp_path / "a.md").write_text("the ferry\n")
    told = run_yakusu("translate", model, tmp_path / "a.md", "--out", tmp_path / "b.md").error
    assert told == (
        "this command needs markdown_it: install yakusu with its extra 'documents', as in "
        "pip install '.[documents]'"
    )


def test_a_term_that_cannot_be_spelled_is_refused_before_the_first_line(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("ferry\tпаром\n")
    told = run_yakusu("translate", model, "--glossary", glossary, stdin=b"a\n").error
    assert told.startswith(f"{glossary}: the phrase 'паром' cannot be spelled")
    assert told.endswith(": remove the term 'ferry'")
