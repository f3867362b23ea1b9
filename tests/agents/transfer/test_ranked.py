"""Orders that follow from other tables alone."""

from __future__ import annotations

import numpy as np

from hpo_envs.agents import make
from tests.agents.transfer.helpers import ALIKE, OTHER, TRUTH, problem, regret


def asked(name: str, *sources: object, steps: int = 36) -> list[int]:
    agent = make(name, problem(*sources), 0)  # type: ignore[arg-type]
    rows = []
    for _ in range(steps):
        rows.append(agent.ask())
        agent.tell(rows[-1], 0.0, {"cost": 1.0, "status": "ok"})  # what is told makes no difference
    return rows


def test_zero_shot_tries_rows_in_the_order_of_the_mean_score() -> None:
    rows = asked("zero-shot", ALIKE)
    assert sorted(rows) == list(range(36))
    assert (np.diff(TRUTH[rows]) <= 1e-12).all()
    assert regret(make("zero-shot", problem(ALIKE), 0), 1) == 0.0


def test_a_portfolio_serves_the_many_and_then_the_few() -> None:
    """By hand: the best row of two tables gains most, then that of the third, for which the first is the worst."""
    first, second = asked("portfolio", ALIKE, ALIKE, OTHER, steps=2)
    assert first == int(np.argmax(TRUTH))
    assert TRUTH[second] == TRUTH.min()
