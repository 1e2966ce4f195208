"""The OpenAPI descriptions of the routes: their parameters and responses."""

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import BaseModel

from yakusu.serve.api.routes import Schema

_TEXT = {"type": "string"}
_ERROR = {"type": "object", "required": ["error"], "properties": {"error": _TEXT}}
_LIST: Schema = {"type": "array", "items": _TEXT}
_TEXTS = {"oneOf": [{**_TEXT, "minLength": 1}, {**_LIST, "minItems": 1}]}
_DETECTED = {
    "type": "object",
    "required": ["confidence", "language"],
    "properties": {"confidence": {"type": "number"}, "language": _TEXT},
}
_FLAG: Schema = {"type": "boolean"}
_LANGUAGE = {
    "type": "object",
    "required": ["code", "name"],
    "properties": {"code": _TEXT, "name": _TEXT},
}


def object_of(**properties: Schema) -> Schema:
    """An object; names that end in "_" are optional."""
    required = [name for name in properties if not name.endswith("_")]
    named = {name.removesuffix("_"): schema for name, schema in properties.items()}
    return {"type": "object", "properties": named, **({"required": required} if required else {})}


def content(schema: Schema, *kinds: str) -> Schema:
    return {kind: {"schema": schema} for kind in kinds}


def object_route(
    body: type[BaseModel] | None = None,
    *,
    kind: str = "application/json",
    more: Mapping[int, str] = MappingProxyType({}),
) -> Schema:
    """A route whose body and response are JSON objects, or whose response is a stream of them.

    Args:
        body: The body; None: there is none.
        kind: The content type of the response.
        more: The meanings of further statuses of errors.
    """
    schema = body.model_json_schema() if body else None
    kinds = ("application/json",)
    return _route({"type": "object"}, body=schema, kinds=kinds, kind=kind, more=more)


def _route(
    response: Schema,
    *,
    body: Schema | None = None,
    kinds: tuple[str, ...] = (),
    kind: str = "application/json",
    more: Mapping[int, str] = MappingProxyType({}),
) -> Schema:
    """The body and the responses of a route."""
    responses: dict[str, Schema] = {
        "200": {"description": "Success", "content": content(response, kind)}
    }
    described: Schema = {"responses": responses}
    if body:
        described["requestBody"] = {"required": True, "content": content(body, *kinds)}
        for status, meaning in (ERRORS | {**more}).items():
            responses[str(status)] = {
                "description": meaning,
                "content": content(_ERROR, "application/json"),
            }
    return described


ERRORS = {
    400: "The request is not valid",
    403: "The API key is missing or not valid, or the function is disabled",
    408: "The request did not arrive in time",
    413: "The request is too large",
    422: "A value exceeds a limit",
    429: "Too many requests",
    503: "The server is busy",
}
_FORMS = ("application/x-www-form-urlencoded", "application/json")
_KEY = {"api_key_": _TEXT}
_MULTIPART = ("multipart/form-data",)

LIBRE = {
    "languages": _route(
        {
            "type": "array",
            "items": object_of(code=_TEXT, name=_TEXT, targets=_LIST),
        }
    ),
    "translate": _route(
        object_of(
            translatedText={"oneOf": [_TEXT, _LIST]},
            detectedLanguage_={"oneOf": [_DETECTED, {"type": "array", "items": _DETECTED}]},
            alternatives_={"type": "array"},
            copied_={
                "oneOf": [_FLAG, {"type": "array", "items": _FLAG}],
                "description": "The text, or a part of it, is kept: no translation can be used",
            },
        ),
        body=object_of(
            q=_TEXTS,
            source={**_TEXT, "description": "A language code, or auto"},
            target=_TEXT,
            format_={**_TEXT, "enum": ["text", "html"]},
            alternatives_={"type": "integer", "minimum": 0},
            model_={**_TEXT, "description": "The name of a model, if several have the pair"},
            **_KEY,
        ),
        kinds=_FORMS,
    ),
    "detect": _route(
        {"type": "array", "items": _DETECTED}, body=object_of(q=_TEXTS, **_KEY), kinds=_FORMS
    ),
    "translate_file": _route(
        object_of(
            translatedFileUrl=_TEXT,
            kept_={
                "type": "array",
                "items": _TEXT,
                "description": "Why texts are kept, a sentence for each of the first ten",
            },
            keptTotal_={"type": "integer", "description": "The number of all such texts"},
        ),
        body=object_of(
            file={**_TEXT, "format": "binary"}, source=_TEXT, target=_TEXT, model_=_TEXT, **_KEY
        ),
        kinds=_MULTIPART,
    ),
    "download_file": {
        "responses": {
            "200": {"description": "Success", "content": {"application/octet-stream": {}}},
            "404": {"description": "No such file", "content": content(_ERROR, "application/json")},
        },
    },
    "suggest": _route(
        object_of(success={"type": "boolean"}),
        body=object_of(q=_TEXT, s=_TEXT, source=_TEXT, target=_TEXT, **_KEY),
        kinds=_FORMS,
    ),
    "settings": _route(
        object_of(
            apiKeys={"type": "boolean"},
            charLimit={"type": "integer"},
            filesTranslation={"type": "boolean"},
            frontendTimeout={"type": "integer"},
            keyRequired={"type": "boolean"},
            language=object_of(source=_LANGUAGE, target=_LANGUAGE),
            suggestions={"type": "boolean"},
            supportedFilesFormat=_LIST,
        )
    ),
    "health": _route(object_of(status=_TEXT)),
    "metrics": _route(_TEXT, kind="text/plain"),
}
