"""Work for clients that do not wait for it: who sees it, and how long it is remembered."""

import asyncio
import logging

import pytest

from yakusu.errors import DataError
from yakusu.serve.errors import RefusedError
from yakusu.serve.files import Files
from yakusu.serve.jobs import ClientJob, ClientJobs, JobKind


async def begun(
    jobs: ClientJobs, files: Files, error: Exception | None = None, kind: JobKind = "document"
) -> ClientJob:
    """A job that ends soon."""
    number, folder = files.new()

    async def work() -> int:
        if error:
            raise error
        (folder / "a.txt").write_text("done")
        return 4

    job = ClientJob(number, "Anna", kind, folder / "a.txt", asyncio.create_task(work()))
    jobs.add(job)
    await job.wait()
    await asyncio.sleep(0)
    return job


def test_a_job_is_found_with_all_that_identifies_it() -> None:
    async def check() -> None:
        files = Files(10)
        jobs = ClientJobs(files, 10)
        job = await begun(jobs, files)
        assert jobs.find("Anna", job.number, "document", key=job.key) is job
        for owner, number, key in (
            ("Ben", job.number, job.key),
            ("Anna", "other", job.key),
            ("Anna", job.number, "other"),
            ("Anna", job.number, ""),
        ):
            with pytest.raises(RefusedError, match="Document not found"):
                jobs.find(owner, number, "document", key=key)
        with pytest.raises(RefusedError, match="Export not found"):
            jobs.find("Anna", job.number, "export", "import")
        files.close()

    asyncio.run(check())


def test_a_file_is_taken_once() -> None:
    async def check() -> None:
        files = Files(10)
        jobs = ClientJobs(files, 10)
        job = await begun(jobs, files)
        assert jobs.take(job).read_text() == "done" and job.task.result() == 4
        with pytest.raises(RefusedError, match="Document not found"):
            jobs.find("Anna", job.number, "document", key=job.key)
        files.close()

    asyncio.run(check())


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (DataError("line 1 is wrong"), "line 1 is wrong"),
        (RefusedError(456, "no characters left"), "no characters left"),
        (ValueError("a secret text"), "The server failed: its log has the reason"),
    ],
)
def test_an_error_removes_the_folder(
    error: Exception, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def check() -> None:
        files = Files(10)
        jobs = ClientJobs(files, 10)
        job = await begun(jobs, files, error)
        assert job.error == message and not job.target.parent.exists()
        with pytest.raises(RefusedError, match=f"Document not found: {message}"):
            jobs.take(job)
        files.close()

    with caplog.at_level(logging.ERROR):
        asyncio.run(check())
    assert ("ValueError" in caplog.text) == isinstance(error, ValueError)
    assert "secret" not in caplog.text


def test_only_the_latest_jobs_are_remembered() -> None:
    async def check() -> None:
        files = Files(100)
        jobs = ClientJobs(files, 2)
        every = [await begun(jobs, files) for _ in range(5)]
        assert [job.target.parent.exists() for job in every] == [False, False, True, True, True]
        with pytest.raises(RefusedError):
            jobs.find("Anna", every[0].number, "document", key=every[0].key)
        files.close()

    asyncio.run(check())


def test_a_job_that_is_not_complete_cannot_be_taken_and_ends_with_the_service() -> None:
    async def check() -> None:
        files = Files(10)
        jobs = ClientJobs(files, 10)
        number, folder = files.new()
        task = asyncio.create_task(asyncio.sleep(600))
        job = ClientJob(number, "Anna", "document", folder / "a", task)
        jobs.add(job)
        with pytest.raises(RefusedError, match="not ready") as found:
            jobs.take(job)
        assert found.value.status == 503 and job.error == ""
        await jobs.close()
        assert "shutting down" in job.error and not folder.exists()
        files.close()

    asyncio.run(check())
