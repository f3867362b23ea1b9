"""The core against a model of it in plain Python, its constants, and every word of its errors.

`tests/robustness/mutation.py` shows that these tests notice nearly every change of an operator, a number, a name or
a text.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.benchmarks.analysis import statistics, targets
from hpo_envs.core import infos
from hpo_envs.core.loading import ByHash, load_tables
from hpo_envs.core.params import check_budget
from hpo_envs.engines.lookup.batched import LookupVectorEnv
from hpo_envs.engines.lookup.params import LookupParams, choices_of, grid_sizes
from hpo_envs.engines.lookup.scalar import LookupEnv
from hpo_envs.tables import draws
from hpo_envs.tables import table as tables
from hpo_envs.tables.table import Hyperparameter, Metric, Provenance, Table

NAN = float("nan")


def lookup(*args: Any, **kwargs: Any) -> LookupEnv:
    return LookupEnv(LookupParams.of(*args, **kwargs))


def lookups(n: int, *args: Any, autoreset_mode: Any = AutoresetMode.NEXT_STEP, copy: bool = True, **kwargs: Any) -> Any:
    return LookupVectorEnv(n, LookupParams.of(*args, **kwargs), autoreset_mode, copy)


def params_of(tables_: Any, objective: Any, cost: Any) -> LookupParams:
    return LookupParams.of((), table=tables_, objective=objective, cost=cost, budget=None)


SOURCE = Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none")
METRICS = (Metric("score", "points", "max", 0.0, 10.0), Metric("seconds", "s", "min", 0.0, 100.0))
SPACE = (
    Hyperparameter("layers", "int", 1, 2, values=(1, 2)),
    Hyperparameter("optimizer", "categorical", 0, 2, values=("adam", "sgd", "none")),
)


def raises(message: str, error: type[Exception] = ValueError) -> Any:
    """Expects an error with exactly this message."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


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


# -- randomness --------------------------------------------------------------------------------------------------------


def test_noise_is_these_numbers() -> None:
    """Saved runs depend on them."""
    known = {
        (0, 0): 0x48218226FF3CD4BF,
        (1, 2): 0xB56E5DD1E0C45A68,
        (18446744073709551615, 7): 0xBF72EF20113768DE,
        (123456789, 987654321): 0xEB82A06BC268BAD4,
    }
    for (key, counter), bits in known.items():
        assert draws.mix(key, counter) == bits
        assert draws.mix_many(np.array([key], np.uint64), counter).tolist() == [bits]
    assert draws.uniform(0) == 2.0**-54
    assert draws.uniform(2**64 - 1) == 1.0 - 2.0**-53 < 1.0
    assert draws.uniform(1 << 62) == 0.25 + 2.0**-54
    assert [draws.below(2**64 - 1, 7), draws.below(1 << 63, 10), draws.below(0, 5)] == [6, 5, 0]
    bits_ = np.array([0, 1 << 63, 2**64 - 1, 0x123456789ABCDEF0], np.uint64)
    assert draws.uniform_many(bits_).tolist() == [draws.uniform(int(b)) for b in bits_]
    assert draws.below_many(bits_, 2**21 - 1).tolist() == [draws.below(int(b), 2**21 - 1) for b in bits_]
    assert draws.below_many(bits_, 7).dtype == np.int64
    keys = np.arange(5, dtype=np.uint64)
    assert draws.mix_many(keys, np.arange(5)).tolist() == [draws.mix(k, k) for k in range(5)]


# -- a model of the look-up environments -------------------------------------------------------------------------------


@dataclasses.dataclass
class Model:
    """What a step means, one evaluation at a time, in plain Python."""

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


@pytest.mark.parametrize("setting", SETTINGS)
def test_scalar_form_is_the_model(setting: str) -> None:
    env = lookup((), **arguments(setting))
    model, rng = Model(*SETTINGS[setting]), np.random.default_rng(0)
    vector = not isinstance(model.objective, str)
    for seed, episode, options in [(3, 1, None), (None, 2, None), (None, 3, None), (8, 1, None), (8, 1, "last")]:
        last = len(model.tables) - 1
        given = {"table": model.tables[last].name[4:]} if options and last else None
        model.begin(
            8 if seed is None and episode > 3 else (3 if seed is None else seed), episode, last if given else None
        )
        observation, info = env.reset(seed=seed, options=given)
        assert observation.dtype == np.float32
        assert observation.tolist() == model.first().tolist()
        assert {k: info[k] for k in ("table", "kind", "sha256")} == model.says()
        assert env.table is model.table
        assert env.tables == tuple(model.tables)
        assert env.budget == model.limit
        mask = np.ones(6, np.int8)
        assert ("action_mask" in info) != model.grid
        over = False
        while not over:
            row = int(rng.integers(6))
            expected, rewards, over, said = model.step(row)
            observation, reward, terminated, truncated, info = env.step(act(row, model.grid))
            assert observation.tolist() == expected.tolist()
            assert (reward.tolist() if vector else [reward]) == rewards
            assert vector or type(reward) is float
            assert (terminated, truncated) == (over, False)
            mask[row] = 0
            if not model.grid:
                assert info.pop("action_mask").tolist() == mask.tolist()
                assert env.action_masks().tolist() == mask.astype(bool).tolist()
                assert env.action_masks().dtype == bool
            assert info == said
            assert env.observation_space.contains(observation)
            # What a step returned is the caller's.
            info["metrics"]["score"] = info["config"]["layers"] = -1
            observation[:] = 9
            if vector:
                reward[:] = 9
        with raises(
            "step() must follow reset(): no episode is running. Call env.reset() first.", gym.error.ResetNeeded
        ):
            env.step(act(0, model.grid))


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("setting", SETTINGS)
def test_batched_form_is_the_model(setting: str, mode: AutoresetMode, copy: bool) -> None:
    n = 3
    envs = lookups(n, (), **arguments(setting), autoreset_mode=mode, copy=copy)
    models, rng = [Model(*SETTINGS[setting]) for _ in range(n)], np.random.default_rng(1)
    vector = not isinstance(models[0].objective, str)
    seeds, episodes = [5, 6, 7], [1, 1, 1]
    for m, s in zip(models, seeds, strict=True):
        m.begin(s, 1)
    observations, info = envs.reset(seed=5)
    assert observations.tolist() == [m.first().tolist() for m in models]
    check_start(info, models, [True] * n)
    ended = [False] * n
    for _ in range(40):
        rows = rng.integers(6, size=n)
        if mode is AutoresetMode.DISABLED and any(ended):
            where = [i for i in range(n) if ended[i]]
            message = (
                f"environments {where} have ended and autoreset is disabled: call "
                "envs.reset(options={'reset_mask': ended}) first."
            )
            with raises(message, gym.error.ResetNeeded):
                envs.step(np.stack([act(int(r), models[0].grid) for r in rows]))
            for i in where:
                episodes[i] += 1
                models[i].begin(seeds[i], episodes[i])
            observations, info = envs.reset(options={"reset_mask": np.array(ended)})
            for i in where:
                assert observations[i].tolist() == models[i].first().tolist()
            check_start(info, models, ended)
            ended = [False] * n
        before = [list(m.pulls) for m in models]
        observations, rewards, terminated, truncated, info = envs.step(
            np.stack([act(int(r), models[0].grid) for r in rows])
        )
        assert truncated.tolist() == [False] * n
        started = [False] * n
        reported = [True] * n
        for i, model in enumerate(models):
            if ended[i] and mode is AutoresetMode.NEXT_STEP:
                episodes[i] += 1
                model.begin(seeds[i], episodes[i])
                started[i], reported[i] = True, False
                assert observations[i].tolist() == model.first().tolist()
                assert np.all(rewards[i] == 0.0)
                assert not terminated[i]
                ended[i] = False
                continue
            expected, reward, over, said = model.step(int(rows[i]))
            assert (rewards[i].tolist() if vector else [float(rewards[i])]) == reward
            assert bool(terminated[i]) == over
            ended[i] = over
            source, masks = info, info
            if over and mode is AutoresetMode.SAME_STEP:
                assert info["final_obs"][i].tolist() == expected.tolist()
                assert info["_final_obs"][i]
                assert info["_final_info"][i]
                source = masks = info["final_info"]
                episodes[i] += 1
                model.begin(seeds[i], episodes[i])
                expected = model.first()
                started[i], reported[i], ended[i] = True, False, False
            assert observations[i].tolist() == expected.tolist()
            got = {
                "cost": source["cost"][i],
                "metrics": {k: float(v[i]) for k, v in source["metrics"].items()},
                "status": source["status"][i],
                "config": {k: v[i] for k, v in source["config"].items()},
            }
            assert got == said
            assert masks["_cost"][i]
            assert masks["_metrics"][i]
        assert rewards.dtype == np.float64
        for key in ("cost", "metrics", "status", "config"):
            if all(started) and mode is AutoresetMode.NEXT_STEP:
                assert key not in info
                continue
            assert info["_" + key].tolist() == reported
            blank = [i for i in range(n) if not reported[i]]
            for values in info[key].values() if isinstance(info[key], dict) else [info[key]]:
                assert all(values[i] in (0, "", None) for i in blank)
        check_start(info, models, started)
        if not models[0].grid:
            masks_ = envs.action_masks()
            assert masks_.tolist() == [[p == 0 for p in m.pulls] for m in models]
            assert masks_.dtype == bool
        assert envs.table is models[0].table
        assert len(before) == n


def check_start(info: dict[str, Any], models: list[Model], started: list[bool]) -> None:
    """`table`, `kind` and `sha256` are said of the episodes that begin, and of no other."""
    for key in ("table", "kind", "sha256"):
        if not any(started):
            assert key not in info
            continue
        assert info["_" + key].tolist() == started
        assert [info[key][i] for i in range(len(models))] == [
            m.says()[key] if s else None for m, s in zip(models, started, strict=True)
        ]


def test_options_choose_the_table_of_every_episode() -> None:
    envs = lookups(4, (), **arguments("two tables"))
    for i, name in enumerate(("one", "two")):
        _, info = envs.reset(seed=0, options={"table": name})
        assert info["table"].tolist() == [f"toy/{name}"] * 4
        assert envs.table is (ONE, TWO)[i]
    assert envs.tables == (ONE, TWO)
    with raises("options['table'] must be one of one, two, got 'too', did you mean 'two'?"):
        envs.reset(options={"table": "too"})


def test_seeds_of_a_batch() -> None:
    def first_rewards(**kwargs: Any) -> list[float]:
        envs.reset(**kwargs)
        return [float(r) for _ in range(3) for r in envs.step(np.array([1, 1, 1]))[1]]

    envs = lookups(3, (), **arguments("repeats"))
    base = first_rewards(seed=4)
    assert first_rewards(seed=[4, 5, 6]) == base
    assert first_rewards(seed=np.array([4, 5, 6])) == base
    assert envs.np_random_seed == 4
    follow = first_rewards()
    assert first_rewards(seed=4) == base
    assert first_rewards(seed=[None, 5, None])[1::3] == base[1::3]
    first_rewards(seed=4)
    assert first_rewards(seed=[None, None, None]) == follow
    big = 2**64 + 4  # the lowest 64 bits count, as in the scalar form
    assert first_rewards(seed=big) == base
    for seed, message in (
        (-1, "seed must be an int >= 0, got -1"),
        (True, "seed must be an int >= 0, got True"),
        ([1, 2, -3], "seed must be an int >= 0, got -3"),
        ([1, 2, 1.5], "seed must be an int >= 0, got 1.5"),
        ([1, 2], "seed must be an int or have length num_envs=3, got 2"),
        ("abc", "seed must be None, an int >= 0 or 3 of them, got 'abc'"),
        (1.5, "seed must be None, an int >= 0 or 3 of them, got 1.5"),
    ):
        with raises(message):
            envs.reset(seed=seed)


def test_unseeded_episodes_differ() -> None:
    env = lookup((), **arguments("repeats"))
    seen = set()
    for _ in range(12):
        env.reset()
        seen.add(tuple(env.step(1)[1] for _ in range(5)))
    assert len(seen) > 3
    other = lookup((), **arguments("repeats"))
    other.reset()
    assert other._stream != env._stream
    envs = lookups(20, (), **arguments("repeats"))
    envs.reset()
    assert len({tuple(envs.step(np.ones(20, int))[1][i] for _ in range(1)) for i in range(20)}) > 1
    assert len(set(envs._streams.tolist())) == 20


ACTIONS = [
    ("plain", -1, "action must be an int in [0, 6), got -1"),
    ("plain", 6, "action must be an int in [0, 6), got 6"),
    ("plain", "x", "action must be an int in [0, 6), got 'x'"),
    ("plain", np.array([1]), "action must be an int in [0, 6), got array([1])"),
    ("plain", 1.0, "action must be an int in [0, 6), got 1.0"),
    ("grid", 3, "action must be 2 ints below [2, 3], got 3"),
    ("grid", [0], "action must be 2 ints below [2, 3], got [0]"),
    ("grid", [0.0, 1.0], "action must be 2 ints below [2, 3], got [0.0, 1.0]"),
    ("grid", [0, 3], "action must be ints in [0, n) with n = [2, 3], got [0, 3]"),
    ("grid", [-1, 0], "action must be ints in [0, n) with n = [2, 3], got [-1, 0]"),
]


@pytest.mark.parametrize(("setting", "action", "message"), ACTIONS)
def test_words_about_actions(setting: str, action: Any, message: str) -> None:
    env = lookup((), **arguments(setting))
    env.reset(seed=0)
    with raises(message):
        env.step(action)


def test_actions_of_any_integer_type() -> None:
    env = lookup((), **arguments("plain"))
    for action in (2, np.int8(2), np.uint64(2), np.array(2), np.array(2, np.uint8)):
        env.reset(seed=0)
        assert env.step(action)[1] == SINGLE.values[2, 0, 1, 0]
    envs = lookups(2, (), **arguments("plain"))
    for actions in ([2, 5], (2, 5), np.array([2, 5], np.uint8), np.array([2, 5], np.int32), np.array([2, 5])):
        envs.reset(seed=0)
        assert envs.step(actions)[1].tolist() == [SINGLE.values[2, 0, 1, 0], 0.0]


@pytest.mark.parametrize(
    ("setting", "actions", "message"),
    [
        ("plain", [0], "actions must be ints of shape (2,), got shape (1,) and dtype int64"),
        ("plain", [0.0, 1.0], "actions must be ints of shape (2,), got shape (2,) and dtype float64"),
        ("plain", [0, 6], "actions must be ints in [0, 6), got 6"),
        ("plain", np.array([0, 6]), "actions must be ints in [0, 6), got 6"),
        ("plain", np.array([-1, 0]), "actions must be ints in [0, 6), got -1"),
        ("grid", [0, 0], "actions must be ints of shape (2, 2), got shape (2,) and dtype int64"),
        ("grid", [[0, 0], [0, 3]], "actions must be ints in [0, [2 3]), got [0 3]"),
        ("grid", [[0, -1], [0, 0]], "actions must be ints in [0, [2 3]), got [ 0 -1]"),
    ],
)
def test_words_about_batches_of_actions(setting: str, actions: Any, message: str) -> None:
    envs = lookups(2, (), **arguments(setting))
    with raises("step() must follow reset(). Call envs.reset() first.", gym.error.ResetNeeded):
        envs.step([0, 0])
    envs.reset(seed=0)
    with raises(message):
        envs.step(actions)


@pytest.mark.parametrize("setting", SETTINGS)
def test_spaces_of_both_forms(setting: str) -> None:
    one, many = lookup((), **arguments(setting)), lookups(2, (), **arguments(setting))
    tables_, objective, cost, _, grid = SETTINGS[setting]
    names = (objective,) if isinstance(objective, str) else objective
    p = params_of(tuple(tables_), objective, cost)
    action_space = gym.spaces.MultiDiscrete([2, 3]) if grid else gym.spaces.Discrete(6)
    for env, spaces in (
        (one, (one.action_space, one.observation_space)),
        (many, (many.single_action_space, many.single_observation_space)),
    ):
        assert spaces == (action_space, p.observation_space)
        assert (env.cost_unit, env.objectives, env.reward_dim) == (p.cost_unit, names, len(names))
        assert env.reward_bounds.tolist() == np.stack([p.low, p.high], axis=1).tolist()
        if not isinstance(objective, str):
            assert env.reward_space == gym.spaces.Box(p.low, p.high, dtype=np.float64)
            assert env.reward_space.dtype == np.float64


def test_what_is_meant_unless_told_otherwise() -> None:
    names = ("nmthpo/swen",)
    one, many = lookup(names), lookups(1, names)
    for env in (one, many):
        assert env.table.name == "nmthpo/swen"
        assert (env.objectives, env.cost_unit, env.budget) == (("bleu",), "evaluations", 20.0)
        env.reset(seed=0)
    assert one.action_space == many.single_action_space == gym.spaces.Discrete(len(one.table))
    assert many.copy
    assert many.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    for make in (lookup, lambda *a, **k: lookups(1, *a, **k)):
        with raises("budget must be None or an int >= 1 (evaluations), got 1.5"):
            make((), table=ONE, objective="score", budget=1.5)
        with raises("budget must be None or a finite number > 0 (s), got -1"):
            make((), table=ONE, objective="score", cost="s", budget=-1)


def test_a_grid_has_no_mask() -> None:
    for env in (lookup((), **arguments("grid")), lookups(2, (), **arguments("grid"))):
        env.reset(seed=0)
        with raises("action_masks: there is no useful mask of hyperparameter values", AttributeError):
            env.action_masks()


def test_words_about_the_shell() -> None:
    plain = arguments("plain")
    for n in (0, -1, True, 1.5, "2"):
        with raises(f"num_envs must be an int >= 1, got {n!r}"):
            lookups(n, (), **plain)
    assert lookups(np.int64(1), (), **plain).num_envs == 1
    with raises("autoreset_mode must be one of NextStep, SameStep, Disabled, got 'never'"):
        lookups(1, (), **plain, autoreset_mode="never")
    envs = lookups(2, (), **plain)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert envs.single_action_space == gym.spaces.Discrete(6)
    assert envs.action_space.shape == (2,)
    assert envs.observation_space.shape == (2, *envs.single_observation_space.shape)
    for mask, rule in (
        (np.array([True]), "a bool array of shape (2,), got array([ True])"),
        ([True, False], "a bool array of shape (2,), got [True, False]"),
        (np.array([1, 0]), "a bool array of shape (2,), got array([1, 0])"),
    ):
        with raises(f"reset_mask must be {rule}"):
            envs.reset(options={"reset_mask": mask})
    with raises("reset_mask must have at least one True, got none"):
        envs.reset(options={"reset_mask": np.array([False, False])})


def test_a_copy_is_the_callers() -> None:
    for copy in (True, False):
        envs = lookups(2, (), **arguments("plain"), copy=copy)
        first, _ = envs.reset(seed=0)
        second = envs.step([0, 1])[0]
        assert (first is second) != copy
        assert envs.copy is copy


@pytest.mark.parametrize(
    ("budget", "unit", "message"),
    [
        (True, "s", "budget must be None or a number > 0, got True"),
        ("3", "s", "budget must be None or a number > 0, got '3'"),
        (0, "s", "budget must be None or a finite number > 0 (s), got 0"),
        (-2.5, "s", "budget must be None or a finite number > 0 (s), got -2.5"),
        (float("inf"), "s", "budget must be None or a finite number > 0 (s), got inf"),
        (1.5, "evaluations", "budget must be None or an int >= 1 (evaluations), got 1.5"),
    ],
)
def test_words_about_budgets(budget: Any, unit: str, message: str) -> None:
    with raises(message):
        check_budget(budget, 9.0, unit)


def test_budgets() -> None:
    assert check_budget(None, 9.0, "s") == 9.0
    assert [check_budget(b, 9.0, "s") for b in (2, 0.5, np.float32(0.25), np.int8(3))] == [2.0, 0.5, 0.25, 3.0]
    assert type(check_budget(np.int8(3), 9.0, "evaluations")) is float
    assert check_budget(1.0, 9.0, "evaluations") == 1.0


# -- what the environments read ----------------------------------------------------------------------------------------


def test_words_about_tables_and_metrics() -> None:
    for given in (3, (), [1], None):
        with raises(f"table must be one of auto, measured, surrogate or a Table, got {given!r}"):
            load_tables((), given)
    assert load_tables((), ONE) == (ONE,)
    assert load_tables((), [ONE, TWO]) == (ONE, TWO)
    for objective, message in (
        ((), "objective must name at least one metric of score, seconds, got ()"),
        ("scor", "objective must be one of score, seconds, got 'scor', did you mean 'score'?"),
        (3, "objective must be the name of a metric or a tuple of names, got 3"),
        (("score", 3), "objective must be the name of a metric or a tuple of names, got ('score', 3)"),
    ):
        with raises(message):
            params_of((ONE,), objective, "evaluations")
    for cost, message in (
        ("secnds", "cost must be one of evaluations, score, seconds, got 'secnds', did you mean 'seconds'?"),
        ("score", "cost must be evaluations or a metric to be kept low, got 'score'"),
        (None, "cost must be evaluations or the name of a metric, got None"),
    ):
        with raises(message):
            params_of((ONE,), "score", cost)
    with raises("tables must share space, rows and metrics, got toy/one and toy/single"):
        params_of((ONE, SINGLE), "score", "evaluations")
    for change in (
        {"metrics": (METRICS[0], dataclasses.replace(METRICS[1], high=99.0))},
        {"space": (SPACE[0], dataclasses.replace(SPACE[1], values=("adam", "sgd", "lion")))},
    ):
        with raises("tables must share space, rows and metrics, got toy/one and toy/two"):
            params_of((ONE, tiny(name="toy/two", **change)), "score", "evaluations")


def test_prepared_arrays() -> None:
    p = params_of((ONE, TWO), ["score"], "evaluations")
    assert p.rewards is params_of((tiny(), TWO), ("score",), "evaluations").rewards
    assert p.rewards is not params_of((TWO, ONE), ("score",), "evaluations").rewards
    assert p.objectives == ("score",)
    assert p.labels == ("one", "two")
    assert p.repeats.tolist() == [2, 2, 2, 2, 2, 1] * 2
    assert p.repeats.dtype == np.int64
    assert (p.rows, p.max_repeats, p.cost_unit) == (6, 2, "evaluations")
    assert p.budget == 12.0
    assert p.low.tolist() == [0.0]
    assert p.high.tolist() == [10.0]
    assert p.metrics[11].tolist() == [0.0, 100.0]  # never measured: the worst
    assert p.status[[0, 7, 11]].tolist() == ["ok", "truncated", "failed"]
    for array in (p.metrics, p.rewards, p.costs, p.templates, p.status, p.repeats):
        assert not array.flags.writeable
    seconds = params_of((ONE,), "score", "seconds")
    assert seconds.cost_unit == "s"
    assert seconds.observation_space.high[5] == 100.0
    assert params_of((ONE,), "score", "s").observation_space.high[5] == np.float32(1e9)
    space = params_of((ONE,), ("seconds", "score"), "evaluations").observation_space
    assert space.low.tolist() == [0, 0, 0, 0, -100, 0, 0, -100, 0, 0]
    assert space.high.tolist() == [1, 1, 1, 1, 0, 10, 1, 0, 10, 1]
    assert space.dtype == np.float32
    unnamed = tiny(metrics=(METRICS[0], dataclasses.replace(METRICS[1], unit="")), cost_unit="evaluations")
    assert params_of((unnamed,), "score", "seconds").cost_unit == "seconds"
    assert ByHash(ONE) == ByHash(tiny())
    assert ByHash(ONE) != ByHash(TWO)
    assert ByHash(ONE) != ONE
    assert choices_of(SPACE[0]) is None
    assert choices_of(SPACE[1]).tolist() == ["adam", "sgd", "none"]
    assert choices_of(SPACE[1]).dtype == object
    assert grid_sizes(ONE).tolist() == [2, 3]
    with raises("table must be a complete grid, got toy/one with 5 rows"):
        grid_sizes(ONE.subset(range(5)))
    with raises("table must be a complete grid, got toy/one with 1 rows"):
        grid_sizes(dataclasses.replace(ONE.subset([0]), space=(), configs=np.zeros((1, 0)), provenance=SOURCE))


def test_batched_infos() -> None:
    index = np.array([0, 2])
    value = {"a": np.array([1.0, 2.0]), "b": {"c": np.array(["x", "y"]), "o": np.array([{}, {}], object)}}
    whole = infos.scatter(value, index, 3)
    assert whole["a"].tolist() == [1.0, 0.0, 2.0]
    assert whole["b"]["c"].tolist() == ["x", "", "y"]
    assert whole["b"]["o"].tolist() == [{}, None, {}]
    same = np.array([1, 2])
    assert infos.scatter(same, index, 2) is same
    assert infos.scatter(np.ones((2, 4)), index, 3).shape == (3, 4)
    info: dict[str, Any] = {"a": np.array([9.0, 9.0, 9.0]), "_a": np.array([False, True, False])}
    old_mask = info["_a"]
    infos.merge(info, {**whole, "_a": np.zeros(3, bool)}, index)
    assert info["a"].tolist() == [1.0, 9.0, 2.0]
    assert info["_a"].tolist() == [True, True, True]
    assert old_mask.tolist() == [False, True, False]
    assert info["_b"].tolist() == [True, False, True]
    assert info["_b"].dtype == bool
    infos.merge(info, {"b": {"c": np.array(["p", "q", "r"]), "o": np.array([1, 2, 3], object)}}, np.array([1]))
    assert info["b"]["c"].tolist() == ["x", "q", "y"]
    assert info["_b"].tolist() == [True, True, True]
    copied = infos.copy_info(info["b"])
    infos.blank(info["b"], index)
    assert info["b"]["c"].tolist() == ["", "q", ""]
    assert info["b"]["o"].tolist() == [None, 2, None]
    assert copied["c"].tolist() == ["x", "q", "y"]


# -- tables ------------------------------------------------------------------------------------------------------------


def broken(**changes: Any) -> Any:
    return lambda: tiny(**changes)


def nan_at(*index: int) -> np.ndarray:
    values = tiny().values.copy()
    values[index] = NAN
    return values


NO_ROWS = {
    "values": np.zeros((0, 2, 2, 2)), "cost": np.zeros((0, 2, 2)), "configs": np.zeros((0, 2)),
    "features": np.zeros((0, 4)), "status": np.zeros((0, 2)),
}  # fmt: skip
LAWS: list[tuple[Any, str]] = [
    (broken(keys=(), **NO_ROWS), "must have at least one row"),
    (broken(keys=("a", "a", "c", "d", "e", "f")), "keys must be unique"),
    (broken(values=np.zeros((6, 2, 2))), "values must be (rows, repeats, levels, metrics), got (6, 2, 2)"),
    (broken(values=np.zeros((6, 2, 3, 2))), "values must be (6, 2, 2, 2), got (6, 2, 3, 2)"),
    (broken(values=np.zeros((6, 2, 2, 3))), "values must be (6, 2, 2, 2), got (6, 2, 2, 3)"),
    (broken(values=np.zeros((5, 2, 2, 2))), "values must be (6, 2, 2, 2), got (5, 2, 2, 2)"),
    (broken(cost=np.ones((6, 2, 1))), "cost must be (6, 2, 2), got (6, 2, 1)"),
    (broken(status=np.zeros((6, 1), np.uint8)), "status must be (6, 2), got (6, 1)"),
    (broken(status=np.full((6, 2), 4, np.uint8)), "status must index ('ok', 'failed', 'diverged', 'truncated')"),
    (broken(configs=np.ones((6, 3))), "configs must be (6, 2), got (6, 3)"),
    (broken(features=np.ones((6, 1))), "features must be (6, 4), got (6, 1)"),
    (broken(configs=np.full((6, 2), np.inf)), "configs must be finite"),
    (broken(features=np.full((6, 4), 1.01)), "features must lie in [0, 1]"),
    (broken(features=np.full((6, 4), -0.01)), "features must lie in [0, 1]"),
    (broken(levels=np.array([2.0, 2.0])), "levels must be finite and increasing"),
    (broken(levels=np.array([1.0, np.inf])), "levels must be finite and increasing"),
    (broken(metrics=(METRICS[0], METRICS[0])), "metric names must be unique, got ('score', 'score')"),
    (broken(metrics=(METRICS[0], Metric("m", "", "max", 1.0, 1.0))), "bounds of m must be finite"),
    (broken(metrics=(METRICS[0], Metric("m", "", "max", -np.inf, 1.0))), "bounds of m must be finite"),
    (broken(values=np.full((6, 2, 2, 2), -np.inf)), "values must be finite or NaN"),
    (broken(cost=np.full((6, 2, 2), np.inf)), "cost must be finite or NaN"),
    (broken(cost=np.full((6, 2, 2), -1e-9)), "cost must be >= 0"),
    (broken(values=nan_at(0, 1, 0, 1)), "NaN must be trailing along levels, never inside"),
    (broken(values=nan_at(0, 0)), "NaN must be trailing along repeats, never inside"),
    (broken(cost=np.full((6, 2, 2), NAN)), "cost must be known where a value is"),
    (broken(cost=np.tile([2.0, 1.0], (6, 2, 1))), "cost must not decrease along levels"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), LAWS, ids=lambda p: p if isinstance(p, str) else "")
def test_words_of_the_laws(make: Any, message: str) -> None:
    with raises(f"table toy/one: {message}"):
        make()


def test_what_just_obeys_the_laws() -> None:
    one = tiny()
    assert one.subset([0]).keys == ("a",)
    tiny(cost=np.zeros((6, 2, 2)))
    tiny(cost=np.full((6, 2, 2), 3.0))
    tiny(features=np.tile([0.0, 1.0], (6, 2)))
    tiny(status=np.full((6, 2), 3, np.uint8))
    mixed = one.values.copy()
    mixed[0, 0, 1, 1] = NAN  # one metric may stop before another
    tiny(values=mixed)


def test_holes_anywhere_break_the_laws() -> None:
    """Not only at the first level or repeat."""
    whole: dict[str, Any] = {
        "values": np.ones((6, 3, 3, 2)), "cost": np.ones((6, 3, 3)), "status": np.zeros((6, 3)),
        "levels": np.arange(1.0, 4.0),
    }  # fmt: skip
    tiny(**whole)
    for hole, axis in (((2, 0, 1), "levels"), ((2, 1), "repeats")):
        values = whole["values"].copy()
        values[hole] = NAN
        with raises(f"table toy/one: NaN must be trailing along {axis}, never inside"):
            tiny(**{**whole, "values": values})
    cost = whole["cost"].copy()
    cost[3, 1, 2] = 0.5
    with raises("table toy/one: cost must not decrease along levels"):
        tiny(**{**whole, "cost": cost})


def test_a_table_owns_its_arrays() -> None:
    values, cost, status = np.ones((6, 2, 2, 2)), np.ones((6, 2, 2), int), np.zeros((6, 2), int)
    table = tiny(values=values, cost=cost, status=status, levels=np.array([1, 2]))
    for given, kept in ((values, table.values), (cost, table.cost), (status, table.status)):
        assert given.flags.writeable
        assert not np.shares_memory(given, kept)
    assert (table.cost.dtype, table.levels.dtype, table.status.dtype) == (np.float64, np.float64, np.uint8)
    assert table.provenance.sha256 == tiny(values=values, cost=cost * 1.0, status=status).provenance.sha256


def test_hashes_are_these() -> None:
    """Results name the table by its hash, so it must be the same for ever and depend on everything a table says."""
    one = tiny()
    assert one.provenance.sha256 == "69327c743dca35aa1dbcfbb9b5e87d08e8eb14ece65c61c378225facc863b7a8"
    assert SINGLE.provenance.sha256 == "e75e2eff6853b22ea16351bf0f262b3c1e153e65e2019441a0adedb79800aebf"
    assert tiny(provenance=one.provenance).provenance == one.provenance
    with raises(
        f"table toy/one: provenance.sha256 must be the hash of the content, {one.provenance.sha256}, got {'0' * 64}"
    ):
        tiny(provenance=dataclasses.replace(SOURCE, sha256="0" * 64))
    other_nan = one.values.copy()
    other_nan[np.isnan(other_nan)] = -NAN
    assert tiny(values=other_nan).provenance.sha256 == one.provenance.sha256
    choices = (SPACE[0], dataclasses.replace(SPACE[1], values=(np.int64(1), np.int64(2), "none")))
    assert tiny(space=choices).provenance.sha256 not in ("", one.provenance.sha256)
    minus = one.cost.copy()
    minus[0] = -0.0
    plus = one.cost.copy()
    plus[0] = 0.0
    assert tiny(cost=minus).provenance.sha256 == tiny(cost=plus).provenance.sha256 != one.provenance.sha256
    changes: list[dict[str, Any]] = [
        {"name": "toy/two"}, {"keys": tuple("abcdeg")}, {"cost_unit": "min"}, {"level_unit": "epochs"},
        {"levels": np.array([1.0, 3.0])}, {"status": np.zeros((6, 2))}, {"features": one.features * 0.5},
        {"configs": one.configs + 1}, {"feature_names": ("a", "b", "c", "d")},
        {"metrics": (METRICS[0], dataclasses.replace(METRICS[1], high=101.0))},
        {"space": (SPACE[1], SPACE[0])}, {"provenance": dataclasses.replace(SOURCE, kind="measured")},
    ]  # fmt: skip
    assert len({tiny(**c).provenance.sha256 for c in changes} | {one.provenance.sha256}) == len(changes) + 1
    silent = dataclasses.replace(SOURCE, notes=("a note",), citation="x", licence="y", upstream="z", commit="1" * 40)
    assert tiny(provenance=silent).provenance.sha256 == one.provenance.sha256


def test_what_a_table_answers() -> None:
    one = tiny()
    assert len(one) == 6
    assert one.repeats == 2
    assert type(one.repeats) is int
    assert one.metric_names == ("score", "seconds")
    assert one.config(4) == {"layers": 2, "optimizer": "sgd"}
    assert type(one.config(4)["layers"]) is int
    first, last = one.values[3, 0, 1, 0], one.values[3, 1, 0, 0]
    assert one.final("score")[3] == (first + last) / 2
    assert one.final("score")[5] == one.values[5, 0, 1, 0]
    assert one.final("score").dtype == np.float64
    unmeasured = dataclasses.replace(SINGLE, provenance=SOURCE)
    assert np.isnan(unmeasured.final("score")[5])
    with raises("metric must be one of score, seconds in table toy/one, got 'scores', did you mean 'score'?"):
        one.metric("scores")
    with raises("metric must be one of score, seconds in table toy/one, got 'zzzz'"):
        one.metric("zzzz")
    with pytest.raises(KeyError) as error:
        one.row("zz")
    assert error.value.args == ("key must be a row of table toy/one, got 'zz'",)
    with pytest.raises(KeyError) as error:
        one.row("aa")
    assert error.value.args == ("key must be a row of table toy/one, got 'aa', did you mean 'a'?",)
    assert [one.row(k) for k in "abcdef"] == list(range(6))
    with raises("table toy/one: must have at least one row"):
        one.subset([])
    part = one.subset([4, 1], "toy/part")
    assert (part.name, part.keys) == ("toy/part", ("e", "b"))
    assert one.subset([1]).name == "toy/one"
    for field in ("values", "cost", "configs", "features", "status"):
        assert np.array_equal(getattr(part, field), getattr(one, field)[[4, 1]], equal_nan=field != "status")
    assert part.provenance.sha256 != one.provenance.sha256
    assert METRICS[0].sign == 1.0
    assert METRICS[1].sign == -1.0
    assert METRICS[0].worst == 0.0
    assert METRICS[1].worst == 100.0


def test_defaults_of_a_table() -> None:
    values = np.ones((2, 3, 1, 1))
    t = Table("toy/bare", ("a", "b"), METRICS[:1], values, np.ones((2, 3, 1)), SOURCE)
    assert t.configs.shape == (2, 0)
    assert t.features.shape == (2, 0)
    assert t.status.tolist() == [[0, 0, 0]] * 2
    assert t.status.dtype == np.uint8
    assert t.levels.tolist() == [1.0]
    assert (t.cost_unit, t.level_unit) == ("evaluations", "full training")
    for name in ("values", "cost", "configs", "features", "levels"):
        array = getattr(t, name)
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert not array.flags.writeable
    fortran = Table("toy/bare", ("a", "b"), METRICS[:1], np.asfortranarray(values), np.ones((2, 3, 1), int), SOURCE)
    assert fortran.provenance.sha256 == t.provenance.sha256
    assert fortran.values.flags.c_contiguous
    zeros = Table("toy/zeros", ("a",), METRICS[:1], values[:1], values[:1, ..., 0], SOURCE, space=SPACE[:1])
    assert zeros.configs.tolist() == [[0.0]]


def test_scales() -> None:
    h = Hyperparameter("h", "float", 10.0, 1000.0, log=True)
    assert h.scale([10.0, 100.0, 1000.0, 9.9, 1000.1, 0.0]).tolist() == pytest.approx([0, 0.5, 1, 0, 0, 0])
    assert h.scale(["100"])[0] == pytest.approx(0.5)
    linear = Hyperparameter("h", "int", 2, 4)
    assert linear.scale([2, 3, 4, 1, 5]).tolist() == [0, 0.5, 1, 0, 0]
    assert linear.scale(3).shape == ()
    assert Hyperparameter("h", "int", 2, 2).scale([2, 3]).tolist() == [0, 0]
    assert linear.natural(3.0) == 3
    assert type(linear.natural(3.0)) is int
    assert type(h.natural(100)) is float
    assert SPACE[1].natural(2.0) == "none"
    names, features = tables.feature_matrix(SPACE, np.array([[1.0, 0.0], [2.0, 2.0]]))
    assert names == ("layers", "optimizer=adam", "optimizer=sgd", "optimizer=none")
    assert features.tolist() == [[0, 1, 0, 0], [1, 0, 0, 1]]
    assert features.dtype == np.float64
    assert tables.feature_matrix((), np.zeros((3, 0)))[1].shape == (3, 0)
    assert tables.nearest("scroe", ("score", "scored")) == ", did you mean 'score'?"
    assert tables.nearest("q", ["score"]) == ""
    assert tables.nearest("abcd", ["abxy"]) == ", did you mean 'abxy'?"  # half of the letters
    assert tables.nearest("abcd", ["axyz"]) == ""
    assert tables.nearest(3, ["score"]) == ""  # type: ignore[arg-type]


# -- scores ------------------------------------------------------------------------------------------------------------


def test_scores_on_the_edge() -> None:
    assert targets.first_reaching([0, 0, 1, 1]) == 3.0
    assert targets.first_reaching(["", "x"]) == 2.0
    assert type(targets.first_reaching([True])) is float
    assert targets.first_reaching([]) == float("inf")
    assert targets.ftb(["1", "2"], 2.0) == 2.0
    assert targets.ftc([25.0, 25.59, 26.0], 26.09) == 2.0  # 26.09 - 0.5 is no exact binary number
    assert targets.ftc([25.0, 25.5899, 26.0], 26.09) == 3.0
    assert targets.ftc([1, 2, 3], 3, 1) == 2.0
    assert targets.ftc([2.0 - 1e-6], 3, 1) == float("inf")
    rewards = np.arange(30.0)
    assert targets.fb(rewards, 40.0) == 21.0  # of 20 evaluations
    assert targets.fb(rewards, 40.0, 1) == 40.0
    assert type(targets.fb([1], 2.0)) is float
    front = np.array([[3.0, 0.0], [0.0, 3.0]])
    seen = [[3.0, 1.0], [0.0, 3.0], [0.0, 3.0], [3.0, 0.0]]
    assert targets.fto(seen, front) == 2.0
    assert targets.fta(seen, front) == 4.0
    assert [targets.fbp(seen, front, k) for k in (1, 2, 3, 4)] == [0.0, 1.0, 1.0, 2.0]
    assert targets.fta(seen[:3], front) == float("inf")


def test_attainment_by_hand() -> None:
    sets = [[[1.0, 5.0], [2.0, 3.0]], [[1.0, 4.0], [3.0, 1.0]], [[2.0, 6.0]]]
    grid = [0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]
    inf = float("inf")
    assert targets.attainment(sets, grid).tolist() == [5.0, 5.0, 3.0, 3.0, -inf, -inf, -inf]
    assert targets.attainment(sets, grid, 1.0).tolist() == [4.0, 4.0, 1.0, 1.0, -inf, -inf, -inf]
    assert targets.attainment(sets, grid, 0.01).tolist() == [6.0, 6.0, 6.0, 6.0, 1.0, 1.0, -inf]
    assert targets.attainment(sets, grid, 1 / 3).tolist() == targets.attainment(sets, grid, 0.2).tolist()
    assert targets.attainment([[["1", "2"]]], ["1"]).tolist() == [2.0]
    unsorted = [[[3.0, 1.0], [1.0, 5.0], [2.0, 0.0]]]
    assert targets.attainment(unsorted, [1.0, 2.0, 3.0]).tolist() == [5.0, 1.0, 1.0]


def test_bootstrap_is_these_numbers() -> None:
    """Tables of results depend on them."""
    values = [1.0, 2.0, 4.0, 8.0]
    low, high = statistics.bootstrap_interval(values)
    assert (low, high) == (1.5, 6.5)
    assert statistics.bootstrap_interval(values, 0.5) == (2.75, 4.75)
    assert statistics.bootstrap_interval(values, seed=1, draws=50) == (1.6125000000000005, 6.887499999999999)
    assert statistics.bootstrap_interval([3]) == (3.0, 3.0)
    assert statistics.bootstrap_interval(["1", "1"]) == (1.0, 1.0)
    irregular = np.sqrt(np.arange(2.0, 20.0))
    assert statistics.bootstrap_interval(irregular) == statistics.bootstrap_interval(irregular, 0.95, 2000, 0)
    assert statistics.bootstrap_interval(irregular) != statistics.bootstrap_interval(irregular, seed=1)
    with raises("values must be finite and at least one, got array([], dtype=float64)"):
        statistics.bootstrap_interval([])
    with raises("values must be finite and at least one, got array([ 1., nan])"):
        statistics.bootstrap_interval([1.0, NAN])
