"""Requests that are refused, with the status codes and the messages of LibreTranslate."""

from yakusu.errors import YakusuError


class RefusedError(YakusuError):
    """A request is refused.

    Args:
        status: HTTP status code.
        message: What is wrong, for the client.
        retry_after: Seconds after which the request may succeed; None: it will not.
    """

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the response."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def invalid_request(problem: str) -> RefusedError:
    """A parameter is missing or wrong: "Invalid request: ..."."""
    return RefusedError(400, f"Invalid request: {problem}")


def missing(name: str) -> RefusedError:
    """A required parameter is not given."""
    return invalid_request(f"missing {name} parameter")
