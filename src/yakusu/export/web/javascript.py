"""The syntax of Python -> the syntax of JavaScript, for one function or class at a time.

def longer(texts: list[str]) -> list[str]:
    return [text for text in texts if len(text) > 1]

function longer(texts) {return $.list(texts, (text) => text, (text) => ($.len(text) > 1));}
"""

import ast
from collections.abc import Iterable, Sequence

from yakusu.export.web.expressions import Expressions
from yakusu.export.web.syntax import (
    all_arguments,
    assigned_names,
    breaks_out,
    has_inner_star,
    is_debugging,
    is_plain_value,
    nonlocal_names,
    suppressed_error,
    yields_values,
)


class Transpiler(Expressions):
    """Translates the functions and methods of one module."""

    # ---- functions -----------------------------------------------------------------------------

    def function(
        self, node: ast.FunctionDef, name: str, *, head: str = "", instance: bool = False
    ) -> str:
        """A function, or a method if `head` is "method", "static", "get" or "set"."""
        given = [*node.args.posonlyargs, *node.args.args]
        first = f"const {self._local(given[0].arg)} = this;" if instance else ""
        names = {arg.arg for arg in all_arguments(node.args)}
        own = assigned_names(node.body) - names
        self._locals.append(names | own)
        parameters = ", ".join(
            self._parameters(node.args, skip=1 if instance or head == "static" else 0)
        )
        body = first + self._declared(own - nonlocal_names(node.body)) + self.block(node.body)
        self._locals.pop()
        star = "*" if yields_values(node.body) else ""
        if head in ("get", "set"):
            return f"{head} {name}({parameters}) {{{body}}}"
        if head:
            return f"{'static ' if head == 'static' else ''}{star}{name}({parameters}) {{{body}}}"
        return f"function{star} {name}({parameters}) {{{body}}}"

    def _declared(self, names: Iterable[str]) -> str:
        listed = ", ".join(map(self._local, sorted(names)))
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
        is_nothing = isinstance(node.value, ast.Constant) or is_debugging(node.value)
        return "" if is_nothing else f"{self.value(node.value)};"

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
        if isinstance(target, ast.Tuple | ast.List) and has_inner_star(target):
            return self._assigned_around(target, value)
        return f"{self._target(target)} = {value};"

    def _assigned_around(self, target: ast.Tuple | ast.List, value: str) -> str:
        """Assign to names of which one with a star is not the last."""
        star = next(i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred))
        n_after = len(target.elts) - star - 1
        middle = self._target(target.elts[star]).removeprefix("...")
        sides = [self._target(e) for e in (*target.elts[:star], *target.elts[star + 1 :])]
        return f"[{', '.join(sides)}, {middle}] = $.around({value}, {star}, {n_after});"

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
        plain = is_plain_value(node.value)
        made = self._operation(kind, target, self.value(node.value), native=plain)
        if kind in (ast.Add, ast.BitOr) and not plain:
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
        loop = f"while ({self.test(node.test)}) {{{self.block(node.body)}}}"
        return self._with_else(node, loop)

    def _with_else(self, node: ast.For | ast.While, loop: str) -> str:
        """A loop with what follows it if nothing breaks out of it."""
        if not node.orelse:
            return loop
        if not breaks_out(node.body):
            raise self._refuse(node)
        return f"$found: {{{loop.replace('break;', 'break $found;')} {self.block(node.orelse)}}}"

    def _do_for(self, node: ast.For) -> str:
        body = self.block(node.body)
        if isinstance(node.target, ast.Tuple) and has_inner_star(node.target):
            target, body = "const $one", self._assigned_around(node.target, "$one") + body
        else:
            target = self._target(node.target)
        return self._with_else(node, f"for ({target} of {self.value(node.iter)}) {{{body}}}")

    def _do_with(self, node: ast.With) -> str:
        made = self.block(node.body)
        for item in reversed(node.items):
            if (error := suppressed_error(item.context_expr)) is not None:
                test = f"$e instanceof {self.value(error)}"
                made = f"try {{{made}}} catch ($e) {{if (!({test})) throw $e;}}"
                continue
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
        if node.finalbody:
            raise self._refuse(node)
        handlers = [self._handler(handler) for handler in node.handlers]
        caught = f"{' else '.join(handlers)} else throw $e;"
        body = self.block(node.body)
        if not node.orelse:
            return f"try {{{body}}} catch ($e) {{{caught}}}"
        tried = f"let $done = false; try {{{body} $done = true;}} catch ($e) {{{caught}}}"
        return f"{{{tried} if ($done) {{{self.block(node.orelse)}}}}}"

    def _handler(self, node: ast.ExceptHandler) -> str:
        assert node.type
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        test = " || ".join(f"$e instanceof {self.value(kind)}" for kind in kinds)
        named = f"{self._local(node.name)} = $e;" if node.name else ""
        return f"if ({test}) {{{named}{self.block(node.body)}}}"

    def _do_functiondef(self, node: ast.FunctionDef) -> str:
        made = self.function(node, self._local(node.name))
        return f"{self._local(node.name)} = {made};"
