"""Work for clients that do not wait for it, and ask for its state: documents, memories."""

import asyncio
import hmac
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from traceback import format_tb
from typing import Any, Literal

from yakusu.errors import YakusuError
from yakusu.serve.errors import RefusedError
from yakusu.serve.files import Files

_log = logging.getLogger(__name__)
_PATIENCE = 1.0  # seconds for which a client waits before it has to ask again
JobKind = Literal["document", "export", "upload", "import"]  # an upload waits for its file


_WITH_FILE: Sequence[JobKind] = ("document", "export")  # that can be downloaded


@dataclass(frozen=True)
class ClientJob:
    """Work for a client, which may write a file.

    Attributes:
        number: Its random identifier, which is the name of its folder.
        owner: Whose work it is.
        kind: What is done.
        target: The file that it writes.
        task: Does the work, and returns the answer for the client.
        about: What the client has stated.
        key: A secret for its owner.
        created: When it began.
    """

    number: str
    owner: str
    kind: JobKind
    target: Path
    task: "asyncio.Task[Any]"
    about: str = ""
    key: str = field(default_factory=lambda: secrets.token_hex(32).upper())
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def error(self) -> str:
        """Why it has failed; "": it has not."""
        if not self.task.done():
            return ""
        if self.task.cancelled():
            return "The server is shutting down: try again later"
        error = self.task.exception()
        if error is None or isinstance(error, YakusuError):
            return str(error or "")
        return "The server failed: its log has the reason"

    async def wait(self) -> None:
        """Wait a moment for the end of the work."""
        await asyncio.wait([self.task], timeout=_PATIENCE)


class ClientJobs:
    """The jobs of a service; all methods are called on the event loop.

    Args:
        files: Where their files are.
        most: Maximum number of jobs that are remembered, besides those that have not finished.
    """

    def __init__(self, files: Files, most: int) -> None:
        self._files, self._most = files, most
        self._jobs: dict[str, ClientJob] = {}

    def add(self, job: ClientJob) -> None:
        """Add a job that has begun."""
        self._jobs[job.number] = job
        job.task.add_done_callback(lambda _: self._finish(job))
        idle = [each for each in self._jobs.values() if each.task.done() or each.kind == "upload"]
        for old in idle[: max(0, len(idle) - self._most)]:
            old.task.cancel()
            self._files.discard(old.number)
            del self._jobs[old.number]

    def uploading(self, number: str, key: str) -> ClientJob:
        """A job that waits for its file; its key suffices.

        Raises:
            RefusedError: There is none, or the time for it is over (404).
        """
        job = self._jobs.get(number)
        is_known = job is not None and hmac.compare_digest(job.key.encode(), key.encode())
        if job is None or not is_known or job.kind != "upload" or job.task.done():
            raise RefusedError(404, "Upload not found, or it has expired")
        return job

    def find(self, owner: str, number: str, *kinds: JobKind, key: str | None = None) -> ClientJob:
        """A job.

        Args:
            owner: The owner.
            number: Its identifier.
            kinds: What it may do.
            key: Its key; None: it is not needed.

        Raises:
            RefusedError: The owner has none with this identifier and key, or it has expired (404).
        """
        job = self._jobs.get(number)
        if job is None or job.owner != owner or job.kind not in kinds:
            raise RefusedError(404, f"{kinds[0].capitalize()} not found")
        if key is not None and not hmac.compare_digest(job.key.encode(), key.encode()):
            raise RefusedError(404, f"{kinds[0].capitalize()} not found")
        if job.kind in _WITH_FILE and job.task.done() and not (job.error or job.target.exists()):
            raise RefusedError(404, f"{kinds[0].capitalize()} not found: it has expired")
        return job

    def take(self, job: ClientJob) -> Path:
        """The file of a job, which is forgotten; the caller removes its folder.

        Raises:
            RefusedError: It is not complete (503), or it has failed (404).
        """
        if not job.task.done():
            raise RefusedError(503, "Document not ready: ask for its status", retry_after=1)
        if job.error:
            raise RefusedError(404, f"Document not found: {job.error}")
        return self._jobs.pop(job.number).target

    def _finish(self, job: ClientJob) -> None:
        """Keep the file, or remove the folder."""
        if self._jobs.get(job.number) is not job:
            return  # its upload is imported
        error = None if job.task.cancelled() else job.task.exception()
        if error and not isinstance(error, YakusuError):
            trace = "".join(format_tb(error.__traceback__))  # without texts, which it may quote
            _log.error("the %s of a client failed\n%s%s", job.kind, trace, type(error).__name__)
        if job.kind in _WITH_FILE and not (error or job.task.cancelled()):
            self._files.keep(job.number, job.target)
        else:
            self._files.discard(job.number)

    async def close(self) -> None:
        """Cancel the work."""
        tasks = [job.task for job in self._jobs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
