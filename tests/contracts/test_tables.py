"""Invariants of all tables, and tables that violate them."""

import pytest

from hpo_envs.tables import catalogue, frames, store
from hpo_envs.testing import check_table
from tests.helpers import rejects

HERE = [name for name in store.names() if not store.missing(name)]


@pytest.mark.parametrize("dataset", dict.fromkeys(name.partition("/")[0] for name in HERE))
def test_every_table_keeps_the_contract_and_the_order_of_its_rows(dataset: str) -> None:
    """Rows are in hash order, except those of grids and segments."""
    for name in HERE:
        if name.startswith(f"{dataset}/"):
            table = store.load(name)
            assert (table.name, table.provenance.kind == "surrogate") == (name, store.synthetic(name))
            check_table(table)
            ordered = name.endswith("-grid") or name.startswith("cushlepor/")
            natural = table.source_index.tolist() == list(range(len(table)))
            assert natural if ordered else frames.hashed(table).keys == table.keys, name


def test_catalogue_is_complete() -> None:
    for name in store.names():
        assert {*store.files(name)} <= {*catalogue.files()}
        assert not (store.files(name) and name in catalogue.pins())
    rejects("dataset must be one of .*, got 'nmthp', did you mean 'nmthpo'", catalogue.dataset, "nmthp")


def test_unknown_tables_are_rejected() -> None:
    rejects("dataset must be one of", store.load, "nothing/at-all")
    rejects("table must be one of .*, got 'nmthpo/swem', did you mean 'nmthpo/swen'", store.load, "nmthpo/swem")
