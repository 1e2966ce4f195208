"""Raw text -> the data folder of a run: filter, hold out, learn the tokenizer, binarise.

train.src.* train.tgt.* dev.src.* dev.tgt.*   binarised pairs
dev.src.txt dev.tgt.txt                       dev text, for BLEU
tokenizer.model                               or source.model and target.model
data.json                                     sizes, counts and the filters' report
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from yakusu.batches import cut_by_length, fullness
from yakusu.data import Pairs, binarise, chosen_pairs, dtype_for, sift
from yakusu.errors import DataError
from yakusu.progress import Progress
from yakusu.recipe import Recipe
from yakusu.text import Corpus, FilterConfig, FilterReport
from yakusu.tokenizer import Tokenizer
from yakusu.training.checkpoint import write_json
from yakusu.training.trainer import CPU_BATCH_TOKENS

_KEEP_ALL = FilterConfig(
    max_tokens=2**31, max_ratio=2**31, drop_duplicates=False, drop_identical=False
)


@dataclass(frozen=True)
class Prepared:
    """What `prepare` made."""

    folder: Path
    report: dict[str, int]  # pairs read, dropped by each filter, kept
    n_train: int
    n_dev: int
    fullness: float  # share of positions of a batch that are not padding
    was_there: bool  # nothing was to be done

    def __str__(self) -> str:
        dropped = ", ".join(
            f"{n:,} {reason}" for reason, n in self.report.items() if reason not in ("read", "kept")
        )
        return (
            f"{self.report['read']:,} pairs read; dropped: {dropped}\n"
            f"{self.n_train:,} pairs to train on, {self.n_dev:,} to validate on; "
            f"{1 - self.fullness:.1%} of a batch's positions are padding\n"
            f"binarised pairs and tokenizer: {self.folder}"
        )


class Preparation:
    """One run of `prepare`."""

    def __init__(self, recipe: Recipe, progress: Progress, workers: int) -> None:
        self.recipe, self.progress, self.workers = recipe, progress, workers

    def fill(self, folder: Path) -> None:
        """Write the data folder."""
        recipe, report = self.recipe, FilterReport()
        train = sift(recipe.data.train, recipe.filters, report, self.progress)
        if not train.any():
            raise DataError(
                f"{_names(recipe.data.train)}: no pair is left to train on of {len(train)}"
            )
        dev_corpus, dev = self._dev(train)
        tokenizer = self._tokenizer(train)
        tokenizer.save(folder)
        n_train = self._binarise(
            recipe.data.train, train, folder / "train", tokenizer, recipe.filters, report
        )
        n_dev = self._binarise(
            dev_corpus, dev, folder / "dev", tokenizer, _KEEP_ALL, FilterReport()
        )
        if not n_train or not n_dev:
            raise DataError(
                f"{_names(recipe.data.train)}: {n_train} pairs are left to train on and {n_dev} to "
                "validate on: give more text or loosen the filters"
            )
        for side, name in enumerate(("src", "tgt")):
            lines = (pair[side] + "\n" for pair in chosen_pairs(dev_corpus, dev))
            with (folder / f"dev.{name}.txt").open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)
        dtype = dtype_for(max(tokenizer.src_vocab_size, tokenizer.tgt_vocab_size))
        write_json(folder / "data.json", {"dtype": dtype})
        pairs = Pairs.open(folder, "train")
        batch_tokens = recipe.batches.batch_tokens or CPU_BATCH_TOKENS
        facts = {
            "dtype": dtype,
            "n_train": n_train,
            "n_dev": n_dev,
            "fullness": fullness(pairs, cut_by_length(np.arange(n_train), pairs, batch_tokens)),
            "report": report.as_dict(),
        }
        write_json(folder / "data.json", facts)

    def _dev(self, train: npt.NDArray[np.bool_]) -> tuple[Corpus, npt.NDArray[np.bool_]]:
        """The dev corpus and which of its pairs to use; held-out ones are taken out of `train`."""
        data = self.recipe.data
        if data.dev:
            keep = sift(data.dev, _KEEP_ALL, FilterReport(), self.progress)
            return data.dev, keep
        fit = np.flatnonzero(train)
        n = min(data.hold_out, len(fit) // 20)
        held_out = np.zeros_like(train)
        held_out[fit[np.linspace(0, len(fit) - 1, n, dtype=np.int64)]] = True
        train &= ~held_out
        return data.train, held_out

    def _tokenizer(self, train: npt.NDArray[np.bool_]) -> Tokenizer:
        """Learnt on sentences spread evenly over the corpus."""
        config = self.recipe.tokenizer
        chosen = np.flatnonzero(train)
        sample = np.zeros_like(train)
        n = min(len(chosen), config.sample_sentences)
        sample[chosen[np.linspace(0, len(chosen) - 1, n, dtype=np.int64)]] = True

        def side(i: int) -> Iterator[str]:
            return (pair[i] for pair in chosen_pairs(self.recipe.data.train, sample))

        self.progress.say(f"learning a vocabulary of {config.vocab_size:,} tokens from {n:,} pairs")
        return Tokenizer.train(side(0), side(1), config, seed=self.recipe.seed)

    def _binarise(
        self,
        corpus: Corpus,
        keep: npt.NDArray[np.bool_],
        stem: Path,
        tokenizer: Tokenizer,
        filters: FilterConfig,
        report: FilterReport,
    ) -> int:
        return binarise(
            chosen_pairs(corpus, keep),
            stem,
            tokenizer=tokenizer,
            filters=filters,
            report=report,
            total=int(keep.sum()),
            progress=self.progress,
            workers=self.workers,
        )


def _names(corpus: Corpus) -> str:
    return " and ".join(str(file) for file in corpus.files)
