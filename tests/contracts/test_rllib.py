"""RLlib trains on our ids; `.ci/nightly clients` has it in a separate environment; skipped elsewhere."""

import os
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.wrappers import FlattenAction

os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
pytest.importorskip("ray.rllib", reason="run by .ci/nightly clients")


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield ray
    ray.shutdown()


@pytest.mark.parametrize("env_id", ["NMTHPO-zhen-v0", "NMTHPO-v0", "CharHPO-v0", "NMTLC-ft-zhen-v0"])
def test_rllib_trains_by_ppo(ray: Any, env_id: str) -> None:
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.tune.registry import register_env

    def made(settings: Any) -> Any:
        env = gym.make(env_id, budget=8)
        return FlattenAction(env) if env_id.startswith("NMTLC") else env

    register_env(env_id, made)
    config = (
        PPOConfig()
        .environment(env_id)
        .env_runners(num_env_runners=0)
        .training(train_batch_size=32, minibatch_size=16, num_epochs=1)
        .debugging(seed=0)
    )
    algorithm = config.build_algo()
    result = algorithm.train()
    algorithm.stop()
    assert result["num_env_steps_sampled_lifetime"] >= 32
    assert np.isfinite(result["env_runners"]["episode_return_mean"])
