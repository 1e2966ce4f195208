"""The compiled library: its functions, and the structures of native/*.h."""

import ctypes
import os
import sys
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_void_p,
)
from functools import cache
from pathlib import Path
from struct import unpack_from

from yakusu.errors import ModelError

# As `library_name` in compile.py, which takes time to import.
_SUFFIX = {"win32": "dll", "darwin": "dylib"}.get(sys.platform, "so")
PATH = Path(__file__).with_name(f"libyakusu.{_SUFFIX}")
REPAIR = "install yakusu again with a C compiler or the package ziglang"
LANES = 16  # widths are multiples of it
MAX_MEMBERS = 16  # of an ensemble
PROPOSALS = 256  # see native/session.h
NOT_FINITE, PACKED = 0, 1  # see native/pack.h
VARIABLE = "YAKUSU_INSTRUCTION_SET"  # environment variable


class Config(Structure):
    """The sizes of a model; see native/engine.h."""

    _fields_ = (
        *(
            (name, c_int32)
            for name in [
                "d_model",
                "n_heads",
                "d_k",
                "d_v",
                "d_ff",
                "n_encoder_layers",
                "n_decoder_layers",
                "src_vocab_size",
                "tgt_vocab_size",
                "n_positions",
                "pre_norm",
                "activation",
                "int8",
                "tied_source",
                "tied_output",
                "start",
                "eos",
                "unk",
            ]
        ),
        ("score_scale", c_float),
        ("embedding_scale", c_float),
        ("epsilon", c_float),
    )


class Settings(Structure):
    """Settings of a search; see native/search.h."""

    _fields_ = (
        *((name, c_int32) for name in ("beam", "n_best", "limit", "repeats")),
        ("no_repeat_ngram", c_int32),
        ("traced", c_int32),
        ("margin", c_double),
        ("alpha", c_double),
    )


class Finished(Structure):
    """A finished hypothesis; see native/search.h."""

    _fields_ = (
        ("tokens", POINTER(c_int32)),
        ("n", c_int),
        ("log_prob", c_double),
        ("score", c_double),
    )


class Traced(Structure):
    """What became of an extension; see native/search.h."""

    _fields_ = (
        ("log_prob", c_double),
        ("parent", c_int32),
        ("token", c_int32),
        ("score", c_double),
        ("step", c_int32),
        ("fate", c_int32),
    )


class Search(Structure):
    """The search for a sentence; see native/search.h."""

    _fields_ = (
        ("settings", Settings),
        ("length", c_int),
        ("open", c_void_p),
        ("spare", c_void_p),
        ("n_open", c_int),
        ("found", POINTER(Finished)),
        ("n_found", c_int),
        ("trace", POINTER(Traced)),
        ("n_traced", c_int),
        ("trace_capacity", c_int),
    )


class Spelling(Structure):
    """The characters that byte tokens may spell; see native/session.h."""

    _fields_ = (("next", c_void_p), ("tokens", c_void_p), ("byte_of", c_void_p))


class Record(Structure):
    """What is recorded while a given target is decoded; see native/session.h."""

    _fields_ = (
        ("n_alternatives", c_int32),
        *(
            (name, c_void_p)
            for name in [
                "log_probs",
                "alternatives",
                "of_alternatives",
                "encoder",
                "decoder",
                "cross",
            ]
        ),
    )


class Guide(Structure):
    """Functions that a search calls; see native/session.h."""

    restrict_type = CFUNCTYPE(None, c_int64, c_int, c_int, c_void_p, c_void_p)
    order_type = CFUNCTYPE(None, c_int64, c_int, c_void_p)
    draw_type = CFUNCTYPE(None, c_int64, c_int, c_int, c_void_p, c_void_p)
    follow_type = CFUNCTYPE(None, c_int64, c_int, c_void_p, c_void_p)
    _fields_ = (
        ("restrict", restrict_type),
        ("order", order_type),
        ("draw", draw_type),
        ("follow", follow_type),
    )


# Session, key, source and its length, prefix or target and its length.
_SENTENCE = (c_void_p, c_int64, c_void_p, c_int, c_void_p, c_int)
_FUNCTIONS = {  # name: result, arguments
    "yk_kernels": (c_void_p, c_char_p),
    "yk_name": (c_char_p, c_void_p),
    "yk_matrix": (c_void_p, c_int, c_int, c_void_p, c_int),
    "yk_free_matrix": (None, c_void_p),
    "yk_pack": (c_int, c_void_p, c_int, c_void_p, c_int),
    "yk_model": (c_void_p, POINTER(Config), POINTER(c_void_p), POINTER(c_void_p)),
    "yk_free_model": (None, c_void_p),
    "yk_session": (
        c_void_p,
        POINTER(c_void_p),
        c_int,
        c_void_p,
        c_int,
        c_void_p,
        POINTER(Spelling),
        POINTER(Guide),
    ),
    "yk_free_session": (None, c_void_p),
    "yk_search": (c_int, *_SENTENCE, POINTER(Settings), c_int),
    "yk_score": (c_int, *_SENTENCE, POINTER(Record)),
    "yk_advance": (c_int, c_void_p, c_double),
    "yk_cancel": (c_int, c_void_p, c_int64),
    "yk_interface": (c_int, c_int),
    "yk_next": (POINTER(Search), c_void_p, POINTER(c_int64)),
}


# As in native/interface.c.
_STRUCTURES = (Config, Settings, Finished, Search, Traced, Spelling, Record, Guide)
_VERSION = 2  # changes with the meaning of an argument and with the layout of weights
_INTERFACE = (_VERSION, LANES, MAX_MEMBERS, PROPOSALS, *map(ctypes.sizeof, _STRUCTURES))


def why_unavailable() -> str | None:
    """The reason why the library cannot be used, such as "was not compiled ..."; None: it can."""
    found = _loaded(PATH)
    return found if isinstance(found, str) else None


def library() -> ctypes.CDLL:
    """The library.

    Raises:
        ModelError: It was not compiled, or it cannot be loaded.
    """
    found = _loaded(PATH)
    if isinstance(found, str):
        raise ModelError(f"the native engine {found}: {REPAIR}, or use --engine torch")
    return found


@cache
def _loaded(path: Path) -> ctypes.CDLL | str:
    """The library, or why it cannot be used."""
    if not path.exists():
        return "was not compiled when yakusu was installed"
    try:
        if _is_truncated(path):
            return f"cannot be loaded ({path} is truncated)"
        loaded = ctypes.CDLL(str(path))
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
        numbers = tuple(map(loaded.yk_interface, range(len(_INTERFACE))))
    except OSError as error:
        return f"cannot be loaded ({error})"
    except AttributeError:  # a function is missing
        numbers = ()
    return loaded if numbers == _INTERFACE else f"was compiled from other sources ({path})"


def _is_truncated(path: Path) -> bool:
    """Whether an ELF file lacks its end, the table of sections: loading it would crash."""
    with path.open("rb") as file:
        header, size = file.read(64), file.seek(0, os.SEEK_END)
    if len(header) < 64 or header[:5] != b"\x7fELF\x02":
        return False  # if the file is not valid, the system refuses to load it
    (begin,), (entry, n) = unpack_from("<Q", header, 0x28), unpack_from("<HH", header, 0x3A)
    end: int = begin + entry * n
    return size < end


def instruction_set() -> str:
    """The instruction set that sessions use: that of $YAKUSU_INSTRUCTION_SET, or the fastest.

    Raises:
        ModelError: This processor does not support the one of the environment variable.
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
    """The instruction sets that the library can use on this processor, the fastest first."""
    names = ("avx512vnni", "avxvnni", "avx2", "dotprod", "generic")
    return [name for name in names if library().yk_kernels(name.encode())]
