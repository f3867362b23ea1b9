"""Command that packs a data set: `python -m hpo_envs.tables.datasets.packing NAME`; `--check` compares its packs.

The data set has a module `pack`, whose `make()` returns the arrays of each pack from verified upstream files.
"""

import argparse
import hashlib
import importlib
from collections.abc import Mapping, Sequence

import numpy as np

from hpo_envs.tables import catalogue, store
from hpo_envs.tables.files import atomic, packs

Packs = Mapping[str, Mapping[str, packs.Array]]
"""Arrays by member name, by path of the pack below `tables/datasets`."""


def main(words: Sequence[str] | None = None) -> None:
    """Write or check the packs of a data set, and the tables in them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("dataset", help="name of the data set")
    parser.add_argument("--check", action="store_true", help="rebuild, compare with what ships, and write nothing")
    args = parser.parse_args(words)
    made = importlib.import_module(f"{__package__}.{args.dataset}.pack").make()
    tables = [n for n in store.names(args.dataset) if not store.synthetic(n) and not store.files(n)]
    (check if args.check else write)(made, tables)


def write(made: Packs, tables: Sequence[str]) -> None:
    """Write packs, pin them and their tables in the catalogue, and print their sizes."""
    pins = {}
    for pack, arrays in made.items():
        content = packs.to_bytes(arrays)
        (packs.FOLDER / pack).parent.mkdir(exist_ok=True)
        atomic.write(packs.FOLDER / pack, content)
        pins[pack] = hashlib.sha256(content).hexdigest()
        print(f"{pack}: {len(content):,} bytes")
    _pin(pins)
    _pin({name: store.shipped(name).provenance.sha256 for name in tables})


def check(made: Packs, tables: Sequence[str]) -> None:
    """Compare packs with those that ship, array by array, and tables with their pins; ValueError if one differs."""
    for pack, arrays in made.items():
        ships = packs.read(pack)
        if ships.keys() != arrays.keys():
            raise ValueError(f"{pack} must have {', '.join(sorted(arrays))}, got {', '.join(sorted(ships))}")
        for name, array in arrays.items():
            same = ships[name].dtype == array.dtype and ships[name].shape == array.shape
            if not same or ships[name].tobytes() != np.ascontiguousarray(array).tobytes():
                raise ValueError(f"{pack}: {name} must match upstream's files")
    for name in tables:
        digest = store.shipped(name).provenance.sha256
        if digest != catalogue.pins()[name]:
            raise ValueError(f"table {name} must have sha256 {catalogue.pins()[name]}, got {digest}")
    print(f"{len(made)} packs and {len(tables)} tables match upstream's files")


def _pin(fresh: Mapping[str, str]) -> None:
    """Add or replace rows of `packs.csv`, and clear the cache of `catalogue.pins`."""
    pins = sorted({**catalogue.pins(), **fresh}.items())
    atomic.write_csv(catalogue.PINS, [{"name": name, "sha256": digest} for name, digest in pins])
    catalogue.pins.cache_clear()


if __name__ == "__main__":
    main()
