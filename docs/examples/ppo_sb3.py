"""Trains one policy by PPO of stable-baselines3 on the sweeps of eight languages; two languages are left for its test.

pip install "hpo_envs[rl]" && python docs/examples/ppo_sb3.py            (minutes)
"""

import argparse
import time

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import TransformReward
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecNormalize

from hpo_envs import tasks
from hpo_envs.integrations.sb3 import JoinedVecEnv, SB3VecEnv, save_policy
from hpo_envs.wrappers import vector as wrappers

FLAT = "CharHPO-inflection-hai-lstm-v0"  # most of its configurations are its best


def make(env_id, num_envs):
    """Episodes of 20 evaluations on one table; the policy says which hyperparameters, the nearest row answers."""
    envs = gym.make_vec(env_id, num_envs=num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    envs = wrappers.NormalisedReward(envs)  # 0 to 1 on each table; it knows the best row, which training may
    envs = TransformReward(envs, lambda r: -np.log(1.01 - r))  # the last percent counts as well
    envs = wrappers.ImprovementReward(envs)
    return wrappers.HistoryObservation(wrappers.ContinuousAction(envs), length=4)


class Curve(BaseCallback):
    """Prints steps, seconds, the share of them that environments took, and what an episode gains."""

    def __init__(self, envs):
        super().__init__()
        self.begun, self.spent, self.lines, self._wait = time.process_time(), 0.0, 0, envs.step_wait
        envs.step_wait = self._timed

    def _timed(self):
        begun = time.process_time()
        result = self._wait()
        self.spent += time.process_time() - begun
        return result

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        if self.num_timesteps * 10 >= self.lines * self.locals["total_timesteps"]:
            self.lines, seconds = self.lines + 1, time.process_time() - self.begun
            gain = np.mean([e["r"] for e in self.model.ep_info_buffer])
            share = self.spent / seconds
            print(f"{self.num_timesteps:9,} steps {seconds:6.1f} s, environments {share:5.1%}, gain {gain:.3f}")


def main(arguments=None):
    """Train, write the policy, and return its file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--envs", type=int, default=8, help="of each table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="ppo.zip")
    args = parser.parse_args(arguments)
    split = tasks.split("CharHPO")
    ids = [env_id for env_id, _ in (*split.train, *split.validation) if env_id != FLAT]
    joined = JoinedVecEnv([SB3VecEnv(make(env_id, args.envs)) for env_id in ids])
    envs = VecNormalize(joined, gamma=1.0)
    how = {"n_steps": 20, "batch_size": 4 * joined.num_envs, "n_epochs": 5, "gamma": 1.0, "device": "cpu"}
    model = PPO("MlpPolicy", envs, 1e-3, seed=args.seed, policy_kwargs={"log_std_init": -1.0}, **how)
    model.learn(args.steps, Curve(joined))
    return save_policy(model, args.out)


if __name__ == "__main__":
    print(main())
