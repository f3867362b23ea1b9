"""Trains PPO of stable-baselines3 on language pairs and tests it on one that it never saw.

pip install "hpo_envs[rl]" && python docs/examples/ppo_sb3.py            (minutes)
"""

import argparse

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecNormalize

import hpo_envs
from hpo_envs import tasks
from hpo_envs.integrations.sb3 import SB3VecEnv
from hpo_envs.wrappers import vector as wrappers


def make(part, num_envs, reward=True, **kwargs):
    """Episodes of 20 evaluations on the pairs of a part of the split."""
    env_id, drawn = tasks.split("NMTHPO-v0").drawn(part)
    envs = gym.make_vec(env_id, num_envs=num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **drawn, **kwargs)
    if reward:  # what an evaluation adds to the best so far, in BLEU; the test below looks at BLEU itself
        envs = wrappers.ImprovementReward(envs, baseline=0.0)
    return wrappers.HistoryObservation(envs, length=5)


def best_found(choose, episodes, **kwargs):
    """Mean best BLEU of an episode on the test pair."""
    envs = make("test", episodes, reward=False, **kwargs)
    observations, _ = envs.reset(seed=1000)
    best = np.zeros(episodes)
    for _ in range(20):
        observations, rewards, *_ = envs.step(choose(observations))
        best = np.maximum(best, rewards)
    return best.mean()


def main(arguments=None):
    """Trains, tests, and returns (best BLEU of the policy, of random actions)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400_000)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--table", default="auto")
    args = parser.parse_args(arguments)
    print(f"hpo_envs {hpo_envs.__version__}: training on {tasks.split('NMTHPO-v0').drawn('train')[1]}")
    envs = VecNormalize(SB3VecEnv(make("train", args.envs, table=args.table)), gamma=1.0)
    policy = PPO("MlpPolicy", envs, 1e-3, n_steps=20, batch_size=320, ent_coef=0.005, gamma=1.0, seed=0, device="cpu")
    policy.learn(args.steps)
    space = envs.action_space
    space.seed(0)
    learned = best_found(lambda o: policy.predict(envs.normalize_obs(o))[0], 200, table=args.table)
    chance = best_found(lambda o: np.array([space.sample() for _ in o]), 200, table=args.table)
    print(f"best BLEU within 20 evaluations on the unseen pair: policy {learned:.2f}, random {chance:.2f}")
    return learned, chance


if __name__ == "__main__":
    main()
