"""Checkpoints of one run: written, let go of, found again.

CHECKPOINTS/step-N/model.safetensors      weights
                   optimizer.safetensors  moments
                   state.json             TrainerState
                   manifest.json          sizes and hashes
"""

import logging
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from torch import Tensor
from torch.optim import Optimizer

from yakusu.errors import ModelError, RunError
from yakusu.folder import read_json, save_folder, verify_folder, write_json
from yakusu.model.base import Seq2Seq
from yakusu.training.distributed import Group, part_of, whole_tensors
from yakusu.training.state import TrainerState
from yakusu.weights import Tensors, TensorsOnDisk, save_tensors

_log = logging.getLogger(__name__)
_SPARE = 2**20  # bytes beside the tensors


class Saving:
    """Writes the checkpoints of a run and goes on from them.

    Args:
        folder: Where they lie.
        group: The processes; rank 0 writes.
        max_failed: How many failures in a row are borne.
    """

    def __init__(self, folder: Path, group: Group, *, max_failed: int) -> None:
        self.folder, self.group, self.max_failed = folder, group, max_failed
        self._failed = 0

    def save(self, model: Seq2Seq, optimizer: Optimizer, state: TrainerState) -> bool:
        """Write a checkpoint; let go of those that nobody needs any more.

        Returns:
            Whether it was written.

        Raises:
            RunError: That failed too often in a row; once in a while it is a warning.
        """
        with self.group.exchange():
            tensors = {
                "model.safetensors": whole_tensors(model.weights().items(), keep=self.group.leads),
                "optimizer.safetensors": whole_tensors(
                    _moments(model, optimizer), keep=self.group.leads
                ),
            }
        failure = ""
        if self.group.leads:
            try:
                self._write(tensors, state)
            except OSError as error:
                failure = str(error)
        failure = self.group.join([failure])[0]
        self._failed = self._failed + 1 if failure else 0
        if failure:
            self._bear(f"step {state.step:,}: no checkpoint could be written ({failure})")
        return not failure

    def _bear(self, failure: str) -> None:
        if self._failed >= self.max_failed:
            raise RunError(
                f"{failure}, {self.max_failed} times in a row: make room for them, then the same "
                "command goes on from the last one that was written"
            )
        if self.group.leads:
            _log.warning(
                "%s: training goes on; failure %d of %d", failure, self._failed, self.max_failed
            )

    def _write(self, tensors: dict[str, Tensors], state: TrainerState) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        needed = sum(t.nbytes for group in tensors.values() for t in group.values()) + _SPARE
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise OSError(f"{free >> 20:,} MiB are free, {needed >> 20:,} MiB are needed")

        def fill(temporary: Path) -> None:
            for name, group in tensors.items():
                save_tensors(temporary / name, group)
            write_json(temporary / "state.json", asdict(state))

        save_folder(self.folder / f"step-{state.step:08}", fill)
        wanted = {*state.milestones, state.best_kept, state.step}
        for other in checkpoints(self.folder):
            if step_of(other) not in wanted:
                shutil.rmtree(other, ignore_errors=True)

    def newest(self, say: Callable[[str], None]) -> tuple[Path, TrainerState] | None:
        """The newest whole checkpoint; None where there is none.

        Raises:
            ModelError: There are checkpoints, and all are corrupt.
            RunError: They were made by another number of processes.
        """
        newest = self.group.lead(lambda: newest_whole(self.folder, say))
        if newest is None:
            return None
        state = TrainerState(**read_json(newest / "state.json"))
        if state.n_processes != self.group.size:
            raise RunError(
                f"{newest} was made by {state.n_processes} processes, not {self.group.size}: go "
                "on with as many, or begin another run"
            )
        return newest, state


def restore(checkpoint: Path, model: Seq2Seq, optimizer: Optimizer) -> None:
    """Take weights and moments over from a checkpoint."""
    parameters = model.weights()
    weights = TensorsOnDisk(checkpoint / "model.safetensors")
    model.load_weights({name: part_of(weights[name], parameters[name]) for name in weights})
    moments = TensorsOnDisk(checkpoint / "optimizer.safetensors")
    if not len(moments):
        return  # no step has been finite yet
    for name, parameter in parameters.items():
        optimizer.state[parameter] = {
            key: part_of(moments[f"{key}/{name}"], parameter)
            for key in ("step", "exp_avg", "exp_avg_sq")
        }


def _moments(model: Seq2Seq, optimizer: Optimizer) -> Iterator[tuple[str, Tensor]]:
    for name, parameter in model.weights().items():
        for key, tensor in optimizer.state[parameter].items():
            yield f"{key}/{name}", tensor


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    return sorted(folder.glob("step-[0-9]*"), key=step_of)


def newest_whole(folder: Path, say: Callable[[str], None]) -> Path | None:
    """The newest checkpoint that is as it was written; None where there is none at all.

    Newer ones that are not are said, and put aside as `corrupt-step-N`.

    Raises:
        ModelError: None of those that are there is whole.
    """
    faults: dict[Path, ModelError] = {}
    for checkpoint in reversed(checkpoints(folder)):
        try:
            verify_folder(checkpoint)
        except ModelError as error:
            faults[checkpoint] = error
            continue
        for corrupt, fault in faults.items():
            aside = corrupt.with_name(f"corrupt-{corrupt.name}")
            shutil.rmtree(aside, ignore_errors=True)
            corrupt.rename(aside)
            say(f"{fault}; it is now {aside}, going back to {checkpoint.name}")
        return checkpoint
    if faults:
        first = next(iter(faults.values()))
        raise ModelError(f"no checkpoint in {folder} is whole ({first}): begin another run")
    return None


def step_of(checkpoint: Path) -> int:
    """The step at which a checkpoint was written."""
    return int(checkpoint.name.removeprefix("step-"))
