"""CharHPO-v0: meaning of its actions, its results, and the 24 sweeps."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.families.registry import SPECS
from hpo_envs.tables import store
from hpo_envs.tables.datasets.charhpo import build as charhpo
from hpo_envs.tables.datasets.charhpo import model
from hpo_envs.tables.datasets.charhpo.space import action_of
from tests.helpers import rejects, started


def make(**kwargs: Any) -> Any:
    return gym.make("CharHPO-v0", **kwargs)


def test_there_are_24_sweeps_and_space() -> None:
    ids = [s for s in SPECS.values() if s.family == "CharHPO"]
    assert (len(ids), {s.tables for s in ids[:24]}) == (25, {(name,) for name in charhpo.NAMES})
    env = gym.make("CharHPO-g2p-arm_e-transformer-v0")
    assert (env.action_space.n, env.unwrapped.budget) == (200, 20)
    with pytest.raises(ValueError, match="lang must be one of arm_e, dut, geo, hun for g2p, got 'alb'"):
        gym.make("CharHPO-g2p-dut-lstm-v0", lang="alb")


def test_runtime_can_be_cost_or_objective() -> None:
    env = started(gym.make("CharHPO-inflection-rom-lstm-v0", cost="runtime", budget=20_000))
    spent, steps, terminated = 0.0, 0, False
    while not terminated:
        _, _, terminated, _, info = env.step(steps)
        assert info["cost"] == info["metrics"]["runtime"]
        spent, steps = spent + info["cost"], steps + 1
    assert env.unwrapped.cost_unit == "s"
    assert spent >= 20_000 > spent - info["cost"]
    both = started(gym.make("CharHPO-inflection-rom-lstm-v0", objective=("accuracy", "runtime")).unwrapped)
    _, reward, *_, info = both.step(3)
    assert reward.tolist() == [info["metrics"]["accuracy"], -info["metrics"]["runtime"]]


def test_rows_of_its_tables_get_same_answers() -> None:
    for name in charhpo.NAMES[::5]:
        task, lang, architecture = charhpo.parts(name)
        t = model.table(name)
        envs = started(gym.make_vec("CharHPO-v0", num_envs=200, task=task, lang=lang, architecture=architecture))
        actions = np.array([action_of(t.space, t.config(row)) for row in range(200)])
        _, rewards, *_, info = envs.step(actions)
        for h in t.space:
            expected = [t.config(row)[h.name] for row in range(200)]
            if h.kind == "float":
                assert np.allclose(info["config"][h.name], expected, rtol=2e-6, atol=1e-7)
            else:
                assert info["config"][h.name].tolist() == expected
        # Actions are float32: now and then one rounds to the neighbouring multiple of 1/4095, with noise of its own.
        same = (rewards == t.final("accuracy")) & (info["metrics"]["runtime"] == t.final("runtime"))
        assert same.sum() >= 197


def test_reset_draws_or_takes_task() -> None:
    env = make()
    seen = set()
    for seed in range(60):
        observation, info = env.reset(seed=seed)
        seen.add(info["table"])
        assert observation[-3] == (info["architecture"] == "transformer")
        assert observation[-2] == (info["task"] == "g2p")
        assert env.unwrapped.table.name == info["table"]
        assert len(env.unwrapped.table.space[12].values) == (4 if info["architecture"] == "transformer" else 2)
    assert len(seen) > 18
    assert env.reset(options={"table": "g2p-geo-lstm"})[1]["lang"] == "geo"
    wanted = {"task": "inflection", "lang": "hun", "architecture": "transformer"}
    assert env.reset(options=wanted)[1]["table"] == "charhpo/inflection-hun-transformer"
    assert {env.reset(seed=s, options={"lang": "gle"})[1]["lang"] for s in range(9)} == {"gle"}
    only = make(task="g2p", architecture="lstm")
    assert {only.reset(seed=s)[1]["table"] for s in range(40)} == {
        n for n in charhpo.NAMES if "g2p" in n and "lstm" in n
    }
    envs = gym.make_vec("CharHPO-v0", num_envs=5, architecture="lstm")
    _, info = envs.reset(seed=0, options={"lang": "dut"})
    assert (set(info["lang"]), set(info["architecture"])) == ({"dut"}, {"lstm"})


@pytest.mark.parametrize(
    ("kwargs", "options", "message"),
    [
        ({"task": "g2q"}, None, "task must be one of inflection, g2p, got 'g2q', did you mean 'g2p'"),
        ({"task": "g2p", "lang": "alb"}, None, "must be a combination of Table 6"),
        ({"architecture": "gru"}, None, "architecture must be one of lstm, transformer, got 'gru'"),
        ({"objective": "acuracy"}, None, "objective must be one of accuracy, runtime, got 'acuracy', did you mean"),
        ({"objective": ()}, None, "objective must name at least one of"),
        ({"cost": "hours"}, None, "cost must be one of evaluations, runtime, got 'hours'"),
        ({}, {"lang": "deu"}, r"options\['lang'\] must be one of .*, got 'deu'"),
        ({}, {"table": "g2p-geo"}, r"options\['table'\] must be one of .*, did you mean"),
        ({"architecture": "lstm"}, {"architecture": "transformer"}, "must name one of this environment's 12 tasks"),
    ],
)
def test_errors(kwargs: Any, options: Any, message: str) -> None:
    rejects(message, lambda: make(**kwargs).reset(options=options))


def test_noise_is_function_of_configuration() -> None:
    noisy, smooth = make(lang="hun", task="g2p"), make(lang="hun", task="g2p", noise=False)
    differ = 0
    for env in (noisy, smooth):
        env.reset(seed=3)
    for k in range(20):
        action = np.full(16, -0.9 + 0.09 * k, np.float32)
        first, again = noisy.step(action), noisy.step(action)
        assert (first[1], first[4]["metrics"]) == (again[1], again[4]["metrics"])
        differ += first[1] != smooth.step(action)[1]
    assert differ > 5  # the others are at the top, where noise is less than a word


def test_action_of_rejects_what_is_outside() -> None:
    env = started(make(architecture="lstm").unwrapped)
    for config, message in (
        ({"batch": 16}, "got 'batch', did you mean 'batch_size'"),
        ({"batch_size": 17}, "batch_size must be one of .*, got 17"),
        ({"learning_rate": 0.1}, r"must be a number in \[1e-06, 0.01\], got 0.1"),
        ({"encoder_layers": 4}, "must be one of 1, 2, got 4"),
        ({"dropout": "much"}, "must be a number"),
    ):
        rejects(message, env.action_of, config)
    assert env.action_of({"scheduler": "none", "factor": 7.0}).shape == (16,), "inactive values do not matter"


def test_random_search_finds_what_sweeps_found() -> None:
    """Uniform actions sample the sweeps' distributions, so their accuracies are those of a sweep."""
    envs = gym.make_vec("CharHPO-v0", num_envs=400, task="inflection", lang="dut", architecture="transformer", budget=1)
    envs.action_space.seed(0)
    envs.reset(seed=0)
    rewards = envs.step(envs.action_space.sample())[1]
    sweep = store.load("charhpo/inflection-dut-transformer").final("accuracy")
    from scipy.stats import ks_2samp

    assert ks_2samp(rewards, sweep).pvalue > 0.01
