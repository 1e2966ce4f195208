"""What reading and writing one document may use."""

from typing import Literal, NamedTuple

from yakusu.config import Config
from yakusu.errors import DataError
from yakusu.typed import setting

LimitName = Literal["memory", "cpu_seconds", "seconds"]


class DocumentLimitError(DataError):
    """A document exceeds a limit.

    Args:
        message: What exceeds it.
        limit: Which one.
    """

    def __init__(self, message: str, limit: LimitName) -> None:
        super().__init__(message)
        self.limit = limit


class DocumentLimits(Config):
    """What the worker process of a document may use; 0: no limit.

    Attributes:
        memory: Memory beyond that of the loaded libraries, in bytes.
        cpu_seconds: Processor time in seconds.
        seconds: Seconds that the document is read or written, without the time in which it waits
            for its translation.
    """

    memory: int = setting(512_000_000, ge=0)
    cpu_seconds: int = setting(60, ge=0)
    seconds: float = setting(600.0, ge=0)


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

    def refusal(self, limit: LimitName, command: str = "") -> str:
        """A sentence for a document that exceeds a limit.

        Args:
            limit: The limit.
            command: What has set it, if it is that of the system, such as "ulimit -v".
        """
        what = {
            "memory": "more memory",
            "cpu_seconds": "more processor time",
            "seconds": "longer",
        }[limit]
        most = f"the limit of the system ({command})" if command else getattr(self, limit)
        return f"reading or writing it takes {what} than {most}: split it, or raise the limit"
