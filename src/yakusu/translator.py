"""Text -> tokens -> search -> text: the translator."""

import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice, starmap
from pathlib import Path

import torch

from yakusu.data.batches import pad
from yakusu.data.corpus import aligned
from yakusu.data.text import Pair, windows
from yakusu.data.tokenizer import UNK, Tokenizer
from yakusu.details import Details, Translated, details_of
from yakusu.device import pick_device
from yakusu.errors import DataError, ModelError
from yakusu.model.base import SearchModel, Seq2Seq
from yakusu.model.ensemble import Ensemble
from yakusu.model_folder import AnyTablePlan, TranslatorConfig, open_model
from yakusu.request import Job, Request, batches
from yakusu.scoring import Scored, Scorer
from yakusu.search.beam import Hypothesis, beam_search, length_penalty, limit
from yakusu.search.config import SearchConfig
from yakusu.search.constraint import Constraint
from yakusu.search.phrases import phrase_constraint
from yakusu.search.spelling import PhraseVocabulary
from yakusu.tasks.task import tasks

_log = logging.getLogger(__name__)
_WINDOW_BATCHES = 32  # batches read ahead and sorted by length


@dataclass(frozen=True)
class Translation:
    """One of the best translations of a sentence."""

    text: str
    score: float  # log_prob / length penalty; -inf: not produced by the model
    log_prob: float  # in nats, including eos
    n_tokens: int  # including eos
    details: Details | None = None  # if requested, and if the model produced the translation


class Translator:
    """Translates text with a model and its tokenizer.

    Args:
        model: A model or an ensemble; it is moved to `device` and set to evaluation mode.
        tokenizer: The tokenizer that the model was trained with.
        languages: Codes of the source and target languages, "" if unknown.
        search: Settings of the search, such as beam width and length penalty.
        task: The task of the model, by its name in `tasks`.
        device: Device to translate on.
        max_source_tokens: Maximum number of source tokens, including eos. Longer sentences are
            truncated, with a warning; a parser returns a flat tree for them instead.
    """

    def __init__(
        self,
        model: SearchModel,
        tokenizer: Tokenizer,
        *,
        languages: tuple[str, str],
        search: SearchConfig,
        task: str = "translation",
        device: torch.device | str = "cpu",
        max_source_tokens: int = 1024,
    ) -> None:
        self.model = model.to(device).eval()
        self.tokenizer, self.languages, self.search = tokenizer, languages, search
        self.task_name, self.task = task, tasks[task]()
        self.device = torch.device(device)
        self.max_source_tokens = min(max_source_tokens, model.max_length)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        ensemble: Sequence[str | Path] = (),
        device: torch.device | str = "cpu",
    ) -> "Translator":
        """Open a model folder and verify its files.

        Args:
            folder: A model folder; its languages and search settings are used.
            ensemble: Further model folders with the same vocabulary, for an ensemble (Table 2).
            device: Device to translate on.

        Raises:
            ModelError: A folder is incomplete or corrupted, or has a different vocabulary.
        """
        place = pick_device(str(device))
        config, first, tokenizer = open_model(Path(folder))
        members = [first]
        for other in ensemble:
            _, model, other_tokenizer = open_model(Path(other))
            if other_tokenizer != tokenizer:
                raise ModelError(
                    f"the vocabulary of {other} differs from that of {folder}: train the models of "
                    "an ensemble on the same text with the same tokenizer settings"
                )
            members.append(model)
        return cls(
            Ensemble(members) if ensemble else first,
            tokenizer,
            languages=(config.source_language, config.target_language),
            search=config.search,
            task=config.task,
            device=place,
        )

    def config(self, *, compressed: Sequence[AnyTablePlan] = ()) -> TranslatorConfig:
        """The config.json of a translator with a single model.

        Args:
            compressed: Plans of the model's compressed tables.
        """
        if not isinstance(self.model, Seq2Seq):
            raise ModelError("an ensemble cannot be saved: save its members separately")
        return TranslatorConfig.model_validate(
            {
                "task": self.task_name,
                "source_language": self.languages[0],
                "target_language": self.languages[1],
                "src_vocab_size": self.model.src_vocab_size,
                "tgt_vocab_size": self.model.tgt_vocab_size,
                "model": self.model.config,
                "compressed": list(compressed),
                "search": self.search,
            }
        )

    def translate(self, sentences: Iterable[str | Request]) -> list[str]:
        """The best translation of each sentence."""
        return [best[0].text for best in self.stream(sentences)]

    def stream(
        self,
        sentences: Iterable[str | Request],
        *,
        batch: int = 64,
        window: int | None = None,
        details: bool = False,
    ) -> Iterator[list[Translation]]:
        """Translate sentences in order, as they arrive.

        On a CPU, the result does not depend on `batch`, `window` or the other sentences.

        Args:
            sentences: One sentence per item. The translation of an empty sentence is empty, with
                score 0.
            batch: Maximum number of sentences translated together.
            window: Number of sentences read ahead and grouped by length; None: 32 batches.
            details: Return the tokens, their log-probabilities and alternatives, and the word
                alignment as well.

        Yields:
            The `search.n_best` best translations of each sentence, best first.

        Raises:
            DataError: A sentence is not valid for the task, such as a tree given to a parser, or a
                prefix or a phrase cannot be spelled with the vocabulary.
        """
        if isinstance(sentences, str):
            raise TypeError("expected several sentences, not one string: pass [sentence]")
        n_read, window = 0, _WINDOW_BATCHES * batch if window is None else window
        for items in windows(iter(sentences), window):
            jobs = list(self._read(items, n_read + 1))
            n_read += len(items)
            results = [[self._without_model(job.text)] for job in jobs]
            for rows in batches(jobs, batch):
                found = self._batch([jobs[i] for i in rows], details=details)
                for row, best in zip(rows, found, strict=True):
                    results[row] = best
            yield from results

    def _read(self, items: Sequence[str | Request], first: int) -> Iterator[Job]:
        """The input of the search for each sentence; the sentences are counted from `first`."""
        requests = [item if isinstance(item, Request) else Request(item) for item in items]
        for number, request in enumerate(requests, start=first):
            if not isinstance(request.text, str):
                raise TypeError(f"sentence {number} is not a string: {request.text!r}")
        sources = []
        for number, request in enumerate(requests, start=first):
            with _naming(number):
                sources.append(self.task.preprocess_source(request.text))
        encoded = zip(requests, self.tokenizer.encode_source(sources), strict=True)
        for number, (request, ids) in enumerate(encoded, start=first):
            with _naming(number):
                yield self.job(request, self._cut(number, request.text, ids))

    def job(self, request: Request, ids: list[int]) -> Job:
        """The input of the search for a request.

        Args:
            request: The sentence and its settings.
            ids: Its source ids, ending with eos, at most `max_source_tokens`.

        Raises:
            DataError: The prefix or a phrase cannot be spelled with the vocabulary.
        """
        include = (*self.search.include, *request.include)
        exclude = (*self.search.exclude, *request.exclude)
        if (request.prefix or include or exclude) and self.task.constrains:
            raise DataError(
                f"a {self.task.model_noun} takes no prefix and no phrases to include or exclude"
            )
        job = Job(request.text, ids, self._prefix(request.prefix), include, exclude)
        self._check_phrases(job)
        return job

    @cached_property
    def _phrases(self) -> PhraseVocabulary:
        return PhraseVocabulary(self.tokenizer)

    def _check_phrases(self, job: Job) -> None:
        """Refuse phrases that contradict each other, or do not fit into a translation."""
        if not (job.include or job.exclude):
            return
        needed = self._phrases.tokens_needed(job.include, job.exclude, prefix=job.prefix)
        left = limit(
            self.search,
            n_source=len(job.ids) - 1,
            n_prefix=len(job.prefix),
            max_length=self.model.max_length,
        ) - len(job.prefix)
        if job.include and needed > left:
            raise DataError(
                f"the phrases to include need at least {needed} more tokens, but the maximum "
                f"length leaves room for {left}: increase max_length or max_extra, or remove "
                "phrases"
            )

    def _prefix(self, text: str) -> list[int]:
        """The ids of a prefix, without eos."""
        *ids, _ = self.tokenizer.encode_target([text])[0]
        if UNK in ids:
            raise DataError(f"the prefix '{text}' has characters that the vocabulary lacks")
        most = min(self.max_source_tokens, self.model.max_length - 1)
        if len(ids) > most:
            raise DataError(f"the prefix has {len(ids):,} tokens, more than {most:,}: shorten it")
        return ids

    def _without_model(self, line: str) -> Translation:
        """The output for a sentence that is not passed to the model."""
        text = self.task.postprocess("", line)
        score = -math.inf if text else 0.0
        return Translation(text, score, score, 0)

    def _cut(self, number: int, line: str, ids: list[int]) -> list[int]:
        """The ids of a sentence, truncated to `max_source_tokens`; only eos if it is skipped."""
        most = self.max_source_tokens
        if len(ids) <= most:
            return ids
        # Part of a sentence can be translated, but a tree must cover all words.
        skipped = bool(self._without_model(line).text)
        result = "gets a flat tree" if skipped else "is truncated"
        message = "sentence %d ('%s...') has %d tokens, more than %d, and %s: split it"
        _log.warning(message, number, line[:40], len(ids), most, result)
        return [*([] if skipped else ids[: most - 1]), ids[-1]]

    def hypotheses(self, jobs: Sequence[Job]) -> list[list[Hypothesis]]:
        """The best translations of sentences, as ids."""
        search = self.search
        if self.task.constrains:  # trees repeat brackets
            search = search.model_copy(update={"max_repeats": 0})
        src = pad([job.ids for job in jobs], self.model.src_pad).to(self.device)  # (B, S)
        return beam_search(
            self.model,
            src,
            search,
            constraint=self._constraint(jobs),
            prefixes=[job.prefix for job in jobs],
        )

    def _constraint(self, jobs: Sequence[Job]) -> Constraint | None:
        if self.task.constrains:
            lines = [job.text for job in jobs]
            return self.task.constraint(
                self.tokenizer, lines, n_beams=self.search.n_slots, device=self.device
            )
        if not any(job.include or job.exclude for job in jobs):
            return None
        return phrase_constraint(
            self._phrases,
            [job.include for job in jobs],
            [job.exclude for job in jobs],
            n_beams=self.search.n_slots,
            device=self.device,
        )

    def _batch(self, jobs: Sequence[Job], *, details: bool) -> list[list[Translation]]:
        found = self.hypotheses(jobs)
        every = [(job, h) for job, best in zip(jobs, found, strict=True) for h in best]
        outputs = self.tokenizer.decode_target([h.tokens for _, h in every])
        texts = [
            Translated(self.task.preprocess_source(job.text), job.ids, h.tokens) for job, h in every
        ]
        more = details_of(self.model, self.tokenizer, texts) if details else [None] * len(every)
        translations = iter(
            Translation(
                self.task.postprocess(output, job.text),
                h.score,
                h.log_prob,
                len(h.tokens) + 1,
                detail,
            )
            for (job, h), output, detail in zip(every, outputs, more, strict=True)
        )
        return [list(islice(translations, len(best))) for best in found]

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        alternatives: int = 0,
        batch: int = 64,
        window: int | None = None,
    ) -> Iterator[Scored]:
        """Compute the log-probability of a given target for each source, in order, as they arrive.

        On a CPU, the result does not depend on `batch`, `window` or the other pairs. The tokenizer
        splits a target into tokens; characters that the vocabulary does not cover are scored as the
        unknown token. An empty target consists of eos only.

        Args:
            sources: One sentence per item.
            targets: The target of each sentence.
            alternatives: Number of most probable tokens to return for each position.
            batch: Maximum number of pairs scored together.
            window: Number of pairs read ahead and grouped by length; None: 32 batches.

        Raises:
            DataError: The numbers of sources and targets differ, a source or a target is not valid
                for the task, a source has more than `max_source_tokens` tokens, or a target has
                more than `max_source_tokens` plus `search.max_extra`. Nothing is truncated.
        """
        if isinstance(sources, str) or isinstance(targets, str):
            raise TypeError("expected several sentences, not one string: pass [sentence]")
        longest = self.max_source_tokens, self.max_source_tokens + self.search.max_extra
        penalty = partial(length_penalty, alpha=self.search.alpha)
        scorer = Scorer(self.model, self.tokenizer, max_tokens=longest, penalty=penalty)
        pairs = aligned(sources, targets, names=("the sources", "the targets"))
        n_read, window = 0, _WINDOW_BATCHES * batch if window is None else window
        for some in windows(pairs, window):
            texts = list(starmap(self._pair, enumerate(some, start=n_read + 1)))
            yield from scorer.score(texts, n_read + 1, alternatives=alternatives, batch=batch)
            n_read += len(some)

    def _pair(self, number: int, pair: Pair) -> Pair:
        """The texts of a pair in the form that the tokenizer encodes."""
        source, target = (line.strip() for line in pair)
        try:
            source = self.task.preprocess_source(source)
            return source, self.task.preprocess_target(target) if target else ""
        except DataError as error:
            raise DataError(f"line {number}: {error}") from error


@contextmanager
def _naming(number: int) -> Iterator[None]:
    """Add the number of the sentence to the message of an error."""
    try:
        yield
    except DataError as error:
        raise DataError(f"sentence {number}: {error}") from error
