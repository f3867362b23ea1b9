"""Arguments of bandits: arms, bounds, defaults, and errors."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.core.engines.bandit.arms import AHEAD, TOGETHER, Arms, DrawBuffer, GaussianArms, MeasuredArms
from hpo_envs.core.engines.bandit.params import BanditParams
from hpo_envs.families.fiesta.page import FIESTAEnv, FIESTAVectorEnv
from hpo_envs.tables.frames import natural
from hpo_envs.tables.table import Table
from tests.helpers import raises
from tests.hpo_envs.core.engines.bandit.model import ARMS, DRAWN, PLANTED, SOURCE, arguments


def test_observation_bounds_are_documented_ones() -> None:
    s = BanditParams.of("tdsa8", table=DRAWN, objective="loss", batch_size=3)
    space = s.observation_space
    n = ARMS
    assert (space.dtype, space.low.tolist()) == (np.float32, [0] * n + [-5] * n + [0] * n + [-5, 0, 0])
    assert space.high.tolist() == [1] * n + [1] * n + [3] * n + [1, 3, 1]
    assert (s.sign, s.low, s.high, s.batch, s.workers, s.budget) == (-1.0, -5.0, 1.0, 3, 1, 204.0)
    assert (s.durations.tolist(), s.action_space) == ([1.0] * n, gym.spaces.MultiDiscrete([n] * 3))
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


def test_defaults_of_arguments_are_resolved() -> None:
    one, many = FIESTAEnv(), FIESTAVectorEnv()
    for env in (one, many):
        assert env.table.name == "fiesta/tdsa8"
        assert (env.objectives, env.budget, env.cost_unit) == (("f1",), 204.0, "evaluations")
    assert one.action_space == many.single_action_space == gym.spaces.Discrete(8)
    assert (one.observation_space, many.num_envs, many.copy) == (many.single_observation_space, 1, True)
    assert many.metadata["autoreset_mode"] is gym.vector.AutoresetMode.NEXT_STEP


TASKS = "tdsa8, tdsa12, ner, gaussian"
WORDS: list[tuple[str, dict[str, Any], str]] = [
    ("tdsa9", {}, f"task must be one of {TASKS}, got 'tdsa9', did you mean 'tdsa8'?"),
    ("tdsa8", {"cost": "s"}, "cost must be one of evaluations (no other was measured), got 's'"),
    ("gaussian", {"replacement": False}, "replacement must be True unless on measured arms, got False on gaussian"),
    ("gaussian", {"shared": True}, "shared must be False unless on measured arms, got True on gaussian"),
    ("tdsa8", {"means": (1, 2)}, "means must be None unless on gaussian, got (1, 2) on tdsa8"),
    ("gaussian", {"means": (0.5,)}, "means must be at least two finite numbers, got (0.5,)"),
    ("gaussian", {"deviations": -1.0}, "deviations must be a number >= 0 or 5 of them, got -1.0"),
    (
        "gaussian",
        {"means": (0.5, 0.99)},
        "bounds must be 8.5 deviations away from every mean, got bounds (0.0, 1.0), means (0.5, 0.99), deviations 0.01",
    ),
    ("ner", {"deviations": 1}, "deviations must be None unless on gaussian, got 1 on ner"),
    ("tdsa8", {"bounds": (0, 1)}, "bounds must be None unless on gaussian, got (0, 1) on tdsa8"),
    ("tdsa8", {"fix_split": 0}, "fix_split must be None unless on ner, got 0 on tdsa8"),
    ("gaussian", {"fix_seed": 0}, "fix_seed must be None unless on ner, got 0 on gaussian"),
    ("tdsa8", {"objective": "scor"}, "objective must be one of score, loss, got 'scor', did you mean 'score'?"),
    ("tdsa8", {"objective": 3}, "objective must be one of score, loss, got 3"),
    ("tdsa8", {"shared": 1}, "shared must be True or False, got 1"),
    ("tdsa8", {"batch_size": 1_000_001}, "batch_size must be at most 1000000, got 1000001"),
    ("tdsa8", {"batch_size": 0}, "batch_size must be None or an int >= 1, got 0"),
    ("tdsa8", {"batch_size": 3, "budget": 2}, "budget must be >= batch_size (3 evaluations), got 2"),
    ("tdsa8", {"budget": 1.5}, "budget must be None or an int >= 1 (evaluations), got 1.5"),
    ("tdsa8", {"workers": 0}, "workers must be an int >= 1, got 0"),
    ("tdsa8", {"workers": 2, "batch_size": 2}, "workers must be 1 with batch_size (synchronous evaluation), got 2"),
    ("tdsa8", {"durations": (1, 2)}, "durations must be None or 4 numbers > 0, got (1, 2)"),
    ("tdsa8", {"durations": (1, 2, 0, 1)}, "durations must be None or 4 numbers > 0, got (1, 2, 0, 1)"),
    ("tdsa8", {"durations": (1, 2, np.inf, 1)}, "durations must be None or 4 numbers > 0, got (1, 2, inf, 1)"),
    ("tdsa8", {"durations": ["1", 2, None, 3]}, "durations must be None or 4 numbers > 0, got ['1', 2, None, 3]"),
    ("tdsa8", {"durations": [True, 2, None, 3]}, "durations must be None or 4 numbers > 0, got [True, 2, None, 3]"),
    ("ner", {"fix_split": 150}, "fix_split must be at most 149, got 150"),
    ("ner", {"fix_split": 1.5}, "fix_split must be None or an int >= 0, got 1.5"),
    ("ner", {"fix_seed": 5}, "fix_seed must be at most 4, got 5"),
]


@pytest.mark.parametrize(("task", "kwargs", "message"), WORDS)
def test_errors_of_settings_name_argument_and_rule(task: str, kwargs: dict[str, Any], message: str) -> None:
    table = None if task == "gaussian" else DRAWN
    with raises(message):
        BanditParams.of(task, table=table, **kwargs)


def pulled(source: Arms, key: int, arms: list[int]) -> list[list[float]]:
    """Metrics of consecutive pulls in an episode."""
    ahead = DrawBuffer(source, key)
    return [(ahead.get(arm) or ahead.draw(arm)).pop() for arm in arms]


def test_what_is_drawn_ahead_does_not_depend_on_order_of_pulls() -> None:
    values = np.random.default_rng(1).uniform(1.0, 4.0, (TOGETHER + 3, 10, 1, 2))
    keys, ones = tuple(map(str, range(len(values)))), np.ones(values.shape[:3])
    source = MeasuredArms(Table("toy/more", keys, DRAWN.metrics, values, ones, SOURCE), np.arange(10))
    order = np.random.default_rng(0).integers(len(values), size=3 * AHEAD).tolist() + [TOGETHER + 2] * (2 * AHEAD)
    k = [order[:i].count(arm) for i, arm in enumerate(order)]
    many = source.pull_many(np.full(len(order), 5, np.uint64), np.array(order), np.array(k))
    assert pulled(source, 5, order) == many.tolist()


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
            assert many[i].tolist() == pulled(source, int(keys[i]), [int(arms[i])] * (int(k[i]) + 1))[-1]
        if isinstance(source, MeasuredArms):
            assert many.tolist() == DRAWN.values[arms, source.repeats(keys, arms, k), 0].tolist()
    assert (source.replacement, source.shared, source.arms, source.evaluations) == (False, True, 4, 4)
    assert MeasuredArms(DRAWN, columns).replacement
    once = MeasuredArms(DRAWN, columns, replacement=False)
    drawn = pulled(once, 7, [1] * 12)
    for sweep in range(3):
        seen = sorted(score for score, _ in drawn[4 * sweep : 4 * sweep + 4])
        assert seen == sorted(DRAWN.values[1, columns, 0, 0].tolist())
    gaussian = GaussianArms(PLANTED, 500)
    assert (gaussian.names, gaussian.arms, gaussian.evaluations) == (("score",), 3, 500)
    assert gaussian.means.tolist() == PLANTED.values[:, 0, 0, :1].tolist()
    assert gaussian.repeats(keys, arms, k).tolist() == [0] * 9


def test_synthetic_arms_have_their_moments() -> None:
    s = BanditParams.of("gaussian")
    assert natural(s.table).values[:, 0, 0, 0].tolist() == [0.65, 0.69, 0.69, 0.70, 0.71]
    assert s.table.values[:, 0, 0, 1].tolist() == [0.01] * 5
    assert isinstance(s.arms, GaussianArms)
    assert (s.arms.evaluations, s.names, s.low, s.high) == (500, ("score",), 0.0, 1.0)
    own = BanditParams.of("gaussian", means=(2.0, 3.0), deviations=(0.05, 0.025), bounds=(1, 9))
    assert (own.table.values[:, 0, 0].tolist(), own.low, own.high) == ([[2.0, 0.05], [3.0, 0.025]], 1.0, 9.0)
    two = BanditParams.of("gaussian", means=(0.2, 0.3))
    assert two.table.values[:, 0, 0].tolist() == [[0.2, 0.01], [0.3, 0.01]]
    assert (two.low, two.high, BanditParams.of("gaussian", bounds=(0, 2)).high) == (0.0, 1.0, 2.0)
    assert BanditParams.of("gaussian", table=PLANTED, means=(0.2, 0.3)).table is PLANTED
