"""A public class, function or type alias has one meaning in the whole code base."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import yakusu

MAX_ACCEPTED = 15
ACCEPTED = {  # name that several modules define -> why
    "add_to": "each module of verbs has it: it adds them to the command line",
    "attention": "Eq. 1, and the HTTP operation that shows its weights",
    "evaluate": "`yakusu.evaluate` scores texts, `yakusu.vectors.evaluate` compressed vectors",
    "models": "`yakusu.models` lists those of the package, the HTTP operation those of the service",
    "read": "each document format has it: see `documents.document.DocumentFormat`",
    "score": "`yakusu.score`, and the HTTP operation that does the same",
    "sinusoids": "one formula, for torch and for the engine, which must not import torch",
    "translate": "`yakusu.translate`, and the HTTP operations that do the same",
}


def _public_names(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if name[0].isupper() and not name.isupper():  # a type alias
                    yield name


def _modules_by_name() -> dict[str, set[str]]:
    root = Path(yakusu.__file__).parent
    found = defaultdict(set)
    for file in root.rglob("*.py"):
        for name in _public_names(ast.parse(file.read_text(encoding="utf-8"))):
            if not name.startswith("_"):
                found[name].add(file.relative_to(root).as_posix())
    return found


def test_a_name_that_several_modules_define_is_listed_with_its_reason() -> None:
    repeated = {name: files for name, files in _modules_by_name().items() if len(files) > 1}
    assert {name: sorted(files) for name, files in repeated.items() if name not in ACCEPTED} == {}
    assert repeated.keys() == ACCEPTED.keys(), "a listed name has become unique: remove it"


def test_the_list_of_repeated_names_is_short_and_says_why() -> None:
    assert len(ACCEPTED) <= MAX_ACCEPTED
    assert all(ACCEPTED.values())
