"""DeepL's route /v2/translate: texts, lists, and tags."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.terms import possible_terms
from yakusu.data.lines.words import has_letter
from yakusu.documents.tagged import TagRules, read_tagged
from yakusu.errors import DataError
from yakusu.serve.api.deepl.calls import DeepLCall, DeepLRoutes, answer_json, received
from yakusu.serve.api.deepl.codes import source_code
from yakusu.serve.api.deepl.schemas import DEEPL
from yakusu.serve.api.deepl.stored import Terms, check_memory, find_terms
from yakusu.serve.api.documents import translate_page
from yakusu.serve.api.texts import along, is_little, translate_fragments
from yakusu.serve.errors import RefusedError
from yakusu.serve.service import RequestLanguages, Service

routes = DeepLRoutes()
_LINE_BREAK = re.compile(r"(?<=\S)[ \t]*+\r?\n[ \t]*+(?=\S)")  # between lines of a paragraph
_FORMALITIES = ("default", "prefer_more", "prefer_less")
_MODELS = ("", "latency_optimized", "quality_optimized", "prefer_quality_optimized")


@dataclass(frozen=True)
class ReadingOptions:
    """How texts are read.

    Attributes:
        tags: "xml", "html" or "".
        rules: The elements of XML.
        split: "1": sentences end at punctuation and line breaks; "nonewlines": at punctuation;
            "0": each text is one sentence.
    """

    tags: str
    rules: TagRules
    split: str

    @classmethod
    def of(cls, call: DeepLCall) -> "ReadingOptions":
        """The options of a request.

        Raises:
            RefusedError: A value is not supported (400).
        """
        tags = call.fields.choice("tag_handling", ("", "xml", "html"))
        default = "nonewlines" if tags == "html" else "1"
        split = call.fields.choice("split_sentences", (default, "1", "nonewlines", "0"))
        call.fields.choice("tag_handling_version", ("v2", "v1"))
        call.fields.flag("preserve_formatting")
        splitting, within, ignored = (
            frozenset(call.fields.listed(name))
            for name in ("splitting_tags", "non_splitting_tags", "ignore_tags")
        )
        outline, lines = call.fields.flag("outline_detection", True), split == "1"
        return cls(tags, TagRules(splitting, within, ignored, outline, lines), split)

    def config(self, texts: Sequence[str], most: int) -> TextConfig | None:
        """How a translator reads texts; None: with its own settings.

        Args:
            texts: The texts.
            most: Maximum length of a sentence, in tokens. A longer text is divided nevertheless:
                the rest of it would be lost.
        """
        if self.split == "0" and all(len(text.encode()) < most for text in texts):
            return TextConfig(one_sentence_per_line=True)
        return None


def check_without_effect(call: DeepLCall) -> None:
    """Check parameters that change nothing here.

    Raises:
        RefusedError: They ask for what models cannot do (400).
    """
    formality = call.fields.text("formality").lower()
    if formality in ("more", "less"):
        message = "'formality' is not supported for given 'target_lang': use default or prefer_"
        raise RefusedError(400, f"{message}{formality}")
    call.fields.choice("formality", _FORMALITIES)
    call.fields.text("context")
    for name in ("style_id", "custom_instructions"):
        if call.fields.get(name):
            raise RefusedError(400, f"Parameter '{name}' not supported: this server has no styles")


@routes.post("/v2/translate", DEEPL["translate"])
async def translate(request: Request) -> Response:
    """Translate texts. Parameters without effect here: `context`, `model_type` and the like."""
    async with received(request) as call:
        texts, options = _texts(call), ReadingOptions.of(call)
        model_type = call.fields.choice("model_type", _MODELS)
        is_billed = call.fields.flag("show_billed_characters")
    check_without_effect(call)
    service = call.service
    service.check_texts(texts)
    groups = await _groups(call, texts)
    terms = await find_terms(call, groups[0].found)
    check_memory(call, groups[0].found)

    own = [(group, [texts[number] for number in group.numbers]) for group in groups]

    def work(cancelled: Event) -> list[str]:
        made = [""] * len(texts)
        for group, some in own:
            every = _translated(service, group.found, some, options, terms, cancelled)
            for number, translation in zip(group.numbers, every, strict=True):
                made[number] = translation
        return made

    is_plain = len(groups) == 1 and not (options.tags or terms)
    is_short = is_plain and is_little(groups[0].found.route, texts)
    with ExitStack() as counted:  # all of them, or none
        for group, some in own:
            counted.enter_context(service.counting(call.key, group.found.codes, some))
        made = await service.work.run(request, work, is_short=is_short)
    sources = {n: source_code(group.found.asked[0]) for group in groups for n in group.numbers}
    return answer_json(
        {
            "translations": [
                {
                    "detected_source_language": sources[number],
                    "text": translation,
                    **({"billed_characters": len(texts[number])} if is_billed else {}),
                    **_model_used(model_type),
                }
                for number, translation in enumerate(made)
            ]
        }
    )


def _model_used(model_type: str) -> dict[str, Any]:
    return {"model_type_used": model_type.removeprefix("prefer_")} if model_type else {}


def _texts(call: DeepLCall) -> list[str]:
    given = call.fields.get("text")
    texts = given if isinstance(given, list) else [] if given is None else [given]
    if not texts:
        raise RefusedError(400, "Parameter 'text' not specified.")
    if not all(isinstance(text, str) for text in texts):
        raise RefusedError(400, "Value for 'text' not supported: send a list of texts")
    return texts if call.fields.is_json else [text.replace("\r\n", "\n") for text in texts]


@dataclass(frozen=True)
class _Group:
    """Texts of a request in the same language, by their numbers."""

    found: RequestLanguages
    numbers: Sequence[int]


async def _groups(call: DeepLCall, texts: Sequence[str]) -> list[_Group]:
    """The texts by their languages, which are identified for each text that has words.

    Raises:
        RefusedError: A language is not served, or cannot be told (400).
    """
    target, source = call.required("target_lang"), call.fields.text("source_lang")
    if source:
        found = call.service.route(source, target, texts, key=call.key)
        return [_Group(found, range(len(texts)))]

    def identified() -> list[_Group]:
        whole: list[RequestLanguages] = []  # of all texts together
        groups: dict[str, tuple[RequestLanguages, list[int]]] = {}
        for number, text in enumerate(texts):
            if has_letter(text):
                found = call.service.route("auto", target, [text], key=call.key)
            else:
                whole = whole or [call.service.route("auto", target, texts, key=call.key)]
                found = whole[0]
            code = found.detected.language if found.detected else ""
            groups.setdefault(code, (found, []))[1].append(number)
        return [
            _Group(replace(found, asked=(code, target)), numbers)
            for code, (found, numbers) in groups.items()
        ]

    return await asyncio.to_thread(identified)


def _translated(
    service: Service,
    found: RequestLanguages,
    texts: Sequence[str],
    options: ReadingOptions,
    terms: Terms,
    cancelled: Event,
) -> list[str]:
    """The translations of texts in one language."""
    most = min((step.translator.max_source_tokens for step in found.route), default=0)
    translate_all = along(
        found.route,
        cancelled,
        text=options.config(texts, most),
        terms=possible_terms(terms, texts) if terms else (),
    )
    if options.tags == "html":
        pages = [translate_page(service, text, translate_all, cancelled) for text in texts]
        return [page.texts[0] for page in pages]
    if options.tags == "xml":
        try:
            fragments = [read_tagged(text, options.rules) for text in texts]
        except DataError as error:
            message = f"Tag handling parsing failed, please check input: {error}"
            raise RefusedError(400, message) from error
        return [each.texts[0] for each in translate_fragments(fragments, translate_all)]
    if options.split == "1":
        return [each.texts[0] for each in translate_all(texts)]
    inner = [_LINE_BREAK.sub(" ", text.strip()) for text in texts]
    every = translate_all(inner)
    return [_with_ends(each.texts[0], text) for each, text in zip(every, texts, strict=True)]


def _with_ends(translation: str, text: str) -> str:
    """A translation with the white space at the ends of a text."""
    before, after = len(text) - len(text.lstrip()), len(text.rstrip())
    return text[:before] + translation + text[max(before, after) :]
