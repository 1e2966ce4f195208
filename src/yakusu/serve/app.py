"""The application: routes, errors, and what runs beside them."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from yakusu.documents.isolated.readers import StoppedError
from yakusu.errors import DataError, MemoryFileError, RunError
from yakusu.serve.access import ByAddress
from yakusu.serve.api import libre, memory, modernmt, v1
from yakusu.serve.api.deepl import paths as deepl
from yakusu.serve.api.deepl.schemas import DEEPL_COMPONENTS
from yakusu.serve.api.page import page_routes
from yakusu.serve.api.routes import DescribedRoutes, openapi
from yakusu.serve.api.schemas import LIBRE
from yakusu.serve.errors import RefusedError, error_response, memory_refusal, refusal
from yakusu.serve.http.middleware import (
    Head,
    LimitAddresses,
    LimitBody,
    Observe,
    OverrideMethod,
    Prefix,
)
from yakusu.serve.service import Service, service_of
from yakusu.serve.work import AbandonedError

_log = logging.getLogger(__name__)
_CLIENT_CLOSED = 499  # nginx's code for requests whose client has disconnected
_STORED, _RETRIED = 1.0, 10.0  # seconds until counts are stored again; after a failure


def create_app(service: Service) -> Starlette:
    """The application of a service."""
    config = service.config
    routes = [*libre.routes, *v1.routes, *memory.routes, *deepl.routes, *modernmt.routes]
    routes += [*_routes, *page_routes()]
    app = Starlette(routes=routes, exception_handlers=_HANDLERS, lifespan=_lifespan)
    app.state.service = service
    app.add_middleware(OverrideMethod, prefix=modernmt.PREFIX)
    app.add_middleware(LimitBody, limits=service.limits, budget=service.budget)
    if config.allow_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=config.allow_origins,
            allow_methods=["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"],
            allow_headers=["Authorization", "Content-Type", *modernmt.HEADERS],
        )
    clients = ByAddress("requests", config)
    app.add_middleware(LimitAddresses, clients=clients, metrics=service.metrics)
    app.add_middleware(Head)
    app.add_middleware(Observe, metrics=service.metrics, log_text=config.log_text)
    if config.root_path:
        app.add_middleware(Prefix, prefix=config.root_path)
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    service: Service = app.state.service
    tasks = [asyncio.create_task(each(service)) for each in (_maintain, _store_counts)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await service.jobs.close()
        await asyncio.to_thread(service.close)


async def _maintain(service: Service) -> None:
    """Load what requests need in advance; open replaced folders; remove old documents."""
    try:
        await asyncio.to_thread(service.readers.start)
    except StoppedError:  # the service ends
        pass
    except (OSError, RunError) as error:
        _log.warning("documents cannot be read now: %s", error)
    await asyncio.to_thread(service.detect, ())
    seconds = service.config.reload_seconds
    while True:
        await asyncio.sleep(seconds or 60)
        try:
            if seconds:
                await asyncio.to_thread(service.models.refresh)
            service.files.remove_old()
        except Exception:
            _log.exception("maintenance failed; it is repeated")


async def _store_counts(service: Service) -> None:
    """Store the characters of keys, so that a process that is killed loses those of a second."""
    while service.config.data:
        try:
            await asyncio.to_thread(service.usage.save)
            await asyncio.sleep(_STORED)
        except RefusedError:  # the log says why
            await asyncio.sleep(_RETRIED)


_routes = DescribedRoutes()


@_routes.get("/metrics", LIBRE["metrics"])
async def metrics(request: Request) -> Response:
    """Counts for Prometheus."""
    text = service_of(request).metrics.text()
    return Response(text, media_type="text/plain; version=0.0.4")


@_routes.get("/spec")
async def spec(request: Request) -> Response:
    """The OpenAPI description of all paths."""
    return JSONResponse(openapi(request.app.routes, DEEPL_COMPONENTS))


# ---- errors --------------------------------------------------------------------------------------


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    service_of(request).metrics.count_refusal(error.reason)
    return refusal(error, request.scope)


async def _memory_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemoryFileError)
    return await _refused(request, memory_refusal(error))


async def _data_error(request: Request, error: Exception) -> Response:
    service_of(request).metrics.count_refusal("400")
    return error_response(400, f"Invalid request: {error}", scope=request.scope)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    service_of(request).metrics.count_refusal(str(error.status_code))
    headers = dict(error.headers or {})
    return error_response(error.status_code, str(error.detail), headers, scope=request.scope)


async def _cancelled(request: Request, error: Exception) -> Response:
    return error_response(
        _CLIENT_CLOSED, "The client has closed the connection", scope=request.scope
    )


_HANDLERS = {
    RefusedError: _refused,
    MemoryFileError: _memory_error,
    DataError: _data_error,
    HTTPException: _http_error,
    AbandonedError: _cancelled,
    ClientDisconnect: _cancelled,
}
