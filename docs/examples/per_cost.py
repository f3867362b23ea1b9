"""Best score after equal cost of `box-bo`, without and with `per_cost`; rows are appended to `per_cost.csv`.

python docs/examples/per_cost.py 5 14

Costs are the nodes of a forest, the weights of a network times its epochs, and the trees of boosting times their depth
and share of rows; unlike seconds, they are the same in each run. The budget is what 20 random configurations cost.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

import hpo_envs
from hpo_envs.benchmarks.live import constrained, problems

FILE = Path(__file__).with_suffix(".csv")
BOOSTING = next(p for p in problems.PROBLEMS if p.name == "boosting-diabetes")


def limited(config: Mapping[str, Any], name: str) -> dict[str, float]:
    """Score and cost of a problem whose last constraint is the logarithm of its cost."""
    score, *violations = constrained.CONSTRAINED[name][1](config)
    return {"score": score, "cost": 10.0 ** violations[-1]}


def forest(config: Mapping[str, Any]) -> dict[str, float]:
    """Accuracy, and nodes in units of 1,500."""
    return limited(config, "forest-nodes")


def network(config: Mapping[str, Any]) -> dict[str, float]:
    """Accuracy, and weights times epochs in units of 40,000."""
    return limited(config, "network-weights")


def boosting(config: Mapping[str, Any]) -> dict[str, float]:
    """R^2, and trees times their depth and share of rows."""
    cost = config["n_estimators"] * config["max_depth"] * config["subsample"]
    return {"score": BOOSTING.function(config), "cost": cost}


TASKS: tuple[tuple[Any, Any, float], ...] = (
    (forest, constrained.CONSTRAINED["forest-nodes"][0], 6.0),
    (network, constrained.CONSTRAINED["network-weights"][0], 15.0),
    (boosting, BOOSTING.space, 1000.0),
)

if __name__ == "__main__":
    first, last = map(int, sys.argv[1:])
    for seed in range(first, last + 1):
        for function, space, budget in TASKS:
            for per_cost in (False, True):
                given = {"agent": "box-bo", "per_cost": per_cost, "budget": budget, "budget_unit": "cost"}
                rows = hpo_envs.tune(function, space, seed=seed, progress=False, **given).to_frame()
                best = rows.score[rows.cost.cumsum() <= budget].max()
                run = {"task": function.__name__, "per_cost": per_cost, "seed": seed, "best": best, "count": len(rows)}
                pd.DataFrame([run]).to_csv(FILE, mode="a", header=not FILE.exists(), index=False, float_format="%.6g")
    runs = pd.read_csv(FILE).pivot(index=["task", "seed"], columns="per_cost", values=["best", "count"])
    gain = (runs["best", True] - runs["best", False]).groupby("task")
    print(runs.groupby("task").mean().assign(gain=gain.mean(), se=gain.sem()).round(4).to_string())
