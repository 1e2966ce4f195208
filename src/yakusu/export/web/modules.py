"""Modules of JavaScript as one script.

They are our own files, which use `import {a, b as c} from "./x.js"`, `import a from "./x.js"` and
`export` before a declaration of one name. Each becomes a function that returns what it exports.
"""

import re
from collections.abc import Iterable, Mapping

from yakusu.errors import ModelError

_IMPORT = re.compile(r'^import (?:(\w+)|\{([^}]*)\})\s+from "\./([\w-]+\.js)";$', re.M)
_EXPORT = re.compile(r"^export (?:default |((?:async )?function\*? ?|class |const )(\w+))", re.M)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.M)
_DOCUMENTATION = re.compile(r"^[ \t]*/\*\*[^*]*\*+(?:[^/*][^*]*\*+)*/[ \t]*$", re.M)


def one_script(files: Mapping[str, str], entry: str) -> str:
    """Join a module and those that it imports.

    Args:
        files: The text of each file.
        entry: The file to run.

    Raises:
        ModelError: A module is missing, lacks a name, imports itself by way of others, or has an
            import or an export of another form.
    """
    order = _in_order(files, entry)
    exported = {name: _exported(name, files[name]) for name in order}
    return "\n".join(['"use strict";', *(_block(name, files[name], exported) for name in order)])


def shortened(script: str) -> str:
    """A script without indentation and comments on lines of their own.

    None of its texts has several lines.
    """
    lines = map(str.strip, _DOCUMENTATION.sub("", script).splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _in_order(files: Mapping[str, str], entry: str) -> list[str]:
    """A module after those that it imports."""
    order: list[str] = []
    waiting: list[tuple[str, tuple[str, ...]]] = [(entry, ())]
    while waiting:
        name, users = waiting.pop()
        if name in users:
            raise ModelError(f"modules import each other: {', '.join((*users, name))}")
        if name not in files:
            raise ModelError(f"there is no module {name}, which {users[-1]} imports")
        order.append(name)
        waiting += [(match[3], (*users, name)) for match in _IMPORT.finditer(files[name])]
    return list(dict.fromkeys(reversed(order)))


def _exported(name: str, text: str) -> dict[str, str]:
    """The exported names of a module, and what they are called in it."""
    left = _LEFT.search(_EXPORT.sub("", _IMPORT.sub("", text)))
    if left:
        raise ModelError(f"{name} has an import or export of another form: {left[0]}")
    names = (match[2] for match in _EXPORT.finditer(text))
    return {own or "default": own or "exported" for own in names}


def _block(name: str, text: str, exported: Mapping[str, Mapping[str, str]]) -> str:
    """A module as a function that is called at once."""

    def imported(match: re.Match[str]) -> str:
        default, listed, file = match.groups()
        pairs = [("default", default)] if default else [*_pairs(listed.split(","))]
        for theirs, _ in pairs:
            if theirs not in exported[file]:
                raise ModelError(f"{name} imports {theirs}, which {file} does not export")
        return f"const {{{', '.join(f'{theirs}: {own}' for theirs, own in pairs)}}} = {_id(file)};"

    body = _IMPORT.sub(imported, text)
    body = _EXPORT.sub(
        lambda match: f"{match[1]}{match[2]}" if match[2] else "const exported = ", body
    )
    made = ", ".join(f"{theirs}: {own}" for theirs, own in exported[name].items())
    return f"const {_id(name)} = (() => {{\n{shortened(body)}\nreturn {{{made}}};\n}})();"


def _pairs(listed: Iterable[str]) -> Iterable[tuple[str, str]]:
    for each in filter(None, map(str.strip, listed)):
        theirs, _, own = each.partition(" as ")
        yield theirs, own or theirs


def _id(name: str) -> str:
    return "$" + re.sub(r"\W", "_", name.removesuffix(".js"))
