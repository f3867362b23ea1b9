"""What bandits read: bounds, defaults, and every word about their settings."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.core.engines.bandit.arms import MeasuredArms
from hpo_envs.core.engines.bandit.params import BanditParams
from hpo_envs.families.fiesta.page import FIESTAEnv, FIESTAVectorEnv
from tests.helpers import raises
from tests.hpo_envs.core.engines.bandit.model import ARMS, DRAWN, PLANTED, arguments


def test_observation_bounds_are_documented_ones() -> None:
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


TASKS = "tdsa8, tdsa12, ner, gaussian"
WORDS: list[tuple[str, dict[str, Any], str]] = [
    ("tdsa9", {}, f"task must be one of {TASKS}, got 'tdsa9', did you mean 'tdsa8'?"),
    ("tdsa8", {"cost": "s"}, "cost must be one of evaluations (no other was measured), got 's'"),
    ("gaussian", {"replacement": False}, "replacement must be left alone for gaussian: it is for measured arms only"),
    ("gaussian", {"shared": True}, "shared must be left alone for gaussian: it is for measured arms only"),
    ("tdsa8", {"means": (1, 2)}, "means must be left alone for tdsa8: it is for gaussian only"),
    ("ner", {"deviations": 1}, "deviations must be left alone for ner: it is for gaussian only"),
    ("tdsa8", {"bounds": (0, 1)}, "bounds must be left alone for tdsa8: it is for gaussian only"),
    ("tdsa8", {"fix_split": 0}, "fix_split must be left alone for tdsa8: it is for ner only"),
    ("gaussian", {"fix_seed": 0}, "fix_seed must be left alone for gaussian: it is for ner only"),
    ("tdsa8", {"objective": "scor"}, "objective must be one of score, loss, got 'scor', did you mean 'score'?"),
    ("tdsa8", {"objective": 3}, "objective must be one of score, loss, got 3"),
    ("tdsa8", {"shared": 1}, "shared must be True or False, got 1"),
    ("tdsa8", {"batch_size": 1_000_001}, "batch_size must be at most 1000000, got 1000001"),
    ("tdsa8", {"batch_size": 0}, "batch_size must be None or an int >= 1, got 0"),
    ("tdsa8", {"batch_size": 3, "budget": 2}, "budget must be >= batch_size, 3 evaluations, got 2"),
    ("tdsa8", {"budget": 1.5}, "budget must be None or an int >= 1 (evaluations), got 1.5"),
    ("tdsa8", {"workers": 0}, "workers must be an int >= 1, got 0"),
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
    table = None if task == "gaussian" else DRAWN
    with raises(message):
        BanditParams.of(task, table=table, **kwargs)


def test_numbers_of_numpy_are_ints_too() -> None:
    s = BanditParams.of("tdsa8", table=DRAWN, workers=np.int64(2), durations=[1, 2, 3, 4])
    assert (s.workers, type(s.workers)) == (2, int)
    assert s.durations.dtype == np.float64
    assert BanditParams.of("ner", table=DRAWN, fix_split=np.int8(1)).arms.evaluations == 5
