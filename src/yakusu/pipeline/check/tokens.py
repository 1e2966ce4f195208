"""Numbers of tokens before a run has a vocabulary: `check` learns one from a sample."""

from collections.abc import Sequence

from yakusu.data.files.text import Pair
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError
from yakusu.pipeline.check.counts import length_in
from yakusu.recipe import Recipe
from yakusu.tasks.task import tasks

_VOCAB_SIZES = (8_000, 4_000, 2_000, 1_000, 500, 250, 100)  # enough to estimate lengths


class TokenCounter:
    """Counts the tokens of both sides of a pair.

    Args:
        sample: Pairs of the corpus, to learn the vocabulary from.
        recipe: The recipe.
        units: Units of both sides, "words" or "characters", that are counted instead if the sample
            is too small.

    Attributes:
        vocab_size: Size of the vocabulary; None: the units are counted.
    """

    def __init__(self, sample: Sequence[Pair], recipe: Recipe, units: Sequence[str]) -> None:
        self._task, self._units = tasks[recipe.task](), units
        self._tokenizer = self._learn([self._read(pair) for pair in sample if all(pair)], recipe)
        self.vocab_size = self._tokenizer.src_vocab_size if self._tokenizer else None

    def _read(self, pair: Pair) -> Pair:
        return self._task.preprocess_source(pair[0]), self._task.preprocess_target(pair[1])

    @staticmethod
    def _learn(sample: Sequence[Pair], recipe: Recipe) -> Tokenizer | None:
        """Learn the largest vocabulary that the sample allows."""
        config = recipe.tokenizer
        sizes = [size for size in _VOCAB_SIZES if size < config.vocab_size]
        # The recipe's own size comes second, for scripts with more characters than the first.
        for size in dict.fromkeys((*sizes[:1], config.vocab_size, *sizes)):
            smaller = config.model_copy(update={"vocab_size": size})
            sources, targets = [src for src, _ in sample], [tgt for _, tgt in sample]
            try:
                return Tokenizer.train(sources, targets, smaller, seed=recipe.seed)
            except DataError:
                continue
        return None

    def __call__(self, pair: Pair) -> tuple[int, int]:
        """Return the numbers of tokens of both sides, without eos."""
        src, tgt = pair
        if self._tokenizer is None:
            return length_in(self._units[0], src), length_in(self._units[1], tgt)
        src, tgt = self._read(pair)
        (src_ids,), (tgt_ids,) = (
            self._tokenizer.encode_source([src]),
            self._tokenizer.encode_target([tgt]),
        )
        return len(src_ids) - 1, len(tgt_ids) - 1
