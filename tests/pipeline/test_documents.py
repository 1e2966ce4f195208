"""Translating documents: which files are written, with what, and what is refused."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

import yakusu
from yakusu.documents.document import DocumentOptions
from yakusu.errors import DataError, ModelError
from yakusu.pipeline.documents import TranslatedFile, translate_document, translate_files

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


def test_an_invalid_file_is_named_before_anything_is_written(site: Path, tmp_path: Path) -> None:
    (site / "zz.md").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"zz\.md: line 1: byte 0xff"):
        translate_files(shout, site, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_error_while_translating_leaves_no_half_written_file(site: Path, tmp_path: Path) -> None:
    def fail(texts: Sequence[str]) -> list[str]:
        if "Start" in texts:
            raise DataError("too long")
        return shout(texts)

    with pytest.raises(DataError, match=r"start\.md: too long"):
        translate_files(fail, site, tmp_path / "out")
    assert set(tree(tmp_path / "out")) == {"index.html", "guide/logo.png"}


@pytest.mark.parametrize("wrong", [lambda texts: [], lambda texts: ["lost" for _ in texts]])
def test_a_translator_that_loses_texts_or_marks_is_an_error(tmp_path: Path, wrong: object) -> None:
    path = tmp_path / "a.md"
    path.write_text("one *two*\n")
    with pytest.raises(ValueError, match="translation"):
        translate_files(wrong, path, tmp_path / "b.md")  # type: ignore[arg-type]
    assert not (tmp_path / "b.md").exists()


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


def test_languages_and_retranslation_reach_the_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from yakusu.documents import text

    seen: list[DocumentOptions] = []
    original = text.read

    def read(data: bytes, options: DocumentOptions) -> object:
        seen.append(options)
        return original(data, options)

    monkeypatch.setattr(text, "read", read)
    path = tmp_path / "a.txt"
    path.write_text("the dog\n")
    translate_document(FIXTURES / "transformer", path, tmp_path / "b.txt", retranslate=True)
    assert seen[0].retranslate
    assert all(isinstance(code, str) for code in seen[0].languages)


def test_a_parser_is_refused(tmp_path: Path) -> None:
    parsers = [path for path in FIXTURES.iterdir() if "pars" in path.name]
    if not parsers:
        pytest.skip("no parser among the fixtures")
    path = tmp_path / "a.txt"
    path.write_text("the dog\n")
    with pytest.raises(ModelError, match="is a parser and cannot translate documents"):
        translate_document(parsers[0], path, tmp_path / "b.txt")
