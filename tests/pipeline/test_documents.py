"""Translating documents: which files are written, with what, and what is refused."""

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

import yakusu
from yakusu.data.lines.private_use import closing, empty, is_mark, opening
from yakusu.documents.document import DocumentOptions
from yakusu.errors import DataError, ModelError
from yakusu.pipeline.documents import (
    LONGEST_TEXT,
    TranslatedFile,
    translate_document,
    translate_files,
)

O0, C0, E0 = opening(0), closing(0), empty(0)
FIXTURES = Path(__file__).parents[1] / "fixtures" / "format-1"


def shout(texts: Sequence[str]) -> list[str]:
    return [text.upper() for text in texts]


def tree(folder: Path) -> dict[str, bytes]:
    """The files of a folder, hidden ones included."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with documents, a picture and hidden files."""
    folder = tmp_path / "site"
    (folder / "guide" / ".cache").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "index.html").write_text("<h1>Home</h1><p>12</p>")
    (folder / "guide" / "start.md").write_text("# Start\n\nGo *there*.\n")
    (folder / "guide" / "logo.png").write_bytes(b"\x89PNG")
    (folder / "guide" / ".hidden.md").write_text("hidden")
    (folder / "guide" / ".cache" / "a.md").write_text("hidden")
    (folder / ".git" / "config.txt").write_text("hidden")
    return folder


def test_a_file_is_translated(tmp_path: Path) -> None:
    path, out = tmp_path / "a.html", tmp_path / "new" / "b.html"
    path.write_text("<p>one</p><p>TWO</p><p>3</p>")
    done = translate_files(shout, path, out)
    assert out.read_text() == "<p>ONE</p><p>TWO</p><p>3</p>"
    assert done.files == (TranslatedFile(path, out, texts=2, unchanged=1),)
    assert (done.texts, done.unchanged, done.copied) == (2, 1, 0)


def test_a_folder_keeps_its_files_and_its_layout(site: Path, tmp_path: Path) -> None:
    before, out = tree(site), tmp_path / "out"
    done = translate_files(shout, site, out)
    assert tree(out) == {
        "index.html": b"<h1>HOME</h1><p>12</p>",
        "guide/start.md": b"# START\n\nGO *THERE*.\n",
        "guide/logo.png": b"\x89PNG",
    }
    assert tree(site) == before
    names = [(file.out.name, file.texts, file.copied) for file in done.files]
    assert names == [("index.html", 1, False), ("logo.png", 0, True), ("start.md", 2, False)]
    assert (done.texts, done.copied) == (3, 1)


def test_all_texts_of_a_document_are_translated_in_one_call(site: Path, tmp_path: Path) -> None:
    calls: list[int] = []

    def translate(texts: Sequence[str]) -> list[str]:
        calls.append(len(texts))
        return list(texts)

    translate_files(translate, site, tmp_path / "out")
    assert calls == [1, 2]


class Recorder:
    """Records the jobs and the units that are counted."""

    def __init__(self) -> None:
        self.jobs: list[tuple[str, str, int | None]] = []
        self.notes: list[str] = []

    def say(self, text: str) -> None:
        raise AssertionError(text)

    def track(self, what: str, unit: str, total: int | None) -> nullcontext["Recorder"]:
        self.jobs.append((what, unit, total))
        return nullcontext(self)

    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        self.notes += [note] * n


def test_the_progress_counts_each_text_as_soon_as_it_is_translated(
    site: Path, tmp_path: Path
) -> None:
    progress = Recorder()
    counted = []

    def translate(texts: Sequence[str]) -> Iterator[str]:
        for text in texts:
            counted.append(len(progress.notes))
            yield text

    translate_files(translate, site, tmp_path / "out", progress=progress)
    assert progress.jobs == [("translating", "texts", 3)]
    assert progress.notes == ["index.html", "start.md", "start.md"]
    assert counted == [0, 1, 2]


def test_a_plain_text_file_is_one_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n\n- 2\nthree\n")
    done = translate_files(shout, path, tmp_path / "b.txt")
    assert done.texts == 1
    assert (tmp_path / "b.txt").read_text() == "ONE\n\n- 2\nTHREE\n"


def test_existing_files_are_replaced_only_if_that_is_allowed(site: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "guide").mkdir(parents=True)
    (out / "guide" / "start.md").write_text("old")
    (out / "other.md").write_text("other")
    with pytest.raises(DataError, match=r"start\.md exists: choose another output"):
        translate_files(shout, site, out)
    assert tree(out) == {"guide/start.md": b"old", "other.md": b"other"}
    translate_files(shout, site, out, overwrite=True)
    assert tree(out)["guide/start.md"] == b"# START\n\nGO *THERE*.\n"
    assert tree(out)["other.md"] == b"other"


@pytest.mark.parametrize("out", [".", "guide", "new", "..", "guide/../new"])
def test_an_output_that_shares_a_folder_with_the_input_is_refused(site: Path, out: str) -> None:
    before = tree(site)
    with pytest.raises(DataError, match="choose an output folder outside the input"):
        translate_files(shout, site, site / out, overwrite=True)
    assert tree(site) == before


def test_an_output_within_the_input_by_a_link_is_refused(site: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(site)
    with pytest.raises(DataError, match="choose an output folder outside the input"):
        translate_files(shout, site, tmp_path / "link" / "out")


def test_a_file_is_not_its_own_output(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    os.link(path, tmp_path / "b.txt")
    for out in (path, tmp_path / "b.txt"):
        with pytest.raises(DataError, match="is the input: choose another name"):
            translate_files(shout, path, out, overwrite=True)
    assert path.read_text() == "one"


@pytest.mark.parametrize(
    ("path", "out", "message"),
    [
        ("missing.md", "b.md", r"missing\.md does not exist: check the path"),
        ("a.md", "folder", r"folder is a folder: name the file to write, such as .*folder/a\.md"),
        ("folder", "a.md", r"a\.md is a file, but .*folder is a folder"),
        ("a.xyz", "b.xyz", r"a\.xyz has the suffix \.xyz, and its format is unknown"),
        ("folder", "new", r"folder contains no files to translate: check the path"),
        ("a.md", "b.pdf", r"b\.pdf has another format than .*a\.md, and yakusu does not convert"),
        ("a.md", "b.HTML", r"does not convert files: name the output .*b\.md"),
    ],
)
def test_paths_that_do_not_fit_are_refused(
    tmp_path: Path, path: str, out: str, message: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.md").write_text("one")
    (tmp_path / "a.xyz").write_text("one")
    with pytest.raises(DataError, match=message):
        translate_files(shout, tmp_path / path, tmp_path / out)
    assert not (tmp_path / "new").exists()


def test_an_invalid_file_is_named_and_the_others_are_written(
    site: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (site / "aa.md").write_bytes(b"\xff")
    (site / "zz.json").write_bytes(b"{")
    warned = []

    def translate(texts: Sequence[str]) -> list[str]:
        warned.append(len(caplog.messages))
        return shout(texts)

    with pytest.raises(DataError, match=r"aa\.md: line 1: byte 0xff.* \(and 1 others of 5 files"):
        translate_files(translate, site, tmp_path / "out")
    assert set(tree(tmp_path / "out")) == {"index.html", "guide/start.md", "guide/logo.png"}
    assert warned == [2, 2]  # all files are read before the first one is translated


def test_a_strict_folder_with_an_invalid_file_is_not_written(site: Path, tmp_path: Path) -> None:
    (site / "zz.md").write_bytes(b"\xff")
    model = FIXTURES / "transformer"
    with pytest.raises(DataError, match=r"zz\.md: line 1: byte 0xff"):
        translate_document(model, site, tmp_path / "out", strict=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("link", ["sub", "sub/a.txt", "sub/b.txt"])
def test_an_input_is_not_replaced_through_a_link_in_the_output(tmp_path: Path, link: str) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "sub" / "a.txt").write_text("one")
    (tmp_path / "in" / "sub" / "b.txt").write_text("two")
    (tmp_path / "out" / link).parent.mkdir(parents=True)
    (tmp_path / "out" / link).symlink_to(tmp_path / "in" / link)
    before = tree(tmp_path / "in")
    with pytest.raises(DataError, match=r"(a|b)\.txt is in the input: choose another output"):
        translate_files(shout, tmp_path / "in", tmp_path / "out", overwrite=True)
    assert tree(tmp_path / "in") == before


def test_a_link_to_a_new_file_in_the_input_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one")
    (tmp_path / "out" / "a.txt").symlink_to(tmp_path / "in" / "new.txt")
    with pytest.raises(DataError, match=r"out/a\.txt is in the input"):
        translate_files(shout, tmp_path / "in", tmp_path / "out")
    assert set(tree(tmp_path / "in")) == {"a.txt"}


def test_two_outputs_are_not_one_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for name in "ab":
        (tmp_path / "in" / f"{name}.txt").write_text(name)
        (tmp_path / "out" / f"{name}.txt").symlink_to(tmp_path / "c.txt")
    with pytest.raises(DataError, match=r"b\.txt is a link to another output"):
        translate_files(shout, tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "c.txt").exists()


def test_a_link_to_a_file_stays_a_link_and_the_file_is_replaced(tmp_path: Path) -> None:
    path, real, link = tmp_path / "a.txt", tmp_path / "real.txt", tmp_path / "link.txt"
    path.write_text("one")
    real.write_text("old")
    link.symlink_to(real)
    with pytest.raises(DataError, match=r"link\.txt exists"):
        translate_files(shout, path, link)
    translate_files(shout, path, link, overwrite=True)
    assert (link.is_symlink(), real.read_text()) == (True, "ONE")


def test_a_link_to_itself_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt").symlink_to("b.txt")
    translate_files(shout, tmp_path / "a.txt", tmp_path / "b.txt", overwrite=True)
    assert (tmp_path / "b.txt").read_text() == "ONE"


@pytest.mark.parametrize("in_folder", [False, True])
def test_an_output_that_is_a_pipe_or_a_device_is_refused(tmp_path: Path, in_folder: bool) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one")
    os.mkfifo(tmp_path / "out" / "a.txt")
    outs = [tmp_path / "out"] if in_folder else [tmp_path / "out" / "a.txt", Path("/dev/null")]
    for out in outs:
        path = tmp_path / "in" if in_folder else tmp_path / "in" / "a.txt"
        with pytest.raises(DataError, match="is a pipe or a device, not a file"):
            translate_files(shout, path, out, overwrite=True)
    assert (tmp_path / "out" / "a.txt").is_fifo()


@pytest.mark.parametrize(
    ("taken", "message"),
    [
        ("guide/start.md/", r"start\.md is a folder, but .*start\.md is a file"),
        ("guide", r"out/guide is a file, but must be a folder"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_written(
    site: Path, tmp_path: Path, taken: str, message: str
) -> None:
    out = tmp_path / "out"
    if taken.endswith("/"):
        (out / taken).mkdir(parents=True)
    else:
        out.mkdir()
        (out / taken).write_text("taken")
    before = tree(out)
    with pytest.raises(DataError, match=message):
        translate_files(shout, site, out, overwrite=True)
    assert tree(out) == before


def test_a_new_output_within_a_file_is_refused(site: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("taken")
    with pytest.raises(DataError, match="taken is a file, but must be a folder"):
        translate_files(shout, site, tmp_path / "taken" / "deeper" / "out")


def test_a_name_may_have_the_maximum_length(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    names = ["a" * 251 + ".txt", "b" * 251 + ".xyz"]
    for name in names:
        (folder / name).write_text("one")
    translate_files(shout, folder, tmp_path / "out")
    assert tree(tmp_path / "out") == {names[0]: b"ONE", names[1]: b"one"}


def test_a_folder_that_cannot_be_read_is_an_error(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("guide"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)  # the superuser can read all folders
    with pytest.raises(DataError, match="guide cannot be read: Permission denied"):
        translate_files(shout, site, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_links_to_folders_and_what_is_not_a_file_are_named(site: Path, tmp_path: Path) -> None:
    (site / "guide" / "circle").symlink_to(site)
    (site / "nowhere.md").symlink_to(site / "missing.md")
    (site / "linked.md").symlink_to(site / "guide" / "start.md")
    os.mkfifo(site / "pipe.md")
    done = translate_files(shout, site, tmp_path / "out")
    assert sorted(path.relative_to(site).as_posix() for path in done.left_out) == [
        "guide/circle", "nowhere.md", "pipe.md",
    ]  # fmt: skip
    assert tree(tmp_path / "out")["linked.md"] == b"# START\n\nGO *THERE*.\n"


def test_lock_files_of_word_are_hidden(site: Path, tmp_path: Path) -> None:
    (site / "~$report.docx").write_bytes(b"Ada")
    (site / "~notes.md").write_text("notes")
    done = translate_files(shout, site, tmp_path / "out")
    assert not (tmp_path / "out" / "~$report.docx").exists()
    assert (tmp_path / "out" / "~notes.md").read_text() == "NOTES"
    assert done.left_out == ()


def test_a_copied_file_keeps_its_mode(site: Path, tmp_path: Path) -> None:
    (site / "build.sh").write_text("#!/bin/sh\n")
    (site / "build.sh").chmod(0o750)
    translate_files(shout, site, tmp_path / "out")
    assert (tmp_path / "out" / "build.sh").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "one *two*\n"),
        ("a.md", "one *two*\n"),
        ("a.html", "<p>one <b>two</b></p>"),
        ("a.srt", "1\n00:01 --> 00:02\none <i>two</i>\n"),
        ("a.json", '{"a": "one <b>two</b> of {them}"}'),
        ("a.po", 'msgid "one %s"\nmsgstr ""\n'),
        ("a.properties", "a=one {0}\n"),
        ("a.strings", '"a" = "one %@";\n'),
        ("a.xcstrings", '{"strings": {"one %@": {}}}'),
        ("a.xml", "<resources><string name='a'>one <b>two</b></string></resources>"),
        (
            "a.xlf",
            '<xliff version="1.2"><file><body><trans-unit id="1"><source>one <x id="1"/></source>'
            "</trans-unit></body></file></xliff>",
        ),
    ],
)
def test_a_blank_translation_leaves_the_text_and_is_reported(
    tmp_path: Path, name: str, content: str
) -> None:
    path, out = tmp_path / name, tmp_path / "out"
    path.write_text(content)

    def blank(texts: Sequence[str]) -> list[str]:
        return ["".join(filter(is_mark, text)) + " " for text in texts]

    done = translate_files(blank, path, out)
    assert out.read_text() == content
    assert len(done.files[0].skipped) == 1
    assert "blank" in done.files[0].skipped[0]


def test_a_very_long_text_is_left_unchanged_and_reported(tmp_path: Path) -> None:
    page, out = tmp_path / "a.html", tmp_path / "out"
    long = "a" * (LONGEST_TEXT + 1)
    page.write_text(f"<p>one</p>\n<p>{long}</p><p>{long[1:]}</p>")
    done = translate_files(shout, page, out)
    assert out.read_text() == f"<p>ONE</p>\n<p>{long}</p><p>{long[1:].upper()}</p>"
    assert done.files[0].skipped == (
        f"line 2: a text of 100,001 characters, beginning with {'a' * 60!r}, exceeds "
        "100,000 characters",
    )


def test_a_very_long_message_stays_untranslated(tmp_path: Path) -> None:
    path, out = tmp_path / "a.po", tmp_path / "out"
    content = f'msgid "{"a " * LONGEST_TEXT}"\nmsgstr ""\n'
    path.write_text(content)
    done = translate_files(shout, path, out)
    assert out.read_text() == content
    assert "exceeds 100,000 characters" in done.files[0].skipped[0]


def test_a_plain_text_file_may_be_longer_than_a_text(tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "out"
    path.write_text("one\n" * LONGEST_TEXT)
    translate_files(shout, path, out)
    assert out.read_text() == "ONE\n" * LONGEST_TEXT


def test_a_single_document_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from yakusu.documents import text

    seen: list[bytes] = []
    read = text.read
    monkeypatch.setattr(
        text, "read", lambda data, options: seen.append(data) or read(data, options)
    )
    (tmp_path / "a.txt").write_text("one")
    translate_files(shout, tmp_path / "a.txt", tmp_path / "b.txt")
    assert seen == [b"one"]


def test_an_error_while_translating_leaves_no_half_written_file(site: Path, tmp_path: Path) -> None:
    def fail(texts: Sequence[str]) -> list[str]:
        if "Start" in texts:
            raise DataError("too long")
        return shout(texts)

    with pytest.raises(DataError, match=r"start\.md: too long"):
        translate_files(fail, site, tmp_path / "out")
    assert set(tree(tmp_path / "out")) == {"index.html", "guide/logo.png"}


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["one two", "one two"],
        [""],
        ["one two"],
        [f"one {O0}two"],
        [f"one {C0}two{O0}"],
        [f"one {O0}two{C0}{E0}"],
    ],
)
@pytest.mark.parametrize(
    ("name", "content"),
    [("a.md", "one *two*\n"), ("a.srt", "1\n00:01 --> 00:02\none <i>two</i>\n")],
)
def test_a_translator_that_loses_texts_or_marks_is_an_error(
    tmp_path: Path, name: str, content: str, wrong: list[str]
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ValueError, match="translation"):
        translate_files(lambda _: wrong, path, tmp_path / "out")
    assert tree(tmp_path) == {name: content.encode()}


def test_a_model_translates_a_document(tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("the red boat\n\n  12\nthe dog\n")
    model = FIXTURES / "transformer"
    done = translate_document(model, path, out)
    expected = yakusu.Translator.load(model).translate(["the red boat", "the dog"])
    lines = out.read_text().splitlines()
    assert [lines[0], lines[3]] == expected
    assert (done.texts, lines[1]) == (1, "")


def test_the_options_are_those_of_a_search(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("the red boat\n")
    options = yakusu.SearchConfig(include=("dog dog",))
    yakusu.translate_document(FIXTURES / "transformer", path, tmp_path / "b.txt", options)
    assert "dog dog" in (tmp_path / "b.txt").read_text()


def test_all_options_reach_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from yakusu.documents import text

    seen: list[DocumentOptions] = []
    original = text.read

    def read(data: bytes, options: DocumentOptions) -> object:
        seen.append(options)
        return original(data, options)

    monkeypatch.setattr(text, "read", read)
    path = tmp_path / "a.txt"
    path.write_text("the dog\n")
    model, out = FIXTURES / "transformer", tmp_path / "b.txt"
    translate_document(model, path, out, retranslate=True, columns=["a"], sheet_names=True)
    assert seen == [DocumentOptions(seen[0].languages, True, ("a",), ".txt", sheet_names=True)]
    assert all(isinstance(code, str) for code in seen[0].languages)


def test_a_parser_is_refused(tmp_path: Path) -> None:
    parsers = [path for path in FIXTURES.iterdir() if "pars" in path.name]
    if not parsers:
        pytest.skip("no parser among the fixtures")
    path = tmp_path / "a.txt"
    path.write_text("the dog\n")
    with pytest.raises(ModelError, match="a parser cannot translate documents"):
        translate_document(parsers[0], path, tmp_path / "b.txt")
