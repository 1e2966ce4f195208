"""What a model is taught: to translate, or to parse (section 6.3), which is one more translation.

A task says how text enters the vocabularies, what may be answered, and how answers are scored;
model, training and search know nothing of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch

from yakusu.config import Registry
from yakusu.data.brackets import bracketed, flat, linearised, tree_words
from yakusu.data.tokenizer import EOS, Tokenizer
from yakusu.data.treefiles import begins_as_tree
from yakusu.errors import DataError
from yakusu.metrics import Score, score
from yakusu.search import Constraint
from yakusu.tasks.constraint import BracketRules, TreeConstraint


class Task(ABC):
    """One kind of source and target.

    example: A source line, as a user is shown one.
    sides: What the source and the target are, where they are in no language that has a code.
    makes: What a trained model is.
    """

    example: ClassVar[str]
    sides: ClassVar[tuple[str, str]]
    makes: ClassVar[str]

    @abstractmethod
    def source(self, line: str) -> str:
        """A source line as its vocabulary reads it.

        Raises:
            DataError: It cannot be one.
        """

    @abstractmethod
    def target(self, line: str) -> str:
        """A target line of a corpus as its vocabulary reads it."""

    @abstractmethod
    def written(self, target: str, line: str) -> str:
        """A target that somebody wrote for a source line, as a corpus has it.

        Raises:
            DataError: It cannot be one of that line.
        """

    @abstractmethod
    def answer(self, said: str, line: str) -> str:
        """What is given back for a source line when the model has said this; "" is nothing."""

    @abstractmethod
    def constraint(
        self, tokenizer: Tokenizer, lines: Sequence[str], *, n_beams: int, device: torch.device
    ) -> Constraint | None:
        """What may be answered to each source line."""

    @abstractmethod
    def score(
        self, answers: Sequence[str], truth: Sequence[str], *, lowercase: bool, language: str
    ) -> Score:
        """The score that steers training.

        Args:
            answers: To the source lines of a dev set.
            truth: Its target lines.
            lowercase: Ignore case.
            language: Code of the target language, "" where not known.
        """


tasks: Registry[type[Task]] = Registry("task")


@tasks.register("translation")
class TranslationTask(Task):
    """Sentences into sentences, scored by BLEU."""

    example = "A sentence."
    sides = ("source", "target")
    makes = "translator"

    def source(self, line: str) -> str:
        return line.strip()

    def target(self, line: str) -> str:
        return line

    def written(self, target: str, line: str) -> str:
        return target.strip()

    def answer(self, said: str, line: str) -> str:
        return said

    def constraint(
        self, tokenizer: Tokenizer, lines: Sequence[str], *, n_beams: int, device: torch.device
    ) -> Constraint | None:
        return None

    def score(
        self, answers: Sequence[str], truth: Sequence[str], *, lowercase: bool, language: str
    ) -> Score:
        (bleu,) = score(
            answers, truth, metrics=("bleu",), lowercase=lowercase, target_language=language
        )
        return bleu


@tasks.register("parsing")
class ParsingTask(Task):
    """Words between blanks into a tree over them, scored by labelled F1."""

    example = "A sentence ."
    sides = ("words", "trees")
    makes = "parser"

    def source(self, line: str) -> str:
        if begins_as_tree(line):
            raise DataError(
                f"'{line.strip()[:40]}' is a tree, and what is parsed is words: name a file of "
                "trees to have theirs parsed anew"
            )
        return " ".join(tree_words(line))

    def target(self, line: str) -> str:
        return " ".join(linearised(line))

    def written(self, target: str, line: str) -> str:
        from yakusu.data.trees import one_line, tree_over  # its library is an extra

        return one_line(tree_over(tree_words(line), target))

    def answer(self, said: str, line: str) -> str:
        words = tree_words(line)
        return bracketed(said.split(), words) if said else flat(words)

    def constraint(
        self, tokenizer: Tokenizer, lines: Sequence[str], *, n_beams: int, device: torch.device
    ) -> Constraint | None:
        pieces = tokenizer.target_pieces(range(tokenizer.tgt_vocab_size - 1))
        tokens = [piece.removeprefix("▁") for piece in pieces]
        rules = BracketRules(tokens, eos=EOS, device=device)
        return TreeConstraint(rules, [len(tree_words(line)) for line in lines], n_beams=n_beams)

    def score(
        self, answers: Sequence[str], truth: Sequence[str], *, lowercase: bool, language: str
    ) -> Score:
        from yakusu.data.trees import tree_of
        from yakusu.tasks.evalb import compare, total  # its library is an extra

        made, true = ([tree_of(line) for line in lines] for lines in (answers, truth))
        return total(compare(made, true)).scores()[0]
