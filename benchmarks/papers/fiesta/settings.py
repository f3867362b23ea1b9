"""The paper's settings, and ours, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

DELTAS = (0.05, 0.1, 0.2)
"""Error rates of Tables 2 and 3."""

TRIALS = 500
"""Runs of each row of Tables 2 and 3."""

FIGURE_4_TRIALS = 10_000
"""Runs for each budget of Figure 4."""

FIGURE_4_BUDGETS = (48, 72, 96, 120, 144, 168, 192, 204)
"""Evaluations. The paper names 204 only; 48 is the least that gives twelve arms one evaluation in each round."""

NAMED_BUDGET = 204
"""The budget whose two numbers section 5.1 names."""

ENOUGH = 50_000
"""A budget, in evaluations, that no fixed-confidence run here reaches."""


@dataclass(frozen=True)
class Setting:
    """One agent on one id.

    Attributes:
        name: Row label, as in `expected.csv`.
        agent: Registered name.
        env: Registered id.
        env_kwargs: Arguments of the environment.
        hyperparameters: Arguments of the agent, without the confidence.
        uncounted: Evaluations that the published counts leave out.
    """

    name: str
    agent: str
    env: str = "FIESTA-tdsa8-v0"
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    uncounted: int = 0


TABLE_2 = (Setting("nonadaptive", "nonadaptive"), Setting("ttts", "ttts"))
TABLE_3 = (
    Setting("bts-4", "bts", env_kwargs={"batch_size": 4}),
    Setting("bts-8", "bts", env_kwargs={"batch_size": 8}),
)

# The authors' notebook (notebooks/Algorithms.ipynb, function TTTS_for_TDSA) evaluates each model five times first and
# starts its count of evaluations at three a model: 16 evaluations of eight models are not counted.
UNCOUNTED = (
    Setting("ttts", "ttts", hyperparameters={"initial": 5}, uncounted=16),
    Setting("bts-4", "bts", env_kwargs={"batch_size": 4}, hyperparameters={"initial": 5}, uncounted=16),
    Setting("bts-8", "bts", env_kwargs={"batch_size": 8}, hyperparameters={"initial": 5}, uncounted=16),
    Setting("nonadaptive", "nonadaptive", hyperparameters={"initial": 5}, uncounted=16),
)
