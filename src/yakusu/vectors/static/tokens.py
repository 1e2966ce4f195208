"""Texts to the token ids that model2vec's models use.

BERT's tokenizers split a text into words and each word on its own, so a word of ASCII characters is
split once. `tokenizers` splits the words and every other text.
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, compress
from operator import not_
from pathlib import Path
from typing import Any

import numpy as np

from yakusu.errors import DataError, ModelError
from yakusu.folder import read_regular

_WORD = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9 ]")  # of printable ASCII characters
_MOST_WORDS = 2**14  # kept; about 3 MB
_BERT = ("BertNormalizer", "BertPreTokenizer", "WordPiece")


class StaticTokenizer:
    """The tokenizer of static embeddings; without special tokens, padding and unknown tokens.

    Args:
        path: tokenizer.json.

    Attributes:
        n_tokens: Number of tokens of the vocabulary.

    Raises:
        ModelError: The file is not valid.
        DataError: `tokenizers` is not installed.
    """

    def __init__(self, path: Path) -> None:
        self._tokenizer = _loaded(path)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.n_tokens: int = self._tokenizer.get_vocab_size()  # takes 20 ms in some versions
        self._unknown = _unknown_id(self._tokenizer)
        self._starts = _starts_of_added(self._tokenizer) if _is_bert(self._tokenizer) else None
        self._known: dict[str, tuple[int, ...]] = {}

    def ids(self, texts: Sequence[str], max_length: int | None) -> list[list[int]]:
        """Return the ids of texts.

        Args:
            texts: The texts.
            max_length: Maximum number of tokens; None: all. As in model2vec, a text is first cut to
                as many characters as this number of tokens of median length have.

        Raises:
            DataError: A text is not a string, or not valid Unicode.
        """
        if not all(isinstance(text, str) for text in texts):
            raise DataError("a text is not a string: give a string or a list of strings")
        if max_length is not None:
            texts = [self._cut(text, max_length) for text in texts]
        plain = [self._has_plain_words(text) for text in texts]
        by_words = iter(self._by_words([*compress(texts, plain)]))
        others = iter(self._encoded([*compress(texts, map(not_, plain))]))
        return [self._used(next(by_words if each else others)[:max_length]) for each in plain]

    def _cut(self, text: str, max_length: int) -> str:
        return text if len(text) <= max_length else text[: max_length * self._median_length]

    @cached_property
    def _median_length(self) -> int:
        return int(np.median([*map(len, self._tokenizer.get_vocab())]))

    def _used(self, ids: Sequence[int]) -> list[int]:
        """Leave out unknown tokens."""
        if self._unknown in ids:
            return [number for number in ids if number != self._unknown]
        return [*ids]

    def _has_plain_words(self, text: str) -> bool:
        """Return whether all words of a text are ASCII, and none may be an added token."""
        return (
            self._starts is not None
            and text.isascii()
            and text.isprintable()
            and self._starts.isdisjoint(text)
        )

    def _by_words(self, texts: Sequence[str]) -> Iterable[Sequence[int]]:
        split = [*map(_WORD.findall, texts)]
        known = self._known
        if new := [*set(chain.from_iterable(split)).difference(known)]:
            if len(known) + len(new) > _MOST_WORDS:
                new, known = [*set(chain.from_iterable(split))], {}
            known |= zip(new, map(tuple, self._encoded(new)), strict=True)
            self._known = known
        return ([*chain.from_iterable(map(known.__getitem__, words))] for words in split)

    def _encoded(self, texts: Sequence[str]) -> list[Sequence[int]]:
        try:
            encoded = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        except (TypeError, UnicodeError) as error:
            raise DataError("a text is not valid Unicode: remove its surrogates") from error
        return [each.ids for each in encoded]


def _loaded(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise DataError(
            "static embeddings need the package tokenizers: pip install 'yakusu[static]'"
        ) from error
    try:
        return Tokenizer.from_str(read_regular(path).decode())
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    except Exception as error:  # tokenizers raises Exception itself
        raise ModelError(f"{path} is not a valid tokenizer: copy the folder again") from error


def _unknown_id(tokenizer: Any) -> int | None:
    """Return the id of the unknown token; None: there is none."""
    if hasattr(tokenizer.model, "unk_token"):
        token = tokenizer.model.unk_token
        return None if token is None else tokenizer.token_to_id(token)
    found: int | None = json.loads(tokenizer.to_str())["model"].get("unk_id")
    return found


def _is_bert(tokenizer: Any) -> bool:
    parts = tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.model
    return tuple(type(part).__name__ for part in parts) == _BERT


def _starts_of_added(tokenizer: Any) -> frozenset[str] | None:
    """Return the characters with which added tokens begin; None: some are not printable ASCII."""
    added = [each.content for each in tokenizer.get_added_tokens_decoder().values()]
    if not all(token.isascii() and token.isprintable() and token for token in added):
        return None
    return frozenset(chain.from_iterable((token[0].lower(), token[0].upper()) for token in added))
