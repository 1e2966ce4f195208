"""Whether a vocabulary is too large for the training text."""

import logging

from yakusu.data.pairs import Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig

_log = logging.getLogger(__name__)
_MIN_OCCURRENCES = 20  # average occurrences of a vocabulary entry in the training pairs


def warn_of_large_vocabulary(tokenizer: Tokenizer, pairs: Pairs, config: TokenizerConfig) -> None:
    """Warn if vocabulary entries occur too rarely to learn their embeddings.

    A vocabulary of target tokens is not counted: `vocab_size` is only its upper limit.
    """
    n_src, n_tgt = (len(side.tokens) - len(side) for side in (pairs.src, pairs.tgt))  # without eos
    if tokenizer.joint:
        n_tokens = n_src + n_tgt
    else:
        n_tokens = n_src if config.target == "tokens" else min(n_src, n_tgt)
    vocab_size = tokenizer.src_vocab_size
    # A smaller vocabulary splits words into more tokens, so this size reaches the minimum.
    suggested = max(n_tokens // _MIN_OCCURRENCES, tokenizer.min_vocab_size)
    if vocab_size <= suggested:
        return
    _log.warning(
        f"a vocabulary of {vocab_size:,} tokens is too large for {len(pairs):,} training pairs, "
        f"because a token occurs {n_tokens / vocab_size:.1f} times on average (recommended: at "
        f"least {_MIN_OCCURRENCES}): start a new run with --set tokenizer.vocab_size={suggested}"
    )
