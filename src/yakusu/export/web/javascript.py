"""The syntax of Python -> the syntax of JavaScript, for one function or class at a time.

    def longer(texts: list[str]) -> list[str]:
        return [text for text in texts if len(text) > 1]

    function longer(texts) {return $.list(texts, (text) => text, (text) => ($.len(text) > 1));}

What an operation of Python means depends on its values; where JavaScript means something else, the
operation is a function of the object `$` (`runtime.js`). What names mean is the bundle's to say.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence, Set
from string import ascii_lowercase
from typing import Protocol

from yakusu.errors import ModelError

# Parameters of built-in functions and methods, for calls that name them
_PARAMETERS = {
    "sorted": ("", "key", "reverse"),
    "sort": ("key", "reverse"),
    "sum": ("", "start"),
    "enumerate": ("", "start"),
    "accumulate": ("", "func", "initial"),
    "next": ("", "default"),
    "bisect_left": ("", "", "lo", "hi", "key"),
    "bisect_right": ("", "", "lo", "hi", "key"),
    "split": ("sep", "maxsplit"),
    "rsplit": ("sep", "maxsplit"),
    "splitlines": ("keepends",),
    "groupby": ("", "key"),
    "product": ("", "repeat"),
    "nlargest": ("", "", "key"),
    "sub": ("", "", "count", "", "pos"),
    "lru_cache": ("maxsize",),
    "zip_longest": ("", "", "fillvalue"),
    "model_copy": ("update",),
    "encode": ("encoding", "errors"),
    "decode": ("encoding", "errors"),
    "escape": ("", "quote"),
    "dumps": ("", "ensure_ascii"),
}
_DROPPED = frozenset(("strict", "maxsize", "timeout"))  # keywords that only check or limit
_EXTREMES = frozenset(("min", "max"))
_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Mod: "mod",
    ast.BitOr: "or",
    ast.BitAnd: "and",
    ast.FloorDiv: "floordiv",
}
_NATIVE = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitXor: "^",
    ast.BitOr: "|",
    ast.BitAnd: "&",
}
_ORDER = {ast.Lt: ("<", "lt"), ast.LtE: ("<=", "le"), ast.Gt: (">", "gt"), ast.GtE: (">=", "ge")}
_OF_PATTERNS = frozenset(("findall", "finditer", "fullmatch", "match", "search", "split", "sub"))
# What local names are called, which makes scripts shorter; global names are longer.
_SHORT = [
    *ascii_lowercase,
    *(a + b for a in ascii_lowercase for b in ascii_lowercase if a + b not in ("do", "if", "in")),
]


class Meanings(Protocol):
    """What the names of a function mean."""

    def name(self, name: str) -> str:
        """The JavaScript expression for a global or built-in name."""

    def attribute(self, base: str, name: str) -> str | None:
        """The expression for an attribute of a module or built-in type; None: it is a value."""

    def pattern(self, library: str, pattern: ast.expr) -> str:
        """The expression of a regular expression that is written in a call."""

    def parameters(self, function: ast.expr, named: Set[str]) -> Sequence[str] | None:
        """The parameters of what is called with some names, without self; None: unknown."""

    def is_class(self, name: str) -> bool:
        """Whether a global name is a class of the bundle."""

    def is_method(self, name: str) -> bool:
        """Whether values have a method of that name, so that reading it binds it."""

    def uses(self, name: str) -> None:
        """An attribute of that name is read."""


class Transpiler:
    """Translates the functions and methods of one module.

    Args:
        meanings: What names mean.
        where: What is translated, for messages.
    """

    def __init__(self, meanings: Meanings, where: str) -> None:
        self._meanings, self._where = meanings, where
        self._locals: list[set[str]] = []  # names of the functions around a place
        self._short: dict[str, str] = {}  # what they are called

    def _local(self, name: str) -> str:
        """What a local name is called."""
        return name if name == "cls" else self._short.setdefault(name, _SHORT[len(self._short)])

    def _refuse(self, node: ast.AST) -> ModelError:
        line = getattr(node, "lineno", 0)
        return ModelError(f"{self._where}: no translation for {ast.unparse(node)!r} (line {line})")

    # ---- functions -----------------------------------------------------------------------------

    def function(
        self, node: ast.FunctionDef, name: str, *, head: str = "", instance: bool = False
    ) -> str:
        """A function, or a method if `head` is "method", "static" or "get"."""
        given = [*node.args.posonlyargs, *node.args.args]
        first = f"const {self._local(given[0].arg)} = this;" if instance else ""
        names = {arg.arg for arg in _arguments(node.args)}
        own = _assigned(node.body) - names
        self._locals.append(names | own)
        parameters = ", ".join(
            self._parameters(node.args, skip=1 if instance or head == "static" else 0)
        )
        body = first + self._declared(own - _nonlocal(node.body)) + self.block(node.body)
        self._locals.pop()
        star = "*" if _yields(node.body) else ""
        if head == "get":
            return f"get {name}() {{{body}}}"
        if head:
            return f"{'static ' if head == 'static' else ''}{star}{name}({parameters}) {{{body}}}"
        return f"function{star} {name}({parameters}) {{{body}}}"

    def _parameters(self, args: ast.arguments, skip: int) -> Iterator[str]:
        given = [*args.posonlyargs, *args.args]
        n_required = len(given) - len(args.defaults)
        for number, arg in enumerate(given):
            default = args.defaults[number - n_required] if number >= n_required else None
            if number >= skip:
                yield self._parameter(arg, default)
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if not args.vararg:
                yield self._parameter(arg, default)
        if args.vararg:
            yield f"...{self._local(args.vararg.arg)}"

    def _parameter(self, arg: ast.arg, default: ast.expr | None) -> str:
        name = self._local(arg.arg)
        return name if default is None else f"{name} = {self.value(default)}"

    def _declared(self, names: Iterable[str]) -> str:
        listed = ", ".join(sorted(map(self._local, names)))
        return f"let {listed};" if listed else ""

    # ---- statements ----------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt]) -> str:
        """The statements of a block."""
        return "\n".join(filter(None, map(self._statement, body)))

    def _statement(self, node: ast.stmt) -> str:
        method = getattr(self, f"_do_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._refuse(node)
        return str(method(node))

    def _do_expr(self, node: ast.Expr) -> str:
        return "" if isinstance(node.value, ast.Constant) else f"{self.value(node.value)};"

    def _do_pass(self, node: ast.Pass) -> str:
        return ""

    def _do_assert(self, node: ast.Assert) -> str:
        return ""

    def _do_import(self, node: ast.Import) -> str:
        return ""

    def _do_importfrom(self, node: ast.ImportFrom) -> str:
        return ""

    def _do_nonlocal(self, node: ast.Nonlocal) -> str:
        return ""

    def _do_break(self, node: ast.Break) -> str:
        return "break;"

    def _do_continue(self, node: ast.Continue) -> str:
        return "continue;"

    def _do_return(self, node: ast.Return) -> str:
        return f"return {self.value(node.value)};" if node.value else "return null;"

    def _do_assign(self, node: ast.Assign) -> str:
        value = self.value(node.value)
        if len(node.targets) == 1:
            return self._assigned_to(node.targets[0], value)
        name, *others = (self._assigned_to(target, "$v") for target in node.targets)
        return f"{{const $v = {value}; {name} {' '.join(others)}}}"

    def _assigned_to(self, target: ast.expr, value: str) -> str:
        if isinstance(target, ast.Subscript):
            return f"$.put({self.value(target.value)}, {self._index(target.slice)}, {value});"
        if isinstance(target, ast.Tuple) and any(isinstance(e, ast.Subscript) for e in target.elts):
            each = (self._assigned_to(e, f"$all[{i}]") for i, e in enumerate(target.elts))
            return f"{{const $all = {value}; {' '.join(each)}}}"
        if isinstance(target, ast.Tuple | ast.List) and _has_inner_star(target):
            return self._assigned_around(target, value)
        return f"{self._target(target)} = {value};"

    def _assigned_around(self, target: ast.Tuple | ast.List, value: str) -> str:
        """Assign to names of which one with a star is not the last."""
        star = next(i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred))
        n_after = len(target.elts) - star - 1
        middle = self._target(target.elts[star]).removeprefix("...")
        sides = [self._target(e) for e in (*target.elts[:star], *target.elts[star + 1 :])]
        return f"[{', '.join(sides)}, {middle}] = $.around({value}, {star}, {n_after});"

    def _target(self, target: ast.expr) -> str:
        if isinstance(target, ast.Tuple | ast.List):
            return f"[{', '.join(map(self._target, target.elts))}]"
        if isinstance(target, ast.Starred):
            return f"...{self._target(target.value)}"
        if isinstance(target, ast.Name):
            return self._local(target.id)
        if isinstance(target, ast.Attribute):
            return f"{self.value(target.value)}.{target.attr}"
        raise self._refuse(target)

    def _do_annassign(self, node: ast.AnnAssign) -> str:
        return self._assigned_to(node.target, self.value(node.value)) if node.value else ""

    def _do_augassign(self, node: ast.AugAssign) -> str:
        kind = type(node.op)
        if isinstance(node.target, ast.Subscript):
            base, index = self.value(node.target.value), self._index(node.target.slice)
            made = self._operation(
                kind, f"$.at({base}, {index})", self.value(node.value), native=False
            )
            return f"$.put({base}, {index}, {made});"
        target = self._target(node.target)
        made = self._operation(kind, target, self.value(node.value), native=_is_plain(node.value))
        if kind in (ast.Add, ast.BitOr) and not _is_plain(node.value):
            made = (
                f"$.{'extend' if kind is ast.Add else 'merge'}({target}, {self.value(node.value)})"
            )
        return f"{target} = {made};"

    def _do_delete(self, node: ast.Delete) -> str:
        (target,) = node.targets
        if isinstance(target, ast.Name):
            return ""
        if not isinstance(target, ast.Subscript):
            raise self._refuse(node)
        return f"$.remove({self.value(target.value)}, {self._index(target.slice)});"

    def _do_if(self, node: ast.If) -> str:
        body, test = self.block(node.body), self.test(node.test)
        if not node.orelse:
            return f"if ({test}) {{{body}}}"
        other = self.block(node.orelse)
        return f"if ({test}) {{{body}}} else {{{other}}}"

    def _do_while(self, node: ast.While) -> str:
        if node.orelse:
            raise self._refuse(node)
        return f"while ({self.test(node.test)}) {{{self.block(node.body)}}}"

    def _do_for(self, node: ast.For) -> str:
        body = self.block(node.body)
        if isinstance(node.target, ast.Tuple) and _has_inner_star(node.target):
            target, body = "const $one", self._assigned_around(node.target, "$one") + body
        else:
            target = self._target(node.target)
        loop = f"for ({target} of {self.value(node.iter)}) {{{body}}}"
        if not node.orelse:
            return loop
        if not _breaks(node.body):
            raise self._refuse(node)
        return f"$found: {{{loop.replace('break;', 'break $found;')} {self.block(node.orelse)}}}"

    def _do_with(self, node: ast.With) -> str:
        made = self.block(node.body)
        for item in reversed(node.items):
            named = f"{self._target(item.optional_vars)} = " if item.optional_vars else ""
            opened = f"const $with = {self.value(item.context_expr)}; {named}$with.__enter__();"
            made = f"{{{opened} try {{{made}}} finally {{$with.__exit__();}}}}"
        return made

    def _do_raise(self, node: ast.Raise) -> str:
        if node.exc is None:
            return "throw $e;"
        made = self.value(node.exc)
        return f"throw {made};" if isinstance(node.exc, ast.Call) else f"throw new {made}();"

    def _do_try(self, node: ast.Try) -> str:
        if node.orelse or node.finalbody:
            raise self._refuse(node)
        handlers = [self._handler(handler) for handler in node.handlers]
        caught = f"{' else '.join(handlers)} else throw $e;"
        return f"try {{{self.block(node.body)}}} catch ($e) {{{caught}}}"

    def _handler(self, node: ast.ExceptHandler) -> str:
        assert node.type
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        test = " || ".join(f"$e instanceof {self.value(kind)}" for kind in kinds)
        named = f"{self._local(node.name)} = $e;" if node.name else ""
        return f"if ({test}) {{{named}{self.block(node.body)}}}"

    def _do_functiondef(self, node: ast.FunctionDef) -> str:
        made = self.function(node, self._local(node.name))
        return f"{self._local(node.name)} = {made};"

    # ---- expressions ---------------------------------------------------------------------------

    def value(self, node: ast.expr) -> str:
        """The expression for a value."""
        method = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._refuse(node)
        return str(method(node))

    def test(self, node: ast.expr) -> str:
        """The expression for a condition, whose value is true or false in JavaScript, too."""
        if isinstance(node, ast.BoolOp):
            operator = " && " if isinstance(node.op, ast.And) else " || "
            return f"({operator.join(map(self.test, node.values))})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!{self.test(node.operand)}"
        if _is_condition(node):
            return self.value(node)
        return f"$.bool({self.value(node)})"

    def _of_constant(self, node: ast.Constant) -> str:
        return literal(node.value)

    def _of_name(self, node: ast.Name) -> str:
        if any(node.id in names for names in self._locals):
            return self._local(node.id)
        if node.id in _EXTREMES:  # as a function of several arguments
            return f"((...all) => $.{node.id}(all))"
        return self._meanings.name(node.id)

    def _of_namedexpr(self, node: ast.NamedExpr) -> str:
        return f"({self._local(node.target.id)} = {self.value(node.value)})"

    def _of_tuple(self, node: ast.Tuple | ast.List) -> str:
        return f"[{', '.join(map(self.value, node.elts))}]"

    _of_list = _of_tuple

    def _of_starred(self, node: ast.Starred) -> str:
        return f"...{self.value(node.value)}"

    def _of_set(self, node: ast.Set) -> str:
        return f"$.set([{', '.join(map(self.value, node.elts))}])"

    def _of_dict(self, node: ast.Dict) -> str:
        pairs = (
            f"...{self.value(value)}.items()"
            if key is None
            else f"[{self.value(key)}, {self.value(value)}]"
            for key, value in zip(node.keys, node.values, strict=True)
        )
        return f"$.dict([{', '.join(pairs)}])"

    def _of_joinedstr(self, node: ast.JoinedStr) -> str:
        parts = (
            literal(part.value)[1:-1].replace("`", "\\`").replace("${", "\\${").replace('\\"', '"')
            if isinstance(part, ast.Constant)
            else f"${{{self._formatted(part)}}}"
            for part in node.values
        )
        return f"`{''.join(parts)}`"

    def _formatted(self, node: ast.expr) -> str:
        assert isinstance(node, ast.FormattedValue)
        value = self.value(node.value)
        if node.conversion == ord("r"):
            return f"$.repr({value})"
        if node.format_spec:
            return f"$.format({value}, {self.value(node.format_spec)})"
        return f"$.str({value})"

    def _of_boolop(self, node: ast.BoolOp) -> str:
        if all(map(_is_condition, node.values)):
            return self.test(node)
        *others, last = node.values
        made = self.value(last)
        for other in reversed(others):
            name = "both" if isinstance(node.op, ast.And) else "either"
            made = f"$.{name}({self.value(other)}, () => {made})"
        return made

    def _of_unaryop(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return f"!{self.test(node.operand)}"
        sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
        return f"({sign}{self.value(node.operand)})"

    def _of_binop(self, node: ast.BinOp) -> str:
        native = _is_plain(node.left) or _is_plain(node.right)
        if isinstance(node.op, ast.Mult):  # "ab" * 2
            native = _is_number(node.left) and _is_number(node.right)
        return self._operation(
            type(node.op), self.value(node.left), self.value(node.right), native=native
        )

    def _operation(self, kind: type[ast.operator], left: str, right: str, *, native: bool) -> str:
        if kind in _NATIVE and (native or kind not in _BINARY):
            return f"({left} {_NATIVE[kind]} {right})"
        return f"$.{_BINARY[kind]}({left}, {right})"

    def _of_compare(self, node: ast.Compare) -> str:
        if len(node.ops) == 1:
            return self._compared(node.ops[0], node.left, node.comparators[0])
        sides = [node.left, *node.comparators]
        each = (self._compared(op, *sides[i : i + 2]) for i, op in enumerate(node.ops))
        return f"({' && '.join(each)})"  # what stands in the middle has no effects

    def _compared(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> str:
        one, two = self.value(left), self.value(right)
        if isinstance(op, ast.In | ast.NotIn):
            return f"{'!' if isinstance(op, ast.NotIn) else ''}$.has({two}, {one})"
        if type(op) in _ORDER:
            sign, name = _ORDER[type(op)]
            native = _is_number(left) or _is_number(right)
            return f"({one} {sign} {two})" if native else f"$.{name}({one}, {two})"
        negated = isinstance(op, ast.IsNot | ast.NotEq)
        if isinstance(op, ast.Is | ast.IsNot):
            loose = isinstance(right, ast.Constant) and right.value is None
            return f"({one} {'!' if negated else '='}={'' if loose else '='} {two})"
        if _is_plain(left) or _is_plain(right):
            return f"({one} {'!' if negated else '='}== {two})"
        return f"{'!' if negated else ''}$.same({one}, {two})"

    def _of_ifexp(self, node: ast.IfExp) -> str:
        return f"({self.test(node.test)} ? {self.value(node.body)} : {self.value(node.orelse)})"

    def _of_lambda(self, node: ast.Lambda) -> str:
        self._locals.append({arg.arg for arg in _arguments(node.args)})
        made = f"(({', '.join(self._parameters(node.args, 0))}) => ({self.value(node.body)}))"
        self._locals.pop()
        return made

    def _of_yield(self, node: ast.Yield) -> str:
        return f"(yield {self.value(node.value) if node.value else 'null'})"

    def _of_yieldfrom(self, node: ast.YieldFrom) -> str:
        return f"(yield* {self.value(node.value)})"

    def _of_subscript(self, node: ast.Subscript) -> str:
        if _is_type(node):
            return self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            bounds = (node.slice.lower, node.slice.upper, node.slice.step)
            parts = [self.value(bound) if bound else "null" for bound in bounds]
            while parts[-1] == "null" and len(parts) > 1:
                parts.pop()
            return f"$.cut({self.value(node.value)}, {', '.join(parts)})"
        return f"$.at({self.value(node.value)}, {self._index(node.slice)})"

    def _index(self, node: ast.expr) -> str:
        """The place of a subscript that is assigned to or removed; a slice is a pair."""
        if not isinstance(node, ast.Slice):
            return self.value(node)
        ends = (self.value(end) if end else "null" for end in (node.lower, node.upper))
        return f"[{', '.join(ends)}]"

    def _of_attribute(self, node: ast.Attribute) -> str:
        if isinstance(node.value, ast.Name) and not any(node.value.id in n for n in self._locals):
            found = self._meanings.attribute(node.value.id, node.attr)
            if found is not None:
                return found
        self._meanings.uses(node.attr)
        if self._meanings.is_method(node.attr):
            return f'$.bound({self.value(node.value)}, "{node.attr}")'
        return f"{self.value(node.value)}.{node.attr}"

    # ---- calls ---------------------------------------------------------------------------------

    def _of_call(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Attribute):
            return self._method_call(function, node)
        if isinstance(function, ast.Name) and function.id == "cast":
            return self.value(node.args[1])
        if isinstance(function, ast.Name) and function.id == "isinstance":
            return self._instance_test(node)
        if isinstance(function, ast.Name) and function.id in _EXTREMES:
            return self._extreme(function.id, node)
        if isinstance(function, ast.Name) and function.id == "replace" and node.keywords:
            return self._replaced(node)
        if isinstance(function, ast.Name) and function.id == "partial" and node.keywords:
            return self._partial(node)
        new = "new " if self._makes(function) else ""
        return f"{new}{self.value(function)}({self._arguments(node)})"

    def _makes(self, function: ast.expr) -> bool:
        """Whether a call makes an object of a class."""
        if not isinstance(function, ast.Name):
            return False
        known = any(function.id in names for names in self._locals)
        return function.id == "cls" or (not known and self._meanings.is_class(function.id))

    def _method_call(self, function: ast.Attribute, node: ast.Call) -> str:
        base = function.value
        if (
            isinstance(base, ast.Call)
            and isinstance(base.func, ast.Name)
            and base.func.id == "super"
        ):
            return f"super.{function.attr}({self._arguments(node)})"
        if isinstance(base, ast.Name) and not any(base.id in names for names in self._locals):
            if base.id in ("re", "regex") and function.attr in _OF_PATTERNS:
                expression = self._meanings.pattern(base.id, node.args[0])
                others = ast.Call(function, node.args[1:], node.keywords)
                return f"{expression}.{function.attr}({self._arguments(others)})"
            found = self._meanings.attribute(base.id, function.attr)
            if found is not None:
                return f"{found}({self._arguments(node)})"
        if function.attr == "_replace":
            return self._replaced(ast.Call(function, [base], node.keywords))
        self._meanings.uses(function.attr)
        arguments = self._arguments(node)
        if self._meanings.is_method(function.attr):
            more = f", {arguments}" if arguments else ""
            return f'$.call({self.value(base)}, "{function.attr}"{more})'
        return f"{self.value(base)}.{function.attr}({arguments})"

    def _arguments(self, node: ast.Call) -> str:
        """The arguments in the order of the parameters."""
        given = [part for arg in node.args for part in _unpacked(arg)]
        made = list(map(self.value, given))
        named = {k.arg or "": k.value for k in node.keywords if k.arg not in _DROPPED}
        if not named:
            return ", ".join(made)
        name = str(getattr(node.func, "attr", "") or getattr(node.func, "id", ""))
        parameters = self._meanings.parameters(node.func, named.keys()) or _PARAMETERS.get(name)
        if parameters is None or not set(named) <= set(parameters):
            raise self._refuse(node)
        for parameter in parameters[len(made) :]:
            if not named:
                break
            value = named.pop(parameter, None)
            made.append("undefined" if value is None else self.value(value))
        return ", ".join(made)

    def _extreme(self, name: str, node: ast.Call) -> str:
        """A call of min or max, of several arguments or of one iterable."""
        named = {keyword.arg: self.value(keyword.value) for keyword in node.keywords}
        values = list(map(self.value, node.args))
        single = len(values) == 1 and not isinstance(node.args[0], ast.Starred)
        of = values[0] if single else f"[{', '.join(values)}]"
        more = [named.get("key", "null"), *([named["default"]] if "default" in named else [])]
        return f"$.{name}({of}{', ' + ', '.join(more) if named else ''})"

    def _replaced(self, node: ast.Call) -> str:
        """A call of dataclasses.replace, or of the method of a named tuple."""
        pairs = ", ".join(f"{k.arg}: {self.value(k.value)}" for k in node.keywords)
        return f"$.replace({self.value(node.args[0])}, {{{pairs}}})"

    def _partial(self, node: ast.Call) -> str:
        """A call of functools.partial with named arguments, at their places."""
        names = {keyword.arg or "" for keyword in node.keywords}
        parameters = list(self._meanings.parameters(node.args[0], names) or ())
        if not names <= set(parameters):
            raise self._refuse(node)
        named = (f"{parameters.index(k.arg or '')}: {self.value(k.value)}" for k in node.keywords)
        given = ", ".join(map(self.value, node.args[1:]))
        return f"$.filled({self.value(node.args[0])}, [{given}], {{{', '.join(named)}}})"

    def _instance_test(self, node: ast.Call) -> str:
        value, kinds = node.args
        names = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
        tests = (f"$.isinstance({self.value(value)}, {self.value(name)})" for name in names)
        return f"({' || '.join(tests)})"

    # ---- comprehensions ------------------------------------------------------------------------

    def _of_listcomp(self, node: ast.ListComp) -> str:
        return self._comprehension("list", node.elt, node.generators)

    def _of_setcomp(self, node: ast.SetComp) -> str:
        return f"$.set({self._comprehension('list', node.elt, node.generators)})"

    def _of_generatorexp(self, node: ast.GeneratorExp) -> str:
        return self._comprehension("lazy", node.elt, node.generators)

    def _of_dictcomp(self, node: ast.DictComp) -> str:
        pair = ast.Tuple([node.key, node.value], ast.Load())
        return f"$.dict({self._comprehension('list', pair, node.generators)})"

    def _comprehension(
        self, kind: str, element: ast.expr, generators: Sequence[ast.comprehension]
    ) -> str:
        first = self.value(generators[0].iter)
        names = {name for own in generators for name in _names_in(own.target)}
        self._locals.append(names)
        made = self._nested(kind, element, generators, first)
        self._locals.pop()
        return made

    def _nested(
        self, kind: str, element: ast.expr, generators: Sequence[ast.comprehension], first: str
    ) -> str:
        own, *others = generators
        target = self._target(own.target)
        if others:
            inner = self._nested(kind, element, others, self.value(others[0].iter))
            kind, made = f"flat_{kind}", inner
        else:
            made = self.value(element)
        tests = f", ({target}) => {' && '.join(map(self.test, own.ifs))}" if own.ifs else ""
        made = f"({made})" if made.startswith("{") else made
        return f"$.{kind}({first}, ({target}) => {made}{tests})"


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


def _arguments(args: ast.arguments) -> list[ast.arg]:
    more = [args.vararg] if args.vararg else []
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *more]


def _unpacked(arg: ast.expr) -> list[ast.expr]:
    """An argument, or those of a tuple with a star."""
    is_open = isinstance(arg, ast.Starred) and isinstance(arg.value, ast.Tuple)
    return arg.value.elts if is_open else [arg]  # type: ignore[attr-defined]


def _own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside; comprehensions belong to it."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            yield from _own_nodes(list(ast.iter_child_nodes(node)))


def _assigned(body: Sequence[ast.AST]) -> set[str]:
    """The local names of a function, without its parameters and those of comprehensions."""
    names = set[str]()
    for node in _own_nodes(body):
        if isinstance(node, ast.FunctionDef | ast.ExceptHandler):
            names.update(filter(None, [node.name]))
        elif isinstance(node, ast.Assign):
            names.update(name for target in node.targets for name in _names_in(target))
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr | ast.For):
            names.update(_names_in(node.target))
        elif isinstance(node, ast.withitem) and node.optional_vars:
            names.update(_names_in(node.optional_vars))
    return names


def _names_in(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            yield from _names_in(each)
    elif isinstance(target, ast.Starred):
        yield from _names_in(target.value)


def _has_inner_star(target: ast.Tuple | ast.List) -> bool:
    return any(isinstance(each, ast.Starred) for each in target.elts[:-1])


def _nonlocal(body: Sequence[ast.stmt]) -> set[str]:
    return {
        name for node in _own_nodes(body) if isinstance(node, ast.Nonlocal) for name in node.names
    }


def _yields(body: Sequence[ast.AST]) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(body))


def _breaks(body: Sequence[ast.AST]) -> bool:
    return any(isinstance(node, ast.Break) for node in _own_nodes(body))


def _is_condition(node: ast.expr) -> bool:
    """Whether an expression is true or false, in both languages."""
    if isinstance(node, ast.BoolOp):
        return all(map(_is_condition, node.values))
    if isinstance(node, ast.Compare):
        return True
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bool)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("bool", "isinstance", "any", "all")
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("len", "ord", "int", "float", "abs", "round")
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _is_plain(node: ast.expr) -> bool:
    """Whether a value is a number or a text, for which operators mean the same."""
    return (
        _is_number(node)
        or _is_text(node)
        or (isinstance(node, ast.Constant) and node.value is None)
    )


def _is_type(node: ast.Subscript) -> bool:
    """Whether a subscript is that of a type, as in list[str]()."""
    names = ("list", "dict", "set", "tuple", "deque", "defaultdict", "frozenset", "Counter")
    return isinstance(node.value, ast.Name) and node.value.id in names
