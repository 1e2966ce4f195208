"""Details of a translation: tokens, their log-probabilities and alternatives, word links."""

from collections.abc import Sequence
from dataclasses import dataclass

from yakusu.alignment import Link, pharaoh
from yakusu.data.placeholders import SLOTS
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, UNK
from yakusu.model.base import SearchModel
from yakusu.scoring import score_targets
from yakusu.translator.links import Translated, word_links_of

N_ALTERNATIVES = 5  # tokens listed for each position


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
