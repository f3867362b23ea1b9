"""Transfer between related problems: twelve evaluations after searches of other problems.

    python -m hpo_envs.benchmarks.live.transfer run --seeds 5-24
    python -m hpo_envs.benchmarks.live.transfer table

A run is one line of `transfer.csv`; stored runs are not repeated. `sources` gets the earlier searches, `cold`
nothing, and every other method their best configurations.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hpo_envs.benchmarks.live import study
from hpo_envs.benchmarks.live.optimisers import SAMPLERS, active_of, of_optuna, of_suite
from hpo_envs.benchmarks.live.problems import PROBLEMS, Config, Id, LiveProblem, svm_digits
from hpo_envs.tables import screen
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user.space import space_of
from hpo_envs.tuning.tune import tune

EARLIER, NOW, TOP = 30, 12, 4
"""Evaluations of each earlier search and of the search that is scored; number of known configurations to begin with."""

BY_NAME = {p.name: p for p in PROBLEMS}


def moved(problem: LiveProblem, shift: Callable[[str, Any], Any], name: str) -> LiveProblem:
    """Return a problem whose function gets `shift(name, value)` instead of the value of each hyperparameter."""
    return LiveProblem(name, problem.space, lambda c: problem.function({k: shift(k, v) for k, v in c.items()}))


def categories(task: int) -> LiveProblem:
    """Return a problem of ten categories with interacting neighbours.

    An effect is the sum of one that all tasks share, with weight 2, and one of the task.
    """

    def weights(seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([57, seed])
        return rng.normal(size=(10, 5)), rng.normal(size=(9, 5, 5))

    (main, pairs), (own, own_pairs) = weights(0), weights(task)
    main, pairs = 2.0 * main + own, 2.0 * pairs + own_pairs

    def function(config: Config) -> float:
        at = [int(config[f"c{j}"][1]) for j in range(10)]
        return float(main[range(10), at].sum() + 0.7 * pairs[range(9), at[:-1], at[1:]].sum())

    return LiveProblem(f"categories-{task}", {f"c{j}": [f"v{k}" for k in range(5)] for j in range(10)}, function)


def reals(task: int) -> LiveProblem:
    """Return a problem of eight numbers: an elongated bowl with ripples, whose centre differs by task."""
    rng = np.random.default_rng([58, task])
    centre = np.random.default_rng(58).uniform(0.15, 0.85, 8) + rng.normal(0.0, 0.07, 8)
    weights = 10.0 ** np.random.default_rng(59).uniform(-1.0, 1.0, 8)

    def function(config: Config) -> float:
        d = np.array([config[f"x{j}"] for j in range(8)]) - centre
        return -float(weights @ d**2 + 0.05 * (1.0 - np.cos(6.0 * math.pi * d)).sum())

    return LiveProblem(f"reals-{task}", {f"x{j}": (0.0, 1.0) for j in range(8)}, function)


def _char(table: str) -> LiveProblem:
    task = Id("CharHPO-v0", table=table)
    return LiveProblem(f"charhpo-{table}", task, task)


_WINE = BY_NAME["network-wine"]
_NARROW = {**_WINE.space, "learning_rate_init": (1e-4, 3e-3, "log"), "units": (4, 16, "log"), "layers": (2, 4)}
_H6 = BY_NAME["hartmann6"]
_SVM = BY_NAME["svm-digits"]

PAIRS: tuple[tuple[tuple[LiveProblem, ...], LiveProblem], ...] = (
    ((BY_NAME["boosting-diabetes"],), replace(BY_NAME["boosting-diabetes"], name="same-again")),
    (
        (moved(_H6, lambda k, v: v + 0.1, "plus"), moved(_H6, lambda k, v: v - 0.08, "minus")),
        LiveProblem("hartmann6-shifted", _H6.space, _H6.function),
    ),
    ((categories(1), categories(2)), categories(3)),
    ((reals(1), reals(2)), reals(3)),
    (
        (_SVM, LiveProblem("svm-wine", _SVM.space, lambda c: svm_digits(c, "wine", 178))),
        LiveProblem("svm-cancer", _SVM.space, lambda c: svm_digits(c, "breast_cancer")),
    ),
    ((_WINE,), LiveProblem("network-ranges", _NARROW, _WINE.function)),
    ((_char("g2p-geo-transformer"), _char("g2p-hun-transformer")), _char("g2p-dut-transformer")),
    ((moved(_H6, lambda k, v: 1.0 - v, "mirrored"),), LiveProblem("hartmann6-misleading", _H6.space, _H6.function)),
)
"""Earlier problems and the target problem of each comparison."""


@functools.cache
def earlier(target: str, seed: int) -> tuple[pd.DataFrame, ...]:
    """Return a frame of evaluations for each earlier search of a target (its name), best observed score first."""
    ((sources, _),) = (pair for pair in PAIRS if pair[1].name == target)
    frames = []
    for k, source in enumerate(sources):
        search, rows = of_suite(source, 1000 * (k + 1) + seed, EARLIER, "box-bo"), []
        for t in range(EARLIER):
            handle, config = search.ask()
            score = source.observed(config, seed, t)[0]
            search.tell(handle, score)
            rows.append({**config, "score": score})
        frames.append(pd.DataFrame(rows, dtype=object).sort_values("score", ascending=False, kind="stable"))
    return tuple(frames)


def known(target: LiveProblem, seed: int) -> list[Config]:
    """Return the best configurations of the earlier searches, at most `TOP` in all, clipped to the target's ranges."""
    found: list[Config] = []
    frames, space = earlier(target.name, seed), space_of(target.search_space)

    def inside(row: dict[Any, Any], h: Hyperparameter) -> Any:
        return row[h.name] if h.values else min(max(row[h.name], h.low), h.high)

    for frame in frames:
        fresh: list[Config] = []
        for row in frame.to_dict("records"):
            config = active_of(space, functools.partial(inside, row))
            if config not in found + fresh and len(fresh) < TOP // len(frames):
                fresh.append(config)
        found += fresh
    return found


def play(target: LiveProblem, optimiser: str, budget: int, seed: int) -> list[study.ShortRow]:
    """Run a method of `ARMS` or a sampler of Optuna on a target; return a list with the row of the run."""
    seen: list[tuple[float, float]] = []
    one_of("optimisers", optimiser, dict.fromkeys((*ARMS, *SAMPLERS)))

    def function(config: Config) -> float:
        seen.append(target.observed(config, seed, len(seen)))
        return seen[-1][0]

    if optimiser in SAMPLERS:
        search = of_optuna(target, seed, optimiser, known(target, seed))
        for _ in range(budget):
            handle, config = search.ask()
            search.tell(handle, function(config))
    else:
        given: dict[str, Any] = {}
        if optimiser == "points":
            given["points"] = known(target, seed)
        elif optimiser == "sources":
            given["sources"] = earlier(target.name, seed)
        tune(function, target.search_space, budget=budget, seed=seed, progress=False, **given)
    return [study.ShortRow(target.name, optimiser, budget, seed, max(seen)[1])]


ARMS = ("sources", "cold", "points", "optuna-tpe")
"""`tune` with `sources=`, without earlier searches, and with `known` configurations as `points=`; Optuna with these."""


@screen.on()
def main() -> None:
    """Run the command."""
    targets = [target for _, target in PAIRS]
    study.command(__doc__, Path(__file__).with_name("transfer.csv"), ARMS, targets, (NOW,), play)


if __name__ == "__main__":
    main()
