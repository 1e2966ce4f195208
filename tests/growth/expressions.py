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


@cache
def expressions() -> list[Expression]:
    """All expressions, by file and line."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(_SOURCE.rglob("*.py"))}
    methods = {path: _methods(tree) for path, tree in trees.items()}
    public: dict[str, set[str]] = {}
    for name, used in (item for each in methods.values() for item in each.items()):
        public.setdefault(name, set()).update(used)
    found: dict[str, Expression] = {}
    for path, tree in trees.items():
        own = {n: m if n.startswith("_") else public[n] for n, m in methods[path].items()}
        for each in _in_file(path, tree, own):
            found.setdefault(each.name, each)
    return list(found.values())


def _in_file(path: Path, tree: ast.Module, methods: dict[str, set[str]]) -> Iterator[Expression]:
    functions = {
        id(node): function.name
        for function in ast.walk(tree)  # inner functions come last
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _function(node)]
    if not calls:
        return
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
        label = variable or inside + ast.unparse(call.args[0])
        yield Expression(f"{name}: {label}", _compiled(call, module), use, call.lineno)


def _function(call: ast.Call) -> str:
    """The function of `re` or `regex` that is called, or ""."""
    function = call.func
    if (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id in ("re", "regex")
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


def _methods(tree: ast.Module) -> dict[str, set[str]]:
    """The methods of each variable that are called; "" stands for other uses."""
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
