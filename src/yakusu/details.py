"""Details of a translation: tokens, their log-probabilities and alternatives, word links."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from yakusu.alignment import Link, attends, attention, content_words, pharaoh, word_links
from yakusu.data.batches import pad
from yakusu.data.text import windows
from yakusu.data.tokenizer import EOS, Tokenizer
from yakusu.model.base import SearchModel
from yakusu.model.linear import MIN_SENTENCES
from yakusu.scoring import score_targets

N_ALTERNATIVES = 5  # tokens listed for each position
_MAX_WEIGHTS = 2**20  # attention weights of a batch, in one head of one layer


@dataclass(frozen=True)
class Details:
    """The tokens of a translation; log-probabilities are in nats.

    Attributes:
        tokens: The tokens as text, ending with eos.
        token_log_probs: The log-probability of each token, given those before it.
        alternatives: The most probable tokens at each position with their log-probabilities, most
            probable first.
        links: The word alignment, pairs (source word, target word); None if the model has no
            attention to the source.
    """

    tokens: tuple[str, ...]
    token_log_probs: tuple[float, ...]
    alternatives: tuple[tuple[tuple[str, float], ...], ...]
    links: tuple[Link, ...] | None

    @property
    def pharaoh(self) -> str:
        """The word alignment in the Pharaoh format, such as "0-0 1-2"."""
        return pharaoh(self.links or ())


@dataclass(frozen=True)
class Translated:
    """A source sentence and a translation of it."""

    text: str
    src: list[int]  # ends with eos
    tgt: tuple[int, ...]  # without eos


def details_of(
    model: SearchModel, tokenizer: Tokenizer, pairs: Sequence[Translated]
) -> list[Details]:
    """The details of translations.

    Args:
        model: The model, in evaluation mode.
        tokenizer: Its tokenizer.
        pairs: The sentences and their translations.
    """
    targets = [[*pair.tgt, EOS] for pair in pairs]
    scores = score_targets(
        model, [pair.src for pair in pairs], targets, alternatives=N_ALTERNATIVES
    )
    links = _all_links(model, tokenizer, pairs)
    return [
        Details(
            tuple(tokenizer.target_pieces(ids)),
            score.token_log_probs,
            tuple(
                tuple((tokenizer.target_pieces([i])[0], log_prob) for i, log_prob in best)
                for best in score.alternatives
            ),
            own,
        )
        for ids, score, own in zip(targets, scores, links, strict=True)
    ]


def _all_links(
    model: SearchModel, tokenizer: Tokenizer, pairs: Sequence[Translated]
) -> list[tuple[Link, ...] | None]:
    """The word alignment of each pair; pairs are aligned together if their lengths are equal."""
    links: list[tuple[Link, ...] | None] = [None] * len(pairs)
    if not attends(model):
        return links
    lengths = [(len(pair.src), len(pair.tgt) + 1) for pair in pairs]
    for n_source, n_target in sorted(set(lengths)):
        rows = [row for row, own in enumerate(lengths) if own == (n_source, n_target)]
        most = max(MIN_SENTENCES, _MAX_WEIGHTS // (n_source * n_target))
        for part in windows(iter(rows), most):
            found = _links(model, tokenizer, [pairs[row] for row in part])
            for row, own in zip(part, found, strict=True):
                links[row] = own
    return links


def _links(
    model: SearchModel, tokenizer: Tokenizer, pairs: Sequence[Translated]
) -> list[tuple[Link, ...]]:
    """The word alignment of pairs of equal lengths."""
    filled = [*pairs, *[pairs[0]] * (MIN_SENTENCES - len(pairs))]
    device = next(model.parameters()).device
    src = pad([pair.src for pair in filled], model.src_pad).to(device)
    tgt = torch.tensor([[*pair.tgt, EOS] for pair in filled], device=device)
    weights = attention(model, src, tgt)  # (B, T, S)
    found = []
    for pair, own in zip(pairs, weights, strict=False):
        src_words = tokenizer.source_words(pair.text)[: len(pair.src) - 1]  # may be truncated
        of_source = content_words(src_words, tokenizer.source_surfaces(pair.text))
        of_target = content_words(
            tokenizer.target_words_of(pair.tgt), tokenizer.target_pieces(pair.tgt)
        )
        found.append(tuple(word_links(own, of_source, of_target)))
    return found
