"""The checkpoints of a run: writing, finding and restoring them.

CHECKPOINTS/step-N/model.safetensors      weights, or their moving average
                   trained.safetensors    weights, only with a moving average
                   optimizer.safetensors  moments of Adam
                   state.json             TrainerState
                   manifest.json          sizes and hashes
"""

import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from torch import Tensor
from torch.optim import Optimizer

from yakusu.errors import ModelError, RunError
from yakusu.folder import save_folder, verify_folder
from yakusu.model.base import Seq2Seq
from yakusu.training.config import TrainingEngine
from yakusu.training.distributed import Group, full_tensors, shard_like
from yakusu.training.moving_average import MovingAverage
from yakusu.training.state import TrainerState, read_state, write_state
from yakusu.weights import Tensors, TensorsOnDisk, save_tensors

_log = logging.getLogger(__name__)
_OTHER_FILES = 2**20  # bytes of disk space for the files without tensors


class RunCheckpoints:
    """The checkpoints of one run; every process must call its methods.

    Args:
        folder: Folder of all checkpoints of the run.
        model: The model, which may be sharded.
        optimizer: Its optimizer.
        average: The moving average of its weights; None: there is none.
        group: The processes; rank 0 writes.
        keep_last: Number of milestones (checkpoints for averaging) to keep.
        max_failed: Failed saves in a row before training stops.
    """

    def __init__(
        self,
        folder: Path,
        model: Seq2Seq,
        optimizer: Optimizer,
        *,
        average: MovingAverage | None = None,
        group: Group,
        keep_last: int,
        max_failed: int,
    ) -> None:
        self.folder, self.model, self.optimizer, self.group = folder, model, optimizer, group
        self.average = average
        self.keep_last, self.max_failed = keep_last, max_failed
        self.last_step = -1  # step of the last save, even if it failed
        self._n_failed = 0

    def save(self, state: TrainerState, *, milestone: bool = False) -> bool:
        """Write a checkpoint and remove those that are no longer needed.

        Args:
            state: The state of the run.
            milestone: Keep the checkpoint for averaging; the best milestone is kept as well.

        Returns:
            Whether the checkpoint was written; if not, a warning states the reason.

        Raises:
            RunError: Too many saves in a row have failed.
        """
        before = state.milestones, state.best_kept
        if milestone:
            state.milestones = [*state.milestones, state.step][-self.keep_last :]
            state.best_kept = state.step if state.best_step == state.step else state.best_kept
        self.last_step = state.step
        failure = self._try_to_write(state)
        self._n_failed = self._n_failed + 1 if failure else 0
        if failure:
            state.milestones, state.best_kept = before  # the older checkpoints are still needed
            self._report(f"step {state.step:,}: no checkpoint could be written ({failure})")
        return not failure

    def _try_to_write(self, state: TrainerState) -> str:
        """Gather the tensors and write them on rank 0; return the error of the disk, or ""."""
        keep = self.group.is_main
        with self.group.collective():
            tensors = {
                _trained_file(self.average): full_tensors(self.model.weights().items(), keep=keep),
                "optimizer.safetensors": full_tensors(self._moments(), keep=keep),
            }
            if self.average:
                averaged = self.average.weights.items()
                tensors["model.safetensors"] = full_tensors(averaged, keep=keep)
        failure = ""
        if self.group.is_main:
            try:
                self._write(tensors, state)
            except OSError as error:
                failure = str(error)
        return self.group.gather([failure])[0]

    def _moments(self) -> Iterator[tuple[str, Tensor]]:
        for name, parameter in self.model.weights().items():
            for key, tensor in self.optimizer.state[parameter].items():
                yield f"{key}/{name}", tensor

    def _report(self, failure: str) -> None:
        if self._n_failed >= self.max_failed:
            raise RunError(
                f"{failure}, {self.max_failed} times in a row: free disk space and rerun the same "
                "command to resume from the last checkpoint"
            )
        if self.group.is_main:
            _log.warning(
                "%s: training continues; failure %d of %d", failure, self._n_failed, self.max_failed
            )

    def _write(self, tensors: dict[str, Tensors], state: TrainerState) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        size = sum(t.nbytes for file in tensors.values() for t in file.values()) + _OTHER_FILES
        free = shutil.disk_usage(self.folder).free
        if free < size:
            raise OSError(f"{free >> 20:,} MiB are free, {size >> 20:,} MiB are needed")

        def fill(temporary: Path) -> None:
            for name, file in tensors.items():
                save_tensors(temporary / name, file)
            write_state(temporary, state)

        save_folder(self.folder / f"step-{state.step:08}", fill)
        needed = {*state.milestones, state.best_kept, state.step}
        for other in checkpoints(self.folder):
            if step_of(other) not in needed:
                shutil.rmtree(other, ignore_errors=True)

    def restore(self, say: Callable[[str], None], *, engine: TrainingEngine) -> TrainerState | None:
        """Restore weights and moments from the newest intact checkpoint.

        Args:
            say: Displays one line of text.
            engine: The engine that translates the dev set.

        Returns:
            The state of the run, or None if there are no checkpoints.

        Raises:
            ModelError: All existing checkpoints are corrupt.
            RunError: The checkpoint was written by a different number of processes, or in a run
                with the other engine.
        """
        checkpoint = self.group.run_on_main(lambda: newest_valid(self.folder, say))
        if checkpoint is None:
            return None
        state = read_state(checkpoint)
        if state.n_processes != self.group.size:
            raise RunError(
                f"{checkpoint} was made by {state.n_processes} processes, not {self.group.size}: "
                "resume with the same number of processes, or start a new run"
            )
        if state.engine != engine:
            raise RunError(
                f"{checkpoint} was made with training.engine = '{state.engine}', not '{engine}': "
                "restore this value in the recipe, or start a new run"
            )
        parameters = self.model.weights()
        weights = TensorsOnDisk(checkpoint / _trained_file(self.average))
        self.model.load_weights(
            {name: shard_like(weights[name], parameters[name]) for name in weights}
        )
        if self.average:
            averaged = TensorsOnDisk(checkpoint / "model.safetensors")
            self.average.load(
                {name: shard_like(averaged[name], parameters[name]) for name in averaged}
            )
        moments = TensorsOnDisk(checkpoint / "optimizer.safetensors")
        if len(moments):  # there are none if every step so far was skipped
            trained = {name: each for name, each in parameters.items() if each.requires_grad}
            for name, parameter in trained.items():
                self.optimizer.state[parameter] = {
                    key: shard_like(moments[f"{key}/{name}"], parameter)
                    for key in ("step", "exp_avg", "exp_avg_sq")
                }
        self.last_step = state.step
        return state


def _trained_file(average: MovingAverage | None) -> str:
    """Return the file of the weights that training continues from."""
    return "trained.safetensors" if average else "model.safetensors"


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, oldest first."""
    return sorted(folder.glob("step-[0-9]*"), key=step_of)


def step_of(checkpoint: Path) -> int:
    """Return the step at which a checkpoint was written."""
    return int(checkpoint.name.removeprefix("step-"))


def newest_valid(folder: Path, say: Callable[[str], None]) -> Path | None:
    """Return the newest intact checkpoint, or None if there are no checkpoints.

    Newer checkpoints that are corrupt are reported and renamed to `corrupt-step-N`.

    Args:
        folder: Folder of all checkpoints of the run.
        say: Displays one line of text.

    Raises:
        ModelError: All existing checkpoints are corrupt.
    """
    corrupted: dict[Path, ModelError] = {}
    for checkpoint in reversed(checkpoints(folder)):
        try:
            verify_folder(checkpoint)
        except ModelError as error:
            corrupted[checkpoint] = error
            continue
        for other, fault in corrupted.items():
            renamed = other.with_name(f"corrupt-{other.name}")
            shutil.rmtree(renamed, ignore_errors=True)
            other.rename(renamed)
            say(f"{fault}; renamed its folder to {renamed}, resuming from {checkpoint.name}")
        return checkpoint
    if corrupted:
        first = next(iter(corrupted.values()))
        raise ModelError(f"no checkpoint in {folder} is intact ({first}): start a new run")
    return None
