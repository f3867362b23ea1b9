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

PROMISE_TRIALS = 1000
"""Runs for each level of the test of the fixed-confidence promise."""

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

# What the paper leaves open, or tried without showing (section 4.2: the logit).
VARIANTS = (
    Setting("ttts, shared splits", "ttts", env_kwargs={"shared": True}),
    Setting("nonadaptive, shared splits", "nonadaptive", env_kwargs={"shared": True}),
    Setting("ttts, without replacement", "ttts", env_kwargs={"replacement": False}),
    Setting("ttts, logit", "ttts", hyperparameters={"transform": "logit"}),
    Setting("ttts, 2000 draws", "ttts", hyperparameters={"draws": 2000}),
)

# The comparison with what the field offers: the same stopping rule for all, then each method's own.
LITERATURE = (
    Setting("ttts", "ttts"),
    Setting("t3c", "t3c"),
    Setting("ttei", "ttei"),
    Setting("bts-1", "bts"),
    Setting("lucb, stopping pi", "lucb", hyperparameters={"stopping": "pi"}),
    Setting("track-and-stop, stopping pi", "track-and-stop", hyperparameters={"stopping": "pi"}),
    Setting("ttts, stopping glr", "ttts", hyperparameters={"stopping": "glr"}),
    Setting("t3c, stopping glr", "t3c", hyperparameters={"stopping": "glr"}),
    Setting("track-and-stop", "track-and-stop"),
    Setting("lucb", "lucb"),
)

_CLOSE = {"means": (0.70, 0.705), "deviations": 0.02}
_THREE = {"means": (0.69, 0.70, 0.705), "deviations": 0.02}

PROMISES = tuple(
    Setting(f"{agent}, {label}{', glr' if rule == 'glr' else ''}", agent, env, kwargs, {"stopping": rule})
    for label, env, kwargs in (
        ("five Gaussian arms", "FIESTA-gaussian-v0", {}),
        ("two close Gaussian arms", "FIESTA-gaussian-v0", _CLOSE),
        ("three close Gaussian arms", "FIESTA-gaussian-v0", _THREE),
        ("tdsa8, resampled", "FIESTA-tdsa8-v0", {}),
    )
    for agent, rule in (("ttts", "pi"), ("nonadaptive", "pi"), ("ttts", "glr"))
)
