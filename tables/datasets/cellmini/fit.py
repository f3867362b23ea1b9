"""Fits the formula of costs to the trainings that ship: `python -m hpo_envs.tables.datasets.cellmini.fit`."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables.datasets.cellmini.cost import work
from hpo_envs.tables.datasets.cellmini.drawn import drawn
from hpo_envs.tables.datasets.cellmini.measured import PACKING
from hpo_envs.tables.table import Floats


def fit() -> tuple[Floats, Floats]:
    """Coefficients by non-negative least squares on relative errors, and (cells,) the relative errors that are left."""
    from scipy.optimize import nnls

    arrays = PACKING.load()
    (rows,) = PACKING.complete(arrays).values()
    done = arrays["epochs"][:rows].astype(np.float64)
    seconds = np.where(done > 0, arrays["seconds"][:rows].max(axis=2) / np.maximum(done, 1.0), np.nan)
    known = np.flatnonzero(~np.isnan(seconds).all(axis=1))
    target = np.nanmean(seconds[known], axis=1)
    parts = np.array([work(drawn()[row]) for row in known]) / target[:, None]
    found, _ = nnls(parts, np.ones(len(known)))
    return found, parts @ found - 1.0


def main() -> None:
    """Print what `cost.COEFFICIENTS` should be, and their errors."""
    found, errors = fit()
    print("COEFFICIENTS =", tuple(float(f"{c:.3g}") for c in found))
    print(f"{len(errors)} cells, median absolute error {100 * np.median(np.abs(errors)):.1f} %")


if __name__ == "__main__":
    main()
