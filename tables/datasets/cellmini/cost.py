"""Formula for the cost of training, the same in the table and live.

Seconds of one core are different on every machine and never the same twice, so costs are what a formula says of the
cell, fitted to the seconds of the trainings that ship.
"""

import functools

from hpo_envs.tables import exact
from hpo_envs.tables.cells.recipe import LINEAR, Cell
from hpo_envs.tables.datasets.cellmini.drawn import drawn

COEFFICIENTS = (0.117, 0.0, 0.0, 0.0937, 0.0401)
"""Seconds of an epoch for each unit of `work`, on one core of a Xeon: non-negative least squares of the relative errors
of the trainings that ship, which `tests/tables/datasets/cellmini` repeats."""


def work(cell: Cell) -> tuple[float, float, float, float, float]:
    """Operations of an epoch with its evaluation.

    Args:
        cell: In canonical form.

    Returns:
        1 (constant cost); the inputs of linear and of other nodes that do not depend on a hidden state, which are
        computed for a whole sequence at once; and both counts for nodes that are computed character by character.
    """
    at_once, counts = {0}, [0, 0, 0, 0]
    for j, (op, sources) in enumerate(cell.nodes):
        ahead = at_once.issuperset(sources)
        if ahead:
            at_once.add(cell.first + j)
        counts[2 * (not ahead) + (op != LINEAR)] += len(sources)
    return 1.0, *map(float, counts)  # type: ignore[return-value]


def epoch(cell: Cell) -> float:
    """Cost of each epoch: about the seconds that it takes a core of the machine that the table was measured on."""
    return exact.total(c * w for c, w in zip(COEFFICIENTS, work(cell), strict=True))


@functools.cache
def mean() -> float:
    """Mean cost of an epoch of the cells that were drawn."""
    return exact.total(map(epoch, drawn())) / len(drawn())
