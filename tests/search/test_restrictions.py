"""What restricts one sentence: parts that are combined, and what must work without torch."""

import subprocess
import sys

import numpy as np
import pytest

from yakusu.arrays import Flags, Longs
from yakusu.data.vocabulary import EOS, UNK
from yakusu.search.restrictions import Restrictions
from yakusu.search.tokens import TokenRules

SLOT, RULES = 2, TokenRules(7, slot_kinds=(UNK, 2, 3))


class Only:
    """Allows some tokens after every hypothesis, and records its calls."""

    def __init__(self, *tokens: int) -> None:
        self.tokens, self.left, self.followed = list(tokens), list[list[int]](), list[Longs]()

    def allowed(self, left: Longs) -> Flags:
        self.left.append(left.tolist())
        flags = np.zeros((len(left), RULES.n_tokens), dtype=np.bool_)
        flags[:, self.tokens] = True
        return flags

    def follow(self, beams: Longs, ids: Longs) -> None:
        self.followed.append(np.stack([beams, ids]))


class Wanting(Only):
    """A goal that wants token 5, and then token 6."""

    def proposals(self) -> Longs:
        return np.array([[5, 6]])

    def progress(self, beams: Longs, ids: Longs) -> Longs:
        return np.where(ids == 6, 2, np.where(ids == 5, 1, 0))


def tokens(flags: Flags) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in flags]


def test_a_token_follows_only_if_everything_allows_it() -> None:
    assert tokens(Restrictions(RULES, [Only(0, 1, 2, 4, 5), Only(2, 3, 4, 0)]).allowed(9)) == [
        [0, 4]
    ]


def test_constraints_learn_how_many_tokens_are_left_besides_missing_slots() -> None:
    only = Only(4, 5)
    restrictions = Restrictions(RULES, [only], required=[SLOT, SLOT])
    restrictions.allowed(9)
    restrictions.follow(np.array([0, 0]), np.array([SLOT, 4]))
    restrictions.allowed(8)
    assert only.left == [[7], [7, 6]]
    assert [followed.tolist() for followed in only.followed] == [[[0, 0], [SLOT, 4]]]


def test_missing_slots_may_follow_where_nothing_else_may() -> None:
    restrictions = Restrictions(RULES, [Only(SLOT, EOS)], required=[SLOT])
    assert tokens(restrictions.allowed(9)) == [[SLOT]]
    nothing = Restrictions(RULES, [Only()], required=[3, SLOT])
    assert tokens(nothing.allowed(9)) == [[SLOT, 3]]
    elsewhere = Restrictions(RULES, [Only(4)], required=[SLOT])
    assert tokens(elsewhere.allowed(9)) == [[4]]


def test_goals_propose_tokens_and_their_progress_is_added() -> None:
    both = Restrictions(RULES, [Wanting(4, 5, 6)], required=[SLOT])
    assert both.has_goal
    assert both.proposals().tolist() == [[5, 6, SLOT]]
    ids = np.array([4, 5, 6, SLOT])
    # A bonus of 6 nats for each token of progress: 6 before 5 and the slot, which are a stage.
    assert both.order(np.array([-1.0, -2, -3, -4]), np.zeros(4, dtype=np.int64), ids).tolist() == [
        2,
        1,
        0,
        3,
    ]
    assert not Restrictions(RULES, [Only(4)]).has_goal
    assert Restrictions(RULES, required=[UNK]).has_goal


MODULES = (
    "yakusu.search.restrictions",
    "yakusu.search.sampling",
    "yakusu.search.phrases",
    "yakusu.search.hypothesis",
    "yakusu.search.config",
    "yakusu.tasks.task",
)


@pytest.mark.parametrize("module", MODULES)
def test_what_restricts_a_search_is_importable_without_torch(module: str) -> None:
    program = f"import sys; sys.modules['torch'] = None; import {module}"
    subprocess.run([sys.executable, "-c", program], check=True)
