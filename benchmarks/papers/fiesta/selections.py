"""The paper's settings and ours as data, and model selections with them."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.runs import run
from hpo_envs.tables import store
from hpo_envs.tables.frames import natural
from hpo_envs.tables.table import Table

DELTAS = (0.05, 0.1, 0.2)
"""Error rates of Tables 2 and 3."""

TRIALS = 500
"""Runs of each row of Tables 2 and 3."""

FIGURE_4_TRIALS = 10_000
"""Runs for each budget of Figure 4."""

FIGURE_4_BUDGETS = (48, 72, 96, 120, 144, 168, 192, 204)
"""Budgets in evaluations. The paper names only 204; 48 is the least for one evaluation of twelve arms per round."""

NAMED_BUDGET = 204
"""The budget for which section 5.1 states two numbers."""


@dataclass(frozen=True)
class Setting:
    """Settings of a row of the paper's tables: an agent with hyperparameters, an environment with arguments."""

    name: str  # row label, as in `expected.csv`
    agent: str  # registered name
    env: str = "FIESTA-tdsa8-v0"
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    hyperparameters: dict[str, Any] = field(default_factory=dict)  # of the agent, without the confidence
    uncounted: int = 0  # evaluations that the published counts leave out

    def table(self) -> Table:
        """Load the table of the arms in upstream's order."""
        return natural(store.load(f"fiesta/{self.env.split('-')[1]}"))


NONADAPTIVE, TTTS = TABLE_2 = (Setting("nonadaptive", "nonadaptive"), Setting("ttts", "ttts"))
TABLE_3 = (Setting("bts-4", "bts", env_kwargs={"batch_size": 4}), Setting("bts-8", "bts", env_kwargs={"batch_size": 8}))

# The authors' notebook (notebooks/Algorithms.ipynb, function TTTS_for_TDSA) evaluates each model five times first and
# starts its count of evaluations at three a model: 16 evaluations of eight models are not counted.
UNCOUNTED = tuple(
    replace(setting, hyperparameters={"initial": 5}, uncounted=16) for setting in (TTTS, *TABLE_3, NONADAPTIVE)
)


@dataclass(frozen=True)
class Selections:
    """Selections of a model by one agent in k runs."""

    evaluations: npt.NDArray[np.int64]  # (k,) number of evaluations of each run
    right: npt.NDArray[np.bool_]  # (k,) whether the run selected the best arm

    def __len__(self) -> int:
        return len(self.right)

    def summary(self) -> dict[str, tuple[float, float]]:
        """Return `min`, `mean` and `max` of the evaluations and `correct` (per cent), each with its standard error.

        Instead of a standard error, `min` and `max` have their `scale`.
        """
        n, x, p = len(self), np.sort(self.evaluations), float(self.right.mean())
        spread = float(x.std(ddof=1)) if n > 1 else 0.0
        return {
            "min": (float(x[0]), scale(x)), "mean": (float(x.mean()), spread / n**0.5),
            "max": (float(x[-1]), scale(-x[::-1])), "correct": (100.0 * p, 100.0 * (p * (1.0 - p) / n) ** 0.5),
        }  # fmt: skip


def scale(x: npt.NDArray[np.int64]) -> float:
    """Return the scale of the smallest value of an ascending sample, from its ten smallest; 0 for a single value.

    With an exponential tail of scale s the k-th smallest lies (1 + 1/2 + ... + 1/(k - 1)) s above the smallest on
    average, and extremes of two samples of one size differ by a logistic variable of scale s.
    """
    k = min(10, len(x))
    return float(x[k - 1] - x[0]) / sum(1.0 / i for i in range(1, k)) if k > 1 else 0.0


def select(
    r: Reproduction, setting: Setting, usual: int, *, budget: int = 50_000, **hyperparameters: Any
) -> Selections:
    """Run a setting once per seed, as often as in the paper (`usual`) unless the reproduction has a number of trials.

    The numbers of evaluations are without those that the published counts leave out. The best arm has the largest mean
    over all its scores. `hyperparameters` are added to those of the setting. The default of the budget, in evaluations,
    is one that no fixed-confidence run reaches.
    """
    seeds = r.seeds(usual)
    size = min(500, -(-len(seeds) // r.jobs))  # larger batches would only cost memory
    chunks = [seeds[i : i + size] for i in range(0, len(seeds), size)]
    parts = r.map(_play, [(setting, chunk, budget, hyperparameters) for chunk in chunks], setting.name, "chunk")
    evaluations, chosen = np.concatenate(parts, axis=1)
    table = setting.table()
    best = table.final(table.metrics[0].name).argmax()
    return Selections(evaluations - setting.uncounted, chosen == best)


def _play(setting: Setting, seeds: range, budget: int, more: dict[str, Any]) -> npt.NDArray[np.int64]:
    """Run a setting; return (2, seeds) numbers of evaluations and indices of recommended arms."""
    kwargs = {**setting.env_kwargs, "shuffle": False, "table": setting.table()}
    runs = run(
        setting.agent, setting.env, seeds, budget=budget, env_kwargs=kwargs, **{**setting.hyperparameters, **more}
    )
    return np.array([[len(r) for r in runs], [int(np.ravel(r.recommended)[0]) for r in runs]])
