"""What the routes of the service share."""

import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from starlette.requests import Request

from yakusu.data.identification import Detected, identifier
from yakusu.data.languages import are_near, closest, listed_codes
from yakusu.data.lines.words import words_and_characters
from yakusu.documents.isolated.limits import DocumentLimits, LimitSettings
from yakusu.documents.isolated.readers import Readers
from yakusu.engine.config import EngineConfig
from yakusu.engine.pool import Pool
from yakusu.serve.access import Access
from yakusu.serve.budget import MemoryBudget
from yakusu.serve.catalog import Catalog, ReloadedModels, Route, language_name
from yakusu.serve.config import Limits, ServeConfig
from yakusu.serve.created import CreatedMemories
from yakusu.serve.errors import RefusedError, invalid_request, over_limit
from yakusu.serve.files import Files
from yakusu.serve.glossaries import Glossaries
from yakusu.serve.greenlets import event
from yakusu.serve.http.fields import Bodies, Fields
from yakusu.serve.http.origins import check_origin, is_direct
from yakusu.serve.jobs import ClientJobs
from yakusu.serve.memories import LanguagePair, MemoryFiles, ServedMemories
from yakusu.serve.monitoring import Metrics
from yakusu.serve.store import ServiceStore
from yakusu.serve.suggestions import Suggestions
from yakusu.serve.usage import Usage
from yakusu.serve.work import AbandonedError, RunningRequests
from yakusu.shipped import model_path
from yakusu.translator.folder.named_memory import named_memory

_log = logging.getLogger(__name__)
_LONGEST_CODE = 40  # characters
_LEAST, _FEW = 1, 3  # percent of a language that is listed; words of a short text
_RELOADED = ("keys", "require_key", "memory", "memory_writable", "min_quality")  # settings
MemoryAccess = Literal["read", "write"]


@dataclass(frozen=True)
class RequestLanguages:
    """The language pair of a request.

    Attributes:
        asked: The source and the target language in the spelling of the client.
        codes: The codes that the models use.
        route: The models that translate it.
        detected: The source language that was identified, if it was requested as "auto".
        memory: What the client may do with the memory of the pair; None: there is none.
    """

    asked: LanguagePair
    codes: LanguagePair
    route: Route
    detected: Detected | None
    memory: MemoryAccess | None = None


class Service:
    """The models and limits of a running service.

    Args:
        config: The settings.
        folders: Model folders.

    Raises:
        ModelError: A model folder is not valid.
        DataError: A memory is not valid, or no model translates between its languages.
        RecipeError: The file of keys is not valid, or that of suggestions or the folder `data`
            cannot be written.
    """

    def __init__(self, config: ServeConfig, folders: Sequence[Path]) -> None:
        self.config, self.limits = config, config.limits
        self._folders = [model_path(each) for each in folders]
        self.pool = Pool(self._engine.n_threads, finished=event)
        self.suggestions = (
            Suggestions(Path(config.suggestions), self.limits.suggestions)
            if config.suggestions
            else None
        )
        self.metrics = Metrics(lambda: self.work.n, lambda: self.readers.ended.copy())
        self.access, self.memories, self.models = self._opened(config)
        self.work = RunningRequests(config.limits)
        self.budget = MemoryBudget(config.limits.memory)
        self.readers = _readers(config.limits, self.budget)
        self.files = Files(config.limits.kept)
        self.jobs = ClientJobs(self.files, config.limits.kept)
        self.store = ServiceStore(Path(config.data) if config.data else None)
        self.created = CreatedMemories(
            self.store,
            (Path(config.data) if config.data else self.files.folder) / "memories",
            most=config.limits.created,
            most_terms=config.limits.terms,
            most_bytes=config.limits.segments,
        )
        self.glossaries, self.usage = Glossaries(self.store, self.limits), Usage(self.store)
        self.bodies = Bodies(config.limits, str(self.files.folder))

    @property
    def _engine(self) -> EngineConfig:
        config = self.config
        return EngineConfig(engine="native", threads=config.threads, precision=config.precision)

    def _opened(self, config: ServeConfig) -> tuple[Access, ServedMemories, ReloadedModels]:
        """What a file of keys and the model folders have now."""
        access = Access(config)
        files = MemoryFiles.of_settings(config.memory or _memories_of(self._folders), access.keys)
        models = ReloadedModels(
            *(self._folders, self._engine, self.pool, files),
            min_quality=config.min_quality,
            observe=self.metrics.count_stages,
        )
        return access, ServedMemories(files), models

    def reload(self, config: ServeConfig) -> None:
        """Use other settings, and open the keys, memories and models again.

        Requests that have begun go on with the old ones. Settings that are not in `_RELOADED` keep
        their values, and a warning names those that would change.

        Args:
            config: The settings.

        Raises:
            YakusuError: As for `Service`; nothing changes then.
        """
        reloaded = {name: getattr(config, name) for name in _RELOADED}
        used = self.config.model_copy(update=reloaded)
        opened = self._opened(used)
        self.config, (self.access, self.memories, self.models) = used, opened
        kept = [name for name in config.model_fields() if name not in _RELOADED]
        if changed := [name for name in kept if getattr(config, name) != getattr(used, name)]:
            _log.warning("restart the service to change %s", ", ".join(changed))
        _log.info("the settings, keys, memories and models were read again")

    @property
    def catalog(self) -> Catalog:
        """The models as they are now."""
        return self.models.catalog

    @asynccontextmanager
    async def fields(self, request: Request) -> AsyncIterator[Fields]:
        """Read the parameters of a request, as `Bodies.fields` does, and count the request.

        Raises:
            RefusedError: They are not valid, the key is not known, or there were too many requests.
        """
        async with self.bodies.fields(request) as fields:
            self.count(request, fields.text("api_key"))
            yield fields

    def count(self, request: Request, key: str) -> None:
        """Count a request of a client.

        Raises:
            RefusedError: The key is not known, or there were too many requests.
        """
        self.access.check(key, request.client.host if request.client else "")

    def check_writer(self, request: Request, key: str) -> None:
        """Refuse a client that may not add to a memory.

        Args:
            request: A request of the client.
            key: Its API key, which `count` has accepted; "": none.

        Raises:
            RefusedError: It may not (403).
        """
        check_origin(request, any_page=self.access.has_keys or self.config.memory_writable)
        self.access.check_writer(key, is_local=is_direct(request))

    def memory_access(self, request: Request, key: str, pair: LanguagePair) -> MemoryAccess | None:
        """What a client may do with the memory of a language pair; None: there is none."""
        if not self.memories.has(pair, key):
            return None
        try:
            self.check_writer(request, key)
        except RefusedError:
            return "read"
        return "write"

    def languages(self, fields: Fields, texts: Sequence[str]) -> RequestLanguages:
        """The language pair of a request.

        Raises:
            RefusedError: A language is missing, or the pair is not supported.
        """
        source, target = fields.required("source"), fields.required("target")
        model, key = fields.text("model"), fields.text("api_key")
        return self.route(source, target, texts, model=model, key=key)

    def route(
        self, source: str, target: str, texts: Sequence[str], *, model: str = "", key: str = ""
    ) -> RequestLanguages:
        """The models for a language pair; a source "auto" is identified in the texts.

        Args:
            source: The source language.
            target: The target language.
            texts: The texts.
            model: The name of a model; "": the first one of the pair.
            key: The API key, which `count` has accepted; "": none.

        Raises:
            RefusedError: The pair is not supported, or the texts are in a language that is not, or
                in one of several close languages.
        """
        if max(len(source), len(target)) > _LONGEST_CODE:
            raise invalid_request(f"a language code has at most {_LONGEST_CODE} characters")
        catalog, detected = self.catalog, None
        if source == "auto":
            detected = self._identified(texts, target)
            source = detected.language
        pair = catalog.pair(source, target)
        route = catalog.route(*pair, model, key=key)
        return RequestLanguages((source, target), pair, route, detected)

    def detect(self, texts: Sequence[str]) -> list[Detected]:
        """The languages in which texts may be, of all that can be identified, best first.

        Those of less than one percent are left out, except the best. The best of a few words is one
        that is served if the words may be in it, as with "auto".
        """
        text, served = "\n".join(texts), self.catalog.sources
        found = identifier().detect(text, served)
        if _is_short(text):
            likely = identifier().plausible(text, served)
            best = next((code for code in likely if code in served), "")
            found.sort(key=lambda each: each.language != best)
        return found[:1] + [each for each in found[1:] if each.confidence >= _LEAST]

    def _identified(self, texts: Sequence[str], target: str) -> Detected:
        """The source language of the models in which texts are; the target language, if they are.

        Raises:
            RefusedError: They are in another one, or in one of several close languages.
        """
        text, served = "\n".join(texts), self.catalog.sources
        done = closest(target, self.catalog.codes)
        ranked = identifier().plausible(text, [*served, *done])
        usable = [code for code in ranked if code in served] or [
            code for code in ranked[:1] if code in done
        ]
        if not usable:
            raise RefusedError(
                400,
                f"The text seems to be in {_named(ranked[0])}, which is not supported as a source "
                f"language: choose one of {listed_codes(served)}",
            )
        best = usable[0]
        close = [code for code in (ranked[0], *usable[1:]) if code != best and are_near(code, best)]
        if close:
            either = " or ".join(map(_named, (close[0], best)))
            raise RefusedError(
                400,
                f"The text may be in {either}, which are too close to be told apart: set the "
                f"source instead of auto (supported: {listed_codes(served)})",
            )
        found = {each.language: each for each in identifier().detect(text, served)}
        return found.get(best, Detected(best, 0.0))

    def check_texts(self, texts: Sequence[str], more: Iterable[str] = ()) -> None:
        """Check that there are not too many texts, and that they are not too long.

        Args:
            texts: The texts to translate.
            more: Other texts of the request, whose characters count, too.

        Raises:
            RefusedError: They exceed a limit.
        """
        limits = self.limits
        counted = (
            (len(texts), limits.texts, "texts"),
            (sum(map(len, (*texts, *more))), limits.characters, "characters"),
            (sum(text.count("\n") + 1 for text in texts), limits.lines, "lines"),
        )
        for size, limit, what in counted:
            if size > limit:
                message = (
                    f"Invalid request: request ({size} {what}) exceeds text limit ({limit} {what})"
                )
                raise over_limit(what, limit, 413, message)
        if self.config.log_text:
            for text in texts:
                _log.warning("text: %r", text)

    @contextmanager
    def counting(self, key: str, pair: LanguagePair, texts: Sequence[str]) -> Iterator[int]:
        """Count the characters of texts that are translated inside the context.

        Those of a request that is refused or fails do not count.

        Args:
            key: The API key, which `count` has accepted; "": none.
            pair: The codes that the models use.
            texts: The texts.

        Raises:
            RefusedError: The key may not translate so many in this month (456).
        """
        known, n = self.access.known(key), sum(map(len, texts))
        month = self.usage.take(known, n)
        try:
            yield n
        except AbandonedError:  # the client may have got a part of them
            raise
        except Exception:
            self.usage.give_back(known, n, month)
            raise
        self.metrics.count_texts(pair, texts)

    def close(self) -> None:
        """End all threads and processes, and remove the files."""
        self.work.close()
        self.readers.close()  # wakes the threads that wait for a document
        self.pool.close()
        self.files.close()
        with suppress(RefusedError):  # the log says why
            self.usage.save()
        self.store.close()


def service_of(request: Request) -> Service:
    """The service that a request is for."""
    return cast(Service, request.app.state.service)


def _memories_of(folders: Iterable[Path]) -> Iterable[str]:
    """The memories that model folders name."""
    return dict.fromkeys(path for folder in folders for path in named_memory(folder))


def _readers(limits: Limits, budget: MemoryBudget) -> Readers:
    """What reads documents; `RunningRequests.run` ends them after `limits.file_seconds`."""
    each = DocumentLimits(
        memory=limits.file_memory, cpu_seconds=limits.file_cpu_seconds, seconds=0.0
    )
    settings = LimitSettings(
        f"limits.file_memory = {limits.file_memory} bytes",
        f"limits.file_cpu_seconds = {limits.file_cpu_seconds}",
        f"limits.file_seconds = {limits.file_seconds:g}",
    )
    return Readers(each, settings, budget)


def _is_short(text: str) -> bool:
    """Whether a text has too few words to say much about its language."""
    return sum(map(str.isalnum, words_and_characters(text))) <= _FEW


def _named(code: str) -> str:
    return f"{language_name(code)} ({code})"
