"""The exception hierarchy. Each message is one sentence that states the place, value and fix.

YakusuError
├── DataError      a corpus, a text file or a memory
├── RecipeError    a recipe: an unknown key, an invalid value
├── ModelError     a model or checkpoint folder: incomplete, corrupt, of an unsupported version
├── RunError       a run folder: it belongs to another run, or has no checkpoint to resume from
└── SignalError    a signal stopped a run or a command
"""

AS_UTF8 = "save the file as UTF-8"  # what to do with a file in an encoding that is not read


class YakusuError(Exception):
    """Base class of errors with a message for the user; the command line exits with code 2."""


class DataError(YakusuError):
    """A corpus or text file is missing or invalid."""


class MemoryFileError(DataError):
    """The file of a memory is missing or damaged, or cannot be read or written now."""


class VectorStoreError(DataError):
    """The file of a vector store is missing or damaged, or cannot be read or written now."""


class UnequalTextsError(DataError):
    """Two texts have different numbers of lines."""


def unequal(
    one: str, n_one: int, other: str, n_other: int, *, counted: bool = True
) -> UnequalTextsError:
    """Return the error of two texts with different numbers of lines.

    Args:
        one: Name of a text.
        n_one: Number of its lines.
        other: Name of the other text.
        n_other: Number of its lines.
        counted: Whether all lines of the longer text were counted.
    """
    least = max(n_one, n_other)
    numbers = " and ".join(
        f"{'' if counted or n < least else 'at least '}{n:,}" for n in (n_one, n_other)
    )
    return UnequalTextsError(
        f"{one} and {other} differ in length ({numbers} lines): align them line by line"
    )


class RecipeError(YakusuError):
    """A recipe has an unknown key or an invalid value."""


class ModelError(YakusuError):
    """A model or checkpoint folder is incomplete, corrupt or of an unsupported version."""


class RunError(YakusuError):
    """A run folder belongs to another run or process, or has no checkpoint to resume from."""


class SignalError(YakusuError):
    """A signal stopped a run or a command; the command line exits with code 128 + `signal`."""

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.signal = signal
