"""How a benchmark is declared and run: its options, its errors and its records.

A script declares one `Benchmark`, adds the options that only it has, and ends with
`benchmark.run(main)`. All scripts share these options:

    --quick     a smoke test on generated data and small sizes, in seconds or minutes
    --record    append the result to results/NAME.json and rewrite the pages
    --threads   torch threads

and those of the following that they need:

    --data      folder with the corpora (default: $YAKUSU_DATA)
    --runs      folder for training runs; rerun to resume
    --vectors   file of word vectors
    --model     model folder of a translator
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks import pages, records
from benchmarks.quick import train_model, write_data, write_vectors
from yakusu.errors import DataError, SignalError, YakusuError

INPUTS = {
    "data": "folder with the corpora (or set YAKUSU_DATA)",
    "runs": "folder for training runs; rerun the same command to resume",
    "vectors": "file of word vectors, in any format that `yakusu vectors compress` reads",
    "model": "model folder of a translator, as `yakusu train` writes it",
}
INSTALL = "pip install -r benchmarks/peers/requirements.txt"


class Benchmark:
    """A script that measures something.

    Args:
        name: Records go to results/NAME.json.
        description: The script's docstring, as help text.
        example: A full command line.
        needs: Keys of `INPUTS`; each adds an option.
        threads: Default of --threads.
        quick: Defaults of the script's options under --quick.
    """

    def __init__(
        self,
        name: str,
        description: str | None,
        *,
        example: str,
        needs: Sequence[str] = (),
        threads: int = 1,
        quick: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self._needs, self._quick = tuple(needs), dict(quick or {})
        self._args = argparse.Namespace()
        self.parser = argparse.ArgumentParser(
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=f"example: {example}",
        )
        self.option("--quick", action="store_true", help="smoke test on generated data")
        self.option("--record", action="store_true", help=f"append to results/{name}.json")
        self.option("--threads", type=int, default=threads, help="torch threads (%(default)s)")
        for name in self._needs:
            self.option(f"--{name}", type=Path, help=INPUTS[name])

    def option(self, *names: str, **settings: Any) -> None:
        """Add an option of this script, as `argparse.ArgumentParser.add_argument` does."""
        self.parser.add_argument(*names, **settings)

    def run(self, main: Callable[[argparse.Namespace], None]) -> None:
        """Run the script. An expected error ends it with one sentence and exit code 2."""
        try:
            with TemporaryDirectory() as folder:
                main(self.arguments(Path(folder)))
        except SignalError as error:
            print(error, file=sys.stderr)
            sys.exit(128 + error.signal)
        except KeyboardInterrupt:
            print("SIGINT: stopped", file=sys.stderr)
            sys.exit(128 + signal.SIGINT)
        except YakusuError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)

    def arguments(self, scratch: Path, words: Sequence[str] | None = None) -> argparse.Namespace:
        """Parse the command line; under --quick, generate missing inputs in a scratch folder.

        Raises:
            DataError: An input is missing, or a smoke test should be recorded.
        """
        if self.parser.parse_known_args(words)[0].quick:
            self.parser.set_defaults(**self._quick)
        args = self._args = self.parser.parse_args(words)
        if args.quick and args.record:
            raise DataError("a --quick run measures nothing: leave out --quick or --record")
        if "data" in self._needs and not args.quick and os.environ.get("YAKUSU_DATA"):
            args.data = args.data or Path(os.environ["YAKUSU_DATA"])
        generated = _generated(self._needs, scratch) if args.quick else {}
        for name in self._needs:
            path = getattr(args, name) or generated.get(name)
            if not path:
                raise DataError(f"--{name} is missing: give the {INPUTS[name]}")
            setattr(args, name, path)
        if "data" in self._needs:
            os.environ["YAKUSU_DATA"] = str(args.data)  # the recipes refer to it
        torch.set_num_threads(args.threads)
        if args.record:
            records.commit()  # now: the checkout may change during a long run
        return args

    def installed(self, peers: Mapping[str, str], install: str = INSTALL) -> list[str]:
        """Return the names of the peers (name: module) that are installed; report the others.

        Args:
            peers: The module of each peer.
            install: Command that installs them.

        Raises:
            DataError: One is missing and the result should be recorded.
        """
        missing = [name for name, module in peers.items() if not find_spec(module)]
        if missing and self._args.record:
            raise DataError(f"{', '.join(missing)}: not installed; {install}, or skip --record")
        for name in missing:
            print(f"{name} is left out: not installed ({install})", file=sys.stderr)
        return [name for name in peers if name not in missing]

    def record(self, measured: Mapping[str, Any], *, seed: int = 1) -> bool:
        """With --record, append a measurement and rewrite the pages; return whether it is set."""
        if self._args.record:
            records.append(self.name, measured, seed=seed, threads=self._args.threads)
            pages.write(records.script())
        return bool(self._args.record)


def _generated(needs: Sequence[str], scratch: Path) -> dict[str, Path]:
    """Generate the inputs in a scratch folder."""
    data, vectors = scratch / "data", scratch / "vectors.npz"
    found = {"data": data, "runs": scratch / "runs", "vectors": vectors}
    write_data(data)
    write_vectors(vectors)
    if "model" in needs:
        found["model"] = train_model(data, scratch / "run")
    return found
