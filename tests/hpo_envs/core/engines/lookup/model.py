"""A model of the look-up environments in plain Python, and small tables to compare them on."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from hpo_envs.core.engines.lookup.batched import LookupVectorEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.tables import draws
from hpo_envs.tables import table as tables
from hpo_envs.tables.table import Hyperparameter, Metric, Provenance, Table

NAN = float("nan")


def lookup(*args: Any, **kwargs: Any) -> LookupEnv:
    return LookupEnv(LookupParams.of(*args, **kwargs))


def lookups(n: int, *args: Any, autoreset_mode: Any = AutoresetMode.NEXT_STEP, copy: bool = True, **kwargs: Any) -> Any:
    return LookupVectorEnv(n, LookupParams.of(*args, **kwargs), autoreset_mode, copy)


SOURCE = Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none")
METRICS = (Metric("score", "points", "max", 0.0, 10.0), Metric("seconds", "s", "min", 0.0, 100.0))
SPACE = (
    Hyperparameter("layers", "int", 1, 2, values=(1, 2)),
    Hyperparameter("optimizer", "categorical", 0, 2, values=("adam", "sgd", "none")),
)


def tiny(shift: float = 0.0, name: str = "toy/one", repeats: int = 2, **changes: Any) -> Table:
    """A complete grid of 2 x 3 configurations, two repeats, two levels, two metrics; one row has one repeat only."""
    rng = np.random.default_rng(5)
    values = np.round(rng.uniform(1.0, 9.0, (6, repeats, 2, 2)), 2) + shift
    values[..., 1] *= 10.0
    values[5, -1] = NAN
    if repeats > 1:
        values[3, 1, 1] = NAN  # stopped after the first level
    cost = np.tile([2.0, 5.0], (6, repeats, 1)) + np.arange(6)[:, None, None] + shift
    cost[np.isnan(values).all(axis=3)] = NAN
    configs = np.array([[layers, code] for layers in (1.0, 2.0) for code in range(3)])
    status = np.zeros((6, repeats), np.uint8)
    status[5, -1] = 1
    status[3, -1] = 3
    names, features = tables.feature_matrix(SPACE, configs)
    given: dict[str, Any] = {
        "name": name, "keys": tuple("abcdef"), "metrics": METRICS, "values": values, "cost": cost, "cost_unit": "s",
        "space": SPACE, "configs": configs, "feature_names": names, "features": features, "status": status,
        "levels": np.array([1.0, 2.0]), "provenance": SOURCE,
    }  # fmt: skip
    return Table(**{**given, **changes})


@dataclasses.dataclass
class Model:
    """A model of a step in plain Python, one evaluation at a time."""

    tables: Sequence[Table]
    objective: Any
    cost: str
    budget: float | None
    grid: bool

    def begin(self, seed: int, episode: int, chosen: int | None = None) -> None:
        self.key = draws.mix(draws.mix(seed, 0), episode)
        drawn = draws.below(draws.mix(self.key, 0), len(self.tables)) if len(self.tables) > 1 else 0
        self.task = drawn if chosen is None else chosen
        self.table = self.tables[self.task]
        self.pulls = [0] * len(self.table)
        names = (self.objective,) if isinstance(self.objective, str) else self.objective
        self.chosen = [self.table.metrics[self.table.metric(n)] for n in names]
        self.low = [min(m.sign * m.low, m.sign * m.high) for m in self.chosen]
        self.best = list(self.low)
        self.steps = 0
        whole = [sum(self.run(t, r, k)[1] for r in range(len(t)) for k in range(t.repeats)) for t in self.tables]
        self.limit = max(whole) if self.budget is None else float(self.budget)
        self.left = self.limit

    def run(self, t: Table, row: int, repeat: int) -> tuple[list[float], float, dict[str, float], str]:
        """Rewards, cost, metrics and status of one run of a table."""
        metrics = {}
        for j, m in enumerate(t.metrics):
            seen = [v for v in t.values[row, repeat, :, j].tolist() if v == v]
            metrics[m.name] = seen[-1] if seen else m.worst
        spent = [c for c in t.cost[row, repeat].tolist() if c == c]
        cost = {"evaluations": 1.0, "s": spent[-1] if spent else 0.0}.get(self.cost)
        rewards = [m.sign * metrics[m.name] for m in self.chosen]
        status = tables.STATUSES[t.status[row, repeat]]
        return rewards, metrics[self.cost] if cost is None else cost, metrics, status

    def observe(self, row: int | None, rewards: list[float], cost: float) -> np.ndarray:
        features = [0.0] * len(self.table.feature_names) if row is None else self.table.features[row].tolist()
        high = [max(m.sign * m.low, m.sign * m.high) for m in self.chosen]
        shown = [min(max(r, a), b) for r, a, b in zip(rewards, self.low, high, strict=True)]
        left = max(self.left, 0.0) / self.limit
        most = {"evaluations": 1.0, "s": 1e9}.get(self.cost, 100.0)
        return np.array([*features, *shown, min(cost, most), *self.best, left], dtype=np.float32)

    def first(self) -> np.ndarray:
        return self.observe(None, self.low, 0.0)

    def step(self, row: int) -> tuple[np.ndarray, list[float], bool, dict[str, Any]]:
        t, k = self.table, self.pulls[row]
        self.pulls[row] += 1
        measured = [not np.isnan(t.values[row, r]).all() for r in range(t.repeats)]
        at = self.task * len(t) + row
        bits = draws.mix(draws.mix(self.key, 1 + at), k)
        repeat = draws.below(bits, max(sum(measured), 1)) if t.repeats > 1 else 0
        rewards, cost, metrics, status = self.run(t, row, repeat)
        self.best = [max(a, b) for a, b in zip(self.best, rewards, strict=True)]
        self.left -= cost
        self.steps += 1
        over = self.left <= 0.0 or self.steps >= len(t) * t.repeats
        info = {"cost": cost, "metrics": metrics, "status": status, "config": t.config(row)}
        info["status_code"] = tables.STATUSES.index(status)
        return self.observe(row, rewards, cost), rewards, over, info

    def says(self) -> dict[str, str]:
        source = self.table.provenance
        return {"table": self.table.name, "kind": source.kind, "sha256": source.sha256}


ONE, TWO, SINGLE = tiny(), tiny(0.5, "toy/two"), tiny(0.25, "toy/single", repeats=1)
DEARER = dataclasses.replace(SINGLE, name="toy/other", cost=SINGLE.cost * 2, provenance=SOURCE)
SETTINGS: dict[str, tuple[list[Table], Any, str, float | None, bool]] = {
    "plain": ([SINGLE], "score", "evaluations", 4, False),
    "repeats": ([ONE], "score", "evaluations", 7, False),
    "all": ([ONE], "score", "evaluations", None, False),
    "beyond": ([SINGLE], "score", "evaluations", 50, False),
    "seconds": ([ONE], "score", "s", 31.5, False),
    "metric": ([ONE], "score", "seconds", 170.0, False),
    "all seconds": ([SINGLE, DEARER], "score", "s", None, False),
    "lower": ([ONE], "seconds", "evaluations", 5, False),
    "vector": ([SINGLE], ("score", "seconds"), "s", 40, False),
    "vector repeats": ([ONE, TWO], ("seconds", "score"), "evaluations", 6, False),
    "two tables": ([ONE, TWO], "score", "evaluations", 6, False),
    "grid": ([SINGLE], "score", "evaluations", 5, True),
    "grid of two": ([ONE, TWO], ("score",), "s", 35, True),
}  # fmt: skip


def arguments(setting: str) -> dict[str, Any]:
    tables_, objective, cost, budget, grid = SETTINGS[setting]
    return {"table": tuple(tables_), "objective": objective, "cost": cost, "budget": budget, "grid": grid}


def act(row: int, grid: bool) -> Any:
    return np.array([row // 3, row % 3]) if grid else row
