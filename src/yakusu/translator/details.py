"""Details of a translation: tokens, their log-probabilities and alternatives, word links."""

from collections.abc import Sequence
from dataclasses import dataclass

from yakusu.alignment import Link, pharaoh
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS
from yakusu.model.base import SearchModel
from yakusu.scoring import score_targets
from yakusu.translator.links import Translated, word_links_of

N_ALTERNATIVES = 5  # tokens listed for each position


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
    links = word_links_of(model, tokenizer, pairs)
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


def joined(details: Sequence[tuple[Details, int, int]]) -> Details:
    """The details of a text, from those of its segments.

    Args:
        details: For each segment, its details, and the numbers of source and target words of the
            text before it.
    """
    links = [
        None if own.links is None else [(i + n_source, j + n_target) for i, j in own.links]
        for own, n_source, n_target in details
    ]
    return Details(
        tuple(token for own, *_ in details for token in own.tokens),
        tuple(log_prob for own, *_ in details for log_prob in own.token_log_probs),
        tuple(best for own, *_ in details for best in own.alternatives),
        None if None in links else tuple(link for own in links for link in own or ()),
    )
