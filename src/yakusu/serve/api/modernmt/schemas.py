"""The OpenAPI descriptions of ModernMT's routes: their parameters and responses."""

from yakusu.serve.api.routes import Schema

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_CODE: Schema = {**_TEXT, "description": "A language code"}
_TEXTS: Schema = {"oneOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
_IDS: Schema = {
    "oneOf": [_TEXT, {"type": "array", "items": _NUMBER}],
    "description": "Ids of memories",
}
_FILE: Schema = {**_TEXT, "format": "binary"}
_JSON, _FORM = "application/json", "multipart/form-data"
_KEY: Schema = {"name": "MMT-ApiKey", "in": "header", "schema": _TEXT}
_ERRORS = {
    "4XX": "The request is not valid or not allowed: 401, a wrong API key; 404, no such memory",
    "503": "The server is busy",
}


def _object(*optional: str, **properties: Schema) -> Schema:
    """An object, whose properties are required but for some."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


_ERROR = _object(status=_NUMBER, error=_object(type=_TEXT, message=_TEXT))


def _route(
    data: Schema,
    *,
    query: Schema | None = None,
    body: Schema | None = None,
    form: Schema | None = None,
) -> Schema:
    """A route.

    Args:
        data: What the answer has under `data`.
        query: The parameters in the query string, as an object.
        body: The body, as an object.
        form: The same for a form with a file.
    """
    success = _object(status=_NUMBER, data=data)
    responses = {"200": {"description": "Success", "content": {_JSON: {"schema": success}}}}
    for status, meaning in _ERRORS.items():
        content = {_JSON: {"schema": _ERROR}}
        responses[status] = {"description": meaning, "content": content}
    parameters = [_KEY]
    for name, schema in (query["properties"] if query else {}).items():
        needed = bool(query and name in query["required"])
        parameters.append({"name": name, "in": "query", "required": needed, "schema": schema})
    found: Schema = {"responses": responses, "parameters": parameters}
    kinds = {kind: {"schema": given} for kind, given in ((_JSON, body), (_FORM, form)) if given}
    if kinds:
        found["requestBody"] = {"required": True, "content": kinds}
    return found


def _several(schema: Schema) -> Schema:
    """One, or a list of them."""
    return {"oneOf": [schema, {"type": "array", "items": schema}]}


_TRANSLATION = _object(
    *("detectedLanguage", "contextVector", "altTranslations"),
    translation=_TEXT,
    characters=_NUMBER,
    billedCharacters=_NUMBER,
    detectedLanguage=_TEXT,
    contextVector=_TEXT,
    altTranslations={"type": "array", "items": _TEXT},
)
_TRANSLATE = _object(
    *("source", "hints", "context_vector", "glossaries", "ignore_glossary_case"),
    *("format", "alt_translations", "multiline", "priority"),
    source={**_CODE, "description": "A language code (default: it is identified)"},
    target=_CODE,
    q=_TEXTS,
    hints={**_IDS, "description": "Ids of memories that are used first"},
    context_vector={**_TEXT, "description": "Ids of memories and weights, as in 3:0.5,7:0.25"},
    glossaries={**_IDS, "description": "Ids of memories whose terms are used"},
    ignore_glossary_case=_FLAG,
    format={**_TEXT, "enum": ["text/plain", "text/html"]},
    alt_translations={**_NUMBER, "minimum": 0},
    multiline=_FLAG,
    priority={**_TEXT, "enum": ["normal", "background"]},
)
_VECTOR = _object(
    *("hints", "limit"), source=_CODE, targets=_TEXTS, text=_TEXT, hints=_IDS, limit=_NUMBER
)
_VECTORS = _object(source=_TEXT, vectors={"type": "object", "additionalProperties": _TEXT})
_PAIRS = _object(source=_CODE, target=_CODE, sentence=_TEXTS, translation=_TEXTS)
_QUALITY = _several(_object(score={"type": "number", "minimum": 0, "maximum": 1}))
_MEMORY = _object(id=_NUMBER, name=_TEXT, description=_TEXT, creationDate=_TEXT)
_JOB = _object(id=_TEXT, memory=_NUMBER, size=_NUMBER, progress={"type": "number"})
_SEGMENT = _object(
    "tuid", source=_CODE, target=_CODE, sentence=_TEXT, translation=_TEXT, tuid=_TEXT
)
_TERMS = {"type": "array", "items": _object(language=_CODE, term=_TEXT)}
_KIND = {**_TEXT, "enum": ["unidirectional", "equivalent"]}
_GZIP = {**_TEXT, "enum": ["gzip"]}

MODERNMT: dict[str, Schema] = {
    "codes": _route({"type": "array", "items": _TEXT}),
    "pairs": _route({"type": "object", "additionalProperties": {"type": "array", "items": _TEXT}}),
    "detect": _route(
        _several(_object(billedCharacters=_NUMBER, detectedLanguage=_TEXT)),
        query=_object(q={"type": "array", "items": _TEXT, "minItems": 1}),
    ),
    "translate": _route(_several(_TRANSLATION), query=_TRANSLATE),
    "translate_json": _route(_several(_TRANSLATION), body=_TRANSLATE),
    "vector": _route(_VECTORS, query=_VECTOR),
    "vector_json": _route(
        _VECTORS,
        body=_VECTOR,
        form=_object("compression", source=_CODE, targets=_TEXT, content=_FILE, compression=_GZIP),
    ),
    "quality": _route(_QUALITY, query=_PAIRS),
    "quality_json": _route(_QUALITY, body=_PAIRS),
    "memories": _route({"type": "array", "items": _MEMORY}),
    "create": _route(_MEMORY, body=_object("description", name=_TEXT, description=_TEXT)),
    "memory": _route(_MEMORY),
    "edit": _route(_MEMORY, body=_object("name", "description", name=_TEXT, description=_TEXT)),
    "add": _route(_JOB, body=_SEGMENT, form=_object("compression", tmx=_FILE, compression=_GZIP)),
    "replace": _route(_JOB, body={**_SEGMENT, "required": [*_SEGMENT["required"], "tuid"]}),
    "terms": _route(
        _JOB,
        body=_object("tuid", type=_KIND, terms=_TERMS, tuid=_TEXT),
        form=_object("compression", type=_KIND, csv=_FILE, compression=_GZIP),
    ),
    "job": _route(_JOB),
}
