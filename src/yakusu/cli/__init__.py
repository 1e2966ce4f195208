"""The command line, the only part of yakusu that prints."""

from yakusu.cli.app import app, main

__all__ = ["app", "main"]
