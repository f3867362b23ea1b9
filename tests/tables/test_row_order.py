"""In which order the rows of a table are kept."""

import dataclasses
import itertools

import numpy as np
import pytest

from hpo_envs.tables import frames, store
from hpo_envs.tables.datasets.nmthpo import PAIRS
from hpo_envs.tables.datasets.nmthpo import build as nmthpo
from hpo_envs.tables.table import Provenance, Table
from tests.helpers import needs_upstream, raises
from tests.hpo_envs.core.engines.lookup.model import tiny


def test_rows_move_whole_and_say_where_they_stood() -> None:
    table = tiny()
    kept = frames.hashed(table)
    assert sorted(kept.keys) == sorted(table.keys)
    assert kept.keys != table.keys
    for row, key in enumerate(kept.keys):
        at = int(kept.source_index[row])
        assert table.keys[at] == key
        for array in ("values", "cost", "configs", "features", "status"):
            np.testing.assert_array_equal(getattr(kept, array)[row], getattr(table, array)[at])


def test_order_is_hash_of_name_and_keys_and_of_nothing_else() -> None:
    table = tiny()
    kept = frames.hashed(table)
    assert frames.hashed(tiny(shift=1.0)).keys == kept.keys, "nothing measured"
    assert frames.hashed(table.subset([5, 3, 1, 0, 2, 4])).keys == kept.keys, "no other order"
    assert frames.hashed(kept).source_index.tolist() == kept.source_index.tolist()
    assert frames.hashed(table, ["same"] * 6).keys == table.keys, "equal ones stay as they were"
    others = [frames.hashed(dataclasses.replace(table, name=f"toy/{i}", provenance=_fresh(table))) for i in range(9)]
    assert len({t.keys for t in others}) == 9, "another table has another order"


def _fresh(table: Table) -> Provenance:
    return dataclasses.replace(table.provenance, sha256="")


def test_natural_is_grids_order_and_elsewhere_sources() -> None:
    for name in ("nmthpo/swen", "nmtlc/swen"):
        table = frames.natural(store.load(name))
        configs = [tuple(c) for c in table.configs.tolist()]
        assert configs == sorted(configs)
    runs = frames.natural(store.load("nmtlc/swen"))
    numbers = [int(key.partition("#")[2]) for key in runs.keys]
    assert all(b in (1, a + 1) for a, b in itertools.pairwise(numbers)), "runs of a configuration in order"
    for name in ("charhpo/g2p-dut-lstm", "fiesta/gaussian", "nasbenchnlp/wikitext2"):
        table = store.load(name)
        assert table.source_index.tolist() != sorted(table.source_index)
        assert frames.natural(table).source_index.tolist() == list(range(len(table)))


@pytest.mark.parametrize("name", [n for n in store.names() if not store.missing(n)])
def test_tables_are_kept_in_hash_order_but_for_grids_and_segments(name: str) -> None:
    table = store.load(name)
    if name.endswith("-grid") or name.startswith("cushlepor/"):
        assert table.source_index.tolist() == list(range(len(table)))
    else:
        assert frames.hashed(table).keys == table.keys


@needs_upstream
@pytest.mark.parametrize("name", [n for n in nmthpo.NAMES if not n.endswith("-grid")])
def test_source_index_is_line_of_file(name: str) -> None:
    table = store.load(name)
    lines = np.loadtxt(store.data_folder() / f"nmthpo/datasets/{PAIRS[name.partition('/')[2]]}.hyps")
    assert (lines[table.source_index] == table.configs).all()


@pytest.mark.parametrize("positions", [[0, 1, 2, 3, 4, 4], [-1, 1, 2, 3, 4, 5]])
def test_positions_are_unique_and_not_negative(positions: list[int]) -> None:
    with raises("table toy/one: source_index must be unique and >= 0"):
        tiny(source_index=np.array(positions))
    with raises("table toy/one: source_index must be (6,), got (5,)"):
        tiny(source_index=np.arange(5))
