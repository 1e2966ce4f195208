"""The data of a translator in a browser: sizes, weights and vocabularies, compressed with deflate.

The last part are arrays; the header says where each begins, of which kind it is, and how long it
is.
"""

import hashlib
import json
import unicodedata
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sentencepiece import sentencepiece_model_pb2 as protobuf

from yakusu.arrays import Array
from yakusu.data.pieces import WIDTHS, Pieces
from yakusu.export.web.script import settings_key
from yakusu.export.web.weights import RecordedPacking, WebMatrix
from yakusu.translator.translator import Translator

_ALIGNED = 8
_KINDS = {"float32": "f", "int8": "b", "uint8": "B"}


@dataclass(frozen=True)
class WebModel:
    """A translator for a browser.

    Attributes:
        name: The name of its file.
        translator: The translator.
        data: The file.
        card: The model card, in Markdown.
        receipt: The receipt; None: there is none.
    """

    name: str
    translator: Translator
    data: bytes
    card: str
    receipt: dict[str, Any] | None

    @property
    def key(self) -> str:
        """The start of the SHA-256 of the data."""
        return hashlib.sha256(self.data).hexdigest()[:16]

    @property
    def file(self) -> str:
        """The name of its file in a folder."""
        return f"{self.name}.bin"

    def about(self) -> dict[str, Any]:
        """What the page says about it; see page/host.js."""
        source, target = self.translator.languages
        return {
            **{"key": self.key, "name": self.name, "source": source, "target": target},
            **{"bytes": len(self.data), "card": self.card, "receipt": self.receipt},
        }


@dataclass
class ModelFile:
    """The content of a model's file."""

    packing: RecordedPacking
    translator: Translator
    _arrays: bytearray = field(default_factory=bytearray)

    def packed(self) -> bytes:
        """The file."""
        header = json.dumps(self._header(), ensure_ascii=False, separators=(",", ":")).encode()
        start = len(header).to_bytes(4, "little") + header
        return zlib.compress(_padded(start) + bytes(self._arrays), level=9)

    def _header(self) -> dict[str, Any]:
        tokenizer = self.translator.tokenizer
        sides = [tokenizer.src, *([] if tokenizer.src is tokenizer.tgt else [tokenizer.tgt])]
        coverage = tokenizer.coverage
        return {
            "settings": settings_key(self.translator),
            "model": self._model(),
            "pieces": list(map(self._pieces, sides)),
            "coverage": coverage.model_dump() if coverage else None,
            "language": tokenizer.language,
            "longest": self.translator.max_source_tokens,
        }

    def _stored(self, array: Array) -> tuple[str, int, int]:
        """The kind of an array, where it begins, and its length."""
        array = np.ascontiguousarray(array)
        place = len(self._arrays)
        self._arrays += _padded(array.tobytes())
        return _KINDS[array.dtype.name], place, array.size

    # ---- the model -----------------------------------------------------------------------------

    def _model(self) -> dict[str, Any]:
        packing, config = self.packing, self.packing.config
        return {
            "sizes": packing.size_fields(),
            "format": int(packing.matrices),
            "n_target": self.translator.tokenizer.tgt_vocab_size - 1,
            "n_positions": packing.n_positions,
            "n_heads": config.n_heads,
            "depths": config.depths,
            "source_eos": config.source_eos,
            "matrices": list(map(self._matrix, packing.stored)),
            "vectors": self._vectors(),
        }

    def _matrix(self, matrix: WebMatrix) -> dict[str, Any]:
        return {
            "n_out": matrix.n_out,
            "n_in": matrix.n_in,
            **{name: self._stored(getattr(matrix, name)) for name in ("bias", "rows", "scales")},
        }

    def _vectors(self) -> list[Any]:
        """The vectors; the tables of sinusoids are computed again."""
        packing, config = self.packing, self.packing.config
        vectors = list[Any](map(self._stored, packing.vectors[2:]))
        if config.positions == "sinusoidal" and not config.counts_words:
            rule = (packing.n_positions, config.d_model, config.position_divisor)
            return [{"sinusoids": rule}, {"sinusoids": rule}, *vectors]
        return [*map(self._stored, packing.vectors[:2]), *vectors]

    # ---- vocabularies --------------------------------------------------------------------------

    def _pieces(self, side: Pieces) -> dict[str, Any]:
        model = protobuf.ModelProto.FromString(side.proto)  # type: ignore[attr-defined]
        rules, trainer = model.normalizer_spec, model.trainer_spec
        flags = rules.add_dummy_prefix, rules.remove_extra_whitespaces, rules.escape_whitespaces
        scores = np.array([piece.score for piece in model.pieces], np.float32)
        types = np.array([piece.type for piece in model.pieces], np.uint8)
        return {
            "pieces": [side.piece(i) for i in range(len(side))],
            "languages": side.language_tokens,
            "widths": _widths(),
            "segmenter": {
                "pieces": [piece.piece for piece in model.pieces],
                "scores": self._stored(scores),
                "types": self._stored(types),
                "charsmap": self._stored(np.frombuffer(rules.precompiled_charsmap, np.uint8)),
                "unknown": trainer.unk_surface,
                "flags": [int(trainer.model_type == trainer.UNIGRAM), *map(int, flags)],
            },
        }


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNED)


def _widths() -> str:
    """The full-width and half-width forms of characters."""
    every = map(chr, range(0x3000, 0x10000))
    return "".join(c for c in every if unicodedata.decomposition(c).partition(" ")[0] in WIDTHS)
