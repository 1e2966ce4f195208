"""What the routes of the service share."""

import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from yakusu.data.identification import Detected, identifier
from yakusu.engine.config import EngineConfig
from yakusu.engine.pool import Pool
from yakusu.errors import RecipeError
from yakusu.serve.access import Access
from yakusu.serve.catalog import Catalog, ReloadedModels, Route
from yakusu.serve.config import ServeConfig
from yakusu.serve.errors import invalid_request
from yakusu.serve.fields import Fields, read_fields
from yakusu.serve.files import Files
from yakusu.serve.greenlets import event
from yakusu.serve.monitoring import Metrics
from yakusu.serve.work import RunningRequests

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RequestLanguages:
    """The language pair of a request.

    Attributes:
        codes: Codes of the source and the target language.
        route: The models that translate it.
        detected: The source language that was identified, if it was requested as "auto".
    """

    codes: tuple[str, str]
    route: Route
    detected: Detected | None


class Service:
    """The models and limits of a running service.

    Args:
        config: The settings.
        folders: Model folders.

    Raises:
        ModelError: A model folder is not valid.
        RecipeError: The file of keys is not valid.
    """

    def __init__(self, config: ServeConfig, folders: Sequence[Path]) -> None:
        engine = EngineConfig(engine="native", threads=config.threads, precision=config.precision)
        self.config, self.limits = config, config.limits
        self.access = Access(config)
        self.pool = Pool(engine.n_threads, finished=event)
        if config.suggestions:
            _check_writable(Path(config.suggestions))
        self.models = ReloadedModels(folders, engine, self.pool)
        self.work = RunningRequests(config.limits.waiting)
        self.files = Files(config.limits.kept)
        self.metrics = Metrics(lambda: self.work.n)

    @property
    def catalog(self) -> Catalog:
        """The models as they are now."""
        return self.models.catalog

    @asynccontextmanager
    async def fields(self, request: Request) -> AsyncIterator[Fields]:
        """Read the parameters of a request, as `read_fields` does, and count the request.

        Raises:
            RefusedError: They are not valid, the key is not known, or there were too many requests.
        """
        async with read_fields(request, self.limits) as fields:
            self.count(request, fields.text("api_key"))
            yield fields

    def count(self, request: Request, key: str) -> None:
        """Count a request of a client.

        Raises:
            RefusedError: The key is not known, or there were too many requests.
        """
        self.access.check(key, request.client.host if request.client else "")

    def languages(self, fields: Fields, texts: Sequence[str]) -> RequestLanguages:
        """The language pair of a request.

        Raises:
            RefusedError: A language is missing, or the pair is not supported.
        """
        source, target = fields.required("source"), fields.required("target")
        return self.route(source, target, texts, model=fields.text("model"))

    def route(
        self, source: str, target: str, texts: Sequence[str], *, model: str = ""
    ) -> RequestLanguages:
        """The models for a language pair; a source "auto" is identified in the texts."""
        catalog, detected = self.catalog, None
        if source == "auto":
            detected = self.detect(texts)[0]
            source = detected.language
        pair = catalog.pair(source, target)
        return RequestLanguages(pair, catalog.route(*pair, model), detected)

    def detect(self, texts: Sequence[str]) -> list[Detected]:
        """The source languages of the models in which the texts may be, the most probable first."""
        return identifier().detect("\n".join(texts), self.catalog.sources)

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
                raise invalid_request(
                    f"request ({size} {what}) exceeds text limit ({limit} {what})"
                )
        if self.config.log_text:
            for text in texts:
                _log.warning("text: %r", text)

    def close(self) -> None:
        """End all threads, and remove the files."""
        self.work.close()
        self.pool.close()
        self.files.close()


def _check_writable(path: Path) -> None:
    """Check that lines can be appended to a file.

    Raises:
        RecipeError: They cannot.
    """
    try:
        path.open("a").close()
    except OSError as error:
        raise RecipeError(f"{path} cannot be written: {error.strerror}") from error
