"""Model folders as language pairs: direct ones, and pairs through a third language."""

import logging
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from langcodes import Language

from yakusu.data.languages import canonical, closest, listed_codes, nearest_language
from yakusu.data.lines.config import TextConfig
from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.library import why_unavailable
from yakusu.engine.support import unsupported
from yakusu.engine.workers import Workers
from yakusu.errors import DataError, ModelError, YakusuError
from yakusu.native.library import REPAIR
from yakusu.serve.errors import RefusedError
from yakusu.serve.memories import MemoryFiles
from yakusu.translator import Translator
from yakusu.translator.folder.folder import ModelFolder
from yakusu.translator.stages import StageCounts

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RouteStep:
    """A translator for one language pair, and the name of its model.

    Attributes:
        name: The name.
        translator: The translator.
        own: The translators of the API keys that have memories of their own.
    """

    name: str
    translator: Translator
    own: Mapping[str, Translator] = field(default_factory=dict, repr=False)

    def of_key(self, key: str) -> "RouteStep":
        """The step for requests with an API key."""
        return RouteStep(self.name, self.own[key]) if key in self.own else self

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and the target language."""
        return self.translator.languages


def language_name(code: str) -> str:
    """The English name of a language; the code itself if it is not valid."""
    return Language.get(tag).display_name("en") if (tag := canonical(code)) else code


# One step, two through a pivot language, or none: the text is in the target language already.
Route = Sequence[RouteStep]


@dataclass(frozen=True)
class Catalog:
    """The language pairs that the service translates.

    Args:
        steps: The translators, those of the first model first.
    """

    steps: tuple[RouteStep, ...]

    @cached_property
    def routes(self) -> dict[tuple[str, str], list[Route]]:
        """The models that translate each language pair, the preferred ones first.

        A pivot is used for pairs without a model of their own.
        """
        found: dict[tuple[str, str], list[Route]] = {}
        for step in self.steps:
            found.setdefault(step.languages, []).append((step,))
        direct = {pair: routes[0][0] for pair, routes in found.items()}
        for (source, pivot), first in direct.items():
            for (middle, target), second in direct.items():
                if middle == pivot and source != target and (source, target) not in direct:
                    found.setdefault((source, target), []).append((first, second))
        return found

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Codes of the source languages."""
        return tuple(dict.fromkeys(source for source, _ in self.routes))

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """Codes of all languages."""
        return tuple(sorted({code for pair in self.routes for code in pair}))

    def targets(self, source: str) -> list[str]:
        """Codes of the target languages of a source language."""
        return sorted(target for code, target in self.routes if code == source)

    def pair(self, source: str, target: str) -> tuple[str, str]:
        """Return the codes that the models use for a language pair.

        They are equal if the target language is the source language.

        Raises:
            RefusedError: No model translates the pair, or several codes match a language.
        """
        same = _matches(source, self.codes)
        if len(same) == 1 and same == _matches(target, self.codes):
            return same[0], same[0]
        asked, source = source, _only(source, _matches(source, self.sources), self.sources)
        targets = self.targets(source)
        found = _matches(target, [*targets, source])
        if not found and _matches(target, self.codes):
            given, wanted = (f"{language_name(code)} ({code})" for code in (asked, target))
            raise RefusedError(
                400,
                f"{wanted} is not available as a target language from {given}: choose one of "
                f"{listed_codes(targets)}",
            )
        return source, _only(target, found, targets)

    def route(self, source: str, target: str, model: str = "", *, key: str = "") -> Route:
        """Return the models that translate a language pair.

        Args:
            source: Code of the source language, from `pair`.
            target: Code of the target language, from `pair`.
            model: The name of a model; "": the first one of the pair.
            key: The API key of the request; "": none.

        Raises:
            RefusedError: The model does not exist, or does not translate the pair.
        """
        if source == target:
            return ()
        routes = self.routes[source, target]
        own = {route[0].name: route for route in reversed(routes) if len(route) == 1}
        if model and model not in own:
            advice = f"choose one of {', '.join(reversed(own))}" if own else "omit it"
            raise RefusedError(400, f"there is no model '{model}' for {source}-{target}: {advice}")
        return [step.of_key(key) for step in (own[model] if model else routes[0])]


def _matches(wanted: str, codes: Sequence[str]) -> list[str]:
    """The codes that match a language best; an equal one is preferred."""
    return [wanted] if wanted in codes else closest(wanted, codes)


def _only(wanted: str, found: Sequence[str], known: Sequence[str]) -> str:
    """The code that was found for a language.

    Raises:
        RefusedError: None was found among the known ones, or several.
    """
    if len(found) == 1:
        return found[0]
    if not canonical(wanted) and (near := closest(nearest_language(wanted), known)):
        raise RefusedError(400, f"{wanted} is not supported: did you mean {near[0]}?")
    choices = " or ".join(found) or f"one of {listed_codes(known)}"
    raise RefusedError(400, f"{wanted} is not supported: choose {choices}")


class ReloadedModels:
    """Model folders that are opened again when they are replaced.

    Args:
        folders: The folders; a number is added to names that repeat.
        engine: What runs the models.
        workers: The threads that decode.
        memories: The memories; None: there are none.
        min_quality: Lowest estimated quality, as in `TextConfig`.
        observe: Called with what translators have done; None: nobody asks.

    Raises:
        DataError: No model translates between the languages of a memory.
        ModelError: A folder is not valid, a model is a parser, its languages are unknown, the
            engine cannot run it, or its quality is not known and `min_quality` is set.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        engine: EngineConfig,
        workers: Workers,
        memories: MemoryFiles | None = None,
        *,
        min_quality: int = 0,
        observe: Callable[[StageCounts], None] | None = None,
    ) -> None:
        self._engine, self._workers, self._observe = engine, workers, observe
        self._memories = memories or MemoryFiles()
        self._text = TextConfig(min_quality=min_quality)
        self._folders = dict(zip(_names(folders), folders, strict=True))
        self._stamps = {name: _stamp(folder) for name, folder in self._folders.items()}
        self._steps = {name: self._open(name) for name in self._folders}
        self.catalog = self._catalog()
        for pair, path in self._memories:
            if all(step.languages != pair for step in self.catalog.steps):
                raise DataError(f"{path} is a memory of {'-'.join(pair)}: serve a model of it")

    def refresh(self) -> None:
        """Open the folders that were replaced; a folder that is not valid changes nothing."""
        for name, folder in self._folders.items():
            stamp = _stamp(folder)
            if stamp in (self._stamps[name], None):  # None: it is being replaced, or is gone
                continue
            self._stamps[name] = stamp
            try:
                self._steps[name] = self._open(name)
            except YakusuError as error:
                _log.warning("the old model %s is kept: %s", name, error)
            else:
                self.catalog = self._catalog()
                _log.info("%s was replaced: the new model is in use", folder)

    def _catalog(self) -> Catalog:
        return Catalog(tuple(step for steps in self._steps.values() for step in steps))

    def _open(self, name: str) -> tuple[RouteStep, ...]:
        folder = self._folders[name]
        try:
            translator = Translator.load(folder, engine=self._engine, text=self._text)
        except ModelError:
            _check_engine(folder)
            raise
        if translator.task.constrains:
            raise ModelError(f"{folder} is a parser: serve translators only")
        if isinstance(translator.decoder, NativeDecoder):
            translator.decoder.workers = self._workers
        every = [translator.translating_to(code) for code in translator.targets] or [translator]
        if unknown := [each for each in every if "" in each.languages]:
            raise ModelError(_without_codes(folder, unknown[0].languages))
        return tuple(self._step(name, each) for each in every)

    def _step(self, name: str, translator: Translator) -> RouteStep:
        """A step whose translators use the memories."""
        translator.observe = self._observe
        files, pair = self._memories, translator.languages
        own = {key: translator.with_memories(files.of(pair, key)) for key in files.owners(pair)}
        shared = files.of(pair)
        return RouteStep(name, translator.with_memories(shared) if shared else translator, own)


def _without_codes(folder: Path, languages: tuple[str, str]) -> str:
    """The message for a model whose languages are not known."""
    pair = "-".join(code or "?" for code in languages)
    options = zip(("source", "target"), languages, strict=True)
    missing = " ".join(f"--{side} CODE" for side, code in options if not code)
    return (
        f"{folder} has no language codes ({pair}): give it some, as in 'yakusu card "
        f"{shlex.quote(str(folder))} {missing}'"
    )


def _check_engine(folder: Path) -> None:
    """Check that the CPU engine, the only one of the service, can run the model of a folder.

    Raises:
        ModelError: It cannot, or the folder is not valid.
    """
    if reason := why_unavailable():
        raise ModelError(f"{folder} cannot be served: the CPU engine {reason}: {REPAIR}")
    config = ModelFolder.open(folder).config
    if missing := unsupported(config.model, config.search):
        raise ModelError(
            f"{folder} cannot be served: the CPU engine does not support {missing}: serve another "
            "model, or translate with 'yakusu translate --engine torch'"
        )


def _names(folders: Iterable[Path]) -> Iterator[str]:
    """A name for each folder: its own, or that of its parent if it is called `model`."""
    seen: dict[str, int] = {}
    for folder in folders:
        path = folder.absolute()
        name = path.parent.name if path.name == "model" else path.name
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}"


def _stamp(folder: Path) -> frozenset[tuple[str, int, int]] | None:
    """What changes when files of a folder change; None: it is not complete."""
    try:
        found = [(each.name, each.stat()) for each in folder.iterdir()]
    except OSError:
        return None
    # The time of change, unlike that of modification, includes changes of permissions.
    stamp = frozenset((name, state.st_ino, state.st_ctime_ns) for name, state in found)
    return stamp if any(name == "manifest.json" for name, *_ in stamp) else None
