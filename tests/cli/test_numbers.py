"""The verb `translate` where the numbers of a translation differ from those of its source."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.translator.saying import saying
from yakusu.cli.translate import _Models
from yakusu.data.lines.private_use import SLOTS

Yakusu = Callable[..., Any]
LINES = b"der Hund ist alt\nder Bus kommt um 12\n"


@pytest.fixture(autouse=True)
def altered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A translator that alters a number twice."""
    table = {
        "der Hund ist alt": ["the dog is old"],
        "der Bus kommt um 12": ["the bus comes at 112"],
        f"der Bus kommt um {SLOTS[0]}": [f"the {SLOTS[0]} bus comes at 7"],
    }
    monkeypatch.setattr(_Models, "open", lambda models: saying(table))


def test_a_sentence_is_kept_and_its_line_is_named(
    run_yakusu: Yakusu, model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said = run_yakusu("translate", model, stdin=LINES)
    assert (said.code, said.out) == (0, "the dog is old\nder Bus kommt um 12\n")
    assert "1 sentence kept (numbers or code-like tokens would change)" in said.err
    assert caplog.messages == [
        "line 2: the translation of 'der Bus kommt um 12' has '112' instead of '12': "
        "the sentence is kept"
    ]


def test_strict_prints_nothing(run_yakusu: Yakusu, model: Path) -> None:
    assert run_yakusu("translate", model, "--strict", stdin=LINES).error == (
        "line 2: the translation of 'der Bus kommt um 12' has '112' instead of '12': nothing is "
        "printed, because of --strict"
    )
    assert run_yakusu("translate", model, "--strict", stdin=LINES[:17]).out == "the dog is old\n"


def test_a_document_names_the_sentence(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, out = tmp_path / "a.html", tmp_path / "b.html"
    source.write_text("<p>der Hund ist alt</p>\n\n<p>der Bus kommt um <b>12</b></p>")
    assert run_yakusu("translate", model, source, "--out", out).code == 0
    assert out.read_text() == "<p>the dog is old</p>\n\n<p>der Bus kommt um <b>12</b></p>"
    assert caplog.messages == [
        f"{source}: line 3: the translation of 'der Bus kommt um 12' has '112' instead of '12': "
        "left unchanged"
    ]


def test_a_message_stays_untranslated(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, out = tmp_path / "a.po", tmp_path / "b.po"
    source.write_bytes(
        b'msgid "der Hund ist alt"\nmsgstr ""\n\nmsgid "der Bus kommt um 12"\nmsgstr ""\n'
    )
    assert run_yakusu("translate", model, source, "--out", out).code == 0
    first, second = source.read_bytes().split(b"\n\n")
    assert out.read_bytes().split(b"\n\n") == [
        b"#, fuzzy\n" + first.replace(b'msgstr ""', b'msgstr "the dog is old"'),
        second,
    ]
    assert caplog.messages == [
        f"{source}: line 4: the translation of 'der Bus kommt um 12' has '112' instead of '12': "
        "left unchanged"
    ]


def test_strict_writes_no_document(run_yakusu: Yakusu, model: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / "a.txt").write_text("der Hund ist alt\n")
    (folder / "b.txt").write_text("der Hund ist alt\nder Bus kommt um 12\n")
    (folder / "c.png").write_bytes(b"picture")
    translate_all = ("translate", model, folder, "--out", out, "--strict")
    assert run_yakusu(*translate_all).error == (
        f"{folder / 'b.txt'}: line 2: the translation of 'der Bus kommt um 12' has '112' "
        "instead of '12': nothing is written, because of --strict"
    )
    assert not out.exists()
    (folder / "b.txt").unlink()
    assert run_yakusu(*translate_all).code == 0
    assert (out / "a.txt").read_text() == "the dog is old\n"
    assert (out / "c.png").read_bytes() == b"picture"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.md", "# der Hund ist alt\n\n- der Hund ist alt\n- der Bus kommt um 12\n", 4),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nder Bus kommt um 12\n", 3),
        ("a.txt", "\nder Hund ist alt\nder Bus kommt um 12\n", 3),
    ],
)
def test_a_document_with_lines_names_the_line(
    run_yakusu: Yakusu,
    model: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    name: str,
    text: str,
    line: int,
) -> None:
    source, out = tmp_path / name, tmp_path / f"out-{name}"
    source.write_text(text)
    assert run_yakusu("translate", model, source, "--out", out).code == 0
    assert caplog.messages == [
        f"{source}: line {line}: the translation of 'der Bus kommt um 12' has '112' "
        "instead of '12': left unchanged"
    ]
