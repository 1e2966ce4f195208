"""Tokenizer: sentences <-> token ids by SentencePiece.

    eos = 0    unk = 1    pad = V - 1    no bos

Both sides share one vocabulary (section 5.1) unless `joint = false`. See docs/decisions/0003. A
character without a piece is spelled with the pieces of its UTF-8 bytes, and the placeholder tokens
of `placeholders.SLOTS` are separate pieces.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

import sentencepiece as spm

from yakusu.data.coverage import Coverage
from yakusu.data.placeholders import IS_SLOT, SLOTS
from yakusu.data.vocabulary import UNK, TokenizerConfig, collect, learn
from yakusu.errors import ModelError

_SPACE = "\u2581"  # in pieces
_SPACES = re.compile(rf"^[\s{_SPACE}]+")  # at the beginning of a piece


class Tokenizer:
    """Converts sentences to ids and ids to sentences.

    Args:
        src: SentencePiece model of the source side.
        tgt: SentencePiece model of the target side; the same object for a joint vocabulary.
        coverage: What the training text covers; None: unknown, all that the vocabulary covers.
    """

    def __init__(
        self,
        src: spm.SentencePieceProcessor,
        tgt: spm.SentencePieceProcessor,
        coverage: Coverage | None = None,
    ) -> None:
        self._src, self._tgt, self.coverage = src, tgt, coverage

    @classmethod
    def train(
        cls, src: Iterable[str], tgt: Iterable[str], config: TokenizerConfig, *, seed: int
    ) -> "Tokenizer":
        """Learn the vocabularies from sentences of both sides.

        Raises:
            DataError: The corpus is too small for `vocab_size`, or has too many characters.
        """
        if config.joint:
            model = learn(chain(src, tgt), config, seed, side="joint")
            return cls(model, model)
        if config.target == "tokens":
            words = config.model_copy(update={"placeholder_share": 0.0})
            return cls(learn(src, words, seed, side="source"), collect(tgt, config))
        source = learn(src, config, seed, side="source")
        return cls(source, learn(tgt, config, seed, side="target"))

    @classmethod
    def load(cls, folder: Path) -> "Tokenizer":
        """Read `tokenizer.model`, or `source.model` and `target.model`; and `coverage.json`.

        Raises:
            ModelError: The files are missing or are not SentencePiece models.
        """
        coverage = Coverage.load(folder)
        if (folder / "tokenizer.model").exists():
            model = _open(folder / "tokenizer.model")
            return cls(model, model, coverage)
        return cls(_open(folder / "source.model"), _open(folder / "target.model"), coverage)

    def save(self, folder: Path) -> list[Path]:
        """Write the files that `load` reads; return their paths."""
        if self.joint:
            models = {folder / "tokenizer.model": self._src}
        else:
            models = {folder / "source.model": self._src, folder / "target.model": self._tgt}
        for path, model in models.items():
            path.write_bytes(model.serialized_model_proto())
        return [*models, *([self.coverage.save(folder)] if self.coverage else ())]

    def __eq__(self, other: object) -> bool:
        """Whether both have the same SentencePiece models."""
        return isinstance(other, Tokenizer) and self._models == other._models

    __hash__ = None  # type: ignore[assignment]

    @property
    def _models(self) -> tuple[bytes, bytes]:
        return self._src.serialized_model_proto(), self._tgt.serialized_model_proto()

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self._src is self._tgt

    @property
    def src_vocab_size(self) -> int:
        """Number of source ids, including pad."""
        return _vocab_size(self._src)

    @property
    def tgt_vocab_size(self) -> int:
        """Number of target ids, including pad."""
        return _vocab_size(self._tgt)

    @property
    def vocab_sizes(self) -> dict[str, int]:
        """Both vocabulary sizes, including pad, as keyword arguments of `build`."""
        return {"src_vocab_size": self.src_vocab_size, "tgt_vocab_size": self.tgt_vocab_size}

    @cached_property
    def target_slots(self) -> dict[str, int]:
        """The target id of each placeholder token; empty if the vocabularies have none."""
        ids = {slot: self._tgt.piece_to_id(slot) for slot in SLOTS}
        has_slots = all(UNK not in (i, self._src.piece_to_id(s)) for s, i in ids.items())
        return ids if has_slots else {}

    @property
    def target_bytes(self) -> list[int]:
        """The target id of each byte from 0 to 255; empty without byte fallback."""
        return _byte_ids(self._tgt, bytes(range(256)))

    def covers(self, text: str) -> bool:
        """Whether training has seen all characters of a source text, or what they become."""
        seen = self._seen_characters
        if self.coverage and seen.issuperset(text):
            return True
        if any(map(self._vanishes, set(text) - seen)):
            return False
        if self.coverage is None:
            return UNK not in self._src.encode(text)
        return seen.issuperset(_normalised(self._src, text))

    def _vanishes(self, character: str) -> bool:
        """Whether normalisation removes a character, or makes it a space."""
        return not character.isspace() and not _normalised(self._src, character)

    @cached_property
    def _seen_characters(self) -> frozenset[str]:
        raw = self.coverage.source_characters if self.coverage else ""
        return frozenset(raw).union(*(_normalised(self._src, character) for character in raw))

    @property
    def min_vocab_size(self) -> int:
        """Smallest `TokenizerConfig.vocab_size` that keeps all characters of both sides."""
        return max(map(_min_vocab_size, (self._src, self._tgt)))

    def encode_source(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the source ids of each sentence, ending in eos.

        A slot that is not in the vocabularies becomes unk.
        """
        return self._encode(self._src, sentences)

    def encode_target(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the target ids of each sentence, ending in eos; see `encode_source`."""
        return self._encode(self._tgt, sentences)

    def _encode(
        self, model: spm.SentencePieceProcessor, sentences: Sequence[str]
    ) -> list[list[int]]:
        # One call per sentence: SentencePiece starts threads for a list, even of one sentence.
        encoded: list[list[int]] = [model.encode(text, add_eos=True) for text in sentences]
        if self.target_slots or not any(map(IS_SLOT.search, sentences)):
            return encoded
        spelled = {tuple(_byte_ids(model, slot.encode())) for slot in SLOTS}
        return [_with_unknown(ids, spelled) for ids in encoded]

    def decode_target(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the sentence of each sequence of target ids; eos is skipped.

        Bytes that are not UTF-8 become U+FFFD, and the unknown token becomes U+2047.
        """
        return [str(self._tgt.decode(list(sentence))) for sentence in ids]

    def source_surfaces(self, sentence: str) -> list[str]:
        """Return the pieces of a source sentence and eos; unknown text appears unchanged."""
        return _surfaces(self._src, sentence)

    def target_surfaces(self, sentence: str) -> list[str]:
        """Return the pieces of a target sentence and eos; unknown text appears unchanged."""
        return _surfaces(self._tgt, sentence)

    def target_pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each target id; pad has none."""
        return [self._tgt.id_to_piece(i) for i in ids]

    def source_starts(self, sentence: str) -> list[int]:
        """Return where each piece of a source sentence begins in it, after spaces; eos has none."""
        offsets = self._src.encode(sentence, return_type="offset_mapping")["offsets"]
        return [end - len(_SPACES.sub("", sentence[begin:end])) for begin, end in offsets]

    def source_words(self, sentence: str) -> list[int]:
        """Return the word that each piece of a source sentence belongs to; eos has none.

        Words are those of `sentence.split()`, counted from 0; text without spaces is one word. A
        piece that is only a space belongs to the next word.
        """
        return _words_at(sentence, self.source_starts(sentence))

    def target_texts_of(self, ids: Sequence[int]) -> list[str]:
        """Return what each target id adds to the text that `decode_target` returns.

        The ids may be any sequence that a search produces: encoding its text may give other ids. Of
        the bytes of a character, the last adds it and the others nothing; eos adds nothing.
        """
        decoded = self._tgt.decode(list(ids), return_type="offset_mapping")
        return [decoded["text"][begin:end] for begin, end in decoded["offsets"]]


def _vocab_size(model: spm.SentencePieceProcessor) -> int:
    """Return V: the number of pieces of the SentencePiece model, plus one for pad."""
    return int(model.get_piece_size()) + 1


def _min_vocab_size(model: spm.SentencePieceProcessor) -> int:
    """Return the number of single characters, bytes and placeholders, plus eos, unk and pad."""
    ids = range(model.get_piece_size())
    return 3 + sum(len(model.id_to_piece(i)) == 1 or model.is_byte(i) for i in ids)


def _normalised(model: spm.SentencePieceProcessor, text: str) -> str:
    """Return what the pieces of a text spell, without spaces."""
    return str(model.normalize(text)).replace(_SPACE, "")


def _byte_ids(model: spm.SentencePieceProcessor, data: bytes) -> list[int]:
    """Return the id of each byte; [] without byte fallback."""
    ids = [model.piece_to_id(f"<0x{byte:02X}>") for byte in data]
    return ids if all(map(model.is_byte, ids)) else []


def _with_unknown(ids: Sequence[int], sequences: Collection[tuple[int, ...]]) -> list[int]:
    """Replace each occurrence of some sequences by unk."""
    replaced, i = [], 0
    while i < len(ids):
        found = next((s for s in sequences if s and tuple(ids[i : i + len(s)]) == s), None)
        replaced.append(UNK if found else ids[i])
        i += len(found or (UNK,))
    return replaced


def _surfaces(model: spm.SentencePieceProcessor, sentence: str) -> list[str]:
    pieces: list[str] = model.encode(sentence, out_type=str, add_eos=True)
    return pieces


def _words_at(text: str, positions: Sequence[int]) -> list[int]:
    """Return the index of the word at each position, or of the nearest one after it."""
    ends = [word.end() for word in re.finditer(r"\S+", text)]
    return [min(bisect_right(ends, position), max(0, len(ends) - 1)) for position in positions]


def _open(path: Path) -> spm.SentencePieceProcessor:
    try:
        return spm.SentencePieceProcessor(model_proto=path.read_bytes())
    except OSError as error:
        raise ModelError(f"{path} cannot be read: the model folder is incomplete") from error
    except RuntimeError as error:
        raise ModelError(
            f"{path} is not a valid SentencePiece model: copy the folder again"
        ) from error
