"""The OpenAPI descriptions of DeepL's routes."""

from collections.abc import Iterable

from yakusu.serve.api.routes import Schema
from yakusu.serve.api.schemas import ERRORS, content, object_of

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_NUMBER: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_OBJECT: Schema = {"type": "object"}
_ERROR = object_of(message=_TEXT)
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"
_ERRORS = {
    **{status: meaning for status, meaning in ERRORS.items() if status != 422},
    404: "This key has no glossary, document or memory with this id",
    456: "The key may translate no more characters in this month, or store no more glossaries",
}


DEEPL_COMPONENTS: Schema = {
    "responses": {
        f"DeepL{number}": {"description": meaning, "content": content(_ERROR, _JSON)}
        for number, meaning in _ERRORS.items()
    },
    "securitySchemes": {
        "DeepL": {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "DeepL-Auth-Key, a space and an API key of the service",
        }
    },
}


def _route(
    response: Schema | None = None,
    *,
    status: int = 200,
    kind: str = _JSON,
    query: Iterable[str] = (),
    body: Schema | None = None,
    kinds: tuple[str, ...] = (_JSON, _FORM),
) -> Schema:
    """A route.

    Args:
        response: The response; None: it has no body.
        status: Its status.
        kind: Its content type.
        query: The names of the parameters in the query string.
        body: The body of a request; None: it has none.
        kinds: The content types of the body.
    """
    answer: Schema = {"description": "Success"}
    if response is not None:
        answer["content"] = content(response, kind)
    errors = {str(number): {"$ref": f"#/components/responses/DeepL{number}"} for number in _ERRORS}
    described: Schema = {
        "responses": {str(status): answer, **errors},
        "parameters": [{"name": name, "in": "query", "schema": _TEXT} for name in query],
        "security": [{"DeepL": []}],
    }
    if body is not None:
        described["requestBody"] = {"required": True, "content": content(body, *kinds)}
    return described


def _enumerated(values: str) -> Schema:
    return {**_TEXT, "enum": values.split()}


_PAIR: dict[str, Schema] = {"source_lang": _TEXT, "target_lang": _TEXT}
_STORED: dict[str, Schema] = {"glossary_id": _TEXT, "name": _TEXT, "creation_time": _TEXT}
_SIZE = object_of(**_PAIR, entry_count=_NUMBER)
_ENTRIES = {**_PAIR, "entries": _TEXT, "entries_format_": _enumerated("tsv csv")}
_DICTIONARIES: Schema = {"type": "array", "items": object_of(**_ENTRIES)}
_SINGLE = object_of(**_STORED, **_PAIR, ready=_FLAG, entry_count=_NUMBER)
_MULTIPLE = object_of(**_STORED, dictionaries={"type": "array", "items": _SIZE})
_LANGUAGES: Schema = {
    "type": "array",
    "items": object_of(language=_TEXT, name=_TEXT, supports_formality_=_FLAG),
}
_WITHOUT_EFFECT: dict[str, Schema] = {
    "formality_": _enumerated("default prefer_more prefer_less"),
    "context_": _TEXT,
}
_USED: dict[str, Schema] = {
    "glossary_id_": _TEXT,
    "glossary_ids_": _TEXTS,
    "translation_memory_id_": _TEXT,
    "translation_memory_threshold_": {**_NUMBER, "minimum": 0, "maximum": 100},
}
_TRANSLATION = object_of(
    detected_source_language=_TEXT, text=_TEXT, billed_characters_=_NUMBER, model_type_used_=_TEXT
)
_MEMORY = object_of(
    translation_memory_id=_TEXT,
    name=_TEXT,
    source_language=_TEXT,
    target_languages=_TEXTS,
    segment_count=_NUMBER,
    creation_time=_TEXT,
    updated_time=_TEXT,
)
_JOB = object_of(
    job_id=_TEXT, operation=_TEXT, parameters=_OBJECT, results={"type": "array", "items": _OBJECT}
)
_KEY = object_of(document_key=_TEXT)
_BY_PAIR = ("source_lang", "target_lang")

DEEPL = {
    "translate": _route(
        object_of(translations={"type": "array", "items": _TRANSLATION}),
        body=object_of(
            text={**_TEXTS, "minItems": 1},
            target_lang={**_TEXT, "description": "A language code, such as EN-US"},
            source_lang_={**_TEXT, "description": "A language code; by default, it is detected"},
            tag_handling_=_enumerated("xml html"),
            tag_handling_version_=_enumerated("v1 v2"),
            split_sentences_=_enumerated("0 1 nonewlines"),
            preserve_formatting_=_FLAG,
            outline_detection_=_FLAG,
            splitting_tags_=_TEXTS,
            non_splitting_tags_=_TEXTS,
            ignore_tags_=_TEXTS,
            model_type_=_enumerated("latency_optimized quality_optimized prefer_quality_optimized"),
            show_billed_characters_=_FLAG,
            **_USED,
            **_WITHOUT_EFFECT,
        ),
    ),
    "upload": _route(
        object_of(document_id=_TEXT, document_key=_TEXT),
        body=object_of(
            file={**_TEXT, "format": "binary"},
            target_lang=_TEXT,
            source_lang_=_TEXT,
            filename_=_TEXT,
            output_format_=_TEXT,
            **_USED,
            **_WITHOUT_EFFECT,
        ),
        kinds=("multipart/form-data",),
    ),
    "document_status": _route(
        object_of(
            document_id=_TEXT,
            status=_enumerated("queued translating done error"),
            seconds_remaining_=_NUMBER,
            billed_characters_=_NUMBER,
            error_message_=_TEXT,
        ),
        body=_KEY,
    ),
    "document_result": _route(
        {**_TEXT, "format": "binary"},
        kind="application/octet-stream",
        body=_KEY,
    ),
    "languages": _route(_LANGUAGES, query=["type"]),
    "usage": _route(object_of(character_count=_NUMBER, character_limit=_NUMBER)),
    "glossary_pairs": _route(
        object_of(supported_languages={"type": "array", "items": object_of(**_PAIR)})
    ),
    "create_glossary": _route(_SINGLE, status=201, body=object_of(name=_TEXT, **_ENTRIES)),
    "glossaries": _route(object_of(glossaries={"type": "array", "items": _SINGLE})),
    "glossary": _route(
        _SINGLE,
    ),
    "glossary_entries": _route(
        _TEXT,
        kind="text/tab-separated-values",
    ),
    "delete": _route(status=204),
    "create_glossary_v3": _route(
        _MULTIPLE,
        status=201,
        body=object_of(name=_TEXT, dictionaries=_DICTIONARIES),
        kinds=(_JSON,),
    ),
    "glossaries_v3": _route(object_of(glossaries={"type": "array", "items": _MULTIPLE})),
    "glossary_v3": _route(
        _MULTIPLE,
    ),
    "patch_glossary_v3": _route(
        _MULTIPLE,
        body=object_of(name_=_TEXT, dictionaries_=_DICTIONARIES),
        kinds=(_JSON,),
    ),
    "glossary_entries_v3": _route(object_of(dictionaries=_DICTIONARIES), query=_BY_PAIR),
    "put_dictionary": _route(_SIZE, body=object_of(**_ENTRIES)),
    "delete_dictionary": _route(status=204, query=_BY_PAIR),
    "memories": _route(
        object_of(translation_memories={"type": "array", "items": _MEMORY}, total_count=_NUMBER),
        query=["page", "page_size"],
    ),
    "memory": _route(
        _MEMORY,
    ),
    "segments": _route(
        object_of(
            segments={"type": "array", "items": _OBJECT},
            segment_count=_NUMBER,
            next_page_cursor_=_TEXT,
        ),
        query=["page_size", "page_cursor", "filter_text", "filter_case_sensitive"],
    ),
    "export": _route(
        object_of(job_id=_TEXT, parameters=_OBJECT),
        status=202,
    ),
    "import": _route(
        object_of(job_id=_TEXT, upload_url=_TEXT, expires_at=_TEXT),
        status=202,
        body=object_of(source_file=_OBJECT, parameters_=_OBJECT),
        kinds=(_JSON,),
    ),
    "upload_memory": _route(
        body={**_TEXT, "format": "binary"},
        kinds=("application/xml",),
    ),
    "job": _route(
        _JOB,
    ),
}
