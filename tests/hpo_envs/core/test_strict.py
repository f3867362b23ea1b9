"""Invalid actions, budgets and options are refused in both forms of every engine, with an error that names them."""

import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks.runs import run
from hpo_envs.families.registry import SPECS
from tests.helpers import IDS as HERE
from tests.helpers import rejects

pytestmark = pytest.mark.hostile

IDS = [
    "NMTHPO-swen-v0", "NMTLC-swen-v0", "FIESTA-tdsa8-v0", "CushLEPOR-ted-ende-v0", "CharHPO-v0", "NASBenchNLP-cell-v0",
]  # fmt: skip


@pytest.mark.parametrize("env_id", IDS)
def test_options(env_id: str) -> None:
    for env in (gym.make(env_id), gym.make_vec(env_id, num_envs=2)):
        env.reset(seed=0, options={})
        for options in ({"tabel": "swen"}, {1: 2}):
            rejects(r"keys of options must be among .*, got ", env.reset, options=options)
        for wrong in ("table", ["table"], 3):
            with pytest.raises(ValueError, match="options must be None or a mapping, got"):
                env.reset(options=wrong)  # type: ignore[arg-type]
        env.close()


@pytest.mark.parametrize("env_id", IDS)
def test_budgets(env_id: str) -> None:
    for budget in (10**400, np.timedelta64(5, "s"), np.ma.masked, np.ma.array([5]), float("inf")):
        rejects(r"budget must be None or a .*number > 0", gym.make, env_id, budget=budget)


class Broken:
    """An array-like object that fails when NumPy reads it."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("no array today")


@pytest.mark.parametrize("env_id", IDS)
def test_actions(env_id: str) -> None:
    for env in (gym.make(env_id).unwrapped, gym.make_vec(env_id, num_envs=2).unwrapped):
        env.reset(seed=0)
        action = np.asarray(env.action_space.sample())
        wrong = [np.ma.array(action, mask=True), np.ma.array(action), action.astype(np.int64).astype("m8[s]")]
        form = "actions" if hasattr(env, "num_envs") else "action"
        rejects(f"^{form} must not be a masked array", env.step, wrong[0])
        for one in [*wrong, wrong[-1][()], np.timedelta64(3), np.zeros(2, "m8"), Broken(), [Broken()]]:
            rejects("actions? must (not )?(be|have)", env.step, one)
        env.step(env.action_space.sample())


NUMBERS = {
    "NMTHPO-swen-v0": ("subsample", "budget"), "NMTLC-swen-v0": ("levels", "workers", "subsample"),
    "FIESTA-tdsa8-v0": ("batch_size", "workers", "durations", "replacement", "shared"),
    "FIESTA-ner-v0": ("fix_split", "fix_seed"), "FIESTA-gaussian-v0": ("means", "deviations", "bounds"),
    "CharHPO-v0": ("noise", "sweeps"), "CushLEPOR-ted-ende-v0": ("bounds", "held_out"), "NMTHPO-v0": ("pairs",),
}  # fmt: skip
"""Arguments that are numbers, switches or names."""

WRONG = [-(10**400), 10**400, np.timedelta64(5, "s"), np.ma.masked, np.ma.array([5]), float("inf"), 5j, object()]


@pytest.mark.parametrize("env_id", NUMBERS)
def test_arguments(env_id: str) -> None:
    for argument, value, make in itertools.product(NUMBERS[env_id], WRONG, (gym.make, gym.make_vec)):
        rejects(rf"^{argument} (of \w+ )?must (be|name)", make, env_id, **{argument: value})


def test_seeds_and_counts() -> None:
    for seed in (-1, 1.5, True, np.bool_(True), np.timedelta64(5), "7", Broken()):
        for env_id in IDS:
            for env in (gym.make(env_id, disable_env_checker=True), gym.make_vec(env_id, num_envs=2)):
                with pytest.raises(ValueError, match="seed must be"):
                    env.reset(seed=seed)  # type: ignore[arg-type]
        rejects("seeds must be", run, "random", "NMTHPO-swen-v0", [seed])
    for count in (0, 10**400, np.timedelta64(5, "s"), True, 2.0):
        with pytest.raises(ValueError, match="num_envs must be"):
            gym.make_vec("NMTHPO-swen-v0", num_envs=count)  # type: ignore[arg-type]


ONE_OF_EACH = {SPECS[i].vector_entry_point: i for i in HERE}


@pytest.mark.parametrize("name", ["objective", "cost", "variant"])
@pytest.mark.parametrize("env", ONE_OF_EACH.values())
def test_names_that_are_no_texts(env: str, name: str) -> None:
    try:
        gym.make(env, **{name: 5}).close()
    except TypeError:
        pytest.skip(f"{env} takes no {name}")
    except ValueError:
        pass
    for value in (10**5000, np.ma.masked, {}, [1]):
        rejects(f"^{name} must ", gym.make, env, **{name: value})
