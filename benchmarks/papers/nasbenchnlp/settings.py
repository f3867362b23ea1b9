"""Settings of figures 10 and 12: methods in two presets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TRIALS = 30
"""Section 5: "we report the average regret over 30 trials"."""

TRAININGS = 100
"""N of the released comparison: full trainings of random search; the other budgets of `UPSTREAM` follow from it."""

GRAPH2VEC = tuple(f"g2v_{i}" for i in range(10))
"""The 10 features released with the paper."""

GRAPH2VEC_RANGES = (
    (-7.2101, 8.3642), (-4.9309, 4.4627), (-8.3743, 8.8348), (-8.0099, 3.7061), (-6.3404, 7.5465),
    (-9.3342, 9.2246), (-6.5102, 6.758), (-3.9782, 6.3059), (-8.1595, 8.9719), (-8.7381, 7.2418),
)  # fmt: skip
"""Lowest and highest released value of each feature, which scale the tables; the released code searches raw values."""

GRAPH = "graph2vec_"
"""Prefix of 50 features trained by `graph2vec` on the table's cells; the paper's, which upstream released
(data/doc2vec_features.csv), do not ship."""


@dataclass(frozen=True)
class Method:
    """A method of figure 10, under its name there."""

    name: str
    agent: str  # registered name
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, Any] = field(default_factory=dict)  # arguments of the environment


def _counted(evaluations: int) -> dict[str, Any]:
    """Return the arguments of an environment whose budget is a number of evaluations, regardless of their duration."""
    return {"cost": "evaluations", "budget": evaluations}


_MORE = int(1.3 * TRAININGS)
_WHOLE, _AGAIN = {"budget": None}, {"fresh": False}
_RE = {"features": GRAPH2VEC, "metric": "cosine", "ranges": GRAPH2VEC_RANGES}

UPSTREAM = (
    Method("RS 50E", "random", {}, _counted(TRAININGS)),
    Method("RS 10E", "random", {"resource": 11}, _counted(5 * TRAININGS)),
    Method(
        "HB", "hyperband", {"trainings": TRAININGS / 3.5, "rounds": 1, "score": "last", "shift": 1} | _AGAIN, _WHOLE
    ),
    Method("BO 10D", "bagged-trees", {"features": GRAPH2VEC, "trees": 100, "depth": 15}, _counted(_MORE)),
    Method("BO 50D", "bagged-trees", {"features": GRAPH, "trees": 100, "depth": 15}, _counted(_MORE)),
    Method("RE", "regularized-evolution", _RE | _AGAIN | {"evaluations": _MORE}, _WHOLE),
    Method("TPE", "optuna", {"features": GRAPH, **_AGAIN, "evaluations": _MORE}, _WHOLE),
    Method("SMAC", "smac-like", {"features": GRAPH2VEC}, _counted(int(1.2 * TRAININGS))),
)
"""Settings of the code released with the paper, with its accounting (see `VARIANT`: the last epoch is free): N = 100
trainings, 500 of 11 epochs, 130 for BO, RE and TPE, 120 for SMAC, one round of Hyperband with B = N R / 3.5; BO with 20
+ batches of 10, beta 2 and a bag of 14 regressors of 100 trees of depth 15 on half samples; RE with P 20, S 10,
mutations of 0.5 to 8 and cosine distance on raw graph2vec. There, Hyperband pays for each cell up to its last rung, and
ranks the survivors of a rung by its last epoch but one; here by the last epoch."""

BUDGET = 60
"""Full trainings, on average, that each method of `SENSIBLE` may use: about a fifth of the WikiText-2 cells."""

SENSIBLE = (
    Method("RS 50E", "random"),
    Method("RS 10E", "random", {"resource": 10}),
    Method("SH", "successive-halving"),
    Method("HB", "hyperband"),
    Method("ASHA", "asha"),
    Method("ASHA, 4 workers", "asha", {}, {"workers": 4}),
    Method("BO 10D", "bagged-trees", {"features": GRAPH2VEC, "initial": 10, "batch": 5}),
    Method("BO 50D", "bagged-trees", {"features": GRAPH, "initial": 10, "batch": 5}),
    Method("RE", "regularized-evolution", {"features": GRAPH2VEC, "population": 20}),
    Method("TPE, 10 WL", "optuna", {"features": "wl_0"}),
    Method("SMAC", "smac-like", {"features": GRAPH2VEC}),
)
"""Methods with the same budget in seconds: all epochs paid, no cell trained twice, shallow trees."""

PRESETS: dict[str, tuple[Method, ...]] = {"upstream": UPSTREAM, "sensible": SENSIBLE}
"""Name -> methods."""

VARIANT = {"upstream": "released", "sensible": "paper"}
"""Accounting of each preset's environment."""

HOURS = (10, 20, 50, 100, 200, 500)
"""Simulated hours at which tables state the regret."""
PAIRS = 1000
"""Number of pairs of cells in figure 7."""
