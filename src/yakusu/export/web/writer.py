"""The folder of a translator as an ES module.

yakusu.js            the script: `load(url)`
yakusu.d.ts          its types
engine.wasm          the engine with SIMD128, and engine-scalar.wasm without it
model.bin            sizes, weights and vocabularies, compressed with deflate
package.json         for npm

The last part of model.bin are arrays; the header says where each begins, of which kind it is, and
how long it is.
"""

import json
import unicodedata
import zlib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from sentencepiece import sentencepiece_model_pb2 as protobuf

from yakusu.arrays import Array
from yakusu.data.pieces import WIDTHS, Pieces
from yakusu.engine.config import EngineConfig
from yakusu.export.web.script import script_of
from yakusu.export.web.weights import RecordedPacking, WebMatrix
from yakusu.model.config import TransformerConfig
from yakusu.translator.folder.folder import ModelFolder
from yakusu.translator.translator import Translator
from yakusu.version import __version__

_ALIGNED = 8
_MODULES = ("engine.wasm", "engine-scalar.wasm")
_KINDS = {"float32": "f", "int8": "b", "uint8": "B"}


def write_web(folder: Path, opened: ModelFolder, translator: Translator) -> int:
    """Write the files of a translator into a folder.

    Args:
        folder: An empty folder.
        opened: The model's folder.
        translator: Its translator, with the settings to write.

    Returns:
        The number of rows of matrices that were rounded to 8 bits.

    Raises:
        ModelError: A weight is NaN or infinite.
    """
    source, target = translator.languages
    package = {
        "name": f"yakusu-{source or 'source'}-{target or 'target'}".lower(),
        "version": __version__,
        "type": "module",
        "exports": {".": {"types": "./yakusu.d.ts", "default": "./yakusu.js"}},
        "files": ["*"],
    }
    (folder / "package.json").write_text(json.dumps(package, indent=2) + "\n", encoding="utf-8")
    (folder / "yakusu.js").write_text(script_of(translator), encoding="utf-8")
    own = resources.files("yakusu.export.web")
    for name in (*_MODULES, "yakusu.d.ts"):
        (folder / name).write_bytes((own / name).read_bytes())
    model = _ModelFile(opened, translator)
    (folder / "model.bin").write_bytes(model.packed())
    return model.rounded


@dataclass
class _ModelFile:
    """The content of model.bin."""

    opened: ModelFolder
    translator: Translator
    rounded: int = 0
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
        config = self.opened.config.model
        assert isinstance(config, TransformerConfig)
        matrices = EngineConfig().matrices(config.d_model)
        packing = RecordedPacking.of(self.opened, matrices)
        self.rounded = packing.rounded
        return {
            "sizes": packing.size_fields(),
            "format": int(matrices),
            "n_target": self.translator.tokenizer.tgt_vocab_size - 1,
            "n_positions": packing.n_positions,
            "n_heads": config.n_heads,
            "depths": config.depths,
            "source_eos": config.source_eos,
            "matrices": list(map(self._matrix, packing.stored)),
            "vectors": self._vectors(packing),
        }

    def _matrix(self, matrix: WebMatrix) -> dict[str, Any]:
        return {
            "n_out": matrix.n_out,
            "n_in": matrix.n_in,
            **{name: self._stored(getattr(matrix, name)) for name in ("bias", "rows", "scales")},
        }

    def _vectors(self, packing: RecordedPacking) -> list[Any]:
        """The vectors; the tables of sinusoids are computed again."""
        config = packing.config
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
