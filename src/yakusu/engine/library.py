"""The functions of the compiled library that the engine calls, and the structures of native/*.h."""

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_void_p,
)
from enum import IntEnum

from yakusu.native.library import REPAIR, Functions

LANES = 16  # widths are multiples of it
MAX_MEMBERS = 16  # of an ensemble
PROPOSALS = 256  # see native/session.h
NOT_FINITE, PACKED = 0, 1  # see native/pack.h


class MatrixFormat(IntEnum):
    """Numbers of a matrix; see native/engine.h."""

    FLOAT32 = 0
    INT8 = 1
    INT16 = 2


class ModelSizes(Structure):
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
                "tied_source",
                "tied_output",
                "start",
                "eos",
                "unk",
                "counts_words",
            ]
        ),
        ("score_scale", c_float),
        ("embedding_scale", c_float),
        ("epsilon", c_float),
    )


class StoredArray(Structure):
    """An array of a model, and the number of zeros after it in a file; see native/pack.h."""

    _fields_ = (("at", c_void_p), ("size", c_size_t), ("zeros", c_size_t))

    def content(self) -> "ctypes.Array[c_char]":
        """Its bytes, not copied."""
        content: ctypes.Array[c_char] = (c_char * self.size).from_address(self.at)
        return content


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
        ("path", POINTER(c_double)),
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
        ("n_required", c_int),
        ("found", POINTER(Finished)),
        ("n_found", c_int),
        ("trace", POINTER(Traced)),
        ("n_traced", c_int),
        ("trace_capacity", c_int),
    )


class ByteSpelling(Structure):
    """The characters that byte tokens may spell; see native/session.h."""

    _fields_ = (("next", c_void_p), ("tokens", c_void_p), ("byte_of", c_void_p))


class CodebookStructure(Structure):
    """What maps hidden states to codes; see native/neighbours.h."""

    _fields_ = (
        ("axes", c_void_p),
        ("centroids", c_void_p),
        ("n_components", c_int32),
        *((name, c_float) for name in ("temperature", "reach", "weight")),
    )


class StatesStructure(Structure):
    """The states of similar segments; see native/neighbours.h."""

    _fields_ = (("n", c_int32), ("codes", c_void_p), ("tokens", c_void_p))


class SamplingStructure(Structure):
    """How tokens are drawn; see native/sampling.h."""

    _fields_ = (
        ("uniform", c_void_p),
        ("temperature", c_double),
        ("top_p", c_double),
        ("top_k", c_int32),
    )


class Requirements(Structure):
    """What applies to the search for one sentence; see native/session.h."""

    _fields_ = (
        ("guided", c_int32),
        ("n_required", c_int32),
        ("required", c_void_p),
        ("spelling", POINTER(ByteSpelling)),
        ("states", POINTER(StatesStructure)),
        ("n_shortlist", c_int32),
        ("shortlist", c_void_p),
        ("sampling", POINTER(SamplingStructure)),
    )


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
                "hidden",
                "codes",
            ]
        ),
    )


class Guide(Structure):
    """Functions that a search calls; see native/session.h."""

    restrict_type = CFUNCTYPE(None, c_int64, c_int, c_int, c_void_p, c_void_p)
    order_type = CFUNCTYPE(None, c_int64, c_int, c_void_p)
    follow_type = CFUNCTYPE(None, c_int64, c_int, c_void_p, c_void_p)
    _fields_ = (
        ("restrict", restrict_type),
        ("order", order_type),
        ("follow", follow_type),
    )


# Session, key, source and its length, prefix or target and its length.
_SENTENCE = (c_void_p, c_int64, c_void_p, c_int, c_void_p, c_int)
_SIGNATURES = {  # name: result, arguments
    "yk_matrix": (c_void_p, c_int, c_int, c_void_p, c_int),
    "yk_free_matrix": (None, c_void_p),
    "yk_pack": (c_int, c_void_p, c_int, c_void_p, c_int),
    "yk_model": (c_void_p, POINTER(ModelSizes), POINTER(c_void_p), POINTER(c_void_p)),
    "yk_free_model": (None, c_void_p),
    "yk_arrays": (c_int, c_void_p, POINTER(StoredArray)),
    "yk_mapped": (c_void_p, POINTER(ModelSizes), c_void_p, c_size_t),
    "yk_free_mapped": (None, c_void_p),
    "yk_session": (
        c_void_p,
        POINTER(c_void_p),
        c_int,
        c_void_p,
        c_int,
        c_void_p,
        POINTER(ByteSpelling),
        POINTER(Guide),
        c_int,
        POINTER(CodebookStructure),
    ),
    "yk_free_session": (None, c_void_p),
    "yk_search": (c_int, *_SENTENCE, POINTER(Settings), POINTER(Requirements)),
    "yk_score": (c_int, *_SENTENCE, POINTER(Record)),
    "yk_advance": (c_int, c_void_p, c_double),
    "yk_cancel": (c_int, c_void_p, c_int64),
    "yk_next": (POINTER(Search), c_void_p, POINTER(c_int64)),
}

# As in native/interface.c.
_STRUCTURES = (
    *(ModelSizes, Settings, Finished, Search, Traced, ByteSpelling),
    *(Requirements, Record, Guide, CodebookStructure, StatesStructure),
    *(SamplingStructure, StoredArray),
)
_FUNCTIONS = Functions(
    "native engine",
    _SIGNATURES,
    quick=frozenset({"yk_search", "yk_score", "yk_cancel", "yk_next"}),
    numbers=(LANES, MAX_MEMBERS, PROPOSALS, *map(ctypes.sizeof, _STRUCTURES)),
    repair=f"{REPAIR}, or use --engine torch",
)


def why_unavailable() -> str | None:
    """The reason why the engine cannot be used, such as "was not compiled ..."; None: it can."""
    return _FUNCTIONS.why_unavailable()


def library() -> ctypes.CDLL:
    """The library.

    Raises:
        ModelError: It was not compiled, or it cannot be loaded.
    """
    return _FUNCTIONS.library()
