"""A library that is not installed is named together with the extra that installs it."""

import pytest

from yakusu.cli import app


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("torch", "train"),
        ("torch.nn.functional", "train"),
        ("tensorboard", "train"),
        ("numba", "train"),
        ("MeCab", "mecab"),
        ("lxml.etree", "corpora"),
        ("yaml", "documents"),
    ],
)
def test_a_missing_library_is_named_with_the_extra_that_installs_it(
    module: str, extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: object) -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr(app, "_run", run)
    with pytest.raises(SystemExit) as left:
        app.main()
    assert left.value.code == 2
    library = module.partition(".")[0]
    assert " ".join(capsys.readouterr().err.split()) == (
        f"error: this command needs {library}: install yakusu with its extra '{extra}', as in pip "
        f"install '.[{extra}]'"
    )
