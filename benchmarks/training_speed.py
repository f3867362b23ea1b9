"""What share of training is the environment: `python -m hpo_envs.benchmarks.training_speed`.

PPO of stable-baselines3 on a batched id through `hpo_envs.sb3.SB3VecEnv` (extra `rl`), wall time split into the
environment's own `step` and `reset`, the adapter around it, and everything else.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode, VectorWrapper


@dataclass(frozen=True)
class Share:
    """Where the wall time of one training went.

    Attributes:
        env_id: What was trained on.
        steps: Environment steps, all environments together.
        total: Seconds of `learn`.
        environment: Seconds in the batched environment.
        adapter: Seconds in the adapter to stable-baselines3, the environment excluded.
    """

    env_id: str
    steps: int
    total: float
    environment: float
    adapter: float

    def line(self) -> str:
        """As one line of text."""
        return (
            f"{self.env_id:26} {self.steps:9d} steps {self.total:7.2f} s {self.steps / self.total:9,.0f} steps/s  "
            f"environment {self.environment / self.total:7.2%}  adapter {self.adapter / self.total:7.2%}"
        )


class Timed(VectorWrapper[Any, Any, Any, Any, Any]):
    """Adds up the seconds in `reset` and `step`."""

    seconds = 0.0

    def reset(self, **kwargs: Any) -> Any:
        """Starts episodes."""
        start = time.perf_counter()
        result = self.env.reset(**kwargs)
        self.seconds += time.perf_counter() - start
        return result

    def step(self, actions: Any) -> Any:
        """Performs one step in every environment."""
        start = time.perf_counter()
        result = self.env.step(actions)
        self.seconds += time.perf_counter() - start
        return result


def measure(env_id: str, num_envs: int, steps: int, n_steps: int = 20, **kwargs: Any) -> Share:
    """Trains PPO with its default network and epochs, and says where the time went.

    Args:
        env_id: A registered id with one objective.
        num_envs: Environments side by side.
        steps: Environment steps, all together.
        n_steps: Steps of each environment between updates.
        **kwargs: Arguments of the environment.

    Raises:
        ModuleNotFoundError: stable-baselines3 is missing; the message says how to install it.
    """
    from hpo_envs.sb3 import SB3VecEnv

    inner = Timed(gym.make_vec(env_id, num_envs=num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **kwargs))
    envs = SB3VecEnv(inner)
    from stable_baselines3 import PPO

    spent, step_wait = 0.0, envs.step_wait

    def timed() -> Any:
        nonlocal spent
        start = time.perf_counter()
        result = step_wait()
        spent += time.perf_counter() - start
        return result

    envs.step_wait = timed  # type: ignore[method-assign]
    policy = PPO("MlpPolicy", envs, n_steps=n_steps, batch_size=num_envs * n_steps // 4, seed=0, device="cpu")
    inner.seconds = 0.0
    start = time.perf_counter()
    policy.learn(steps)
    total = time.perf_counter() - start
    return Share(env_id, policy.num_timesteps, total, inner.seconds, spent - inner.seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        prog="python -m hpo_envs.benchmarks.training_speed",
        description="Share of PPO's wall time that is spent in the environment.",
    )
    parser.add_argument("--ids", nargs="+", default=["NMTHPO-v0"], help="default: %(default)s")
    parser.add_argument("--envs", type=int, default=1024, help="environments side by side (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=204_800, help="environment steps (default: %(default)s)")
    parser.add_argument("--table", default="auto", help="table of the environments (default: %(default)s)")
    args = parser.parse_args(arguments)
    for env_id in args.ids:
        print(measure(env_id, args.envs, args.steps, table=args.table).line())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
