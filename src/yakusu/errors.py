"""The error tree. Each message is one sentence that states the place, the value and the fix.

YakusuError
├── DataError      a corpus or text file
├── RecipeError    a recipe: an unknown key, an invalid value
├── ModelError     a model or checkpoint folder: incomplete, corrupt, of another version
├── RunError       a run folder: it belongs to another run, or has no checkpoint to resume from
└── SignalError    SIGTERM or SIGINT ended a run, after a checkpoint
"""


class YakusuError(Exception):
    """Base class of errors with a message for the user; the command line exits with code 2."""


class DataError(YakusuError):
    """A corpus or text file is missing or invalid."""


class RecipeError(YakusuError):
    """A recipe has an unknown key or an invalid value."""


class ModelError(YakusuError):
    """A model or checkpoint folder is incomplete, corrupt or of another version."""


class RunError(YakusuError):
    """A run folder belongs to another run or process, or has no checkpoint to resume from."""


class SignalError(YakusuError):
    """A signal ended a run, after a checkpoint; the command line exits with code 128 + `signal`."""

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.signal = signal
