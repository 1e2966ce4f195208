"""RUN/pairs: the pairs of memories that a model is trained on, and those that it is compared on.

train.src, train.tgt            the pairs for training
held-out.src, held-out.tgt      the pairs for the comparison
pairs.json                      where they are from: `PairFacts`
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from pathlib import Path

from pydantic import BaseModel

from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.files.text import Pair
from yakusu.data.languages import same_language
from yakusu.errors import DataError, ModelError
from yakusu.folder import read_json, save_folder, verify_folder, write_json
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.pairs import confirmed_pairs, is_held_out, source_key
from yakusu.pipeline.receipts.receipt import Receipt, read_facts
from yakusu.pipeline.synthetic.held_out import find_dev_set
from yakusu.progress import Progress
from yakusu.recipe import Recipe
from yakusu.translator.folder.folder import ModelFolder

_FACTS = "pairs.json"
_MOST_COMPARED = 1000  # held-out pairs


class PairFacts(BaseModel):
    """pairs.json: where the pairs of a run are from.

    Attributes:
        memories: The revision of each memory that was read.
        parent: SHA-256 of the weights of the model to improve.
        train: Number of pairs for training.
        held_out: Number of pairs for the comparison.
        known: Number of held-out pairs that are not compared, because the old data contains them.
        mix: Share of the training pairs that are old data.
        older: The older test set, unless another one is given.
    """

    memories: dict[str, int]
    parent: str
    train: int
    held_out: int
    known: int
    mix: float
    older: Corpus

    @classmethod
    def of_model(cls, model: Path) -> "PairFacts | None":
        """The facts about the pairs with which a model was improved; None: it was not."""
        try:
            facts = read_facts(model)
            if not isinstance(facts, Receipt):
                return None
            path = Path(facts.recipe.data.train.src).with_name(_FACTS)
            return cls.model_validate(read_json(path))
        except (ModelError, OSError, ValueError):
            return None


@dataclass(frozen=True)
class ConfirmedPairs:
    """The pairs of a run.

    Attributes:
        folder: Where they are, RUN/pairs.
        model: The model to improve.
        memories: The files of the memories.
        progress: Progress reporter.
    """

    folder: Path
    model: ModelFolder
    memories: Sequence[Path]
    progress: Progress

    @property
    def corpus(self) -> Corpus:
        """The pairs for training."""
        return self._corpus("train")

    def training_keys(self) -> set[int]:
        """What `source_key` returns for the sources of the pairs for training."""
        return {source_key(source) for source, _ in read_pairs(self.corpus)}

    def held_out(self) -> list[Pair]:
        """The pairs for the comparison."""
        return [*read_pairs(self._corpus("held-out"))]

    def facts(self) -> PairFacts | None:
        """Where the pairs are from; None: they are not written yet.

        Raises:
            ModelError: A file is corrupt.
        """
        if not self.folder.exists():
            return None
        verify_folder(self.folder, repair=f"delete {self.folder.parent}, and start again")
        return PairFacts.model_validate(read_json(self.folder / _FACTS))

    def count(self, most: int) -> int:
        """The number of pairs in the memories, at most `most`."""
        with self.reading() as memories:
            return sum(1 for _ in islice(confirmed_pairs(memories), most))

    @contextmanager
    def reading(self) -> Iterator[list[TranslationMemory]]:
        """Open the memories, and read one revision of each.

        Raises:
            DataError: One cannot be read, or has other languages than the model or the first one.
        """
        config, found = self.model.config, list[TranslationMemory]()
        own = config.source_language, config.target_language
        has_several = bool(self.model.tokenizer.src.language_tokens)
        languages = own if all(own) and not has_several else None
        with ExitStack() as stack:
            for path in self.memories:
                memory = stack.enter_context(TranslationMemory.open(path, languages))
                languages = memory.languages
                if own[0] and not same_language(own[0], languages[0]):
                    raise DataError(
                        f"{path} is a memory of {'-'.join(languages)}, but {self.model.path} "
                        f"translates from {own[0]}: choose another file"
                    )
                stack.enter_context(memory.snapshot())
                found.append(memory)
            yield found

    def write(self, recipe: Recipe) -> PairFacts:
        """Write the pairs of a run with this recipe; its `data.extra` is the old data."""

        def fill(folder: Path) -> None:
            held_out, n_train = list[Pair](), 0
            with self.reading() as memories, _writing(folder, "train") as write:
                for pair in confirmed_pairs(memories):
                    if is_held_out(pair[0]):
                        held_out.append(pair)
                    else:
                        write(pair)
                        n_train += 1
                revisions = [memory.revision for memory in memories]
            known = self._contained(held_out, recipe.data.extra)
            new = [pair for pair in held_out if source_key(pair[0]) not in known]
            chosen = {*nsmallest(_MOST_COMPARED, (source_key(source) for source, _ in new))}
            compared = [pair for pair in new if source_key(pair[0]) in chosen]
            with _writing(folder, "held-out") as write:
                for pair in compared:
                    write(pair)
            facts = PairFacts(
                memories=dict(zip(map(str, self.memories), revisions, strict=True)),
                parent=recipe.parent.sha256,
                train=n_train,
                held_out=len(compared),
                known=len(held_out) - len(new),
                mix=recipe.parent.mix,
                older=_older_test_set(self.model.path),
            )
            write_json(folder / _FACTS, facts.model_dump())

        save_folder(self.folder, fill)
        return PairFacts.model_validate(read_json(self.folder / _FACTS))

    def _contained(self, pairs: Sequence[Pair], corpus: Corpus) -> set[int]:
        """The keys of those sources that a corpus contains."""
        wanted, found = {source_key(source) for source, _ in pairs}, set[int]()
        if not corpus or not pairs:
            return found
        with self.progress.track("comparing with the old data", "pairs", None) as tracker:
            for source, _ in read_pairs(corpus):
                if (key := source_key(source)) in wanted:
                    found.add(key)
                tracker.advance()
        return found

    def _corpus(self, stem: str) -> Corpus:
        return Corpus(src=str(self.folder / f"{stem}.src"), tgt=str(self.folder / f"{stem}.tgt"))


def _older_test_set(model: Path) -> Corpus:
    """The dev set of a model or, if it was improved, of the first model; empty: there is none."""
    before = PairFacts.of_model(model)
    return before.older if before else find_dev_set(model)


@contextmanager
def _writing(folder: Path, stem: str) -> Iterator[Callable[[Pair], None]]:
    """Write the two files of a corpus."""
    with (
        (folder / f"{stem}.src").open("w", encoding="utf-8", newline="\n") as src,
        (folder / f"{stem}.tgt").open("w", encoding="utf-8", newline="\n") as tgt,
    ):

        def write(pair: Pair) -> None:
            src.write(f"{pair[0]}\n")
            tgt.write(f"{pair[1]}\n")

        yield write
