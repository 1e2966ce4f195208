"""Temporary files are their owner's, even under umask 0; finished files follow the umask."""

from pathlib import Path

from tests.system.private import work
from tests.system.runs import _server, finished, write_corpus


def test_under_umask_0_nobody_else_can_open_a_temporary_file(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    folder = tmp_path / "work"
    folder.mkdir()
    process = _server.Process(target=work, args=(write_corpus(corpus), folder))
    process.start()
    assert finished(process) == 0
    assert (folder / "found").read_text() == "seen: saving system"
    made = [folder / "translated.md", folder / "run" / "model", folder / "run" / "recipe.toml"]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o666, 0o777, 0o666]
