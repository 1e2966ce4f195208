"""The error tree. Each message is one sentence that names the place, the value and the remedy.

YakusuError
├── DataError      a corpus or a file of text
├── RecipeError    a recipe: an unknown key, a value out of range
├── ModelError     a model or checkpoint folder: incomplete, corrupt, of another version
└── RunError       a run folder: it holds another run, or nothing to go on from
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
