"""What training shows of itself: sentences from the events of the trainer."""

import hashlib
from collections.abc import Sequence

import numpy as np

from yakusu.pipeline.training.trained import Detail
from yakusu.pipeline.training.verdict import example
from yakusu.progress import Progress, duration
from yakusu.training.config import TrainingConfig
from yakusu.training.log import Event, SkipEvent, TrainEvent, ValidateEvent
from yakusu.training.state import TrainerState

_EVERY = 60.0  # seconds between two reports of the time
_PERCENTILES = (20, 50, 80)  # of length, of the sentences that are shown


class Display:
    """Says what the events of a run mean.

    Args:
        config: Settings of training.
        state: The state of the run before the next step.
        progress: Displays the lines.
        detail: "plain": no scores; "verbose": also all numbers of the log.
        pairs: Sources and references of the dev set; (): none are shown.
    """

    def __init__(
        self,
        config: TrainingConfig,
        state: TrainerState,
        progress: Progress,
        detail: Detail,
        pairs: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.config, self.progress, self.detail, self.pairs = config, progress, detail, pairs
        self.rows = shown_rows(pairs)
        self._start = state.step, state.seconds
        self._said = state.seconds
        self._n_validations = 0 if state.best is None else 1

    def show(self, event: Event, translations: Sequence[str] = ()) -> None:
        """Show an event, and translations of the dev set after a validation."""
        if self.detail == "verbose":
            self.progress.say(str(event))
        match event:
            case ValidateEvent():
                for line in self._validation(event, translations):
                    self.progress.say(line)
                self._n_validations += 1
            case TrainEvent() if self.detail != "verbose" and event.seconds - self._said >= _EVERY:
                self._said = event.seconds
                self.progress.say(self._time(event))
            case SkipEvent() if self.detail != "verbose":
                self.progress.say(str(event))

    def _time(self, event: TrainEvent) -> str:
        (step, seconds), config = self._start, self.config
        pace = (event.seconds - seconds) / max(event.step - step, 1)
        left = pace * (config.max_steps - event.step)
        if config.max_epochs and event.epoch:
            left = min(left, pace * event.step * (config.max_epochs / event.epoch - 1))
        if config.max_hours:
            left = min(left, 3600 * config.max_hours - event.seconds)
        return f"{self._place(event)}: {duration(left)} left"

    def _place(self, event: Event) -> str:
        """The step of an event, and the last one."""
        config = self.config
        most = "at most " if config.max_epochs or config.max_hours else ""
        return f"step {event.step:,} of {most}{config.max_steps:,}"

    def _validation(self, event: ValidateEvent, translations: Sequence[str]) -> list[str]:
        lines = []
        if self.detail == "normal":
            chrf = "" if event.dev_chrf is None else f", chrF {event.dev_chrf:.1f}"
            lines = [f"{self._place(event)}: {event.score} {event.dev_score:.1f}{chrf}"]
        for row in self.rows if translations else ():
            source, reference = self.pairs[row]
            lines += example(source, translations[row], reference)
        patience = self.config.patience
        return [*lines, progress_sentence(event, first=not self._n_validations, patience=patience)]


def progress_sentence(event: ValidateEvent, *, first: bool, patience: int) -> str:
    """Say in one sentence whether the model has improved.

    Args:
        event: The result of a validation.
        first: Whether there was none before.
        patience: Validations without a new best after which training ends; 0: it does not.
    """
    if first:
        return "First measurement: the next ones will show whether the translations improve."
    if event.best_step == event.step:
        return "The translations are better than at any earlier measurement."
    if (left := patience - event.bad_validations) > 0:
        more = "measurement is" if left == 1 else f"{left} measurements are"
        return (
            f"No better than at step {event.best_step:,}: training ends if the next {more} no "
            "better either."
        )
    ends = ": training ends" if patience else ""
    return f"No better than at step {event.best_step:,}{ends}."


def shown_rows(pairs: Sequence[tuple[str, str]]) -> list[int]:
    """Choose up to three sentences: of the 20th, 50th and 80th percentile of length.

    Of sentences equally near to a percentile, the one with the smallest hash is chosen, so the
    choice depends on the text only.

    Args:
        pairs: Sources and references.
    """
    lengths = np.array([len(source) for source, _ in pairs])
    chosen: list[int] = []
    for percentile in _PERCENTILES[: len(pairs)]:
        distances = np.abs(lengths - np.percentile(lengths, percentile))
        distances[chosen] = np.inf
        nearest = np.flatnonzero(distances == distances.min()).tolist()
        chosen.append(min(nearest, key=lambda row: (_hash(pairs[row]), row)))
    return chosen


def _hash(pair: tuple[str, str]) -> str:
    return hashlib.sha256("\t".join(pair).encode()).hexdigest()
