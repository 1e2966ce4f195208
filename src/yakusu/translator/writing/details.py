"""Details of a translation: tokens, their log-probabilities and alternatives, word links."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from yakusu.alignment import Link, pharaoh
from yakusu.data.lines.placeholders import shown_piece
from yakusu.data.lines.private_use import SLOTS
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, UNK
from yakusu.search.decoder import Decoder
from yakusu.translator.writing.links import Translated, word_links_of

N_ALTERNATIVES = 5  # tokens listed for each position

Alternatives = tuple[tuple[tuple[str, float], ...], ...]  # of each position, most probable first


@dataclass(frozen=True)
class Details:
    """The tokens of a translation; log-probabilities are in nats.

    Attributes:
        tokens: The tokens as text, ending with eos; a placeholder token is the text of its span.
        token_log_probs: The log-probability of each token, given those before it.
        alternatives: The most probable tokens at each position with their log-probabilities, most
            probable first.
        links: The word alignment, pairs (source word, target word) of the words of the text as
            given and as printed; None if the model has no attention to the source.
    """

    tokens: tuple[str, ...]
    token_log_probs: tuple[float, ...]
    alternatives: Alternatives
    links: tuple[Link, ...] | None

    @property
    def pharaoh(self) -> str:
        """The word alignment in the Pharaoh format, such as "0-0 1-2"."""
        return pharaoh(self.links or ())


def details_of(
    decoder: Decoder, tokenizer: Tokenizer, pairs: Sequence[Translated], *, batch: int
) -> list[Details]:
    """The details of translations.

    Args:
        decoder: The models.
        tokenizer: Their tokenizer.
        pairs: The sentences and their translations.
        batch: Maximum number of sentences decoded together.
    """
    targets = [[*pair.tgt, EOS] for pair in pairs]
    encoded = [(pair.src, target) for pair, target in zip(pairs, targets, strict=True)]
    scores = decoder.score(encoded, alternatives=N_ALTERNATIVES, batch=batch)
    links = word_links_of(decoder, tokenizer, pairs, batch=batch)
    return [
        Details(
            tuple(_pieces(tokenizer, ids)),
            score.token_log_probs,
            tuple(
                tuple((tokenizer.target_pieces([i])[0], log_prob) for i, log_prob in best)
                for best in score.alternatives
            ),
            own,
        )
        for ids, score, own in zip(targets, scores, links, strict=True)
    ]


def _pieces(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """The pieces of target ids; the unknown token of older vocabularies stands for a slot."""
    slots = iter(SLOTS * len(ids))
    pieces = tokenizer.target_pieces(ids)
    return [next(slots) if i == UNK else piece for i, piece in zip(ids, pieces, strict=True)]


def with_spans(
    tokens: Sequence[str], alternatives: Alternatives, slots: Iterable[tuple[str, str]]
) -> tuple[tuple[str, ...], Alternatives]:
    """Show the text of spans in place of placeholder tokens.

    Args:
        tokens: Tokens as text.
        alternatives: The most probable tokens at each position; of those with the same text, the
            first remains.
        slots: The slot and the text of each span of the source, in the order in which spans with
            the same slot occur.

    Returns:
        The tokens and the alternatives.
    """
    waiting: dict[str, list[str]] = {}
    for slot, text in slots:
        waiting.setdefault(slot, []).append(text)

    def text_of(piece: str) -> str:
        return next(iter(waiting.get(piece, ())), shown_piece(piece))

    made, others = [], []
    for token, best in zip(tokens, alternatives, strict=True):
        texts: dict[str, float] = {}
        for piece, log_prob in best:
            texts.setdefault(text_of(piece), log_prob)
        others.append(tuple(texts.items()))
        made.append(text_of(token))
        del waiting.get(token, [])[:1]
    return tuple(made), tuple(others)
