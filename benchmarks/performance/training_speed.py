"""What share of training is the environment: `python -m hpo_envs.benchmarks.performance.training_speed`.

PPO of stable-baselines3 on a batched id through `hpo_envs.integrations.sb3.SB3VecEnv` (extra `rl`), on one thread, its
processor time split into the environment's own `step` and `reset`, the adapter around it, and everything else. On one
thread and an idle machine processor time is wall time; on a shared one it is what can be compared.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode

from hpo_envs.core import screen


@dataclass(frozen=True)
class Share:
    """Where the processor time of one training went.

    Attributes:
        env_id: What was trained on.
        steps: Environment steps, all environments together.
        total: Seconds of `learn`.
        wall: Wall seconds of `learn`.
        environment: Seconds in the batched environment.
        adapter: Seconds in the adapter to stable-baselines3, the environment excluded.
    """

    env_id: str
    steps: int
    total: float
    wall: float
    environment: float
    adapter: float

    def line(self) -> str:
        """As one line of text."""
        return (
            f"{self.env_id:26} {self.steps:9d} steps {self.total:7.2f} CPU s ({self.wall:.2f} s of wall time) "
            f"{self.steps / self.total:9,.0f} steps per CPU s  "
            f"environment {self.environment / self.total:7.2%}  adapter {self.adapter / self.total:7.2%}"
        )


class Stopwatch:
    """Adds up the processor seconds of the methods that it stands before."""

    seconds = 0.0

    def before(self, obj: Any, *names: str) -> None:
        """Times methods of an object from now on."""
        for name in names:
            setattr(obj, name, functools.partial(self._timed, getattr(obj, name)))

    def _timed(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        result = method(*args, **kwargs)
        self.seconds += time.process_time() - start
        return result


def measure(env_id: str, num_envs: int, steps: int, n_steps: int = 20, **kwargs: Any) -> Share:
    """Trains PPO with its default network and epochs on one thread, and says where the time went.

    Args:
        env_id: A registered id with one objective.
        num_envs: Environments side by side.
        steps: Environment steps, all together.
        n_steps: Steps of each environment between updates.
        **kwargs: Arguments of the environment.

    Raises:
        ModuleNotFoundError: stable-baselines3 is missing; the message says how to install it.
    """
    from hpo_envs.integrations.sb3 import SB3VecEnv

    inner = gym.make_vec(env_id, num_envs=num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **kwargs)
    envs, environment, adapter = SB3VecEnv(inner), Stopwatch(), Stopwatch()
    environment.before(inner, "reset", "step")
    adapter.before(envs, "step_wait")
    import torch
    from stable_baselines3 import PPO

    policy = PPO("MlpPolicy", envs, n_steps=n_steps, batch_size=num_envs * n_steps // 4, seed=0, device="cpu")
    environment.seconds = 0.0
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    wall, start = time.perf_counter(), time.process_time()
    policy.learn(steps)
    total, wall = time.process_time() - start, time.perf_counter() - wall
    torch.set_num_threads(threads)
    inside = environment.seconds
    return Share(env_id, policy.num_timesteps, total, wall, inside, adapter.seconds - inside)


@screen.on()
def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        prog="python -m hpo_envs.benchmarks.performance.training_speed",
        description="Share of PPO's processor time, on one thread, that is spent in the environment.",
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
