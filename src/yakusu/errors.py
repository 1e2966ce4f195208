"""The error tree. Each message is one sentence that names the place, the value and the remedy.

YakusuError
├── DataError      a corpus or a file of text
├── RecipeError    a recipe: an unknown key, a value out of range
├── ModelError     a model or checkpoint folder: incomplete, corrupt, of another version
├── RunError       a run folder: it holds another run, or nothing to go on from
└── SignalError    SIGTERM or SIGINT ended a run, after a checkpoint
"""


class YakusuError(Exception):
    """An error whose message is meant for the user; the command line exits with code 2."""


class DataError(YakusuError):
    """A corpus or text file cannot be used as it is."""


class RecipeError(YakusuError):
    """A recipe has an unknown key or a value that cannot be."""


class ModelError(YakusuError):
    """A model or checkpoint folder is incomplete, corrupt or of another version."""


class RunError(YakusuError):
    """A run folder cannot be used for what was asked."""


class SignalError(YakusuError):
    """A signal ended a run, after a checkpoint; the command line exits with code 128 + `signal`."""

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.signal = signal
