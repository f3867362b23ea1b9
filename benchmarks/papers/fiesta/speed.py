"""A TTTS selection, ours against the authors' package, on the same scores in one process."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

DELTA = 0.05


def measure(seed: int, runs: int = 1) -> list[tuple[str, str, float]]:
    """Times whole selections of `fiesta/tdsa8` and divides by the evaluations after the first 24.

    The package's evaluation is a look-up too, so that nearly all of its time is its belief (800,000 draws).

    Args:
        seed: First seed.
        runs: Selections of each; the two alternate.

    Returns:
        (row, quantity, value): milliseconds an evaluation of either, and their ratio.

    Raises:
        ModuleNotFoundError: `fiesta-nlp` is not installed.
    """
    try:
        import fiesta
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "the comparison needs the authors' package: pip install --no-deps fiesta-nlp==0.0.1"
        ) from None
    scores = _scores()
    ours, theirs = [0.0, 0], [0.0, 0]
    for i in range(seed, seed + runs):
        for clock, play in ((theirs, lambda i=i: _package(fiesta, scores, i)), (ours, lambda i=i: _ours(scores, i))):
            start = time.perf_counter()
            count = play()
            clock[0] += time.perf_counter() - start
            clock[1] += count - 24
    a, b = (1000.0 * seconds / max(count, 1) for seconds, count in (ours, theirs))
    return [
        ("ttts, this package", "ms an evaluation", a),
        ("ttts, fiesta-nlp 0.0.1", "ms an evaluation", b),
        ("ttts", "times faster", b / a),
    ]


def _scores() -> Any:
    from hpo_envs.tables import store
    from hpo_envs.tables.row_order import natural

    return natural(store.load("fiesta/tdsa8")).values[:, :, 0, 0]


def _package(fiesta: Any, scores: Any, seed: int) -> int:
    rng = np.random.default_rng(seed)
    models = [lambda train, test, row=row: float(row[rng.integers(len(row))]) for row in scores]
    _, _, count, _ = fiesta.TTTS([{}], models, lambda data: (data, data), DELTA)
    return int(count)


def _ours(scores: Any, seed: int) -> int:
    import gymnasium as gym

    from hpo_envs import agents

    problem = agents.Problem(gym.spaces.Discrete(len(scores)))
    agent: Any = agents.make("ttts", problem, seed, confidence=1.0 - DELTA)
    rng, count = np.random.default_rng(seed), 0
    while not agent.done:
        arm = agent.ask()
        agent.tell(arm, float(scores[arm, rng.integers(scores.shape[1])]), {})
        count += 1
    return count
