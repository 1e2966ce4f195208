"""What training says about its validations, and which sentences it shows."""

import pytest
import torch

from yakusu.device import made_by
from yakusu.pipeline.training.display import Display, progress_sentence, shown_rows
from yakusu.progress import Silent
from yakusu.training.config import TrainingConfig
from yakusu.training.log import TrainEvent, ValidateEvent
from yakusu.training.state import TrainerState

PAIRS = [("x" * n, f"{n}") for n in range(1, 102)]


def event(step: int, best_step: int, bad: int = 0) -> ValidateEvent:
    return ValidateEvent(
        step=step,
        epoch=1.0,
        dev_perplexity=9.0,
        score="BLEU",
        dev_score=3.0,
        best_step=best_step,
        bad_validations=bad,
        validation_seconds=1.0,
        seconds=9.0,
    )


def test_the_shown_sentences_are_at_three_percentiles_of_length_in_any_order() -> None:
    assert [len(PAIRS[row][0]) for row in shown_rows(PAIRS)] == [21, 51, 81]
    backwards = PAIRS[::-1]
    assert {backwards[row] for row in shown_rows(backwards)} == {PAIRS[i] for i in (20, 50, 80)}


def test_equally_near_sentences_are_chosen_by_their_text_and_only_once() -> None:
    equal = [(f"{i:03}", "") for i in range(9)]
    chosen = {equal[row] for row in shown_rows(equal)}
    assert len(chosen) == 3
    assert {equal[::-1][row] for row in shown_rows(equal[::-1])} == chosen
    assert shown_rows(PAIRS[:1]) == [0] and shown_rows([]) == []


@pytest.mark.parametrize(
    ("result", "first", "patience", "said"),
    [
        (event(100, 100), True, 10, "First measurement: the next ones will show whether the"),
        (event(200, 200), False, 10, "The translations are better than at any earlier meas"),
        (event(300, 200, 1), False, 3, "No better than at step 200: training ends if the next 2 m"),
        (event(400, 200, 2), False, 3, "No better than at step 200: training ends if the next mea"),
        (event(500, 200, 3), False, 3, "No better than at step 200: training ends."),
        (event(300, 200, 1), False, 0, "No better than at step 200."),
    ],
)
def test_progress_is_one_sentence(
    result: ValidateEvent, first: bool, patience: int, said: str
) -> None:
    assert progress_sentence(result, first=first, patience=patience).startswith(said)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({}, "step 200 of 1,000: about 2 h left"),  # 100 steps in 15 minutes
        ({"max_hours": 1.5}, "step 200 of at most 1,000: about 1 h left"),
        ({"max_epochs": 4.0}, "step 200 of at most 1,000: about 30 min left"),
    ],
)
def test_the_time_left_is_that_to_the_first_limit(limits: dict[str, float], said: str) -> None:
    lines: list[str] = []
    progress, config = Silent(), TrainingConfig(max_steps=1000, **limits)  # type: ignore[arg-type]
    progress.say = lines.append  # type: ignore[method-assign]
    state = TrainerState(made_by=made_by(torch.device("cpu")), step=100, seconds=900.0)
    values = dict.fromkeys(
        ("loss", "loss_zero_point", "perplexity", "learning_rate", "tokens_per_second"), 1.0
    )
    Display(config, state, progress, "normal").show(
        TrainEvent(step=200, epoch=2.0, seconds=1800.0, **values)
    )
    assert lines == [said]
