"""The command line, the only part of yakusu that prints."""

import sys

try:
    from yakusu.cli.app import app, main
except KeyboardInterrupt:  # Ctrl-C while libraries are imported
    sys.exit(130)

__all__ = ["app", "main"]
