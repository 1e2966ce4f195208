"""Documents in worker processes, whose errors are refusals."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import BinaryIO

from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.isolated.limits import DocumentLimitError
from yakusu.documents.isolated.readers import Identify, StoppedError
from yakusu.errors import RunError
from yakusu.serve.errors import RefusedError
from yakusu.serve.service import Service
from yakusu.serve.work import AbandonedError

_log = logging.getLogger(__name__)
_RETRY = 10  # seconds


@contextmanager
def opened(
    service: Service,
    name: str,
    file: BinaryIO,
    options: DocumentOptions | Identify,
    *,
    size: int,
    cancelled: Event,
) -> Iterator[Document]:
    """Read a document of a request in a worker process; see `Readers.open`.

    Raises:
        AbandonedError: Nobody waits for it.
        DataError: It is not valid.
        RefusedError: It exceeds a limit (422), or there is no memory or process for it (503).
    """
    try:
        with service.readers.open(name, file, options, size=size, cancelled=cancelled) as found:
            yield found
    except StoppedError as error:
        raise AbandonedError from error
    except DocumentLimitError as error:
        raise RefusedError(422, str(error), reason=f"limits.file_{error.limit}") from error
    except (OSError, RunError) as error:
        _log.warning("a document cannot be translated: %s", error)
        message = "No document can be translated now: try again later"
        raise RefusedError(503, message, retry_after=_RETRY, reason="processes") from error
