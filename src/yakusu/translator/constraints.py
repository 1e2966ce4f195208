"""What a translation must and must not contain, for the search."""

from collections.abc import Sequence
from functools import cached_property

import torch

from yakusu.data.terms import Term
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK
from yakusu.errors import DataError
from yakusu.search.characters import CharacterConstraint, Spellings
from yakusu.search.constraint import Constraint
from yakusu.search.phrases import phrase_constraint
from yakusu.search.slots import SlotGoal
from yakusu.search.spelling import Phrase, PhraseVocabulary
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
        self._slot_kinds = [UNK, *tokenizer.target_slots.values()]

    @cached_property
    def _phrases(self) -> PhraseVocabulary:
        return PhraseVocabulary(self._tokenizer)

    @cached_property
    def _spellings(self) -> Spellings:
        return Spellings(self._tokenizer)

    def check_phrases(self, job: Job, room: int) -> None:
        """Refuse phrases that contradict each other, or do not fit into a translation.

        Args:
            job: The job.
            room: Maximum number of tokens after the prefix, without eos.
        """
        if not (job.include or job.exclude):
            return
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

    def of(
        self, jobs: Sequence[Job], *, n_beams: int, device: torch.device
    ) -> tuple[list[Constraint], SlotGoal | None]:
        """The constraints of a batch, and its placeholder tokens."""
        if self._task.constrains:
            lines = [job.text for job in jobs]
            tree = self._task.constraint(self._tokenizer, lines, n_beams=n_beams, device=device)
            return ([tree] if tree else []), None
        constraints: list[Constraint] = []
        if self._spellings.bytes:
            more = [self._given(job) for job in jobs]
            constraints.append(
                CharacterConstraint(self._spellings, more, n_beams=n_beams, device=device)
            )
        if any(job.include or job.exclude for job in jobs):
            include, exclude = [job.include for job in jobs], [job.exclude for job in jobs]
            constraints.append(
                phrase_constraint(self._phrases, include, exclude, n_beams=n_beams, device=device)
            )
        return constraints, self._slots(jobs, n_beams=n_beams, device=device)

    def _given(self, job: Job) -> str:
        """The prefix and the phrases of a job, whose characters its translation may contain."""
        prefix = self._tokenizer.decode_target([job.prefix])[0] if job.prefix else ""
        phrases = [
            phrase if isinstance(phrase, Phrase) else Phrase(phrase) for phrase in job.include
        ]
        forms = [form for phrase in phrases for form in phrase.forms]
        normalised = self._tokenizer.decode_target(self._tokenizer.encode_target(forms))
        return "".join((prefix, *forms, *normalised))

    def _slots(self, jobs: Sequence[Job], *, n_beams: int, device: torch.device) -> SlotGoal | None:
        """The placeholder tokens; None: the vocabulary has none, and no job needs any."""
        if len(self._slot_kinds) == 1 and not any(job.slots for job in jobs):
            return None
        required = [job.slots for job in jobs]
        return SlotGoal(required, self._slot_kinds, n_beams=n_beams, device=device)
