"""The bandit environments against a model of them in plain Python, and every word of their errors.

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
from scipy.special import ndtri

from hpo_envs.engines.bandit.arms import GaussianArms, MeasuredArms
from hpo_envs.engines.bandit.params import BanditParams
from hpo_envs.families.fiesta.page import FIESTAEnv, FIESTAVectorEnv
from hpo_envs.tables import draws
from hpo_envs.tables.store import TableNotInstalled
from hpo_envs.tables.table import Metric, Provenance, Table

SOURCE = Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none")
ARMS, COLUMNS = 4, 10


def raises(message: str, error: type[Exception] = ValueError) -> Any:
    """Expects an error with exactly this message."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


def drawn() -> Table:
    """Four arms, ten evaluations of each, one metric to be kept high and one to be kept low."""
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
    """What an episode does, one evaluation at a time."""

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
            return [mean + deviation * ndtri(draws.uniform(draws.mix(draws.mix(self.key, arm), k)))]
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


@pytest.mark.parametrize("setting", SETTINGS)
def test_scalar_form_is_the_model(setting: str) -> None:
    env, model, rng = FIESTAEnv(**arguments(setting)), SETTINGS[setting][2], np.random.default_rng(0)
    n = len(model.table)
    for seed, episode in ((3, 1), (None, 2), (8, 1)):
        model.begin(seed or 3, episode)
        observation, info = env.reset(seed=seed)
        assert observation.dtype == np.float32
        assert observation == pytest.approx(model.observe(), abs=1e-6)
        assert (info["table"], info["kind"]) == (model.table.name, "surrogate")
        assert info["sha256"] == model.table.provenance.sha256
        assert ("action_mask" in info) == (model.batch is None)
        over = False
        while not over:
            before = observation.copy()
            action = act(rng, model)
            expected = model.step(action)
            observation, reward, over, truncated, info = env.step(action)
            assert reward == pytest.approx(expected["reward"], rel=1e-14)
            assert type(reward) is float
            assert (over, truncated) == (expected["over"], False)
            agrees(info, expected["info"])
            if expected["info"].get("finished", True):
                assert observation == pytest.approx(model.observe(), abs=1e-6)
            else:
                assert observation.tolist() == before.tolist()
            assert env.observation_space.contains(observation)
            if model.batch is None:
                assert info["action_mask"].tolist() == [1] * n
                assert info["action_mask"].dtype == np.int8
                assert env.action_masks().tolist() == [True] * n
            keys = {"action_mask"} if model.batch is None else set()
            assert set(info) == set(expected["info"]) | keys
            held = observation
            observation = observation.copy()
            held[:] = 9  # the caller's
        with pytest.raises(gym.error.ResetNeeded):
            env.step(action)


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("setting", SETTINGS)
def test_batched_form_is_the_model(setting: str, copy: bool) -> None:
    n = 3
    envs, rng = FIESTAVectorEnv(n, **arguments(setting), copy=copy), np.random.default_rng(1)
    models = [dataclasses.replace(SETTINGS[setting][2]) for _ in range(n)]
    batch, arms = models[0].batch, len(models[0].table)
    for i, model in enumerate(models):
        model.begin(5 + i, 1)
    first, info = envs.reset(seed=5)
    assert first == pytest.approx(np.array([m.observe() for m in models]), abs=1e-6)
    assert info["table"].tolist() == [models[0].table.name] * n
    assert info["table"].dtype == info["sha256"].dtype == object
    assert info["sha256"].tolist() == [models[0].table.provenance.sha256] * n
    episodes, ended = [1] * n, [False] * n
    for _ in range(min(2 * models[0].budget + 6, 60)):
        actions = [act(rng, m) for m in models]
        held = envs.step(np.array(actions, np.uint8))
        observation, reward, terminated, truncated, info = held
        assert observation.dtype == np.float32
        assert not truncated.any()
        for i, model in enumerate(models):
            if ended[i]:
                episodes[i] += 1
                model.begin(5 + i, episodes[i])
                ended[i] = False
                assert (reward[i], terminated[i]) == (0.0, False)
                assert observation[i] == pytest.approx(model.observe(), abs=1e-6)
                continue
            expected = model.step(actions[i])
            ended[i] = expected["over"]
            assert reward[i] == pytest.approx(expected["reward"], rel=1e-14)
            assert terminated[i] == expected["over"]
            assert observation[i] == pytest.approx(model.observe(), abs=1e-6)
            said = {k: v for k, v in expected["info"].items() if k != "metrics"}
            agrees({k: info[k][i] for k in said}, said)
            for name, value in expected["info"].get("metrics", {}).items():
                assert info["metrics"][name][i] == pytest.approx(value, rel=1e-14)
        if batch is None:
            assert envs.action_masks().tolist() == [[True] * arms] * n
    assert max(episodes) >= 2 or models[0].budget > 40
    held = envs.step(np.array([act(rng, m) for m in models]))[0]
    assert (held is envs.step(np.array([act(rng, m) for m in models]))[0]) != copy


def test_the_next_reward_does_not_change_the_last_metrics() -> None:
    envs = FIESTAVectorEnv(2, "tdsa8", table=DRAWN, budget=50)
    envs.reset(seed=0)
    seen = []
    for _ in range(10):
        _, reward, _, _, info = envs.step([0, 1])
        seen.append((info["metrics"]["score"], reward, reward.tolist()))
        reward[:] = 9.0
    for metric, _, reward in seen:
        assert metric.tolist() == reward


@pytest.mark.parametrize("setting", ["batch", "gaussian"])
def test_batches_have_no_mask(setting: str) -> None:
    for env in (FIESTAEnv(**arguments(setting)), FIESTAVectorEnv(2, **arguments(setting))):
        env.reset(seed=0)
        with raises("action_masks: there is no useful mask of a batch", AttributeError):
            env.action_masks()


def test_draws_one_by_one_and_many_at_once() -> None:
    keys, arms, k = np.arange(9, dtype=np.uint64), np.arange(9) % 3, np.array([0, 5, 9, 10, 11, 19, 20, 3, 30])
    columns = np.array([0, 3, 4, 8])
    for source in (
        GaussianArms(PLANTED, 500),
        MeasuredArms(DRAWN, columns),
        MeasuredArms(DRAWN, columns, shared=True),
        MeasuredArms(DRAWN, columns, replacement=False),
        MeasuredArms(DRAWN, columns, False, True),
    ):
        many = source.pull_many(keys, arms, k)
        assert many.shape == (9, len(source.names))
        for i in range(9):
            assert many[i].tolist() == source.pull(int(keys[i]), int(arms[i]), int(k[i]))
    assert (source.replacement, source.shared, source.arms, source.evaluations) == (False, True, 4, 4)
    once = MeasuredArms(DRAWN, columns, replacement=False)
    for sweep in range(3):
        seen = sorted(once.pull(7, 1, 4 * sweep + i)[0] for i in range(4))
        assert seen == sorted(DRAWN.values[1, columns, 0, 0].tolist())
    for key in range(200):  # the orders kept are few
        once.pull(key, 0, 0)
    assert len(once._orders) <= 4 * ARMS + 1
    gaussian = GaussianArms(PLANTED, 500)
    assert (gaussian.names, gaussian.arms, gaussian.evaluations) == (("score",), 3, 500)


def test_nothing_is_submitted_after_the_budget() -> None:
    """A quick arm asked for while the last results are awaited does not come back before them."""
    kwargs = {"table": DRAWN, "budget": 2, "workers": 2, "durations": (10.0, 1.0, 1.0, 0.1)}
    one, many = FIESTAEnv("tdsa8", **kwargs), FIESTAVectorEnv(1, "tdsa8", **kwargs)
    one.reset(seed=0)
    many.reset(seed=0)
    for action, back in ((3, None), (0, 3), (3, 0)):
        info, batched = one.step(action)[-1], many.step([action])[-1]
        assert info["finished"] == batched["finished"][0] == (back is not None)
        if back is not None:
            assert (info["action"], info["clock"]) == (back, kwargs["durations"][back])
            assert (batched["action"][0], batched["clock"][0]) == (back, kwargs["durations"][back])


def test_observation_bounds_are_the_documented_ones() -> None:
    s = BanditParams.of("tdsa8", table=DRAWN, objective="loss", batch_size=3)
    space = s.observation_space
    n = ARMS
    assert space.dtype == np.float32
    assert space.low.tolist() == [0] * n + [-5] * n + [0] * n + [-5, 0, 0]
    assert space.high.tolist() == [1] * n + [1] * n + [3] * n + [1, 3, 1]
    assert (s.sign, s.low, s.high, s.batch, s.workers, s.budget) == (-1.0, -5.0, 1.0, 3, 1, 204.0)
    assert s.durations.tolist() == [1.0] * n
    assert s.action_space == gym.spaces.MultiDiscrete([n] * 3)
    plain = BanditParams.of("tdsa8", table=DRAWN)
    assert plain.action_space == gym.spaces.Discrete(n)
    assert plain.observation_space.high.tolist() == [1] * n + [10] * n + [4.75] * n + [10, 1, 1]
    assert (plain.batch, plain.column, plain.names) == (1, 0, ("score", "loss"))
    assert isinstance(plain.arms, MeasuredArms)
    assert (plain.arms.replacement, plain.arms.shared) == (True, False)
    assert BanditParams.of("gaussian", table=PLANTED, budget=None).budget == 1500.0
    assert BanditParams.of("tdsa8", table=DRAWN, budget=3, batch_size=3).budget == 3.0
    for env in (FIESTAEnv(**arguments("loss")), FIESTAVectorEnv(2, **arguments("loss"))):
        assert (env.cost_unit, env.budget, env.objectives) == ("evaluations", 7.0, ("loss",))
        assert env.reward_bounds.tolist() == [[-5.0, 1.0]]
        assert env.table is DRAWN
        assert env.reward_dim == 1


def test_what_is_meant_unless_told_otherwise() -> None:
    one, many = FIESTAEnv(), FIESTAVectorEnv()
    for env in (one, many):
        assert env.table.name == "fiesta/tdsa8"
        assert (env.objectives, env.budget, env.cost_unit) == (("f1",), 204.0, "evaluations")
    assert one.action_space == many.single_action_space == gym.spaces.Discrete(8)
    assert one.observation_space == many.single_observation_space
    assert (many.num_envs, many.copy) == (1, True)
    assert many.metadata["autoreset_mode"] is gym.vector.AutoresetMode.NEXT_STEP


def test_synthetic_arms() -> None:
    s = BanditParams.of("gaussian")
    assert s.table.values[:, 0, 0, 0].tolist() == [0.65, 0.69, 0.69, 0.70, 0.71]
    assert s.table.values[:, 0, 0, 1].tolist() == [0.01] * 5
    assert isinstance(s.arms, GaussianArms)
    assert (s.arms.evaluations, s.names, s.low, s.high) == (500, ("score",), 0.0, 1.0)
    own = BanditParams.of("gaussian", means=(2.0, 3.0), deviations=(0.05, 0.025), bounds=(1, 9))
    assert own.table.values[:, 0, 0].tolist() == [[2.0, 0.05], [3.0, 0.025]]
    assert (own.low, own.high) == (1.0, 9.0)
    assert BanditParams.of("gaussian", means=(0.2, 0.3)).table.values[:, 0, 0].tolist() == [[0.2, 0.01], [0.3, 0.01]]
    assert (BanditParams.of("gaussian", means=(0.2, 0.3)).low, BanditParams.of("gaussian", means=(0.2, 0.3)).high) == (
        0.0,
        1.0,
    )
    with pytest.raises(TableNotInstalled, match="is synthetic: nothing was measured"):
        BanditParams.of("gaussian", table="measured", means=(0.2, 0.3))
    assert BanditParams.of("gaussian", deviations=0.02).table.values[:, 0, 0, 0].tolist() == [
        0.65,
        0.69,
        0.69,
        0.70,
        0.71,
    ]
    assert BanditParams.of("gaussian", bounds=(0, 2)).high == 2.0
    assert BanditParams.of("gaussian", table="surrogate", means=(0.2, 0.3)).table.values[0, 0, 0, 0] == 0.2
    assert BanditParams.of("gaussian", table=PLANTED, means=(0.2, 0.3)).table is PLANTED


TASKS = "tdsa8, tdsa12, ner, gaussian"
WORDS: list[tuple[str, dict[str, Any], str]] = [
    ("tdsa9", {}, f"task must be one of {TASKS}, got 'tdsa9', did you mean 'tdsa8'?"),
    ("", {}, f"task must be one of {TASKS}, got ''"),
    ("tdsa8", {"cost": "s"}, "cost must be 'evaluations' (no other was measured), got 's'"),
    ("gaussian", {"replacement": False}, "replacement must be left alone for gaussian: it is for measured arms only"),
    ("gaussian", {"shared": True}, "shared must be left alone for gaussian: it is for measured arms only"),
    ("tdsa8", {"means": (1, 2)}, "means must be left alone for tdsa8: it is for gaussian only"),
    ("ner", {"deviations": 1}, "deviations must be left alone for ner: it is for gaussian only"),
    ("tdsa8", {"bounds": (0, 1)}, "bounds must be left alone for tdsa8: it is for gaussian only"),
    ("tdsa8", {"fix_split": 0}, "fix_split must be left alone for tdsa8: it is for ner only"),
    ("gaussian", {"fix_seed": 0}, "fix_seed must be left alone for gaussian: it is for ner only"),
    ("tdsa8", {"objective": "scor"}, "objective must be one of score, loss, got 'scor', did you mean 'score'?"),
    ("tdsa8", {"objective": 3}, "objective must be one of score, loss, got 3"),
    ("tdsa8", {"batch_size": 0}, "batch_size must be None or an int >= 1, got 0"),
    ("tdsa8", {"batch_size": True}, "batch_size must be None or an int >= 1, got True"),
    ("tdsa8", {"batch_size": 1.5}, "batch_size must be None or an int >= 1, got 1.5"),
    ("tdsa8", {"batch_size": 3, "budget": 2}, "budget must be >= batch_size, 3 evaluations, got 2"),
    ("tdsa8", {"budget": 1.5}, "budget must be None or an int >= 1 (evaluations), got 1.5"),
    ("tdsa8", {"workers": 0}, "workers must be an int >= 1, got 0"),
    ("tdsa8", {"workers": True}, "workers must be an int >= 1, got True"),
    ("tdsa8", {"workers": np.True_}, f"workers must be an int >= 1, got {np.True_!r}"),
    ("tdsa8", {"workers": 1.5}, "workers must be an int >= 1, got 1.5"),
    (
        "tdsa8",
        {"workers": 2, "batch_size": 2},
        "workers must be 1 with batch_size, which is the synchronous form, got 2",
    ),
    ("tdsa8", {"durations": (1, 2)}, "durations must be None or 4 numbers > 0, got (1, 2)"),
    ("tdsa8", {"durations": (1, 2, 0, 1)}, "durations must be None or 4 numbers > 0, got (1, 2, 0, 1)"),
    ("tdsa8", {"durations": (1, 2, np.inf, 1)}, "durations must be None or 4 numbers > 0, got (1, 2, inf, 1)"),
    ("ner", {"fix_split": 150}, "fix_split must be None or an int in [0, 150), got 150"),
    ("ner", {"fix_split": -1}, "fix_split must be None or an int in [0, 150), got -1"),
    ("ner", {"fix_split": 1.5}, "fix_split must be None or an int in [0, 150), got 1.5"),
    ("ner", {"fix_split": True}, "fix_split must be None or an int in [0, 150), got True"),
    ("ner", {"fix_seed": 5}, "fix_seed must be None or an int in [0, 5), got 5"),
]


@pytest.mark.parametrize(("task", "kwargs", "message"), WORDS)
def test_words_about_settings(task: str, kwargs: dict[str, Any], message: str) -> None:
    table = "auto" if task == "gaussian" else DRAWN
    with raises(message):
        BanditParams.of(task, table=table, **kwargs)


def test_numbers_of_numpy_are_ints_too() -> None:
    s = BanditParams.of("tdsa8", table=DRAWN, workers=np.int64(2), durations=[1, 2, 3, 4])
    assert (s.workers, type(s.workers)) == (2, int)
    assert s.durations.dtype == np.float64
    assert BanditParams.of("ner", table=DRAWN, fix_split=np.int8(1)).arms.evaluations == 5


def test_words_about_actions() -> None:
    single, batch = FIESTAEnv(**arguments("plain")), FIESTAEnv(**arguments("batch"))
    for env, action, message in (
        (single, 4, "action must be in [0, 4), got 4"),
        (single, -1, "action must be in [0, 4), got -1"),
        (single, 1.0, "action must be an int in [0, 4), got 1.0"),
        (single, [1], "action must be an int in [0, 4), got [1]"),
        (batch, [0, 1], "action must be 3 ints in [0, 4), got [0, 1]"),
        (batch, [0.0, 1.0, 2.0], "action must be 3 ints in [0, 4), got [0.0, 1.0, 2.0]"),
        (batch, [0, 1, 4], "action must be in [0, 4), got [0, 1, 4]"),
        (batch, [0, -1, 3], "action must be in [0, 4), got [0, -1, 3]"),
    ):
        env.reset(seed=0)
        with raises(message):
            env.step(action)
    for action in (3, np.int8(3), np.uint64(3), np.array(3)):
        single.step(action)
    many, batches = FIESTAVectorEnv(2, **arguments("plain")), FIESTAVectorEnv(2, **arguments("batch"))
    for envs, actions, message in (
        (many, [0], "actions must be ints of shape (2,), got shape (1,) and dtype int64"),
        (many, [0.0, 1.0], "actions must be ints of shape (2,), got shape (2,) and dtype float64"),
        (many, [0, 4], "actions must be ints in [0, 4), got 4"),
        (many, [-2, 0], "actions must be ints in [0, 4), got -2"),
        (batches, [0, 1], "actions must be ints of shape (2, 3), got shape (2,) and dtype int64"),
        (batches, [[0, 1, 2], [0, 1, 7]], "actions must be ints in [0, 4), got 7"),
    ):
        envs.reset(seed=0)
        with raises(message):
            envs.step(actions)
