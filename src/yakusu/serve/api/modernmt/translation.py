"""The routes of ModernMT's API about texts: translations, languages, context vectors, quality."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from yakusu.data.identification import Detected
from yakusu.data.languages import closest
from yakusu.data.lines.config import TextConfig
from yakusu.memory.memory import TranslationMemory
from yakusu.serve.api.kinds import translation
from yakusu.serve.api.modernmt.adapting import Adaptation, as_vector
from yakusu.serve.api.modernmt.asking import PREFIX, Asked, answer, asked
from yakusu.serve.api.modernmt.schemas import MODERNMT
from yakusu.serve.api.modernmt.uploads import uploaded_text
from yakusu.serve.api.modernmt.visible import VisibleMemories
from yakusu.serve.api.routes import DescribedRoutes
from yakusu.serve.api.texts import BestTexts, is_little
from yakusu.serve.catalog import Catalog
from yakusu.serve.errors import RefusedError, invalid_request, over_limit
from yakusu.serve.service import service_of
from yakusu.serve.work import AbandonedError
from yakusu.translator import Translator
from yakusu.translator.quality import Evidence

routes = DescribedRoutes(PREFIX)
_KINDS = {"text/plain": "text", "text/html": "html"}
_SPELLINGS = ("pes", "pt-PT", "sr-Cyrl", "zh-CN", "zh-TW")  # of ModernMT, which clients compare
_SHOWN = 100  # characters of a sentence in a message
_VECTOR, _COMPARED = 10, 20  # memories of a vector by default; lines that are compared with them


# ---- languages -----------------------------------------------------------------------------------


@routes.get("/translate/languages", MODERNMT["codes"])
@routes.post("/translate/languages")
async def language_codes(request: Request) -> JSONResponse:
    """The languages, in the models' and in ModernMT's spelling."""
    return answer(_spelled(service_of(request).catalog.codes))


@routes.get("/languages", MODERNMT["pairs"])
@routes.post("/languages")
async def language_targets(request: Request) -> JSONResponse:
    """The target languages of each source language."""
    catalog = service_of(request).catalog
    return answer({code: _targets(catalog, code) for code in _spelled(catalog.sources)})


def _spelled(codes: Sequence[str]) -> list[str]:
    return [*dict.fromkeys([*codes, *(each for each in _SPELLINGS if closest(each, codes))])]


def _targets(catalog: Catalog, source: str) -> list[str]:
    known = source in catalog.sources
    return _spelled(catalog.targets(source if known else closest(source, catalog.sources)[0]))


@routes.get("/translate/detect", MODERNMT["detect"])
@routes.post("/translate/detect")
async def detect_language(request: Request) -> JSONResponse:
    """Identify the language of a text, or of each text of a list."""
    async with asked(request) as call:
        texts = call.texts("q")
        call.fields.choice("format", _KINDS)
        best = await asyncio.to_thread(lambda: [call.service.detect([text])[0] for text in texts])
        found = [
            {"billedCharacters": len(text), "detectedLanguage": each.language}
            for text, each in zip(texts, best, strict=True)
        ]
        return answer(found if isinstance(call.fields.get("q"), list) else found[0])


# ---- translation ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Wanted:
    """What is wanted of the translations of some texts.

    Attributes:
        kind: "text" or "html".
        n: Number of translations of each text.
        adaptation: What adapts them.
    """

    kind: str
    n: int
    adaptation: Adaptation

    @classmethod
    def of(cls, call: Asked, texts: Sequence[str]) -> "_Wanted":
        """Read the parameters of a request.

        Raises:
            RefusedError: One is not valid, or cannot be fulfilled.
        """
        kind = _KINDS[call.fields.choice("format", _KINDS)]
        n = 1 + call.fields.whole("alt_translations", 0)
        if n > 1 + (most := call.service.limits.alternatives):
            message = f"Invalid request: alt_translations must be <= {most}"
            raise over_limit("alternatives", most, 422, message)
        call.fields.choice("priority", ("normal", "background"))
        if call.fields.flag("mask_profanities"):
            raise invalid_request("this server masks no profanities: omit mask_profanities")
        if not call.fields.flag("multiline", True) and any("\n" in text for text in texts):
            raise invalid_request("this server translates each line: send multiline = true")
        return cls(kind, n, Adaptation.of(call))


@routes.get("/translate", MODERNMT["translate"])
@routes.post("/translate", MODERNMT["translate_json"])
async def translate_texts(request: Request) -> JSONResponse:
    """Translate a text, or each text of a list."""
    async with asked(request) as call:
        texts = call.texts("q")
        found, wanted, service = call.route(texts), _Wanted.of(call, texts), call.service

        def work(cancelled: Event) -> list[BestTexts]:
            route = wanted.adaptation.apply(call, found.route)
            return translation(service, wanted.kind, route, texts, wanted.n)(cancelled)

        is_short = not wanted.adaptation and is_little(found.route, texts, wanted.n)
        with service.counting(call.own, found.codes, texts):
            every = await service.work.run(request, work, is_short=is_short)
        pairs = zip(texts, every, strict=True)
        data = [_translated(text, best, found.detected, wanted) for text, best in pairs]
        return answer(data if isinstance(call.fields.get("q"), list) else data[0])


def _translated(
    text: str, best: BestTexts, detected: Detected | None, wanted: _Wanted
) -> dict[str, Any]:
    """The translation of a text as clients read it."""
    found: dict[str, Any] = {
        "translation": best.texts[0],
        "characters": len(text),
        "billedCharacters": len(text),
    }
    if detected:
        found["detectedLanguage"] = detected.language
    if wanted.adaptation.weights:
        found["contextVector"] = wanted.adaptation.vector
    if wanted.n > 1:
        found["altTranslations"] = [*best.texts[1:]]
    return found


# ---- context vectors -----------------------------------------------------------------------------


@routes.get("/context-vector", MODERNMT["vector"])
@routes.post("/context-vector", MODERNMT["vector_json"])
async def context_vector(request: Request) -> JSONResponse:
    """Which memories are related to a text, for each target language."""
    async with asked(request) as call:
        source, targets = call.fields.required("source"), call.fields.listed("targets")
        if not targets:
            raise call.fields.missing("targets")
        text, upload = call.fields.text("text"), call.fields.get("content")
        if not (text.strip() or upload):
            raise call.fields.missing("text")
        call.service.check_texts([text])
        hints, most = call.ids("hints"), call.fields.whole("limit", _VECTOR)

        def work(cancelled: Event) -> dict[str, str]:
            given = uploaded_text(call, "content") if upload else nullcontext(text)
            with given as whole:
                lines = [line for line in whole.splitlines() if line.strip()]
            chosen = lines[:: -(-len(lines) // _COMPARED) or 1]
            return dict(_vectors(call, (source, targets), chosen, (hints, most), cancelled))

        vectors = await call.service.work.run(request, work)
        return answer({"source": source, "vectors": vectors})


def _vectors(
    call: Asked,
    languages: tuple[str, Sequence[str]],
    lines: Sequence[str],
    wanted: tuple[Sequence[int], int],
    cancelled: Event,
) -> Iterator[tuple[str, str]]:
    """The context vector for each target language that is supported.

    Args:
        call: The request.
        languages: The source language, and the target languages.
        lines: Those of the text.
        wanted: Memories that come first, and the maximum number of memories.
        cancelled: Set when the result is no longer needed.
    """
    (source, targets), (hints, most) = languages, wanted
    memories = VisibleMemories(call.service, call.key)
    seen = [*memories]
    memories.named(hints)  # or the request is refused
    for target in targets:
        try:
            pair = call.service.catalog.pair(source, target)
        except RefusedError:
            continue
        weights = dict.fromkeys(hints, 1.0)
        for memory in seen:
            if cancelled.is_set():
                raise AbandonedError
            file = memories.file(memory, pair)
            if file and memory.number not in weights and (weight := _relation(file, lines)) > 0:
                weights[memory.number] = weight
        ranked = sorted(weights.items(), key=lambda item: -item[1])  # stable: hints first
        yield target, as_vector(ranked[:most])


def _relation(file: Path, lines: Sequence[str]) -> float:
    """How related the segments of a memory are to some lines, from 0 to 1: the mean of the best."""
    if not lines:
        return 0.0
    with TranslationMemory.open(file) as memory, memory.snapshot():
        best = [max(memory.related(line, most=1).values(), default=0.0) for line in lines]
    return sum(best) / len(best)


# ---- quality -------------------------------------------------------------------------------------


@routes.get("/translate/qe", MODERNMT["quality"])
@routes.post("/translate/qe", MODERNMT["quality_json"])
async def estimate_quality(request: Request) -> JSONResponse:
    """Estimate the quality of a translation, or of each translation of a list."""
    async with asked(request) as call:
        sentences, translations = call.texts("sentence"), call.texts("translation")
        if len(sentences) != len(translations):
            message = (
                f"{len(sentences)} sentences have {len(translations)} translations: send one each"
            )
            raise invalid_request(message)
        route = call.route(sentences).route
        if len(route) != 1 or route[0].translator.calibration is None:
            raise invalid_request("the quality of translations between these languages is unknown")
        translator = route[0].translator.with_settings(text=TextConfig(one_sentence_per_line=True))

        def work(cancelled: Event) -> list[float]:
            return [*_qualities(translator, sentences, translations, cancelled)]

        scores = [{"score": score} for score in await call.service.work.run(request, work)]
        return answer(scores if isinstance(call.fields.get("sentence"), list) else scores[0])


def _qualities(
    translator: Translator, sentences: Sequence[str], translations: Sequence[str], cancelled: Event
) -> Iterator[float]:
    """The quality of each translation, from 0 to 1."""
    calibration = translator.calibration
    assert calibration
    for pair in zip(sentences, translations, strict=True):
        if cancelled.is_set():
            raise AbandonedError
        ids = translator.pair_ids(*pair)
        if ids is None:
            raise invalid_request(f"the sentence '{pair[0][:_SHOWN]}' is too long: divide it")
        (scored,) = translator.score([pair[0]], [pair[1]])
        evidence = Evidence.of(scored.token_log_probs, len(ids[0]))
        yield calibration.quality(evidence).value / 100
