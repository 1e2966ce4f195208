"""Links between the words, or the units, of segments and their translations."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from yakusu.alignment import Link, content_words, token_weights, word_links
from yakusu.data.files.text import windows
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS
from yakusu.search.decoder import Decoder
from yakusu.translator.writing.placement import units


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
    src: Sequence[int]
    tgt: tuple[int, ...]
    pieces: Sequence[str]
    translation: str


Members = Callable[[Translated], tuple[list[int], list[int]]]  # the word or unit of each token


def word_links_of(
    decoder: Decoder, tokenizer: Tokenizer, pairs: Sequence[Translated], *, batch: int
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

    return _links(decoder, pairs, words, batch=batch)


def unit_links_of(
    decoder: Decoder, tokenizer: Tokenizer, pairs: Sequence[Translated], *, batch: int
) -> list[tuple[Link, ...] | None]:
    """The links between the units of each pair; None if the model has no attention."""

    def members(pair: Translated) -> tuple[list[int], list[int]]:
        src_starts = tokenizer.source_starts(pair.text)[: len(pair.src) - 1]
        ends = list(accumulate(map(len, pair.pieces)))
        tgt_starts = [end - len(own.lstrip()) for end, own in zip(ends, pair.pieces, strict=True)]
        return _units_at(pair.text, src_starts), _units_at("".join(pair.pieces), tgt_starts)

    return _links(decoder, pairs, members, batch=batch)


def _words_of(pair: Translated) -> list[int]:
    """The word of each piece in the translation; a piece without text belongs to the next one."""
    ends = list(accumulate(map(len, pair.translation.split())))  # without white space
    visible = [len("".join(piece.split())) for piece in pair.pieces]
    starts = [end - own for end, own in zip(accumulate(visible), visible, strict=True)]
    return [min(bisect_right(ends, start), max(0, len(ends) - 1)) for start in starts]


def _units_at(text: str, starts: Sequence[int]) -> list[int]:
    """The unit at each position, or the nearest one after it; -1 at -1."""
    ends = [end for _, end in units(text)]
    return [
        -1 if start < 0 else min(bisect_right(ends, start), max(0, len(ends) - 1))
        for start in starts
    ]


def _links(
    decoder: Decoder, pairs: Sequence[Translated], members: Members, *, batch: int
) -> list[tuple[Link, ...] | None]:
    """The links of each pair; at most `batch` pairs are decoded together."""
    if "cross" not in decoder.roles:
        return [None] * len(pairs)
    links: list[tuple[Link, ...] | None] = []
    for some in windows(iter(pairs), batch):
        encoded = [(pair.src, [*pair.tgt, EOS]) for pair in some]
        for pair, maps in zip(some, decoder.attentions(encoded, ["cross"]), strict=True):
            weights = token_weights([own["cross"] for own in maps])  # (T, S)
            links.append(tuple(word_links(weights, *members(pair))))
    return links
