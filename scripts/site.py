"""Hook of mkdocs: benchmark pages on the site, and anchors of earlier versions of the pages.

docs/redirects/README.txt describes the tables of old anchors.
"""

import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "docs" / "redirects"
BENCHMARKS = ("*.md", "*/README.md", "results/*")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the benchmark pages and their records, under their paths in the repository."""
    for pattern in BENCHMARKS:
        for path in sorted((ROOT / "benchmarks").glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links from docs/ to benchmarks/, and back, lead to the pages of the site."""
    if page.file.src_uri.startswith("benchmarks/"):
        markdown = re.sub(
            r"\[([^\]]+)\]\((?:\.\./)*(?:recipes(?:/[^)]*)?|results/?|tests/[^)]*|messages|\w+\.json)\)",
            r"\1",
            markdown,
        )
        markdown = re.sub(r"\[([^\]]+)\]\(\.\./results/([^)]+)\)", _record, markdown)
        return re.sub(r"\]\(((?:\.\./)+)docs/", r"](\1", markdown)
    # Decisions are one folder deeper.
    return re.sub(r"\]\(\.\./((?:\.\./)?benchmarks/)", r"](\1", markdown)


def _record(link: re.Match[str]) -> str:
    """The link to a record, or its text as long as the benchmark has not been run."""
    return link[0] if (ROOT / "benchmarks" / "results" / link[2]).exists() else link[1]


def on_env(env: object, config: MkDocsConfig, files: Files) -> None:
    """Check that every anchor of an earlier version still leads somewhere."""
    places = set()
    for file in files.documentation_pages():
        places.add(file.src_uri)
        if file.page is not None:
            places.update(f"{file.src_uri}#{name}" for name in file.page.present_anchor_ids or ())
    moved = _moved()
    old = (TABLES / "anchors.txt").read_text(encoding="utf-8").split()
    faults = [
        f"{each} is gone: add a line to docs/redirects"
        for each in old
        if each not in places and each not in moved
    ]
    faults += [
        f"{target}, the target of {each}, does not exist"
        for each, target in moved.items()
        if target not in places
    ]
    faults += [
        f"{each} exists: remove its line from docs/redirects" for each in moved if each in places
    ]
    if faults:
        raise PluginError("old anchors:\n" + "\n".join(faults))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add a script that leads from the old anchors of a page to their targets."""
    urls = {}
    for old, target in _moved().items():
        name, _, anchor = old.partition("#")
        path, mark, place = target.partition("#")
        file = files.get_file_from_path(path)
        if name == page.file.src_uri and file is not None:
            urls[f"#{anchor}"] = file.url_relative_to(page.file) + mark + place
    script = "const to = {0}[location.hash]; if (to) location.replace(to);"
    return f"{html}<script>{{{script.format(json.dumps(urls))}}}</script>" if urls else html


def _moved() -> dict[str, str]:
    tables = [path.read_text(encoding="utf-8") for path in sorted(TABLES.glob("*-side.txt"))]
    return dict(line.split("\t") for table in tables for line in table.splitlines())
