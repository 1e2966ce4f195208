"""Questions about nodes of Python's syntax, and how JavaScript spells constants."""

import ast
from collections.abc import Iterator, Sequence

from yakusu.errors import ModelError


def literal(value: object) -> str:
    """A constant of Python, such as None, a number or a text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "(-Infinity)"
    if isinstance(value, int | float):
        return repr(value) if value >= 0 else f"({value!r})"
    if isinstance(value, bytes):
        return literal(value.decode("latin-1"))  # files are text in a browser
    raise ModelError(f"no translation for the constant {value!r}")


_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escaped(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    return character if " " <= character <= "~" else f"\\u{{{ord(character):x}}}"


def all_arguments(args: ast.arguments) -> list[ast.arg]:
    """The parameters of a function."""
    more = [args.vararg] if args.vararg else []
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *more]


def unpacked_argument(arg: ast.expr) -> list[ast.expr]:
    """An argument, or those of a tuple with a star."""
    is_open = isinstance(arg, ast.Starred) and isinstance(arg.value, ast.Tuple)
    return arg.value.elts if is_open else [arg]  # type: ignore[attr-defined]


def _own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside; comprehensions belong to it."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            yield from _own_nodes(list(ast.iter_child_nodes(node)))


def assigned_names(body: Sequence[ast.AST]) -> set[str]:
    """The local names of a function, without its parameters and those of comprehensions."""
    names = set[str]()
    for node in _own_nodes(body):
        if isinstance(node, ast.FunctionDef | ast.ExceptHandler):
            names.update(filter(None, [node.name]))
        elif isinstance(node, ast.Assign):
            names.update(name for target in node.targets for name in names_in(target))
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr | ast.For):
            names.update(names_in(node.target))
        elif isinstance(node, ast.withitem) and node.optional_vars:
            names.update(names_in(node.optional_vars))
    return names


def names_in(target: ast.expr) -> Iterator[str]:
    """The names that a target of an assignment binds."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            yield from names_in(each)
    elif isinstance(target, ast.Starred):
        yield from names_in(target.value)


def suppressed_error(node: ast.expr) -> ast.expr | None:
    """The error of `suppress(...)`, which has one; None: the expression is another one."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.args[0] if node.func.id == "suppress" else None
    return None


def has_inner_star(target: ast.Tuple | ast.List) -> bool:
    """Whether a name with a star is not the last of a target."""
    return any(isinstance(each, ast.Starred) for each in target.elts[:-1])


def nonlocal_names(body: Sequence[ast.stmt]) -> set[str]:
    """The names of the functions around that a function assigns to."""
    return {
        name for node in _own_nodes(body) if isinstance(node, ast.Nonlocal) for name in node.names
    }


def yields_values(body: Sequence[ast.AST]) -> bool:
    """Whether a function is a generator."""
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(body))


def breaks_out(body: Sequence[ast.AST]) -> bool:
    """Whether a loop has a break of its own or of a loop inside."""
    return any(isinstance(node, ast.Break) for node in _own_nodes(body))


def is_condition(node: ast.expr) -> bool:
    """Whether an expression is true or false, in both languages."""
    if isinstance(node, ast.BoolOp):
        return all(map(is_condition, node.values))
    if isinstance(node, ast.Compare):
        return True
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bool)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("bool", "isinstance", "any", "all")
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def is_plain_number(node: ast.expr) -> bool:
    """Whether a value is a number, as far as its form shows."""
    if isinstance(node, ast.UnaryOp):
        return is_plain_number(node.operand)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("len", "ord", "int", "float", "abs", "round")
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def is_plain_value(node: ast.expr) -> bool:
    """Whether a value is a number or a text, for which operators mean the same."""
    return (
        is_plain_number(node)
        or _is_text(node)
        or (isinstance(node, ast.Constant) and node.value is None)
    )


def is_debugging(node: ast.expr) -> bool:
    """Whether an expression is a message for debugging."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "debug"
    return False


def is_type_subscript(node: ast.Subscript) -> bool:
    """Whether a subscript is that of a type, as in list[str]()."""
    names = ("list", "dict", "set", "tuple", "deque", "defaultdict", "frozenset", "Counter")
    return isinstance(node.value, ast.Name) and node.value.id in names
