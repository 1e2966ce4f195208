"""Tokenizer: sentences <-> token ids by SentencePiece.

    eos = 0    unk = 1    pad = V - 1    no bos

Both sides share one vocabulary (section 5.1) unless `joint = false`. See docs/decisions/0003. A
character without a piece is spelled with the pieces of its UTF-8 bytes, and the placeholder tokens
of `private_use.SLOTS` are separate pieces.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, TypeVar

from yakusu.config import Config
from yakusu.data.coverage import Coverage
from yakusu.data.languages import closest, listed_codes
from yakusu.data.lines.invisible import visible
from yakusu.data.lines.private_use import IS_SLOT, SLOTS
from yakusu.data.pieces import SPACE, Pieces
from yakusu.data.vocabulary import UNK, TokenizerConfig, collect, learn
from yakusu.errors import ModelError
from yakusu.folder import read_regular, write_json
from yakusu.typed import ValidationError, setting

_JOINT, _SOURCE, _TARGET = "tokenizer.model", "source.model", "target.model"
_TABLES = "vocabulary.json"
T = TypeVar("T")
_SPACES = re.compile(rf"^[\s{SPACE}]+")  # at the beginning of a piece


def _check_unique(pieces: list[str]) -> list[str]:
    if len(set(pieces)) < len(pieces):
        raise ValueError("a piece occurs twice")
    return pieces


_Table = Annotated[list[str], setting(min_length=2, then=_check_unique)]


class _Tables(Config):
    """vocabulary.json of an imported model: the piece of each id, of both sides or of each.

    A side without a table has the ids of its SentencePiece model.
    """

    joint: _Table | None = None
    source: _Table | None = None
    target: _Table | None = None


class Tokenizer:
    """Converts sentences to ids and ids to sentences.

    Args:
        src: The pieces of the source side.
        tgt: The pieces of the target side; the same object if both sides have one model.
        coverage: What the training text covers; None: unknown, all that the vocabulary covers.
        language: The token that each source begins with, such as ">>de<<"; "": none.
    """

    def __init__(
        self, src: Pieces, tgt: Pieces, coverage: Coverage | None = None, *, language: str = ""
    ) -> None:
        self.src, self.tgt, self.coverage = src, tgt, coverage
        self.language = language

    @classmethod
    def train(
        cls,
        src: Iterable[str],
        tgt: Iterable[str],
        config: TokenizerConfig,
        *,
        seed: int,
        languages: Sequence[str] = (),
        warn: Callable[[str], object] | None = None,
    ) -> "Tokenizer":
        """Learn the vocabularies from sentences of both sides.

        Args:
            src: Source sentences.
            tgt: Target sentences.
            config: How to learn.
            seed: Seed of the random numbers.
            languages: Codes of the target languages, each of which gets a token; (): none.
            warn: Gets a sentence for each vocabulary that is too small for all characters.

        Raises:
            DataError: The corpus is too small for `vocab_size`, or has too many characters.
        """
        if config.joint:
            both = chain(src, tgt)
            model = Pieces(learn(both, config, seed, side="joint", languages=languages, warn=warn))
            return cls(model, model)
        if config.target == "tokens":
            words = config.model_copy(update={"placeholder_share": 0.0})
            source = Pieces(learn(src, words, seed, side="source", warn=warn))
            return cls(source, Pieces(collect(tgt, config)))
        source = Pieces(learn(src, config, seed, side="source", languages=languages, warn=warn))
        return cls(source, Pieces(learn(tgt, config, seed, side="target", warn=warn)))

    @classmethod
    def load(cls, folder: Path) -> "Tokenizer":
        """Read the files of `save`.

        Raises:
            ModelError: The files are missing or invalid.
        """
        coverage, (source, target) = Coverage.load(folder), _read_tables(folder)
        if (folder / _JOINT).exists():
            pieces = Pieces.read(folder / _JOINT, source)
            return cls(pieces, pieces, coverage)
        src = Pieces.read(folder / _SOURCE, source)
        return cls(src, Pieces.read(folder / _TARGET, target), coverage)

    def save(self, folder: Path) -> list[Path]:
        """Write the files that `load` reads; return their paths.

        These are `tokenizer.model`, or `source.model` and `target.model`; `vocabulary.json` with
        the tables of imported models; and `coverage.json`.
        """
        if self.src is self.tgt:
            models = {folder / _JOINT: self.src}
        else:
            models = {folder / _SOURCE: self.src, folder / _TARGET: self.tgt}
        for path, pieces in models.items():
            path.write_bytes(pieces.proto)
        written = [*models, *([self.coverage.save(folder)] if self.coverage else ())]
        if self.src.table is None and self.tgt.table is None:
            return written
        tables = (
            _Tables(joint=self.src.table)
            if self.joint
            else _Tables(source=self.src.table, target=self.tgt.table)
        )
        write_json(folder / _TABLES, tables.model_dump(exclude_none=True))
        return [*written, folder / _TABLES]

    def translating_to(self, code: str) -> "Tokenizer":
        """The same for sources that begin with the token of a target language.

        Args:
            code: The language, as in the token, or another code for it, such as "fr" for ">>fra<<",
                or a less specific code, such as "zh" for ">>cmn_Hans<<".

        Raises:
            ModelError: The vocabulary has tokens, but none for this language, or several.
        """
        tokens = self.src.language_tokens
        if not tokens:
            return self
        found = self.languages_like(code)
        if len(found) != 1:
            what = "several target languages" if found else "no target language"
            raise ModelError(
                f"the model has {what} '{code}': choose one of {listed_codes(found or tokens)} "
                "(--to)"
            )
        return Tokenizer(self.src, self.tgt, self.coverage, language=tokens[found[0]])

    def languages_like(self, code: str) -> list[str]:
        """The target languages with tokens that match a code best."""
        tokens = self.src.language_tokens
        return [code] if code in tokens else closest(code, tokens)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same SentencePiece models and tables."""
        return isinstance(other, Tokenizer) and self._sides == other._sides

    __hash__ = None  # type: ignore[assignment]

    @property
    def _sides(self) -> tuple[Pieces, Pieces]:
        return self.src, self.tgt

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        shared = self.src.table is not None and self.src.table == self.tgt.table
        return self.src is self.tgt or shared

    @property
    def src_vocab_size(self) -> int:
        """Number of source ids, including pad."""
        return len(self.src) + 1

    @property
    def tgt_vocab_size(self) -> int:
        """Number of target ids, including pad."""
        return len(self.tgt) + 1

    @property
    def vocab_sizes(self) -> dict[str, int]:
        """Both vocabulary sizes, including pad, as keyword arguments of `build`."""
        return {"src_vocab_size": self.src_vocab_size, "tgt_vocab_size": self.tgt_vocab_size}

    @cached_property
    def target_slots(self) -> dict[str, int]:
        """The target id of each placeholder token; empty if the vocabularies have none."""
        ids = {slot: self.tgt.id_of(slot) for slot in SLOTS}
        has_slots = all(UNK not in (i, self.src.id_of(s)) for s, i in ids.items())
        return ids if has_slots else {}

    @property
    def target_bytes(self) -> list[int]:
        """The target id of each byte from 0 to 255; empty without byte fallback."""
        return self.tgt.byte_ids(bytes(range(256)))

    def covers(self, text: str) -> bool:
        """Whether training has seen all characters of a source text that a reader sees.

        A character that the vocabulary replaces by another one with less meaning is not covered.
        """
        seen = self._seen_characters
        if seen.issuperset(text):
            return True
        text = visible(text)
        if any(map(self.src.loses, {c for c in text if c not in seen and not c.isspace()})):
            return False
        if self.coverage is None:
            return UNK not in self.src.encode(text)
        return seen.issuperset(self.src.spelled(text))

    def covers_normalized(self, text: str) -> bool:
        """Whether training has seen what the characters of a source text become.

        This is `covers` of version 1 of the text rules. A character that becomes nothing is not
        covered, unless training has seen it.
        """
        seen = self.coverage.source_characters if self.coverage else ""
        others = {c for c in text if c not in seen and not c.isspace()}
        if not all(map(self.src.spelled, others)):
            return False
        if self.coverage is None:
            return UNK not in self.src.encode(text)
        return self._seen_characters.issuperset(self.src.spelled(text))

    @cached_property
    def _seen_characters(self) -> frozenset[str]:
        """The covered characters, and what they become; without a list, some of them."""
        if self.coverage is None:
            ascii_letters = filter(str.isalnum, map(chr, range(128)))
            return frozenset(c for c in ascii_letters if self.src.id_of(c) != UNK).union(" ")
        raw = self.coverage.source_characters
        kept = (c for c in raw if not self.src.loses(c))
        return frozenset(kept).union(" ", *map(self.src.spelled, raw))

    @property
    def min_vocab_size(self) -> int:
        """Smallest `TokenizerConfig.vocab_size` that keeps all characters of both sides."""
        return max(map(_min_vocab_size, self._sides))

    def encode_source(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the source ids of each sentence, ending in eos.

        The first one is that of the target language, if there is a token for it and the sentence is
        not empty. A slot that is not in the vocabularies becomes unk.
        """
        encoded, first = self._encode(self.src, sentences), self.src.id_of(self.language)
        return [self._after_language(first, ids) if len(ids) > 1 else ids for ids in encoded]

    def encode_target(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the target ids of each sentence, ending in eos; see `encode_source`."""
        return self._encode(self.tgt, sentences)

    def _encode(self, side: Pieces, sentences: Sequence[str]) -> list[list[int]]:
        encoded = [side.encode(text) for text in sentences]
        if self.target_slots or not any(map(IS_SLOT.search, sentences)):
            return encoded
        spelled = {tuple(side.byte_ids(slot.encode())) for slot in SLOTS}
        return [_with_unknown(ids, spelled) for ids in encoded]

    def decode_target(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the sentence of each sequence of target ids; eos is skipped.

        Bytes that are not UTF-8 become U+FFFD, and the unknown token becomes U+2047.
        """
        return [self.tgt.decode(sentence) for sentence in ids]

    def source_surfaces(self, sentence: str) -> list[str]:
        """Return the pieces of a source sentence and eos; unknown text appears unchanged."""
        surfaces = self.src.surfaces(sentence)
        return self._after_language(self.language, surfaces) if len(surfaces) > 1 else surfaces

    def target_surfaces(self, sentence: str) -> list[str]:
        """Return the pieces of a target sentence and eos; unknown text appears unchanged."""
        return self.tgt.surfaces(sentence)

    def target_pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each target id; pad has none."""
        return [self.tgt.piece(i) for i in ids]

    def source_starts(self, sentence: str) -> list[int]:
        """Return where each piece of a source sentence begins in it, after spaces; eos has none.

        The token of the target language, which is not part of the sentence, has -1.
        """
        offsets = self.src.offsets(sentence)
        starts = [end - len(_SPACES.sub("", sentence[begin:end])) for begin, end in offsets]
        return self._after_language(-1, starts) if starts else starts

    def _after_language(self, value: T, others: list[T]) -> list[T]:
        """Add the value of the language token, if sources begin with it, to those of the others."""
        return [value, *others] if self.language else others

    def source_words(self, sentence: str) -> list[int]:
        """Return the word that each piece of a source sentence belongs to; eos has none.

        Words are those of `sentence.split()`, counted from 0; text without spaces is one word. A
        piece that is only a space belongs to the next word. The token of the target language has
        -1.
        """
        return _words_at(sentence, self.source_starts(sentence))

    def target_texts_of(self, ids: Sequence[int]) -> list[str]:
        """Return what each target id adds to the text that `decode_target` returns.

        The ids may be any sequence that a search produces: encoding its text may give other ids. Of
        the bytes of a character, the last adds it and the others nothing; eos adds nothing.
        """
        return self.tgt.texts_of(ids)


def _read_tables(folder: Path) -> tuple[list[str] | None, list[str] | None]:
    path = folder / _TABLES
    if not path.exists():
        return None, None
    try:
        tables = _Tables.model_validate_json(read_regular(path))
    except ValidationError as error:
        raise ModelError(f"{path} is corrupt: copy the folder again") from error
    return tables.joint or tables.source, tables.joint or tables.target


def _min_vocab_size(side: Pieces) -> int:
    """Return the number of single characters and of tokens that are not learned."""
    n_bytes = len(side.byte_ids(bytes(range(256))))
    return (
        3
        + n_bytes
        + len(side.language_tokens)
        + sum(len(side.piece(i)) == 1 for i in range(len(side)))
    )


def _with_unknown(ids: Sequence[int], sequences: Collection[tuple[int, ...]]) -> list[int]:
    """Replace each occurrence of some sequences by unk."""
    replaced, i = [], 0
    while i < len(ids):
        found = next((s for s in sequences if s and tuple(ids[i : i + len(s)]) == s), None)
        replaced.append(UNK if found else ids[i])
        i += len(found or (UNK,))
    return replaced


def _words_at(text: str, positions: Sequence[int]) -> list[int]:
    """Return the index of the word at each position, or of the nearest one after it; -1: -1."""
    ends = [word.end() for word in re.finditer(r"\S+", text)]
    return [
        -1 if position < 0 else min(bisect_right(ends, position), max(0, len(ends) - 1))
        for position in positions
    ]
