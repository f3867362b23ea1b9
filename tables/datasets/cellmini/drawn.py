"""The cells of CellMini: 300 computations drawn by this package's generator, in the order in which they are trained.

They are independent of the release; some of the smallest are also among the released ones, because there are few of
that size. `cells.npz` has their canonical keys, and their features as integers; `python -m
hpo_envs.tables.datasets.cellmini.drawn` recreates it.
"""

import functools
from pathlib import Path

import numpy as np

from hpo_envs.tables import cells
from hpo_envs.tables.cells.features import DECIMALS
from hpo_envs.tables.datasets.cellmini import DRAWN
from hpo_envs.tables.files import atomic, packs
from hpo_envs.tables.table import Floats

FILE = Path(__file__).with_name("cells.npz")


def draw(count: int = DRAWN) -> list[str]:
    """Draw `count` distinct cells and return their canonical keys."""
    rng = np.random.default_rng(2020)
    keys: dict[str, None] = {}
    while len(keys) < count:
        keys[cells.key(cells.generate(rng))] = None
    return [*keys]


@functools.cache
def drawn() -> tuple[cells.Cell, ...]:
    """The 300 cells in canonical form."""
    return tuple(map(cells.Cell.from_text, _stored()["keys"].astype(str).tolist()))


def features() -> Floats:
    """(300, 50) features of the cells in [0, 1], see `cells.embed`."""
    return packs.unscaled(_stored()["features"], DECIMALS)


@functools.cache
def _stored() -> dict[str, packs.Array]:
    return packs.from_bytes(FILE.read_bytes())


def main() -> None:
    """Redraw the cells and write them with their features to `FILE`."""
    keys = draw()
    features = packs.scaled(cells.embed([*map(cells.Cell.from_text, keys)]), DECIMALS)
    atomic.write(FILE, packs.to_bytes({"keys": np.array(keys, "S"), "features": features}))


if __name__ == "__main__":
    main()
