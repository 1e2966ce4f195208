"""The copier benchmark: what the code that reads and writes text changes by itself."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from yakusu.data.files.po import PoReader
from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.po import read

copier: Any = pytest.importorskip("benchmarks.reliability.copier", reason="only in a checkout")


def test_a_copier_returns_what_is_read_and_lists_what_is_not(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("H<sub>2</sub>O and Жу<b>к</b>, {name}!\n\nA soft\u00adhyphen.", "utf-8")
    for known in (False, True):
        copied = copier.copy_file(path, "en", known=known)
        assert copied.n_texts == 3
        assert copied.changed == [("A soft\u00adhyphen.", "A softhyphen.")]


@pytest.mark.parametrize("language", ["de", "ja", "ar"])
def test_texts_in_documents_of_all_formats_come_back(language: str, tmp_path: Path) -> None:
    texts = copier.texts_of()[language]
    for path in copier.write_documents(tmp_path, texts):
        copied = copier.copy_file(path, language, known=True)
        assert copied.n_texts > 0 and copied.changed == [] and copied.same_bytes, path.name


# ---- messages of a game --------------------------------------------------------------------------

PATTERNS = (
    "Loaded %s in %.1fs.",
    "%dx%d px, %.2fMP",
    "[b]%s[/b] has %d%% health",
    "[color=#ff8800]Warning:[/color] the %s uses %dMiB.",
    "Press [kbd]%s[/kbd] to open the [i]%s[/i]!",
    "[url=https://example.org/%s]Read more[/url] about the %s",
    "%02d:%02d left, then the [b][i]%s[/i] door[/b] closes",
    "Can't find '%s' (error %d).\\nTry again?",
    "[center]The %s[/center]",
    "+%d for each %s, %+.1f%% in all",
    "%s: %d/%d [code]%s[/code] lost",
    "The [wave amp=%d]%s[/wave] is at %d,%d.",
)
NOUNS = ("boat", "key", "lamp", "old tower", "red door", "shield", "stone", "trader's cart")
TOKEN = re.compile(r"%%|%[-+ 0]*\d*(?:\.\d+)?[a-z]|\[/?[a-z]+(?:[= ][^\]]*)?\]")


def messages(n: int) -> list[str]:
    rng = random.Random(1)
    found: dict[str, None] = {}
    while len(found) < n:
        noun = rng.choice(NOUNS)
        ends = (f" You see the {noun}.", f" ({noun})", f" - {noun} #{rng.randint(1, 99)}")
        found[rng.choice(PATTERNS) + rng.choice(ends)] = None
    return list(found)


def faults(source: str, translation: str) -> Iterator[str]:
    """What a translation breaks."""
    before, after = TOKEN.findall(source), TOKEN.findall(translation)
    if Counter(before) != Counter(after):
        yield "lost or added"
    if [t for t in before if t[0] == "%"] != [t for t in after if t[0] == "%"]:
        yield "another order of arguments"
    waiting: list[str] = []
    for tag in after:
        name = re.sub(r"\W.*", "", tag.strip("[/"))
        if tag.startswith("[/") and (not waiting or waiting.pop() != name):
            yield "tags are not nested"
        elif tag[0] == "[" and tag[1] != "/":
            waiting.append(name)


def test_no_message_without_flags_is_broken_if_the_words_are_in_reverse_order() -> None:
    units = (f'msgid "{message.replace(chr(34), "")}"\nmsgstr ""\n' for message in messages(500))
    header = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    document = read((header + "\n".join(units)).encode(), DocumentOptions())
    translations = copier.copier("en", reverses=True).translate(document.texts)
    written = document.render(translations)
    entries = [each for each in read_entries(written) if each[0]]
    done = [(source, target) for source, target in entries if target]
    assert len(entries) == 500 and len(done) + len(document.skipped) == 500
    assert [(pair, fault) for pair in done for fault in faults(*pair)] == []
    assert all("placeholders in another order" in reason for reason in document.skipped)
    assert sum(source != target for source, target in done) > 150


def read_entries(data: bytes) -> list[tuple[str, str]]:
    """The source and the translation of each entry."""
    return [
        (entry.strings["msgid"].value, entry.forms[0].value)
        for entry in PoReader("utf-8").entries(data.decode().splitlines(keepends=True))
    ]
