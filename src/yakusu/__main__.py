"""Entry point of `python -m yakusu`."""

from yakusu.cli import main

main()
