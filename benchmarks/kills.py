"""Kill a training run at random moments, start it again, and compare the bytes of its model."""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import record
from yakusu.folder import sha256
from yakusu.training.checkpoint import checkpoints

SETTINGS = (
    "tokenizer.vocab_size=80", "batches.step_tokens=300", "model.n_layers=1", "model.d_model=16",
    "model.d_ff=32", "model.n_heads=2", "training.max_steps=40", "training.validate_steps=8",
    "training.checkpoint_steps=1", "training.device=cpu", "search.max_extra=2",
)  # fmt: skip


def write_corpus(folder: Path, seed: int) -> None:
    """Sentences of letters, and the same backwards."""
    rng = random.Random(seed)
    lines = ["".join(rng.choices("abcdefgh ", k=rng.randint(5, 30))) for _ in range(400)]
    (folder / "a.en").write_text("".join(f"{line}\n" for line in lines))
    (folder / "a.de").write_text("".join(f"{line[::-1]}\n" for line in lines))


def start(folder: Path, run: Path, processes: int) -> subprocess.Popen[bytes]:
    """`yakusu train`, alone or by torchrun."""
    launch = [sys.executable, "-m"]
    if processes > 1:
        launch += ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", "-m"]
    sets = [f"run={run}", f"data.train={{src='{folder}/a.en', tgt='{folder}/a.de'}}", *SETTINGS]
    command = [*launch, "yakusu", "train", "tiny", *(word for s in sets for word in ("--set", s))]
    quiet = subprocess.DEVNULL
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, stdout=quiet, stderr=quiet, env=environment, start_new_session=True
    )


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the process and all that it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def model_hash(run: Path) -> str:
    """Of weights, vocabulary and settings."""
    names = ("model.safetensors", "tokenizer.model", "config.json", "README.md")
    return " ".join(sha256(run / "model" / name) for name in names)


def state_of(run: Path) -> str:
    """What a kill left behind."""
    half_made = [path.name.rpartition("-")[0] for path in run.glob("**/.saving-*")]
    if half_made:
        return f"within {half_made[0].removeprefix('.saving-')}"
    saved = checkpoints(run / "checkpoints")
    return f"after {saved[-1].name}" if saved else "before the first checkpoint"


def main() -> None:
    """Run once without a stop, then once for each kill."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: python benchmarks/kills.py --kills 50 --processes 2"
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--processes", type=int, default=1, help="more than one: by torchrun")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    rng, rows = random.Random(args.seed), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder, args.seed)
        began = time.monotonic()
        if start(folder, folder / "straight", args.processes).wait():
            sys.exit("the run that is not killed failed")
        duration = time.monotonic() - began
        expected = model_hash(folder / "straight")
        print(f"{'kill':>5}{'second':>8}  {'where':<32}same bytes")
        for i in range(1, args.kills + 1):
            run, moment = folder / "run", rng.uniform(0.3 * duration, duration)
            process = start(folder, run, args.processes)
            time.sleep(moment)
            kill_all(process)
            where = state_of(run)
            failed = start(folder, run, args.processes).wait()
            same = not failed and model_hash(run) == expected
            rows.append({"second": round(moment, 2), "where": where, "same": same})
            print(f"{i:5}{moment:8.2f}  {where:<32}{'yes' if same else 'NO'}", flush=True)
            shutil.rmtree(run)
    n_same = sum(row["same"] for row in rows)
    print(f"{n_same} of {args.kills} ended with the same bytes")
    if not args.no_record:
        result = {
            "name": f"{args.kills} kills, {args.processes} processes",
            "score": f"{n_same} of {args.kills} with the same bytes",
            "kills": rows,
        }
        record("kills", result, seed=args.seed, threads=1)
    sys.exit(n_same != args.kills)


if __name__ == "__main__":
    main()
