"""The compiled library: its functions, and the structures of native/*.h."""

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_void_p
from functools import cache
from pathlib import Path

from yakusu.engine.compile import library_name
from yakusu.errors import ModelError

FOLDER = Path(__file__).parent


class Config(Structure):
    """The sizes of a model; see native/engine.h."""

    _fields_ = [  # noqa: RUF012
        *(
            (name, c_int32)
            for name in (
                "d_model n_heads d_k d_v d_ff n_encoder_layers n_decoder_layers src_vocab_size "
                "tgt_vocab_size n_positions pre_norm activation int8 tied_source tied_output start "
                "eos unk"
            ).split()
        ),
        ("score_scale", c_float),
        ("embedding_scale", c_float),
        ("epsilon", c_float),
    ]


class Matrix(Structure):
    """A matrix in rows, both sizes multiples of 16; see native/pack.h."""

    _fields_ = [("rows", c_void_p), ("bias", c_void_p), ("n_out", c_int32), ("n_in", c_int32)]  # noqa: RUF012


class Settings(Structure):
    """Settings of a search; see native/search.h."""

    _fields_ = [  # noqa: RUF012
        *((name, c_int32) for name in ("beam", "n_best", "limit", "repeats", "no_repeat_ngram")),
        ("margin", c_double),
        ("alpha", c_double),
    ]


class Finished(Structure):
    """A finished hypothesis."""

    _fields_ = [  # noqa: RUF012
        ("tokens", POINTER(c_int32)),
        ("n", c_int),
        ("log_prob", c_double),
        ("score", c_double),
    ]


class Search(Structure):
    """The search for a sentence."""

    _fields_ = [  # noqa: RUF012
        ("settings", Settings),
        ("length", c_int),
        ("open", c_void_p),
        ("spare", c_void_p),
        ("n_open", c_int),
        ("found", POINTER(Finished)),
        ("n_found", c_int),
    ]
