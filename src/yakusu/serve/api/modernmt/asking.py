"""What all requests of ModernMT's API have: a key in a header, parameters, and a form of answers.

{"status": 200, "data": ...}
{"status": 404, "error": {"type": "NotFoundException", "message": "There is no memory 7"}}
"""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse

from yakusu.serve.access import Key
from yakusu.serve.errors import RefusedError, invalid_request, missing
from yakusu.serve.http.fields import Fields
from yakusu.serve.memories import LanguagePair
from yakusu.serve.service import RequestLanguages, Service, service_of

PREFIX = "/modernmt"
_ID, _WEIGHT = re.compile(r"[0-9]{1,15}"), re.compile(r"[0-9]{1,9}(?:[.][0-9]{1,30})?")
_SHOWN = 100  # characters of a value that is quoted


@dataclass(frozen=True)
class Asked:
    """A request whose key is accepted.

    Attributes:
        request: The request.
        service: The service.
        fields: Its parameters.
        key: The API key; None: without one, or the service has none.
    """

    request: Request
    service: Service
    fields: Fields
    key: Key | None

    @property
    def own(self) -> str:
        """The text of the API key; "": without one."""
        return self.key.key if self.key else ""

    def check_writer(self) -> None:
        """Refuse a client that may not store anything.

        Raises:
            RefusedError: It may not (403).
        """
        self.service.check_writer(self.request, self.own)

    def route(self, texts: Sequence[str]) -> RequestLanguages:
        """The models of the languages of the request; without a source, it is identified.

        Raises:
            RefusedError: The pair is not supported.
        """
        source, target = self.fields.text("source"), self.fields.required("target")
        return self.service.route(source or "auto", target, texts, key=self.own)

    def pair(self) -> LanguagePair:
        """The languages of the request, which have a model of their own.

        Raises:
            RefusedError: They have none.
        """
        given = self.fields.required("source"), self.fields.required("target")
        pair = self.service.catalog.pair(*given)
        if pair not in model_pairs(self.service):
            raise invalid_request(f"there is no model for {'-'.join(given)}")
        return pair

    def texts(self, name: str) -> list[str]:
        """The texts of a parameter, which is a text or a list of them.

        Raises:
            RefusedError: It is missing or something else, or there are too many.
        """
        given = self.fields.get(name)
        if given is None:
            raise self.fields.missing(name)
        texts = given if isinstance(given, list) else [given]
        if not all(isinstance(text, str) for text in texts):
            raise invalid_request(f"{name} is not a text or a list of texts")
        self.service.check_texts(texts)
        return texts

    def ids(self, name: str) -> list[int]:
        """The numbers of memories in a parameter, each once.

        Raises:
            RefusedError: It has something else.
        """
        given = dict.fromkeys(self.fields.listed(name, str, int))
        return [memory_number(each, name) for each in given]

    def vector(self, name: str) -> list[tuple[int, float]]:
        """Numbers of memories and their weights: "3:0.5,7:0.25", the highest weights first.

        Raises:
            RefusedError: It is something else.
        """
        found = []
        for each in self.fields.listed(name):
            memory, _, weight = each.partition(":")
            if not _WEIGHT.fullmatch(weight):
                raise invalid_request(f"{name} is not like 3:0.5,7:0.25")
            found.append((memory_number(memory, name), float(weight)))
        return sorted(found, key=lambda item: -item[1])

    def file(self, name: str) -> UploadFile:
        """A parameter that is a file.

        Raises:
            RefusedError: It is missing, or something else.
        """
        given = self.fields.get(name)
        if not isinstance(given, UploadFile):
            raise missing(name)
        return given


@asynccontextmanager
async def asked(request: Request) -> AsyncIterator[Asked]:
    """Read a request; its files are open inside the context.

    Raises:
        RefusedError: The key is not known (401), there were too many requests, or the parameters
            are not valid.
    """
    service, text = service_of(request), request.headers.get("mmt-apikey", "")
    try:
        service.count(request, text)
    except RefusedError as error:
        if error.status != 403:
            raise
        message = "Missing or invalid authentication header: set MMT-ApiKey to an API key"
        raise RefusedError(401, message) from error
    async with service.bodies.fields(request) as fields:
        yield Asked(request, service, fields, service.access.known(text))


def memory_number(text: str, name: str) -> int:
    """The number of a memory.

    Raises:
        RefusedError: The text is not a number.
    """
    if not _ID.fullmatch(text):
        raise invalid_request(f"{name} has '{text[:_SHOWN]}', which is not the id of a memory")
    return int(text)


def model_pairs(service: Service) -> list[LanguagePair]:
    """The language pairs that have a model of their own."""
    return [pair for pair, routes in service.catalog.routes.items() if len(routes[0]) == 1]


def answer(data: Any) -> JSONResponse:
    """The answer to a request that succeeds."""
    return JSONResponse({"status": 200, "data": data})
