"""Tasks: translation, and parsing (section 6.3), which uses the same training and search.

A task defines how lines of a corpus become the text that the vocabularies encode, which outputs
are valid, and how outputs are scored. Models, training and search do not depend on the task.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from yakusu.config import Registry
from yakusu.data.brackets import begins_as_tree, delinearise, flat_tree, linearise, tree_words
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS
from yakusu.errors import DataError
from yakusu.search.constraint import Constraint
from yakusu.tasks.constraint import BracketRules, TreeConstraint

if TYPE_CHECKING:
    from yakusu.metrics import Score

_SPACES = re.compile("  +")


class Task(ABC):
    """A kind of source and target.

    Attributes:
        example: An example of a source line.
        sides: Names of the source and the target, used if their languages are unknown.
        model_noun: Noun for a trained model, such as "translator".
        constrains: Whether outputs have a form that `constraint` enforces.
    """

    example: ClassVar[str]
    sides: ClassVar[tuple[str, str]]
    model_noun: ClassVar[str]
    constrains: ClassVar[bool]

    @abstractmethod
    def preprocess_source(self, line: str) -> str:
        """Convert a source line to the text that its vocabulary encodes.

        Raises:
            DataError: The line is not a valid source of this task.
        """

    @abstractmethod
    def preprocess_target(self, line: str) -> str:
        """Convert a target line of a corpus to the text that its vocabulary encodes.

        Raises:
            DataError: The line is not a valid target of this task.
        """

    @abstractmethod
    def normalise_target(self, target: str, source: str) -> str:
        """Convert a target that a user typed for a source line to the format of a corpus.

        Raises:
            DataError: The target does not match the source.
        """

    @abstractmethod
    def postprocess(self, output: str, source: str) -> str:
        """Convert a model's output for a source line to a target line.

        Args:
            output: The decoded target ids; "" if the model produced none.
            source: The source line.
        """

    @abstractmethod
    def constraint(self, tokenizer: Tokenizer, source: str) -> Constraint | None:
        """Return the constraint on the outputs for a source line; None: any output is valid."""

    @abstractmethod
    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        *,
        lowercase: bool,
        language: str,
    ) -> "Score":
        """Compute the validation score of training.

        Args:
            hypotheses: Postprocessed outputs for the source lines of a dev set.
            references: The target lines of the dev set.
            lowercase: Ignore case.
            language: Code of the target language, "" if unknown.
        """


tasks: Registry[type[Task]] = Registry("task")


@tasks.register("translation")
class TranslationTask(Task):
    """Translate sentences; the score is BLEU."""

    example = "A sentence."
    sides = ("source", "target")
    model_noun = "translator"
    constrains = False

    def preprocess_source(self, line: str) -> str:
        return line.strip()

    def preprocess_target(self, line: str) -> str:
        return line

    def normalise_target(self, target: str, source: str) -> str:
        return target.strip()

    def postprocess(self, output: str, source: str) -> str:
        return _SPACES.sub(" ", output).strip(" ")  # a token may be a space only

    def constraint(self, tokenizer: Tokenizer, source: str) -> Constraint | None:
        return None

    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        *,
        lowercase: bool,
        language: str,
    ) -> "Score":
        from yakusu.metrics import score_translations  # loads sacrebleu

        (bleu,) = score_translations(
            hypotheses,
            references,
            metrics=("bleu",),
            lowercase=lowercase,
            target_language=language,
        )
        return bleu


@tasks.register("parsing")
class ParsingTask(Task):
    """Convert words, separated by white space, to a tree over them; the score is labelled F1."""

    example = "A sentence ."
    sides = ("words", "trees")
    model_noun = "parser"
    constrains = True

    def __init__(self) -> None:
        self._rules: tuple[Tokenizer, BracketRules] | None = None  # of the last tokenizer

    def preprocess_source(self, line: str) -> str:
        if begins_as_tree(line):
            raise DataError(
                f"'{line.strip()[:40]}' is a tree, not a sentence: pass its words, or the name of "
                "a file of trees"
            )
        return " ".join(tree_words(line))

    def preprocess_target(self, line: str) -> str:
        return " ".join(linearise(line))

    def normalise_target(self, target: str, source: str) -> str:
        from yakusu.data.trees import tree_line, tree_over  # needs the extra 'parse'

        return tree_line(tree_over(tree_words(source), target))

    def postprocess(self, output: str, source: str) -> str:
        words = tree_words(source)
        return delinearise(output.split(), words) if output else flat_tree(words)

    def constraint(self, tokenizer: Tokenizer, source: str) -> Constraint | None:
        if self._rules is None or self._rules[0] is not tokenizer:
            pieces = tokenizer.target_pieces(range(tokenizer.tgt_vocab_size - 1))
            tokens = [piece.removeprefix("▁") for piece in pieces]
            self._rules = tokenizer, BracketRules(tokens, eos=EOS)
        return TreeConstraint(self._rules[1], len(tree_words(source)))

    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        *,
        lowercase: bool,
        language: str,
    ) -> "Score":
        from yakusu.data.trees import tree_of  # needs the extra 'parse'
        from yakusu.tasks.evalb import compare_trees, total

        trees, true_trees = ([tree_of(line) for line in side] for side in (hypotheses, references))
        return total(compare_trees(trees, true_trees)).scores()[0]
