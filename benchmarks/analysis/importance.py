"""Hyperparameter importance on a grid with missing cells: functional ANOVA.

fANOVA (Hutter, Hoos and Leyton-Brown 2014; used by Klein and Hutter 2019 and in figure 5 of Zhang and Duh 2020)
splits the variance of f over the search space into the variance of its main effects f_i (the mean over all other
hyperparameters, minus the grand mean), of its pairwise interactions f_ij (what is left of the mean over all
hyperparameters but two), and of higher orders; the importance of i or {i, j} is its fraction of the variance.

The original fits a random forest and integrates it over the whole space. On a grid with few cells missing no forest
is needed: `decompose` fills the missing cells by the additive-plus-pairwise model that fits the measured ones best
(`complete`), then takes means over the now complete grid. With no cell missing this is exact, and
main effects, interactions and higher orders sum to 1.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Importance:
    """Shares of the variance.

    Attributes:
        main: (d,) share of each hyperparameter's main effect.
        pairs: (d, d) symmetric; share of each pair's interaction beyond the main effects; diagonal 0.
        variance: Variance of the (completed) values over the grid.
        missing: Number of grid cells that were filled in.
    """

    main: Floats
    pairs: Floats
    variance: float
    missing: int

    def joint(self, i: int, j: int) -> float:
        """Share of everything that two hyperparameters do together: both main effects and the interaction."""
        return float(self.main[i] + self.main[j] + self.pairs[i, j])


def codes(configs: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """(n, d) rank of each value among the distinct values of its column: the cell's place on the grid."""
    columns = np.asarray(configs)
    if columns.ndim != 2 or columns.size == 0:
        raise ValueError(f"configs must be (n >= 1, d >= 1), got shape {columns.shape}")
    return np.column_stack([np.unique(c, return_inverse=True)[1] for c in columns.T]).astype(np.intp)


def complete(levels: npt.NDArray[np.intp], values: Floats, shape: tuple[int, ...] | None = None) -> Floats:
    """Lay values out on the grid and fills the cells without one.

    The fill is the fitted value of the least-squares model with all main effects, plus that of the model with all
    pairwise interactions for what is left; where the measured cells do not determine the latter, the solution of
    minimum norm takes an interaction that no one measured as none. The fill is kept within the range of the values,
    where forests stay by construction.

    Args:
        levels: (n, d) from `codes`; no cell twice.
        values: (n,) finite.
        shape: Number of levels of each hyperparameter (default: of those that occur).

    Returns:
        (levels of the first, ..., levels of the last) array.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (len(levels),) or not np.isfinite(values).all():
        raise ValueError(f"values must be {len(levels)} finite numbers, got shape {values.shape}")
    shape = tuple(int(n) for n in levels.max(axis=0) + 1) if shape is None else shape
    flat = np.ravel_multi_index(tuple(levels.T), shape)
    if len(np.unique(flat)) != len(flat):
        raise ValueError("levels must not name a cell twice")
    grid = np.full(int(np.prod(shape)), np.nan)
    grid[flat] = values
    holes = np.flatnonzero(np.isnan(grid))
    if len(holes):
        where, rest = np.column_stack(np.unravel_index(holes, shape)), values
        fill = np.zeros(len(holes))
        for order in (1, 2):
            design = _design(levels, shape, order)
            weights = np.linalg.lstsq(design, rest, rcond=1e-9)[0]
            fill += _design(where, shape, order) @ weights
            rest = rest - design @ weights
        grid[holes] = np.clip(fill, values.min(), values.max())
    return grid.reshape(shape)


def decompose(configs: npt.ArrayLike, values: npt.ArrayLike, quantile: float = 0.0) -> Importance:
    """Importance of every hyperparameter and pair, over the whole grid or among the best configurations.

    Args:
        configs: (n, d) raw or coded values, one row per measured cell.
        values: (n,) metric; where `quantile` is used, higher is better.
        quantile: Values of the completed grid below this quantile of `values` are raised to it first; 0.99 is the
            "top 1%" of the paper's figure 5. This is how Hutter et al. (2014) confine the analysis to regions of
            good performance: what distinguishes bad configurations from each other is flattened.

    Raises:
        ValueError: Shapes disagree, a cell occurs twice, a value is not finite, or `quantile` is outside [0, 1).
    """
    if not 0.0 <= quantile < 1.0:
        raise ValueError(f"quantile must be in [0, 1), got {quantile}")
    v = np.asarray(values, dtype=np.float64)
    grid = complete(codes(configs), v)
    if quantile > 0.0:
        grid = np.maximum(grid, np.quantile(v, quantile))
    d, variance, missing = grid.ndim, float(grid.var()), grid.size - len(v)
    if variance == 0.0:
        return Importance(np.zeros(d), np.zeros((d, d)), 0.0, missing)
    centred = grid - grid.mean()
    effects = [_mean_over_others(centred, (i,)) for i in range(d)]
    main = np.array([effect.var() for effect in effects])
    pairs = np.zeros((d, d))
    for i, j in itertools.combinations(range(d), 2):
        interaction = _mean_over_others(centred, (i, j)) - effects[i][:, None] - effects[j][None, :]
        pairs[i, j] = pairs[j, i] = interaction.var()
    return Importance(main / variance, pairs / variance, variance, missing)


def _mean_over_others(grid: Floats, keep: tuple[int, ...]) -> Floats:
    return np.asarray(grid.mean(axis=tuple(a for a in range(grid.ndim) if a not in keep)))


def _design(levels: npt.NDArray[np.intp], shape: tuple[int, ...], order: int) -> Floats:
    """(n, terms) intercept, centred indicators of every level, and for order 2 their products between columns."""
    single = [(levels[:, [a]] == np.arange(n)) - 1.0 / n for a, n in enumerate(shape)]
    columns = [np.ones((len(levels), 1)), *single]
    for a, b in itertools.combinations(range(len(shape) if order == 2 else 0), 2):
        columns.append((single[a][:, :, None] * single[b][:, None, :]).reshape(len(levels), -1))
    return np.hstack(columns)
