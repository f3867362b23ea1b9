"""Random functions of configurations: draws of Gaussian processes and of regression trees."""

import numpy as np

from hpo_envs.agents.models.gp.stacked import scaled
from hpo_envs.tables import Floats

WAVES = 96
"""Number of random Fourier features of a draw."""

TREES, DEPTH = 24, 4
"""Number of regression trees of a draw, and their depth."""


def smooth(x: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Return (count, n) draws of a Gaussian process over (n, d) features, each with mean 0 and standard deviation 1.

    The kernel is Matern 5/2, by random Fourier features (Rahimi and Recht 2007); length-scales are drawn for each
    feature around a medium one.
    """
    d = x.shape[1]
    lengths = 0.5 * np.sqrt(d / 6.0) * rng.lognormal(0.0, 0.7, d)
    waves = rng.standard_normal((d, WAVES)) / lengths[:, None] * np.sqrt(5.0 / rng.chisquare(5.0, WAVES))
    return scaled((np.cos(x @ waves + rng.uniform(0.0, 2.0 * np.pi, WAVES)) @ rng.standard_normal((WAVES, count))).T)


def stepwise(x: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Return (count, n) sums of random regression trees of (n, d) features, each with mean 0 and standard deviation 1.

    All nodes at a depth share a feature and a threshold; some features matter more than others.
    """
    d = x.shape[1]
    weights = rng.dirichlet(np.full(d, 0.5))
    features = rng.choice(d, (count, TREES, DEPTH), p=weights)
    thresholds = x[rng.integers(len(x), size=features.shape), features]
    leaf = ((x.T[features] > thresholds[..., None]) << np.arange(DEPTH)[:, None]).sum(axis=2)
    return scaled(np.take_along_axis(rng.standard_normal((count, TREES, 2**DEPTH)), leaf, axis=2).sum(axis=1))


def points(n: int, rng: np.random.Generator) -> Floats:
    """Return (n, d) features in [0, 1] of random points: 2 to 8 real, integer and (one-hot) categorical parameters."""
    columns: list[Floats] = []
    for _ in range(int(rng.integers(2, 9))):
        kind, u = rng.random(), rng.random(n)
        if kind < 0.5:
            columns.append(u)
        elif kind < 0.8:
            steps = int(rng.integers(2, 6))
            columns.append(np.minimum(np.floor(u * steps), steps - 1) / (steps - 1))
        else:
            columns += [*np.eye(k := int(rng.integers(2, 5)))[:, np.minimum((u * k).astype(int), k - 1)]]
    return np.stack(columns, axis=1)
