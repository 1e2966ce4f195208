"""The public names of yakusu, and what `import yakusu` does not load."""

import subprocess
import sys

import pytest

import yakusu


@pytest.mark.parametrize("name", yakusu.__all__)
def test_every_public_name_exists_and_has_a_docstring(name: str) -> None:
    thing = getattr(yakusu, name)
    assert thing.__name__.removeprefix("yakusu.") == name
    assert thing.__doc__ and thing.__doc__.strip()


def test_the_verbs_of_the_command_line_are_public_names() -> None:
    from yakusu.cli import app

    verbs = {str(command.callback.__name__) for command in app.registered_commands}
    functions = {"prepare", "train", "average", "translate", "score", "evaluate", "verify", "demo"}
    assert verbs == {*functions, "compress", "view"}  # the latter two are packages
    assert verbs < set(yakusu.__all__)


def test_the_verbs_for_word_vectors_are_functions_of_the_same_name() -> None:
    from yakusu.cli.vectors import vectors

    verbs = {command.name or command.callback.__name__ for command in vectors.registered_commands}
    assert verbs == {"compress", "inspect", "evaluate", "neighbours"}
    assert all(callable(getattr(yakusu.vectors, verb)) for verb in verbs)


def test_every_error_is_a_yakusu_error() -> None:
    errors = [name for name in yakusu.__all__ if name.endswith("Error")]
    assert len(errors) == 5
    assert all(issubclass(getattr(yakusu, name), yakusu.YakusuError) for name in errors)


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'yakusu' has no attribute 'translator_'"):
        yakusu.translator_  # noqa: B018


def test_import_yakusu_loads_no_heavy_library() -> None:
    heavy = ("torch", "numpy", "sentencepiece", "typer", "sacrebleu", "joblib", "pydantic")
    code = f"import sys, yakusu; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_does_not_load_torch() -> None:
    code = (
        "import sys; sys.argv = ['yakusu', 'translate', '--help']\n"
        "from yakusu.cli import main\n"
        "try:\n    main()\nfinally:\n    assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
