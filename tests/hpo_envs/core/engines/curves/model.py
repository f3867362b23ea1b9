"""A model of the learning-curve environments in plain Python, and small tables to compare them on."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from hpo_envs.core.engines.curves.batched import CurvesVectorEnv
from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.tables import draws
from hpo_envs.tables.table import STATUSES, Hyperparameter, Metric, Provenance, Table, feature_matrix


def curves_env(*args: Any, **kwargs: Any) -> CurvesEnv:
    return CurvesEnv(CurveParams.of(*args, **kwargs))


def curves_envs(n: int, *args: Any, autoreset_mode: Any = "NextStep", copy: bool = True, **kwargs: Any) -> Any:
    return CurvesVectorEnv(n, CurveParams.of(*args, **kwargs), autoreset_mode, copy)


SOURCE = Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none")
ROWS, LEVELS = 6, 7
METRICS = (
    Metric("loss", "nat", "min", 0.0, 20.0),
    Metric("test", "nat", "min", 0.0, 30.0),
    Metric("accuracy", "", "max", 0.0, 1.0),
)
SPACE = (Hyperparameter("layers", "int", 1, ROWS), Hyperparameter("optimizer", "categorical", 0, 1, values=("a", "b")))
NAN = float("nan")


def curves(repeats: int = 3, seed: int = 0, **changes: Any) -> Table:
    """Row 1 diverges after three checkpoints, row 2 fails at once, row 3 ends at the fifth; some rows lack repeats."""
    rng = np.random.default_rng(seed)
    shape = (ROWS, repeats, LEVELS)
    loss = 5.0 + np.cumsum(rng.normal(-0.1, 0.4, shape), axis=2)
    values = np.round(np.stack([loss, loss + rng.normal(0, 0.2, shape), rng.random(shape)], axis=3), 3)
    cost = np.round(np.cumsum(rng.random(shape) + 0.5, axis=2), 2)
    status = np.zeros((ROWS, repeats), np.uint8)
    values[1, 0, 3:], status[1, 0] = NAN, STATUSES.index("diverged")
    values[2, 0, :], status[2, 0] = NAN, STATUSES.index("failed")
    values[3, 0, 5:], status[3, 0] = NAN, STATUSES.index("truncated")
    values[4, 0, 4:, 2] = NAN  # accuracy was measured at the first checkpoints only
    cost[1, 0, 4:] = cost[2, 0, 1:] = cost[3, 0, 5:] = NAN
    if repeats > 1:
        values[2, 1:] = values[4, 2:] = cost[2, 1:] = cost[4, 2:] = NAN
    configs = np.array([[k + 1, k % 2] for k in range(ROWS)], dtype=float)
    names, features = feature_matrix(SPACE, configs)
    given: dict[str, Any] = {
        "name": "toy/curves", "keys": tuple("abcdef"), "metrics": METRICS, "values": values, "cost": cost,
        "cost_unit": "s", "levels": np.array([1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0]), "level_unit": "epochs",
        "status": status, "space": SPACE, "configs": configs, "feature_names": names, "features": features,
        "provenance": SOURCE,
    }  # fmt: skip
    return Table(**{**given, **changes})


ONE, THREE = curves(1), curves()
LATE = curves(1)
LATE = curves(  # row 0 diverged after its last checkpoint; what row 1 paid is known only while it had values
    1,
    status=np.where(np.arange(ROWS)[:, None] == 0, STATUSES.index("diverged"), LATE.status),
    cost=np.where(np.isnan(LATE.values[..., 0]) & (np.arange(ROWS)[:, None, None] == 1), NAN, LATE.cost),
)
BARE = curves(space=(), configs=np.zeros((ROWS, 0)), feature_names=("x",), features=np.linspace(0, 1, ROWS)[:, None])


def validated(t: Table = ONE, **kwargs: Any) -> CurvesEnv:
    """An episode on the loss, with the test loss held out."""
    env = curves_env("toy", table=t, objective="loss", held_out=("test",), **{"budget": None, **kwargs})
    env.reset(seed=0)
    return env


@dataclasses.dataclass
class Model:
    """A model of a step, one training at a time."""

    t: Table
    objective: Any = "loss"
    held_out: tuple[str, ...] = ("test",)
    cost: str | None = None
    budget: Any = 25.0
    levels: int | None = None
    workers: int = 1
    variant: str = "paper"

    def begin(self, seed: int, episode: int) -> None:
        t = self.t
        self.key = draws.mix(draws.mix(seed, 0), episode)
        k = self.levels
        grid = range(LEVELS) if k is None else sorted({round(float(x)) - 1 for x in np.geomspace(1, LEVELS, k)})
        self.grid = [LEVELS - 1] if k == 1 else list(grid)
        self.names = [self.objective] if isinstance(self.objective, str) else list(self.objective)
        self.shown = [n for n in t.metric_names if n not in self.held_out]
        chosen = [t.metrics[t.metric(n)] for n in self.names]
        self.signs = [m.sign for m in chosen]
        self.low = [min(m.sign * m.low, m.sign * m.high) for m in chosen]
        self.high = [max(m.sign * m.low, m.sign * m.high) for m in chosen]
        self.reached = [-1] * ROWS
        self.returned = [-1] * ROWS
        self.best, self.best_cell = list(self.low), None
        self.spent = self.committed = self.clock = 0.0
        self.count, self.open = 0, True
        self.jobs: list[tuple[Any, ...]] = []
        whole = [max(self.paid(r, c, len(self.grid) - 1) for c in range(self.repeats(r))) for r in range(ROWS)]
        if self.budget == "auto":
            full = [self.paid(r, c, len(self.grid) - 1) for r in range(ROWS) for c in range(self.repeats(r))]
            self.limit = 20.0 * (1.0 if self.cost == "evaluations" else sum(full) / len(full))
        elif self.budget is None:
            self.limit = float(ROWS * len(self.grid)) if self.cost == "evaluations" else sum(whole)
        else:
            self.limit = float(self.budget)
        d = t.features.shape[1]
        self.last = [*[0.0] * d, 0.0, *self.low, 0.0, *self.low, 1.0]

    def repeats(self, row: int) -> int:
        return max(sum(not np.isnan(t).all() for t in self.t.values[row]), 1)

    def repeat(self, row: int) -> int:
        count = self.repeats(row)
        return draws.below(draws.mix(self.key, row), count) if count > 1 else 0

    def known(self, row: int, c: int, metric: int) -> int:
        return int((~np.isnan(self.t.values[row, c, :, metric])).sum())

    def lost(self, row: int, c: int) -> bool:
        return STATUSES[self.t.status[row, c]] in ("diverged", "failed")

    def end(self, row: int, c: int) -> int:
        """The last checkpoint of a run in the table."""
        known = self.known(row, c, self.t.metric(self.names[0]))
        return min(max(known - 1 + self.lost(row, c), 0), LEVELS - 1)

    def last_level(self, row: int, c: int) -> int:
        return next(i for i, g in enumerate(self.grid) if g >= self.end(row, c))

    def value(self, row: int, c: int, at: int, name: str) -> float:
        """A metric at a checkpoint of the table; past the end, its last value."""
        j = self.t.metric(name)
        known = self.known(row, c, j)
        if known == 0 or (self.lost(row, c) and at >= known):
            return self.t.metrics[j].worst
        return float(self.t.values[row, c, min(at, known - 1), j])

    def paid(self, row: int, c: int, level: int) -> float:
        """Cost of training from scratch up to a level."""
        at = min(self.grid[level], self.end(row, c))
        if self.cost == "evaluations":
            return 1.0
        if self.variant == "released":
            at -= 1
        if at < 0:
            return 0.0
        if self.cost == "epochs":
            return float(self.t.levels[at])
        spent = [x for x in self.t.cost[row, c].tolist() if x == x]
        return spent[min(at, len(spent) - 1)] if spent else 0.0

    def peaks(self, row: int, c: int, level: int) -> list[float]:
        """Best reward of each objective at any checkpoint up to a level's."""
        return [
            max(s * self.value(row, c, at, n) for at in range(self.grid[level] + 1))
            for n, s in zip(self.names, self.signs, strict=True)
        ]

    def mask(self) -> list[bool]:
        done = [self.reached[r] == self.last_level(r, self.repeat(r)) for r in range(ROWS)]
        top = len(self.grid) - 1
        floor = min(top if over else at for over, at in zip(done, self.reached, strict=True))
        if all(done):
            return [True] * (ROWS + top + 1)
        return [not over for over in done] + [level > floor for level in range(top + 1)]

    def submit(self, row: int, level: int) -> tuple[int, float]:
        """The level reached, and the new cost."""
        c, before = self.repeat(row), self.reached[row]
        end = min(level, self.last_level(row, c))
        if end <= before:
            return before, 0.0
        self.reached[row] = end
        if self.cost == "evaluations":
            return end, 1.0
        return end, self.paid(row, c, end) - (self.paid(row, c, before) if before >= 0 else 0.0)

    def complete(self, row: int, level: int, reached: int, cost: float) -> dict[str, Any]:
        t, c = self.t, self.repeat(row)
        self.returned[row] = reached
        at, end = self.grid[level], self.end(row, c)
        rewards = [s * self.value(row, c, at, n) for n, s in zip(self.names, self.signs, strict=True)]
        peak = self.peaks(row, c, reached)
        if self.best_cell is None or peak[0] > self.best[0]:
            firsts = [self.signs[0] * self.value(row, c, a, self.names[0]) for a in range(self.grid[reached] + 1)]
            self.best_cell = row, firsts.index(peak[0])
        self.best = [max(a, b) for a, b in zip(self.best, peak, strict=True)]
        self.spent += cost
        left = 1.0 - self.spent / self.limit if self.spent < self.limit else 0.0
        shown = [min(max(r, a), b) for r, a, b in zip(rewards, self.low, self.high, strict=True)]
        share = t.levels[min(at, end)] / t.levels[-1]
        self.last = [*t.features[row].tolist(), share, *shown, cost, *self.best, left]
        vector = not isinstance(self.objective, str)
        info = {
            "cost": cost, "metrics": {n: self.value(row, c, at, n) for n in self.shown},
            "status": "ok" if at < end else STATUSES[t.status[row, c]], "reached": reached,
            "best": peak if vector else peak[0],
        }  # fmt: skip
        info["status_code"] = STATUSES.index(str(info["status"]))
        if t.space:
            info["config"] = t.config(row)
        if self.held_out:
            info["held_out"] = {n: self.value(row, c, at, n) for n in self.held_out}
        return {"reward": rewards if vector else rewards[0], "info": info}

    def exhausted(self) -> bool:
        done = all(self.reached[r] == self.last_level(r, self.repeat(r)) for r in range(ROWS))
        return self.count >= ROWS * len(self.grid) or done

    def step(self, row: int, level: int) -> dict[str, Any]:
        if self.workers == 1:
            reached, cost = self.submit(row, level)
            self.count += 1
            out = self.complete(row, level, reached, cost)
            return out | {"over": self.spent >= self.limit or self.exhausted()}
        if self.open:
            start = max([self.clock, *(j[0] for j in self.jobs if j[2] == row)])
            reached, cost = self.submit(row, level)
            self.jobs.append((start + cost, self.count, row, level, reached, cost))
            self.committed += cost
            self.count += 1
            self.open = self.committed < self.limit and not self.exhausted()
            if self.open and len(self.jobs) < self.workers:
                said = {"cost": 0.0, "finished": False, "action": [row, level], "clock": self.clock}
                reward = 0.0 if isinstance(self.objective, str) else [0.0] * len(self.low)
                return {"reward": reward, "over": False, "info": said}
        job = min(self.jobs)
        self.jobs.remove(job)
        self.clock, _, row, level, reached, cost = job
        out = self.complete(row, level, reached, cost)
        out["info"] |= {"finished": True, "action": [row, level], "clock": self.clock}
        return out | {"over": not self.open and not self.jobs}


SETTINGS: dict[str, Model] = {
    "plain": Model(ONE, budget=12.0), "repeats": Model(THREE, budget=12.0), "all": Model(THREE, budget=None),
    "auto": Model(ONE, budget="auto"), "auto evaluations": Model(ONE, budget="auto", cost="evaluations", held_out=()),
    "evaluations": Model(THREE, budget=6, cost="evaluations"),
    "all evaluations": Model(ONE, budget=None, cost="evaluations", levels=3),
    "epochs": Model(THREE, budget=41, cost="epochs"), "seconds": Model(ONE, budget=12.0, cost="seconds"),
    "s": Model(ONE, budget=12.0, cost="s"), "three levels": Model(THREE, budget=15.0, levels=3),
    "one level": Model(THREE, budget=None, levels=1), "many levels": Model(ONE, budget=12.0, levels=99),
    "released": Model(THREE, budget=12.0, variant="released"),
    "released epochs": Model(ONE, budget=31.0, variant="released", cost="epochs"),
    "vector": Model(THREE, ("accuracy", "loss"), budget=12.0),
    "vector of one": Model(ONE, ("accuracy",), (), budget=12.0),
    "accuracy": Model(THREE, "accuracy", ("loss", "test"), budget=None), "late": Model(LATE, budget=None),
    "bare": Model(BARE, budget=12.0, held_out=()), "workers": Model(THREE, budget=14.0, workers=3),
    "many workers": Model(ONE, budget=14.0, workers=9),
    "workers evaluations": Model(THREE, budget=9, workers=2, cost="evaluations"),
    "workers vector": Model(THREE, ("loss", "accuracy"), budget=None, workers=2, levels=3),
}  # fmt: skip


def arguments(setting: str) -> dict[str, Any]:
    m = SETTINGS[setting]
    return {
        "name": "toy", "table": m.t, "objective": m.objective, "held_out": m.held_out, "cost": m.cost,
        "budget": m.budget, "levels": m.levels, "workers": m.workers, "variant": m.variant,
    }  # fmt: skip


def close(got: Any, expected: Any) -> None:
    """Return whether two values are equal, floats up to round-off."""
    if isinstance(expected, dict):
        assert set(got) == set(expected)
        for key in expected:
            close(got[key], expected[key])
    elif isinstance(expected, str | bool):
        assert got == expected
    else:
        assert np.asarray(got, float) == pytest.approx(np.asarray(expected, float), rel=1e-12, abs=1e-12)
