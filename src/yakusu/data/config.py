"""Section [data] of a recipe: corpora and languages."""

from yakusu.config import Config, requirement
from yakusu.data.corpus import Corpus, ExtraCorpus
from yakusu.data.languages import LanguageCode
from yakusu.typed import setting


class Direction(Config):
    """A source and a target language with their corpora."""

    # Code such as "en", in any spelling; empty: the suffix of the file name (train.en), the column
    # of `pairs`, or what is detected in the corpus.
    source_language: LanguageCode = ""
    target_language: LanguageCode = ""  # as above; determines BLEU's tokenizer
    train: Corpus = Corpus()  # or a list of corpora, each with a `weight`
    dev: Corpus = Corpus()  # empty: held out from train

    @requirement
    def _check_dev(self) -> None:
        if self.dev.parts:
            raise ValueError("a dev set must be one corpus, not a list: join its files")

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of both languages; by default those of the training corpus."""
        src, tgt = self.train.languages
        return self.source_language or src, self.target_language or tgt


class OtherDirection(Direction):
    """An entry of `[[data.others]]`."""

    @requirement
    def _check_train(self) -> None:
        if not self.train:
            raise ValueError("an entry of data.others has no training corpus: set its train")


class DataConfig(Direction):
    """Section [data] of a recipe: corpora and languages.

    `$NAME` in a path is replaced by the value of that environment variable.
    """

    extra: ExtraCorpus = ExtraCorpus()  # further training data with its own weight
    hold_out: int = setting(1000, ge=1)  # maximum number of held-out pairs; at most 5% of train
    attribution: str = ""  # authors and licence of the text
    others: tuple[OtherDirection, ...] = ()  # for a model of several languages
    # T: the share of a direction with n pairs is proportional to n^(1/T)
    temperature: float = setting(1.0, ge=1, le=1000)

    @property
    def corpora(self) -> dict[str, Corpus]:
        """The corpora by their keys, such as "train" and "others.1.dev"."""
        first = {"train": self.train, "extra": self.extra, "dev": self.dev}
        others = {
            f"others.{number}.{name}": corpus
            for number, other in enumerate(self.others, start=1)
            for name, corpus in (("train", other.train), ("dev", other.dev))
        }
        return {key: corpus for key, corpus in (first | others).items() if corpus}

    @requirement
    def _check_attribution(self) -> None:
        if not self.attribution.isprintable() or "|" in self.attribution:
            raise ValueError("data.attribution must be one line of text without '|'")

    @requirement
    def _check_subtrees(self) -> None:
        if (self.train.subtrees or self.extra.subtrees) and not self.dev:
            raise ValueError(
                "subtrees = true needs dev trees, because the constituents of held-out trees would "
                "be trained on: set data.dev.trees"
            )

    @requirement
    def _check_others(self) -> None:
        if self.temperature != 1 and not self.others:
            raise ValueError("data.temperature has no effect without data.others: remove it")
