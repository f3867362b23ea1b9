"""Milliseconds per suggestion: `python -m hpo_envs.benchmarks.performance.speed_agents`, peers in the same run.

On the 767 candidates of sw-en every optimiser is told the same t random evaluations; timed is what one more suggestion
costs (ask and tell), in processor time, so that other work on the machine does not count; the minimum over interleaved
rounds. `bo` estimates its kernel whenever the observations have grown by a tenth, so its figure is the mean over such
a stretch. The public optimisers choose from the grid's values, candidates that were never trained included, and
estimate their kernels at every suggestion.

Needs `pip install "hpo_envs[bench]"`; peers that are not installed are left out.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from threadpoolctl import threadpool_limits

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.benchmarks.performance.speed import json_option, seconds_of, write
from hpo_envs.core import screen
from hpo_envs.tables import store
from hpo_envs.tables.table import Table

SIZES = (20, 100, 300)
OWN = ("BO_EI_M", "BO_EI_R", "GB_EI_M", "GB_EIF_M", "bo-thompson", "bo", "bo-spread")


def own(table: Table, name: str, rows: list[int]) -> float:
    """Milliseconds per suggestion of a registered agent after `rows` were told."""
    bleu = table.final("bleu")
    problem = Problem(gym.spaces.Discrete(len(bleu)), features=table.features, feature_names=table.feature_names)
    agent = agents.make(name, problem, 0)
    for row in rows:
        agent.tell(row, float(bleu[row]), {"cost": 1.0})
    # The first suggestion builds what all later ones share.
    _ask_and_tell(agent, bleu, 1)
    stretch = max(10, len(rows) // 10) if name in ("bo", "bo-spread") else 10
    return 1e3 * seconds_of(lambda: _ask_and_tell(agent, bleu, stretch), time.process_time) / stretch


def _ask_and_tell(agent: agents.Agent, bleu: np.ndarray, times: int) -> None:
    for _ in range(times):
        row = agent.ask()
        agent.tell(row, float(bleu[row]), {"cost": 1.0})


def optuna_sampler(table: Table, kind: str, rows: list[int]) -> float:
    """Milliseconds per suggestion of an Optuna sampler, `gp` or `tpe`."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.GPSampler(seed=0) if kind == "gp" else optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    space: dict[str, Any] = {
        h.name: optuna.distributions.IntDistribution(0, len(h.values) - 1) for h in table.space if len(h.values) > 1
    }
    bleu = table.final("bleu")
    for row in rows:
        values = {h.name: h.values.index(h.natural(v)) for h, v in zip(table.space, table.configs[row], strict=True)}
        study.add_trial(
            optuna.trial.create_trial(params={k: values[k] for k in space}, distributions=space, value=float(bleu[row]))
        )
    return 1e3 * seconds_of(lambda: study.tell(study.ask(space), 10.0), time.process_time)


def scikit_optimize(table: Table, rows: list[int]) -> float:
    """Milliseconds per suggestion of scikit-optimize's Gaussian process."""
    from skopt import Optimizer

    dimensions = [(0, len(h.values) - 1) for h in table.space]
    optimizer = Optimizer(dimensions, "GP", n_initial_points=1, acq_func="EI", random_state=0)
    bleu = table.final("bleu")
    points = [
        [h.values.index(h.natural(v)) for h, v in zip(table.space, table.configs[row], strict=True)] for row in rows
    ]
    optimizer.tell(points[:-1], [-float(bleu[row]) for row in rows[:-1]], fit=False)
    start = time.process_time()
    optimizer.tell(points[-1], -float(bleu[rows[-1]]))
    optimizer.ask()
    return 1e3 * (time.process_time() - start)


def measure(rounds: int) -> dict[str, dict[int, float]]:
    """Milliseconds per suggestion, by optimiser and number of evaluations told."""
    kind: Any = "surrogate" if store.missing("nmthpo/swen") else "measured"
    table = store.load("nmthpo/swen", kind)
    order = np.random.default_rng(0).permutation(len(table.keys)).tolist()
    timed: dict[str, Callable[[list[int]], float]] = {n: lambda rows, n=n: own(table, n, rows) for n in OWN}  # type: ignore[misc]
    if importlib.util.find_spec("optuna"):
        timed["Optuna TPE"] = lambda rows: optuna_sampler(table, "tpe", rows)
        if importlib.util.find_spec("torch"):
            timed["Optuna GP"] = lambda rows: optuna_sampler(table, "gp", rows)
    if importlib.util.find_spec("skopt"):
        timed["scikit-optimize"] = lambda rows: scikit_optimize(table, rows)
    found: dict[str, dict[int, float]] = {name: {} for name in timed}
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in SIZES:
            for _ in range(rounds):
                for name, one in timed.items():
                    found[name][size] = min(found[name].get(size, np.inf), one(order[:size]))
    return found


@screen.on()
def main() -> None:
    """Measures, prints a table with ratios, and writes it where asked."""
    parser = json_option(__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds (default: %(default)s)")
    args = parser.parse_args()
    found = measure(args.rounds)
    print(f"{'ms per suggestion':18}" + "".join(f"{f't = {t}':>12}" for t in SIZES))
    for name, row in found.items():
        print(f"{name:18}" + "".join(f"{row[t]:12.2f}" for t in SIZES))
    for peer in ("Optuna GP", "Optuna TPE", "scikit-optimize"):
        if peer in found:
            print(f"\ntimes faster than {peer}")
            for name in OWN:
                print(f"{name:18}" + "".join(f"{found[peer][t] / found[name][t]:12.0f}" for t in SIZES))
    write(args.json, found)


if __name__ == "__main__":
    main()
