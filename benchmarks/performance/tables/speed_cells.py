"""One `step` against train and query in the released environment, on the same actions in one run.

`python -m hpo_envs.benchmarks.performance.tables.speed_cells [--json FILE]`. Needs the measured WikiText-2 logs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import hpo_envs  # noqa: F401
from hpo_envs.benchmarks.papers.nasbenchnlp.released import ReleasedEnvironment, first_runs
from hpo_envs.benchmarks.performance.speed import batched_step, best_of, json_option, write
from hpo_envs.core import screen
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nasbenchnlp.logs import read_archive
from hpo_envs.tables.datasets.nasbenchnlp.names import LOGS

ENV = "NASBenchNLP-wikitext2-v0"
EPISODES = 10
STEPS = 40


def measure(rounds: int = 7) -> dict[str, float]:
    """Microseconds a step, and environment steps a second of the batched form; minima over interleaved rounds."""
    records = first_runs(read_archive(store.read(LOGS), LOGS))
    released = ReleasedEnvironment(records)
    recipes = [json.loads(r["recipe"]) for r in records]
    raw, made = gym.make(ENV, table="measured", budget=None), gym.make(ENV, table="measured", budget=None)
    rng = np.random.default_rng(0)
    actions = [list(rng.integers((len(recipes), 50), size=(STEPS, 2))) for _ in range(EPISODES)]

    def ours(env: Any) -> Callable[[], float]:
        def timed() -> float:
            spent = 0.0
            for episode in actions:
                env.reset(seed=0)
                step = env.step
                start = time.perf_counter()
                for action in episode:
                    step(action)
                spent += time.perf_counter() - start
            return spent / (EPISODES * STEPS)

        return timed

    def theirs() -> float:
        spent = 0.0
        for episode in actions:
            released.reset()
            pairs = [(recipes[row], int(epoch)) for row, epoch in episode]
            start = time.perf_counter()
            for recipe, epoch in pairs:
                released.train(recipe, epoch)
                try:
                    released.query(recipe, epoch)
                except ValueError:  # past the end of a run that diverged
                    pass
            spent += time.perf_counter() - start
        return spent / (EPISODES * STEPS)

    timed = {"step, unwrapped": ours(raw.unwrapped), "step, gym.make": ours(made), "released train and query": theirs}
    found = {name: 1e6 * seconds for name, seconds in best_of(rounds, timed).items()}
    found |= {f"batched steps/s at {n}": batched(n) for n in (64, 1024, 16384)}
    return found


def batched(num_envs: int, rounds: int = 5) -> float:
    """Environment steps a second of the batched form."""
    space = gym.make_vec(ENV, num_envs=num_envs, table="measured").action_space
    space.seed(0)
    step = batched_step(ENV, [space.sample() for _ in range(20)], table="measured")
    return num_envs / min(step() for _ in range(rounds))


@screen.on()
def main(argv: list[str] | None = None) -> int:
    """Prints the figures, and writes them to a file if asked."""
    args = json_option(__doc__).parse_args(argv)
    found = measure()
    for name, value in found.items():
        print(f"{name:28} {value:12.2f}" if value < 1e4 else f"{name:28} {value:12,.0f}")
    ratio = found["released train and query"] / found["step, unwrapped"]
    print(f"{'released / step, unwrapped':28} {ratio:12.1f}")
    write(args.json, found | {"ratio": ratio})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
