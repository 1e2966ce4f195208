"""The API of yakusu: n-best lists, tokens, alignments, attention, traces and scores."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from threading import Event
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError
from pydantic_core import ErrorDetails
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from yakusu.config import did_you_mean
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.layout import Layout
from yakusu.data.lines.sentence_pairs import sentence_pairs
from yakusu.errors import MemoryFileError, YakusuError
from yakusu.serve.api.routes import DescribedRoutes
from yakusu.serve.api.schemas import object_route
from yakusu.serve.api.texts import best_texts, complete, is_little, n_best
from yakusu.serve.catalog import Route
from yakusu.serve.config import Limits
from yakusu.serve.errors import RefusedError, invalid_request, memory_refusal, over_limit
from yakusu.serve.http.fields import parse_json
from yakusu.serve.memories import LanguagePair
from yakusu.serve.monitoring import Metrics
from yakusu.serve.service import MemoryAccess, RequestLanguages, Service, service_of
from yakusu.translator import Translator
from yakusu.translator.request import Request as Sentence
from yakusu.translator.writing.objects import Object, objects
from yakusu.translator.writing.translation import Translation
from yakusu.view import attention_maps

routes = DescribedRoutes("/v1")
Phrases = Annotated[tuple[str, ...], FailFast()]  # one error, not one for each
_WINDOW = 8  # lines of a stream that are translated together
_LONGEST = 100  # characters of an unknown parameter that are compared and shown
_WEIGHT_BYTES, _ALTERNATIVE_BYTES = 50, 250  # of memory for each while it is encoded


class _Body(BaseModel):
    """What all requests have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    source: Annotated[str, Field(description="A language code, or auto")]
    target: str
    model: Annotated[str, Field(description="A name in /v1/models (default: the first)")] = ""
    api_key: str = ""

    @property
    def texts(self) -> Iterator[str]:
        """All texts but `text`, whose characters count, too."""
        yield from ()


Body = TypeVar("Body", bound=_Body)
Parsed = TypeVar("Parsed", bound=BaseModel)


class TranslateBody(_Body):
    """A text to translate, and how."""

    n_best: Annotated[int, Field(ge=1, description="Number of translations")] = 1
    prefix: Annotated[str, Field(description="The beginning of the translation")] = ""
    include: Annotated[Phrases, Field(description="Phrases that the translation must have")] = ()
    exclude: Annotated[Phrases, Field(description="Phrases that it must not have")] = ()
    glossary: Annotated[
        tuple[tuple[str, str], ...], FailFast(), Field(description="Terms and their translations")
    ] = ()
    protect: Annotated[Phrases, Field(description="Further texts to copy")] = ()
    details: Annotated[
        bool, Field(description="Return tokens, sentences and the word alignment")
    ] = False
    trace: Annotated[bool, Field(description="Return the steps of the search")] = False

    @property
    def texts(self) -> Iterator[str]:
        """See `_Body.texts`."""
        yield self.prefix
        yield from (*self.include, *self.exclude, *self.protect)
        for term in self.glossary:
            yield from term


class ScoreBody(_Body):
    """A text and a translation of it."""

    translation: str
    alternatives: Annotated[int, Field(ge=0, le=256, description="Best tokens per position")] = 0

    @property
    def texts(self) -> Iterator[str]:
        """See `_Body.texts`."""
        yield self.translation


class AttentionBody(_Body):
    """A sentence, and a translation of it."""

    translation: Annotated[str, Field(description="Default: the model's own translation")] = ""

    @property
    def texts(self) -> Iterator[str]:
        """See `_Body.texts`."""
        yield self.translation


@routes.get("/models", object_route())
async def models(request: Request) -> JSONResponse:
    """The models of each language pair, the one that is used by default first."""
    service = service_of(request)
    pairs = service.catalog.routes
    access = {pair: service.memory_access(request, "", pair) for pair in pairs}
    every = [(pair, route) for pair, several in pairs.items() for route in several]
    return JSONResponse({"models": [_described(*each, access[each[0]]) for each in every]})


def _described(pair: LanguagePair, route: Route, memory: MemoryAccess | None) -> Object:
    pivot = route[0].languages[1] if len(route) > 1 else None
    names = [step.name for step in route]
    return {
        "source": pair[0],
        "target": pair[1],
        "models": names,
        "pivot": pivot,
        "memory": memory,
    }


# ---- translation ---------------------------------------------------------------------------------


@routes.post("/translate", object_route(TranslateBody))
async def translate(request: Request) -> Response:
    """Translate a text."""
    service, body, found = await _read(request, TranslateBody)
    _check_settings(found.route, body, service)

    def work(cancelled: Event) -> Response:
        translator = _configured(found.route, body)
        (before,) = best_texts(found.route[:-1], [body.text], cancelled)
        sentence = Sentence(before.texts[0], body.prefix, body.include, body.exclude)
        every = translator.stream(
            [sentence], details=body.details, trace=body.trace, cancelled=cancelled
        )
        (best,) = complete(every, cancelled)
        values = _objects(body, found, body.text, best)
        return _answer(found, values | {"counts": vars(translator.tally)})

    has_more = body.details or body.trace or any(body.texts)
    is_short = not has_more and is_little(found.route, [body.text], body.n_best)
    with service.counting(body.api_key, found.codes, [body.text]):
        return await service.work.run(request, work, is_short=is_short)


@routes.post("/stream", object_route(TranslateBody, kind="text/event-stream"))
async def stream_lines(request: Request) -> StreamingResponse:
    """Translate a text line by line: an event for each line when it is translated."""
    service, body, found = await _read(request, TranslateBody)
    if body.prefix or body.include:
        raise invalid_request("prefix and include are for single sentences: use /v1/translate")
    _check_settings(found.route, body, service)
    service.usage.check(service.access.known(body.api_key), len(body.text))

    def lines(cancelled: Event) -> Iterator[str]:
        with service.counting(body.api_key, found.codes, [body.text]):
            (before,) = best_texts(found.route[:-1], [body.text], cancelled)
            given = before.texts[0].split("\n")
            sentences = [Sentence(line, exclude=body.exclude) for line in given]
            every = _configured(found.route, body).stream(
                sentences,
                window=_WINDOW,
                details=body.details,
                trace=body.trace,
                layout=Layout(),
                cancelled=cancelled,
            )
            translated = zip(body.text.split("\n"), complete(every, cancelled), strict=True)
            for number, pair in enumerate(translated):
                yield _event("line", {"line": number, **_objects(body, found, *pair)})

    made = service.work.stream(lines)
    events = _events(_languages(found), made, service.metrics)
    return StreamingResponse(events, media_type="text/event-stream")


def _objects(
    body: TranslateBody, found: RequestLanguages, text: str, best: list[Translation]
) -> Object:
    """The translations of a text, and with `details` the sentences of the best one."""
    if len(found.route) > 1:  # memories know a translation of the text only
        best = [replace(each, match=None, matches=()) for each in best]
    values = objects(best)
    if body.details:
        values["sentences"] = sentence_pairs(text, best[0].text, found.codes)
    return values


async def _events(first: Object, lines: AsyncIterator[str], metrics: Metrics) -> AsyncIterator[str]:
    """The languages, the lines, and the end or an error, which is counted."""
    yield _event("languages", first)
    try:
        async for line in lines:
            yield line
    except YakusuError as given:
        error = memory_refusal(given) if isinstance(given, MemoryFileError) else given
        metrics.count_refusal(error.reason if isinstance(error, RefusedError) else "400")
        yield _event("error", {"error": str(error)})
    else:
        yield _event("end", {})


def _event(name: str, data: Object) -> str:
    return f"event: {name}\ndata: {encoded_json(data)}\n\n"


# ---- scores and attention ------------------------------------------------------------------------


@routes.post("/score", object_route(ScoreBody))
async def score(request: Request) -> Response:
    """Compute the log-probability of a translation."""
    service, body, found = await _read(request, ScoreBody)
    translator = _only(found.route).with_settings(text=TextConfig(one_sentence_per_line=True))

    def work(cancelled: Event) -> Response:
        pairs = [body.text], [body.translation]
        most = min(translator.decoder.max_length, len(body.translation.encode()) + 1)  # tokens
        with service.budget.held(_ALTERNATIVE_BYTES * most * body.alternatives):
            (scored,) = translator.score(*pairs, alternatives=body.alternatives)
            rows = zip(scored.tokens, scored.token_log_probs, scored.alternatives, strict=True)
            tokens = [
                {"token": token, "log_prob": log_prob, "alternatives": dict(alternatives)}
                for token, log_prob, alternatives in rows
            ]
            values = {"score": scored.score, "log_prob": scored.log_prob, "tokens": tokens}
            return _answer(found, values)

    return await service.work.run(request, work)


@routes.post("/attention", object_route(AttentionBody))
async def attention(request: Request) -> Response:
    """Compute all attention weights for a sentence and a translation of it."""
    service, body, found = await _read(request, AttentionBody)
    translator = _only(found.route)

    def work(cancelled: Event) -> Response:
        maps = attention_maps(translator, body.text, body.translation or None)
        n = sum(weights.size for weights in maps.weights.values())
        if n > (most := service.limits.weights):
            message = f"Invalid request: the sentence has {n} attention weights: shorten it"
            raise over_limit("weights", most, 422, message)
        with service.budget.held(_WEIGHT_BYTES * n):
            return _answer(found, dict(maps.as_json()))

    translated = [] if body.translation else [body.text]
    with service.counting(body.api_key, found.codes, translated):
        return await service.work.run(request, work)


# ---- requests ------------------------------------------------------------------------------------


async def _read(request: Request, kind: type[Body]) -> tuple[Service, Body, RequestLanguages]:
    """Read a request, check the limits, and find the models.

    Raises:
        RefusedError: The request is not valid or not allowed.
    """
    service = service_of(request)
    body = await service.bodies.parsed(
        request, lambda given: parsed_body(given, kind, service.limits)
    )
    service.count(request, body.api_key)
    service.check_texts([body.text], more=body.texts)
    key = body.api_key
    found = service.route(body.source, body.target, [body.text], model=body.model, key=key)
    if not found.route:
        raise invalid_request(f"the text is in the target language, {found.asked[1]}")
    return service, body, replace(found, memory=service.memory_access(request, key, found.codes))


def parsed_body(given: bytes, kind: type[Parsed], limits: Limits) -> Parsed:
    """A body, whose lists and keys are counted before they are checked one by one.

    Raises:
        RefusedError: It is not valid, or exceeds a limit.
    """
    values = parse_json(given, limits)
    if isinstance(values, dict):
        if unknown := values.keys() - kind.model_fields.keys():
            raise invalid_request(_unknown(min(unknown), kind))
        lists = [len(value) for value in values.values() if isinstance(value, list)]
        _check_terms(sum(lists), limits)
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        (fault, *_) = error.errors(include_url=False, include_context=False, include_input=False)
        raise invalid_request(_problem(fault)) from error


def _unknown(key: str, kind: type[BaseModel]) -> str:
    key = key[:_LONGEST]
    return f"unknown parameter '{key}': {did_you_mean(key, [*kind.model_fields])}"


def _problem(fault: ErrorDetails) -> str:
    """What is wrong with a body."""
    key = ".".join(map(str, fault["loc"]))[:_LONGEST]
    return f"{key}: {fault['msg']}" if key else fault["msg"]


def _answer(found: RequestLanguages, values: Object) -> Response:
    """The answer for a language pair; encoding much of it takes time, not on the event loop."""
    body = encoded_json(_languages(found) | values).encode()
    return Response(body, media_type="application/json")


def encoded_json(value: object) -> str:
    """JSON of a value; between its inner lists and objects, other threads can run."""
    if isinstance(value, dict):
        parts = (f"{encoded_json(str(key))}:{encoded_json(each)}" for key, each in value.items())
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list | tuple) and any(map(_has_parts, value)):
        return "[" + ",".join(map(encoded_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _has_parts(value: object) -> bool:
    return isinstance(value, list | tuple | dict)


def _languages(found: RequestLanguages) -> Object:
    detected = found.detected and found.detected._asdict()
    return {**_described(found.asked, found.route, found.memory), "detected": detected}


def _only(route: Route) -> Translator:
    """The translator of a language pair that has a model of its own.

    Raises:
        RefusedError: It is translated through a pivot language.
    """
    if len(route) > 1:
        pivot = route[0].languages[1]
        raise invalid_request(f"the pair is translated through {pivot}: request its two steps")
    return route[0].translator


def _check_settings(route: Route, body: TranslateBody, service: Service) -> None:
    """Check the settings of a request.

    Raises:
        RefusedError: They exceed a limit, or the models do not have them.
    """
    limits = service.limits
    if body.n_best > (most := limits.alternatives + 1):
        message = f"Invalid request: n_best must be <= {most}"
        raise over_limit("alternatives", limits.alternatives, 422, message)
    if body.trace and len(body.text) > limits.traced:
        message = (
            f"Invalid request: text ({len(body.text)} characters) exceeds the limit for trace "
            f"({limits.traced})"
        )
        raise over_limit("traced", limits.traced, 422, message)
    if body.details and (n := body.n_best * len(body.text)) > limits.detailed:
        message = (
            f"Invalid request: details of {n} characters (those of the text times n_best) exceed "
            f"the limit ({limits.detailed})"
        )
        raise over_limit("detailed", limits.detailed, 422, message)
    if len(route) > 1 and (body.glossary or body.protect):
        raise invalid_request("glossary and protect work only for pairs with a model of their own")


def _check_terms(n: int, limits: Limits) -> None:
    """Check the number of terms and phrases of a request.

    Raises:
        RefusedError: There are too many.
    """
    if n > limits.terms:
        message = f"Invalid request: request has {n} terms and phrases: the limit is {limits.terms}"
        raise over_limit("terms", limits.terms, 422, message)


def _configured(route: Route, body: TranslateBody) -> Translator:
    """The translator with the settings of a request; long lists take some time.

    Raises:
        DataError: A term cannot be used.
    """
    translator = route[-1].translator
    return translator.with_settings(
        search=n_best(translator.search, body.n_best),
        text=TextConfig(protect=tuple(map(re.escape, body.protect))) if body.protect else None,
        terms=body.glossary or None,
    )
