"""What scores are compared with human ones on, and how."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import hlepor
from hpo_envs.tables.datasets.cushlepor import build as cushlepor
from hpo_envs.tables.table import Table

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Corpus:
    """Labels and human scores of a table's rows.

    Attributes:
        human: (rows,) float64 in [0, 1].
        document: (rows,) int64.
        segment: (rows,) int64, number of the source segment.
        held_out: (rows,) bool.
        basis: Scores any parameter vector.
    """

    human: Floats
    document: npt.NDArray[np.int64]
    segment: npt.NDArray[np.int64]
    held_out: npt.NDArray[np.bool_]
    basis: hlepor.Basis

    @staticmethod
    def of(table: Table, variant: str = "released") -> Corpus:
        """Prepare a table."""
        document, segment = (table.configs[:, j].astype(np.int64) for j in (1, 2))
        basis = hlepor.Basis(cushlepor.statistics(table, variant))
        return Corpus(table.values[:, 0, 0, 0], document, segment, table.configs[:, 3] == 1, basis)


def rmse(x: Floats, y: Floats) -> float:
    """Root mean squared difference."""
    return float(np.sqrt(np.square(x - y).mean()))
