"""Web pages, mail and Markdown keep their structure."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

TRANSLATED = {"title", "alt", "placeholder", "content"}
KEPT = {"script", "style", "pre", "code"}
INLINE = {"a", "b", "em", "font", "i", "span", "br", "code"}


class Skeleton(HTMLParser):
    """Everything in a page that is not text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=False)
        self.blocks: list[object] = []  # in order
        self.inline = Counter[object]()
        self.n_attributes = Counter[str]()
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def _add(self, tag: str, item: object) -> None:
        if tag in INLINE:
            self.inline[item] += 1
        else:
            self.blocks.append(item)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        self.n_attributes.update(names)
        kept = [(name, value) for name, value in attrs if name not in TRANSLATED]
        self._add(tag, (tag, *names, *kept))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._add(tag, f"/{tag}")
        if tag in self._open:
            del self._open[len(self._open) - 1 - self._open[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if KEPT & set(self._open):
            self._add(self._open[-1], data)

    def handle_comment(self, data: str) -> None:
        self.blocks.append(data)

    def handle_decl(self, decl: str) -> None:
        self.blocks.append(decl)


@pytest.mark.parametrize("name", ["page.html", "newsletter.html"])
def test_a_page_keeps_its_elements_comments_and_code(name: str, source: Path, out: Path) -> None:
    before, after = (
        Skeleton((folder / name).read_text(encoding="latin-1")) for folder in (source, out)
    )
    assert after.blocks == before.blocks
    assert after.inline == before.inline
    assert after.n_attributes == before.n_attributes


def test_a_page_keeps_what_must_not_be_translated(out: Path) -> None:
    page = (out / "page.html").read_text(encoding="utf-8")
    assert '<p translate="no">Little Hill Pool Ltd.</p>' in page
    assert "ticket --print" in page and "swimming" not in page


def test_a_newsletter_keeps_its_template(source: Path, out: Path) -> None:
    pattern = r"\{\{.*?\}\}|\{%.*?%\}|&\w+;"
    before, after = (
        Counter(re.findall(pattern, (folder / "newsletter.html").read_text(encoding="latin-1")))
        for folder in (source, out)
    )
    for template, n in before.items():
        if template.startswith("{"):
            assert after[template] == n
    assert after["&amp;"] >= 2


def test_a_mail_keeps_its_lines_quotations_addresses_and_signature(source: Path, out: Path) -> None:
    before, after = (
        (folder / "mail.txt").read_bytes().decode().split("\r\n") for folder in (source, out)
    )
    layouts = [[re.findall(r"^[\s>*]*", line) for line in lines] for lines in (before, after)]
    assert layouts[0] == layouts[1]
    line = next(line for line in after if "@" in line)
    assert line.count("tom@example.org") == line.count("https://example.org/up?x=1") == 1
    assert (after[-3], after[-1]) == ("-- ", "+49 30 1234567")
    assert sum(line.count("🙂") for line in after) == 1


def test_a_readme_keeps_its_structure(source: Path, out: Path) -> None:
    parser = MarkdownIt("commonmark").enable("table").use(footnote_plugin)

    def structure(folder: Path) -> tuple[list[Any], Counter[Any], str]:
        text = (folder / "readme.md").read_text(encoding="utf-8")
        head = text[: text.index("\n# ")]
        tokens = parser.parse(text.removeprefix(head))
        blocks = [
            (token.type, token.level, token.info, token.content if token.type == "fence" else "")
            for token in tokens
        ]
        inline = Counter(
            (inline_type(child), child.attrGet("href"), child.attrGet("src"))
            for token in tokens
            for child in token.children or ()
            if child.type not in ("text", "softbreak")
        )
        return blocks, inline, re.sub("title: .*", "title:", head)

    assert structure(out) == structure(source)
    written = (out / "readme.md").read_text(encoding="utf-8")
    assert "- [x] " in written and "- [ ] " in written
    assert written.count("[^night]") == 2 and "`pip install birdwatch`" in written


def inline_type(token: Any) -> str:
    """What a token means: emphasis of few letters is written as an HTML tag."""
    tags = {"<em>": "em_open", "</em>": "em_close"}
    tags |= {"<strong>": "strong_open", "</strong>": "strong_close"}
    return str(tags.get(token.content, token.type))
