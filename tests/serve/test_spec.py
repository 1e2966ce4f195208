"""Requests generated from the OpenAPI description: no failures, and answers as described."""

from pathlib import Path
from typing import Any

import pytest
import schemathesis
import schemathesis.specs.openapi.schemas  # pytest parses it now, not while the service has threads
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from yakusu.serve.app import create_app
from yakusu.serve.config import ServeConfig
from yakusu.serve.service import Service

N_OPERATIONS = 64
CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]


@pytest.fixture(scope="module")
def operations(folders: dict[str, Path]) -> dict[str, Any]:
    """The paths of the description, with their methods."""
    app = create_app(Service(ServeConfig(), [*folders.values()]))
    every = schemathesis.openapi.from_asgi("/spec", app).get_all_operations()
    return {operation.label: operation for operation in (found.ok() for found in every)}


def test_every_path_is_described(operations: dict[str, Any]) -> None:
    assert {"POST /translate", "POST /v1/stream", "GET /metrics"} < operations.keys()
    assert {"GET /modernmt/translate", "PUT /modernmt/memories/{memory}"} < operations.keys()
    assert "POST /v2/translate" in operations
    assert len(operations) == N_OPERATIONS


@pytest.mark.parametrize("number", range(N_OPERATIONS))
def test_answers_are_as_described(operations: dict[str, Any], number: int) -> None:
    operation = [*operations.values()][number]

    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        headers = {"Authorization": "DeepL-Auth-Key of a client"}  # others need none
        case.call_and_validate(checks=CHECKS, headers=headers)

    ask()
