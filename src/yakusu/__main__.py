"""`python -m yakusu` is `yakusu`."""

from yakusu.cli import main

main()
