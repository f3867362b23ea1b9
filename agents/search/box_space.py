"""Search spaces with real, integer, categorical and conditional axes: coordinates in [0, 1], inputs of a kernel."""

from collections.abc import Sequence

import numpy as np

from hpo_envs.agents.models import Floats
from hpo_envs.agents.space import MIDDLE, Axis, Space


class BoxSpace(Space):
    """The axes of a box together.

    Args:
        axes: One per coordinate.

    Attributes:
        real: (r,) indices of the axes on which any number is a value.
        groups: (c,) axis of each column of `inputs`: a category has a column per value.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        super().__init__(axes)
        self.real = np.array([j for j, a in enumerate(axes) if not a.values], np.intp)
        widths = [len(a.values) if a.categorical else 1 for a in axes]
        self.groups = np.repeat(np.arange(len(axes)), widths)

    def snap(self, x: Floats) -> Floats:
        """(n, d) configurations of (n, d) points: nearest values, inactive axes in the middle."""
        snapped = np.clip(x, 0.0, 1.0)
        for j, grid in enumerate(self._grids):
            if len(grid):
                snapped[:, j] = grid[self.values(snapped, j)]
        return np.where(self.active(snapped), snapped, MIDDLE)

    def inputs(self, x: Floats) -> Floats:
        """(n, c) inputs of a kernel at (n, d) snapped points.

        Two categories are at distance 1; an inactive category is at the same distance from all others.
        """
        columns, active = [], self.active(x)
        for j, axis in enumerate(self.axes):
            if axis.categorical:
                one_hot = self.values(x, j)[:, None] == np.arange(len(axis.values))
                columns.append(np.where(active[:, j, None], one_hot, 0.0) / np.sqrt(2.0))
            else:
                columns.append(x[:, j, None])
        return np.concatenate(columns, axis=1)

    def neighbours(self, x: Floats, rng: np.random.Generator, spread: Floats | float) -> Floats:
        """(n, d) points that differ from (n, d) points in at least one active axis.

        Args:
            x: (n, d) snapped points.
            rng: Draws the axes that change, a quarter of them, or two of few, and their changes.
            spread: Standard deviation of a change along an ordered axis, one or (n, 1); at least one value.
        """
        n, d = x.shape
        active = self.active(x)
        changed = (rng.random((n, d)) < max(0.25, min(1.0, 2.0 / d))) & active
        one = np.where(active, rng.random((n, d)), -1.0).argmax(axis=1)
        changed[np.arange(n), one] = True
        moved = x + rng.normal(0.0, spread, (n, d))
        for j, (axis, grid) in enumerate(zip(self.axes, self._grids, strict=True)):
            if axis.categorical:
                moved[:, j] = grid[rng.integers(len(grid), size=n)]
            elif len(grid):
                step = np.rint((moved[:, j] - x[:, j]) * (len(grid) - 1)).astype(np.intp)
                step = np.where(step == 0, rng.choice([-1, 1], n), step)
                moved[:, j] = grid[np.clip(self.values(x, j) + step, 0, len(grid) - 1)]
        return self.snap(np.where(changed, moved, x))
