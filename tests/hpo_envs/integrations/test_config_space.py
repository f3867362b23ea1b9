"""Actions of CharHPO-v0 as dicts, and its space as ConfigSpace's."""

from typing import Any

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

from hpo_envs.integrations.config_space import DictActions
from hpo_envs.tables.datasets.charhpo import build as charhpo
from hpo_envs.tables.user.space import to_configspace


def make(**kwargs: Any) -> Any:
    return gym.make("CharHPO-v0", **kwargs)


@pytest.mark.parametrize("architecture", ["lstm", "transformer"])
def test_dict_actions_take_natural_values(architecture: str) -> None:
    env = DictActions(make(architecture=architecture))
    check_env(env.unwrapped, skip_render_check=True)
    env.action_space.seed(0)
    env.reset(seed=0)
    for _ in range(60):
        action = env.action_space.sample()
        natural = env.natural(action)
        config = env.step(action)[4]["config"]
        for h in env.hyperparameters:
            active = h.condition is None or natural[h.condition[0]] in h.condition[1]
            if h.kind == "float":
                assert config[h.name] == pytest.approx(natural[h.name] if active else 0, rel=1e-5, abs=1e-7)
            else:
                assert config[h.name] == (natural[h.name] if active else 0)
        back = env.index(config)
        assert back in env.action_space
        again = env.step(back)[4]["config"]
        assert again["batch_size"] == config["batch_size"]
        assert again["warmup_samples"] == config["warmup_samples"]
    with pytest.raises(ValueError, match="action must be in Dict"):
        env.step({"batch_size": 0})


def test_dict_actions_need_one_space() -> None:
    with pytest.raises(ValueError, match="make it with architecture='lstm' or 'transformer'"):
        DictActions(make())
    with pytest.raises(ValueError, match="must take the values of hyperparameters"):
        DictActions(gym.make("CharHPO-g2p-dut-lstm-v0"))


def test_configspace_export() -> None:
    pytest.importorskip("ConfigSpace")
    env = make(architecture="transformer").unwrapped
    env.reset(seed=0)
    exported = to_configspace(env.table.space, seed=1)
    assert list(exported) != []
    assert len(exported) == 16
    assert exported["learning_rate"].log
    assert len(exported.conditions) == 4
    for configuration in exported.sample_configuration(40):
        config = dict(configuration)
        assert ("factor" in config) == (config["scheduler"] == "reduceonplateau")
        assert ("warmup_samples" in config) == (config["scheduler"] == "warmupinvsqrt")
        got = env.step(env.action_of(config))[4]["config"]
        assert got["hidden_size"] == config["hidden_size"]
        assert got["attention_heads"] == config["attention_heads"]
        assert got["warmup_samples"] // 100 == config.get("warmup_samples", 0) // 100
    lstm = to_configspace(charhpo.space("lstm"))
    assert lstm["attention_heads"].value == 1
