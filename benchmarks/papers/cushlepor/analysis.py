"""Pure functions of scores: agreement of any scores with human ones, split by document, with bootstrap intervals."""

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
        system: (rows,) int64.
        document: (rows,) int64, index into `documents`.
        segment: (rows,) int64, number of the source segment.
        held_out: (rows,) bool.
        documents: Names.
        basis: Scores any parameter vector.
    """

    human: Floats
    system: npt.NDArray[np.int64]
    document: npt.NDArray[np.int64]
    segment: npt.NDArray[np.int64]
    held_out: npt.NDArray[np.bool_]
    documents: tuple[str, ...]
    basis: hlepor.Basis

    @staticmethod
    def of(table: Table, variant: str = "released") -> Corpus:
        """Prepare a table."""
        system, document, segment = (table.configs[:, j].astype(np.int64) for j in range(3))
        return Corpus(
            table.values[:, 0, 0, 0],
            system,
            document,
            segment,
            table.configs[:, 3] == 1,
            table.space[1].values,
            hlepor.Basis(cushlepor.statistics(table, variant)),
        )


def rmse(x: Floats, y: Floats) -> float:
    """Root mean squared difference."""
    return float(np.sqrt(np.square(x - y).mean()))
