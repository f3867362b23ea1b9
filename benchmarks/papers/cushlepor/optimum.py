"""The best agreement in a box, as good as we can find it, for the reproduction."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.datasets.cushlepor import agreement
from hpo_envs.tables.datasets.cushlepor.space import ParameterBox
from hpo_envs.tables.table import ByHash, Table

Floats = npt.NDArray[np.float64]


def best(
    corpus: agreement.Agreement, box: ParameterBox, objective: str, *, points: int = 400, seed: int = 0
) -> tuple[float, Floats]:
    """Search each n on its own: random points, then Nelder and Mead from the best two.

    The agreement is smooth and, as far as we see, unimodal for each n.

    Args:
        corpus: What is tuned on.
        box: Where.
        objective: One of `agreement.NAMES`.
        points: Random points for each n.
        seed: Of the random points.

    Returns:
        The best reward (higher is better) and its (6,) parameter vector.
    """
    from scipy.optimize import minimize

    sign = agreement.METRICS[agreement.NAMES.index(objective)].sign
    kendall = objective == "kendall"

    def reward(actions: Floats) -> Floats:
        return sign * corpus.evaluate(box.natural(actions), kendall=kendall)[0][objective]

    rng = np.random.default_rng(seed)
    choices = int(box.high[2] - box.low[2]) + 1
    found: list[tuple[float, Floats]] = []
    for k in range(choices):
        middle = (2 * k + 1) / choices - 1.0
        actions = rng.uniform(-1.0, 1.0, (points, 6))
        actions[:, 2] = middle
        rewards = reward(actions)

        def loss(x: Floats, middle: float = middle) -> float:
            return -float(reward(np.insert(x, 2, middle)[None])[0])

        for start in np.argsort(-rewards)[:2]:
            x0 = np.delete(actions[start], 2)
            options = {"maxfev": 600, "xatol": 1e-4, "fatol": 1e-8}
            end = minimize(loss, x0, method="Nelder-Mead", bounds=[(-1.0, 1.0)] * 5, options=options)
            found.append((-float(end.fun), np.insert(end.x, 2, middle)))
    value, action = max(found, key=lambda f: f[0])
    return value, box.natural(action[None])[0]


def of_env(env_kwargs: dict[str, Any], table: Table) -> tuple[float, Floats]:
    """The best found for the arguments of an environment."""
    bounds = env_kwargs.get("bounds", "published")
    key = bounds if isinstance(bounds, str) else tuple(sorted((k, tuple(v)) for k, v in bounds.items()))
    held_out = env_kwargs.get("held_out")
    return _cached(
        ByHash(table),
        env_kwargs.get("variant", "released"),
        None if held_out is None else tuple(held_out),
        key,
        env_kwargs.get("objective", "pearson"),
    )


@functools.cache
def _cached(table: ByHash, variant: str, held_out: Any, bounds: Any, objective: str) -> tuple[float, Floats]:
    corpus = agreement.prepare(table.table, variant, held_out)
    box = ParameterBox(bounds if isinstance(bounds, str) else dict(bounds))
    return best(corpus, box, objective)
