"""Data and axes of one Gaussian process for several tasks: a search on a box, and earlier searches."""

from collections.abc import Sequence

import numpy as np

from hpo_envs.agents.models import Floats
from hpo_envs.agents.models.acquisition import BoxAxes
from hpo_envs.agents.models.gp.box import BoxGP, half_linear
from hpo_envs.agents.models.source import Source

MOST = 60
"""Largest number of observations of all sources together: half are the best, half are spread over the other ranks."""

APART = 0.35
"""Distance of two tasks; at the prior median of the length-scale, their correlation is 0.8."""

LEAST = 0.3
"""Smallest standard deviation to which the search's observations are scaled; those of the sources have 1."""


class Tasks:
    """Axes of a box and a categorical axis for the task: the search itself or one of its sources.

    The task's length-scale determines how much the search learns from the sources. Observations of the search are
    shifted and scaled to the mean prediction of the sources at its points, as the first ones may be the sources' best.

    Args:
        space: The axes of the box.
        sources: Earlier searches with at least two observations, whose features are coordinates in [-1, 1].
        objective: Column of the rewards.

    Attributes:
        real: See `KernelAxes`.
        groups: See `KernelAxes`; the task is the last axis.
        x: (n, d + 1) observed points of the sources; the last column is the task.
        z: (n,) standardised observations at `x`.
    """

    def __init__(self, space: BoxAxes, sources: Sequence[Source], objective: int) -> None:
        self._space, self._count = space, len(sources) + 1
        self.real, self.groups = space.real, np.append(space.groups, [len(space)] * self._count)
        points, values, self._models = [], [], []
        for k, source in enumerate(sources, 1):
            order = np.argsort(-source.rewards[:, objective], kind="stable")
            best, rest = np.split(order, [MOST // len(sources) // 2])
            some = np.unique(np.linspace(0, len(rest) - 1, min(len(best), len(rest))).astype(np.intp))
            kept = np.append(best, rest[some])
            x, z = space.snap((source.features[kept] + 1.0) / 2.0), half_linear(source.rewards[kept, objective])
            self._models.append(BoxGP(space, x, z, BoxGP.estimate(space, x, z, None)))
            points.append(np.column_stack([x, np.full(len(x), float(k))]))
            values.append(z)
        self.x, self.z = np.concatenate(points), np.concatenate(values)

    def inputs(self, x: Floats) -> Floats:
        """Return the (n, c) inputs of a kernel at (n, d) points of the search, or at (n, d + 1) points with tasks."""
        d = len(self._space)
        task = x[:, d] if x.shape[1] > d else np.zeros(len(x))
        one_hot = (task[:, None] == np.arange(self._count)) * (APART / np.sqrt(2.0))
        return np.concatenate([self._space.inputs(x[:, :d]), one_hot], axis=1)

    def joined(self, x: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Return (t + n, d + 1) points with tasks and (t + n,) observations: those of the search, then of the sources.

        The search's (t,) observations `z` at (t, d) points `x` are shifted and scaled to the sources' predictions.
        """
        expected = np.mean([model.mean(x) for model in self._models], axis=0)
        aligned = expected.mean() + max(float(expected.std()), LEAST) * z
        own = np.column_stack([x, np.zeros(len(x))])
        return np.concatenate([own, self.x]), np.concatenate([aligned, self.z])
