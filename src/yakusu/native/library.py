"""The compiled library: loading it, declaring its functions, and its instruction sets."""

import ctypes
import os
import sys
from collections.abc import Mapping
from ctypes import c_char_p, c_void_p
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from struct import unpack_from
from typing import Any

from yakusu.errors import ModelError

# As `library_name` in compile.py, which takes time to import.
_SUFFIX = {"win32": "dll", "darwin": "dylib"}.get(sys.platform, "so")
PATH = Path(__file__).with_name(f"libyakusu.{_SUFFIX}")
VERSION = 8  # as in interface.c; changes with the meaning of an argument and the layout of weights
REPAIR = "install yakusu again with a C compiler or the package ziglang"
VARIABLE = "YAKUSU_INSTRUCTION_SET"  # environment variable


@dataclass(frozen=True, eq=False)
class Functions:
    """Functions of the library, with their types, as one package calls them.

    Args:
        user: What calls them, for error messages.
        signatures: The type of the result and those of the arguments, by name.
        quick: Names of those that take some microseconds. They keep Python's lock: where other
            threads wait for it, getting it back takes longer.
        numbers: Constants and sizes of structures, which must be those that follow the version in
            interface.c.
        repair: What to do if the library cannot be used.
    """

    user: str
    signatures: Mapping[str, tuple[Any, ...]]
    quick: frozenset[str] = frozenset()
    numbers: tuple[int, ...] = ()
    repair: str = REPAIR

    def why_unavailable(self) -> str | None:
        """The reason why they cannot be called, such as "was not compiled ..."; None: they can."""
        found = _declared(self, PATH)
        return found if isinstance(found, str) else None

    def library(self) -> ctypes.CDLL:
        """The library, in which the types of these functions are declared.

        Raises:
            ModelError: It was not compiled, or it cannot be loaded.
        """
        found = _declared(self, PATH)
        if isinstance(found, str):
            raise ModelError(f"the {self.user} {found}: {self.repair}")
        return found


@cache
def _declared(functions: Functions, path: Path) -> ctypes.CDLL | str:
    """The library with functions, or why they cannot be called."""
    loaded = _loaded(path)
    if isinstance(loaded, str):
        return loaded
    expected = (VERSION, *functions.numbers)
    keeping_lock = ctypes.PyDLL(str(path), handle=loaded._handle)
    try:
        for name, (result, *arguments) in functions.signatures.items():
            function = getattr(keeping_lock if name in functions.quick else loaded, name)
            function.restype, function.argtypes = result, arguments
            setattr(loaded, name, function)
        numbers = tuple(map(loaded.yk_interface, range(len(expected))))
    except AttributeError:  # a function is missing
        numbers = ()
    return loaded if numbers == expected else f"was compiled from other sources ({path})"


@cache
def _loaded(path: Path) -> ctypes.CDLL | str:
    """The library, or why it cannot be loaded."""
    if not path.exists():
        return "was not compiled when yakusu was installed"
    try:
        if _is_truncated(path):
            return f"cannot be loaded ({path} is truncated)"
        return ctypes.CDLL(str(path))
    except OSError as error:
        return f"cannot be loaded ({error})"


def _is_truncated(path: Path) -> bool:
    """Whether an ELF file lacks its end, the table of sections: loading it would crash."""
    with path.open("rb") as file:
        header, size = file.read(64), file.seek(0, os.SEEK_END)
    if len(header) < 64 or header[:5] != b"\x7fELF\x02":
        return False  # if the file is not valid, the system refuses to load it
    (begin,), (entry, n) = unpack_from("<Q", header, 0x28), unpack_from("<HH", header, 0x3A)
    end: int = begin + entry * n
    return size < end


# ---- instruction sets --------------------------------------------------------------------------

_KERNELS = Functions("compiled library", {"yk_kernels": (c_void_p, c_char_p)})


def instruction_set() -> str:
    """The instruction set to use: that of $YAKUSU_INSTRUCTION_SET, or the fastest.

    Raises:
        ModelError: This processor does not support the one of the environment variable, or the
            library cannot be used.
    """
    names = instruction_sets()
    name = os.environ.get(VARIABLE) or names[0]
    if name not in names:
        raise ModelError(
            f"{VARIABLE} is '{name}', which this processor does not support: set it to "
            f"{' or '.join(names)}, or unset it"
        )
    return name


def instruction_sets() -> list[str]:
    """The instruction sets that the library can use on this processor, the fastest first.

    Raises:
        ModelError: The library cannot be used.
    """
    names = ("amx", "avx512vnni", "avxvnni", "avx2", "dotprod", "generic")
    return [name for name in names if kernels(name)]


def kernels(name: str) -> int | None:
    """The address of the kernels of an instruction set; None: this processor does not support it.

    Raises:
        ModelError: The library cannot be used.
    """
    found: int | None = _KERNELS.library().yk_kernels(name.encode())
    return found
