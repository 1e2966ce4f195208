"""Tokenizer: sentences <-> token ids by SentencePiece.

    eos = 0    unk = 1    pad = V - 1    no bos

Both sides share one vocabulary (section 5.1) unless `joint = false`. See docs/decisions/0003.
"""

import io
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Literal

import sentencepiece as spm
from pydantic import Field, model_validator

from yakusu.config import Config
from yakusu.errors import DataError, ModelError

EOS, UNK = 0, 1
_SPACE = "\u2581"  # in pieces


class TokenizerConfig(Config):
    """How vocabularies are learned."""

    kind: Literal["bpe", "unigram"] = "bpe"
    vocab_size: int = Field(8000, ge=16, le=2**24)  # of each vocabulary, including eos, unk, pad
    joint: bool = True
    target: Literal["text", "tokens"] = "text"  # tokens: separated by white space, never split
    normalization: Literal["nmt_nfkc", "nmt_nfkc_cf", "identity"] = "nmt_nfkc"  # _cf: lower case
    split_digits: bool = True  # one token per digit, so that any number can be copied
    character_coverage: float = Field(0.9995, gt=0, le=1)
    sample_sentences: int = Field(200_000, ge=1)  # per side; limits memory

    @model_validator(mode="after")
    def _check_token_target_is_separate(self) -> "TokenizerConfig":
        if self.joint and self.target == "tokens":
            raise ValueError(
                "tokenizer.target = 'tokens' needs a vocabulary of its own: set tokenizer.joint = "
                "false"
            )
        return self

    @property
    def lowercases(self) -> bool:
        """Whether the vocabulary ignores case, so that scores must ignore it too."""
        return self.normalization.endswith("_cf")


class Tokenizer:
    """Converts sentences to ids and ids to sentences.

    Args:
        src: SentencePiece model of the source side.
        tgt: SentencePiece model of the target side; the same object for a joint vocabulary.
    """

    def __init__(self, src: spm.SentencePieceProcessor, tgt: spm.SentencePieceProcessor) -> None:
        self._src, self._tgt = src, tgt

    @classmethod
    def train(
        cls, src: Iterable[str], tgt: Iterable[str], config: TokenizerConfig, *, seed: int
    ) -> "Tokenizer":
        """Learn the vocabularies from sentences of both sides.

        Raises:
            DataError: The corpus is too small for `vocab_size`, or has too many characters.
        """
        if config.joint:
            model = _learn(chain(src, tgt), config, seed, side="joint")
            return cls(model, model)
        source = _learn(src, config, seed, side="source")
        if config.target == "tokens":
            return cls(source, _collect(tgt, config))
        return cls(source, _learn(tgt, config, seed, side="target"))

    @classmethod
    def load(cls, folder: Path) -> "Tokenizer":
        """Read `tokenizer.model`, or `source.model` and `target.model`.

        Raises:
            ModelError: The files are missing or are not SentencePiece models.
        """
        if (folder / "tokenizer.model").exists():
            model = _open(folder / "tokenizer.model")
            return cls(model, model)
        return cls(_open(folder / "source.model"), _open(folder / "target.model"))

    def save(self, folder: Path) -> list[Path]:
        """Write the files that `load` reads; return their paths."""
        if self.joint:
            models = {folder / "tokenizer.model": self._src}
        else:
            models = {folder / "source.model": self._src, folder / "target.model": self._tgt}
        for path, model in models.items():
            path.write_bytes(model.serialized_model_proto())
        return list(models)

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

    @property
    def min_vocab_size(self) -> int:
        """Smallest `TokenizerConfig.vocab_size` that keeps all characters of both sides."""
        return max(map(_min_vocab_size, (self._src, self._tgt)))

    def encode_source(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the source ids of each sentence, ending in eos."""
        return _encode(self._src, sentences)

    def encode_target(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the target ids of each sentence, ending in eos."""
        return _encode(self._tgt, sentences)

    def decode_target(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the sentence of each sequence of target ids; eos is skipped."""
        return [str(text) for text in self._tgt.decode([list(sentence) for sentence in ids])]

    def source_surfaces(self, sentence: str) -> list[str]:
        """Return the pieces of a source sentence and eos; unknown text appears unchanged."""
        return _surfaces(self._src, sentence)

    def target_surfaces(self, sentence: str) -> list[str]:
        """Return the pieces of a target sentence and eos; unknown text appears unchanged."""
        return _surfaces(self._tgt, sentence)

    def target_pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each target id; pad has none."""
        return [self._tgt.id_to_piece(i) for i in ids]

    def source_words(self, sentence: str) -> list[int]:
        """Return the word that each piece of a source sentence belongs to; eos has none.

        Words are those of `sentence.split()`, counted from 0; text without spaces is one word. A
        piece that is only a space belongs to the next word.
        """
        return _words(self._src, sentence)

    def target_words(self, sentence: str) -> list[int]:
        """Return the word that each piece of a target sentence belongs to, as `source_words`."""
        return _words(self._tgt, sentence)

    def target_words_of(self, ids: Sequence[int]) -> list[int]:
        """Return the word that each target id belongs to, in the text that `decode_target` returns.

        The ids may be any sequence that a search produces: encoding its text may give other ids.
        eos is skipped.
        """
        ids = [i for i in ids if i != EOS]
        # An unknown token is decoded to a word of its own.
        texts = [
            " \u2047 " if i == UNK else piece.replace(_SPACE, " ")
            for i, piece in zip(ids, self.target_pieces(ids), strict=True)
        ]
        text = "".join(texts)
        return _words_at(text, [_first(text, start) for start in _starts(texts)])


def _vocab_size(model: spm.SentencePieceProcessor) -> int:
    """Return V: the number of pieces of the SentencePiece model, plus one for pad."""
    return int(model.get_piece_size()) + 1


def _min_vocab_size(model: spm.SentencePieceProcessor) -> int:
    """Return the number of single-character pieces, plus eos, unk and pad."""
    pieces = (model.id_to_piece(i) for i in range(model.get_piece_size()))
    return 3 + sum(len(piece) == 1 for piece in pieces)


def _encode(model: spm.SentencePieceProcessor, sentences: Sequence[str]) -> list[list[int]]:
    encoded: list[list[int]] = model.encode(list(sentences), add_eos=True)
    return encoded


def _surfaces(model: spm.SentencePieceProcessor, sentence: str) -> list[str]:
    pieces: list[str] = model.encode(sentence, out_type=str, add_eos=True)
    return pieces


def _words(model: spm.SentencePieceProcessor, sentence: str) -> list[int]:
    """Return the index in `sentence.split()` of the word that each piece belongs to."""
    normalised, origins = model.normalize(sentence, with_offsets=True)  # the concatenated pieces
    text = normalised.replace(_SPACE, " ")
    starts = _starts(_surfaces(model, sentence)[:-1])
    return _words_at(sentence, [origins[_first(text, start)] for start in starts])


def _starts(texts: Sequence[str]) -> list[int]:
    """Return the position of each text in their concatenation."""
    return [end - len(text) for text, end in zip(texts, accumulate(map(len, texts)), strict=True)]


def _first(text: str, start: int) -> int:
    """Return the position of the first character from `start` on that is not a space."""
    return len(text) - len(text[start:].lstrip(" "))


def _words_at(text: str, positions: Sequence[int]) -> list[int]:
    """Return the index of the word at each position, or of the nearest one after it."""
    ends = [word.end() for word in re.finditer(r"\S+", text)]
    return [min(bisect_right(ends, position), max(0, len(ends) - 1)) for position in positions]


def _learn(
    sentences: Iterable[str], config: TokenizerConfig, seed: int, *, side: str
) -> spm.SentencePieceProcessor:
    """Learn the pieces of a vocabulary."""
    model = io.BytesIO()
    spm.set_random_generator_seed(seed)
    try:
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            model_type=config.kind,
            vocab_size=config.vocab_size - 1,
            normalization_rule_name=config.normalization,
            split_digits=config.split_digits,
            character_coverage=config.character_coverage,
            eos_id=EOS,
            unk_id=UNK,
            bos_id=-1,
            pad_id=-1,
            num_threads=4,  # fixed: a unigram vocabulary depends on the number of threads
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        raise DataError(_training_error(str(error), config.vocab_size, side)) from error
    return spm.SentencePieceProcessor(model_proto=model.getvalue())


def _collect(sentences: Iterable[str], config: TokenizerConfig) -> spm.SentencePieceProcessor:
    """Build a vocabulary of the most frequent tokens, up to `vocab_size`."""
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=model,
        model_type="word",
        vocab_size=config.vocab_size - 1,
        hard_vocab_limit=False,
        max_sentence_length=2**20,  # in bytes; longer sentences would be ignored
        normalization_rule_name="identity",
        character_coverage=1.0,
        eos_id=EOS,
        unk_id=UNK,
        bos_id=-1,
        pad_id=-1,
        minloglevel=2,
    )
    return spm.SentencePieceProcessor(model_proto=model.getvalue())


def _training_error(message: str, vocab_size: int, side: str) -> str:
    """Convert an error message of SentencePiece into a sentence that names the fix."""
    if found := re.search(r"value <= (\d+)", message):
        largest = int(found[1]) + 1
        return (
            f"the {side} corpus is too small for a vocabulary of {vocab_size:,} tokens: "
            f"add --set tokenizer.vocab_size={largest} or a smaller value"
        )
    if smallest := re.search(r"smaller than required_chars\D*\d+ vs (\d+)", message):
        return (
            f"the {side} corpus has too many characters for a vocabulary of {vocab_size:,} tokens: "
            f"set tokenizer.vocab_size above {int(smallest[1]) + 1}, or lower "
            "tokenizer.character_coverage"
        )
    return f"no {side} vocabulary of {vocab_size:,} tokens could be learned: {message}"


def _open(path: Path) -> spm.SentencePieceProcessor:
    try:
        return spm.SentencePieceProcessor(model_proto=path.read_bytes())
    except OSError as error:
        raise ModelError(f"{path} cannot be read: the model folder is incomplete") from error
    except RuntimeError as error:
        raise ModelError(
            f"{path} is not a valid SentencePiece model: copy the folder again"
        ) from error
