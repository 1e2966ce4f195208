"""Links between the words, or the units, of segments and their translations."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch

from yakusu.alignment import Link, attends, attention, content_words, word_links
from yakusu.data.batches import pad
from yakusu.data.text import windows
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS
from yakusu.model.base import SearchModel
from yakusu.model.linear import MIN_SENTENCES
from yakusu.translator.placement import units

_MAX_WEIGHTS = 2**20  # attention weights of a batch, in one head of one layer


@dataclass(frozen=True)
class Translated:
    """A source segment as the model read it, and a translation of it.

    Attributes:
        text: The source.
        src: Its ids, ending with eos.
        tgt: The ids of the translation, without eos.
        pieces: What each of these ids adds to the text of the translation.
        translation: The text that the pieces make up, which may have other white space.
    """

    text: str
    src: list[int]
    tgt: tuple[int, ...]
    pieces: Sequence[str]
    translation: str


Members = Callable[[Translated], tuple[list[int], list[int]]]  # the word or unit of each token


def word_links_of(
    model: SearchModel, tokenizer: Tokenizer, pairs: Sequence[Translated]
) -> list[tuple[Link, ...] | None]:
    """The word alignment of each pair; None if the model has no attention to the source.

    The words are those of `Translated.text` and `Translated.translation`.
    """

    def words(pair: Translated) -> tuple[list[int], list[int]]:
        src_words = tokenizer.source_words(pair.text)[: len(pair.src) - 1]  # may be truncated
        return (
            content_words(src_words, tokenizer.source_surfaces(pair.text)),
            content_words(_words_of(pair), tokenizer.target_pieces(pair.tgt)),
        )

    return _links(model, pairs, words)


def unit_links_of(
    model: SearchModel, tokenizer: Tokenizer, pairs: Sequence[Translated]
) -> list[tuple[Link, ...] | None]:
    """The links between the units of each pair; None if the model has no attention."""

    def members(pair: Translated) -> tuple[list[int], list[int]]:
        src_starts = tokenizer.source_starts(pair.text)[: len(pair.src) - 1]
        ends = list(accumulate(map(len, pair.pieces)))
        tgt_starts = [end - len(own.lstrip()) for end, own in zip(ends, pair.pieces, strict=True)]
        return _units_at(pair.text, src_starts), _units_at("".join(pair.pieces), tgt_starts)

    return _links(model, pairs, members)


def _words_of(pair: Translated) -> list[int]:
    """The word of each piece in the translation; a piece without text belongs to the next one."""
    ends = list(accumulate(map(len, pair.translation.split())))  # without white space
    visible = [len("".join(piece.split())) for piece in pair.pieces]
    starts = [end - own for end, own in zip(accumulate(visible), visible, strict=True)]
    return [min(bisect_right(ends, start), max(0, len(ends) - 1)) for start in starts]


def _units_at(text: str, starts: Sequence[int]) -> list[int]:
    """The unit at each position, or the nearest one after it."""
    ends = [end for _, end in units(text)]
    return [min(bisect_right(ends, start), max(0, len(ends) - 1)) for start in starts]


def _links(
    model: SearchModel, pairs: Sequence[Translated], members: Members
) -> list[tuple[Link, ...] | None]:
    """The links of each pair; pairs are aligned together if their lengths are equal."""
    links: list[tuple[Link, ...] | None] = [None] * len(pairs)
    if not attends(model):
        return links
    lengths = [(len(pair.src), len(pair.tgt) + 1) for pair in pairs]
    for n_source, n_target in sorted(set(lengths)):
        rows = [row for row, own in enumerate(lengths) if own == (n_source, n_target)]
        most = max(MIN_SENTENCES, _MAX_WEIGHTS // (n_source * n_target))
        for part in windows(iter(rows), most):
            found = _links_of_equal_length(model, [pairs[row] for row in part], members)
            for row, own in zip(part, found, strict=True):
                links[row] = own
    return links


def _links_of_equal_length(
    model: SearchModel, pairs: Sequence[Translated], members: Members
) -> list[tuple[Link, ...]]:
    filled = [*pairs, *[pairs[0]] * (MIN_SENTENCES - len(pairs))]
    device = next(model.parameters()).device
    src = pad([pair.src for pair in filled], model.src_pad).to(device)
    tgt = torch.tensor([[*pair.tgt, EOS] for pair in filled], device=device)
    weights = attention(model, src, tgt)  # (B, T, S)
    return [
        tuple(word_links(own, *members(pair))) for pair, own in zip(pairs, weights, strict=False)
    ]
