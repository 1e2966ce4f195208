"""Messages about settings in TOML: which key is wrong, where it was set, and how to correct it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails


def keys_of(fault: ErrorDetails, values: Any) -> list[str]:
    """Return the path of the key that a fault is about, as far as it exists in the settings.

    The entries of a list are numbered from 1: the source language of the second `[[data.others]]`
    is ["data", "others", "2", "source_language"].
    """
    keys = []
    for part in fault["loc"]:
        if isinstance(values, Mapping) and part in values:
            keys.append(str(part))
            values = values[part]
        elif isinstance(values, list) and isinstance(part, int):
            keys.append(str(part + 1))
            values = values[part]
    return keys


def place(keys: Sequence[str], text: str, name: str, overrides: Sequence[str]) -> str:
    """Return where a key was set: by --set, or in a line of the file.

    Args:
        keys: The path of the key.
        text: The file.
        name: Its name.
        overrides: The arguments of --set.
    """
    key = ".".join(keys)
    given = [override.partition("=")[0].strip() for override in overrides]
    if any(f"{key}.".startswith(f"{each}.") or each.startswith(f"{key}.") for each in given):
        return "--set"
    line = next(_lines_of(keys, text), None)
    return f"{name}, line {line}" if line else name


def _lines_of(keys: Sequence[str], text: str) -> Iterator[int]:
    """Yield the numbers of the lines that set a key or its group, or that begin its section."""
    section, entries = list[str](), Counter[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*(\[\[?)([\w.]+)\]", line):
            if header[1] == "[[":
                entries[header[2]] += 1
            section = _numbered(header[2], entries)
            if section == list(keys):
                yield number
        elif assigned := re.match(r"\s*([\w.]+)\s*=", line):
            path = [*section, *assigned[1].split(".")]
            if path == list(keys[: len(path)]):
                yield number


def _numbered(header: str, entries: Mapping[str, int]) -> list[str]:
    """Return the path of a section, with the numbers of the entries that it belongs to."""
    path, names = list[str](), list[str]()
    for name in header.split("."):
        names.append(name)
        number = entries.get(".".join(names))
        path += [name, str(number)] if number else [name]
    return path


def problem(fault: ErrorDetails, keys: Sequence[str]) -> str:
    """Return what is wrong with a value, and the fix."""
    key = ".".join(keys)
    match fault["type"]:
        case "value_error":
            return str(fault["ctx"]["error"])
        case "tuple_type" if isinstance(fault["input"], Mapping):
            return f"{key} is a list of groups of keys: write [[{key}]]"
        case "model_type" if keys[-1].isdigit():
            groups = ".".join(keys[:-1])
            return f"{groups} is a list of groups of keys: write [[{groups}]]"
        case "model_type":
            return f"{key} = {fault['input']!r} is a group of keys: write {key}.KEY = VALUE"
    message = fault["msg"][0].lower() + fault["msg"][1:].replace("tuple", "list")
    return f"{key} = {fault['input']!r}: {message}"
