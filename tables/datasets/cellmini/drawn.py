"""The cells of CellMini: 300 computations drawn by this package's generator, in the order in which they are trained.

None was taken from a release; some of the smallest are among the released ones too, because there are few of them.
`cells.csv` has their canonical keys, and `python -m hpo_envs.tables.datasets.cellmini.drawn` draws them again.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from hpo_envs.tables import cells
from hpo_envs.tables.datasets.cellmini import DRAWN
from hpo_envs.tables.files import atomic

FILE = Path(__file__).with_name("cells.csv")

SEED = 2020
"""Seed of the draw."""


def draw(count: int = DRAWN) -> list[str]:
    """Canonical keys of this number of distinct cells."""
    rng = np.random.default_rng(SEED)
    keys: dict[str, None] = {}
    while len(keys) < count:
        keys[cells.key(cells.generate(rng))] = None
    return [*keys]


@functools.cache
def drawn() -> tuple[cells.Cell, ...]:
    """The 300 cells in canonical form."""
    return tuple(cells.Cell.from_text(row["cell"]) for row in atomic.read_csv(FILE))


def main() -> None:
    """Draw the cells again."""
    atomic.write_csv(FILE, [{"cell": key} for key in draw()])


if __name__ == "__main__":
    main()
