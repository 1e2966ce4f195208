"""Entry point of the file that scripts/standalone builds, which is its own Python interpreter."""

import sys


def run() -> None:
    """Run the command line, or the code that yakusu starts as `sys.executable -P -c CODE`."""
    if sys.argv[1:3] == ["-P", "-c"]:
        code = sys.argv[3]
        sys.argv[:] = ["-c", *sys.argv[4:]]
        exec(code, {"__name__": "__main__"})
        return
    from yakusu.cli import main

    main()


if __name__ == "__main__":
    run()
