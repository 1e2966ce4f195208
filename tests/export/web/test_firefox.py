"""A page in one file, in Firefox, which is asked by WebDriver BiDi without another program.

Only the environment of the peer firefox has the client (benchmarks/interop/peers.py).
"""

from pathlib import Path

import pytest

from yakusu import Translator, export_web

pytest.importorskip(
    "websocket", reason="only the environment of the peer firefox has websocket-client"
)
from benchmarks.firefox import PROGRAM, firefox

SENTENCE = "Der Hund schläft im Garten."
TRANSLATE = """(text) => new Promise((resolve) => {
  const field = document.getElementById("text"), result = document.getElementById("translation");
  document.getElementById("from").value = "de";
  field.value = text;
  field.dispatchEvent(new Event("input"));
  const look = () => result.ariaBusy === "false" && result.querySelector(".word")
    ? resolve(result.innerText.trim()) : setTimeout(look, 100);
  look();
})"""


@pytest.mark.skipif(not PROGRAM, reason="Firefox is not installed")
def test_a_file_translates_in_firefox(model_folder: Path, tmp_path: Path) -> None:
    export_web(model_folder, tmp_path / "page.html")
    profile = tmp_path / "profile"
    profile.mkdir()
    with firefox(profile) as browser:
        browser.open((tmp_path / "page.html").as_uri())
        found = browser.call(TRANSLATE, SENTENCE)
    assert found == Translator.load(model_folder).translate([SENTENCE])[0]
