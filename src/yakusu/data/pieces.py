"""The pieces of one side's vocabulary: text <-> ids, by SentencePiece.

The ids are those of the SentencePiece model, unless another table of pieces is given: imported
models often share one table between two SentencePiece models (decision 36).
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path

import sentencepiece as spm

from yakusu import lazy
from yakusu.data.vocabulary import EOS, LANGUAGE_TOKEN, UNK
from yakusu.errors import ModelError
from yakusu.folder import downloaded, read_regular

SPACE = "\u2581"  # in pieces
_BRACKET = re.compile(r"[()][A-Z]")  # (NP and )NP
WIDTHS = ("<wide>", "<narrow>")
MEANING = lazy.compile(r"[\p{L}\p{N}\p{Sc}\p{Sm}\p{So}]")


def read_segmenter(path: Path) -> spm.SentencePieceProcessor:
    """Read a SentencePiece model.

    Raises:
        ModelError: The file is missing, or is not a SentencePiece model.
    """
    try:
        content = read_regular(downloaded(path))
        if not content:  # which the library accepts
            raise RuntimeError
        model = spm.SentencePieceProcessor(model_proto=content)
        for i in range(model.get_piece_size()):
            model.id_to_piece(i)  # the library does not check that it is UTF-8
        return model
    except FileNotFoundError as error:
        raise ModelError(f"{path} cannot be read: the model folder is incomplete") from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    except (RuntimeError, ValueError) as error:
        raise _invalid(path) from error


def _invalid(path: Path) -> ModelError:
    return ModelError(f"{path} is not a valid SentencePiece model: copy the folder again")


class Pieces:
    """Divides text into pieces; joins pieces.

    Args:
        model: The SentencePiece model.
        table: The piece of each id; None: as in the model. A piece of the model that is not in the
            table becomes the unknown token.
    """

    def __init__(self, model: spm.SentencePieceProcessor, table: list[str] | None = None) -> None:
        self._model, self.table = model, table

    @classmethod
    def read(cls, path: Path, table: list[str] | None = None) -> "Pieces":
        """Read a SentencePiece model.

        Raises:
            ModelError: The file is missing, or is not a SentencePiece model.
        """
        pieces = cls(read_segmenter(path), table)
        try:
            pieces.encode("")
        except ValueError as error:  # without the token at the end of a sentence
            raise _invalid(path) from error
        return pieces

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {piece: i for i, piece in enumerate(self.table or ())}

    @cached_property
    def language_tokens(self) -> dict[str, str]:
        """The token of each target language, such as ">>de<<", by its code.

        Text is never encoded as one of them.
        """
        if self.table is None:
            first = takewhile(self._model.is_control, range(UNK + 1, len(self)))
            tokens: Iterable[str] = map(self.piece, first)
        else:
            tokens = self.table
        return {found[1]: found[0] for found in map(LANGUAGE_TOKEN.fullmatch, tokens) if found}

    @property
    def proto(self) -> bytes:
        """The SentencePiece model as a file."""
        return bytes(self._model.serialized_model_proto())

    def __len__(self) -> int:
        """The number of ids, without pad."""
        return self._model.get_piece_size() if self.table is None else len(self.table)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same model and table."""
        return isinstance(other, Pieces) and (self.proto, self.table) == (other.proto, other.table)

    __hash__ = None  # type: ignore[assignment]

    def piece(self, id_: int) -> str:
        """Return the piece of an id."""
        return str(self._model.id_to_piece(id_)) if self.table is None else self.table[id_]

    def begins_word(self, id_: int) -> bool:
        """Return whether an id begins a word, as eos does; a bracket of a tree does not."""
        piece = self.piece(id_)
        return id_ == 0 or (piece.startswith(SPACE) and not _BRACKET.match(piece, 1))

    def is_text(self, id_: int) -> bool:
        """Whether an id of the SentencePiece model is a text piece, not a byte or special token."""
        model = self._model
        return not (model.is_control(id_) or model.is_unknown(id_) or model.is_byte(id_))

    def id_of(self, piece: str) -> int:
        """Return the id of a piece; UNK if there is none."""
        if self.table is None:
            return int(self._model.piece_to_id(piece))
        return self._ids.get(piece, UNK)

    def byte_ids(self, data: bytes) -> list[int]:
        """Return the id of each byte; [] without byte fallback."""
        pieces = [f"<0x{byte:02X}>" for byte in data]
        are_bytes = all(self._model.is_byte(self._model.piece_to_id(piece)) for piece in pieces)
        ids = [self.id_of(piece) for piece in pieces]
        return ids if are_bytes and UNK not in ids else []

    def spelled(self, text: str) -> str:
        """Return what the pieces of a text spell, without spaces."""
        return str(self._model.normalize(text)).replace(SPACE, "")

    def loses(self, character: str) -> bool:
        """Whether a character is removed, becomes a space, or is replaced by what means less.

        Vocabularies that normalise with NFKC replace ² by 2 and ™ by TM. Full-width and half-width
        forms, and punctuation, mean the same.
        """
        spelled = self.spelled(character)
        if not spelled:
            return True
        form, _, _ = unicodedata.decomposition(character).partition(" ")
        if form in WIDTHS or not MEANING.match(character):
            return False
        return spelled.casefold() != unicodedata.normalize("NFC", character).casefold()

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, and EOS."""
        if self.table is None:
            ids: list[int] = self._model.encode(text, add_eos=True)
            return ids
        pieces = self._model.encode(text, out_type=str)
        return [*(self._ids.get(piece, UNK) for piece in pieces), EOS]

    def surfaces(self, text: str) -> list[str]:
        """Return the pieces of a text, and that of EOS; unknown text appears unchanged."""
        return [*self._model.encode(text, out_type=str), self.piece(EOS)]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return where in a text each of its pieces begins and ends."""
        found: list[tuple[int, int]] = self._model.encode(text, return_type="offset_mapping")[
            "offsets"
        ]
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, in which EOS adds nothing and UNK becomes U+2047."""
        return (
            str(self._model.decode(list(ids)))
            if self.table is None
            else "".join(self.texts_of(ids))
        )

    def texts_of(self, ids: Sequence[int]) -> list[str]:
        """Return what each id adds to the text.

        Of the bytes of a character, the last adds it and the others nothing.
        """
        given = list(ids) if self.table is None else [self.table[i] for i in ids]
        decoded = self._model.decode(given, return_type="offset_mapping")
        texts = [decoded["text"][begin:end] for begin, end in decoded["offsets"]]
        if self.table is None:
            return texts
        # A piece of the other side's model keeps its mark of a space.
        return [
            text.replace(SPACE, " ") if i else text.lstrip(SPACE) for i, text in enumerate(texts)
        ]
