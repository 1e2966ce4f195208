"""All regular expressions in the source code, and how each is used.

An expression is the argument of a function of `re` or `regex`, or a compiled one that a module
holds. Its name has the file, the function, and the variable or the source of the argument:

    documents/subtitles.py: _LINE        documents/subtitles.py: render: '[\\r\\n]+'
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import regex

_SOURCE = Path(__file__).parents[2] / "src" / "yakusu"
_FUNCTIONS = {
    "compile",
    "search",
    "match",
    "fullmatch",
    "sub",
    "subn",
    "split",
    "findall",
    "finditer",
}
_CALL = re.compile(rf"\b(?:re|regex|lazy)\.(?:{'|'.join(_FUNCTIONS)})\(")
_LONG = 200  # characters of an argument that is not shown in a name
_AT_START = {"match", "fullmatch"}


@dataclass(frozen=True)
class Expression:
    """A regular expression.

    Attributes:
        name: Where it is.
        pattern: The compiled expression; None if it is made while the program runs.
        use: "search", "match" or "fullmatch".
        line: The line of the file.
    """

    name: str
    pattern: Any
    use: str
    line: int


def files() -> list[str]:
    """The files that have expressions, relative to the package; those of `lazy` are in others."""
    paths = sorted({*_SOURCE.rglob("*.py")} - {_SOURCE / "lazy.py"})
    return [str(path.relative_to(_SOURCE)) for path in paths if _CALL.search(path.read_text())]


def expressions(file: str) -> list[Expression]:
    """The expressions of a file, by line."""
    path = _SOURCE / file
    tree = _tree(path)
    methods = dict(_methods(path))
    for name in filter(methods.__contains__, _public(tree)):
        for other, text in _sources().items():
            if name in text:
                methods[name] = methods[name] | _methods(other).get(name, set())
    found: dict[str, Expression] = {}
    for each in _in_file(path, tree, methods):
        found.setdefault(each.name, each)
    return list(found.values())


@cache
def _sources() -> dict[Path, str]:
    return {path: path.read_text() for path in sorted(_SOURCE.rglob("*.py"))}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(_sources()[path])


def _public(tree: ast.Module) -> list[str]:
    """The variables of a module that other files may use and whose value is a call."""
    return [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    ]


def _in_file(path: Path, tree: ast.Module, methods: dict[str, set[str]]) -> Iterator[Expression]:
    functions = {
        id(node): function.name
        for function in ast.walk(tree)  # inner functions come last
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _function(node)]
    name = str(path.relative_to(_SOURCE))
    module = _module(path)
    variables = {
        id(node.value): target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in sorted(calls, key=lambda call: call.lineno):
        function = _function(call)
        variable = variables.get(id(call))
        used = methods.get(variable or "", {"search"}) if function == "compile" else {function}
        use = "search" if used - _AT_START or not used else min(used, key=len)
        inside = f"{functions[id(call)]}: " if id(call) in functions else ""
        pattern = ast.unparse(call.args[0])
        label = variable or inside + (pattern if len(pattern) < _LONG else "pattern")
        yield Expression(f"{name}: {label}", _compiled(call, module), use, call.lineno)


def _function(call: ast.Call) -> str:
    """The function of `re`, `regex` or `lazy` that is called, or ""."""
    function = call.func
    if (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id in ("re", "regex", "lazy")
        and function.attr in _FUNCTIONS
    ):
        return function.attr
    return ""


def _compiled(call: ast.Call, module: ModuleType) -> Any:
    """The expression of a call, if the names in it are those of the module."""
    library = re if ast.unparse(call.func).startswith("re.") else regex
    keywords = {each.arg: each.value for each in call.keywords}
    at = 1 if ast.unparse(call.func).endswith(".compile") else len(call.args)
    flags = keywords.get("flags") or (call.args[at] if len(call.args) > at else None)
    try:
        values = [
            eval(compile(ast.Expression(each), "", "eval"), vars(module)) if each else 0
            for each in (call.args[0], flags)
        ]
    except NameError:
        return None
    return values[0] if hasattr(values[0], "finditer") else library.compile(*values)


@cache
def _methods(path: Path) -> dict[str, set[str]]:
    """The methods of each variable that a file calls; "" stands for other uses."""
    tree = _tree(path)
    found: dict[str, set[str]] = {}
    receivers = {
        id(node.value): node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            method = receivers.get(id(node), "")
            found.setdefault(node.id, set()).add(method)
    return found


def _module(path: Path) -> ModuleType:
    parts = path.relative_to(_SOURCE.parent).with_suffix("").parts
    return import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
