"""The files of the original Marian: arrays in .npz, options and vocabularies in YAML.

Sizes are checked before memory is allocated, nothing is unpickled, and YAML is read as events,
because libyaml's own composer exhausts the stack with deeply nested lists. Marian's YAML is that of
version 1.2, and libyaml's that of 1.1, in which U+0085 and U+2028 end a line; a noncharacter stands
for each character in which they differ.
"""

import re
import weakref
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from yakusu.arrays import BROKEN_ARRAYS, Array
from yakusu.errors import ModelError
from yakusu.folder import downloaded, open_regular

Option = str | list[str]
_MAX_DEPTH = 8  # of lists in lists; libyaml needs quadratic time for more
_NOT_IN_1_1 = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NONCHARACTERS = (*range(0xFDD0, 0xFDF0), *range(0x1FFFE, 0x110000, 0x10000))
_MAX_RATIO = 20  # of unpacked to packed size; Marian does not compress


class NpzArrays(Mapping[str, Array]):
    """The arrays of an .npz file, each read when it is accessed.

    Raises:
        ModelError: The file is missing or is not a valid .npz file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            opened = open_regular(downloaded(path))
            weakref.finalize(self, opened.close)
            self._file = zipfile.ZipFile(opened)
        except BROKEN_ARRAYS as error:
            raise self._invalid() from error
        entries = self._file.infolist()
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries}
        if sum(entry.file_size for entry in entries) > _MAX_RATIO * path.stat().st_size:
            raise ModelError(f"{path} would unpack to more than {_MAX_RATIO} times its size")

    def __getitem__(self, name: str) -> Array:
        """Read an array.

        Raises:
            ModelError: It is not valid.
        """
        entry = self._entries[name]
        try:
            with self._file.open(entry) as file:
                self._check_header(file, entry.file_size)
            with self._file.open(entry) as file:
                array: Array = np.lib.format.read_array(file, allow_pickle=False)
            return array
        except BROKEN_ARRAYS as error:
            raise self._invalid(name) from error

    def _check_header(self, file: Any, size: int) -> None:
        """Compare the size that a header promises with that of the entry.

        Raises:
            ValueError: They differ, or the array consists of Python objects.
        """
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read is None:
            raise ValueError(f"version {version}")
        shape, _, dtype = read(file)
        n_items = 1
        for length in shape:  # Python's integers cannot overflow
            n_items *= length
        if dtype.hasobject or min(shape, default=0) < 0:
            raise ValueError("not an array of numbers")
        if n_items * dtype.itemsize != size - file.tell():
            raise ValueError("truncated")

    def _invalid(self, name: str = "") -> ModelError:
        where = f"{self._path}: '{name}'" if name else str(self._path)
        return ModelError(f"{where} is not a valid .npz file of numbers: copy the model again")

    def __contains__(self, name: object) -> bool:
        return name in self._entries  # without reading it

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def read_yaml(content: bytes, path: Path) -> dict[str, Option]:
    """Read a mapping of YAML 1.2: scalars as strings, lists of scalars; anything deeper is ignored.

    Raises:
        ModelError: It is not valid YAML, or not a mapping.
    """
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # with libyaml, or without
    try:
        text = content.decode("utf-8-sig")
        stand_ins = _stand_ins(text)
        originals = {after: before for before, after in stand_ins.items()}
        return _mapping(yaml.parse(text.translate(stand_ins), Loader=loader), originals)
    except (yaml.YAMLError, ValueError, StopIteration) as error:
        raise ModelError(f"{path} is not a valid YAML file: copy the model again") from error


def _stand_ins(text: str) -> dict[int, int]:
    """Return a noncharacter that is not in the text for each character that YAML 1.1 lacks."""
    special = sorted({ord(character) for character in _NOT_IN_1_1.findall(text)})
    unused = (point for point in _NONCHARACTERS if chr(point) not in text)
    return dict(zip(special, unused, strict=False))


def _mapping(events: Iterator[Any], originals: Mapping[int, int]) -> dict[str, Option]:
    """Return the mapping of a document.

    Args:
        events: What a parser yields.
        originals: The character that each noncharacter stands for.

    Raises:
        ValueError: The document is not a mapping, or has aliases.
        StopIteration: It is empty.
    """
    from yaml import (
        AliasEvent,
        CollectionEndEvent,
        CollectionStartEvent,
        MappingStartEvent,
        ScalarEvent,
    )

    next(events), next(events)  # the starts of the stream and the document
    if not isinstance(next(events), MappingStartEvent):
        raise ValueError
    found: dict[str, Option] = {}
    key, items, depth = None, list[str](), 0
    for event in events:
        if isinstance(event, CollectionStartEvent):
            depth += 1
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
            if depth < 0:
                return found
            if depth == 0 and key is not None:
                found[key], key, items = items, None, []
        elif isinstance(event, ScalarEvent) and depth < 2:
            value = event.value.translate(originals)
            if depth:
                items.append(value)
            elif key is None:
                key = value
            else:
                found[key], key = value, None
        if depth > _MAX_DEPTH or isinstance(event, AliasEvent) or (depth and key is None):
            raise ValueError
    raise ValueError
