"""What reading and writing one document may use."""

from typing import Literal, NamedTuple

from pydantic import Field

from yakusu.config import Config
from yakusu.errors import DataError

LimitName = Literal["memory", "cpu_seconds", "seconds"]


class DocumentLimitError(DataError):
    """A document exceeds a limit."""


class DocumentLimits(Config):
    """What the worker process of a document may use; 0: no limit.

    Attributes:
        memory: Memory beyond that of the loaded libraries, in bytes.
        cpu_seconds: Processor time in seconds.
        seconds: Seconds that the document is read or written, without the time in which it waits
            for its translation.
    """

    memory: int = Field(512_000_000, ge=0)
    cpu_seconds: int = Field(60, ge=0)
    seconds: float = Field(600.0, ge=0)


class LimitSettings(NamedTuple):
    """How a user changes each limit, with its value: what messages show.

    Attributes:
        memory: Such as "limits.file_memory = 512000000".
        cpu_seconds: Such as "limits.file_cpu_seconds = 60".
        seconds: Such as "limits.file_seconds = 600".
    """

    memory: str
    cpu_seconds: str
    seconds: str

    def refusal(self, limit: LimitName) -> str:
        """A sentence for a document that exceeds a limit."""
        what = {
            "memory": "more memory",
            "cpu_seconds": "more processor time",
            "seconds": "longer",
        }[limit]
        setting: str = getattr(self, limit)
        return f"reading or writing it takes {what} than {setting}: split it, or raise the limit"
