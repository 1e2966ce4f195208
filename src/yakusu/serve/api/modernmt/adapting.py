"""What adapts the translations of a request: its hints, context vector and glossaries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from yakusu.serve.api.modernmt.asking import Asked
from yakusu.serve.api.modernmt.visible import Visible, VisibleMemories
from yakusu.serve.catalog import Route, RouteStep
from yakusu.serve.created import CreatedMemory
from yakusu.serve.errors import invalid_request, over_limit
from yakusu.serve.memories import LanguagePair
from yakusu.serve.service import Service
from yakusu.translator import Translator

_MOST = 100  # memories and glossaries of a request


@dataclass(frozen=True)
class Adaptation:
    """What a request names.

    Attributes:
        weights: Memories and their weights, the first one first. Their segments are used before
            those of the memories that are always used.
        glossaries: Memories whose terms are used.
        ignores_case: Whether terms with capital letters match any case, too.
    """

    weights: tuple[tuple[int, float], ...]
    glossaries: tuple[int, ...]
    ignores_case: bool

    def __bool__(self) -> bool:
        return bool(self.weights or self.glossaries)

    @property
    def vector(self) -> str:
        """The memories and their weights, as in `Asked.vector`."""
        return as_vector(self.weights)

    @classmethod
    def of(cls, asked: Asked) -> "Adaptation":
        """Read the parameters of a request.

        Raises:
            RefusedError: One is not valid, or names too many memories.
        """
        weights = dict(asked.vector("context_vector"))
        hints = dict.fromkeys(asked.ids("hints"), 1.0)
        given = hints | {
            memory: weight for memory, weight in weights.items() if memory not in hints
        }
        glossaries = asked.ids("glossaries")
        if max(len(given), len(glossaries)) > _MOST:
            raise invalid_request(f"a request has at most {_MOST} memories, and as many glossaries")
        return cls((*given.items(),), (*glossaries,), asked.fields.flag("ignore_glossary_case"))

    def apply(self, asked: Asked, route: Route) -> Route:
        """The models with the memories and terms; opening the files takes some time.

        Raises:
            DataError: A term cannot be used.
            MemoryFileError: A file cannot be read.
            RefusedError: A memory does not exist (404), or the terms need a model of their own.
        """
        if not self:
            return route
        seen = VisibleMemories(asked.service, asked.key)
        named = seen.named([number for number, _ in self.weights])
        terms = seen.named(self.glossaries)
        adapted = [replace(step, translator=_remembering(step, named, seen)) for step in route]
        return self._with_terms(asked.service, adapted, terms)

    def _with_terms(
        self, service: Service, route: list[RouteStep], memories: Sequence[Visible]
    ) -> Route:
        """The models with the terms of memories."""
        if not route:
            return route
        pair = route[0].languages[0], route[-1].languages[1]
        pairs = [
            (source.lower() if self.ignores_case else source, target)
            for memory in memories
            if isinstance(memory, CreatedMemory)
            for source, target in terms_of(service, memory, pair)
        ]
        if len(pairs) > (most := service.limits.terms):
            message = f"Invalid request: the glossaries have {len(pairs)} terms: name fewer"
            raise over_limit("terms", most, 422, message)
        if pairs and len(route) > 1:
            raise invalid_request("glossaries work only for pairs with a model of their own")
        if not pairs:
            return route
        (step,) = route
        return [replace(step, translator=step.translator.with_settings(terms=pairs))]


def _remembering(step: RouteStep, memories: Sequence[Visible], seen: VisibleMemories) -> Translator:
    """The translator of a step, which uses the segments of memories first."""
    files = [str(file) for each in memories if (file := seen.file(each, step.languages))]
    if not files:
        return step.translator
    always = step.translator.text_config.memory
    return step.translator.with_memories([*dict.fromkeys([*files, *always])])


def terms_of(
    service: Service, memory: CreatedMemory, pair: LanguagePair
) -> Iterator[tuple[str, str]]:
    """The terms of a memory in a language pair, with their translations."""
    for each in service.created.terms(memory.number):
        yield from each.pairs(pair)


def as_vector(weights: Sequence[tuple[int, float]]) -> str:
    """Memories and their weights as a context vector."""
    return ",".join(f"{memory}:{weight:.3f}" for memory, weight in weights)
