"""Gives a model the lexicon from which shortlists are made."""

from functools import partial
from itertools import islice
from math import ceil
from pathlib import Path

from yakusu.data.corpus import Corpus, read_pairs
from yakusu.errors import DataError, ModelError
from yakusu.pipeline.calibration import translator_for
from yakusu.search.shortlist import TokenLexicon
from yakusu.shipped import own_folder
from yakusu.translator.folder.folder import add_to_folder
from yakusu.translator.folder.shortlist import SHORTLIST, write_lexicon

_MOST_PAIRS = 200_000  # from which a lexicon is learned, evenly spaced


def add_shortlist(model: str | Path, corpus: Corpus) -> TokenLexicon:
    """Learn a lexicon from a corpus, and store it in a model folder.

    Args:
        model: Model folder.
        corpus: Texts and their translations, best those that the model was trained with.

    Raises:
        ModelError: The model is a parser, has several target languages, or cannot be read.
        DataError: The corpus cannot be read, is in other languages or has no pair.
    """
    translator = translator_for(model, corpus)
    if len(translator.targets) > 1:
        raise ModelError(f"{model} has several target languages, but a lexicon is for one")
    step = ceil(sum(1 for _ in read_pairs(corpus)) / _MOST_PAIRS) or 1
    chosen = islice(read_pairs(corpus), 0, None, step)
    found = (translator.pair_ids(*pair) for pair in chosen if all(map(str.strip, pair)))
    if not (pairs := [pair for pair in found if pair]):
        raise DataError(
            f"{corpus.files[0]} has no pair that is neither empty nor too long: add text"
        )
    src, tgt = zip(*pairs, strict=True)
    lexicon = TokenLexicon.learned(src, tgt, translator.tokenizer)
    add_to_folder(own_folder(model), SHORTLIST, partial(write_lexicon, lexicon=lexicon))
    return lexicon
