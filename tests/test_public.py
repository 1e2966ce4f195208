"""The public names of yakusu, and what `import yakusu` does not load."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer

import yakusu

MODEL = str(Path(__file__).parent / "fixtures" / "format-1" / "transformer")


@pytest.mark.parametrize("name", yakusu.__all__)
def test_every_public_name_exists_and_has_a_docstring(name: str) -> None:
    thing = getattr(yakusu, name)
    assert thing.__name__.removeprefix("yakusu.") == name
    assert thing.__doc__ and thing.__doc__.strip()


def test_the_verbs_of_the_command_line_are_public_names() -> None:
    from yakusu.cli.verbs import app

    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    functions = {name: f"{name}_model" for name in ("import", "export")}  # `import` is a keyword
    assert {functions.get(name, name) for name in verbs} < set(yakusu.__all__)
    assert all(verbs[name].name == name for name in verbs)


def test_the_verbs_for_word_vectors_are_functions_of_the_same_name() -> None:
    from yakusu.cli.vectors import vectors

    verbs = set(typer.main.get_command(vectors).commands)  # type: ignore[attr-defined]
    of_files = {"append", "compress", "inspect", "evaluate", "neighbours", "export"}
    assert verbs == of_files | {"index", "search", "delete", "compact"}
    assert all(callable(getattr(yakusu.vectors, verb)) for verb in verbs)


def test_every_error_is_a_yakusu_error() -> None:
    errors = [name for name in yakusu.__all__ if name.endswith("Error")]
    assert len(errors) == 5
    assert all(issubclass(getattr(yakusu, name), yakusu.YakusuError) for name in errors)


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'yakusu' has no attribute 'translator_'"):
        yakusu.translator_  # noqa: B018


def test_a_function_that_needs_torch_names_the_extra_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "yakusu.pipeline.import_model", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    with pytest.raises(
        ModuleNotFoundError, match=r"yakusu\.import_model needs torch.*'\.\[train\]'"
    ):
        yakusu.import_model  # noqa: B018


def loaded(program: str, *words: str, stdin: str = "") -> set[str]:
    """Run a program in a fresh process; return the names of all modules that it has loaded."""
    code = f"{program}\nprint(*sys.modules)"
    command = [sys.executable, "-c", f"import sys\n{code}", *words]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def of(packages: tuple[str, ...], modules: set[str]) -> set[str]:
    """Return those of the modules that belong to one of the packages."""
    return {name for name in modules if f"{name}.".startswith(tuple(f"{p}." for p in packages))}


COMMAND_LINE = """\
from yakusu.cli import main
try:
    main()
except SystemExit as done:
    assert not done.code
"""
UNUSED_BY_HELP = (
    *("torch", "numpy", "sentencepiece", "safetensors", "sacrebleu", "joblib", "filelock"),
    *("matplotlib", "sklearn", "numba", "scipy", "nltk"),
    *("yakusu.model", "yakusu.pipeline", "yakusu.training", "yakusu.translator", "yakusu.recipe"),
)
UNUSED_BY_A_TRANSLATION = (
    "pydantic",
    *("sacrebleu", "sacremoses", "joblib", "filelock", "nltk"),
    *("matplotlib", "sklearn", "numba", "scipy", "constriction", "tensorboard", "sympy"),
    *("torch._dynamo", "torch._inductor", "torch.distributed.fsdp", "torch.utils.tensorboard"),
    *("yakusu.compress", "yakusu.metrics", "yakusu.recipe", "yakusu.training", "yakusu.vectors"),
    *("yakusu.view", "yakusu.data.filters", "yakusu.data.pairs", "yakusu.data.trees"),
    *("rich", "sqlite3", "rapidfuzz", "babel", "unicode_rbnf"),
    *("yakusu.data.corpus", "yakusu.data.files.formats", "yakusu.documents.registry"),
    *("yakusu.serve", "yakusu.translator.scoring"),
    *(
        "yakusu.pipeline.evaluate",
        "yakusu.pipeline.training.prepare",
        "yakusu.pipeline.training.train",
    ),
    *("tomllib", "secrets", "hmac", "safetensors.numpy", "yakusu.data.files.encodings"),
    *("yakusu.alignment", "yakusu.data.bitext", "yakusu.data.lines.placeholders", "yakusu.memory"),
    *("yakusu.engine.traces", "yakusu.search.phrases", "yakusu.search.restrictions"),
    *("yakusu.search.sampling", "yakusu.search.shortlist", "yakusu.search.spelling"),
    *("yakusu.search.trace", "yakusu.search.without", "yakusu.translator.doubting"),
    *("yakusu.translator.reading.kept", "yakusu.translator.reading.known"),
    *("yakusu.translator.writing.details", "yakusu.translator.writing.links"),
    *("yakusu.translator.writing.placement", "yakusu.translator.writing.traces"),
    "yakusu.translator.writing.words",
)


def test_import_yakusu_loads_no_heavy_library() -> None:
    heavy = (*UNUSED_BY_HELP, "typer", "pydantic")
    assert of(heavy, loaded("import yakusu")) == set()


@pytest.mark.parametrize("words", [["--help"], ["translate", "--help"], ["train", "--help"]])
def test_help_loads_only_the_libraries_of_the_command_line(words: list[str]) -> None:
    assert of(UNUSED_BY_HELP, loaded(COMMAND_LINE, *words)) == set()


def test_the_list_of_verbs_loads_neither_typer_nor_any_of_them() -> None:
    modules = loaded(COMMAND_LINE, "--help")
    assert of(("typer", "pydantic", "regex", "yakusu.cli.translate"), modules) == set()
    assert len(of(("yakusu",), modules)) < 15


def test_a_wrong_option_of_train_is_refused_before_torch_is_loaded() -> None:
    program = COMMAND_LINE.replace("assert not", "assert")
    modules = loaded(program, "train", "tiny", "--set", "training.max_step=5")
    assert "yakusu.recipe" in modules and of(("torch", "numba"), modules) == set()


def test_the_verb_translate_loads_nothing_that_it_does_not_use() -> None:
    modules = loaded(COMMAND_LINE, "translate", MODEL, stdin="the red boat\n")
    assert "yakusu.search" in modules
    assert of(UNUSED_BY_A_TRANSLATION, modules) == set()
    assert len(of(("yakusu",), modules)) < 130


def test_the_class_translator_loads_nothing_that_it_does_not_use() -> None:
    program = "import yakusu\nyakusu.Translator.load(sys.argv[1]).translate(['the red boat'])"
    modules = loaded(program, MODEL)
    assert "yakusu.search" in modules
    assert of((*UNUSED_BY_A_TRANSLATION, "typer", "yakusu.pipeline"), modules) == set()
