"""Speed of the environments against peers in one run: `python -m hpo_envs.benchmarks.performance.speed [--json FILE]`.

Times on shared machines are noisy: every figure is processor time, the minimum over interleaved rounds, and what
counts are the ratios. Peers: FrozenLake-v1 through `gym.make`, a minimal hand-written table environment that passes
Gymnasium's checker, and the bare NumPy gathers that a batched step cannot do without.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import hpo_envs  # noqa: F401
from hpo_envs.core import screen

STEPS = 400

FAMILIES = ("FIESTA-tdsa8-v0", "NMTLC-swen-v0", "NASBenchNLP-ptb-v0", "NASBenchNLP-cell-v0", "CharHPO-v0",
            "CushLEPOR-ted-ende-v0")  # fmt: skip
"""Ids that do more than look a row up, stepped by random actions."""

MOST = 1024
"""Episodes side by side up to which these are timed: some take milliseconds a step of one episode."""


class MinimalTable(gym.Env[Any, Any]):
    """The least that a table environment can do: a look-up, six observed numbers, an info dict."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.rewards = rng.uniform(0, 30, 767).tolist()
        self.rows = list(rng.uniform(0, 1, (767, 6)).astype(np.float32))
        self.action_space = gym.spaces.Discrete(767)
        self.observation_space = gym.spaces.Box(0.0, 1.0, (6,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode."""
        super().reset(seed=seed)
        self.left = 10**9
        return self.rows[0].copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Looks one row up."""
        self.left -= 1
        return self.rows[action].copy(), self.rewards[action], self.left <= 0, False, {"cost": 1.0}


def best_of(rounds: int, timed: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The minimum of each timing over interleaved rounds."""
    best = dict.fromkeys(timed, float("inf"))
    for _ in range(rounds):
        for name, measure in timed.items():
            best[name] = min(best[name], measure())
    return best


def seconds_of(function: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds that a call takes."""
    start = clock()
    function()
    return clock() - start


def batched_step(env_id: str, actions: Any, **kwargs: Any) -> Callable[[], float]:
    """Seconds per `step` of the batched form, over batches of actions."""
    envs = gym.make_vec(env_id, num_envs=len(actions[0]), **kwargs)
    envs.reset(seed=0)
    return lambda: seconds_of(lambda: [envs.step(a) for a in actions], time.process_time) / len(actions)


def json_option(doc: str | None) -> argparse.ArgumentParser:
    """A parser of the command line that knows `--json`, for `write`."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser


def write(path: Path | None, figures: Any) -> None:
    """Writes figures as JSON, if a file was asked for."""
    if path is not None:
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def scalar_step(env: gym.Env[Any, Any], actions: list[Any]) -> Callable[[], float]:
    """Seconds per `step`; episodes that end are started anew outside the clock."""

    def measure() -> float:
        env.reset(seed=0)
        total, step, clock = 0.0, env.step, time.process_time
        for first in range(0, STEPS, 20):
            chunk = actions[first : first + 20]
            start = clock()
            for action in chunk:
                if step(action)[2]:
                    total += clock() - start
                    env.reset()
                    start = clock()
            total += clock() - start
        return total / STEPS

    return measure


def scalar() -> dict[str, float]:
    """Microseconds per step through `gym.make`."""
    gym.register("MinimalTable-v0", entry_point="hpo_envs.benchmarks.performance.speed:MinimalTable")
    rows = np.random.default_rng(0).integers(0, 767, STEPS).tolist()
    grid = list(np.random.default_rng(0).integers(0, [3, 2, 3, 2, 2, 3], (STEPS, 6)))
    whole: dict[str, Any] = {"table": "surrogate", "budget": None}
    timed = {
        "minimal table": scalar_step(gym.make("MinimalTable-v0"), rows),
        "FrozenLake-v1": scalar_step(gym.make("FrozenLake-v1"), [0, 1, 2, 3] * (STEPS // 4)),
        "NMTHPO-swen-v0": scalar_step(gym.make("NMTHPO-swen-v0", **whole), rows),
        "NMTHPO-swen-mo-v0": scalar_step(gym.make("NMTHPO-swen-mo-v0", **whole), rows),
        "NMTHPO-v0": scalar_step(gym.make("NMTHPO-v0", **whole), grid),
    }
    for name in FAMILIES:
        env = gym.make(name, table="surrogate")
        env.action_space.seed(0)
        timed[name] = scalar_step(env, [env.action_space.sample() for _ in range(STEPS)])
    return {name: 1e6 * seconds for name, seconds in best_of(20, timed).items()}


def batched(num_envs: int) -> dict[str, float]:
    """Million environment steps per second, and the bare gathers."""
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 767, (42, num_envs))
    templates, wide = rng.random((767, 10)).astype(np.float32), rng.random((767, 12))
    reward, cost = rng.random(767), rng.random(767)

    def gathers() -> None:
        for a in actions:
            templates.take(a, axis=0), wide.take(a, axis=0), reward.take(a), cost.take(a)

    timed = {
        "bare gathers": lambda: seconds_of(gathers, time.process_time) / len(actions),
        "NMTHPO-swen-v0": batched_step("NMTHPO-swen-v0", actions, table="surrogate"),
        "NMTHPO-swen-v0, copy=False": batched_step("NMTHPO-swen-v0", actions, table="surrogate", copy=False),
        "NMTHPO-swen-mo-v0": batched_step("NMTHPO-swen-mo-v0", actions, table="surrogate"),
    }
    for name in FAMILIES if num_envs <= MOST else ():
        space = gym.make_vec(name, num_envs=num_envs, table="surrogate").action_space
        space.seed(0)
        timed[name] = batched_step(name, [space.sample() for _ in range(3)], table="surrogate")
    return {name: num_envs / seconds / 1e6 for name, seconds in best_of(10, timed).items()}


def imports(rounds: int = 9) -> dict[str, float]:
    """Seconds of a whole process, and of the same with the suite and a first environment."""
    code = {
        "import gymnasium": "import gymnasium",
        "+ import hpo_envs + first make": (
            "import gymnasium, hpo_envs; gymnasium.make('NMTHPO-swen-v0', table='surrogate')"
        ),
    }

    def measure(program: str) -> Callable[[], float]:
        # The clock runs inside the process: starting the interpreter is no part of either.
        timed = f"import time; t = time.perf_counter(); {program}; print(time.perf_counter() - t)"
        command = [sys.executable, "-c", timed]
        return lambda: float(subprocess.run(command, capture_output=True, check=True).stdout)  # noqa: S603 (our own)

    return best_of(rounds, {name: measure(program) for name, program in code.items()})


def report() -> dict[str, Any]:
    """Runs everything and prints it."""
    one = scalar()
    print("scalar step through gym.make, microseconds (x minimal table, x FrozenLake-v1)")
    for name, value in one.items():
        print(f"  {name:32} {value:7.2f}  x{value / one['minimal table']:5.2f}  x{value / one['FrozenLake-v1']:5.2f}")
    result: dict[str, Any] = {"scalar_microseconds": one}
    for num_envs in (64, 1024, 16384):
        many = batched(num_envs)
        print(f"batched at {num_envs}, million steps/s (bare gathers are x times faster)")
        for name, value in many.items():
            print(f"  {name:32} {value:7.2f}  x{many['bare gathers'] / value:5.2f}")
        result[f"batched_{num_envs}_million_per_second"] = many
    start = imports()
    first, second = start.values()
    print("import, seconds")
    for name, value in start.items():
        print(f"  {name:32} {value:7.3f}  x{value / first:5.2f}")
    result["import_seconds"], result["import_ratio"] = start, second / first
    return result


@screen.on()
def main() -> None:
    """Command line."""
    args = json_option(__doc__).parse_args()
    write(args.json, report())


if __name__ == "__main__":
    main()
