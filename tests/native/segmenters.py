"""SentencePiece models in C: the functions of native/segmenter.h."""

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_float, c_int, c_int32, c_uint8, c_void_p
from typing import NamedTuple

import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2 as protobuf

from yakusu.native.library import Functions


class _Vocabulary(Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("text", "ends", "scores", "types", "charsmap", "unknown")),
        *((name, c_int32) for name in ("n", "n_charsmap", "n_unknown", "unigram")),
        *((name, c_int32) for name in ("dummy_prefix", "remove_extra_spaces", "escape_spaces")),
    )


class _Token(Structure):
    _fields_ = tuple((name, c_int32) for name in ("id", "begin", "end", "first", "last"))


class _Segmented(Structure):
    _fields_ = (
        ("bytes", c_void_p),
        ("tokens", POINTER(_Token)),
        ("n_bytes", c_int32),
        ("n", c_int32),
    )


FUNCTIONS = Functions(
    "segmenter",
    {
        "yk_segmenter": (c_void_p, POINTER(_Vocabulary)),
        "yk_free_segmenter": (None, c_void_p),
        "yk_encode": (POINTER(_Segmented), c_void_p, c_char_p, c_int),
        "yk_decode": (POINTER(_Segmented), c_void_p, POINTER(c_int32), c_int),
        "yk_free_segmented": (None, POINTER(_Segmented)),
    },
)


class Found(NamedTuple):
    """A text and its tokens, with bytes of the given text and of this one."""

    text: bytes
    ids: list[int]
    origins: list[tuple[int, int]]
    ranges: list[tuple[int, int]]


class Segmenter:
    """A SentencePiece model in C.

    Args:
        proto: The model.
        types: Types of pieces to replace, by id.
    """

    def __init__(self, proto: bytes, types: dict[int, int] | None = None) -> None:
        model = protobuf.ModelProto.FromString(proto)
        pieces, spec = [piece.piece.encode() for piece in model.pieces], model.normalizer_spec
        n, rules, ends = len(pieces), spec.precompiled_charsmap, list[int]()
        for piece in pieces:
            ends.append(len(piece) + (ends[-1] if ends else 0))
        kinds = [(types or {}).get(i, piece.type) for i, piece in enumerate(model.pieces)]
        unknown = model.trainer_spec.unk_surface.encode()
        self._arrays = (
            ctypes.create_string_buffer(b"".join(pieces)),
            (c_int32 * n)(*ends),
            (c_float * n)(*(piece.score for piece in model.pieces)),
            (c_uint8 * n)(*kinds),
            ctypes.create_string_buffer(rules, len(rules) + 1),
            ctypes.create_string_buffer(unknown),
        )
        vocabulary = _Vocabulary(
            *map(ctypes.addressof, self._arrays),
            *(n, len(rules), len(unknown), model.trainer_spec.model_type == 1),
            *(spec.add_dummy_prefix, spec.remove_extra_whitespaces, spec.escape_whitespaces),
        )
        self._library = FUNCTIONS.library()
        self._own = self._library.yk_segmenter(ctypes.byref(vocabulary))
        if not self._own:
            raise ValueError("not a vocabulary of yk_segmenter")

    def close(self) -> None:
        """Free the memory."""
        self._library.yk_free_segmenter(self._own)

    def encode(self, text: bytes) -> Found:
        """The normalised text, and its tokens."""
        return self._taken(self._library.yk_encode(self._own, text, len(text)))

    def decode(self, ids: list[int]) -> Found:
        """The decoded text, and what each id added to it."""
        return self._taken(self._library.yk_decode(self._own, (c_int32 * len(ids))(*ids), len(ids)))

    def _taken(self, found: "ctypes._Pointer[_Segmented]") -> Found:
        own = found.contents
        tokens = own.tokens[: own.n]
        result = Found(
            ctypes.string_at(own.bytes, own.n_bytes),
            [token.id for token in tokens],
            [(token.begin, token.end) for token in tokens],
            [(token.first, token.last) for token in tokens],
        )
        self._library.yk_free_segmented(found)
        return result


def difference(model: spm.SentencePieceProcessor, own: Segmenter, text: str) -> str:
    """What differs from SentencePiece for a text: "" or the name of the result."""
    data = text.encode()
    found, ids = own.encode(data), model.encode(text)
    if found.ids != ids:
        return "ids"
    if found.text.decode() != model.normalize(text):
        return "normalised text"
    if (
        _characters(data, found.origins)
        != model.encode(text, return_type="offset_mapping")["offsets"]
    ):
        return "origins"
    pieces = [
        model.id_to_piece(i) if model.is_byte(i) else found.text[begin:end].decode()
        for i, (begin, end) in zip(ids, found.ranges, strict=True)
    ]
    if pieces != model.encode(text, out_type=str):
        return "pieces"
    for some in (ids, ids[::-1], ids[1::2]):
        decoded, wanted = own.decode(some), model.decode(some, return_type="offset_mapping")
        if decoded.text.decode() != wanted["text"]:
            return "decoded text"
        if _characters(decoded.text, decoded.ranges) != wanted["offsets"]:
            return "decoded ranges"
    return ""


def _characters(text: bytes, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same ranges in characters."""
    return [(len(text[:begin].decode()), len(text[:end].decode())) for begin, end in ranges]
