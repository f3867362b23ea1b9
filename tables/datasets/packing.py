"""Common parts of pack scripts: `python -m hpo_envs.tables.datasets.NAME.pack` writes, `--check` compares.

A script has a function that makes the arrays of each pack from verified upstream files.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from hpo_envs.tables import catalogue, store
from hpo_envs.tables.files import atomic, packs

Packs = Mapping[str, Mapping[str, packs.Array]]
"""Arrays by member name, by path of the pack below `tables/datasets`."""


def main(make: Callable[[], Packs], tables: Sequence[str], arguments: Sequence[str] | None = None) -> None:
    """Write or check the packs of a data set.

    Args:
        make: Builds the arrays from upstream files, read by `store.read`.
        tables: Names of the tables that the packs hold.
        arguments: Of the command line.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="rebuild, compare with what ships, and write nothing")
    if parser.parse_args(arguments).check:
        check(make(), tables)
    else:
        write(make(), tables)


def write(made: Packs, tables: Sequence[str]) -> None:
    """Write packs, and pins them and their tables."""
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
    """Compare packs with those that ship, array by array, and tables with their pins.

    Raises:
        ValueError: An array or a table is another one.
    """
    for pack, arrays in made.items():
        ships = packs.read(pack)
        if ships.keys() != arrays.keys():
            raise ValueError(f"{pack} must have {', '.join(sorted(arrays))}, got {', '.join(sorted(ships))}")
        for name, array in arrays.items():
            same = ships[name].dtype == array.dtype and ships[name].shape == array.shape
            if not same or ships[name].tobytes() != np.ascontiguousarray(array).tobytes():
                raise ValueError(f"{pack}: {name} must be what upstream's files give")
    for name in tables:
        digest = store.shipped(name).provenance.sha256
        if digest != catalogue.pins()[name]:
            raise ValueError(f"table {name} must have sha256 {catalogue.pins()[name]}, got {digest}")
    print(f"{len(made)} packs and {len(tables)} tables are what upstream's files give")


def _pin(fresh: Mapping[str, str]) -> None:
    """Add rows to the catalogue's pins, or replace them."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("name", "sha256"))
    writer.writerows(sorted({**catalogue.pins(), **fresh}.items()))
    atomic.write(catalogue.PINS, stream.getvalue())
    catalogue.pins.cache_clear()
