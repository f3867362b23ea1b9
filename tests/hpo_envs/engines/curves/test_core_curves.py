"""Training by checkpoints against a model of it in plain Python, and every word of its errors.

`tests/robustness/mutation.py` shows that these tests notice nearly every change of an operator, a number, a name or
a text.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.engines.curves.batched import CurvesVectorEnv
from hpo_envs.engines.curves.params import CurveParams
from hpo_envs.engines.curves.scalar import CurvesEnv
from hpo_envs.tables import draws
from hpo_envs.tables.table import STATUSES, Hyperparameter, Metric, Provenance, Table, feature_matrix


def curves_env(*args: Any, **kwargs: Any) -> CurvesEnv:
    return CurvesEnv(CurveParams.of(*args, **kwargs))


def curves_envs(n: int, *args: Any, autoreset_mode: Any = "NextStep", copy: bool = True, **kwargs: Any) -> Any:
    return CurvesVectorEnv(n, CurveParams.of(*args, **kwargs), autoreset_mode, copy)


def params_of(table: Table, objective: Any, held_out: Any = (), **kwargs: Any) -> CurveParams:
    return CurveParams.of("toy", table=table, objective=objective, held_out=held_out, **kwargs)


SOURCE = Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none")
ROWS, LEVELS = 5, 7
METRICS = (
    Metric("loss", "nat", "min", 0.0, 20.0),
    Metric("test", "nat", "min", 0.0, 30.0),
    Metric("accuracy", "", "max", 0.0, 1.0),
)
SPACE = (Hyperparameter("layers", "int", 1, 5), Hyperparameter("optimizer", "categorical", 0, 1, values=("a", "b")))
NAN = float("nan")


def raises(message: str, error: type[Exception] = ValueError) -> Any:
    """Expects an error with exactly this message."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


def curves(repeats: int = 3, seed: int = 0, **changes: Any) -> Table:
    """Row 1 diverges after three checkpoints, row 2 fails at once, row 3 is cut at five; some rows lack repeats."""
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
        "name": "toy/curves", "keys": tuple("abcde"), "metrics": METRICS, "values": values, "cost": cost,
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


@dataclasses.dataclass
class Model:
    """What a step means, one training at a time."""

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
        """The checkpoint of the table at which a run ends."""
        known = self.known(row, c, self.t.metric(self.names[0]))
        return min(max(known - 1 + self.lost(row, c), 0), LEVELS - 1)

    def last_level(self, row: int, c: int) -> int:
        return next(i for i, g in enumerate(self.grid) if g >= self.end(row, c))

    def value(self, row: int, c: int, at: int, name: str) -> float:
        """A metric at a checkpoint of the table, past the end what the run ended with."""
        j = self.t.metric(name)
        known = self.known(row, c, j)
        if known == 0 or (self.lost(row, c) and at >= known):
            return self.t.metrics[j].worst
        return float(self.t.values[row, c, min(at, known - 1), j])

    def paid(self, row: int, c: int, level: int) -> float:
        """Cost of training up to a level, from nothing."""
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
    "plain": Model(ONE, budget=12.0),
    "repeats": Model(THREE, budget=12.0),
    "all": Model(THREE, budget=None),
    "auto": Model(ONE, budget="auto"),
    "auto evaluations": Model(ONE, budget="auto", cost="evaluations", held_out=()),
    "evaluations": Model(THREE, budget=6, cost="evaluations"),
    "all evaluations": Model(ONE, budget=None, cost="evaluations", levels=3),
    "epochs": Model(THREE, budget=41, cost="epochs"),
    "seconds": Model(ONE, budget=12.0, cost="seconds"),
    "s": Model(ONE, budget=12.0, cost="s"),
    "three levels": Model(THREE, budget=15.0, levels=3),
    "one level": Model(THREE, budget=None, levels=1),
    "many levels": Model(ONE, budget=12.0, levels=99),
    "released": Model(THREE, budget=12.0, variant="released"),
    "released epochs": Model(ONE, budget=31.0, variant="released", cost="epochs"),
    "vector": Model(THREE, ("accuracy", "loss"), budget=12.0),
    "vector of one": Model(ONE, ("accuracy",), (), budget=12.0),
    "accuracy": Model(THREE, "accuracy", ("loss", "test"), budget=None),
    "late": Model(LATE, budget=None),
    "bare": Model(BARE, budget=12.0, held_out=()),
    "workers": Model(THREE, budget=14.0, workers=3),
    "many workers": Model(ONE, budget=14.0, workers=9),
    "workers evaluations": Model(THREE, budget=9, workers=2, cost="evaluations"),
    "workers vector": Model(THREE, ("loss", "accuracy"), budget=None, workers=2, levels=3),
}


def arguments(setting: str) -> dict[str, Any]:
    m = SETTINGS[setting]
    return {
        "name": "toy", "table": m.t, "objective": m.objective, "held_out": m.held_out, "cost": m.cost,
        "budget": m.budget, "levels": m.levels, "workers": m.workers, "variant": m.variant,
    }  # fmt: skip


def close(got: Any, expected: Any) -> None:
    """Equal, floats to the last digits."""
    if isinstance(expected, dict):
        assert set(got) == set(expected)
        for key in expected:
            close(got[key], expected[key])
    elif isinstance(expected, str | bool):
        assert got == expected
    else:
        assert np.asarray(got, float) == pytest.approx(np.asarray(expected, float), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("setting", SETTINGS)
def test_scalar_form_is_the_model(setting: str) -> None:
    env, model, rng = curves_env(**arguments(setting)), SETTINGS[setting], np.random.default_rng(0)
    assert env.action_space == gym.spaces.MultiDiscrete([ROWS, len(env.levels)])
    for seed, episode in ((3, 1), (None, 2)):
        model.begin(seed or 3, episode)
        observation, info = env.reset(seed=seed)
        assert env.budget == pytest.approx(model.limit)
        assert env.levels.tolist() == model.t.levels[model.grid].tolist()
        assert observation.dtype == np.float32
        assert observation == pytest.approx(np.array(model.last), rel=1e-6, abs=1e-7)
        assert (info["table"], info["sha256"]) == (model.t.name, model.t.provenance.sha256)
        assert info["action_mask"].tolist() == [1] * (ROWS + len(model.grid))
        assert (env.best, env.best_held_out, env.clock, env.total_cost) == (None, {}, 0.0, 0.0)
        over = False
        while not over:
            action = np.array([rng.integers(ROWS), rng.integers(len(model.grid))])
            expected = model.step(*action.tolist())
            observation, reward, over, truncated, info = env.step(action)
            close(reward, expected["reward"])
            assert (over, truncated) == (expected["over"], False)
            assert type(over) is bool
            mask = info.pop("action_mask")
            assert mask.dtype == np.int8
            assert mask.astype(bool).tolist() == env.action_masks().tolist() == model.mask()
            close(info, expected["info"])
            assert observation == pytest.approx(np.array(model.last), rel=1e-6, abs=1e-6)
            assert env.observation_space.contains(observation)
            assert env.total_cost == pytest.approx(model.spent)
            assert env.clock == pytest.approx(model.clock if model.workers > 1 else model.spent)
            assert env.best == model.best_cell
            if model.best_cell:
                row, at = model.best_cell
                close(env.best_held_out, {n: model.value(row, model.repeat(row), at, n) for n in model.held_out})
            for row in range(ROWS):
                if model.reached[row] < 0:
                    with raises(f"row must have been trained in this episode, got {row}"):
                        env.curve(row)
                else:
                    seen = range(model.reached[row] + 1)
                    c = model.repeat(row)
                    values = {n: [model.value(row, c, model.grid[k], n) for k in seen] for n in model.shown}
                    close(env.curve(row), values)
            # What a step returned is the caller's.
            observation[:] = 9
            for part in ("metrics", "config", "held_out"):
                for key in info.get(part, {}):
                    info[part][key] = -1.0
            mask[:] = 0
            if isinstance(reward, np.ndarray):
                reward[:] = 9
                if "best" in info:
                    info["best"][:] = 9
        with pytest.raises(gym.error.ResetNeeded):
            env.step(action)


@pytest.mark.parametrize(
    ("setting", "copy"), [*((s, True) for s in SETTINGS), ("plain", False), ("vector", False), ("workers", False)]
)
def test_batched_form_is_the_model(setting: str, copy: bool) -> None:
    n = 3
    envs, rng = curves_envs(n, **arguments(setting), copy=copy), np.random.default_rng(1)
    models = [dataclasses.replace(SETTINGS[setting]) for _ in range(n)]
    for i, model in enumerate(models):
        model.begin(5 + i, 1)
    observation, info = envs.reset(seed=5)
    assert observation == pytest.approx(np.array([m.last for m in models]), rel=1e-6, abs=1e-7)
    assert info["table"].tolist() == [models[0].t.name] * n
    assert info["sha256"].tolist() == [models[0].t.provenance.sha256] * n
    assert envs.budget == pytest.approx(models[0].limit)
    assert envs.levels.tolist() == models[0].t.levels[models[0].grid].tolist()
    if models[0].held_out:
        assert all(np.isnan(v).all() for v in envs.best_held_out.values())
    episodes, ended, held = [1] * n, [False] * n, observation
    for _ in range(28):
        before = held.copy()
        actions = np.stack([rng.integers(ROWS, size=n), rng.integers(len(models[0].grid), size=n)], axis=1)
        observation, reward, terminated, truncated, info = envs.step(actions)
        assert (observation is held) != copy
        if copy:
            assert np.array_equal(held, before), "what was handed out stays as it was"
        held = observation
        assert observation.dtype == np.float32
        assert reward.dtype == np.float64
        assert not truncated.any()
        for i, model in enumerate(models):
            if ended[i]:
                episodes[i] += 1
                model.begin(5 + i, episodes[i])
                ended[i] = False
                assert np.all(reward[i] == 0.0)
                assert not terminated[i]
                assert observation[i] == pytest.approx(np.array(model.last), rel=1e-6, abs=1e-7)
                continue
            expected = model.step(*actions[i].tolist())
            ended[i] = expected["over"]
            close(reward[i], expected["reward"])
            assert terminated[i] == expected["over"]
            assert observation[i] == pytest.approx(np.array(model.last), rel=1e-6, abs=1e-6)
            for key, value in expected["info"].items():
                got = {k: v[i] for k, v in info[key].items()} if isinstance(value, dict) else info[key][i]
                if key == "config":
                    assert got == value
                else:
                    close(got, value)
            assert envs.action_masks()[i].tolist() == model.mask()
            assert envs.total_cost[i] == pytest.approx(model.spent)
            if model.best_cell:
                row, at = model.best_cell
                best = {k: v[i] for k, v in envs.best_held_out.items()}
                close(best, {k: model.value(row, model.repeat(row), at, k) for k in model.held_out})
        reward[:] = 9  # the caller's
        envs.total_cost[:] = 9
    assert max(episodes) >= 2 or setting in ("all", "all evaluations", "accuracy", "auto", "workers vector", "late")


def test_what_is_prepared() -> None:
    p = params_of(THREE, ("accuracy", "loss"), ("test",), levels=3)
    assert p.wide is params_of(curves(), ["accuracy", "loss"], ("test",), levels=3).wide
    assert p.levels.tolist() == [1.0, 3.0, 20.0]
    assert (p.rows, p.repeats, p.objectives, p.shown, p.held_out) == (
        ROWS, 3, ("accuracy", "loss"), ("loss", "accuracy"), ("test",)
    )  # fmt: skip
    assert p.count.tolist() == [3, 3, 1, 3, 2]
    assert (p.low.tolist(), p.high.tolist()) == ([0, -20], [1, 0])
    assert (p.cost_unit, p.cost_at) == ("s", 6)
    space = p.observation_space
    assert space.dtype == np.float32
    assert space.low.tolist() == [0, 0, 0, 0, 0, -20, 0, 0, -20, 0]
    assert space.high.tolist() == [1, 1, 1, 1, 1, 0, 1e9, 1, 0, 1]
    for array in (p.costs, p.wide, p.rewards, p.peaks, p.peak_levels, p.seen, p.hidden, p.peak_hidden, p.status):
        assert not array.flags.writeable
    assert p.status.dtype == np.uint8
    full = p.full()
    assert full.shape == (ROWS, 3)
    assert np.isnan(full).tolist() == [[k >= count for k in range(3)] for count in p.count]
    assert full[0].tolist() == THREE.cost[0, :, -1].tolist()
    assert p.whole() == pytest.approx(np.nanmax(full, axis=1).sum())
    assert p.budget_of(7) == pytest.approx(7 * np.nanmean(full))
    per_step = params_of(THREE, "loss", cost="evaluations", levels=3)
    assert (per_step.whole(), per_step.budget_of(7), per_step.cost_unit) == (15.0, 7.0, "evaluations")
    assert params_of(THREE, "loss", cost="epochs").cost_unit == "epochs"
    assert params_of(THREE, "loss", cost="seconds").cost_unit == "s"
    assert params_of(THREE, "loss").shown == ("loss", "test", "accuracy")
    env = curves_env("toy", table=THREE, objective="loss", held_out=["test"])
    assert env.reward_bounds.tolist() == [[-20.0, 0.0]]
    assert (env.objectives, env.cost_unit, env.workers, env.budget) == (
        ("loss",), "s", 1, pytest.approx(20 * np.nanmean(params_of(THREE, "loss").full()))
    )  # fmt: skip
    both = curves_env("toy", table=THREE, objective=("accuracy", "loss"))
    many = curves_envs(2, "toy", table=THREE, objective=("accuracy", "loss"))
    for e in (both, many):
        assert (e.reward_dim, e.reward_space) == (2, gym.spaces.Box(p.low, p.high, dtype=np.float64))
        assert e.reward_bounds.tolist() == [[0.0, 1.0], [-20.0, 0.0]]
        assert (e.cost_unit, e.objectives, e.workers) == ("s", ("accuracy", "loss"), 1)
    assert many.metadata["autoreset_mode"] is gym.vector.AutoresetMode.NEXT_STEP
    assert many.copy is True


WORDS: list[tuple[dict[str, Any], str]] = [
    ({"variant": "papers"}, "variant must be one of paper, released, got 'papers', did you mean 'paper'?"),
    ({"variant": "x"}, "variant must be one of paper, released, got 'x'"),
    ({"levels": 0}, "levels must be None or an int >= 1, got 0"),
    ({"levels": True}, "levels must be None or an int >= 1, got True"),
    ({"levels": 1.5}, "levels must be None or an int >= 1, got 1.5"),
    ({"cost": 3}, "cost must be None or the name of a unit, got 3"),
    ({"cost": "epoch"}, "cost must be one of seconds, epochs, evaluations, got 'epoch', did you mean 'epochs'?"),
    ({"cost": "x"}, "cost must be one of seconds, epochs, evaluations, got 'x'"),
    ({"objective": "test"}, "objective must be one of loss, accuracy, got 'test'"),
    ({"objective": "los"}, "objective must be one of loss, accuracy, got 'los', did you mean 'loss'?"),
    ({"objective": ("loss", "x")}, "objective must be one of loss, accuracy, got 'x'"),
    ({"objective": ()}, "objective must name at least one metric of loss, accuracy, got ()"),
    ({"objective": 3}, "objective must be the name of a metric or a tuple of names, got 3"),
    (
        {"held_out": ("tests",)},
        "metric must be one of loss, test, accuracy in table toy/curves, got 'tests', did you mean 'test'?",
    ),
    ({"workers": 0}, "workers must be an int >= 1, got 0"),
    ({"workers": True}, "workers must be an int >= 1, got True"),
    ({"workers": np.True_}, f"workers must be an int >= 1, got {np.True_!r}"),
    ({"workers": 1.5}, "workers must be an int >= 1, got 1.5"),
    ({"budget": "all"}, "budget must be 'auto', None or a number > 0, got 'all'"),
    ({"budget": 0}, "budget must be None or a finite number > 0 (s), got 0"),
]


@pytest.mark.parametrize(("kwargs", "message"), WORDS)
def test_words_about_settings(kwargs: dict[str, Any], message: str) -> None:
    given = {"table": THREE, "objective": "loss", "held_out": ("test",), **kwargs}
    with raises(message):
        curves_env("toy", **given)
    with raises(message):
        curves_envs(2, "toy", **given)


def test_what_is_meant_unless_told_otherwise() -> None:
    name, objective = "nmtlc/swen", "log_perplexity"
    for env in (curves_env(name, objective=objective), curves_envs(1, name, objective=objective)):
        p = params_of(env.table, objective)
        assert env.table.name == name
        assert (env.cost_unit, env.workers, env.budget) == (env.table.cost_unit, 1, p.budget_of(20))
        assert env.levels.tolist() == env.table.levels.tolist()
        env.reset(seed=0)
    assert "held_out" not in env.step(np.array([[0, 0]]))[-1]


def test_words_about_units() -> None:
    with raises("cost must be one of min, epochs, evaluations, got 'x'"):
        params_of(curves(cost_unit="min"), "loss", cost="x")
    assert params_of(curves(cost_unit="min"), "loss", cost="min").cost_unit == "min"


def test_numbers_of_numpy_are_ints_too() -> None:
    env = curves_env("toy", table=THREE, objective="loss", levels=np.int8(3), workers=np.int64(2))
    assert (len(env.levels), env.workers, type(env.workers)) == (3, 2, int)


def test_words_about_actions() -> None:
    env = curves_env("toy", table=ONE, objective="loss", budget=None)
    env.reset(seed=0)
    for action in (
        [5, 0], [0, 7], [-1, 0], [0, -1], 3, [0], [0, 0, 0], [0.0, 1.0], "ab", None, np.array([0.0, 1.0]), [True, 0],
        np.array([[0, 1]]), [0, True],
    ):  # fmt: skip
        with raises(f"action must be two ints, a row below 5 and a level below 7, got {action!r}"):
            env.step(action)
    for action in ([0, 0], (0, 1), [np.int8(0), np.uint64(2)], np.array([4, 6], np.uint8), np.array([4, 6])):
        env.step(action)
    envs = curves_envs(2, "toy", table=ONE, objective="loss")
    envs.reset(seed=0)
    for actions, message in (
        ([0, 1], "actions must be ints of shape (2, 2), got shape (2,) and dtype int64"),
        ([[0.0, 1.0]] * 2, "actions must be ints of shape (2, 2), got shape (2, 2) and dtype float64"),
        ([[0, 1], [5, 0]], "actions must be pairs below [5, 7] and >= 0, got [5, 0]"),
        ([[0, 1], [0, 7]], "actions must be pairs below [5, 7] and >= 0, got [0, 7]"),
        ([[-1, 1], [0, 7]], "actions must be pairs below [5, 7] and >= 0, got [-1, 1]"),
    ):
        with raises(message):
            envs.step(actions)
    envs.step(np.array([[4, 6], [0, 0]], np.uint8))


def test_an_observed_cost_is_capped() -> None:
    dear = curves(1, cost=np.full((ROWS, 1, LEVELS), 2e9))
    env = curves_env("toy", table=dear, objective="loss", budget=1e12)
    envs = curves_envs(1, "toy", table=dear, objective="loss", budget=1e12)
    env.reset(seed=0)
    envs.reset(seed=0)
    one, _, _, _, info = env.step([0, 0])
    many, _, _, _, batched = envs.step([[0, 0]])
    assert one[-3] == many[0, -3] == np.float32(1e9)
    assert info["cost"] == batched["cost"][0] == 2e9
