"""Jobs -> tokens -> search -> outputs: the translation of segments."""

import logging
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, starmap, tee

from yakusu.alignment import Link
from yakusu.data.lines.private_use import IS_SLOT, SLOTS
from yakusu.data.lines.terms import Term
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK
from yakusu.errors import DataError
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Decoder, Query
from yakusu.search.hypothesis import Hypothesis, limit
from yakusu.search.spelling import Phrase
from yakusu.tasks.task import tasks
from yakusu.translator.constraints import Constraints
from yakusu.translator.details import Details, details_of
from yakusu.translator.links import Translated, unit_links_of
from yakusu.translator.output import Output, slots_of, to_places, to_slots
from yakusu.translator.placement import adjust_spaces, units
from yakusu.translator.request import Job, Request

_log = logging.getLogger(__name__)


class JobTranslator:
    """Translates segments with a model and its tokenizer.

    Args:
        decoder: A model, or an ensemble.
        tokenizer: The tokenizer that the model was trained with.
        search: Settings of the search, such as beam width and length penalty.
        task: The task of the model, by its name in `tasks`.
        max_source_tokens: Maximum number of source tokens, including eos. Longer segments are
            truncated, with a warning; a parser returns a flat tree for them instead.
    """

    def __init__(
        self,
        decoder: Decoder,
        tokenizer: Tokenizer,
        *,
        search: SearchConfig,
        task: str,
        max_source_tokens: int,
    ) -> None:
        self.decoder, self.tokenizer, self.search = decoder, tokenizer, search
        self.task_name, self.task = task, tasks[task]()
        self.max_source_tokens = min(max_source_tokens, decoder.max_length)
        self._constraints = Constraints(tokenizer, self.task)

    def job(
        self,
        request: Request,
        ids: list[int],
        *,
        terms: Sequence[Term] = (),
        kept: Collection[str] = (),
        aligns: bool = False,
    ) -> Job:
        """The input of the search for a request.

        Args:
            request: The sentence and its settings.
            ids: Its source ids, ending with eos, at most `max_source_tokens`.
            terms: Terms of a glossary that it contains.
            kept: Phrases to include that are part of what is kept, so that the model need not
                write them.
            aligns: Whether the units of the translation are linked to those of the source.

        Raises:
            DataError: The prefix or a phrase cannot be spelled with the vocabulary.
        """
        of_terms = [Phrase(term.target, capitals=True) for term in terms]
        phrases = (*self.search.include, *request.include)
        include: list[str | Phrase] = [phrase for phrase in phrases if phrase not in kept]
        include += of_terms
        exclude = (*self.search.exclude, *request.exclude)
        if (request.prefix or include or exclude) and self.task.constrains:
            raise DataError(
                f"a {self.task.model_noun} takes no prefix and no phrases to include or exclude"
            )
        slots = [self.tokenizer.target_slots.get(slot, UNK) for slot in slots_of(request.text)]
        prefix = self._prefix(request.prefix)
        job = Job(
            request.text,
            ids,
            prefix,
            include=tuple(include),
            exclude=exclude,
            slots=tuple(slots),
            n_terms=len(terms),
            aligns=aligns,
        )
        if include or exclude:
            longest = limit(
                self.search,
                n_source=len(ids) - 1,
                n_prefix=len(prefix),
                max_length=self.decoder.max_length,
            )
            self._constraints.check_phrases(job, longest - len(prefix))
        return job

    def _prefix(self, text: str) -> list[int]:
        """The ids of a prefix, without eos."""
        if not text:
            return []
        *ids, _ = self.tokenizer.encode_target([text])[0]
        slots = IS_SLOT.findall(text)
        shown = IS_SLOT.sub("...", text)
        if ids.count(UNK) > len(slots):  # with older vocabularies, slots are UNK
            raise DataError(f"the prefix '{shown}' has characters that the vocabulary lacks")
        in_order = [SLOTS[i % len(SLOTS)] for i in range(len(slots))]
        if not self.tokenizer.target_slots and slots != in_order:
            raise DataError(
                f"the prefix '{shown}' has the spans of its source in another order, which a "
                "vocabulary without placeholder tokens cannot spell: end the prefix before them"
            )
        most = min(self.max_source_tokens, self.decoder.max_length - 1)
        if len(ids) > most:
            raise DataError(f"the prefix has {len(ids):,} tokens, more than {most:,}: shorten it")
        return ids

    def without_model(self, job: Job) -> Output:
        """The output for a segment that is not passed to the model."""
        text = self.task.postprocess("", job.text)
        score = -math.inf if text else 0.0
        return Output(text, score, score, 0)

    def cut(self, number: int, text: str, ids: list[int]) -> list[int]:
        """The ids of a sentence, truncated to `max_source_tokens`; only eos if it is skipped.

        Args:
            number: The number of the sentence, for a warning.
            text: What a warning shows of the sentence.
            ids: All its ids.
        """
        most = self.max_source_tokens
        if len(ids) <= most:
            return ids
        # Part of a sentence can be translated, but a tree must cover all words.
        skipped = self.task.constrains
        result = "gets a flat tree" if skipped else "is truncated"
        begins, size = " ".join(text[:40].split()), f"{len(ids):,} tokens, more than {most:,}"
        _log.warning("sentence %d ('%s...') has %s, and %s: split it", number, begins, size, result)
        return [*([] if skipped else ids[: most - 1]), ids[-1]]

    def hypotheses(self, jobs: Iterable[Job], *, batch: int) -> list[list[Hypothesis]]:
        """The best translations of segments, as ids; at most `batch` are decoded together."""
        search = self.search
        if self.task.constrains:  # trees repeat brackets
            search = search.model_copy(update={"max_repeats": 0})
        queries = (
            Query(job.ids, job.prefix, self._constraints.of(job), job.trace, job.cancelled)
            for job in jobs
        )
        return self.decoder.search(queries, search, self._constraints.rules, batch=batch)

    def outputs(self, jobs: Iterable[Job], *, details: bool, batch: int) -> list[list[Output]]:
        """The best translations of segments; [] if one of them is cancelled."""
        jobs, searched = tee(jobs)
        found = self.hypotheses((job for job in searched if len(job.ids) > 1), batch=batch)
        jobs = list(jobs)
        if any(job.cancelled and job.cancelled.is_set() for job in jobs):
            return []
        some = (job for job in jobs if len(job.ids) > 1)
        every = [(job, h) for job, best in zip(some, found, strict=True) for h in best]
        of_every = iter(self._outputs(every, details=details, batch=batch))
        of_some = (list(islice(of_every, len(best))) for best in found)
        return [next(of_some) if len(job.ids) > 1 else [self.without_model(job)] for job in jobs]

    def _outputs(
        self, every: Sequence[tuple[Job, Hypothesis]], *, details: bool, batch: int
    ) -> list[Output]:
        """The output for each hypothesis."""
        texts = [self._text(job, h.tokens) for job, h in every]
        links = self._links(every, texts, batch=batch)
        more: Sequence[Details | None] = [None] * len(every)
        if details:
            pairs = list(starmap(self._translated, zip(every, texts, strict=True)))
            more = details_of(self.decoder, self.tokenizer, pairs, batch=batch)
        rows = zip(every, texts, links, more, strict=True)
        return [
            Output(
                text or job.text,
                h.score,
                h.log_prob,
                len(h.tokens) + 1,
                own_links if text else tuple((i, i) for i in range(len(units(job.text)))),
                detail,
                is_source=not text,
            )
            for (job, h), text, own_links, detail in rows
        ]

    def _pieces(self, tokens: Sequence[int]) -> list[str]:
        """What each token adds to the text of a translation; placeholder tokens are slots."""
        pieces = self.tokenizer.target_texts_of(tokens)
        unknown = iter(SLOTS * len(tokens))
        return [next(unknown) if i == UNK else s for i, s in zip(tokens, pieces, strict=True)]

    def _text(self, job: Job, tokens: Sequence[int]) -> str:
        """The translation of a segment; "" if the model generates no text."""
        if UNK in tokens:
            output = "".join(self._pieces(tokens))
        else:
            (output,) = self.tokenizer.decode_target([tokens])
        text = self.task.postprocess(output, job.text)
        if not text:
            return ""
        return adjust_spaces(to_places(text, job.text), job.text)

    def _translated(self, made: tuple[Job, Hypothesis], text: str) -> Translated:
        """A segment and its translation, with the tokens of both."""
        job, tokens = made[0], made[1].tokens
        pieces = self._pieces(tokens)
        source = to_slots(self.task.preprocess_source(job.text))
        # The words of a tree are not those that a parser writes.
        text = "".join(pieces) if self.task.constrains else text
        return Translated(source, job.ids, tokens, pieces, text)

    def _links(
        self, every: Sequence[tuple[Job, Hypothesis]], texts: Sequence[str], *, batch: int
    ) -> Iterator[tuple[Link, ...]]:
        """The links between units for the jobs that need them; () for the others."""
        rows = [row for row in zip(every, texts, strict=True) if row[0][0].aligns]
        aligned = list(starmap(self._translated, rows))
        links = unit_links_of(self.decoder, self.tokenizer, aligned, batch=batch)
        found = (own or () for own in links)
        return (next(found) if job.aligns else () for job, _ in every)
