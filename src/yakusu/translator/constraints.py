"""What a translation must and must not contain, for the search."""

from collections.abc import Sequence
from functools import cached_property

from yakusu.data.lines.terms import Term
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError
from yakusu.search.phrases import phrase_constraint
from yakusu.search.restrictions import Restrictions
from yakusu.search.spelling import Phrase, PhraseVocabulary
from yakusu.search.tokens import TokenRules
from yakusu.tasks.task import Task
from yakusu.translator.request import Job


class Constraints:
    """The constraints of jobs.

    Args:
        tokenizer: The tokenizer of the model.
        task: The task of the model.
    """

    def __init__(self, tokenizer: Tokenizer, task: Task) -> None:
        self._tokenizer, self._task = tokenizer, task

    @cached_property
    def rules(self) -> TokenRules:
        """What the target vocabulary may generate by default."""
        if self._task.constrains:
            return TokenRules(self._tokenizer.tgt_vocab_size - 1)
        return TokenRules.of(self._tokenizer)

    @cached_property
    def _phrases(self) -> PhraseVocabulary:
        return PhraseVocabulary(self._tokenizer)

    def check_phrases(self, job: Job, room: int) -> None:
        """Refuse phrases that contradict each other, or do not fit into a translation.

        Args:
            job: The job.
            room: Maximum number of tokens after the prefix, without eos.
        """
        needed = self._phrases.tokens_needed(job.include, job.exclude, prefix=job.prefix)
        if job.include and needed > room:
            raise DataError(
                f"the phrases to include need at least {needed} more tokens, but the maximum "
                f"length leaves room for {room}: increase max_length or max_extra, or remove "
                "phrases"
            )

    def check_terms(self, terms: Sequence[Term], path: str) -> None:
        """Refuse translations of terms that the vocabulary cannot spell.

        Args:
            terms: The terms of a glossary.
            path: The file that they are from.
        """
        for term in terms:
            try:
                self._phrases.spell(term.target)
            except DataError as error:
                raise DataError(f"{path}: {error}: remove the term '{term.source}'") from error

    def of(self, job: Job) -> Restrictions | None:
        """The restrictions of a job, for one search; None: the rules only."""
        if self._task.constrains:
            tree = self._task.constraint(self._tokenizer, job.text)
            return Restrictions(self.rules, [tree]) if tree else None
        if not (job.include or job.exclude or job.slots or job.prefix):
            return None
        phrases = []
        if job.include or job.exclude:
            phrases.append(phrase_constraint(self._phrases, job.include, job.exclude))
        return Restrictions(self.rules, phrases, job.slots, self._given(job))

    def _given(self, job: Job) -> str:
        """The prefix and the phrases of a job, whose characters its translation may contain."""
        if not (self.rules.characters and (job.prefix or job.include)):
            return ""
        prefix = self._tokenizer.decode_target([job.prefix])[0] if job.prefix else ""
        phrases = [
            phrase if isinstance(phrase, Phrase) else Phrase(phrase) for phrase in job.include
        ]
        forms = [form for phrase in phrases for form in phrase.forms]
        normalised = self._tokenizer.decode_target(self._tokenizer.encode_target(forms))
        # Spaces are never spelled with bytes.
        return "".join((prefix, *forms, *normalised)).replace(" ", "")
