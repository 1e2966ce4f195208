"""Text -> text: a translator plans the sentences of a text, searches, checks, and writes.

Request         a text with settings of its own
  Span          a part of it that the translation contains unchanged
  Passage       a line of it: layout, segments, spans
  Segment       a sentence, or a part of one, as the model reads it
Query           its ids and what restricts its search      plan:   reading/planner.py
Hypothesis      the ids of a translation                   search: search/decoder.py
                with the numbers of the source             check:  checking.py
Output          the translation of a segment               write:  writing/writer.py
Translation     of the text
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from functools import partial
from itertools import starmap
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from yakusu.data.files.text import window_size, windows
from yakusu.data.languages import canonical, listed_codes, same_language
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.layout import Layout
from yakusu.data.lines.private_use import RESERVED, has_marks_of
from yakusu.data.lines.terms import Glossary
from yakusu.data.numbers.agreement import Agreement
from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.config import Engine, EngineConfig
from yakusu.errors import DataError, ModelError
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import MAX_ALTERNATIVES, Decoder, IdPair, Query, Searches
from yakusu.search.hypothesis import NOTHING, Hypothesis, length_penalty
from yakusu.shipped import model_path
from yakusu.tasks.task import tasks
from yakusu.translator.checking import Checker
from yakusu.translator.consensus import agreed
from yakusu.translator.folder.opening import open_decoder
from yakusu.translator.folder.quality import read_calibration
from yakusu.translator.quality import Calibration
from yakusu.translator.reading.planner import Planner, TextPlan
from yakusu.translator.recall.analysis import MatchAnalysis
from yakusu.translator.request import Request, length
from yakusu.translator.stages import StageCounts
from yakusu.translator.tally import Tally
from yakusu.translator.writing.translation import Translation
from yakusu.translator.writing.writer import Candidate, Writer

if TYPE_CHECKING:
    from yakusu.translator.doubting import Doubter
    from yakusu.translator.recall.memories import Memories
    from yakusu.translator.recall.reader import MemoryReader, RecalledText
    from yakusu.translator.scoring import Scored

# Settings of the text that `Translator.with_settings` does not change
_KEPT = (
    *("to", "glossary", "memory", "exact", "threshold", "penalties", "learning"),
    "min_quality",
)


class Translator:
    """Translates text with a model and its tokenizer.

    Args:
        decoder: A model, or an ensemble.
        tokenizer: The tokenizer that the model was trained with.
        languages: Codes of the source and target languages, "" if unknown. If the model has several
            target languages, the default one.
        search: Settings of the search, such as beam width and length penalty.
        task: The task of the model, by its name in `tasks`.
        max_source_tokens: Maximum number of source tokens, including eos. Longer sentences are
            truncated, with a warning; a parser returns a flat tree for them instead.
        text: How text is read; None: the defaults. A parser reads one sentence per line.
        calibration: What the quality of translations is estimated with; None: it is not estimated.

    Attributes:
        observe: Called with what was done, after each window of texts; None: nobody asks.

    Raises:
        DataError: A regular expression in `text` is not valid, or the glossary cannot be read.
        ModelError: The model has no target language `text.to`, or `text.min_quality` is set and
            there is no calibration.
    """

    def __init__(
        self,
        decoder: Decoder,
        tokenizer: Tokenizer,
        *,
        languages: tuple[str, str],
        search: SearchConfig,
        task: str = "translation",
        max_source_tokens: int = 1024,
        text: TextConfig | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        text = text or TextConfig()
        target = text.to or languages[1]
        if text.to and not tokenizer.src.language_tokens:
            _refuse_other_target(languages[1], text.to)
        try:
            tokenizer = tokenizer.translating_to(target)
        except ModelError:
            if text.to:
                raise  # otherwise there is no default: see `require_target`
        self.decoder, self.tokenizer = decoder, tokenizer
        self.task_name, self.task = task, tasks[task]()
        source, target = (canonical(code) or code for code in (languages[0], target))
        self.languages = (source, target)
        if self.task.constrains and (text.glossary or text.protect or text.memory):
            raise ModelError(
                f"a {self.task.model_noun} takes no glossary, no patterns and no memory"
            )
        longest = min(max_source_tokens, decoder.max_length), decoder.max_length
        self._planner = Planner(
            tokenizer,
            text,
            task=self.task,
            language=source,
            glossary=_glossary(text, self.languages),
            search=search,
            longest=longest,
        )
        self.calibration = calibration
        self._writer = self._new_writer()
        self._agreement = self._new_agreement()
        self._checker, self._doubter = self._new_checker(), self._new_doubter()
        self._analysis = MatchAnalysis(self.tally)
        self.memories = self._open_memories() if text.memory else None
        self.observe: Callable[[StageCounts], None] | None = None

    @property
    def search(self) -> SearchConfig:
        """Settings of the search; `with_settings` returns a translator with others."""
        return self._planner.search

    @property
    def text_config(self) -> TextConfig:
        """How text is read."""
        return self._planner.text_config

    @property
    def max_source_tokens(self) -> int:
        """Maximum number of source tokens, including eos."""
        return self._planner.longest[0]

    @property
    def tally(self) -> Tally:
        """Counts of what has been translated, and of what was copied."""
        return self._planner.tally

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        ensemble: Sequence[str | Path] = (),
        engine: EngineConfig | Engine | None = None,
        text: TextConfig | None = None,
    ) -> "Translator":
        """Open a model folder and verify its files.

        Args:
            folder: A model folder; its languages and search settings are used.
            ensemble: Further model folders with the same vocabulary, for an ensemble (Table 2).
            engine: What runs the model: "native", "torch" or an `EngineConfig`; None: the native
                engine on the CPU, if it supports the model, and torch otherwise.
            text: How text is read; None: the defaults.

        Raises:
            ModelError: A folder is incomplete or corrupted, or has a different vocabulary, or the
                engine cannot run the model, or the model has no target language `text.to`.
            RecipeError: The engine or the value of $YAKUSU_ENGINE is unknown, or the device is not
                available.
            DataError: A regular expression in `text` is not valid.
        """
        if isinstance(ensemble, str):
            raise TypeError("expected several model folders, not one string: pass [folder]")
        folders = [model_path(each) for each in (folder, *ensemble)]
        config, tokenizer, decoder = open_decoder(folders, EngineConfig.of(engine))
        return cls(
            decoder,
            tokenizer,
            languages=(config.source_language, config.target_language),
            search=config.search,
            task=config.task,
            text=text,
            calibration=read_calibration(folders[0]) if len(folders) == 1 else None,
        )

    @property
    def targets(self) -> tuple[str, ...]:
        """Codes of the target languages, if the model has several; otherwise ()."""
        return tuple(self.tokenizer.src.language_tokens)

    def translating_to(self, code: str) -> "Translator":
        """A translator with the same model and settings for another of its target languages.

        Raises:
            ModelError: The model does not translate to this language.
        """
        return Translator(
            self.decoder,
            self.tokenizer,
            languages=self.languages,
            search=self.search,
            task=self.task_name,
            max_source_tokens=self.max_source_tokens,
            text=self._planner.text_config.model_copy(update={"to": code}),
            calibration=self.calibration,
        )

    def with_settings(
        self,
        *,
        search: SearchConfig | None = None,
        text: TextConfig | None = None,
        terms: Iterable[tuple[str, str]] | None = None,
    ) -> "Translator":
        """A translator with the same model and languages, and with a tally of its own.

        Args:
            search: Settings of the search; None: those of this translator.
            text: How text is read, except for `to`, `glossary`, `min_quality` and the memory; None:
                as in this translator.
            terms: A glossary: terms and their translations; None: that of this translator.

        Raises:
            DataError: A regular expression is not valid, or a term contains a protected span or
                cannot be spelled with the vocabulary.
        """
        own, other = self._planner, copy(self)
        kept = {name: getattr(own.text_config, name) for name in _KEPT}
        read = text.model_copy(update=kept) if text else own.text_config
        glossary = own.glossary
        if terms is not None:
            glossary = Glossary.of(terms, read.span_finder())
        other._planner = own.with_settings(search or self.search, read, glossary)
        if text:
            other._agreement = other._new_agreement()
        if other.search.shortlist != self.search.shortlist:
            other._writer, other._doubter = other._new_writer(), other._new_doubter()
        other._checker = other._new_checker()
        other._analysis = MatchAnalysis(other.tally)
        return other

    def with_memories(self, files: Sequence[str | Path]) -> "Translator":
        """A translator with the same model and settings, and with a tally of its own.

        Args:
            files: The files of its memories.

        Raises:
            DataError: A file is not a memory, or has other languages.
            ModelError: The engine does not learn from a memory.
        """
        own, other = self._planner, copy(self)
        text = own.text_config.model_copy(update={"memory": tuple(map(str, files))})
        other._planner = own.with_settings(self.search, text, own.glossary)
        other._analysis = MatchAnalysis(other.tally)
        other.memories = other._open_memories()
        return other

    def _open_memories(self) -> "Memories":
        from yakusu.translator.recall.memories import Memories  # loads SQLite

        return Memories(self.text_config, self.languages, self.decoder, self.pair_ids)

    def pair_ids(self, source: str, target: str) -> IdPair | None:
        """The ids of a text and its translation, with eos; None: they are too long."""
        return self._planner.pair_ids(source, target)

    def _new_agreement(self) -> Agreement:
        # What a user protects may be an ordinary word in a translation.
        text = self._planner.text_config.model_copy(update={"protect": ()})
        return Agreement(self.languages, text.span_finder(RESERVED.pattern))

    def _new_writer(self) -> Writer:
        # The probabilities of shortlists are not those that the quality was calibrated with.
        calibration = None if self.search.shortlist else self.calibration
        return Writer(
            *(self.decoder, self.tokenizer),
            task=self.task,
            language=self.languages[1],
            calibration=calibration,
        )

    def _new_checker(self) -> Checker | None:
        text = self._planner.text_config
        if self.task.constrains or not text.check or text.version == 1:
            return None
        return Checker(self._agreement, self.languages, self._planner, self._writer.text_of)

    def _new_doubter(self) -> "Doubter | None":
        least = self._planner.text_config.min_quality
        if least and not self.calibration:
            if self.decoder.n_members > 1:
                raise ModelError("an ensemble has no estimated quality: omit the lowest quality")
            raise ModelError(
                "the quality of translations is not known: calibrate the model (yakusu check "
                "--model MODEL --dev-src FILE --dev-tgt FILE), or omit the lowest quality"
            )
        if least and self.search.shortlist:
            raise ModelError(
                "there is no estimated quality with shortlists: omit --shortlist, or the lowest "
                "quality"
            )
        if not (self.calibration and least):
            return None
        from yakusu.translator.doubting import Doubter

        return Doubter(self.calibration, least)

    def require_target(self) -> None:
        """Refuse to translate to one of several languages if there is no default.

        Raises:
            ModelError: Several languages are possible.
        """
        if self.targets and not self.tokenizer.language:
            choices = listed_codes(self.targets)
            raise ModelError(
                f"the model has several target languages: choose one of {choices} (--to)"
            )

    def translate(self, texts: Iterable[str | Request]) -> list[str]:
        """The best translation of each text; see `stream`."""
        return [best[0].text for best in self.stream(texts)]

    def stream(
        self,
        texts: Iterable[str | Request],
        *,
        batch: int = 64,
        window: int | None = None,
        details: bool = False,
        trace: bool = False,
        layout: Layout | None = None,
        cancelled: Event | None = None,
    ) -> Iterator[list[Translation]]:
        """Translate texts in order, as they arrive.

        A text is a sentence, a line or several lines. Its sentences are translated separately,
        unless it has a prefix or phrases to include. On a CPU, the result does not depend on
        `batch`, `window` or the other texts.

        Args:
            texts: The translation of an empty text is empty, with score 0.
            batch: Maximum number of sentences translated together.
            window: Number of texts read ahead, which torch groups by length; None: 32 batches, and
                at least 512.
            details: Return the tokens, their log-probabilities and alternatives, and the word
                alignment as well.
            trace: Return the traces of the searches as well, which all translations of a text
                share.
            layout: The texts are the lines of one text, so that a block of code may extend over
                several of them; None: the texts are independent.
            cancelled: Once it is set, by another thread, the searches that are running end, and no
                further translations are returned. With torch, the current batch is completed.

        Yields:
            The `search.n_best` best translations of each text, best first.

        Raises:
            DataError: A text is not valid for the task, such as a tree given to a parser, or a
                prefix or a phrase cannot be spelled with the vocabulary.
        """
        if isinstance(texts, str):
            raise TypeError("expected several sentences, not one string: pass [sentence]")
        self.require_target()
        n_read, window = 0, window_size(batch) if window is None else window
        with self.memories.reading() if self.memories else nullcontext() as reader:
            for items in windows(iter(texts), window, length):
                done = StageCounts(matched=-self.tally.matched)
                with self._searches(batch) as searches:
                    numbered = enumerate(items, n_read + 1)
                    planned = list(
                        self._submitted(numbered, searches, reader, layout, trace, cancelled)
                    )
                    done.end("plan")
                    results = searches.results()
                n_read += len(items)
                plans = [plan for plan, _ in planned]
                done.count_tokens([query for _, own in plans for query in own], results)
                done.end("search")
                found = self._checked(plans, results, batch, cancelled)
                if cancelled and cancelled.is_set():
                    return
                written = self._writer.write(
                    plans, found, self.search, self.tally, details=details, batch=batch
                )
                done.end("write")
                for best, (_, known) in zip(done.timed("write", written), planned, strict=True):
                    yield known.told(best) if known else best
                if self.observe:
                    done.matched += self.tally.matched
                    self.observe(done)

    def _submitted(
        self,
        numbered: Iterable[tuple[int, str | Request]],
        searches: Searches,
        reader: "MemoryReader | None",
        layout: Layout | None,
        trace: bool,
        cancelled: Event | None,
    ) -> "Iterator[tuple[TextPlan, RecalledText | None]]":
        """The plans of texts, whose searches begin, and what memories know of the texts."""
        for number, item in numbered:
            if cancelled and cancelled.is_set():
                return
            known = reader.recalled(item, self._is_usable) if reader else None
            plan = self._planner.plan(item, number, layout, known, trace=trace, cancelled=cancelled)
            planned = self._with_matches(plan, known)
            for query in planned[0][1]:
                if len(query.source) > 1:
                    searches.submit(query)
            yield planned

    def _checked(
        self,
        plans: Sequence[TextPlan],
        results: Sequence[list[Hypothesis]],
        batch: int,
        cancelled: Event | None,
    ) -> list[list[list[Candidate]]]:
        """The candidates of each segment of each text, best first, after all checks."""
        hypotheses = iter(results)
        found = [self._writer.candidates(*plan, hypotheses) for plan in plans]
        if cancelled and cancelled.is_set():
            return found
        if self._checker:
            self._checker.check(plans, found, partial(self._search, batch=batch))
        if self._doubter:
            self._doubter.check(plans, found)
        if self.search.n_compared:
            found = [[agreed(each, self.search.n_best) for each in own] for own in found]
        return found

    def _with_matches(
        self, plan: TextPlan, known: "RecalledText | None"
    ) -> "tuple[TextPlan, RecalledText | None]":
        """The plan of a text, or that of its match; and what memories know of it, if it is text."""
        if known is None or not any(passage.given.strip() for passage in plan[0]):
            return plan, None
        self.tally.matched += known.count(self._analysis)
        return known.plan or plan, known

    def _is_usable(self, source: str, target: str) -> bool:
        """Whether a target of a memory has the tags, code-like tokens and terms of a source."""
        if self.search.include or self.search.exclude or not has_marks_of(source, target):
            return False
        if self._agreement.compare_tokens(source, target):
            return False
        folded = target.casefold()
        return all(term.target.casefold() in folded for term in self._planner.glossary.find(source))

    def _searches(self, batch: int) -> Searches:
        """Searches with the settings of the translator."""
        search = self.search
        if self.memories and self.memories.is_learning and search.sampling:
            raise ModelError(
                "sampling does not learn from a memory: add --no-learning to use its matches only"
            )
        if search.n_compared:
            search = search.model_copy(update={"n_best": search.n_compared})
        if self.task.constrains:  # trees repeat brackets
            search = search.model_copy(update={"max_repeats": 0})
        return self.decoder.searches(search, self._planner.constraints.rules, batch=batch)

    def _search(self, queries: Iterable[Query], *, batch: int) -> list[list[Hypothesis]]:
        with self._searches(batch) as searches:
            for query in queries:
                searches.submit(query)
            return searches.results()

    def hypotheses(
        self, sentences: Iterable[tuple[str | Request, Sequence[int]]], *, batch: int = 64
    ) -> list[list[Hypothesis]]:
        """The best translations of sentences, as ids: nothing of them is kept or divided.

        Args:
            sentences: Each sentence, and its source ids, ending with eos.
            batch: Maximum number of sentences decoded together.
        """
        queries = (
            self._planner.query(
                sentence if isinstance(sentence, Request) else Request(sentence), ids
            )
            for sentence, ids in sentences
        )
        found = self._search(queries, batch=batch)
        if self.search.n_compared:
            texts = [[(h, self._writer.decoded(h.tokens)) for h in own] for own in found]
            best = (agreed(own, self.search.n_best) for own in texts)
            found = [[h for h, _ in own] or [NOTHING] for own in best]
        return found

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        alternatives: int = 0,
        batch: int = 64,
        window: int | None = None,
    ) -> "Iterator[Scored]":
        """Compute the log-probability of a given target for each source, in order, as they arrive.

        On a CPU, the result does not depend on `batch`, `window` or the other pairs. The tokenizer
        splits a target into tokens; characters that the vocabulary does not cover are scored as the
        unknown token. An empty target consists of eos only.

        Args:
            sources: One sentence per item.
            targets: The target of each sentence.
            alternatives: Number of most probable tokens to return for each position.
            batch: Maximum number of pairs scored together.
            window: Number of pairs read ahead, which torch groups by length; None: 32 batches, and
                at least 512.

        Raises:
            DataError: The numbers of sources and targets differ, a source or a target is not valid
                for the task, a source has more than `max_source_tokens` tokens, or a target has
                more than `max_source_tokens` plus `search.max_extra`, or more than 256 alternatives
                are requested. Nothing is truncated.
        """
        from yakusu.data.corpus import aligned
        from yakusu.translator.scoring import Scorer

        if isinstance(sources, str) or isinstance(targets, str):
            raise TypeError("expected several sentences, not one string: pass [sentence]")
        self.require_target()
        if alternatives > MAX_ALTERNATIVES:
            raise DataError(
                f"{alternatives} alternatives were requested, more than {MAX_ALTERNATIVES}: "
                "request fewer"
            )
        longest = self.max_source_tokens, self.max_source_tokens + self.search.max_extra
        penalty = partial(length_penalty, alpha=self.search.alpha)
        scorer = Scorer(self.decoder, self.tokenizer, max_tokens=longest, penalty=penalty)
        pairs = aligned(sources, targets, names=("the sources", "the targets"))
        n_read, window = 0, window_size(batch) if window is None else window
        for some in windows(pairs, window):
            texts = list(starmap(self._planner.pair, enumerate(some, start=n_read + 1)))
            yield from scorer.score(texts, n_read + 1, alternatives=alternatives, batch=batch)
            n_read += len(some)


def _glossary(text: TextConfig, languages: tuple[str, str]) -> Glossary:
    """The terms of the glossaries that are named."""
    return Glossary.read(*text.glossary, languages=languages, protected=text.span_finder())


def _refuse_other_target(language: str, wanted: str) -> None:
    """Check the target language of a model that has only one.

    Raises:
        ModelError: It is known, and is not the one that is wanted.
    """
    if language and not same_language(wanted, language):
        raise ModelError(f"the model translates to {language} only: remove --to {wanted}")
