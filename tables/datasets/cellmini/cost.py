"""Formula for the cost of training, the same in the table and in the live environment.

Measured seconds differ between machines and repetitions, so costs are computed by a formula from the cell, fitted to
the seconds of the trainings that ship.
"""

import functools

from hpo_envs.tables import exact
from hpo_envs.tables.cells.recipe import LINEAR, Cell
from hpo_envs.tables.datasets.cellmini.drawn import drawn

COEFFICIENTS = (0.117, 0.0, 0.0, 0.0937, 0.0401)
"""Seconds per unit of each term of `work`, on one core of a Xeon: non-negative least squares of the relative errors of
the trainings that ship, which `tests/tables/datasets/cellmini` repeats."""


def work(cell: Cell) -> tuple[float, float, float, float, float]:
    """Return the terms of the cost of an epoch of a canonical cell with its evaluation: counts of inputs of nodes.

    Returns:
        1 (constant cost); the numbers of inputs of linear and of other nodes that depend on no hidden state, which are
        computed for a whole sequence at once; and both numbers for nodes that are computed character by character.
    """
    at_once, counts = {0}, [0, 0, 0, 0]
    for j, (op, sources) in enumerate(cell.nodes):
        ahead = at_once.issuperset(sources)
        if ahead:
            at_once.add(cell.first + j)
        counts[2 * (not ahead) + (op != LINEAR)] += len(sources)
    return 1.0, *map(float, counts)  # type: ignore[return-value]


def epoch(cell: Cell) -> float:
    """Cost of each epoch: about its seconds on one core of the machine on which the table was measured."""
    return exact.total(c * w for c, w in zip(COEFFICIENTS, work(cell), strict=True))


@functools.cache
def mean() -> float:
    """Mean cost of an epoch of the drawn cells."""
    return exact.total(map(epoch, drawn())) / len(drawn())
