"""Presentations and workbooks keep their other parts, and LibreOffice opens them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cases import THOROUGH
from tests.documents.shared import members


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("talk.pptx", {"ppt/slides/slide1.xml", "ppt/slides/slide2.xml"}),
        ("trip.xlsx", {"xl/sharedStrings.xml"}),
    ],
)
def test_parts_without_texts_stay(name: str, changed: set[str], source: Path, out: Path) -> None:
    parts = [members((folder / name).read_bytes()) for folder in (source, out)]
    assert list(parts[0]) == list(parts[1])
    assert {name for name in parts[0] if parts[0][name] != parts[1][name]} == changed


@pytest.mark.skipif(not THOROUGH or not shutil.which("soffice"), reason="needs LibreOffice")
@pytest.mark.parametrize(("name", "pages"), [("talk.pptx", 2), ("trip.xlsx", 1)])
def test_libreoffice_shows_as_many_slides_and_pages(
    name: str, pages: int, source: Path, out: Path, tmp_path: Path
) -> None:
    for folder in (source, out):
        command = ["soffice", f"-env:UserInstallation={(tmp_path / 'user').as_uri()}"]
        command += ["--headless", "--convert-to", "pdf", "--outdir", str(tmp_path)]
        subprocess.run([*command, str(folder / name)], check=True, capture_output=True)
        pdf = (tmp_path / name).with_suffix(".pdf")
        assert len(re.findall(rb"/Type */Page\b", pdf.read_bytes())) == pages
        pdf.unlink()
