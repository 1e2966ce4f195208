"""The command line, the only part of yakusu that prints."""

from yakusu.cli.failures import FailureHandler

with FailureHandler():  # Ctrl-C, or no memory, while libraries are imported
    from yakusu.cli.app import main

__all__ = ["main"]
