"""A model of the bandits in plain Python, and small tables to compare them on."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import draws, exact
from hpo_envs.tables.table import Metric, Provenance, Table

SOURCE = Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none")
ARMS, COLUMNS = 4, 10


def drawn() -> Table:
    """Four arms with ten evaluations each, one metric to maximise and one to minimise."""
    rng = np.random.default_rng(2)
    values = np.round(rng.uniform(1.0, 4.0, (ARMS, COLUMNS, 1, 2)), 3)
    metrics = (Metric("score", "", "max", 0.5, 10.0), Metric("loss", "", "min", -1.0, 5.0))
    return Table("toy/arms", tuple("abcd"), metrics, values, np.ones((ARMS, COLUMNS, 1)), SOURCE)


def planted() -> Table:
    """Three arms with a mean and a deviation; the last has no deviation."""
    values = np.array([[0.5, 0.1], [0.6, 0.02], [0.4, 0.0]])[:, None, None, :]
    metrics = (Metric("score", "", "max", 0.0, 1.0), Metric("deviation", "", "min", 0.0, 1.0))
    return Table("toy/planted", tuple("abc"), metrics, values, np.ones((3, 1, 1)), SOURCE)


DRAWN, PLANTED = drawn(), planted()


@dataclasses.dataclass
class Model:
    """An episode, one evaluation at a time."""

    table: Table
    objective: int = 0
    budget: int = 12
    batch: int | None = None
    replacement: bool = True
    shared: bool = False
    columns: tuple[int, ...] = tuple(range(COLUMNS))
    workers: int = 1
    durations: tuple[float, ...] = (1.0,) * ARMS

    def begin(self, seed: int, episode: int) -> None:
        self.key = draws.mix(draws.mix(seed, 0), episode)
        n = len(self.table)
        self.seen: list[list[float]] = [[] for _ in range(n)]
        self.left = self.budget
        self.submitted, self.clock = 0, 0.0
        self.jobs: list[tuple[float, int, int]] = []
        metric = self.table.metrics[self.objective]
        self.sign = metric.sign
        self.low = min(metric.sign * metric.low, metric.sign * metric.high)
        self.last = (self.low, 0.0, 1.0)

    def pull(self, arm: int, k: int) -> list[float]:
        """Metrics of the k-th pull of an arm."""
        if self.table is PLANTED:
            mean, deviation = self.table.values[arm, 0, 0]
            return [mean + deviation * exact.normal_quantile(draws.uniform(draws.mix(draws.mix(self.key, arm), k)))]
        stream, c = draws.mix(self.key, 0 if self.shared else 1 + arm), len(self.columns)
        if self.replacement:
            column = self.columns[draws.below(draws.mix(stream, k), c)]
        else:
            hashes = [(draws.mix(draws.mix(stream, k // c), j), j) for j in range(c)]
            column = self.columns[sorted(hashes)[k % c][1]]
        return self.table.values[arm, column, 0].tolist()

    def observe(self) -> np.ndarray:
        counts = [len(s) / self.budget for s in self.seen]
        means = [np.mean(s) if s else self.low for s in self.seen]
        deviations = [np.std(s) if s else 0.0 for s in self.seen]
        return np.array([*counts, *means, *deviations, *self.last])

    def evaluate(self, arms: list[int]) -> dict[str, Any]:
        pulls = []
        for arm in arms:
            pulls.append(self.pull(arm, len(self.seen[arm])))
            self.seen[arm].append(self.sign * pulls[-1][self.objective])
        values = [sum(p[j] for p in pulls) / len(arms) for j in range(len(pulls[0]))]
        self.left -= len(arms)
        reward = self.sign * values[self.objective]
        self.last = (reward, float(len(arms)), self.left / self.budget)
        names = self.table.metric_names
        said = {"cost": float(len(arms)), "metrics": dict(zip(names, values, strict=False)), "status": "ok"}
        said["status_code"] = 0
        if self.batch is not None:
            said["scores"] = [self.sign * p[self.objective] for p in pulls]
        return {"reward": reward, "over": self.left < len(arms), "info": said}

    def step(self, action: Any) -> dict[str, Any]:
        if self.workers == 1:
            return self.evaluate([int(a) for a in action] if self.batch is not None else [action])
        if self.submitted < self.budget:
            self.jobs.append((self.clock + self.durations[action], self.submitted, action))
            self.submitted += 1
            if self.submitted < self.budget and len(self.jobs) < self.workers:
                said = {"cost": 0.0, "finished": False, "action": action, "clock": self.clock}
                return {"reward": 0.0, "over": False, "info": said}
        job = min(self.jobs)
        self.jobs.remove(job)
        self.clock = job[0]
        out = self.evaluate([job[2]])
        out["info"] |= {"finished": True, "action": job[2], "clock": self.clock}
        return out


NER_SPLIT, NER_SEED = tuple(range(5, 10)), (2, 7)
SETTINGS: dict[str, tuple[str, dict[str, Any], Model]] = {
    "plain": ("tdsa8", {"budget": 12}, Model(DRAWN)),
    "loss": ("tdsa8", {"budget": 7, "objective": "loss"}, Model(DRAWN, 1, 7)),
    "batch": ("tdsa8", {"budget": 11, "batch_size": 3}, Model(DRAWN, 0, 11, 3)),
    "batch of one": ("tdsa12", {"budget": 5, "batch_size": 1, "objective": "loss"}, Model(DRAWN, 1, 5, 1)),
    "each once": ("tdsa8", {"budget": 110, "replacement": False}, Model(DRAWN, 0, 110, replacement=False)),
    "shared": ("tdsa8", {"budget": 9, "shared": True}, Model(DRAWN, 0, 9, shared=True)),
    "shared once": (
        "ner",
        {"budget": 50, "batch_size": 2, "shared": True, "replacement": False},
        Model(DRAWN, 0, 50, 2, replacement=False, shared=True),
    ),
    "one split": ("ner", {"budget": 9, "fix_split": 1}, Model(DRAWN, 0, 9, columns=NER_SPLIT)),
    "one seed": (
        "ner",
        {"budget": 9, "fix_seed": 2, "replacement": False},
        Model(DRAWN, 0, 9, replacement=False, columns=NER_SEED),
    ),
    "one run": ("ner", {"budget": 4, "fix_seed": 0, "fix_split": 0}, Model(DRAWN, 0, 4, columns=(0,))),
    "gaussian": ("gaussian", {"budget": 10, "batch_size": 2}, Model(PLANTED, 0, 10, 2)),
    "whole": ("tdsa8", {"budget": None}, Model(DRAWN, 0, ARMS * COLUMNS)),
    "workers": ("tdsa8", {"budget": 9, "workers": 3}, Model(DRAWN, 0, 9, workers=3)),
    "slow": (
        "ner",
        {"budget": 8, "workers": 2, "durations": (3.0, 1.0, 1.5, 0.25), "objective": "loss"},
        Model(DRAWN, 1, 8, workers=2, durations=(3.0, 1.0, 1.5, 0.25)),
    ),
    "more workers than budget": ("tdsa8", {"budget": 3, "workers": 5}, Model(DRAWN, 0, 3, workers=5)),
}


def arguments(setting: str) -> dict[str, Any]:
    task, kwargs, model = SETTINGS[setting]
    return {"task": task, "table": model.table, **kwargs}


def act(rng: np.random.Generator, model: Model) -> Any:
    n = len(model.table)
    return int(rng.integers(n)) if model.batch is None else rng.integers(n, size=model.batch)


def agrees(info: dict[str, Any], said: dict[str, Any]) -> None:
    for key, value in said.items():
        got = info[key]
        if key == "metrics":
            assert dict(got) == pytest.approx(value, rel=1e-14)
            assert list(got) == list(value)
        else:
            assert (got.tolist() if isinstance(got, np.ndarray) else got) == value, key
