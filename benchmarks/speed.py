"""Speed of the environments against peers in one run: `python -m hpo_envs.benchmarks.speed [PART ...]`.

Parts: `scalar`, `batched`, `sampled`, `loop`, `seeds`, `imports`; by default all. Times on shared machines are noisy:
every figure is CPU time, the minimum over interleaved rounds; ratios are the reliable part. Peers: FrozenLake-v1 by
`gym.make`, a minimal hand-written table environment that passes Gymnasium's checker, and the bare NumPy gathers that a
batched step needs. With `--against CHECKOUT` the same is run with another checkout's package, in alternating processes,
and each figure is shown as medians of both and their ratio.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.benchmarks import runs, tasks
from hpo_envs.tables import screen
from hpo_envs.tables.checks import one_of
from hpo_envs.wrappers import for_training

STEPS = 400

TABLES: dict[str, dict[str, Any]] = {
    "NMTHPO-swen-v0": {}, "NMTHPO-swen-v0, copy=False": {"copy": False},
    "NMTHPO-swen-v0, no budget": {"budget": None}, "NMTHPO-swen-mo-v0": {}, "NMTHPO-v0": {},
    "NASBenchNLP-ptb-final-v0": {}, "FIESTA-tdsa8-v0": {}, "NMTLC-swen-v0": {}, "NASBenchNLP-wikitext2-v0": {},
}  # fmt: skip
"""Arguments of the timed look-up environments, by id and an optional comment after a comma."""

COMPUTED = ("NASBenchNLP-cell-v0", "CharHPO-v0", "CushLEPOR-ted-ende-v0")
"""Ids whose steps compute results instead of looking them up; they are timed in batches of at most 1,024 episodes."""


class MinimalTable(gym.Env[Any, Any]):
    """A minimal table environment: a look-up of the reward, six observed numbers, an info dict."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.rewards = rng.uniform(0, 30, 767).tolist()
        self.rows = list(rng.uniform(0, 1, (767, 6)).astype(np.float32))
        self.action_space = gym.spaces.Discrete(767)
        self.observation_space = gym.spaces.Box(0.0, 1.0, (6,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode of 10**9 steps; return the first row and an empty info dict."""
        super().reset(seed=seed)
        self.left = 10**9
        return self.rows[0].copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return a copy of the action's row, its reward, both flags of the end and an info dict with a cost of 1."""
        self.left -= 1
        return self.rows[action].copy(), self.rewards[action], self.left <= 0, False, {"cost": 1.0}


def best_of(rounds: int, timed: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """Call each timing in interleaved rounds; return its minimum by name."""
    best = dict.fromkeys(timed, float("inf"))
    for _ in range(rounds):
        for name, measure in timed.items():
            best[name] = min(best[name], measure())
    return best


def seconds_of(function: Callable[[], object]) -> float:
    """Call a function; return its CPU seconds."""
    start = time.process_time()
    function()
    return time.process_time() - start


def batched_step(env_id: str, actions: Any, keep: bool = True, **kwargs: Any) -> Callable[[], float]:
    """Return a function that measures CPU seconds per vectorized `step`, with all results kept or each discarded."""
    envs = gym.make_vec(env_id, num_envs=len(actions[0]), **kwargs)
    envs.reset(seed=0)

    def steps() -> None:
        kept = []
        for a in actions:
            result = envs.step(a)
            if keep:
                kept.append(result)

    return lambda: seconds_of(steps) / len(actions)


def scalar_step(env: gym.Env[Any, Any], actions: list[Any]) -> Callable[[], float]:
    """Return a function that measures CPU seconds per `step` over `STEPS` actions; resets are not timed."""

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
    """Return CPU microseconds per step of each environment through `gym.make`."""
    gym.register("MinimalTable-v0", entry_point=f"{MinimalTable.__module__}:MinimalTable")
    rows = np.random.default_rng(0).integers(0, 767, STEPS).tolist()
    grid = list(np.random.default_rng(0).integers(0, [3, 2, 3, 2, 2, 3], (STEPS, 6)))
    whole: dict[str, Any] = {"budget": None}
    timed = {
        "minimal table": scalar_step(gym.make("MinimalTable-v0"), rows),
        "FrozenLake-v1": scalar_step(gym.make("FrozenLake-v1"), [0, 1, 2, 3] * (STEPS // 4)),
        "NMTHPO-swen-v0": scalar_step(gym.make("NMTHPO-swen-v0", **whole), rows),
        "NMTHPO-swen-mo-v0": scalar_step(gym.make("NMTHPO-swen-mo-v0", **whole), rows),
        "NMTHPO-v0": scalar_step(gym.make("NMTHPO-v0", **whole), grid),
    }
    for name in (*[n for n in TABLES if n[-3:] == "-v0" and n not in timed], *COMPUTED):
        env = gym.make(name)
        env.action_space.seed(0)
        timed[name] = scalar_step(env, [env.action_space.sample() for _ in range(STEPS)])
    return {name: 1e6 * seconds for name, seconds in best_of(20, timed).items()}


def batched(num_envs: int) -> dict[str, float]:
    """Return CPU microseconds per step of all episodes, by environment, and per round of the bare gathers.

    Results of twenty steps (of `COMPUTED`: three) are kept, as in a rollout; times then depend on the memory of the C
    library, and ratios vary by a half between processes. For `discarded`, each result is freed by the next one, as in
    the gathers.
    """
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 767, (42, num_envs))
    templates, wide = rng.random((767, 10)).astype(np.float32), rng.random((767, 12))
    reward, cost = rng.random(767), rng.random(767)

    def gathers() -> None:
        for a in actions:
            templates.take(a, axis=0), wide.take(a, axis=0), reward.take(a), cost.take(a)

    timed = {"bare gathers": lambda: seconds_of(gathers) / len(actions)}
    for name, kwargs in (TABLES | ({n: {} for n in COMPUTED} if num_envs <= 1024 else {})).items():
        env_id = name.partition(",")[0]
        space = gym.make_vec(env_id, num_envs=num_envs).action_space
        space.seed(0)
        steps = 3 if name in COMPUTED else 20
        sampled = [space.sample() for _ in range(steps)]
        timed[name] = batched_step(env_id, sampled, **kwargs)
        if name not in COMPUTED:
            timed[f"{name}, discarded"] = batched_step(env_id, sampled, False, **kwargs)
    return {name: 1e6 * seconds for name, seconds in best_of(10, timed).items()}


def sampled() -> dict[str, float]:
    """Return CPU microseconds per step of all sampled tasks: raw, and with hyperparameters and observed rewards."""
    timed = {}
    for n in (64, 256, 1024, 4096):
        actions, raw = np.random.default_rng(0).integers(0, 64, (60, n)), tasks.make_vec(n)
        shown = for_training(tasks.make_vec(n), 64, ("hyperparameters", "observed"))
        for name, envs in ((f"{n} episodes, raw", raw), (f"{n} episodes, observed", shown)):
            envs.reset(seed=0)
            steps = functools.partial(lambda envs, given: [envs.step(a) and None for a in given], envs, actions)
            timed[name] = functools.partial(seconds_of, steps)
    return {name: 1e6 * seconds / 60 for name, seconds in best_of(5, timed).items()}


def loop() -> dict[str, float]:
    """Return CPU microseconds per evaluation of 100 seeds of `random` in a batch, including the run loop."""
    timed = {f"random, {budget} evaluations": _run("random", 100, budget, 1e6) for budget in (20, 200)}
    return best_of(7, timed)


def seeds() -> dict[str, float]:
    """Return CPU milliseconds per seed (20 evaluations) of three agents, alone and in a batch of 100 seeds."""
    each = {"alone": 1, "of 100": 100}
    timed = {
        f"{name}, {k}": _run(name, n, 20, 20 * 1e3)
        for name in ("bo", "bo-spread", "in-context")
        for k, n in each.items()
    }
    return best_of(3, timed)


def _run(agent: str, count: int, budget: int, unit: float) -> Callable[[], float]:
    """Run `count` seeds; return a function that times them again, as `unit` times the CPU seconds per evaluation."""
    arguments: dict[str, Any] = {"budget": budget, "env_kwargs": {}}
    run = functools.partial(runs.run, agent, "NMTHPO-swen-v0", range(count), **arguments)
    run()
    return lambda: unit * seconds_of(run) / (count * budget)


def imports() -> dict[str, float]:
    """Return CPU milliseconds in new processes, without their start: imports, a first `make`, and `hpo-envs --help`."""
    code = {
        "import gymnasium": "import gymnasium",
        "+ import hpo_envs + first make": ("import gymnasium, hpo_envs; gymnasium.make('NMTHPO-swen-v0')"),
        "hpo-envs --help": "import contextlib; from hpo_envs.commands.main import main\n"
        "with contextlib.suppress(SystemExit): main(['--help'])",
    }

    def measure(program: str) -> float:
        timed = f"import time; t = time.process_time(); {program}\nprint(); print(time.process_time() - t)"
        done = subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True)  # noqa: S603 (our own)
        return float(done.stdout.split()[-1])

    timed = {name: functools.partial(measure, program) for name, program in code.items()}
    return {name: 1e3 * seconds for name, seconds in best_of(9, timed).items()}


PARTS: dict[str, tuple[Callable[[], dict[str, float]], str]] = {
    "scalar": (scalar, "us a step through gym.make"),
    **{f"batched {n}": (functools.partial(batched, n), "us a step of all episodes") for n in (64, 1024, 16384)},
    "sampled": (sampled, "us a step of all episodes"),
    "loop": (loop, "us an evaluation"),
    "seeds": (seeds, "ms a seed"),
    "imports": (imports, "ms"),
}


def report(names: list[str]) -> dict[str, dict[str, float]]:
    """Run the parts with these names (none: all); print their figures, with ratios to the peers, and return them.

    A name is the first word of a part, such as `batched` of `batched 64`; an unknown one raises a ValueError.
    """
    for name in names:
        one_of("PART", name, dict.fromkeys(p.partition(" ")[0] for p in PARTS))
    result = {}
    for part in (p for p in PARTS if not names or p.partition(" ")[0] in names):
        measure, unit = PARTS[part]
        result[part] = found = measure()
        peers = list(found.items())[: 2 if part == "scalar" else 1]
        print(f"{part}, {unit} ({', '.join(f'x {name}' for name, _ in peers)})")
        for name, value in found.items():
            print(f"  {name:39} {value:10.2f}", *(f" x{value / peer:6.2f}" for _, peer in peers))
    return result


def compare(names: list[str], checkout: Path, rounds: int = 5) -> dict[str, dict[str, tuple[float, float]]]:
    """Print and return (here, there) median times by part and figure, of this package and of another checkout's.

    They are measured in alternating processes, `rounds` of each. No names: all parts.
    """
    both: tuple[list[Any], list[Any]] = [], []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.json"
        here = Path(sys.modules["hpo_envs"].__file__ or "").resolve().parents[1]  # not through a link, as this file is
        for _ in range(rounds):
            for found, path in zip(both, (here, checkout.resolve()), strict=True):
                command = [sys.executable, "-W", "ignore", __file__, *names, "--json", str(out)]
                subprocess.run(command, env={**os.environ, "PYTHONPATH": str(path)}, capture_output=True, check=True)  # noqa: S603 (ourselves)
                found.append(json.loads(out.read_text(encoding="utf-8")))
    result: dict[str, dict[str, tuple[float, float]]] = {}
    for part, figures in both[0][0].items():
        print(f"{part}, {PARTS[part][1]}: here, there, ratio")
        result[part] = {}
        for name in figures:
            here, there = (statistics.median(one[part][name] for one in found) for found in both)
            result[part][name] = here, there
            print(f"  {name:39} {here:10.2f} {there:10.2f}  x{here / there:5.2f}")
    return result


@screen.on()
def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("parts", nargs="*", metavar="PART", help="what is measured; by default everything")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another checkout to be compared with")
    args = parser.parse_args()
    figures = compare(args.parts, args.against) if args.against else report(args.parts)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
