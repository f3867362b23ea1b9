"""Random samplers of other packages, run through their adapters and compared with random search.

    python -m hpo_envs.benchmarks.comparison.neutrality --seeds 100

This measures the effect of the adapter alone: a uniform sampler has to be as good as random search on the table. All
suggestions are from the sampler, without an initial design.
"""

import argparse
import functools
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.analysis.intervals import fixed_tasks
from hpo_envs.benchmarks.runs import run
from hpo_envs.core.params import Floats
from hpo_envs.families import registry
from hpo_envs.tables import screen

SAMPLERS = {
    "Optuna RandomSampler": ("optuna", {"sampler": "RandomSampler"}),
    "Nevergrad RandomSearch": ("nevergrad", {"optimizer": "RandomSearch"}),
    "SMAC random facade": ("smac", {"facade": "random"}),
    "Ax Sobol": ("ax", {"method": "random_search"}),
    "Syne Tune random search": ("syne-cqr", {"scheduler": "RandomSearch"}),
    "random": ("random", {}),
}
"""(agent, hyperparameters) by name of the sampler; `random` checks the method itself."""

FAMILIES = ("CharMini", "CharHPO", "NMTHPO")
STEPS = 20  # evaluations of a run


def ids(family: str) -> list[str]:
    """Return the ids of a family with one objective and one table, except degenerate tasks (best = median)."""
    one = [i for i in registry.SPECS if i.startswith(f"{family}-") and "-mo-" not in i and i != f"{family}-v0"]
    return [i for i in one if np.isfinite(regrets(i)).all()]


@functools.cache
def regrets(env_id: str) -> Floats:
    """Return the (n,) regret of an id's configurations; NaN for a degenerate task, see `regret.of_rows`."""
    params = gym.make(env_id, disable_env_checker=True).unwrapped.params  # type: ignore[attr-defined]
    return regret.of_rows(np.ravel(params.truth(0, np.arange(params.rows))))


def expected(truth: Floats, steps: int) -> Floats:
    """Return the (steps,) exact expected best of 1, 2, ... values drawn without replacement from (n,) values.

    The best of t is the k-th highest, from 0, with probability C(n - 1 - k, t - 1) / C(n, t).
    """
    ordered, n = np.sort(truth)[::-1], len(truth)
    means = []
    for t in range(1, steps + 1):
        above = np.cumprod((n - t - np.arange(n)).clip(0) / (n - np.arange(n)))  # none of the k + 1 highest is drawn
        means.append(float((np.append(1.0, above[:-1]) - above) @ ordered))
    return np.array(means)


def differences(agent: str, env_id: str, seeds: int, **settings: Any) -> Floats:
    """Run an agent; return the (seeds,) mean regret of each run minus the expected mean regret of random search."""
    known = regrets(env_id)
    runs = run(agent, env_id, range(seeds), budget=STEPS, **settings)
    rows = np.array([r.actions[:STEPS] for r in runs], np.int64)
    return np.asarray(np.minimum.accumulate(known[rows], axis=1).mean(axis=1) + expected(-known, STEPS).mean())


@screen.on()
def main(argv: Sequence[str] | None = None) -> int:
    """Print a row per sampler: mean difference and 95 % interval, for each family and pooled; return 0."""
    parser = argparse.ArgumentParser(prog="hpo_envs.benchmarks.comparison.neutrality", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--samplers", nargs="+", choices=[*SAMPLERS], default=[*SAMPLERS])
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=FAMILIES)
    given = parser.parse_args(argv)
    print("| sampler |", " | ".join([*given.families, "all"]), "|\n|" + "---|" * (len(given.families) + 2))
    for name in given.samplers:
        agent, settings = SAMPLERS[name]
        found = [[differences(agent, i, given.seeds, **settings) for i in ids(f)] for f in given.families]
        cells = [fixed_tasks(np.array(rows)) for rows in [*found, [d for rows in found for d in rows]]]
        print(f"| {name} |", " | ".join(f"{e.mean:+.4f} [{e.low:+.4f}, {e.high:+.4f}]" for e in cells), "|", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
