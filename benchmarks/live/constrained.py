"""Optimizers compared on problems with constraints: regret of the best feasible evaluation.

    python -m hpo_envs.benchmarks.live.constrained run --optimisers box-bo,optuna-tpe,optuna-gp --seeds 5-24
    python -m hpo_envs.benchmarks.live.constrained table

`constrained.csv` has one line per run; stored runs are not repeated.
"""

import argparse
import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from hpo_envs.benchmarks.live import problems, study
from hpo_envs.benchmarks.live.optimisers import make
from hpo_envs.benchmarks.live.problems import Config, LiveProblem
from hpo_envs.tables import screen
from hpo_envs.tables.user.space import Points, space_of

CONSTRAINED_RESULTS = Path(__file__).with_name("constrained.csv")
BUDGET = 40


@dataclasses.dataclass(frozen=True)
class FeasibleRow:
    """A run, as in `constrained.csv`; `best` is the best feasible score, or NaN without one."""

    problem: str
    optimiser: str
    seed: int
    best: float


def gardner(c: Config) -> tuple[float, ...]:
    """Return score and violation of simulation 2 of Gardner et al. (ICML 2014), feasible in two small regions."""
    return -(math.sin(c["x"]) + c["y"]), math.sin(c["x"]) * math.sin(c["y"]) + 0.95


def gramacy(c: Config) -> tuple[float, ...]:
    """Return score and two violations of the toy problem of Gramacy et al. (Technometrics 58, 2016)."""
    x, y = c["x"], c["y"]
    wave = 1.5 - x - 2.0 * y - 0.5 * math.sin(2.0 * math.pi * (x * x - 2.0 * y))
    return -(x + y), wave, x * x + y * y - 1.5


def hartmann6(c: Config) -> tuple[float, ...]:
    """Return Hartmann's function of six variables, and the violation of a ball at the origin without its maximum."""
    return problems.hartmann6(c), sum(x * x for x in c.values()) - 0.7


def vessel(c: Config) -> tuple[float, ...]:
    """Return minus log10 of a pressure vessel's cost (Kannan and Kramer 1994; inches), and three violations."""
    shell, head, r, length = c["shell"] / 16.0, c["head"] / 16.0, c["radius"], c["length"]
    cost = 0.6224 * shell * r * length + 1.7781 * head * r * r + 3.1661 * shell**2 * length + 19.84 * shell**2 * r
    volume = math.pi * r * r * length + 4.0 / 3.0 * math.pi * r**3
    return -math.log10(cost), 0.0193 * r - shell, 0.00954 * r - head, 1.0 - volume / 1_296_000.0


def forest(c: Config) -> tuple[float, ...]:
    """Return the accuracy of a random forest on 300 digits, and log10 of (number of nodes / 1,500) as violation."""
    accuracy = problems._score(model := RandomForestClassifier(**c, random_state=0), "digits", 300)
    return accuracy, math.log10(sum(tree.tree_.node_count for tree in model.estimators_) / 1500.0)


def network(c: Config) -> tuple[float, ...]:
    """Return the accuracy of a multilayer perceptron on 300 digits, and two violations (log10 of the ratio to a limit).

    The limits are 3,000 for the number of weights, and 40,000 for the number of weights times epochs.
    """
    given = dict(c)
    layers, epochs = (given.pop("units"),) * given.pop("layers"), given.pop("epochs")
    sizes = (64, *layers, 10)
    weights = sum((a + 1) * b for a, b in itertools.pairwise(sizes))
    limits = math.log10(weights / 3000.0), math.log10(weights * epochs / 40000.0)
    return problems._score(MLPClassifier(layers, max_iter=epochs, random_state=0, **given), "digits", 300), *limits


CONSTRAINED: Mapping[str, tuple[Any, Callable[[Config], tuple[float, ...]]]] = {
    "gardner": ({"x": (0.0, 6.0), "y": (0.0, 6.0)}, gardner),
    "gramacy": ({"x": (0.0, 1.0), "y": (0.0, 1.0)}, gramacy),
    "hartmann6-ball": ({f"x{j}": (0.0, 1.0) for j in range(6)}, hartmann6),
    "vessel": ({"shell": (1, 99), "head": (1, 99), "radius": (10.0, 200.0), "length": (10.0, 240.0)}, vessel),
    "forest-nodes": ({
        "n_estimators": (2, 60, "log"), "max_depth": (1, 12), "max_features": (0.02, 1.0),
        "min_samples_leaf": (1, 30, "log"), "criterion": ["gini", "entropy"], "bootstrap": [False, True],
    }, forest),
    "network-weights": ({
        "layers": (1, 3), "units": (4, 128, "log"), "epochs": (1, 60, "log"),
        "activation": ["relu", "tanh", "logistic"], "learning_rate_init": (1e-4, 0.3, "log"),
        "batch_size": (4, 64, "log"),
    }, network),
}  # fmt: skip
"""Search space and function of each problem; the function returns a score and violations, at most 0 if feasible."""


def unconstrained(name: str) -> LiveProblem:
    """Return a problem of `CONSTRAINED` without its constraints."""
    space, function = CONSTRAINED[name]
    return LiveProblem(name, space, lambda c: function(c)[0])


def play(name: str, optimiser: str, seed: int) -> float:
    """Run an optimizer (see `make`) for `BUDGET` evaluations; return the best feasible score, or NaN without one."""
    space, function = CONSTRAINED[name]
    points = Points(space_of(space))
    best, count = math.nan, len(function(points.config(points.raw(np.full((1, len(points.space)), 0.5))[0]))) - 1
    chosen = make(optimiser, unconstrained(name), seed, BUDGET, count)
    for _ in range(BUDGET):
        handle, config = chosen.ask()
        score, *violations = map(float, function(config))
        chosen.tell(handle, score, violations)
        best = score if max(violations) <= 0.0 and not score <= best else best
    return best


def table(against: str = "box-bo") -> pd.DataFrame:
    """Return a row per optimizer: mean regret by problem and overall (`mean`), difference from `against`, and `runs`.

    The difference is the mean over problems (`minus`) with its standard error (`se`). Regret is clipped to [0, 1]: 0 at
    the best score of all runs, 1 at the median of random search's feasible runs or below, and without a feasible score.
    """
    runs = pd.read_csv(CONSTRAINED_RESULTS)
    best, middle = runs.groupby("problem").best.max(), runs[runs.optimiser == "random"].groupby("problem").best.median()
    top, low = (runs.problem.map(m) for m in (best, middle))
    runs["regret"] = ((top - runs.best) / (top - low)).clip(0.0, 1.0).fillna(1.0)
    wide = runs.pivot(index=["problem", "seed"], columns="optimiser", values="regret")
    minus = wide.sub(wide[against], axis=0).groupby("problem")
    error = (minus.var() / minus.count()).sum() ** 0.5 / len(CONSTRAINED)
    cells = wide.groupby("problem").mean().T
    return cells.assign(mean=cells.mean(axis=1), minus=minus.mean().mean(), se=error, runs=wide.count())


@screen.on()
def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m hpo_envs.benchmarks.live.constrained", description=__doc__)
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("--optimisers", default="random,box-bo", help="names, separated by commas")
    parser.add_argument("--seeds", type=study.seeds_of, default=study.REPORT, help="FIRST-LAST")
    given = parser.parse_args()
    if given.command == "table":
        print(table().round(3).to_string())
        return
    wanted = [(unconstrained(n), o, s) for s in given.seeds for n in CONSTRAINED for o in given.optimisers.split(",")]
    study.carry_out(CONSTRAINED_RESULTS, wanted, lambda p, o, s: [FeasibleRow(p.name, o, s, play(p.name, o, s))])


if __name__ == "__main__":
    main()
