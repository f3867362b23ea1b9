"""What tests of learning curves share: small tables of curves of different lengths."""

from typing import Any

import numpy as np

from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.tables.table import STATUSES, Metric, Provenance, Table
from tests.hpo_envs.core.engines.curves.model import curves_env

ROWS, REPEATS, LEVELS = 6, 3, 10
METRICS = (
    Metric("val_loss", "nat", "min", 0.0, 20.0),
    Metric("test_loss", "nat", "min", 0.0, 20.0),
    Metric("accuracy", "", "max", 0.0, 1.0),
)


def table(seed: int = 0, repeats: int = REPEATS) -> Table:
    """Curves of different lengths: row 1 diverges after 4 epochs, row 2 at once, row 3 is cut at 6."""
    rng = np.random.default_rng(seed)
    val = np.cumsum(rng.normal(-0.1, 0.3, (ROWS, repeats, LEVELS)), axis=2) + 6
    values = np.stack([val, val + rng.normal(0, 0.1, val.shape), rng.random(val.shape)], axis=-1)
    cost = np.cumsum(rng.random((ROWS, repeats, LEVELS)) + 0.5, axis=2)
    status = np.zeros((ROWS, repeats), np.uint8)
    values[1, 0, 4:], status[1, 0] = np.nan, STATUSES.index("diverged")
    values[2, 0, :], status[2, 0] = np.nan, STATUSES.index("diverged")
    values[3, 0, 6:], status[3, 0] = np.nan, STATUSES.index("truncated")
    cost[1, 0, 5:] = cost[2, 0, 1:] = cost[3, 0, 6:] = np.nan
    if repeats > 1:
        values[2, 1:] = values[4, 2:] = cost[2, 1:] = cost[4, 2:] = np.nan
    return Table(
        name="tests/curves",
        keys=tuple("abcdef"[:ROWS]),
        metrics=METRICS,
        values=values,
        cost=cost,
        cost_unit="seconds",
        levels=np.arange(1.0, LEVELS + 1),
        level_unit="epochs",
        status=status,
        provenance=Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none", notes=("made up",)),
        feature_names=("x", "y"),
        features=rng.random((ROWS, 2)),
    )


T1, T3 = table(repeats=1), table()
KWARGS: dict[str, Any] = {"objective": "val_loss", "held_out": ("test_loss",)}


def make(t: Table = T1, **kwargs: Any) -> CurvesEnv:
    env = curves_env("x", table=t, **{**KWARGS, "budget": None, **kwargs})
    env.reset(seed=0)
    return env
